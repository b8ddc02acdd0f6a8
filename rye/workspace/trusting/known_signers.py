"""The signers whose items this user agreed to (DESIGN 7.1). The first item of any other signer asks, even without rights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from rye.registry.store.agreed_signers import AGREED, read_agreed, remember_agreed
from rye.storage.home import Home


def agreed_signers(home: Home) -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(home.data / AGREED)


def remember_signers(home: Home, fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(home.data / AGREED, fingerprints)
