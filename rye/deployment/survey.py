"""Gathers everything that a deploy compares: the effective items, what each target writes for them, and the state file.

The order is fixed: choose items, verify and read them (:mod:`rye.workspace.items.installed_items`), render them, refuse what
must not be written. Nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.customization.item_overrides import paths_for
from rye.customization.places import DIRECTIVE_SUFFIX, OVERLAY_SUFFIX, Places, rye_places
from rye.deployment.agreeing import unapproved_items
from rye.deployment.disk import FolderDisk
from rye.deployment.items import DeployableItem, deployable, of_installed
from rye.deployment.names import chosen_names, clashes
from rye.deployment.own_items import OwnItems, own_items
from rye.deployment.plan_values import Refused, Wanted, place_of, with_owners
from rye.deployment.rendering import own_names, render, slot
from rye.deployment.request import Scope
from rye.deployment.selection import asked_for, excluded, included
from rye.deployment.state import Allowed, FileRow, State, is_ours, parse_state
from rye.deployment.targets.protocol import Form, RenderedFiles, Target, TargetOptions, Widening, target
from rye.errors import RyeError
from rye.installation.audit.finding import Finding
from rye.installation.completeness import chains
from rye.items.identity import Identity
from rye.limits import DEPLOY
from rye.project.agent_programs import STATE, is_made_place, program_names
from rye.project.context import load_manifest
from rye.project.layout import Project, read_project_file
from rye.project.lock import Lock, LockedItem
from rye.project.lock_file import item_path, read_lock
from rye.project.manifest import Manifest
from rye.project.spaces import Spaces
from rye.verified.on_disk import Present, read_present, scan
from rye.workspace.context import Context
from rye.workspace.items.installed_items import installed_item, require_installed
from rye.workspace.trusting.acceptance import agreement

_NOT_INSTALLED = frozenset(("modified-item", "not-installed"))
"""Errors about the whole project: the disk does not match rye.lock."""


class Widened(Struct, frozen=True):
    """One widening of one item in one target."""

    item: str
    target: str
    widening: Widening
    allowed: bool

    @property
    def row(self) -> Allowed:
        """The row of the state file that allows it."""
        digest = sha256(self.widening.value.encode()).hexdigest()
        return Allowed(self.item, self.target, self.widening.field, digest)

    def as_json(self) -> dict[str, object]:
        """``{"item", "target", "field", "code", "message", "allowed"}``."""
        return {
            "item": self.item,
            "target": self.target,
            "field": self.widening.field,
            "code": self.widening.code,
            "message": self.widening.message,
            "allowed": self.allowed,
        }


class Note(Struct, frozen=True, order=True):
    """Something to know about one item in one target."""

    item: str
    target: str
    message: str

    def as_json(self) -> dict[str, str]:
        """All fields, by name."""
        return {"item": self.item, "target": self.target, "message": self.message}


class ReadProject(Struct, frozen=True):
    """A project as read for a deploy."""

    project: Project
    manifest: Manifest
    lock: Lock
    present: Mapping[str, Present]


class Survey(Struct, frozen=True):
    """The wanted files, and what prevents others."""

    wanted: tuple[Wanted, ...]
    """For all targets, including those that a limited run does not change."""
    refused: tuple[Refused, ...]
    widenings: tuple[Widened, ...]
    notes: tuple[Note, ...]
    descriptions: Mapping[str, str]
    """The description of each item, by label."""
    drafts: frozenset[str] = frozenset()
    """The labels of own items that are not deployed yet: of each, a note says why."""

    def only(self, concerns: Callable[[str, str], bool]) -> Survey:
        """Return what is about these items (labels) in these targets."""
        return Survey(
            without(self.wanted, lambda item, name: not concerns(item, name)),
            tuple(one for one in self.refused if concerns(one.item, one.target)),
            tuple(one for one in self.widenings if concerns(one.item, one.target)),
            tuple(one for one in self.notes if concerns(one.item, one.target)),
            self.descriptions,
            frozenset(one.item for one in self.notes if one.item in self.drafts and concerns(one.item, one.target)),
        )


def without(wanted: Sequence[Wanted], leaves: Callable[[str, str], bool]) -> tuple[Wanted, ...]:
    """Remove these pairs of item and target."""
    kept = []
    for one in wanted:
        owners = tuple(owner for owner in one.owners if not leaves(one.item, owner[0]))
        if owners:
            kept.append(one if owners == one.owners else replace(one, owners=owners))
    return tuple(kept)


def read_project(project: Project) -> ReadProject:
    """Read the project's manifest and lock, and list ``.ai/packages``."""
    return ReadProject(project, load_manifest(project), read_lock(project), scan(project))


def deployed_rows(read: ReadProject) -> list[LockedItem]:
    """Return the items that rye.toml deploys to any target, without groups that are not installed here."""
    return [row for row in included(read.lock, read.manifest) if _is_installed(row, read.present)]


def absent_labels(read: ReadProject) -> frozenset[str]:
    """Return the labels of the locked items of groups that are not installed here."""
    return frozenset(str(row.identity) for row in read.lock.items if not _is_installed(row, read.present))


def used_rows(read: ReadProject) -> list[LockedItem]:
    """Return the items whose text a deploy writes: the deployed ones and, with a formula, all formulas, which it can inherit
    from."""
    rows = deployed_rows(read)
    if any(row.identity.kind == "formula" for row in rows):
        deployed = {row.identity for row in rows}
        others = (row for row in read.lock.items if row.identity.kind == "formula" and row.identity not in deployed)
        rows += [row for row in others if _is_installed(row, read.present)]
    return rows


class Gathered(Struct, frozen=True):
    """The effective items of a project, independent of any target."""

    items: tuple[DeployableItem, ...]
    broken: tuple[tuple[Identity, RyeError], ...]
    """Items that cannot be read, for example because of an invalid override."""
    unapproved: Mapping[Identity, Finding]
    left_out: frozenset[str]
    """The labels of items whose customizations in the user space are not applied here."""
    not_used: tuple[tuple[Identity, str], ...] = ()
    """Own items that are not deployed, each with the reason."""
    own: tuple[Identity, ...] = ()
    """The project's own items that rye.toml deploys, those that are left out among them."""


def gather(context: Context, read: ReadProject, scope: Scope, rows: Sequence[LockedItem] | None = None) -> Gathered:
    """Verify and read the items. ``rows``: the items; None: those that rye.toml deploys, and the project's own.

    Files in a project are shared by everyone who works on it, so only the project's customizations apply there; in the home
    folder the user's apply as well.
    """
    own = rows is None
    if rows is None:
        rows = deployed_rows(read)
    every = rye_places(context.home, read.project)
    places = every.only("project") if scope == "project" else every
    signed = require_installed(context, read.project, rows, read.present)
    unapproved = unapproved_items(context, rows, signed, read.manifest)
    asked = asked_for(read.lock, read.manifest)
    spaces, agreed = Spaces(context.home, read.project, read.manifest.namespace), agreement(context, read.project)
    items: list[DeployableItem] = []
    broken: list[tuple[Identity, RyeError]] = []
    for row in rows:
        try:
            installed = installed_item(context, read.project, row, read.manifest, places, spaces)
            items.append(deployable(context, of_installed(installed), places, agreed, asked=row.identity in asked))
        except RyeError as error:
            if error.code in _NOT_INSTALLED:
                raise
            broken.append((row.identity, error))
    mine = OwnItems((), (), ())
    if own:
        mine = own_items(context, read.project, read.manifest, read.lock, places, spaces, agreed)
    items += mine.items
    broken += mine.broken
    left_out = frozenset(personal(every.only("user"), items)) if scope == "project" else frozenset[str]()
    return Gathered(tuple(items), tuple(broken), unapproved, left_out, mine.left_out, mine.identities)


def personal(places: Places, items: Iterable[DeployableItem]) -> Iterator[str]:
    """Yield the labels of the items that have customizations in these places."""
    here = [folder for folder in (*places.overrides, *places.overlays, *places.role_directives) if folder.path.is_dir()]
    for item in items if here else ():
        names = [
            file for folder in places.overrides for file in paths_for(folder, item.identity.kind, [item.identity.id])
        ]
        local = item.identity.id.rpartition("/")[2]
        if item.identity.kind == "formula":
            names += [folder.file(local, OVERLAY_SUFFIX) for folder in places.overlays]
        if item.identity.kind == "role":
            names += [folder.file(local, DIRECTIVE_SUFFIX) for folder in places.role_directives]
        if any(os.path.lexists(name) for name in names):
            yield item.label


def survey(
    read: ReadProject,
    gathered: Gathered,
    disk: FolderDisk,
    targets: Sequence[Target],
    scope: Scope,
    agreed: frozenset[Allowed],
) -> Survey:
    """Render the items for each target. ``agreed``: the valid widenings."""
    items, broken, unapproved = gathered.items, gathered.broken, gathered.unapproved
    described = {item.label: " ".join(item.metadata.description.split()) for item in items}
    wanted: list[Wanted] = []
    refused: list[Refused] = []
    widenings: list[Widened] = []
    notes: list[Note] = []
    for one in targets:
        refused += [
            Refused(
                item=str(identity),
                target=one.name,
                field="approval",
                code=finding.rule,
                message=finding.message,
                hint=finding.hint,
            )
            for identity, finding in unapproved.items()
            if not excluded(read.manifest.deploy, one.name, identity)
        ]
        refused += [
            Refused(
                item=str(identity),
                target=one.name,
                field="text",
                code=error.code,
                message=error.message,
                hint=error.hint,
            )
            for identity, error in broken
            if not excluded(read.manifest.deploy, one.name, identity)
        ]
        notes += [
            Note(str(identity), one.name, why)
            for identity, why in gathered.not_used
            if not excluded(read.manifest.deploy, one.name, identity)
        ]
        here = [
            item
            for item in items
            if item.identity not in unapproved and not excluded(read.manifest.deploy, one.name, item.identity)
        ]
        made = _render_all(one, here, scope, read.manifest.deploy.prefix)
        clashing = _clashing(made, one, read)
        refused += clashing
        held = {row.item for row in clashing}
        for item, _, rendered in made:
            found = [Widened(item.label, one.name, widening, False) for widening in rendered.widenings]
            found = [Widened(each.item, each.target, each.widening, each.row in agreed) for each in found]
            widenings += found
            notes += [Note(item.label, one.name, note) for note in rendered.notes]
            if item.label in gathered.left_out:
                said = "your own customizations of it are not applied to project files; `--scope user` applies them"
                notes.append(Note(item.label, one.name, said))
            refusals = [
                Refused(item=item.label, target=one.name, field=r.field, code=r.code, message=r.message)
                for r in rendered.refusals
            ]
            refusals += [_unapproved(each) for each in found if not each.allowed]
            refused += refusals
            if not refusals and item.label not in held:
                wanted += _wanted(one, item, rendered, disk)
                notes += _unseen(one, item, rendered, disk, scope)
    unused = frozenset(str(identity) for identity, _ in gathered.not_used)
    drafts = frozenset(note.item for note in notes if note.item in unused)
    return Survey(tuple(with_owners(wanted)), tuple(refused), tuple(widenings), tuple(sorted(notes)), described, drafts)


def _is_installed(row: LockedItem, present: Mapping[str, Present]) -> bool:
    """Whether the row is installed here: its group may be left out. An editable item is never on disk as a package."""
    return "main" in row.groups or row.is_editable or item_path(row) in present


def _render_all(
    one: Target, items: Sequence[DeployableItem], scope: Scope, prefix: str
) -> list[tuple[DeployableItem, str, RenderedFiles]]:
    slots = {item.identity: found for item in items if (found := slot(item)) is not None}
    taken = own_names(one)
    names = chosen_names(slots.items(), prefix, taken)
    return [
        (item, names[item.identity], render(one, item, TargetOptions(scope, names[item.identity])))
        for item in items
        if item.identity in slots
    ]


def _clashing(
    made: Sequence[tuple[DeployableItem, str, RenderedFiles]], one: Target, read: ReadProject
) -> list[Refused]:
    """Refuse all items that would have the same name in the same folder. Knowledge keeps its full id, so it never clashes."""
    slots = {item.identity: str(slot(item)) for item, _, _ in made if slot(item) != "knowledge"}
    names = {item.identity: name for item, name, _ in made if item.identity in slots}
    refusals = []
    for name, wanting in clashes(names, slots):
        ways = "; ".join(_chain(read, identity) for identity in wanting)
        message = f"{len(wanting)} items would be named {name!r} in {one.title}: {ways}."
        fixed = any(identity.kind == "skill" for identity in wanting)
        hint = f'Leave one out: exclude = ["{wanting[-1]}"] below [deploy.{one.name}] in rye.toml'
        hint += ", " if fixed else ', or put namespaces before names: prefix = "on-clash" in [deploy]; '
        hint += f"then run `rye deploy --target {one.name}`."
        refusals += [
            Refused(item=str(each), target=one.name, field="name", code="deploy-name-clash", message=message, hint=hint)
            for each in wanting
        ]
    return refusals


def _chain(read: ReadProject, identity: Identity) -> str:
    """Return the shortest chain from rye.toml to the item."""
    found, _ = chains(read.lock, read.manifest, identity)
    names = [str(each) for each in found[0][1]] if found else [str(identity)]
    return " → ".join((found[0][0].file if found else "rye.toml", *names))


def _unapproved(one: Widened) -> Refused:
    hint = (
        f"`rye deploy --allow-widening {one.item}` allows exactly this; "
        f"[deploy.{one.target}] exclude in rye.toml leaves it out there."
    )
    return Refused(
        item=one.item,
        target=one.target,
        field=one.widening.field,
        code=one.widening.code,
        message=one.widening.message,
        hint=hint,
    )


def _wanted(one: Target, item: DeployableItem, rendered: RenderedFiles, disk: FolderDisk) -> list[Wanted]:
    def entry(path: str, data: bytes, executable: bool, form: Form | None = None, key: tuple[str, ...] = ()) -> Wanted:
        return Wanted(
            path=path,
            data=data,
            executable=executable,
            item=item.label,
            version=item.version,
            item_sha256=item.sha256,
            customizations_sha256=item.customizations,
            owners=((one.name, one.adapter),),
            form=form,
            is_original=path == item.original,
            key=key,
        )

    entries = [entry(file.path, file.data, file.executable) for file in rendered.files]
    for edit in rendered.shared_edits:
        path = next((path for path in edit.paths if disk.read(path).kind != "missing"), edit.paths[0])
        entries.append(entry(disk.shared(path), edit.text.encode(), False, edit.form, edit.key))
    return entries


def _unseen(
    one: Target, item: DeployableItem, rendered: RenderedFiles, disk: FolderDisk, scope: Scope
) -> Iterator[Note]:
    """Note a shared file that is so long that the program may not read the block at its end."""
    most, index = one.places[scope].index_bytes, one.places[scope].index
    if most is not None and index is not None and any(edit.paths == (index,) for edit in rendered.shared_edits):
        size = len(disk.read(disk.shared(index)).data)
        if size > most - DEPLOY.block_bytes:
            said = f"{index} has {size:,} bytes; {one.title} reads only {most:,}, so it may miss the block at the end"
            yield Note(item.label, one.name, said)


# -- the state file ----------------------------------------------------------------------------------------------------


class Remembered(Struct, frozen=True):
    """The valid part of the state file."""

    data: bytes | None
    state: State
    outside: tuple[Refused, ...]
    """Rows that no adapter could have written."""


def read_state_file(root: Path, scope: Scope) -> Remembered:
    """Read the state file below a root. Rows that their adapter could not have written are ignored and reported."""
    data = read_project_file(root / STATE, DEPLOY.state_bytes)
    state = parse_state(data)
    known = {name: target(name) for name in program_names() if any(row.target == name for row in state.files)}
    ours: list[FileRow] = []
    outside: list[Refused] = []
    for row in state.files:
        one = known.get(row.target)
        if is_ours(row, one, one.places[scope] if one is not None else None):
            living = (
                tuple(name for name in row.projects if os.path.isfile(f"{name}/rye.toml")) if scope == "user" else ()
            )
            ours.append(replace(row, projects=living) if row.projects else row)
            continue
        message = f"{row.path} in .ai/deploy.lock is not a file that Rye writes for {row.item}; the row is ignored."
        outside.append(
            Refused(item=row.item, target=row.target, field=row.path, code="deploy-outside", message=message)
        )
    made = tuple(path for path in state.made if is_made_place(path))
    return Remembered(data, State(_one_each(root, ours), state.allowed, made), tuple(outside))


def _one_each(root: Path, rows: Sequence[FileRow]) -> tuple[FileRow, ...]:
    """Keep one row for each file. If a merge left two, keep the one with the hash of the bytes on disk."""
    rows_by_place: dict[tuple[str, str], FileRow] = {}
    for row in rows:
        key = (row.path, row.item)
        if key not in rows_by_place or read_present(f"{root}/{place_of(row.path)}").sha256 == row.sha256:
            rows_by_place[key] = row
    return tuple(rows_by_place.values())


def shadowed(root: Path, wanted: Sequence[Wanted]) -> list[Refused]:
    """Refuse files that a surrounding project also deploys, with different bytes."""
    outer: dict[str, tuple[str, str]] = {}
    for folder in list(root.resolve().parents)[: DEPLOY.outer_projects]:
        if folder == Path.home() or not (folder / STATE).is_file():
            continue
        try:
            rows = read_state_file(folder, "project").state.files
        except RyeError:
            continue
        for row in rows:
            outer.setdefault(row.path, (row.sha256, str(folder)))
    refusals = []
    for one in wanted:
        known = outer.get(one.path) if one.form is None else None
        if known is None or known[0] == sha256(one.data).hexdigest():
            continue
        message = f"The surrounding project {known[1]} also deploys {one.path}, with different content."
        hint = "Use the same version in both, or leave it out of one with `exclude`."
        refusals += [
            Refused(item=one.item, target=name, field=one.path, code="deploy-shadowed", message=message, hint=hint)
            for name in sorted(one.targets)
        ]
    return refusals
