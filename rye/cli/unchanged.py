"""``rye install`` where nothing changed since it last found nothing to do: answered without reading a byte of any item.

Rules, as for git's index:

* When an install found that everything is as it should be (every byte hashed, every right approved), what the file system says of
  all that it read is remembered: path, type, size, times and number of each file. The next one that finds exactly the same
  answers the same.
* What changed less than :data:`_SETTLED_SECONDS` before that run is not remembered: a later change could bear the same time.
* Part of it are the command's words, the ``RYE_`` variables, the settings, every policy, and rye's own code. ``rye ci`` and
  ``rye audit`` never ask here: they hash.
* It lies in the user's data folder, beside what they trust; nothing that comes with a project can say that it is unchanged.

This is imported before anything else, so it makes do with ``os``: no click, no paths, no hashes.
"""

from __future__ import annotations

import os
import stat

from rye.storage.folders import place_of

TYPE_CHECKING = False  # typing itself is too slow
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_FLAGS = frozenset({"-q", "--quiet", "-y", "--yes", "--no-input", "--no-progress"})
"""Words that change nothing about what is found."""
_SETTLED_SECONDS = 2
_MOST_FILES = 100_000
_FOLDER = "unchanged"


def recall(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """What the same command said here when it had nothing to do and everything was as it is now; None: run it."""
    if not _is_plain(arguments):
        return None
    try:
        root = os.getcwd()
        with open(_place(root), "rb") as stream:
            known = stream.read()
        said, seen = known.split(b"\0", 1)
    except (OSError, ValueError):
        return None
    present = _look(arguments, root, environment)
    return said.decode() if present is not None and present[0] == seen else None


def remember(arguments: Sequence[str], root: str, environment: Mapping[str, str], started: float, said: str) -> None:
    """The command that began at ``started`` (seconds since 1970) found nothing to do in the project at ``root``."""
    if not _is_plain(arguments):
        return
    present = _look(arguments, root, environment)
    if present is None or present[1] > (started - _SETTLED_SECONDS) * 1e9:
        return
    try:  # a full or read-only disk costs speed
        place = _place(root)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        draft = f"{place}.{os.getpid()}"
        with open(draft, "wb") as stream:
            stream.write(said.encode() + b"\0" + present[0])
        os.replace(draft, place)
    except OSError:
        return


def forget() -> None:
    """Forget it of every project."""
    import shutil

    shutil.rmtree(os.path.join(place_of("data"), _FOLDER), ignore_errors=True)


def _is_plain(arguments: Sequence[str]) -> bool:
    return os.name == "posix" and list(arguments[:1]) == ["install"] and _FLAGS.issuperset(arguments[1:])


def _place(root: str) -> str:
    """One file a project; its content says which."""
    status = os.stat(root)
    return os.path.join(place_of("data"), _FOLDER, f"{status.st_dev}-{status.st_ino}")


def _look(arguments: Sequence[str], root: str, environment: Mapping[str, str]) -> tuple[bytes, int] | None:
    """Everything that the answer depends on, and the newest time of a file in ns; None where this is no installed project."""
    variables = sorted(f"{name}={value}" for name, value in environment.items() if name.startswith("RYE_"))
    seen = [os.fsencode(word) for word in (*arguments, root, *variables)]
    needed = (f"{root}/rye.toml", f"{root}/rye.lock")
    newest = 0
    try:
        for path, status in _files(root, environment):
            if path in needed and (status is None or not stat.S_ISREG(status.st_mode)):
                return None
            seen.append(os.fsencode(path))
            if status is not None:
                newest = max(newest, status.st_ctime_ns, status.st_mtime_ns)
                seen.append(
                    b"%o %d %d %d %d %d"
                    % (
                        status.st_mode,
                        status.st_size,
                        status.st_mtime_ns,
                        status.st_ctime_ns,
                        status.st_ino,
                        status.st_dev,
                    )
                )
            if len(seen) > _MOST_FILES:
                return None
    except OSError:
        return None
    return b"\0".join(seen), newest


def _files(root: str, environment: Mapping[str, str]) -> Iterator[tuple[str, os.stat_result | None]]:
    """Every file and folder that such a run looks at, with what it is; None: it is not there."""
    settings = place_of("config")
    for path in (
        f"{root}/rye.toml",
        f"{root}/rye.lock",
        f"{root}/.ai/.rye/journal",
        f"{settings}/config.toml",
        f"{settings}/policy.toml",
        environment.get("RYE_POLICY") or "/etc/rye/policy.toml",
    ):
        try:
            yield path, os.stat(path)
        except FileNotFoundError:
            yield path, None
    yield from _below(f"{root}/.ai/packages")
    for path, status in _below(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))):
        if path.endswith(".py"):
            yield path, status


def _below(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    waiting = [folder]
    while waiting:
        folder = waiting.pop()
        yield folder, os.lstat(folder)
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    yield entry.path, entry.stat(follow_symlinks=False)
