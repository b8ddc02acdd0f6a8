"""The signers whose items this user agreed to (DESIGN 7.1). The first item of any other signer asks, even without rights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from rye.registry.store.agreed_signers import AGREED, read_agreed, remember_agreed
from rye.storage.folders import data_dir


def agreed_signers() -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(data_dir() / AGREED)


def remember_signers(fingerprints: Iterable[str]) -> None:
    """Remember keys whose items were installed with consent. If the disk is full or read-only, rye only asks again next time."""
    with contextlib.suppress(OSError):
        remember_agreed(data_dir() / AGREED, fingerprints)
