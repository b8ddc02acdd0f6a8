"""``rye deploy`` and ``rye undeploy``: gather, compare, and write in one transaction.

Valid widenings are those in the state file that this user agreed to in this project, or all of them if the lock is trusted in
this run (:mod:`rye.workspace.trusting.acceptance`); and those of items named with ``--allow-widening``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment import recall
from rye.deployment.agreeing import agree, counted, require_accepted
from rye.deployment.disk import FolderDisk
from rye.deployment.own_files import claims_of, remember_own
from rye.deployment.plan import make_plan
from rye.deployment.plan_values import Checked, FileChange, Plan, Refused, Run, Wanted, is_entry, place_of
from rye.deployment.recall import Recalled, print_of
from rye.deployment.request import DeployRequest, Scope, words_of
from rye.deployment.selection import asked_for, detected, included
from rye.deployment.state import Allowed, State, state_text
from rye.deployment.survey import (
    Note,
    ReadProject,
    Remembered,
    Survey,
    Widened,
    deployed_rows,
    gather,
    read_project,
    read_state_file,
    shadowed,
    survey,
    used_rows,
)
from rye.deployment.targets.protocol import Target, all_targets, target
from rye.errors import RyeError, UsageError
from rye.installation import git_attributes
from rye.installation.completeness import locked_item
from rye.installation.transaction import NOTHING, Change, Round, TransactionError, exclusive
from rye.project.agent_programs import PROGRAMS, STATE
from rye.project.context import load_manifest
from rye.project.layout import Project, is_in_checkout
from rye.project.lock import Lock
from rye.project.manifest import Manifest
from rye.project.members import selected
from rye.verified.memory import stored_basis
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import trusts_lock

_TRIES = 3
"""How often a run tries if another program keeps changing files in the meantime."""


class Deployed(Struct, frozen=True, kw_only=True):
    """What a run did, or with ``dry_run`` would do."""

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
        """The changes, without files that stay the same."""
        return tuple(change for change in self.changes if change.change != "unchanged")

    def as_json(self) -> dict[str, object]:
        """Return the JSON of ``rye deploy`` (docs/how-to/agents.md)."""
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
    """Return one line about what was done, or would be done."""
    counts = {name: sum(change.change == name for change in done.changed) for name in ("create", "update", "remove")}
    words = {"create": "written", "update": "updated", "remove": "removed"}
    parts = [f"{count} {words[name]}" for name, count in counts.items() if count]
    if done.dry_run:
        if parts:
            return f"nothing was changed (--dry-run); would be: {', '.join(parts)}"
        return "everything is deployed; nothing would change" if done.changes else "there is nothing to deploy"
    where = f" for {', '.join(done.targets)}" if done.targets else ""
    refused = len({(row.item, row.target) for row in done.refused})
    if refused and not parts:
        return f"not everything is deployed{where}: {refused} refused"
    parts += [f"{refused} refused"] if refused else []
    if parts:
        return f"deployed{where}: {', '.join(parts)}"
    return f"everything is deployed{where}" if done.changes else f"there is nothing to deploy{where}"


WriteTargets = Callable[[Project, tuple[str, ...]], bytes]
"""Returns rye.toml with these targets (:func:`rye.workspace.installing.deploy_targets.manifest_with_targets`)."""
ChooseTargets = Callable[[tuple[str, ...]], WriteTargets | None]
"""Asks a person once whether to deploy to the detected programs. Returns the function that adds them to rye.toml, or None for
a no, so that other runs need not load a TOML editor."""


def deploy(context: Context, project: Project, request: DeployRequest, choose: ChooseTargets | None = None) -> Deployed:
    """Write installed items where agent programs read them.

    Raises RyeError if the project's approvals are not valid here, and ``unknown-name`` if no target is set.
    """
    names, asked = _targets(context, project, load_manifest(project), request, choose)
    root = _root(project, request.scope)
    if request.dry_run:
        return _planned(context, read_project(project), root, request, names).outcome(names, dry_run=True)
    with exclusive(root) as writer:
        for left in reversed(range(_TRIES)):
            read = read_project(project)
            alone = [row.identity for row in deployed_rows(read)]
            require_accepted(context, project, read.manifest, used_rows(read), alone)
            planned = _planned(context, read, root, request, names)
            changes = [*planned.transaction(), *_attributes(context, root, request.scope, planned.plan)]
            if asked is not None and root == project:
                changes.append(Change("rye.toml", asked(project, names)))
            remember_own(context.home, root, planned.remembered.state, planned.plan)
            try:
                writer.apply(changes, folders=planned.plan.folders)
                break
            except TransactionError as error:
                if error.code != "file-changed" or not left:
                    raise
    agree(context.home, project, planned.given)
    done = planned.outcome(names)
    _recall_later(context, root, request, planned, done)
    return done


def following(
    context: Context, project: Project, chosen: tuple[str, ...] = (), write: WriteTargets | None = None
) -> tuple[Round, Deployed] | None:
    """Return what an installation writes in addition: the deploy of what it just installed. None if the project has no targets.
    ``chosen``: the targets that a person just agreed to, which ``write`` adds to rye.toml.

    The installation has already asked for the approvals in rye.lock.
    """
    read = read_project(project)
    table = read.manifest.deploy
    names = table.targets or chosen
    if not names or not table.after_install:
        return None
    request = DeployRequest()
    planned = _planned(context, read, project, request, names)
    remember_own(context.home, project, planned.remembered.state, planned.plan)
    done = planned.outcome(names)
    _recall_later(context, project, request, planned, done)
    changes = [*planned.transaction(), *_attributes(context, project, "project", planned.plan)]
    if not table.targets and write is not None:
        changes.append(Change("rye.toml", write(project, names)))
    return Round(changes, planned.plan.folders), done


class Check(Struct, frozen=True):
    """The deployed files compared with what they should be."""

    files: tuple[Checked, ...]
    targets: tuple[str, ...]
    """The targets that were checked."""
    command: str = "rye deploy"
    """The command that deploys the same."""


def check(context: Context, project: Project, request: DeployRequest) -> Check:
    """Compare the deployed files with what the lock and the customizations would give now."""
    read = read_project(project)
    root = _root(project, request.scope)
    remembered = read_state_file(root.root, request.scope)
    given = tuple(target(name).name for name in request.targets)
    names = given or configured(read.manifest, remembered.state)
    planned = _planned(context, read, root, request, names, remembered, every=True)
    outside = tuple(Checked(row.field, "unowned", row.item, row.target) for row in remembered.outside)
    files = tuple(sorted((*planned.plan.checked, *outside), key=lambda one: (one.path, one.item)))
    said = names if given or not read.manifest.deploy.targets else ()
    scope = ("--scope user",) if request.scope == "user" else ()
    member = () if request.member is None else ("-p", request.member)
    return Check(
        files, names, " ".join(("rye deploy", *request.items, *member, *(f"--target {name}" for name in said), *scope))
    )


def undeploy(context: Context, project: Project, items: Sequence[str], scope: Scope) -> Deployed:
    """Remove deployed files. ``items``: labels or ids, none: all. Edited files stay, and Rye no longer owns them."""
    root = _root(project, scope)
    with exclusive(root) as writer:
        remembered = read_state_file(root.root, scope)
        labels = frozenset(_labels(remembered.state, items)) if items else None
        run = Run(items=labels, lets_go=True, project=_deployer(project, scope))
        state = remembered.state
        if labels is not None and run.project is not None:
            _require_own(state, labels, run.project)
        left = tuple(one for one in state.allowed if labels is not None and one.item not in labels)
        disk = FolderDisk(root.root)
        claims = claims_of(context, root, state)
        plan = make_plan((), state, disk.read, run, allowed=left, is_folder=disk.is_folder, claims=claims)
        planned = _Planned(
            plan=plan,
            survey=Survey((), (), (), (), {}),
            remembered=remembered,
            given=(),
            disk=disk,
            state=_state_bytes(plan),
        )
        remember_own(context.home, root, state, plan)
        changes = [*planned.transaction(), *_attributes(context, root, scope, plan)]
        writer.apply(changes, folders=plan.folders)
    return planned.outcome(())


def _attributes(context: Context, root: Project, scope: Scope, plan: Plan) -> list[Change]:
    """What makes git keep the bytes of the files that are deployed after the run; nothing in a home folder."""
    if scope != "project" or not is_in_checkout(root.root):
        return []
    changes, told = git_attributes.deployed_attributes(
        root, (row.path for row in plan.state.files if not is_entry(row))
    )
    for line in told:
        context.tell(line)
    return changes


def _deployer(project: Project, scope: Scope) -> str | None:
    """Return the project that owns files in the home folder; None in a project."""
    return os.path.realpath(project.root) if scope == "user" else None


def _require_own(state: State, labels: frozenset[str], project: str) -> None:
    """Require for the home folder that this project deployed the items, or that no other project still owns them."""
    for label in sorted(labels):
        owners = [row.projects for row in state.files if row.item == label]
        if all(projects and project not in projects for projects in owners):
            names = " and ".join(sorted({name for projects in owners for name in projects}))
            raise RyeError("deploy-conflict", f"{label} was deployed by {names}.", "Run `rye undeploy` there.")


def configured(manifest: Manifest, state: State) -> tuple[str, ...]:
    """Return the targets in rye.toml; if there are none, those that something is deployed to."""
    if manifest.deploy.targets:
        return manifest.deploy.targets
    return tuple(program.name for program in PROGRAMS if any(row.target == program.name for row in state.files))


def _recall_later(context: Context, root: Project, request: DeployRequest, planned: _Planned, done: Deployed) -> None:
    """Remember the output of the next run if nothing changes. Not with formulas: they can include formulas that are not
    installed, and changes of those would not be noticed."""
    words, read = words_of(request, trusts_lock=trusts_lock(context)), planned.read
    if words is None or read is None or done.refused or not (request.targets or read.manifest.deploy.targets):
        return
    rows = included(read.lock, read.manifest)
    if any(row.kind == "formula" for row in rows):
        return
    left = tuple(replace(change, change="unchanged") for change in done.changes if change.change != "remove")
    after = replace(done, changes=left, kept=())
    basis = stored_basis(context.home)
    names = sorted({(row.registry, row.identity.namespace) for row in rows})
    bases = tuple((origin, namespace, basis(origin, namespace)) for origin, namespace in names)
    recalled = Recalled(after.as_json(), summary(after), planned.prints(), bases)
    recall.remember(context.home, read.project, root.root, words, recalled, planned.state, read.present)


# -- steps -------------------------------------------------------------------------------------------------------------


class _Planned(Struct, frozen=True, kw_only=True):
    plan: Plan
    survey: Survey
    remembered: Remembered
    given: tuple[Allowed, ...]
    """The widenings that were agreed to in this run."""
    disk: FolderDisk
    state: bytes | None
    """The new bytes of the state file; None: no state file."""
    read: ReadProject | None = None

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

    def outcome(self, targets: tuple[str, ...], *, dry_run: bool = False) -> Deployed:
        return Deployed(
            changes=self.plan.changes,
            refused=(*self.remembered.outside, *self.plan.refused),
            widenings=self.survey.widenings,
            notes=self.survey.notes,
            targets=targets,
            kept=self.plan.kept,
            checked=self.plan.checked,
            dry_run=dry_run,
        )


def _state_bytes(plan: Plan) -> bytes | None:
    return None if plan.state.is_empty else state_text(plan.state).encode()


def _limit(read: ReadProject, request: DeployRequest, labels: Mapping[str, str]) -> frozenset[str] | None:
    """Return the items that this run is limited to; None: all. Raises UsageError ``unknown-name``."""
    named = frozenset(labels[given] for given in request.items)
    if request.member is None:
        return named or None
    asked = frozenset(map(str, asked_for(read.lock, selected(read.manifest, request.member))))
    return named & asked if request.items else asked


def _planned(
    context: Context,
    read: ReadProject,
    root: Project,
    request: DeployRequest,
    names: tuple[str, ...],
    remembered: Remembered | None = None,
    *,
    every: bool = False,
) -> _Planned:
    """Gather and compare. ``every``: ignore widenings, because nothing will be written."""
    if remembered is None:
        remembered = read_state_file(root.root, request.scope)
    all_names = _with_deployed(read, remembered.state, names)
    disk = FolderDisk(root.root)
    labels = {given: str(locked_item(read.lock, given).identity) for given in (*request.items, *request.overwrite)}
    allow = {_allowed(read.lock, given) for given in request.allow}
    agreed = counted(context, read.project, remembered.state)
    targets = [target(name) for name in all_names]
    gathered = gather(context, read, request.scope)
    found = survey(read, gathered, disk, targets, request.scope, frozenset(agreed))
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
        found = survey(read, gathered, disk, targets, request.scope, frozenset((*agreed, *given)))
    run = Run(
        targets=limits[0],
        items=limits[1],
        adopt=frozenset(_inside(context, root, path) for path in request.adopt),
        overwrite=frozenset(labels[given] for given in request.overwrite),
        project=_deployer(read.project, request.scope),
    )
    refused = [row for row in found.refused if run.concerns(row.item, (row.target,))]
    wanted = found.wanted
    if request.scope == "project":
        dark = [row for row in shadowed(root.root, wanted) if run.concerns(row.item, (row.target,))]
        refused += dark
        wanted = _without(wanted, {(row.item, row.target) for row in dark})
    current = {one.row for one in found.widenings}
    allowed = [one for one in (*remembered.state.allowed, *given) if one in current or not _is_known(one, found)]
    claims = claims_of(context, root, remembered.state)
    plan = make_plan(wanted, remembered.state, disk.read, run, refused, allowed, disk.is_folder, claims)
    return _Planned(
        plan=plan,
        survey=_of_run(found, run),
        remembered=remembered,
        given=() if every else given,
        disk=disk,
        state=_state_bytes(plan),
        read=read,
    )


def _allowed(lock: Lock, given: str) -> str:
    """Return the item of ``--allow-widening ID[@VERSION]``. Raises UsageError if a different version is locked."""
    name, _, version = given.partition("@")
    row = locked_item(lock, name)
    if version not in ("", row.version):
        raise UsageError(
            "usage",
            f"{row.identity} is locked at {row.version}, not at {version}.",
            "`rye deploy --dry-run` shows the widenings of the locked version.",
        )
    return str(row.identity)


def _without(wanted: Sequence[Wanted], pairs: set[tuple[str, str]]) -> tuple[Wanted, ...]:
    """Remove the refused pairs of item and target."""
    kept = []
    for one in wanted:
        owners = tuple(owner for owner in one.owners if (one.item, owner[0]) not in pairs)
        if owners:
            kept.append(replace(one, owners=owners))
    return tuple(kept)


def _is_known(one: Allowed, found: Survey) -> bool:
    """Whether the item now has other widenings. Then agreements about an older version are dropped."""
    return any(each.item == one.item and each.target == one.target for each in found.widenings)


def _of_run(found: Survey, run: Run) -> Survey:
    """Keep only the widenings and notes about the run's items and targets."""
    return Survey(
        found.wanted,
        found.refused,
        tuple(one for one in found.widenings if run.concerns(one.item, (one.target,))),
        tuple(one for one in found.notes if run.concerns(one.item, (one.target,))),
        found.descriptions,
    )


def _with_deployed(read: ReadProject, state: State, names: tuple[str, ...]) -> list[str]:
    """Return the run's targets and any others that share files with them, in the order of the table."""
    wanted = {*names, *read.manifest.deploy.targets}
    if not read.manifest.deploy.targets:
        wanted |= {row.target for row in state.files}
    return [program.name for program in PROGRAMS if program.name in wanted]


def _targets(
    context: Context, project: Project, manifest: Manifest, request: DeployRequest, choose: ChooseTargets | None
) -> tuple[tuple[str, ...], WriteTargets | None]:
    """Return the run's targets, and, if a person just chose them, the function that adds them to rye.toml."""
    given: list[Target] = [target(name) for name in dict.fromkeys(request.targets)]
    if given:
        return tuple(one.name for one in given), None
    if manifest.deploy.targets:
        return manifest.deploy.targets, None
    root = _root(project, request.scope).root
    found = detected(all_targets(), request.scope, lambda path: os.path.lexists(root / path))
    if found and context.interactive and choose is not None:
        write = choose(found)
        if write is not None:
            return found, write
        raise RyeError("declined", "Nothing was deployed.", _name_targets(found))
    if found and context.assume_yes:
        return found, None
    said = f"Detected here: {', '.join(found)}. " if found else ""
    raise UsageError("unknown-name", "rye.toml has no targets.", f"{said}{_name_targets(found)}", what="target")


def _name_targets(found: Sequence[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in found or ("claude",))
    yes = " `-y` uses the detected ones." if found else ""
    flags = " ".join(f"--target {name}" for name in found or ("claude",))
    return f"Choose with `rye deploy {flags}`, or add targets = [{listed}] to [deploy] in rye.toml.{yes}"


def _root(project: Project, scope: Scope) -> Project:
    return project if scope == "project" else Project(Path.home())


def _inside(context: Context, root: Project, given: str) -> str:
    """Convert a path from the command line to one relative to the root."""
    return Path(os.path.relpath(context.cwd / given, root.root)).as_posix()


def _labels(state: State, items: Sequence[str]) -> list[str]:
    """Return the labels of the named deployed items. Raises RyeError ``not-deployed``."""
    known = sorted({row.item for row in state.files})
    labels = []
    for given in items:
        meant = [label for label in known if given in (label, label.partition(":")[2])]
        if not meant:
            raise RyeError("not-deployed", f"{given!r} is not deployed.", f"Deployed: {', '.join(known) or 'nothing'}.")
        labels += meant
    return labels
