"""Which approvals of a project's rye.lock count on this machine (DESIGN 6.1, Agreed here).

Approvals in the lock are the team's record; anyone who can commit can write them. They count here if this user gave
them in this project, or accepted the project. Approvals are remembered per user and project folder, in the user's data
folder, one per line. ``--trust-lock`` and ``RYE_TRUST_LOCK=1`` accept exactly what the lock approves, for this run,
and remember nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.errors import RyeError
from rye.installation.transaction import LOCK_SECONDS, Change, exclusive
from rye.items.consented import HookAction, Run
from rye.project.layout import read_project_file
from rye.storage import private_files
from rye.storage.folders import data_dir
from rye.storage.safe_files import LockTimeout, file_lock
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json

    from rye.project.layout import Project
    from rye.project.lock import LockedItem
    from rye.workspace.context import Context
else:
    json = lazy_module("json")  # only for text with unusual characters

What = Literal[
    "right",
    "hook",
    "tool",
    "run",
    "fact",
    "text",
    "signer",
    "source",
    "deploy",
    "customization",
    "customization-fact",
    "project",
    "grant",
    "forced",
]
TRUST_LOCK = "RYE_TRUST_LOCK"
_FOLDER = "accepted"
_SET = ("1", "true", "yes")
_LISTED = 3


class Approval(Struct, frozen=True, order=True):
    """One approval in a lock, a customization of an installed item, or a grant of rye.toml to a tool."""

    item: str
    """``kind:id``; for a signer, the namespace, since it signs all of its items."""
    what: What
    value: str
    """The pattern; the text of :func:`hook_text`, :func:`tool_texts` or :func:`run_text`; ``FACT VALUE``; the key's
    fingerprint; the range that a version is forced to; ``TARGET FIELD SHA-256`` that ``--allow-widening`` agreed to; or a
    customization's file with its hash."""

    def line(self) -> str:
        """The stored form: one line of JSON."""
        if _is_plain(self.item + self.value):
            return f'["{self.item}", "{self.what}", "{self.value}"]'
        return json.dumps([self.item, self.what, self.value], ensure_ascii=True)


def _is_plain(text: str) -> bool:
    """Whether JSON writes the text as it is, between quotation marks."""
    return text.isascii() and text.isprintable() and '"' not in text and "\\" not in text


_MARK = ".ai/.rye/accepted"
"""A number unique to this folder, so that another clone at the same path is a different project. Version control ignores it."""
_MARK_BYTES = 64


def hook_text(hook: HookAction) -> str:
    """A hook's condition and exact action, on one line. The text is unambiguous: a part that could be read as another part
    is quoted."""
    inputs = "".join(f" {_word(name)}={json.dumps(value, ensure_ascii=False)}" for name, value in hook.inputs)
    when = json.dumps(hook.when) if ": execute " in hook.when or not hook.when.isprintable() else hook.when
    return f"when {when}: execute {_word(hook.item_type)} {_word(hook.item_id)}{inputs}"


def _word(text: str) -> str:
    plain = text.isascii() and text.replace("_", "").replace("-", "").replace("/", "").replace(".", "").isalnum()
    return text if plain else json.dumps(text)


def run_text(run: Run) -> str:
    """What can run, where, how, and half of its hash, on one line."""
    return f"{run.what} {run.where}: {run.action} (sha256 {run.sha256[:32]})"


def tool_texts(item: LockedItem) -> list[str]:
    """The approved agent tools with their restrictions. Fewer restrictions make a different approval."""
    limits = f" ({'; '.join(item.approved_limits)})" if item.approved_limits else ""
    return [f"{name}{limits}" for name in item.approved_tools]


def approvals(items: Iterable[LockedItem]) -> set[Approval]:
    """Everything that these rows approve. A row that ``rye lock`` wrote and no one installed keeps the earlier approvals."""
    found: set[Approval] = set()
    for item in items:
        name = str(item.identity)
        found.update([Approval(name, "right", pattern) for pattern in item.approved_capabilities])
        found.update([Approval(name, "hook", hook_text(hook)) for hook in item.approved_hooks])
        found.update([Approval(name, "tool", text) for text in tool_texts(item)])
        found.update([Approval(name, "run", run_text(run)) for run in item.approved_runs])
        found.update([Approval(name, "fact", fact) for fact in item.approved_facts])
        if item.forced is not None:
            found.add(Approval(name, "forced", item.forced))
        signer = item.signer if item.approved_signer is None else item.approved_signer
        if signer and item.source is not None:  # no owner vouches for a source's items, so each needs consent
            found.add(Approval(name, "source", item.registry))
        elif signer:
            found.add(Approval(item.identity.namespace, "signer", signer))
    return found


def forced_versions(items: Iterable[LockedItem]) -> set[Approval]:
    """The versions in these rows that ``[overrides]`` of rye.toml forces."""
    return {Approval(str(item.identity), "forced", item.forced) for item in items if item.forced is not None}


def of_the_lock(given: Iterable[Approval]) -> list[Approval]:
    """The approvals from rye.lock, without those about customizations, grants and the project."""
    return [one for one in given if one.what not in ("customization", "customization-fact", "project", "grant")]


def trusts_lock(context: Context, given: bool = False) -> bool:
    """Whether this run accepts what the lock approves. ``given``: ``--trust-lock``. A value of RYE_TRUST_LOCK that is not a
    clear yes does not turn the question off."""
    return given or context.environment.get(TRUST_LOCK, "").lower() in _SET


def unseen(project: Project, wanted: Iterable[Approval]) -> tuple[Approval, ...]:
    """The approvals that this user has not agreed to in this project, sorted. A right covered by the item's agreed rights is
    not new."""
    asked = set(wanted)
    if not asked:
        return ()
    known = _read(memory_of(project, _FOLDER))
    return tuple(sorted(one for one in asked if one.line() not in known and not _within(one, known)))


def accepted_before(project: Project) -> bool:
    """Whether this user accepted this checkout or installed in it. If so, later customizations are only reported."""
    mark = _read_mark(project)
    return mark is not None and _accepted(mark).line() in _read(memory_of(project, _FOLDER))


def remember_accepted(project: Project, agreed: Iterable[Approval]) -> None:
    """Remember these, and that this checkout is accepted if its work folder is writable. Errors as for :func:`remember`."""
    mark = _read_mark(project)
    if mark is None:
        mark = os.urandom(_MARK_BYTES // 2).hex()
        try:
            with exclusive(project) as writer:
                writer.apply([Change(_MARK, mark.encode())])
        except (RyeError, OSError):  # rye asks again next time
            remember(project, agreed)
            return
    remember(project, (*agreed, _accepted(mark)))


def _accepted(mark: str) -> Approval:
    return Approval("", "project", f"accepted {mark}")


def _read_mark(project: Project) -> str | None:
    try:
        data = read_project_file(project.root / _MARK, _MARK_BYTES)
    except RyeError:
        return None
    return data.decode("ascii", "replace") if data is not None and len(data) == _MARK_BYTES else None


def _within(approval: Approval, known: frozenset[str]) -> bool:
    if approval.what != "right":
        return False
    agreed: list[str] = []
    for line in known:
        with contextlib.suppress(ValueError):
            item, what, value = json.loads(line)
            if (item, what) == (approval.item, "right"):
                agreed.append(value)
    if not agreed:
        return False
    from rye.permissions.containment import diff  # only for a right that is not agreed to word for word

    return not diff(agreed, [approval.value]).widened


def remember(project: Project, agreed: Iterable[Approval]) -> None:
    """Store that this user agreed to these in this project. Keeps what another run stores at the same time. Raises RyeError
    ``in-use``."""
    place = memory_of(project, _FOLDER)
    added = {one.line() for one in agreed}
    if added <= _read(place):
        return
    private_files.make_folder(place.parent)
    try:
        with file_lock(place.parent.with_suffix(".lock"), LOCK_SECONDS):
            lines = _read(place) | added
            private_files.write(place, "\n".join([_root(project), *sorted(lines)]) + "\n")
    except LockTimeout:
        raise RyeError(
            "in-use",
            "Another rye process is saving what you agreed to in this project.",
            "Wait for it to finish or stop it, then run the command again.",
            what="project",
        ) from None


def forget(project: Project) -> bool:
    """Revoke the acceptance of a project. Return whether it was accepted."""
    place = memory_of(project, _FOLDER)
    existed = os.path.lexists(place)
    place.unlink(missing_ok=True)
    return existed


def not_accepted(waiting: tuple[Approval, ...]) -> RyeError:
    """The error if no one can be asked."""
    if all(one.what == "grant" for one in waiting):
        return _refused("rye.toml grants tools", waiting)
    lock = of_the_lock(waiting)
    if len(lock) == len(waiting):
        said = "rye.lock approves"
    else:
        said = (
            "This project changes installed items, and rye.lock approves,"
            if lock
            else "This project changes installed items,"
        )
    return _refused(said, waiting)


def _refused(said: str, waiting: tuple[Approval, ...]) -> RyeError:
    listed = "; ".join(f"{one.item} {one.what} {one.value}" for one in waiting[:_LISTED])
    more = f"; and {len(waiting) - _LISTED} more" if len(waiting) > _LISTED else ""
    return RyeError(
        "project-not-accepted",
        f"{said} what you have not agreed to: {listed}{more}.",
        "On a terminal, run `rye trust project` to review and accept it. On a build server that trusts everyone who can "
        f"commit, pass --trust-lock or set {TRUST_LOCK}=1.",
        details={"approvals": [{"item": one.item, "what": one.what, "value": one.value} for one in waiting]},
    )


def _root(project: Project) -> str:
    path = os.path.realpath(project.root)
    return f'"{path}"' if _is_plain(path) else json.dumps(path)


def memory_of(project: Project, folder: str) -> Path:
    """The file for this project below ``folder`` in the user's data folder, named by the project's real path."""
    return data_dir() / folder / hashlib.sha256(_root(project).encode()).hexdigest()[:32]


def _read(place: Path) -> frozenset[str]:
    """The lines. Empty if others can write the file, so that rye asks again."""
    try:
        descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return frozenset()
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (
            os.name == "posix" and (status.st_uid != os.geteuid() or status.st_mode & 0o022)
        ):
            return frozenset()
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return frozenset(stream.read().decode("utf-8").removesuffix("\n").split("\n")[1:])
    except (OSError, UnicodeDecodeError):
        return frozenset()
    finally:
        os.close(descriptor)
