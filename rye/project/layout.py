"""Where things are in a project and in the user's own space (DESIGN §1, §6)."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

MANIFEST = "rye.toml"
LOCK = "rye.lock"


class Project(Struct, frozen=True):
    """A folder with a ``rye.toml`` or an ``.ai`` folder; paths in it are made here and nowhere else."""

    root: Path

    @property
    def manifest_path(self) -> Path:
        return self.root / MANIFEST

    @property
    def lock_path(self) -> Path:
        return self.root / LOCK

    @property
    def ai(self) -> Path:
        """The project's own items."""
        return self.root / ".ai"

    @property
    def packages(self) -> Path:
        """Installed items; only the installation's transaction writes here."""
        return self.ai / "packages"

    @property
    def overrides(self) -> Path:
        return self.ai / "overrides"

    @property
    def overlays(self) -> Path:
        return self.ai / "formula-overlays"

    @property
    def role_directives(self) -> Path:
        return self.ai / "role-directives"


def installed_place(path: Path) -> tuple[Project, Path] | None:
    """The project whose ``.ai/packages`` the file is in, as named or behind links, and the file there; None for any other file.

    Only the path tells: a ``rye.toml`` among the installed files makes no project of them.
    """
    for each in (Path(os.path.abspath(path)), path.resolve()):
        parts = each.parts
        for index in range(len(parts) - 2):
            if parts[index : index + 2] == (".ai", "packages"):
                return Project(Path(*parts[:index])), each
    return None


def find_project(start: Path) -> Project | None:
    """The nearest folder at or above ``start`` with a ``rye.toml``, else the nearest with an ``.ai`` folder; None if none.

    The user's own folder for items never counts as a project, so that a stray ``~/.ai`` does not swallow a home folder.
    """
    start = Path(os.path.abspath(start))  # ".." taken out: the folders above are the real ones
    candidates = [start, *start.parents]
    for folder in candidates:
        if (folder / MANIFEST).is_file():
            return Project(folder)
    home = Path.home()
    for folder in candidates:
        if (folder / ".ai").is_dir() and (folder != home or folder == start):
            return Project(folder)
    return None
