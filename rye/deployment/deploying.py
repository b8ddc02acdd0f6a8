"""``rye deploy`` and ``rye undeploy``: gathered, compared, and written as one transaction.

Which widenings count: those that the state file remembers and that this user agreed to in this project, or whose lock is trusted
for this run (:mod:`rye.workspace.trusting.acceptance`); and those of items named with ``--allow-widening`` now.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment import recall
from rye.deployment.agreeing import agree, counted, require_accepted
from rye.deployment.disk import FolderDisk
from rye.deployment.plan import make_plan
from rye.deployment.plan_values import Checked, FileChange, Plan, Refused, Run, Wanted, is_entry, place_of
from rye.deployment.recall import Recalled, print_of
from rye.deployment.request import DeployRequest, Scope, words_of
from rye.deployment.selection import detected, included
from rye.deployment.state import Allowed, State, state_text
from rye.deployment.survey import (
    Note,
    ReadProject,
    Remembered,
    Survey,
    Widened,
    deployed_rows,
    read_project,
    read_state_file,
    shadowed,
    survey,
)
from rye.deployment.targets.protocol import Target, all_targets, target
from rye.errors import RyeError, UsageError
from rye.installation.graph import locked_item
from rye.installation.transaction import Change, Round, exclusive
from rye.project.agent_programs import PROGRAMS, STATE
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.manifest_edit import set_deploy_targets
from rye.workspace.context import Context
from rye.workspace.installing.project_texts import manifest_text_of
from rye.workspace.registries.project_registries import user_basis
from rye.workspace.trusting.acceptance import trusts_lock


class Deployed(Struct, frozen=True):
    """What a run did, or would do."""

    changes: tuple[FileChange, ...] = ()
    refused: tuple[Refused, ...] = ()
    widenings: tuple[Widened, ...] = ()
    notes: tuple[Note, ...] = ()
    targets: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    checked: tuple[Checked, ...] = ()
    dry_run: bool = False

    @property
    def changed(self) -> tuple[FileChange, ...]:
        return tuple(change for change in self.changes if change.change != "unchanged")

    def as_json(self) -> dict[str, object]:
        """The JSON of ``rye deploy`` (docs/agents.md)."""
        return {
            "changes": [change.as_json() for change in self.changes],
            "refused": [row.as_json() for row in self.refused],
            "widenings": [row.as_json() for row in self.widenings],
            "notes": [row.as_json() for row in self.notes],
            "targets": list(self.targets),
            "kept": list(self.kept),
            "dry_run": self.dry_run,
        }


def summary(done: Deployed) -> str:
    """One line: what was done, or would be."""
    counts = {name: sum(change.change == name for change in done.changed) for name in ("create", "update", "remove")}
    words = {"create": "written", "update": "updated", "remove": "removed"}
    parts = [f"{count} {words[name]}" for name, count in counts.items() if count]
    if done.dry_run:
        return f"nothing was changed (--dry-run); it would be: {', '.join(parts)}" if parts else "nothing to deploy"
    where = f" for {', '.join(done.targets)}" if done.targets else ""
    refused = len({(row.item, row.target) for row in done.refused})
    if refused and not parts:
        return f"not everything is deployed{where}: {refused} refused"
    parts += [f"{refused} refused"] if refused else []
    return f"deployed{where}: {', '.join(parts)}" if parts else f"everything is deployed{where}"


ChooseTargets = Callable[[tuple[str, ...]], bool]
"""Asks a person once whether these programs, which were found, are the ones to deploy to."""


def deploy(context: Context, project: Project, request: DeployRequest, choose: ChooseTargets | None = None) -> Deployed:
    """Write what is installed where agent programs read it.

    Raises RyeError for a project whose items do not count, and ``deploy-unknown-target`` where no program is named or found.
    """
    read = read_project(project)
    names, asked = _targets(context, read, request, choose)
    root = _root(project, request.scope)
    if request.dry_run:
        return _planned(context, read, root, request, names).outcome(names, dry_run=True)
    with exclusive(root) as writer:
        read = read_project(project)
        require_accepted(context, project, read.manifest, deployed_rows(read))
        planned = _planned(context, read, root, request, names)
        changes = planned.transaction()
        if asked and root == project:
            text = set_deploy_targets(manifest_text_of(project), names)
            changes.append(Change("rye.toml", text.encode()))
        writer.apply(changes, folders=planned.plan.folders)
    agree(project, planned.given)
    done = planned.outcome(names)
    _recall_later(context, root, request, planned, done)
    return done


def following(context: Context, project: Project) -> tuple[Round, Deployed] | None:
    """What an installation writes on top: the deploy of what it has just put in place. None where the project has no targets.

    The installation asked about what rye.lock approves already.
    """
    read = read_project(project)
    table = read.manifest.deploy
    if not table.targets or not table.after_install:
        return None
    request = DeployRequest()
    planned = _planned(context, read, project, request, table.targets)
    done = planned.outcome(table.targets)
    _recall_later(context, project, request, planned, done)
    return Round(planned.transaction(), planned.plan.folders), done


def check(context: Context, project: Project, request: DeployRequest) -> tuple[Checked, ...]:
    """Every deployed file against what it should be, recomputed from the lock and the customizations."""
    read = read_project(project)
    root = _root(project, request.scope)
    names = request.targets or configured(read, root, request.scope)
    planned = _planned(context, read, root, request, names, every=True)
    outside = tuple(Checked(row.field, "unowned", row.item, row.target) for row in planned.remembered.outside)
    return tuple(sorted((*planned.plan.checked, *outside), key=lambda one: (one.path, one.item)))


def deploy_targets(context: Context, project: Project, request: DeployRequest) -> tuple[str, ...]:
    """The targets that :func:`check` compares."""
    read = read_project(project)
    return request.targets or configured(read, _root(project, request.scope), request.scope)


def undeploy(context: Context, project: Project, items: Sequence[str], scope: Scope) -> Deployed:
    """Take deployed files away; ``items``: labels or ids, none: all. Edited ones stay and are somebody else's from now on."""
    root = _root(project, scope)
    with exclusive(root) as writer:
        remembered = read_state_file(root.root, scope)
        labels = frozenset(_labels(remembered.state, items)) if items else None
        run = Run(items=labels, lets_go=True)
        state = remembered.state
        left = tuple(one for one in state.allowed if labels is not None and one.item not in labels)
        disk = FolderDisk(root.root)
        plan = make_plan((), state, disk.read, run, allowed=left, is_folder=disk.is_folder)
        planned = _Planned(plan, Survey((), (), (), (), {}), remembered, ())
        writer.apply(planned.transaction(), folders=plan.folders)
    return planned.outcome(())


def configured(read: ReadProject, root: Project, scope: Scope) -> tuple[str, ...]:
    """The targets of rye.toml; without any, those that something is deployed to."""
    if read.manifest.deploy.targets:
        return read.manifest.deploy.targets
    rows = read_state_file(root.root, scope).state.files
    return tuple(program.name for program in PROGRAMS if any(row.target == program.name for row in rows))


def _recall_later(context: Context, root: Project, request: DeployRequest, planned: _Planned, done: Deployed) -> None:
    """Remember what the next run says, which finds nothing to do. Formulas may be made of others that are not installed, which is
    not looked at."""
    words, read = words_of(request, trusts_lock=trusts_lock(context)), planned.read
    if words is None or read is None or done.refused or not (request.targets or read.manifest.deploy.targets):
        return
    rows = included(read.lock, read.manifest)
    if any(row.kind == "formula" for row in rows):
        return
    left = tuple(replace(change, change="unchanged") for change in done.changes if change.change != "remove")
    after = replace(done, changes=left, kept=())
    basis = user_basis()
    names = sorted({(row.registry, row.identity.namespace) for row in rows})
    grounds = tuple((origin, namespace, basis(origin, namespace)) for origin, namespace in names)
    recalled = Recalled(after.as_json(), summary(after), planned.prints(), grounds)
    recall.remember(read.project, root.root, words, recalled, planned.state)


# -- steps -------------------------------------------------------------------------------------------------------------


class _Planned(Struct, frozen=True):
    plan: Plan
    survey: Survey
    remembered: Remembered
    given: tuple[Allowed, ...]
    """Widenings that this run agrees to."""
    read: ReadProject | None = None
    disk: FolderDisk | None = None

    @property
    def state(self) -> bytes | None:
        """The state file's new bytes; None: there is none."""
        return None if self.plan.state.is_empty else state_text(self.plan.state).encode()

    def prints(self) -> dict[str, str]:
        """Every file that is deployed or holds something of ours, as this run leaves it."""
        written = {one.path: one for one in self.plan.writes}
        found = {}
        for row in self.plan.state.files:
            path, disk = place_of(row.path), self.disk
            if not is_entry(row):
                found[path] = print_of(row.sha256, executable=row.mode == "0755")
            elif disk is not None:
                here = disk.read(path)
                data = written[path].data if path in written else here.data
                found[path] = print_of(sha256(data or b"").hexdigest(), executable=here.executable)
        return found

    def transaction(self) -> list[Change]:
        """The files, and the state file where it changes."""
        found = [Change(one.path, one.data, one.executable, one.mode) for one in self.plan.writes]
        if self.state != self.remembered.data:
            found.append(Change(STATE, self.state))
        return found

    def outcome(self, targets: tuple[str, ...], *, dry_run: bool = False) -> Deployed:
        return Deployed(
            self.plan.changes,
            (*self.remembered.outside, *self.plan.refused),
            self.survey.widenings,
            self.survey.notes,
            targets,
            self.plan.kept,
            self.plan.checked,
            dry_run,
        )


def _planned(
    context: Context,
    read: ReadProject,
    root: Project,
    request: DeployRequest,
    names: tuple[str, ...],
    *,
    every: bool = False,
) -> _Planned:
    """Gather and compare. ``every``: widenings do not matter, since nothing is written."""
    remembered = read_state_file(root.root, request.scope)
    all_names = _with_deployed(read, remembered.state, names)
    disk = FolderDisk(root.root)
    labels = {given: str(locked_item(read.lock, given).identity) for given in (*request.items, *request.overwrite)}
    allow = {_allowed(read.lock, given) for given in request.allow}
    agreed = counted(context, read.project, remembered.state)
    targets = [target(name) for name in all_names]
    found = survey(context, read, disk, targets, request.scope, frozenset(agreed))
    limits = (
        frozenset(names) if request.targets else None,
        frozenset(labels[given] for given in request.items) if request.items else None,
    )
    given = tuple(
        one.row
        for one in found.widenings
        if not one.allowed and (every or (one.item in allow and (limits[0] is None or one.target in limits[0])))
    )
    if given:
        found = survey(context, read, disk, targets, request.scope, frozenset((*agreed, *given)))
    run = Run(
        targets=limits[0],
        items=limits[1],
        adopt=frozenset(_inside(context, root, path) for path in request.adopt),
        overwrite=frozenset(labels[given] for given in request.overwrite),
        removes=request.scope == "project",
    )
    refused = [row for row in found.refused if _concerns(row, run)]
    wanted = found.wanted
    if request.scope == "project":
        dark = [row for row in shadowed(root.root, wanted) if _concerns(row, run)]
        refused += dark
        wanted = _without(wanted, {(row.item, row.target) for row in dark})
    current = {one.row for one in found.widenings}
    allowed = [one for one in (*remembered.state.allowed, *given) if one in current or not _is_known(one, found)]
    plan = make_plan(wanted, remembered.state, disk.read, run, refused, allowed, disk.is_folder)
    return _Planned(plan, _of_run(found, run), remembered, () if every else given, read, disk)


def _allowed(lock: Lock, given: str) -> str:
    """The item of ``--allow-widening ID[@VERSION]``. Raises UsageError where another version is locked than was looked at."""
    name, _, version = given.partition("@")
    row = locked_item(lock, name)
    if version not in ("", row.version):
        raise UsageError(
            "usage",
            f"{row.identity} is locked at {row.version}, not at {version}.",
            "`rye deploy --dry-run` shows what it asks for.",
        )
    return str(row.identity)


def _without(wanted: Sequence[Wanted], pairs: set[tuple[str, str]]) -> tuple[Wanted, ...]:
    """Without what is refused, target by target."""
    found = []
    for one in wanted:
        owners = tuple(owner for owner in one.owners if (one.item, owner[0]) not in pairs)
        if owners:
            found.append(replace(one, owners=owners))
    return tuple(found)


def _is_known(one: Allowed, found: Survey) -> bool:
    """Whether the item is there with other widenings: what was agreed to of an older version is forgotten."""
    return any(each.item == one.item and each.target == one.target for each in found.widenings)


def _concerns(row: Refused, run: Run) -> bool:
    return (run.targets is None or row.target in run.targets) and (run.items is None or row.item in run.items)


def _of_run(found: Survey, run: Run) -> Survey:
    """What is said of the run's items and targets."""

    def concerns(item: str, name: str) -> bool:
        return (run.targets is None or name in run.targets) and (run.items is None or item in run.items)

    return Survey(
        found.wanted,
        found.refused,
        tuple(one for one in found.widenings if concerns(one.item, one.target)),
        tuple(one for one in found.notes if concerns(one.item, one.target)),
        found.descriptions,
    )


def _with_deployed(read: ReadProject, state: State, names: tuple[str, ...]) -> list[str]:
    """The run's targets, and those that a file may belong to besides, in the table's order."""
    wanted = {*names, *read.manifest.deploy.targets}
    if not read.manifest.deploy.targets:
        wanted |= {row.target for row in state.files}
    return [program.name for program in PROGRAMS if program.name in wanted]


def _targets(
    context: Context, read: ReadProject, request: DeployRequest, choose: ChooseTargets | None
) -> tuple[tuple[str, ...], bool]:
    """The run's targets, and whether a person chose them just now."""
    given: list[Target] = [target(name) for name in dict.fromkeys(request.targets)]
    if given:
        return tuple(one.name for one in given), False
    if read.manifest.deploy.targets:
        return read.manifest.deploy.targets, False
    root = _root(read.project, request.scope).root
    found = detected(all_targets(), request.scope, lambda path: os.path.lexists(root / path))
    if found and context.interactive and choose is not None:
        if choose(found):
            return found, not request.dry_run
        raise RyeError("declined", "Nothing was deployed.", _name_targets(found))
    if found and context.assume_yes:
        return found, False
    said = f"Found here: {', '.join(found)}. " if found else ""
    raise UsageError("deploy-unknown-target", "rye.toml names no targets.", f"{said}{_name_targets(found)}")


def _name_targets(found: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in found or ("claude",))
    yes = " `-y` takes those that were found." if found else ""
    return f"Name one with --target, or write targets = [{listed}] under [deploy] in rye.toml.{yes}"


def _root(project: Project, scope: Scope) -> Project:
    return project if scope == "project" else Project(Path.home())


def _inside(context: Context, root: Project, given: str) -> str:
    """A path that a person gave, relative to the root."""
    return Path(os.path.relpath(context.cwd / given, root.root)).as_posix()


def _labels(state: State, items: Sequence[str]) -> list[str]:
    """The deployed items that are meant."""
    known = sorted({row.item for row in state.files})
    found = []
    for given in items:
        meant = [label for label in known if given in (label, label.partition(":")[2])]
        if not meant:
            raise RyeError("not-deployed", f"{given!r} is not deployed.", f"Deployed: {', '.join(known) or 'nothing'}.")
        found += meant
    return found
