"""``rye install`` where nothing changed since it last found nothing to do: answered without reading any item's bytes.

Rules, as for git's index:

* What the answer depends on is derived, not listed. While such an install runs, every file that it opens, every folder that
  it lists (:func:`watch`) and the source of every loaded module is noted. If it finds nothing to do, their type, size, times
  and inode number are stored. The next run that finds exactly the same gives the same answer.
* If anything changed less than :data:`_SETTLED_SECONDS` before that run, nothing is stored: a later change could have the
  same time.
* The command's words, the ``RYE_`` variables and the user's folders are part of the key. ``rye ci`` and ``rye audit`` never
  use this: they hash.
* It is stored in the user's data folder, next to what they trust, so nothing in a project can claim that it is unchanged. A file
  that another user owns or can write is not read.

This is imported before anything else, so it uses only ``os`` and ``sys``: no click, pathlib or hashlib.
"""

from __future__ import annotations

import os
import stat
import sys

from rye.storage.places import place_of

TYPE_CHECKING = False  # importing typing is too slow
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FLAGS = frozenset({"-q", "--quiet", "-y", "--yes", "--no-input", "--no-progress"})
"""Options that do not change what is found."""
_SETTLED_SECONDS = 2
_MOST_FILES = 100_000
_FOLDER = "unchanged"
_LISTED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR


class Watch:
    """The files opened for reading and the folders listed since it started."""

    def __init__(self) -> None:
        self.paths: set[str] = set()

    def note(self, event: str, arguments: tuple[object, ...]) -> None:
        """Record an event; an audit hook (PEP 578)."""
        if event == "open":
            path, mode, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                return
            if isinstance(mode, str) and not mode.startswith("r"):
                return
        elif event in _LISTED:
            path = arguments[0] if arguments[0] is not None else "."
        else:
            return
        if isinstance(path, (str, bytes)) or hasattr(path, "__fspath__"):
            self.paths.add(os.path.abspath(os.fsdecode(path)))


_watch: Watch | None = None


def watch() -> None:
    """Start to record what this process reads. This cannot be stopped, so only the program's start calls it."""
    global _watch
    if _watch is None:
        _watch = Watch()
        sys.addaudithook(_watch.note)


def recall(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The stored answer of the same command, if nothing that it read has changed; None means run it."""
    if not is_plain(arguments):
        return None
    try:
        root = os.getcwd()
        with open(_place(root, environment), "rb") as stream:
            if not _is_own(os.fstat(stream.fileno())):
                return None
            count, said, key, *entries = stream.read().split(b"\0")
        if int(count) * 2 != len(entries) or key != _key(arguments, root, environment):
            return None
        for number in range(0, len(entries), 2):
            if _signature(entries[number])[0] != entries[number + 1]:
                return None
    except (OSError, ValueError):
        return None
    return said.decode()


def remember(
    arguments: Sequence[str],
    root: str,
    environment: Mapping[str, str],
    started: float,
    said: str,
    read: Iterable[str] | None = None,
) -> None:
    """Store that the command started at ``started`` (seconds since 1970) found nothing to do in the project at ``root``.

    ``read``: the files and folders that it read; None means those recorded since :func:`watch`.
    """
    if read is None:
        if _watch is None:
            return
        read = _watch.paths | _sources()
    if not is_plain(arguments) or root != os.getcwd():
        return
    latest = (started - _SETTLED_SECONDS) * 1e9
    entries: list[bytes] = []
    try:
        for path in sorted(read):
            if "__pycache__" in path:  # compiled from sources, which are recorded themselves
                continue
            encoded = os.fsencode(path)
            signature, newest = _signature(encoded)
            if newest > latest or len(entries) > 2 * _MOST_FILES:
                return
            entries += (encoded, signature)
        place = _place(root, environment)
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        draft = f"{place}.{os.getpid()}"
        head = (b"%d" % (len(entries) // 2), said.encode(), _key(arguments, root, environment))
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(b"\0".join((*head, *entries)))
        os.replace(draft, place)
    except (OSError, ValueError):  # on a full or read-only disk, only speed is lost
        return


def forget(environment: Mapping[str, str]) -> None:
    """Forget the answers of all projects."""
    import shutil

    shutil.rmtree(os.path.join(place_of("data", environment), _FOLDER), ignore_errors=True)


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether the answer of this command can be stored."""
    return os.name == "posix" and list(arguments[:1]) == ["install"] and _FLAGS.issuperset(arguments[1:])


def _place(root: str, environment: Mapping[str, str]) -> str:
    """The file for a project; its content says which one."""
    status = os.stat(root)
    return os.path.join(place_of("data", environment), _FOLDER, f"{status.st_dev}-{status.st_ino}")


def _is_own(status: os.stat_result) -> bool:
    """Whether it is a regular file that only this user owns and can write."""
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _key(arguments: Sequence[str], root: str, environment: Mapping[str, str]) -> bytes:
    """Everything besides files that the answer depends on."""
    variables = sorted(f"{name}={value}" for name, value in environment.items() if name.startswith("RYE_"))
    folders = (place_of("config", environment), place_of("data", environment))
    return b"\1".join(os.fsencode(word) for word in (sys.version, *arguments, root, *folders, *variables))


def _sources() -> set[str]:
    """The source file of every module that is loaded."""
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {os.path.abspath(path) for path in found if isinstance(path, str)}


def _signature(path: bytes) -> tuple[bytes, int]:
    """The status of a path and, if it is a link, of its destination; and the newest of their times, in ns."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return b"-", 0
    signature, newest = _of_status(status)
    if stat.S_ISLNK(status.st_mode):
        try:
            beyond, later = _of_status(os.stat(path))
        except (FileNotFoundError, NotADirectoryError):
            beyond, later = b"-", 0
        return b"%b>%b" % (signature, beyond), max(newest, later)
    return signature, newest


def _of_status(status: os.stat_result) -> tuple[bytes, int]:
    numbers = (
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_dev,
    )
    return b"%o %d %d %d %d %d" % numbers, max(status.st_mtime_ns, status.st_ctime_ns)
