"""The identity of the code that runs, for results that hold only until the code that computed them changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Collection, Iterator
from functools import cache

import rye

FACES = frozenset(("cli", "deployment", "lsp", "mcp", "runtime", "schemas"))
"""The rooms above the use cases. What checks a release, an item or a lock cannot import them (``tests/house/test_rooms.py``), and
their files are a third of the program's."""


@cache
def running_code(*, faces: bool = False) -> bytes:
    """The identity of this process's code, computed once: a program replaced while it runs still runs the old code.

    ``faces``: with the rooms above the use cases, for a verdict that comes from one of them.
    """
    return code_identity() if faces else code_identity(FACES)


def code_identity(without: Collection[str] = ()) -> bytes:
    """A hash that changes with the checking code: Python, every importable distribution, and the names, sizes and times of this
    package's files. It does not try to know which distributions matter; a change in any of them costs a few verdicts.

    ``without``: rooms that the checking code cannot import. If the hash cannot be determined, e.g. inside an archive, it is
    different each time.
    """
    found = [f"{rye.__version__}\0{sys.version}"]
    for folder in sys.path:
        with contextlib.suppress(OSError):
            names = os.listdir(folder or os.curdir)
            found.extend(sorted(name for name in names if name.endswith((".dist-info", ".egg-info"))))
    try:
        files = list(_files_below(os.path.dirname(os.path.abspath(rye.__file__)), without))
    except OSError:
        files = []
    if not files:
        return os.urandom(32)
    return hashlib.sha256("\0".join([*found, *files]).encode("utf-8", "surrogateescape")).digest()


def _files_below(folder: str, skipped: Collection[str]) -> Iterator[str]:
    """Path, size and time of every file below a folder, except compiled Python files and the folders ``skipped`` directly in
    it."""
    left_out = {f"{folder}{os.sep}{name}" for name in skipped}
    waiting = [folder]
    while waiting:
        here, inside = waiting.pop(), []
        with os.scandir(here) as entries:
            for entry in entries:
                if not entry.is_dir():
                    status = entry.stat()
                    inside.append(f"{entry.name}\0{status.st_size}\0{status.st_mtime_ns}")
                elif entry.name != "__pycache__" and entry.path not in left_out:
                    waiting.append(entry.path)
        inside.sort()
        waiting.sort()
        if inside:
            yield here
            yield from inside
