"""``rye install`` where nothing changed since it last found nothing to do: answered without reading a byte of any item.

Rules, as for git's index:

* What the answer depends on is derived, not listed. While such an install runs, every file that it opens and every folder that
  it lists is noted (:func:`watch`), with the source of every module that it loaded. When it found nothing to do, what the file
  system says of each of them is remembered: type, size, times and number. The next one that finds exactly the same answers
  the same.
* What changed less than :data:`_SETTLED_SECONDS` before that run is not remembered: a later change could bear the same time.
* Part of it are the command's words, the ``RYE_`` variables and the user's folders. ``rye ci`` and ``rye audit`` never ask here:
  they hash.
* It lies in the user's data folder, next to what they trust; nothing that comes with a project can say that it is unchanged.

This is imported before anything else, so it makes do with ``os`` and ``sys``: no click, no paths, no hashes.
"""

from __future__ import annotations

import os
import stat
import sys

from rye.storage.places import place_of

TYPE_CHECKING = False  # typing itself is too slow
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FLAGS = frozenset({"-q", "--quiet", "-y", "--yes", "--no-input", "--no-progress"})
"""Words that change nothing about what is found."""
_SETTLED_SECONDS = 2
_MOST_FILES = 100_000
_FOLDER = "unchanged"
_LISTED = ("os.listdir", "os.scandir")
_WRITING = os.O_WRONLY | os.O_RDWR


class Watch:
    """The files that were opened for reading, and the folders that were listed, since it began."""

    def __init__(self) -> None:
        self.paths: set[str] = set()

    def note(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook (PEP 578)."""
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
    """Note from here on what this process reads. It cannot be ended, so only the program's start calls it."""
    global _watch
    if _watch is None:
        _watch = Watch()
        sys.addaudithook(_watch.note)


def recall(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """What the same command said here when it had nothing to do and everything was as it is now; None: run it."""
    if not is_plain(arguments):
        return None
    try:
        root = os.getcwd()
        with open(_place(root), "rb") as stream:
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
    """The command that began at ``started`` (seconds since 1970) found nothing to do in the project at ``root``.

    ``read``: the files and folders that it read; None: what was noted since :func:`watch`.
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
            if "__pycache__" in path:  # made from sources, which are noted themselves
                continue
            encoded = os.fsencode(path)
            signature, newest = _signature(encoded)
            if newest > latest or len(entries) > 2 * _MOST_FILES:
                return
            entries += (encoded, signature)
        place = _place(root)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        draft = f"{place}.{os.getpid()}"
        head = (b"%d" % (len(entries) // 2), said.encode(), _key(arguments, root, environment))
        with open(draft, "wb") as stream:
            stream.write(b"\0".join((*head, *entries)))
        os.replace(draft, place)
    except (OSError, ValueError):  # a full or read-only disk costs speed
        return


def forget() -> None:
    """Forget it of every project."""
    import shutil

    shutil.rmtree(os.path.join(place_of("data"), _FOLDER), ignore_errors=True)


def is_plain(arguments: Sequence[str]) -> bool:
    """Whether the command is one that can be remembered."""
    return os.name == "posix" and list(arguments[:1]) == ["install"] and _FLAGS.issuperset(arguments[1:])


def _place(root: str) -> str:
    """One file a project; its content says which."""
    status = os.stat(root)
    return os.path.join(place_of("data"), _FOLDER, f"{status.st_dev}-{status.st_ino}")


def _key(arguments: Sequence[str], root: str, environment: Mapping[str, str]) -> bytes:
    """Everything but files that the answer depends on."""
    variables = sorted(f"{name}={value}" for name, value in environment.items() if name.startswith("RYE_"))
    folders = (place_of("config"), place_of("data"))
    return b"\1".join(os.fsencode(word) for word in (sys.version, *arguments, root, *folders, *variables))


def _sources() -> set[str]:
    """The source file of every module that is loaded."""
    found = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {os.path.abspath(path) for path in found if isinstance(path, str)}


def _signature(path: bytes) -> tuple[bytes, int]:
    """What the file system says of a path itself, and of what it leads to where it is a link; and the newest time, in ns."""
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
