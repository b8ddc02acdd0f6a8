"""The sources of a project, opened for one run. Imported only if rye.toml has ``[sources]``: other projects need no git."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rye.errors import RyeError
from rye.items.identity import lookup_key
from rye.project.declared_sources import GIT_PREFIX, Source
from rye.project.layout import Project
from rye.project.lock import LockedFile, LockedItem
from rye.project.lock_file import read_lock
from rye.registry.store.pins import read_addresses, read_pinned
from rye.sources.book import SourceBook
from rye.sources.git_cache import GitCache
from rye.sources.git_program import Asking
from rye.sources.item import Keys
from rye.sources.opening import Opener
from rye.storage.home import Home
from rye.text.json_reading import UNDECODABLE
from rye.verified.memory import trusted_keys_hash
from rye.workspace.context import Context
from rye.workspace.registries.project_registries import given_pins
from rye.workspace.registries.registry_access import open_registry
from rye.workspace.trusting.acceptance import trusts_lock
from rye.workspace.trusting.agreed_signers import agreed_signers
from rye.workspace.trusting.trusted_keys import trusted_keys


def source_book(
    context: Context,
    sources: Mapping[str, Source],
    root: Path,
    *,
    offline: bool,
    asks: bool = True,
    contacts: bool = False,
) -> SourceBook:
    """Open the sources. ``asks``: whether git may ask for a password, and rye for consent. ``contacts``: whether to contact
    sources that this user never agreed to. Raises RyeError ``source-name-taken``."""
    _refuse_pinned(context, sources, root)
    keys = trusted_keys_hash(
        context.home
    )  # before the keys are read: what changes in between is not remembered as the new store
    opener = source_opener(context, root, offline=offline, asks=asks, contacts=contacts)
    return SourceBook(sources, opener, keys)


def _refuse_pinned(context: Context, sources: Mapping[str, Source], root: Path) -> None:
    """Refuse a source named like a namespace of a pinned registry, so that a name has one meaning. Where rye.lock says that the
    name is the source, it stays so: a project must not stop because a stranger registers its name.
    """
    pinned = pinned_namespaces(context.home)
    alike = {lookup_key(namespace): namespace for namespace in pinned}
    clashing = {
        name: name if name in pinned else alike[lookup_key(name)] for name in sources if lookup_key(name) in alike
    }
    locked = _locked_sources(root) if clashing else frozenset()
    for name, namespace in sorted(clashing.items()):
        also = "is also" if namespace == name else f"is read like {namespace!r},"
        message = f"[sources] {name!r} {also} a namespace of the registry {pinned[namespace]}, which you pinned."
        hint = "Rename the source with --as NAME, or in [sources] and the dependencies of rye.toml."
        if (name, sources[name].origin) not in locked:
            raise RyeError("source-name-taken", message, hint)
        context.warn(
            f"{message} In this project it stays the source, as rye.lock says. To end this: {hint[0].lower()}{hint[1:]}"
        )


def _locked_sources(root: Path) -> frozenset[tuple[str, str]]:
    """Namespace and origin of the sources whose items are in rye.lock; none if it cannot be read, which its reader reports."""
    try:
        items = read_lock(Project(root)).items
    except RyeError:
        return frozenset()
    return frozenset((item.identity.namespace, item.source.origin) for item in items if item.source is not None)


def pinned_namespaces(home: Home) -> dict[str, str]:
    """The locally known namespaces of pinned registries: namespace → origin."""
    folder = home.registries
    try:
        origins = sorted(set(read_addresses(folder).values()))
    except (OSError, *UNDECODABLE):  # opening that registry reports the error
        return {}
    namespaces: dict[str, str] = {}
    for origin in origins:
        pinned = read_pinned(folder, origin)
        namespaces.update(dict.fromkeys(pinned.keysets if pinned is not None else (), origin))
    return namespaces


def pinned_registry_has(context: Context, namespace: str, shown: str) -> bool:
    """Whether a pinned registry has a namespace. One that this machine never saw is asked for.

    ``shown``: the name ``owner/repository``, for the error. Raises the RyeError of a registry that gives no verified answer.
    """
    if namespace in pinned_namespaces(context.home):
        return True
    return any(_has(context, addresses, namespace, shown) for addresses in _addresses(context))


def pins_several(context: Context) -> bool:
    """Whether more than one registry is pinned here."""
    return len(_addresses(context)) > 1


def _addresses(context: Context) -> list[list[str]]:
    """The addresses of each pinned registry; a registry can have several."""
    by_origin: dict[str, list[str]] = {}
    with contextlib.suppress(OSError, *UNDECODABLE):  # opening that registry reports the error
        for address, origin in sorted(read_addresses(context.home.registries).items()):
            by_origin.setdefault(origin, []).append(address)
    known = {address for group in by_origin.values() for address in group}
    return [*by_origin.values(), *([address] for address in given_pins(context) if address not in known)]


def _has(context: Context, addresses: list[str], namespace: str, shown: str) -> bool:
    """Whether the registry has the namespace, by the first of its addresses that gives a verified answer."""
    failed: RyeError | None = None
    for address in addresses:
        try:
            with open_registry(context, address) as client:
                return bool(client.keysets([namespace])[namespace].links)
        except RyeError as error:
            message = (
                f"{shown} may be an item of {address}, which you pinned and which cannot be asked: {error.message}"
            )
            hint = f"If you mean the repository, write https://github.com/{shown}. {error.hint or ''}".rstrip()
            failed = RyeError(error.code, message, hint, details=error.details)
    assert failed is not None
    raise failed


def source_opener(context: Context, root: Path, *, offline: bool, asks: bool = True, contacts: bool = False) -> Opener:
    """The opener of the sources of the project at ``root``. A repository in rye.toml is contacted only if this user agreed to
    it before or can be asked now."""
    willing = contacts or trusts_lock(context) or (asks and (context.interactive or context.assume_yes))

    def may_contact(url: str) -> bool:
        return willing or f"{GIT_PREFIX}{url}" in agreed_signers(context.home)

    return opener_of(context.home, root, source_cache(context, offline=offline, asks=asks, may_contact=may_contact))


def source_cache(
    context: Context, *, offline: bool, asks: bool = True, may_contact: Callable[[str], bool] = lambda url: True
) -> GitCache:
    """The user's cache of repositories. ``may_contact``: see :class:`rye.sources.git_cache.GitCache`."""
    asking = Asking(terminal=asks and context.interactive)
    return GitCache(
        context.home.git_cache, context.environment, offline=offline, asking=asking, may_contact=may_contact
    )


def opener_of(home: Home, root: Path, cache: GitCache) -> Opener:
    """The opener of the sources of the project at ``root`` with this cache."""
    trusted = trusted_keys(home, ())
    return Opener(root, cache, Keys(trusted.keys, trusted.revoked))


def folders_match(context: Context, sources: Mapping[str, Source], root: Path, rows: Sequence[LockedItem]) -> bool:
    """Whether the source folders have exactly the files of these rows. False for an unreadable folder; opening it reports why."""
    opener = source_opener(context, root, offline=True)
    groups: dict[str, list[LockedItem]] = {}
    for row in rows:
        if row.source is not None and row.source.path is not None:
            groups.setdefault(row.identity.namespace, []).append(row)
    return all(name in sources and _folder_matches(opener, sources[name], group) for name, group in groups.items())


def _folder_matches(opener: Opener, source: Source, rows: Sequence[LockedItem]) -> bool:
    try:
        opened = opener.open(source, None)
        keys = [(row.kind, row.identity.local_id) for row in rows]
        judged = opened.judge(opened.items[key] for key in keys if key in opened.items)
    except RyeError:
        return False
    for key, row in zip(keys, rows, strict=True):
        item = judged.get(key)
        if item is None or isinstance(item, str) or opened.place_of(opened.items[key]) != row.source:
            return False
        files = {
            LockedFile(file.path, len(file.data), hashlib.sha256(file.data).hexdigest(), file.executable)
            for file in item.attached
        }
        if hashlib.sha256(item.data).hexdigest() != row.sha256 or files != set(row.attached):
            return False
    return True
