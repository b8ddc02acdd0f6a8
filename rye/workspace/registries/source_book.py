"""The sources of a project, opened for one run. Imported only where rye.toml has ``[sources]``: other projects never need git."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from rye.errors import RyeError
from rye.project.declared_sources import GIT_PREFIX, Source
from rye.project.lock import LockedItem
from rye.registry.store.pins import pinned_state, read_addresses
from rye.sources.book import SourceBook
from rye.sources.git_cache import GitCache
from rye.sources.git_program import Asking
from rye.sources.item import Keys
from rye.sources.opening import Opener
from rye.sources.standing import stands
from rye.storage.folders import cache_dir, data_dir
from rye.workspace.context import Context
from rye.workspace.registries.local_cache import GIT_CACHE
from rye.workspace.trusting.acceptance import trusts_lock
from rye.workspace.trusting.known_signers import agreed_signers
from rye.workspace.trusting.source_basis import source_basis
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
    """``asks``: whether a person may be asked: git for a password, and later somebody for consent. ``contacts``: whether a source
    that this user never agreed to may be contacted all the same. Raises RyeError ``source-name-taken``."""
    _refuse_pinned(sources)
    opener = source_opener(context, root, offline=offline, asks=asks, contacts=contacts)
    return SourceBook(sources, opener, source_basis())


def _refuse_pinned(sources: Mapping[str, Source]) -> None:
    """A name means one thing: none that a registry which this user pinned has as a namespace."""
    pinned = pinned_namespaces()
    for name in sorted(sources.keys() & pinned.keys()):
        raise RyeError(
            "source-name-taken",
            f"[sources] {name!r} is a namespace of the registry {pinned[name]}, which you pinned.",
            "Give the source another name: --as NAME, or in [sources] of rye.toml with the dependencies.",
        )


def pinned_namespaces() -> dict[str, str]:
    """The namespaces of the registries that this user pinned, as far as they are known here: the registry's origin by each."""
    folder = data_dir() / "registries"
    try:
        origins = sorted(set(read_addresses(folder).values()))
    except (OSError, msgspec.MsgspecError):  # asking that registry says what is wrong
        return {}
    found: dict[str, str] = {}
    for origin in origins:
        state = pinned_state(folder, origin)
        found.update(dict.fromkeys(state.keysets if state is not None else (), origin))
    return found


def source_opener(context: Context, root: Path, *, offline: bool, asks: bool = True, contacts: bool = False) -> Opener:
    """What opens the sources of the project at ``root``. A repository that rye.toml names is contacted once this user agreed to
    it, or where somebody is there to agree."""
    willing = contacts or trusts_lock(context) or (asks and (context.interactive or context.assume_yes))

    def may_contact(url: str) -> bool:
        return willing or f"{GIT_PREFIX}{url}" in agreed_signers()

    return opener_of(root, source_cache(context, offline=offline, asks=asks, may_contact=may_contact))


def source_cache(
    context: Context, *, offline: bool, asks: bool = True, may_contact: Callable[[str], bool] = lambda url: True
) -> GitCache:
    """The user's cache of repositories. ``may_contact``: as :class:`rye.sources.git_cache.GitCache` takes it."""
    asking = Asking(terminal=asks and context.interactive)
    return GitCache(
        cache_dir() / GIT_CACHE, context.environment, offline=offline, asking=asking, may_contact=may_contact
    )


def opener_of(root: Path, cache: GitCache) -> Opener:
    """What opens the sources of the project at ``root`` from this cache."""
    trusted = trusted_keys(())
    return Opener(root, cache, Keys(trusted.keys, trusted.revoked))


def folders_hold(context: Context, sources: Mapping[str, Source], root: Path, rows: Sequence[LockedItem]) -> bool:
    """Whether the folders that these rows come from are still what the rows say."""
    return stands(source_opener(context, root, offline=True), sources, rows)
