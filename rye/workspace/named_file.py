"""A file that the user named."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class NamedFile(Struct, frozen=True):
    """Its path, and the name as the user wrote it."""

    path: Path
    shown: str
