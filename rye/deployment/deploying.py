"""``rye deploy`` and ``rye undeploy``: gather, compare (:mod:`rye.deployment.planning`), and write in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.deployment import recall
from rye.deployment.agreeing import agree, require_accepted
from rye.deployment.choosing import Aim, ChooseTargets, aim_of, configured, require_targets_allowed
from rye.deployment.disk import FolderDisk
from rye.deployment.own_files import claims_of, copied_rows, new_notes, remember_own, remember_told
from rye.deployment.own_items import own_entries
from rye.deployment.plan import make_plan
from rye.deployment.plan_values import Checked, FileChange, Kept, Plan, Refused, Run, is_entry
from rye.deployment.planning import Planned, deployer, planned, root_of, state_bytes
from rye.deployment.recall import Recalled
from rye.deployment.request import DeployRequest, Scope, words_of
from rye.deployment.selection import included
from rye.deployment.state import State
from rye.deployment.survey import (
    Note,
    Survey,
    Widened,
    deployed_rows,
    read_project,
    read_state_file,
    used_rows,
)
from rye.deployment.targets.protocol import target
from rye.errors import RyeError
from rye.installation import git_attributes
from rye.installation.journal import TransactionError
from rye.installation.transaction import Change, Round, exclusive
from rye.project.context import load_manifest
from rye.project.layout import Project, is_in_checkout
from rye.project.spaces import Spaces
from rye.text.lazy import lazy_module
from rye.verified.memory import stored_basis
from rye.workspace.context import Context
from rye.workspace.installing.project_state import manifest_text_of, require_manifest
from rye.workspace.trusting.acceptance import trusts_lock

if TYPE_CHECKING:
    from rye.project import manifest_edit
else:
    manifest_edit = lazy_module("rye.project.manifest_edit")  # a TOML editor, for a run that records targets

_BY_NATURE = frozenset(("deploy-inexpressible", "deploy-too-large"))
"""Why a program cannot have an item as it is. ``deploy-widening`` is none: it waits for somebody's consent."""
_TRIES = 3
"""How often a run tries if another program keeps changing files in the meantime."""


class Deployed(Struct, frozen=True, kw_only=True):
    """What a run did, or with ``dry_run`` would do."""

    changes: tuple[FileChange, ...] = ()
    refused: tuple[Refused, ...] = ()
    tolerated: tuple[Refused, ...] = ()
    """Those that fail no run: the program cannot have the item as it is, none of it is deployed there, and nobody named it."""
    known: tuple[Refused, ...] = ()
    """Those of the tolerated that this user's Rye has said before."""
    widenings: tuple[Widened, ...] = ()
    notes: tuple[Note, ...] = ()
    new_notes: tuple[Note, ...] = ()
    """Those that this user's Rye has not said yet."""
    targets: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    """The targets that rye.toml has named since this run."""
    unrecorded: tuple[str, ...] = ()
    """The targets of this run that rye.toml does not name, although the request did not ask for that."""
    kept: tuple[Kept, ...] = ()
    checked: tuple[Checked, ...] = ()
    drafts: int = 0
    """How many own items are not deployed yet, as notes say."""
    is_empty: bool = False
    """Whether the project has no items, and nothing is deployed."""
    dry_run: bool = False

    @property
    def failed(self) -> bool:
        """Whether something that should be deployed is not."""
        return len(self.refused) > len(self.tolerated)

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
            "kept": [one.path for one in self.kept],
            "dry_run": self.dry_run,
            **({"recorded": list(self.recorded)} if self.recorded else {}),
            **({"unrecorded": list(self.unrecorded)} if self.unrecorded else {}),
        }


def summary(done: Deployed) -> str:
    """Return one line about what was done, or would be done."""
    counts = {name: sum(change.change == name for change in done.changed) for name in ("create", "update", "remove")}
    words = {"create": "written", "update": "updated", "remove": "removed"}
    parts = [f"{count} {words[name]}" for name, count in counts.items() if count]
    if done.dry_run:
        if parts:
            return f"nothing was changed (--dry-run); would be: {', '.join(parts)}"
        return "everything is deployed; nothing would change" if done.changes else _nothing(done, "")
    where = f" for {', '.join(done.targets)}" if done.targets else ""
    refused = len({(row.item, row.target) for row in done.refused})
    if refused and not parts and not done.failed:
        return f"everything else is deployed{where}; {refused} refused"
    if refused and not parts:
        return f"not everything is deployed{where}: {refused} refused"
    parts += [f"{refused} refused"] if refused else []
    if parts:
        return f"deployed{where}: {', '.join(parts)}"
    if done.drafts and done.changes:
        own = "1 item of your own is" if done.drafts == 1 else f"{done.drafts} items of your own are"
        return f"everything else is deployed{where}; {own} not yet"
    return f"everything is deployed{where}" if done.changes else _nothing(done, where)


def _nothing(done: Deployed, where: str) -> str:
    why = ": the project has no items; `rye add [KIND:]ID` adds one" if done.is_empty else ""
    return f"there is nothing to deploy{where}{why}"


def deploy(context: Context, project: Project, request: DeployRequest, choose: ChooseTargets | None = None) -> Deployed:
    """Write installed items where agent programs read them.

    Raises RyeError if the project's approvals are not valid here, and ``unknown-name`` if no target is set.
    """
    manifest = load_manifest(project)
    aim = aim_of(context, project, manifest, request, choose)
    require_targets_allowed(context, manifest, aim.names)
    root = root_of(project, request.scope)
    if request.dry_run:
        read = read_project(project)
        plan = planned(context, read, root, request, aim.names)
        return _outcome(context, root, request, plan, aim, has_items=bool(read.lock.items))
    with exclusive(root) as writer:
        for left in reversed(range(_TRIES)):
            read = read_project(project)
            alone = [row.identity for row in deployed_rows(read)]
            require_accepted(context, project, read.manifest, used_rows(read), alone)
            plan = planned(context, read, root, request, aim.names)
            changes = [*plan.transaction(), *_attributes(context, root, request.scope, plan.plan)]
            if aim.recorded:
                wanted = (*read.manifest.deploy.targets, *aim.recorded)
                changes.append(Change("rye.toml", _manifest_with_targets(project, wanted)))
            remember_own(context.home, root, plan.remembered.state, plan.plan)
            try:
                writer.apply(changes, folders=plan.plan.folders)
                break
            except TransactionError as error:
                if error.code != "file-changed" or not left:
                    raise
    agree(context.home, project, plan.given)
    done = _outcome(context, root, request, plan, aim, has_items=bool(read.lock.items))
    _recall_later(context, root, request, plan, done)
    return done


def following(context: Context, project: Project, chosen: tuple[str, ...] = ()) -> tuple[Round, Deployed]:
    """Return what an installation writes in addition: the deploy of what it just installed, to the targets of rye.toml, and of
    what is deployed to other programs already. ``chosen``: the targets that a person just agreed to, for a rye.toml without any,
    which names them from then on.

    The installation has already asked for the approvals in rye.lock.
    """
    read = read_project(project)
    request = DeployRequest()
    recorded = () if read.manifest.deploy.targets else chosen
    names = read.manifest.deploy.targets or chosen
    require_targets_allowed(context, read.manifest, names)
    plan = planned(context, read, project, request, names, keeps=True)
    require_targets_allowed(context, read.manifest, _only_kept(plan, names))
    remember_own(context.home, project, plan.remembered.state, plan.plan)
    aim = Aim(names=plan.names, recorded=recorded)
    done = _outcome(context, project, request, plan, aim, has_items=bool(read.lock.items))
    if plan.names == names:  # otherwise a deploy would also remove something
        _recall_later(context, project, request, plan, done)
    changes = [*plan.transaction(), *_attributes(context, project, "project", plan.plan)]
    if recorded:
        changes.append(Change("rye.toml", _manifest_with_targets(project, recorded)))
    return Round(changes, plan.plan.folders), done


def _only_kept(plan: Planned, names: Sequence[str]) -> tuple[str, ...]:
    """The programs that are written to although they are none of these, since something is deployed to them already."""
    written = {one.path for one in plan.plan.changes if one.change in ("create", "update")}
    owners = (one.targets for one in plan.survey.wanted if one.row_path in written)
    kept = {name for targets in owners if not targets & set(names) for name in targets}
    return tuple(name for name in plan.names if name in kept)


def _manifest_with_targets(project: Project, targets: Sequence[str]) -> bytes:
    """The new bytes of rye.toml; only the targets change. Raises RyeError ``no-manifest`` where it was lost."""
    require_manifest(project)
    return manifest_edit.set_deploy_targets(manifest_text_of(project), targets).encode()


def _outcome(
    context: Context, root: Project, request: DeployRequest, plan: Planned, aim: Aim, *, has_items: bool
) -> Deployed:
    """What the plan did, or would do. What is new among the notes and the tolerated refusals is remembered as said.
    ``has_items``: whether rye.lock has any."""
    refused = (*plan.remembered.outside, *plan.plan.refused)
    tolerated = _tolerated(plan, refused)
    notes, reasons = plan.survey.notes, {row: Note(row.item, row.target, row.message) for row in tolerated}
    untold = new_notes(context.home, root, [*notes, *reasons.values()])
    if not request.dry_run:
        present = [Note(row.item, row.target, row.message) for row in plan.survey.refused]
        remember_told(context.home, root, [*notes, *reasons.values()], [*plan.every_note, *present])
    return Deployed(
        changes=plan.plan.changes,
        refused=refused,
        tolerated=tolerated,
        known=tuple(row for row in tolerated if reasons[row] not in untold),
        widenings=plan.survey.widenings,
        notes=notes,
        new_notes=tuple(note for note in notes if note in untold),
        targets=aim.names,
        recorded=aim.recorded,
        unrecorded=aim.unrecorded,
        kept=plan.plan.kept,
        checked=plan.plan.checked,
        drafts=len(plan.survey.drafts),
        is_empty=not (has_items or refused or plan.survey.drafts or plan.plan.changes),
        dry_run=request.dry_run,
    )


def _tolerated(plan: Planned, refused: Sequence[Refused]) -> tuple[Refused, ...]:
    """Those that are no reason to fail, as a lint that a person was told about is none. An older version that stays is one."""
    there = {(row.item, row.target) for row in plan.plan.state.files}
    hard = {(row.item, row.target) for row in refused if row.code not in _BY_NATURE}
    return tuple(row for row in refused if (row.item, row.target) not in there | hard and row.item not in plan.named)


class Check(Struct, frozen=True):
    """The deployed files compared with what they should be."""

    files: tuple[Checked, ...]
    targets: tuple[str, ...]
    """The targets that were checked."""
    left: tuple[tuple[str, str], ...] = ()
    """The pairs of item and target that a deploy refuses by nature, so that nothing of them is missing."""
    command: str = "rye deploy"
    """The command that deploys the same."""


def check(context: Context, project: Project, request: DeployRequest) -> Check:
    """Compare the deployed files with what the lock and the customizations would give now."""
    read = read_project(project)
    root = root_of(project, request.scope)
    remembered = read_state_file(root.root, request.scope)
    given = tuple(target(name).name for name in request.targets)
    names = given or configured(read.manifest, remembered.state)
    plan = planned(context, read, root, request, names, remembered, every=True, keeps=not given)
    left = _without_rows(plan, remembered.state)
    outside = tuple(Checked(row.field, "unowned", row.item, row.target) for row in remembered.outside)
    checked = (one for one in plan.plan.checked if (one.item, one.target) not in left)
    files = tuple(sorted((*checked, *outside), key=lambda one: (one.path, one.item)))
    scope = ("--scope user",) if request.scope == "user" else ()
    member = () if request.member is None else ("-p", request.member)
    return Check(
        files,
        names,
        tuple(sorted(left)),
        " ".join(("rye deploy", *request.items, *member, *(f"--target {name}" for name in given), *scope)),
    )


def _without_rows(plan: Planned, state: State) -> set[tuple[str, str]]:
    """The pairs of item and target that a deploy refuses by nature, and of which nothing is deployed."""
    waiting = {(one.item, one.target) for one in plan.survey.widenings if one.widening.code not in _BY_NATURE}
    return {*plan.unagreed} - waiting - {(row.item, row.target) for row in state.files}


def undeploy(context: Context, project: Project, items: Sequence[str], scope: Scope) -> Deployed:
    """Remove deployed files. ``items``: labels or ids, none: all. Edited files stay, and Rye no longer owns them."""
    root = root_of(project, scope)
    with exclusive(root) as writer:
        remembered = read_state_file(root.root, scope)
        labels = frozenset(_labels(remembered.state, items)) if items else None
        run = Run(items=labels, lets_go=True, project=deployer(project, scope))
        state = remembered.state
        if labels is not None and run.project is not None:
            _require_own(state, labels, run.project)
        left = tuple(one for one in state.allowed if labels is not None and one.item not in labels)
        disk = FolderDisk(root.root)
        claims = claims_of(context, root, state)
        claims -= copied_rows(context, project, state, claims) if scope == "project" else frozenset()
        plan = make_plan((), state, disk.read, run, allowed=left, is_folder=disk.is_folder, claims=claims)
        done = Planned(
            plan=plan,
            survey=Survey((), (), (), (), {}),
            remembered=remembered,
            given=(),
            disk=disk,
            state=state_bytes(plan),
        )
        remember_own(context.home, root, state, plan)
        changes = [*done.transaction(), *_attributes(context, root, scope, plan)]
        writer.apply(changes, folders=plan.folders)
    return Deployed(
        changes=plan.changes, refused=(*remembered.outside, *plan.refused), kept=plan.kept, checked=plan.checked
    )


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


def _require_own(state: State, labels: frozenset[str], project: str) -> None:
    """Require for the home folder that this project deployed the items, or that no other project still owns them."""
    for label in sorted(labels):
        owners = [row.projects for row in state.files if row.item == label]
        if all(projects and project not in projects for projects in owners):
            names = " and ".join(sorted({name for projects in owners for name in projects}))
            raise RyeError("deploy-conflict", f"{label} was deployed by {names}.", "Run `rye undeploy` there.")


def _recall_later(context: Context, root: Project, request: DeployRequest, plan: Planned, done: Deployed) -> None:
    """Remember the output of the next run if nothing changes. Not with formulas: they can include formulas that are not
    installed, and changes of those would not be noticed. Not with own items: they change with every key that is trusted."""
    words, read = words_of(request, trusts_lock=trusts_lock(context)), plan.read
    if words is None or read is None or done.refused or not done.targets:
        return
    rows = included(read.lock, read.manifest)
    spaces = Spaces(context.home, read.project, read.manifest.namespace)
    if any(row.kind == "formula" for row in rows) or any(own_entries(read.manifest, read.lock, spaces)):
        return
    left = tuple(replace(change, change="unchanged") for change in done.changes if change.change != "remove")
    after = replace(done, changes=left, kept=(), recorded=())
    basis = stored_basis(context.home)
    names = sorted({(row.registry, row.identity.namespace) for row in rows})
    bases = tuple((origin, namespace, basis(origin, namespace)) for origin, namespace in names)
    recalled = Recalled(after.as_json(), summary(after), plan.prints(), bases)
    recall.remember(context.home, read.project, root.root, words, recalled, plan.state, read.present)


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
