"""A file that a person named."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class NamedFile(Struct, frozen=True):
    """Where it is, and as they wrote it."""

    path: Path
    shown: str
