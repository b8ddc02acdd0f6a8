"""Signing a person's own items: all of them if all are valid, otherwise none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.project.checking import Checked, check_files
from rye.project.context import arguments_or_own_items, load_manifest, read_options
from rye.project.item_file import ItemFile
from rye.project.layout import find_project
from rye.project.origins import ORIGINS
from rye.signing.keys import PublicKey
from rye.signing.last_signed import LastSigned
from rye.signing.sign_item import sign_bytes
from rye.signing.verification import verify
from rye.storage.atomic import Replacement, replace_files
from rye.text.lazy import lazy_module
from rye.workspace.confirmation import confirm
from rye.workspace.trusting.trusted_keys import trusted_keys

if TYPE_CHECKING:
    from rye.project import spaces
    from rye.text.facts import Fact
    from rye.workspace.context import Context
    from rye.workspace.items import item_facts
    from rye.workspace.registries import registry_access
    from rye.workspace.trusting import own_attached, project_keys
    from rye.workspace.trusting.own_keys import OwnKeys
else:
    spaces = lazy_module("rye.project.spaces")  # for items with attached files
    own_attached = lazy_module("rye.workspace.trusting.own_attached")
    project_keys = lazy_module("rye.workspace.trusting.project_keys")
    item_facts = lazy_module("rye.workspace.items.item_facts")  # only where something is signed
    registry_access = lazy_module("rye.workspace.registries.registry_access")  # the client, which few runs need


class SignedItem(Struct, frozen=True):
    """An item, and whether it was signed now."""

    shown: str
    kind: str
    changed: bool
    """False if it has a valid signature already."""
    key: PublicKey
    """The key of its signature."""
    alarms: tuple[Fact, ...] = ()
    """Of the texts that were signed now."""


class SignOutcome(Struct, frozen=True, kw_only=True):
    """Either ``signed``, or ``invalid`` and then nothing was signed."""

    signed: tuple[SignedItem, ...] = ()
    invalid: tuple[Checked, ...] = ()
    kept: tuple[SignedItem, ...] = ()
    """Those of ``signed`` whose valid signature is by another key than the one to sign with."""
    outside: tuple[SignedItem, ...] = ()
    """Those of ``signed`` whose key the project's namespace does not accept, as far as this machine knows, so that they cannot be
    published. Without those that a former key of it signed earlier: they may be published already, and stay so."""
    namespace: str | None = None
    """The namespace that does not accept them."""
    deploys: bool = False
    """Whether the project has no namespace to publish to, and deploys."""
    proposed: str | None = None
    """The file with the key that was put below ``.ai/keys`` for colleagues."""


def sign_items(
    context: Context,
    keys: OwnKeys,
    paths: Sequence[str],
    kind: str | None = None,
    key: str | None = None,
    *,
    force: bool = False,
) -> SignOutcome:
    """Sign the items that need it. ``paths``: default, the project's own.

    A valid signature stays if it is by one of this person's keys, by a key that they trust, or by a key of the project's
    namespace: another line would change the bytes of every version that is already published. ``force`` replaces those of
    other keys, after a question.

    Raises RyeError ``installed-item``, ``declined``, ``confirmation-needed`` and key errors.
    """
    checked = check_files(arguments_or_own_items(context.cwd, paths), kind, read_options(context.cwd))
    invalid = tuple(entry for entry in checked if any(d.severity == "error" for d in entry.diagnostics))
    if invalid:
        return SignOutcome(invalid=invalid)
    refuse_installed(checked)
    items = [entry.item for entry in checked if entry.item is not None]  # without errors, each has one
    namespace, owners, former = _owners(context)
    present = _valid_signatures(context, keys, items, owners)
    mine = keys.public(key) if force or key is not None else None
    # A security key's signature may say less than a namespace requires (a touch, and no PIN), so it is made again as well.
    untouched = (None,) if mine is not None and mine.hardware else (None, mine)
    replaced = [item for item, signer in zip(items, present, strict=True) if signer not in untouched] if force else []
    if replaced:
        one = len(replaced) == 1
        what = f"the valid signature of {replaced[0].shown}" if one else f"{len(replaced)} valid signatures"
        which = "it" if one else "them"
        question = (
            f"Replace {what}? Versions that are published with {which} can then no longer be published from here."
        )
        confirm(context, question, "nothing was signed.")
    signing_key = keys.signing_key(key) if force or not all(present) else None
    now = context.now()
    results: list[SignedItem] = []
    changes: list[tuple[ItemFile, bytes]] = []
    for item, signer in zip(items, present, strict=True):
        if signer is None or item in replaced:
            assert signing_key is not None  # there is something to sign
            data = sign_bytes(item.data, item.location.kind, item.path.name, signing_key, now, again=item in replaced)
            results.append(SignedItem(item.shown, item.location.kind, data != item.data, signing_key.public))
            changes.append((item, data))
        else:
            results.append(SignedItem(item.shown, item.location.kind, False, signer))
    written = [(item, data) for item, data in changes if data != item.data]
    alarms: dict[str, tuple[Fact, ...]] = {}
    with context.progress("reading the texts", len(written)) as advance:
        for item, data in written:  # with the signature, which is a line of its own
            alarms[item.shown] = item_facts.alarms_of(item, data)
            advance()
    results = [replace(one, alarms=alarms.get(one.shown, ())) for one in results]
    replace_files([Replacement(item.path.resolve(), item.shown, item.data, data) for item, data in written])
    texts = LastSigned(context.home.signed_texts)
    for item, data in written:
        texts.remember(data, item.location.kind, item.path.name)
    _agree_to_attached(context, items if paths else [item for item, _ in changes])
    kept = tuple(one for one in results if mine is not None and one.key != mine)
    outside = tuple(
        one for one in results if owners and one.key not in owners and (one.changed or one.key not in former)
    )
    proposed = _propose(context, [item for item, _ in changes], signing_key.public) if signing_key is not None else None
    return SignOutcome(
        signed=tuple(results),
        kept=kept,
        outside=outside,
        namespace=namespace,
        deploys=namespace is None and _deploys(context),
        proposed=proposed,
    )


def _valid_signatures(
    context: Context, keys: OwnKeys, items: Sequence[ItemFile], owners: Sequence[PublicKey]
) -> list[PublicKey | None]:
    """The key of each item's signature if it is valid and stays; otherwise None."""
    trusted = trusted_keys(context.home, (), find_project(context.cwd))
    accepted = (*(stored.public for stored in keys.list()), *trusted.keys, *owners)
    found = [verify(item.data, item.location.kind, item.path.name, accepted, trusted.revoked) for item in items]
    return [one.key if one.ok else None for one in found]


def _agree_to_attached(context: Context, items: Sequence[ItemFile]) -> None:
    """Remember that this user agrees to the files attached to what they signed or named: no signature covers those."""
    project = find_project(context.cwd)
    places = {item.path.resolve() for item in items if item.kind.main_file is not None}
    if project is None or not places:
        return
    manifest = load_manifest(project)
    entries = spaces.entries_of(context.home, "project", project, manifest.namespace)
    named = (f"{entry.location.kind}:{entry.id}" for entry in entries if entry.path.resolve() in places)
    own_attached.remember_own_files(context.home, project, manifest, frozenset(named))


def _deploys(context: Context) -> bool:
    project = find_project(context.cwd)
    return project is not None and bool(load_manifest(project).deploy.targets)


def _propose(context: Context, items: Sequence[ItemFile], key: PublicKey) -> str | None:
    """Propose the key to whoever clones the project, if its own items are used there: if it deploys, or one of them is a fork."""
    project = find_project(context.cwd)
    if project is None or not any(item.path.absolute().is_relative_to(project.ai) for item in items):
        return None
    if not load_manifest(project).deploy.targets and not (project.root / ORIGINS).is_file():
        return None
    return project_keys.propose_key(project, key)


def _owners(context: Context) -> tuple[str | None, tuple[PublicKey, ...], frozenset[PublicKey]]:
    """The project's namespace, its keys as of the last look at its registry, and those that it had before and did not revoke. All
    are empty without either."""
    project = find_project(context.cwd)
    namespace = load_manifest(project).namespace if project is not None else None
    if namespace is None:
        return namespace, (), frozenset()
    seen = registry_access.last_seen_keysets(context, namespace)
    if not seen:
        return namespace, (), frozenset()
    revoked = {gone.key for gone in seen[0].revoked}
    former = frozenset(key for keyset in seen[1:] for key in keyset.accepted_keys() if key.raw not in revoked)
    return namespace, seen[0].accepted_keys(), former


def refuse_installed(checked: Sequence[Checked]) -> None:
    """Raise RyeError ``installed-item`` if one is installed: it must stay as its author signed it, byte for byte."""
    for entry in checked:
        if entry.item is not None and entry.item.location.namespace is not None:
            location = entry.item.location
            raise RyeError(
                "installed-item",
                f"{entry.shown} is installed, and must stay as its author signed it.",
                KINDS[location.kind].changed_by(f"{location.namespace}/{location.local_id}"),
            )
