"""The user that a tool runs as if Rye runs as root: a separate user that owns nothing.

The process limit does not apply to user 0, and root can change its own files even without capabilities. So a tool started by
root gets a random user id, for this call, from a range that systems do not assign: it shares processes, files and limits with
no one. It keeps root's right to read any file (``CAP_DAC_READ_SEARCH``) and, with granted folders, to write
(``CAP_DAC_OVERRIDE``); the sandbox decides which files it can reach. If root is an ordinary user outside (a container without
mapped ids), the limit applies to it, and the tool runs as the same user.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

DAC_OVERRIDE, DAC_READ_SEARCH, KILL, SETGID, SETUID, SETPCAP = (1 << bit for bit in (1, 2, 5, 6, 7, 8))
NAMES = {
    DAC_OVERRIDE: "CAP_DAC_OVERRIDE",
    DAC_READ_SEARCH: "CAP_DAC_READ_SEARCH",
    KILL: "CAP_KILL",
    SETGID: "CAP_SETGID",
    SETUID: "CAP_SETUID",
    SETPCAP: "CAP_SETPCAP",
}
_NEEDED = SETGID | SETUID | SETPCAP
_UNUSED = range(0x70000000, 0x7FFFFFFE)
"""Above the ranges for containers; "unused" in the list of systemd.io/UIDS-GIDS."""


class User(Struct, frozen=True):
    """A number that is both user and group id, and the capabilities that the user keeps."""

    number: int
    capabilities: int


def other_user(writes: bool) -> User | None:
    """Return a user for one call; None if this process is not root or cannot change its user."""
    if os.name != "posix" or os.geteuid() != 0:
        return None
    try:
        effective = effective_capabilities(Path("/proc/self/status").read_text("ascii", "replace"))
        numbers = drawn_from(Path("/proc/self/uid_map").read_text("ascii"))
    except OSError:
        return None
    if effective & _NEEDED != _NEEDED or numbers is None:
        return None
    kept = (DAC_READ_SEARCH | (DAC_OVERRIDE if writes else 0)) & effective
    return User(numbers.start + secrets.randbelow(len(numbers)), kept)


def effective_capabilities(status: str) -> int:
    """Return ``CapEff`` from the text of ``/proc/PID/status``; 0 if it is missing."""
    found = [line.split()[1] for line in status.split("\n") if line.startswith("CapEff:")]
    return int(found[0], 16) if found else 0


def drawn_from(uid_map: str) -> range | None:
    """Return the ids to draw from: the unused range if it is mapped, otherwise the upper end of the largest mapped range;
    None if that is too small."""
    extents = [
        range(int(first), int(first) + int(count)) for first, _, count in map(str.split, uid_map.strip().split("\n"))
    ]
    if any(_UNUSED.start >= extent.start and _UNUSED.stop <= extent.stop for extent in extents):
        return _UNUSED
    largest = max(extents, key=len, default=range(0))
    return range(largest.stop - 1024, largest.stop - 16) if len(largest) >= 4096 else None


def give(paths: Iterable[Path], user: User) -> None:
    """Make the user the owner of files and folders, which are new and empty."""
    for path in paths:
        os.chown(path, user.number, user.number, follow_symlinks=False)


def tasks_of_this_user() -> int:
    """Return the number of threads of this real user, which the kernel counts against the process limit."""
    total = 0
    mine = os.getuid()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == mine:
                total += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return total
