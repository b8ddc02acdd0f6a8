"""What is deployed, compared with what the installed items give now: for ``rye ci``, ``install``, ``check`` and ``audit``.

Every row of ``.ai/deploy.lock`` counts, whether rye.toml names its target or not, and for the targets of rye.toml every file
that a deploy would write. A row's own hash proves nothing, since anyone who can commit can write it. Nothing in the project is
changed: only ``rye deploy`` writes there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from rye.deployment.disk import FolderDisk
from rye.deployment.own_files import confirm_own
from rye.deployment.plan_ledger import text_diff
from rye.deployment.plan_values import Checked, Refused, Wanted, is_entry
from rye.deployment.planning import Planned, planned
from rye.deployment.request import DeployRequest
from rye.deployment.state import FileRow, parse_state
from rye.deployment.survey import ReadProject, Remembered, absent_labels, read_project, read_state_file
from rye.errors import RyeError
from rye.installation.transaction import Round
from rye.limits import OVERRIDES
from rye.project.agent_programs import STATE, program_names
from rye.project.layout import Project
from rye.project.lock_file import read_lock
from rye.workspace.context import Context
from rye.workspace.trusting.acceptance import trusts_lock

What = Literal["missing", "edited", "stale", "unowned"]
"""``edited``: somebody changed it since it was deployed. ``stale``: an item, a customization or rye.toml changed since, or the
row of .ai/deploy.lock. ``unowned``: .ai/deploy.lock does not list it, or it cannot be a file of Rye's."""


class Difference(Struct, frozen=True, kw_only=True):
    """One deployed file, or one entry of ours in a shared file, that is not as it should be."""

    path: str
    what: What
    item: str
    target: str
    message: str
    """A sentence that starts with the path."""
    hint: str
    diff: tuple[str, ...] = ()
    """From what the item gives to what is there; empty if either is not text."""
    is_stranger: bool = False
    """Whether it is among the files of an item that does not give it."""

    def as_json(self) -> dict[str, object]:
        """The other fields, by name; the diff as one text."""
        return {
            "path": self.path,
            "state": self.what,
            "item": self.item,
            "target": self.target,
            "message": self.message,
            "hint": self.hint,
            "diff": "\n".join(self.diff) or None,
        }


class Waiting(Struct, frozen=True, order=True):
    """An item that rye.toml deploys to a target, and that is not deployed there yet."""

    item: str
    target: str


class Compared(Struct, frozen=True):
    """The result; empty if everything that is deployed is as it should be."""

    differences: tuple[Difference, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    outdated: tuple[str, ...] = ()
    """Paths that are as they should be, although their rows say something else about them."""

    def as_json(self) -> dict[str, object]:
        """``{"differences", "waiting"}``."""
        return {
            "differences": [one.as_json() for one in self.differences],
            "waiting": [{"item": one.item, "target": one.target} for one in self.waiting],
        }


def compare(context: Context, project: Project, *, confirms: bool = False) -> Compared:
    """Compare. ``confirms``: whether rows that came with a clone, and whose files are exactly what this user's Rye would write,
    are its own from now on.

    Raises RyeError ``bad-lock`` for an unreadable state file, and what reading installed items raises.
    """
    read, remembered = read_project(project), read_state_file(project.root, "project")
    targets = read.manifest.deploy.targets
    if not targets and not remembered.state.files and not remembered.outside:
        return Compared()
    plan = planned(context, read, project, DeployRequest(), targets, remembered, every=True, keeps=True)
    rows = {(row.path, row.item): row for row in remembered.state.files}
    left_out = absent_labels(read)
    if confirms and not trusts_lock(context):
        fine = ((one.path, one.item) for one in plan.plan.checked if one.state == "ok")
        confirm_own(context.home, project, (rows[key] for key in fine if key in rows))
    words = _Words(read, plan, rows)
    wrong = [one for one in plan.plan.checked if one.state != "ok"]
    waiting = {Waiting(one.item, one.target) for one in wrong if _is_waiting(one, rows)}
    waiting = {one for one in waiting if (one.item, one.target) not in plan.unagreed}  # a deploy would refuse them
    differences = (
        *(words.difference(one) for one in wrong if not _is_waiting(one, rows)),
        *_of_absent(plan.disk, (row for row in remembered.state.files if row.item in left_out)),
        *_outside(remembered),
    )
    return Compared(
        tuple(sorted(differences, key=lambda one: (one.path, one.item))),
        tuple(sorted(waiting)),
        tuple(sorted(_outdated(plan, rows))),
    )


def following(context: Context, project: Project) -> tuple[Round, Compared] | None:
    """What an installation adds that only compares: no change, and the result unless all is as it should be."""
    found = compare(context, project, confirms=True)
    return (Round(()), found) if found.differences or found.waiting else None


def _outdated(plan: Planned, rows: Mapping[tuple[str, str], FileRow]) -> Iterator[str]:
    fine = {(one.path, one.item) for one in plan.plan.checked if one.state == "ok"}
    for one in plan.survey.wanted:
        row = rows.get((one.row_path, one.item))
        if row is None or (one.row_path, one.item) not in fine:
            continue
        said = (row.version, row.item_sha256, row.customizations_sha256)
        same = one.form is not None or row.sha256 == sha256(one.data).hexdigest()
        if not same or said != (one.version, one.item_sha256, one.customizations_sha256):
            yield one.row_path


def _is_waiting(one: Checked, rows: Mapping[tuple[str, str], FileRow]) -> bool:
    """Whether nothing is there, and nothing claims to be: an item that was never deployed to this target."""
    return one.state == "missing" and (one.path, one.item) not in rows


class _Words:
    """Says what is wrong with a file, and what to type."""

    def __init__(self, read: ReadProject, plan: Planned, rows: Mapping[tuple[str, str], FileRow]) -> None:
        self._targets = read.manifest.deploy.targets
        self._versions = {str(row.identity): row.version for row in read.lock.items}
        self._rows = rows
        self._unproved = plan.unproved
        self._disk: FolderDisk = plan.disk
        self._wanted = {(one.row_path, one.item): one for one in plan.survey.wanted}
        self._refused = {(one.item, one.target): one for one in plan.survey.refused}
        self._places: dict[tuple[str, str], Refused] = {(one.field, one.item): one for one in plan.plan.refused}

    def difference(self, one: Checked) -> Difference:
        wanted = self._wanted.get((one.path, one.item))
        said, hint = self._said(one, wanted)
        return Difference(
            path=one.path,
            what=one.state if one.state != "ok" else "stale",
            item=one.item,
            target=one.target,
            message=f"{one.path} {said}.",
            hint=hint,
            diff=self._diff(one, wanted),
            is_stranger=bool(one.stranger),
        )

    def _said(self, one: Checked, wanted: Wanted | None) -> tuple[str, str]:
        command = self._command(one.target)
        if (explained := one.explained(command)) is not None:
            return explained
        writes = f"`{command}` writes what {one.item} gives, or says why it cannot."
        if one.state == "missing" and one.target not in self._targets and (one.path, one.item) in self._unproved:
            hint = f"A bare `rye deploy` takes the row away, and `rye deploy --target {one.target}` writes the file."
            return f"is in {STATE} and missing, and nobody deployed it here", hint
        if one.state == "missing":
            return "was deployed and is missing", writes
        refused = self._places.get((wanted.path if wanted is not None else one.path, one.item))
        if one.state == "unowned" and refused is not None and refused.code == "deploy-outside":
            return "cannot be read, because a link is in its path", refused.hint or writes
        if one.state == "unowned":
            said = f"is not listed in {STATE}, and {one.item} gives a file of that name"
            return said, refused.hint if refused is not None and refused.hint else writes
        overwrites = f"`{command} --overwrite-edited {one.item}`"
        if wanted is None:
            return self._unwanted(one, command)
        if one.state == "edited":
            return "was edited since it was deployed", f"{overwrites} discards the edit."
        row = self._rows.get((one.path, one.item))
        older = f"; it is of {row.version}" if row is not None and row.version != wanted.version else ""
        return f"is not what {one.item} {wanted.version} gives{older}", writes

    def _unwanted(self, one: Checked, command: str) -> tuple[str, str]:
        """What to say about a row whose file should not be there."""
        refused = self._refused.get((one.item, one.target))
        if refused is not None:
            why = f"cannot be compared: {refused.message.rstrip('.')}"
            return why, refused.hint or f"`{command}` says more."
        why = (
            f"{one.item} is not installed"
            if one.item not in self._versions
            else f"{one.item} does not give it any more"
            if any(item == one.item and one.target in other.targets for (_, item), other in self._wanted.items())
            else f"{one.item} is not deployed to {one.target}"
        )
        edited = ", and was edited since" if one.state == "edited" else ""
        return f"is still there although {why}{edited}", "`rye deploy` removes it, or says why it cannot."

    def _command(self, target: str) -> str:
        """The command that writes the file again: a bare one takes away what rye.toml does not name."""
        return "rye deploy" if not self._targets or target in self._targets else f"rye deploy --target {target} --once"

    def _diff(self, one: Checked, wanted: Wanted | None) -> tuple[str, ...]:
        if wanted is None or wanted.form is not None:
            return ()
        here = self._disk.read(one.path)
        return text_diff(wanted.data, here.data, one.path) if here.kind == "file" else ()


def _of_absent(disk: FolderDisk, rows: Iterable[FileRow]) -> Iterator[Difference]:
    """What belongs to items of groups that are not installed here: they give nothing now, so the row's hash has to do."""
    for row in rows:
        here = disk.read(row.path) if not is_entry(row) else None
        if here is None or (here.kind == "file" and sha256(here.data).hexdigest() == row.sha256):
            continue
        what: What = "missing" if here.kind == "missing" else "edited"
        said = "was deployed and is missing" if what == "missing" else "was edited since it was deployed"
        hint = (
            f"`rye install` installs the group of {row.item}; then `rye deploy` writes the file, or says why it cannot."
        )
        yield Difference(
            path=row.path, what=what, item=row.item, target=row.target, message=f"{row.path} {said}.", hint=hint
        )


def _outside(remembered: Remembered) -> Iterator[Difference]:
    for row in remembered.outside:
        hint = f"`rye deploy` writes {STATE} without the row, and leaves the file alone."
        yield Difference(
            path=row.field, what="unowned", item=row.item, target=row.target, message=row.message, hint=hint
        )


def not_as_deployed(found: Compared, *, more: Mapping[str, object] | None = None) -> RyeError:
    """The error about differences: the first file's in full, and the number of the others. ``more``: details for ``--json``."""
    first, count = found.differences[0], len(found.differences) - 1
    others = f" {count} more deployed file{'s differ' if count > 1 else ' differs'}." if count else ""
    shown = list(first.diff[: OVERRIDES.shown_diff_lines])
    shown += ["…"] if len(first.diff) > len(shown) else []
    listed = " `rye deploy --check` lists all." if count else ""
    return RyeError(
        "not-as-deployed",
        "\n".join([f"{first.message}{others}", *(line.replace("\n", "\\n") for line in shown)]),
        f"{first.hint}{listed}",
        details={"files": [one.as_json() for one in found.differences], **(more or {})},
    )


def not_restored(project: Project, before: bytes) -> dict[str, list[str]]:
    """What a rollback did not bring back: the installed items with files for a program before, and none now, by program. A
    rollback deploys as rye.toml says, so they are of programs that it does not name (``rye deploy --target NAME --once``).
    ``before``: the record of deployed files of then, which Rye kept."""
    here = {str(row.identity) for row in read_lock(project).items}
    now = {(row.target, row.item) for row in read_state_file(project.root, "project").state.files}
    try:
        rows = parse_state(before).files
    except RyeError:  # a person damaged the record before it was kept
        return {}
    gone = {(row.target, row.item) for row in rows if row.item in here} - now
    found = {name: sorted(item for target, item in gone if target == name) for name in program_names()}
    return {name: items for name, items in found.items() if items}
