"""The texts of a project's manifest and lock, as they are on disk."""

from __future__ import annotations

from pathlib import Path

from rye.limits import PROJECT
from rye.project.context import read_manifests
from rye.project.layout import LOCK, Project
from rye.project.members import joined_text
from rye.project.project_file import read_project_file


def bytes_of(path: Path) -> bytes | None:
    """The content of rye.toml or rye.lock; None if missing. Raises RyeError if it is not a regular file."""
    return read_project_file(path, PROJECT.lock_bytes if path.name == LOCK else PROJECT.manifest_bytes)


def manifest_text_of(project: Project) -> str:
    """The text of the project's manifest, line endings as on disk; empty if missing."""
    return read_manifests(project)[0]


def joined_manifests(project: Project) -> str:
    """The text of the project's and its members' manifests, joined."""
    return joined_text(*read_manifests(project))
