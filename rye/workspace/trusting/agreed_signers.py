"""Whose items this user has installed with consent, on this machine and in any project (DESIGN 7.1).

The first item of another signer asks, even without rights. The fingerprints are in a file in the user's data folder, where
nothing that comes with a repository can write. A file that other users can write, or that cannot be read, counts as empty; the
next installation then asks again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rye.storage import private_files
from rye.storage.home import Home
from rye.text.json_reading import UNDECODABLE

AGREED = "agreed-signers.json"


def read_agreed(path: Path) -> frozenset[str]:
    """Return the fingerprints (``SHA256:…``)."""
    try:
        if path.is_symlink():
            return frozenset()
        return frozenset(msgspec.json.decode(private_files.read_trusted(path), type=list[str]))
    except (OSError, *UNDECODABLE):
        return frozenset()


def remember_agreed(path: Path, signers: Iterable[str]) -> None:
    """Add fingerprints. Raises OSError."""
    known = read_agreed(path)
    every = known | frozenset(signers)
    if every != known:
        private_files.make_folder(path.parent)
        private_files.write(path, msgspec.json.encode(sorted(every)).decode())


def agreed_signers(home: Home) -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(home.data / AGREED)


def remember_signers(home: Home, fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(home.data / AGREED, fingerprints)
