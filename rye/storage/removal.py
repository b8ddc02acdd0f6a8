"""Remove a folder with all its contents."""

from __future__ import annotations

from pathlib import Path


def remove_tree(folder: Path) -> None:
    """Remove a folder. What cannot be removed is left; a missing folder is not an error."""
    import shutil  # imports three compressors, and a run without changes does not need it

    shutil.rmtree(folder, ignore_errors=True)
