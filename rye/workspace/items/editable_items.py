"""Items of editable folders in their current state: read once and checked, and exactly those bytes are used
(docs/how-to/sources.md).

They are not copied, so checks of installed files do not cover them, and they are not verified: a row of rye.lock says what was
agreed to, not what is in the folder. Only this module reads them, and it checks all of this on every read:

* rye.toml has the folder as editable, under the row's name, and this user agreed to that in this project. ``RYE_TRUST_LOCK`` is
  not enough, since it accepts only fixed content.
* The folder is read like any source: no link is followed, nothing outside is read, invalid content is refused.
* Rights, agent tools, things that can run, cautions and alarms are those of the current text. One that rye.lock does not approve
  is an error; so is a changed version, place or dependency. Hooks are denied one by one, as always.
* The item's place below ``.ai/packages`` is empty. A file there was not installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.agreement import not_in_lock, unapproved
from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.installation.environment import Environment
from rye.installation.install import verify_chosen
from rye.installation.resolving import Chosen
from rye.installation.sources import differs, source_refused
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions
from rye.items.signed_release import SignedRelease, identities_of
from rye.project.context import load_manifest
from rye.project.declared_sources import PathSource
from rye.project.item_file import ItemFile, item_of
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import Unlock, editable_rows, item_folder, item_path
from rye.project.manifest import Manifest
from rye.project.spaces import Entry
from rye.storage.home import Home
from rye.verified.installed import CheckedItem, modified_item
from rye.verified.release import VerifiedItem
from rye.workspace.context import Context
from rye.workspace.registries.registry_access import judging_environment, project_sources
from rye.workspace.trusting.acceptance import remembered


class EditableItem(Struct, frozen=True):
    """One item as its folder contained it at one moment."""

    row: LockedItem
    """The row that rye.lock would have for these bytes, with its existing approvals."""
    release: SignedRelease
    """The facts of these bytes, which no one signed."""
    data: bytes
    attached: Mapping[str, bytes]
    """The files attached to it, by their path in its folder."""

    @property
    def shown(self) -> str:
        """The path of its own file, for messages."""
        assert self.row.source is not None
        return f"{self.row.source.path}/{self.row.source.place}"


def read_entry(context: Context, entry: Entry, project: Project, options: ReadOptions) -> tuple[ItemFile, CheckedItem]:
    """The item of an entry of :func:`rye.project.spaces.entries`. Its ``path`` is its place below ``.ai/packages``, although no
    file is there. Raises the errors of :func:`editable_items`."""
    identity = Identity(entry.location.kind, entry.id)
    row = next((row for row in editable_rows(project) if row.identity == identity), None)
    if row is None:
        raise RyeError("not-locked", f"{identity} is not in rye.lock.", "Install it with `rye add`.")
    found = editable_item(context, project, row)
    return file_of(found, project, options), CheckedItem(project, found.row, found.release)


def file_of(found: EditableItem, project: Project, options: ReadOptions) -> ItemFile:
    """The item as an ItemFile, parsed from the checked bytes."""
    path = project.root / item_path(found.row)
    return item_of(path, found.data, found.shown, kind=found.row.kind, options=options)


def editable_item(context: Context, project: Project, row: LockedItem) -> EditableItem:
    """The item of one row; see :func:`editable_items`."""
    return editable_items(context, project, [row])[row.identity]


def editable_items(context: Context, project: Project, rows: Sequence[LockedItem]) -> dict[Identity, EditableItem]:
    """The items of these rows of rye.lock.

    Raises RyeError ``lock-does-not-fit``, ``project-not-accepted``, ``source-changed``, ``consent-needed``, ``policy-violation``,
    ``modified-item``, SourceError.
    """
    manifest = load_manifest(project)
    for row in rows:
        _require_declared(manifest, row)
        _require_agreed(context.home, project, row)
        _require_no_file(project, row)
    environment = judging_environment(context, manifest)
    with project_sources(context, manifest, project.root, offline=True, asks=False) as sources:
        sources.use_locked(Lock({}, tuple(rows)), Unlock.nothing())
        histories = sources.histories(row.identity for row in rows)
        chosen = {}
        for row in rows:
            if row.identity not in histories:
                raise differs(row, "the item is not there")
            record = histories[row.identity].records[0]
            chosen[row.identity] = Chosen(record, row.dependencies, row.groups, row.forced)
        now = verify_chosen(chosen, sources)
    return {row.identity: _judged(row, now[row.identity], manifest, environment) for row in rows}


def _require_declared(manifest: Manifest, row: LockedItem) -> None:
    source = manifest.sources.get(row.identity.namespace)
    if not isinstance(source, PathSource) or not source.editable or source.origin != row.registry:
        raise RyeError(
            "lock-does-not-fit",
            f"rye.lock has {row.identity} from {row.registry}, but [sources] of rye.toml does not name that folder.",
            "Run `rye install` to resolve again. It shows what changes.",
        )


def _require_agreed(home: Home, project: Project, row: LockedItem) -> None:
    """Require that this user agreed to the folder, before anything in it is read."""
    waiting = [one for one in remembered(home, project).new_in([row]) if one.sort == "source"]
    if not row.approved.is_pending and not waiting:
        return
    raise RyeError(
        "project-not-accepted",
        f"{row.identity} is read directly from the folder {row.registry}, and you have not agreed to that.",
        "Run `rye install` or `rye trust project` on a terminal to agree. An editable folder cannot be accepted otherwise.",
        details={"approvals": [{"item": str(row.identity), "what": "source", "value": row.registry}]},
    )


def _require_no_file(project: Project, row: LockedItem) -> None:
    place = item_path(row)
    folder = item_folder(row) if KINDS[row.kind].main_file is not None else place
    if os.path.lexists(project.root / folder):
        raise modified_item(f"{folder} was not installed: {row.identity} comes from an editable folder.", None)


def _judged(row: LockedItem, now: VerifiedItem, manifest: Manifest, environment: Environment) -> EditableItem:
    found = replace(now.locked, approved=row.approved)
    if found.source != row.source or found.suffix != row.suffix:
        raise differs(row, "it is in a different place")
    if now.metadata.version is not None and now.metadata.version != row.version:
        raise differs(row, f"its version is {now.metadata.version}, not {row.version}")
    provides = frozenset(manifest.provides)
    if identities_of(now.signed.needs(provides)) != tuple(sorted(row.dependencies)):
        raise differs(row, "it depends on other items")
    refused = source_refused(environment.policy, found)
    if refused is None and not environment.policy.accepts_signer([found.signer]):
        refused = "it is not signed by a key that the policy requires"
    if refused is not None:
        raise RyeError("policy-violation", f"The policy forbids {row.identity}: {refused}.", "Choose another item.")
    environment.require([(found, now.signed.mentions or ())])
    beyond = (*not_in_lock(row, now.signed), *_new_cautions(row, now.signed))
    if beyond:
        raise unapproved(row.identity, beyond)
    return EditableItem(found, now.signed, now.data, now.attached)


def _new_cautions(row: LockedItem, now: SignedRelease) -> Iterator[Ask]:
    """Cautions that are new since the user agreed to the text. As for an update, a new one is an error."""
    for mention in now.mentions or ():
        if not mention.is_alarm and not mention.is_note and mention.word not in row.approved.of("fact"):
            yield Ask(str(row.identity), "fact", mention.word)
