"""Landlock's rights by ABI version, as numbers for the kernel (landlock(7); linux/landlock.h). Pure."""

from __future__ import annotations

import struct

OLDEST, NEWEST = 3, 7
"""Before version 3 (Linux 6.2), a file could be truncated without a right to write."""
SIGNALS_SINCE = 6

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE = 1 << 4, 1 << 5
MAKE_CHAR, MAKE_DIR, MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM = (1 << bit for bit in range(6, 13))
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

READ = READ_FILE | READ_DIR
RUN = READ | EXECUTE
WRITE = WRITE_FILE | TRUNCATE
CHANGE = RUN | WRITE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER
"""Everything in a folder, except creating devices and sockets."""
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that can be granted on something other than a folder."""

_NEW_IN_5 = IOCTL_DEV
_TCP = 0b11
_SCOPES = 0b11
"""Abstract UNIX sockets and signals are confined to the sandbox."""


def handled(abi: int) -> bytes:
    """Return ``struct landlock_ruleset_attr``: everything this version can refuse is refused unless a rule allows it."""
    files = (1 << 15) - 1 | (_NEW_IN_5 if abi >= 5 else 0)
    attributes = struct.pack("<Q", files)
    if abi >= 4:
        attributes += struct.pack("<Q", _TCP)
    if abi >= 6:
        attributes += struct.pack("<Q", _SCOPES)
    return attributes
