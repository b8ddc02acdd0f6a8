"""One run of a deploy, planned: what the project asks for, what is deployed, and what the disk has, compared. Writes nothing.

Valid widenings are those in the state file that this user agreed to in this project, or all of them if the lock is trusted in
this run (:mod:`rye.workspace.trusting.acceptance`); and those of items named with ``--allow-widening``.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment.agreeing import counted
from rye.deployment.disk import FolderDisk
from rye.deployment.own_files import claims_of
from rye.deployment.plan import make_plan
from rye.deployment.plan_ledger import Key
from rye.deployment.plan_values import Plan, Refused, Run, is_entry, place_of
from rye.deployment.recall import print_of
from rye.deployment.request import DeployRequest, Scope
from rye.deployment.selection import asked_for
from rye.deployment.state import Allowed, FileRow, State, state_text
from rye.deployment.survey import (
    Gathered,
    Note,
    ReadProject,
    Remembered,
    Survey,
    absent_labels,
    gather,
    read_state_file,
    shadowed,
    survey,
    without,
)
from rye.deployment.targets.protocol import target
from rye.errors import RyeError, UsageError
from rye.installation.completeness import locked_item
from rye.installation.transaction import NOTHING, Change
from rye.project.agent_programs import PROGRAMS, STATE, program_names
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.members import selected
from rye.workspace.context import Context


class Planned(Struct, frozen=True, kw_only=True):
    """A plan, and what it was made from."""

    plan: Plan
    survey: Survey
    remembered: Remembered
    given: tuple[Allowed, ...]
    """The widenings that were agreed to in this run."""
    disk: FolderDisk
    state: bytes | None
    """The new bytes of the state file; None: no state file."""
    read: ReadProject | None = None
    names: tuple[str, ...] = ()
    """The targets that were looked at, in the order of the table."""
    unagreed: frozenset[tuple[str, str]] = frozenset()
    """The pairs of item and target with a widening that was ignored although nobody agreed to it here."""
    unproved: frozenset[Key] = frozenset()
    """The rows that only a commit brought (:func:`standing`)."""
    every_note: tuple[Note, ...] = ()
    """The notes about all of them, also those that the run does not concern."""
    named: frozenset[str] = frozenset()
    """The labels of the items that the request names."""

    def prints(self) -> dict[str, str]:
        """Return the print of every file that is deployed or contains an entry of ours, as this run leaves it."""
        written = {one.path: one for one in self.plan.writes}
        prints_by_name = {}
        for row in self.plan.state.files:
            path = place_of(row.path)
            if not is_entry(row):
                prints_by_name[path] = print_of(row.sha256, executable=row.mode == "0755")
            else:
                here = self.disk.read(path)
                data = written[path].data if path in written else here.data
                prints_by_name[path] = print_of(sha256(data or b"").hexdigest(), executable=here.executable)
        return prints_by_name

    def transaction(self) -> list[Change]:
        """Return the changes of files and state file, each conditional on what was read before."""
        found = [
            Change(one.path, one.data, one.executable, one.mode, self._before(one.path)) for one in self.plan.writes
        ]
        if self.state != self.remembered.data:
            was = self.remembered.data
            found.append(Change(STATE, self.state, before=NOTHING if was is None else sha256(was).hexdigest()))
        return found

    def _before(self, path: str) -> str | None:
        here = self.disk.read(path)
        if here.kind == "missing":
            return NOTHING
        return sha256(here.data).hexdigest() if here.kind == "file" else None


def state_bytes(plan: Plan) -> bytes | None:
    """Return the new bytes of the state file; None: no state file."""
    return None if plan.state.is_empty else state_text(plan.state).encode()


def _limit(read: ReadProject, request: DeployRequest, labels: Mapping[str, str]) -> frozenset[str] | None:
    """Return the items that this run is limited to; None: all. Raises UsageError ``unknown-name``."""
    named = frozenset(labels[given] for given in request.items)
    if request.member is None:
        return named or None
    asked = frozenset(map(str, asked_for(read.lock, selected(read.manifest, request.member))))
    return named & asked if request.items else asked


def planned(
    context: Context,
    read: ReadProject,
    root: Project,
    request: DeployRequest,
    names: tuple[str, ...],
    remembered: Remembered | None = None,
    *,
    every: bool = False,
    keeps: bool = False,
) -> Planned:
    """Gather and compare. ``every``: ignore widenings, because nothing will be written. ``keeps``: what is deployed to programs
    that rye.toml does not name stays and is kept up to date, and so is what belongs to groups that are not installed here."""
    if remembered is None:
        remembered = read_state_file(root.root, request.scope)
    disk = FolderDisk(root.root)
    claims = claims_of(context, root, remembered.state)
    proved = standing(remembered.state, claims, disk)
    state = remembered.state if every else proved
    kept = deployed_targets(state) if keeps or request.targets else ()
    all_names = _in_order({*names, *read.manifest.deploy.targets, *kept})
    gathered = gather(context, read, request.scope)
    labels = {given: _label(read.lock, gathered, given) for given in (*request.items, *request.overwrite)}
    allow = {_allowed(read.lock, gathered, given) for given in request.allow}
    agreed = counted(context, read.project, remembered.state)
    targets = [target(name) for name in all_names]
    chosen, pairs = {*names, *read.manifest.deploy.targets}, {(row.item, row.target) for row in state.files}

    def look(allowed: Iterable[Allowed]) -> Survey:
        every_item = survey(read, gathered, disk, targets, request.scope, frozenset(allowed))
        return every_item.only(lambda item, name: name in chosen or (item, name) in pairs)

    found = look(agreed)
    limits = (
        frozenset(names) if request.targets else None,
        _limit(read, request, labels),
    )
    given = tuple(
        one.row
        for one in found.widenings
        if not one.allowed and (every or (one.item in allow and (limits[0] is None or one.target in limits[0])))
    )
    if given:
        found = look((*agreed, *given))
    run = Run(
        targets=limits[0],
        items=limits[1],
        adopt=frozenset(_inside(context, root, path) for path in request.adopt),
        overwrite=frozenset(labels[given] for given in request.overwrite),
        project=deployer(read.project, request.scope),
        leaves=absent_labels(read) if keeps else frozenset(),
    )
    found = replace(found, refused=(*found.refused, *_of_deployed(gathered, state)))
    refused = [row for row in found.refused if run.concerns(row.item, (row.target,))]
    wanted = found.wanted
    if request.scope == "project":
        dark = [row for row in shadowed(root.root, wanted) if run.concerns(row.item, (row.target,))]
        refused += dark
        hidden = {(row.item, row.target) for row in dark}
        wanted = without(wanted, lambda item, name: (item, name) in hidden)
    current = {one.row for one in found.widenings}
    allowed = [one for one in (*remembered.state.allowed, *given) if one in current or not _is_known(one, found)]
    plan = make_plan(wanted, remembered.state, disk.read, run, refused, allowed, disk.is_folder, claims, disk.below)
    return Planned(
        plan=plan,
        survey=replace(
            found.only(lambda item, name: run.concerns(item, (name,))), wanted=found.wanted, refused=found.refused
        ),
        remembered=remembered,
        given=() if every else given,
        disk=disk,
        state=state_bytes(plan),
        read=read,
        names=all_names,
        unagreed=frozenset((one.item, one.target) for one in given) if every else frozenset(),
        unproved=frozenset((row.path, row.item) for row in {*state.files} - {*proved.files}),
        every_note=found.notes,
        named=frozenset(labels[given] for given in request.items),
    )


def _of_deployed(gathered: Gathered, state: State) -> list[Refused]:
    """Refusals of own items that are deployed and must not be any more: what is there stays, and somebody is told."""
    pairs = {(row.item, row.target) for row in state.files}
    return [
        Refused(
            item=item,
            target=name,
            field="text",
            code="untrusted",
            message=f"{item} {why.partition('. ')[0]}.",
            hint=hint,
        )
        for identity, why in gathered.not_used
        for item, name in sorted(pairs)
        if item == str(identity) and (hint := f"{why.partition('. ')[2]}.")
    ]


def _label(lock: Lock, gathered: Gathered, given: str) -> str:
    """Return the label of an item that a person named, an own or an installed one. Raises UsageError ``unknown-name``."""
    own = [str(identity) for identity in gathered.own]
    named = [label for label in own if given in (label, label.partition(":")[2])]
    if len(named) == 1:
        return named[0]
    try:
        return str(locked_item(lock, given).identity)
    except RyeError as error:
        if error.code != "not-installed" or given not in program_names():
            raise
        hint = f"`rye deploy --target {given}` deploys to that agent program."
        raise RyeError(error.code, error.message, hint) from None


def _allowed(lock: Lock, gathered: Gathered, given: str) -> str:
    """Return the item of ``--allow-widening ID[@VERSION]``. Raises UsageError if a different version is locked."""
    name, _, version = given.partition("@")
    label = _label(lock, gathered, name)
    if not version or label in map(str, gathered.own):
        return label
    row = locked_item(lock, name)
    if version not in ("", row.version):
        raise UsageError(
            "usage",
            f"{row.identity} is locked at {row.version}, not at {version}.",
            "`rye deploy --dry-run` shows the widenings of the locked version.",
        )
    return str(row.identity)


def _is_known(one: Allowed, found: Survey) -> bool:
    """Whether the item now has other widenings. Then agreements about an older version are dropped."""
    return any(each.item == one.item and each.target == one.target for each in found.widenings)


def standing(state: State, claims: Collection[Key], disk: FolderDisk) -> State:
    """Return the state without rows that only a commit brought: this user's Rye did not write them (``claims``), and nothing is
    in their place. Otherwise whoever can commit would choose where the next deploy writes. An entry in a shared file is such a
    row until a comparison found it to be right."""

    def stands(row: FileRow) -> bool:
        if (row.path, row.item) not in claims:
            return True
        return not is_entry(row) and disk.read(row.path).kind != "missing"

    return replace(state, files=tuple(filter(stands, state.files)))


def deployed_targets(state: State, project: str | None = None) -> tuple[str, ...]:
    """Return the targets that something is deployed to. ``project``: in the home folder, only what this project deployed."""
    rows = (row for row in state.files if project is None or project in row.projects)
    return _in_order({row.target for row in rows})


def _in_order(names: Collection[str]) -> tuple[str, ...]:
    """Return these targets in the order of the table."""
    return tuple(program.name for program in PROGRAMS if program.name in names)


def deployer(project: Project, scope: Scope) -> str | None:
    """Return the project that owns files in the home folder; None in a project."""
    return os.path.realpath(project.root) if scope == "user" else None


def root_of(project: Project, scope: Scope) -> Project:
    """Return the folder that a scope writes to."""
    return project if scope == "project" else Project(Path.home())


def _inside(context: Context, root: Project, given: str) -> str:
    """Convert a path from the command line to one relative to the root."""
    return Path(os.path.relpath(context.cwd / given, root.root)).as_posix()
