"""The log of one run: ``.ai/runs/<ulid>/events.jsonl``. Each event is written and flushed before it takes effect.

Each line is one JSON object with exactly these keys in this order, without spaces, in ASCII::

    {"n","time","prev","principal","event","tool","item","sha256","params_sha256","params_redacted","decision","by","exit","seconds"}

``n`` counts from 1. ``prev`` is the SHA-256 of the previous line without its newline; the first has 64 zeros. Keys that
do not apply are null. The last event of a finished run is ``end``; the log of a killed run verifies as incomplete.

Next to it, ``head`` holds the number and the hash of the last line, so that a change of that line or a truncated log is
detected as well. Both are evidence against accidents and other programs, not against this user, who can write both.

:func:`line`, :func:`verify` and :func:`parse_head` are pure; :class:`EventLog` writes.
"""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import RUNTIME

EventName = Literal["policy", "call", "allow", "deny", "approve", "limit", "hook", "return", "end"]
NAMES = get_args(EventName)
FIRST = "0" * 64
"""``prev`` of the first line."""
EVENTS = "events.jsonl"
HEAD = "head"
_IGNORE = ".gitignore"
OWN_FOLDER = stat.S_ISVTX | 0o700
"""The mode of a run's folder. Version control makes no folder with the sticky bit, whatever the umask."""
_DIGITS = 18
"""Of a line's number: more than any log has, and fewer than the interpreter refuses to read."""


class Event(Struct, frozen=True, kw_only=True):
    """The content of one line, apart from its place in the log."""

    event: EventName
    tool: str | None = None
    """One of the five tools."""
    item: str | None = None
    """``kind:id@version``."""
    sha256: str | None = None
    """The hash of the item's bytes that are used."""
    params_sha256: str | None = None
    params_redacted: object = None
    decision: str | None = None
    """``allowed``, or the code of the error."""
    by: str | None = None
    """The right that allowed it, the level that denied it, or who approved it."""
    exit: int | None = None
    seconds: float | None = None


KEYS = ("n", "time", "prev", "principal", *Event.__struct_fields__)


class Verdict(Struct, frozen=True):
    """The result of verifying a log."""

    state: Literal["ok", "incomplete", "broken"]
    lines: int
    """The number of intact lines from the start."""
    line: int | None = None
    """The first bad line, counted from 1; None: there is no bad line."""
    reason: str | None = None

    def as_json(self) -> dict[str, object]:
        """``{"state", "lines", "line", "reason"}``."""
        return {"state": self.state, "lines": self.lines, "line": self.line, "reason": self.reason}


def line(n: int, time: str, prev: str, principal: str, event: Event) -> bytes:
    """Encode one line, without its newline."""
    values = (n, time, prev, principal, *(getattr(event, name) for name in Event.__struct_fields__))
    return _encoded(dict(zip(KEYS, values, strict=True)))


def timestamp(now: datetime) -> str:
    """Format a time as ``2026-11-22T12:00:00.123Z``."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def hash_of(written: bytes) -> str:
    """Return the hash of a line: the ``prev`` of the next one."""
    return sha256(written).hexdigest()


def parse_head(data: bytes) -> tuple[int, str] | None:
    """Parse ``head`` into the number and hash of the last line; None if it is invalid."""
    number, _, digest = data.decode("ascii", "replace").strip().partition(" ")
    return (int(number), digest) if number.isdigit() and len(number) <= _DIGITS and len(digest) == 64 else None


def verify(data: bytes, head: tuple[int, str] | None = None) -> Verdict:
    """Check that each line continues the previous one, and that the run finished."""
    *whole, rest = data.split(b"\n")
    prev, ended = FIRST, False
    for number, written in enumerate(whole, 1):
        reason = _wrong(written, number) if not ended else "it comes after the end of the run"
        if reason is not None:
            return Verdict("broken", number - 1, number, reason)
        found = json.loads(written)
        digest = hash_of(written)
        if found["prev"] != prev:
            following = whole[number] if number < len(whole) else None
            changed = number - 1 if number > 1 and _is_whole(digest, number, following, head) else number
            return Verdict("broken", changed - 1, changed, "it was changed after it was written")
        prev, ended = digest, found["event"] == "end"
        if head is not None and head[0] == number and head[1] != prev:
            return Verdict("broken", number - 1, number, "it was changed after it was written")
    lines = len(whole)
    if head is not None and head[0] > lines:
        return Verdict("broken", lines, lines + 1, "it is missing")
    if rest:
        if ended:
            return Verdict("broken", lines, lines + 1, "it comes after the end of the run")
        return Verdict("incomplete", lines, lines + 1, "the last line is cut off")
    if not ended:
        return Verdict("incomplete", lines, None, "the run did not finish")
    if head is None or head[0] != lines:
        return Verdict("incomplete", lines, None, "the end of the run was not sealed")
    return Verdict("ok", lines)


def _wrong(written: bytes, number: int) -> str | None:
    """Return what is wrong with a line on its own, or None."""
    try:
        found = json.loads(written)
        again = _encoded(found)
    except (ValueError, RecursionError):  # ValueError: also a number that JSON does not have
        return "it is not JSON"
    if not isinstance(found, dict) or tuple(found) != KEYS or again != written:
        return "it is not a line of this log"
    if found["n"] != number:
        return "its number is wrong"
    if found["event"] not in NAMES:
        return "its event is unknown"
    if not all(_fits(key, value) for key, value in found.items()):
        return "it has a value of the wrong type"
    return None


def _fits(key: str, value: object) -> bool:
    """Whether a value has its key's type. Anyone who can commit can write a file that looks like a log."""
    if key == "params_redacted":
        return True
    if key in ("n", "exit"):
        return type(value) is int or (key == "exit" and value is None)
    if key == "seconds":
        return value is None or type(value) in (int, float)
    return isinstance(value, str) or (value is None and key not in ("time", "prev", "principal", "event"))


def _is_whole(digest: str, number: int, following: bytes | None, head: tuple[int, str] | None) -> bool:
    """Whether what follows a line confirms its hash. Then the line before it is the one that was changed."""
    if following is None:
        return head == (number, digest)
    return f'"prev":"{digest}"'.encode() in following[:200]


def _encoded(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


class LogUnwritable(RyeError):
    """The log cannot be written, so the event must not take effect."""

    def __init__(self, path: Path, reason: str):
        super().__init__(
            "log-unwritable",
            f"The log {path} cannot be written: {reason}. Nothing was done.",
            "Free disk space, or make this user the owner of the folder .ai/runs.",
        )


class EventLog:
    """The log of one run, open for writing. The first event creates its folder."""

    def __init__(self, folder: Path, principal: str, begins: tuple[Event, ...] = ()):
        """``begins``: the events that come before the first."""
        self.folder = folder
        self.before_next = begins
        """Events that come before the next one, in the same write."""
        self.principal = principal
        self.lines = 0
        self.ended = False
        self._prev = FIRST
        self._bytes = 0
        self._file: int | None = None
        self._head: int | None = None

    @property
    def path(self) -> Path:
        """The file of the log."""
        return self.folder / EVENTS

    def append(self, now: datetime, *events: Event, flush: bool = True) -> int:
        """Write lines, flush them to disk together, and return the number of the first.

        Without ``flush``, for events that already happened, they reach the disk with the next line. Raises
        LogUnwritable; after that the log accepts no more lines.
        """
        if self.ended:
            raise LogUnwritable(self.path, "the run has ended")
        begins = self.before_next
        time, prev, first = timestamp(now), self._prev, self.lines + 1
        written = b""
        for number, event in enumerate((*begins, *events), first):
            one = line(number, time, prev, self.principal, event)
            prev = hash_of(one)
            written += one + b"\n"
        if self._bytes + len(written) > RUNTIME.log_bytes:
            raise LogUnwritable(self.path, f"it would exceed {RUNTIME.log_bytes} bytes")
        try:
            count = len(begins) + len(events)
            self._write(written, first + count - 1, prev, flush)
            self.lines += count
            self._prev = prev
            self._bytes += len(written)
            self.before_next = ()
        except OSError as error:
            self.ended = True
            raise LogUnwritable(self.path, error.strerror or str(error)) from error
        except BaseException:  # an interrupt at any point: the next line must continue what reached the file
            self.ended = True
            self._recover()
            raise
        return first + len(begins)

    def close(self, now: datetime, event: Event | None = None) -> None:
        """Write the last line, if anything was written before, and close the files."""
        if self._file is None or self._head is None:
            self.ended = True
            return
        try:
            if not self.ended:
                self.append(now, event or Event(event="end"))
                os.fsync(self._head)
        finally:
            self.ended = True
            os.close(self._file)
            os.close(self._head)
            self._file = self._head = None

    def _write(self, written: bytes, number: int, digest: str, flush: bool) -> None:
        if self._file is None or self._head is None:
            self._open()
        assert self._file is not None
        assert self._head is not None
        here, there = os.fstat(self._file), os.stat(self.path, follow_symlinks=False)
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            raise OSError(None, "the file was replaced by another")
        while written:
            written = written[os.write(self._file, written) :]
        if flush:
            (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(self._file)
        os.pwrite(self._head, f"{number:>12} {digest}\n".encode(), 0)

    def _recover(self) -> None:
        """Continue after the last complete line of the file. Raises OSError; then the log accepts no more lines."""
        if self._file is None or self._head is None:
            self.ended = os.path.lexists(self.folder)  # without a folder, nothing was started
            return
        with open(self.path, "rb") as stream:
            *whole, rest = stream.read().split(b"\n")
        self._bytes = sum(len(one) + 1 for one in whole)
        if rest:
            os.ftruncate(self._file, self._bytes)
        self.lines = len(whole)
        self._prev = hash_of(whole[-1]) if whole else FIRST
        os.pwrite(self._head, f"{self.lines:>12} {self._prev}\n".encode(), 0)
        self.ended = False

    def _open(self) -> None:
        make_runs_folder(self.folder.parent)
        os.mkdir(self.folder, 0o700)
        os.chmod(self.folder, OWN_FOLDER)
        _ignore_all(self.folder)  # whatever a committed .ai/runs/.gitignore says
        flags = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(self.path, flags | os.O_WRONLY | os.O_APPEND, 0o600)
        self._head = os.open(self.folder / HEAD, flags | os.O_WRONLY, 0o600)


def make_runs_folder(runs: Path) -> None:
    """Create ``.ai/runs`` for this user only, ignored by version control. It must not be a link: someone who can commit
    must not redirect logs elsewhere. Raises OSError."""
    for folder in (runs.parent, runs):
        try:
            os.mkdir(folder, 0o755 if folder != runs else 0o700)
        except FileExistsError:
            status = os.lstat(folder)
            if not stat.S_ISDIR(status.st_mode):
                raise OSError(None, f"{folder} is not a folder") from None
            if folder == runs and status.st_uid != os.geteuid():
                raise OSError(None, f"{folder} belongs to another user") from None
    if not os.path.lexists(runs / _IGNORE):
        _ignore_all(runs)


def _ignore_all(folder: Path) -> None:
    """Have version control ignore everything in a folder."""
    descriptor = os.open(folder / _IGNORE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(b"*\n")
