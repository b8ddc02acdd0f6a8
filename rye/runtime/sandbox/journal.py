"""The journal of a call that may change files: what its granted folders were like, so that they can be swept if Rye is killed.

Rye writes one file before the tool starts, and removes it after the sweep. It lies in the user's data folder, which no tool can
reach, and its name begins with device and inode of the project's folder: nothing in the project says which journal is its own.
The file is on the disk before the tool starts (fsync(2) of the file and of its folder).

Who runs the call holds a lock on the file (flock(2)), and so does the launcher's watcher, which is not killed together with Rye:
the lock ends when no process of the tool is left. A journal that nobody holds belongs to a call that was never swept, and
:func:`recover` does it. Device numbers may be others after a restart of the machine; the project's path and inode count then.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Event

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.limits import SANDBOX
from rye.runtime.sandbox.exposure import FOLDER, Inode, Located, Survey, inode_of
from rye.runtime.sandbox.granted import Granted, Opened, reopened
from rye.runtime.sandbox.sweeping import Swept, sweep
from rye.runtime.sandbox.users import User
from rye.storage.home import Home
from rye.storage.private_files import Exposed, make_folder, read_trusted
from rye.text.json_reading import UNDECODABLE

try:
    import fcntl
except ImportError:  # Windows has no sandbox either
    fcntl = None  # type: ignore[assignment]

_END = ".call"
_FIRST_LINE = b"rye-call 1 "


class Recovered(Struct, frozen=True):
    """What was done about one call that was never swept."""

    project: Path
    swept: Swept
    gone: tuple[str, ...]
    """Granted folders that are no longer in the project: what was left in them was not looked at."""

    def sentence(self) -> str:
        """What happened, for people. Names are untrusted."""
        said = ""
        if self.swept.refused:
            said += " What the tool left under names that programs obey was renamed to refused-by-rye-…: "
            said += f"{', '.join(self.swept.refused[:5])}."
        if self.swept.cleared:
            said += " Set-user-id, set-group-id and sticky bits and capabilities were cleared from: "
            said += f"{', '.join(self.swept.cleared[:5])}."
        if self.swept.unlisted:
            said += f" These folders could not be looked into: {', '.join(self.swept.unlisted[:5])}."
        if self.gone:
            said += f" These granted folders are no longer in the project: {', '.join(self.gone[:5])}."
        return f"Rye was ended while a tool ran in this project.{said or ' It left nothing that programs obey.'}"


class _Grant(Struct, frozen=True, array_like=True, kw_only=True):
    path: bytes
    """From the project's folder."""
    inode: Inode
    hidden: tuple[Inode, ...]
    obeyed: tuple[tuple[bytes, Inode], ...]
    """By path from the granted folder."""
    links: tuple[tuple[Inode, tuple[tuple[bytes, bytes], ...]], ...]
    modes: tuple[tuple[Inode, int], ...]
    special: tuple[tuple[Inode, int], ...] = ()


class _Record(Struct, frozen=True, array_like=True):
    project: bytes
    inode: Inode
    user: int | None
    """The user that the tool ran as; None: the caller."""
    grants: tuple[_Grant, ...]


class Journal(Struct):
    """The journal of a running call."""

    descriptor: int = -1
    """Open and locked, -1 for a call without a journal. Whoever has a copy of it keeps the lock."""
    is_swept: bool = False
    """Whether the journal may be removed at the end."""


@contextlib.contextmanager
def written(folder: Path | None, opened: Opened, before: Sequence[Survey], user: User | None) -> Iterator[Journal]:
    """Write the journal of a call that is about to start; remove it at the end if the call was swept.

    ``folder``: of the journals; None: the call has none. Raises OSError if it cannot be written.
    """
    if folder is None or fcntl is None or not any(each.is_folder for each in opened.writes):
        yield Journal()
        return
    root = opened.project
    make_folder(folder)
    name = f"{root.inode[0]:x}-{root.inode[1]:x}-{secrets.token_hex(8)}{_END}"
    path, temporary = folder / name, folder / f".{name}"
    _tidy(folder)
    descriptor = _created(temporary)
    entry = Journal(descriptor)
    try:
        try:
            with os.fdopen(os.dup(descriptor), "wb") as stream:
                stream.write(_encoded(_record(opened, before, user)))
            os.fsync(descriptor)
            os.rename(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush(folder)
        yield entry
        if entry.is_swept:
            path.unlink(missing_ok=True)
            _flush(folder)
    finally:
        os.close(descriptor)


def _created(path: Path) -> int:
    """Create and lock a journal. Until it is locked, :func:`_tidy` may delete it; then it is created again."""
    while True:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink > 0:
            return descriptor
        os.close(descriptor)


def _tidy(folder: Path) -> None:
    """Delete journals that were never finished and that nobody writes any more: their tools were never started."""
    for name in os.listdir(folder):
        if not (name.startswith(".") and name.endswith(_END)):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(folder / name)
            finally:
                os.close(descriptor)


def around(folder: Path) -> list[Path]:
    """A folder and those above it, any of which may be a project."""
    real = Path(os.path.realpath(folder))
    return [real, *real.parents]


def recover(folder: Path, projects: Iterable[Path], cancel: Event | None = None) -> list[Recovered]:
    """Sweep what calls left that nobody swept. ``projects``: folders that may be a project, such as the current one and those
    above it. The journal of a running call is left alone.

    Raises RyeError ``journal-damaged``, and ``in-use`` if a running call keeps a folder that must be swept.
    """
    names = _names(folder)
    if not names:
        return []
    done: list[Recovered] = []
    for project in projects:
        try:
            inode = inode_of(project.stat())
        except OSError:
            continue
        for name in names:
            if _numbers(name)[1] == inode[1]:
                found = _recovered(folder / name, Path(os.path.realpath(project)), inode, cancel or Event())
                done += [found] if found is not None else []
    return done


def sweep_interrupted(home: Home, folder: Path, warn: Callable[[str, str], None]) -> None:
    """Sweep what interrupted calls left in the project of a folder, and say so. Costs next to nothing if no tool runs.

    Raises RyeError ``journal-damaged``, ``in-use``.
    """
    if home.has_calls():
        for each in recover(home.calls, around(folder)):
            warn(each.sentence(), "Look at the renamed files, and delete them if you do not need them.")


def is_overlapped(folder: Path | None, opened: Opened) -> bool:
    """Whether a call that was not swept had a grant that overlaps with one of these. Its tool may still be ending. Raises
    RyeError ``journal-damaged``."""
    if folder is None or not opened.writes:
        return False
    root = opened.project
    ours = [each.path for each in opened.writes]
    for name in _names(folder):
        if _numbers(name)[1] != root.inode[1]:
            continue
        record = _read(folder / name)
        if record is None or not _is_of(record, root.path, root.inode):
            continue
        theirs = [root.path / os.fsdecode(grant.path) for grant in record.grants]
        if any(one.is_relative_to(other) or other.is_relative_to(one) for one in ours for other in theirs):
            return True
    return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(_END) and not name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _damaged(folder, error.strerror or str(error)) from None


def _numbers(name: str) -> Inode:
    """Device and inode of the project that a journal's name tells."""
    try:
        device, inode, _ = name.split("-")
        return int(device, 16), int(inode, 16)
    except ValueError:
        return -1, -1


def _recovered(path: Path, project: Path, inode: Inode, cancel: Event) -> Recovered | None:
    """Sweep one project after one call; None if that call is running, was swept meanwhile, or had another project."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        record = _read(path)
        if record is None or not _is_of(record, project, inode):
            return None
        found = _swept(record, project, inode, cancel)
        path.unlink(missing_ok=True)
        _flush(path.parent)
        return found
    finally:
        os.close(descriptor)


def _swept(record: _Record, project: Path, inode: Inode, cancel: Event) -> Recovered:
    gone: list[str] = []
    roots: list[Granted] = []
    before: list[Survey] = []
    wanted = {project / os.fsdecode(grant.path): grant for grant in record.grants}
    is_restarted = inode != record.inode
    with reopened(project, wanted, SANDBOX.recovery_seconds, cancel) as reopen:
        for path, grant in wanted.items():
            root = reopen(path)
            if root is None or not _is_same(root.inode, grant.inode, is_restarted):
                elsewhere = _found(project, grant.inode, is_restarted)
                root = reopen(elsewhere) if elsewhere is not None else None
            if root is None or not _is_same(root.inode, grant.inode, is_restarted):
                gone.append(str(path))
                continue
            roots.append(root)
            devices = {record.inode[0]: inode[0], grant.inode[0]: root.inode[0]} if is_restarted else {}
            before.append(_survey(grant, root.path, devices))
        user = User(record.user, 0) if record.user is not None and os.geteuid() == 0 else None
        return Recovered(project, sweep(roots, before, user, project), tuple(gone))


def _is_same(now: Inode, then: Inode, is_restarted: bool) -> bool:
    return now == then or (is_restarted and now[1] == then[1])


def _is_of(record: _Record, project: Path, inode: Inode) -> bool:
    """Whether a record is of this project: the same object, or after a restart the same inode at the same path."""
    return record.inode == inode or (record.inode[1] == inode[1] and os.fsdecode(record.project) == str(project))


def _found(project: Path, inode: Inode, is_restarted: bool) -> Path | None:
    """Where a folder is now that another program moved within the project."""
    left = SANDBOX.project_entries
    for folder, names, files, descriptor in os.fwalk(project):
        left -= len(names) + len(files)
        if _is_same(inode_of(os.fstat(descriptor)), inode, is_restarted):
            return Path(folder)
        if left < 0:
            break
    return None


# -- the file ----------------------------------------------------------------------------------------------------------


def _record(opened: Opened, before: Sequence[Survey], user: User | None) -> _Record:
    root = opened.project.path
    grants = tuple(
        _Grant(
            path=os.fsencode(each.path.relative_to(root)),
            inode=each.inode,
            hidden=tuple(located.inode for located in survey.hidden),
            obeyed=tuple((os.fsencode(path.relative_to(each.path)), inode) for path, inode in survey.obeyed.items()),
            links=tuple(
                (inode, tuple((os.fsencode(name), os.fsencode(target)) for name, target in links))
                for inode, links in survey.links.items()
            ),
            modes=tuple(survey.modes.items()),
            special=tuple(survey.special.items()),
        )
        for each, survey in zip(opened.writes, before, strict=True)
        if each.is_folder
    )
    return _Record(os.fsencode(root), opened.project.inode, user.number if user is not None else None, grants)


def _survey(grant: _Grant, root: Path, devices: dict[int, int]) -> Survey:
    """What the survey of a granted folder said that a sweep needs. ``devices``: the numbers that changed."""

    def here(inode: Inode) -> Inode:
        return devices.get(inode[0], inode[0]), inode[1]

    return Survey(
        allowed=(),
        listed=(),
        extendable=(),
        hidden=tuple(Located(root, here(inode), True) for inode in grant.hidden),
        protected=(),
        covered=frozenset(),
        followed=frozenset(),
        links={
            here(inode): tuple((os.fsdecode(name), os.fsdecode(target)) for name, target in links)
            for inode, links in grant.links
        },
        obeyed={root / os.fsdecode(path): here(inode) for path, inode in grant.obeyed},
        modes={here(inode): mode for inode, mode in grant.modes},
        special={here(inode): bits for inode, bits in grant.special},
    )


def _encoded(record: _Record) -> bytes:
    body = msgspec.msgpack.encode(record)
    return _FIRST_LINE + sha256(body).hexdigest().encode() + b"\n" + body


def _read(path: Path) -> _Record | None:
    """The record of a journal; None if it is gone. Raises RyeError ``journal-damaged``."""
    try:
        if path.lstat().st_size > SANDBOX.journal_bytes:
            raise _damaged(path, f"it has more than {SANDBOX.journal_bytes:,} bytes")
        data = read_trusted(path)
    except FileNotFoundError:
        return None
    except Exposed as error:
        raise _damaged(path, str(error)) from None
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from None
    first, _, body = data.partition(b"\n")
    if first != _FIRST_LINE + sha256(body).hexdigest().encode():
        raise _damaged(path, "it does not have the content that Rye wrote")
    try:
        return msgspec.msgpack.decode(body, type=_Record)
    except UNDECODABLE:
        raise _damaged(path, "another version of Rye wrote it") from None


def _damaged(path: Path, why: str) -> RyeError:
    return RyeError(
        "journal-damaged",
        f"A tool that may change files was interrupted, and its journal {path} cannot be used: {why}.",
        "Look for files that you did not make in the folders that [sandbox] of rye.toml grants (.claude, .git, …). Then delete "
        "the journal.",
    )


def _flush(folder: Path) -> None:
    """Write a folder's entries to the disk."""
    descriptor = os.open(folder, FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
