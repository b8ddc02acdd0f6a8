"""Whose items this user agreed to before (DESIGN 7.1): a first item of anybody else asks, whether it has rights or not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from rye.registry.store.agreed_signers import AGREED, read_agreed, remember_agreed
from rye.storage.folders import data_dir


def agreed_signers() -> frozenset[str]:
    """The fingerprints of their keys."""
    return read_agreed(data_dir() / AGREED)


def remember_signers(fingerprints: Iterable[str]) -> None:
    """Keys whose items were installed with consent. A full or read-only disk costs a question next time and nothing else."""
    with contextlib.suppress(OSError):
        remember_agreed(data_dir() / AGREED, fingerprints)
