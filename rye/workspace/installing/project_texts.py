"""The texts of a project's manifest and lock, as they are on disk."""

from __future__ import annotations

from pathlib import Path

from rye.errors import RyeError
from rye.limits import PROJECT
from rye.project.layout import LOCK, Project
from rye.project.project_file import read_project_file


def bytes_of(path: Path) -> bytes | None:
    """The content of rye.toml or rye.lock; None where there is none. Raises RyeError for what is no such file."""
    return read_project_file(path, PROJECT.lock_bytes if path.name == LOCK else PROJECT.manifest_bytes)


def manifest_text_of(project: Project) -> str:
    """The text of the project's manifest, line endings as they are; empty where there is none."""
    data = bytes_of(project.manifest_path)
    try:
        return data.decode("utf-8") if data is not None else ""
    except UnicodeDecodeError:
        raise RyeError("bad-manifest", "rye.toml is not UTF-8.", "Save it as UTF-8.") from None
