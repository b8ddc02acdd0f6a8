"""The signers whose items this user agreed to (DESIGN 7.1). The first item of any other signer asks, even without rights.

Their fingerprints are in a file in the user's data folder. Nothing that comes with a repository can write there. A file
that other users can write, or that cannot be read, counts as empty; the next installation then asks again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rye.storage.home import Home
from rye.storage.private_files import make_folder, read_trusted, write

AGREED = "agreed-signers.json"


def read_agreed(path: Path) -> frozenset[str]:
    """Return the fingerprints (``SHA256:…``)."""
    try:
        if path.is_symlink():
            return frozenset()
        return frozenset(msgspec.json.decode(read_trusted(path), type=list[str]))
    except (OSError, msgspec.MsgspecError):
        return frozenset()


def remember_agreed(path: Path, signers: Iterable[str]) -> None:
    """Add fingerprints. Raises OSError."""
    known = read_agreed(path)
    every = known | frozenset(signers)
    if every != known:
        make_folder(path.parent)
        write(path, msgspec.json.encode(sorted(every)).decode())


def agreed_signers(home: Home) -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(home.data / AGREED)


def remember_signers(home: Home, fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(home.data / AGREED, fingerprints)
