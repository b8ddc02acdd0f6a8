"""Removing a folder with all that is in it."""

from __future__ import annotations

from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder; what cannot be removed is left, and a folder that is not there is no error."""
    import shutil  # brings three compressors, and a run that changes nothing never needs it

    shutil.rmtree(folder, ignore_errors=True)
