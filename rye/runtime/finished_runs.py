"""The runs of a project as recorded in their logs, and approving a waiting call (`rye runs`, `rye approve`)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.limits import RUNTIME
from rye.project.context import require_project
from rye.project.layout import MANIFEST, Project
from rye.runtime.approvals import Question, approve, read_question
from rye.runtime.event_log import EVENTS, HEAD, OWN_FOLDER, Verdict, parse_head, verify
from rye.runtime.opening import RUNS
from rye.runtime.ulid import is_ulid, time_of
from rye.storage.safe_files import open_regular
from rye.workspace.context import Context


class RunSummary(Struct, frozen=True, kw_only=True):
    """One run in a list."""

    run: str
    principal: str | None
    started: str | None
    ended: str | None
    """The time of its last line; None: it did not finish."""
    calls: int
    allowed: int
    denied: int
    state: str
    """The verdict on its log: ``ok``, ``incomplete`` or ``broken``."""

    def as_json(self) -> dict[str, object]:
        """All fields, by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class RunLog(Struct, frozen=True):
    """The log of one run, with the verdict on it."""

    run: str
    verdict: Verdict
    events: tuple[dict[str, Any], ...]
    """The intact lines, as written."""

    @property
    def policies(self) -> tuple[tuple[str, str], ...]:
        """The policies of organizations that the run began under, then those that came meanwhile: origin and number, and
        SHA-256."""
        return tuple((event["item"], event["sha256"]) for event in self.events if event["event"] == "policy")

    def summary(self) -> RunSummary:
        """Return the run's row in a list."""
        names = [event["event"] for event in self.events]
        refused = [event for event in self.events if event["event"] in ("deny", "limit") and event["tool"]]
        last = self.events[-1] if self.events else None
        return RunSummary(
            run=self.run,
            principal=self.events[0]["principal"] if self.events else None,
            started=self.events[0]["time"] if self.events else None,
            ended=last["time"] if last is not None and last["event"] == "end" else None,
            calls=names.count("call"),
            allowed=names.count("allow"),
            denied=len(refused),  # a limit that ends a run refuses no call by itself
            state=self.verdict.state,
        )


class OwnLogs:
    """The logs that this user wrote here, newest first, one at a time, until they are ``most`` bytes. After that, ``foreign`` and
    ``left_out`` are the numbers of logs of others and of those beyond."""

    def __init__(self, context: Context, most: int):
        self._folder, self._now, self._room = _folder(require_project(context.cwd)), context.now(), most
        self.foreign = self.left_out = 0

    def __iter__(self) -> Iterator[RunLog]:
        for name in _names(self._folder, self._now):
            folder = self._folder / name
            if not _is_own(folder, name, self._now):
                self.foreign += 1
                continue
            size = os.lstat(folder / EVENTS).st_size
            if size > self._room:
                self.left_out += 1
                continue
            self._room -= size
            yield _read(folder)


def list_runs(context: Context) -> list[RunSummary]:
    """Return the most recent runs, newest first."""
    folder = _folder(require_project(context.cwd))
    return [_read(folder / name).summary() for name in _names(folder, context.now())[: RUNTIME.runs_listed]]


def read_run(context: Context, run: str) -> RunLog:
    """Read one run; ``last`` is the newest. Raises RyeError ``no-such-entry``."""
    return _read(run_folder(context, run))


def run_folder(context: Context, run: str) -> Path:
    """Return the folder of one run. Raises RyeError ``no-such-entry``, UsageError ``bad-argument``."""
    folder = _folder(require_project(context.cwd))
    if run == "last":
        newest = _names(folder, context.now())
        if not newest:
            raise RyeError(
                "no-such-entry", "This project has no runs.", "`rye run` and `rye mcp serve` create them.", what="run"
            )
        return folder / newest[0]
    if not is_ulid(run.upper()):
        raise UsageError(
            "bad-argument", f"{run!r} is not the name of a run.", "`rye runs list` shows the runs.", what="run"
        )
    found = folder / run.upper()
    if found.is_symlink() or not (found / EVENTS).is_file():
        raise RyeError("no-such-entry", f"There is no run {run}.", "`rye runs list` shows the runs.", what="run")
    return found


def approve_call(context: Context, run: str, call: int, show: Callable[[Question], None]) -> Question:
    """Approve one call. The call is shown and, on a terminal, confirmed; elsewhere, naming the call is the approval.

    Raises RyeError ``no-such-entry``, ``declined``.
    """
    folder = run_folder(context, run)
    question = read_question(folder, call)
    show(question)
    if context.interactive and not context.assume_yes and not context.ask("Allow this one call?"):
        raise RyeError("declined", "The call was not approved.")
    approve(folder, question, context.now())
    return question


def _folder(project: Project) -> Path:
    return project.ai / RUNS


def _names(folder: Path, now: datetime) -> list[str]:
    """Return the runs in the folder, newest first. Runs that this user did not start here come last: anyone who can
    commit can add a log under any name."""
    try:
        names = [name for name in os.listdir(folder) if is_ulid(name)]
    except OSError:
        return []
    return sorted(
        names, key=lambda name: (_is_own(folder / name, name, now), _is_marked(folder / name), name), reverse=True
    )


def _is_own(run: Path, name: str, now: datetime) -> bool:
    """Whether a run looks like this user's: it started in the past, and its log is private, unlike files that version
    control creates. Where all files of a checkout are private, the folder's mode tells."""
    try:
        is_link, log = stat.S_ISLNK(os.lstat(run).st_mode), os.lstat(run / EVENTS)
    except OSError:
        return False
    private = stat.S_ISREG(log.st_mode) and log.st_uid == os.geteuid() and not stat.S_IMODE(log.st_mode) & 0o077
    return private and not is_link and time_of(name) <= now and (_is_marked(run) or not _is_private_checkout(run))


def _is_marked(run: Path) -> bool:
    """Whether a run's folder has the mode that Rye gives it. Versions before this one gave it that of any folder."""
    try:
        return stat.S_IMODE(os.lstat(run).st_mode) == OWN_FOLDER
    except OSError:
        return False


def _is_private_checkout(run: Path) -> bool:
    """Whether version control makes private files here: rye.toml, which is committed, is one."""
    try:
        return os.name == "posix" and not stat.S_IMODE(os.lstat(run.parents[2] / MANIFEST).st_mode) & 0o077
    except OSError:
        return False


def _read(folder: Path) -> RunLog:
    data, head = _content(folder / EVENTS), _content(folder / HEAD)
    verdict = verify(data, parse_head(head))
    whole = data.split(b"\n")[: verdict.lines]
    return RunLog(folder.name, verdict, tuple(json.loads(line) for line in whole))


def _content(path: Path) -> bytes:
    """Read a file of a run, up to just beyond the limit of a log; empty if it cannot be read."""
    try:
        with open_regular(path) as stream:
            return stream.read(RUNTIME.log_bytes + 1)
    except OSError:
        return b""
