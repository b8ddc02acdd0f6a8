"""Own items in folders that Rye does not read, e.g. ``skills/pdf/SKILL.md``, ``.ai/skill/pdf``, ``.ai/skills/team/pdf``.

Only files that are surely meant for Rye count: a kind's main file (``SKILL.md``), and files with a kind's ending in a folder of
``.ai`` whose name is almost that kind's. What an agent program reads by itself (``.claude/skills``) is left out, and so are
folders that ``[sources]`` names and items that lie in the right place as well. Links are not followed.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from rye.items.kinds import KINDS, Kind
from rye.items.location import PACKAGES
from rye.limits import PROJECT
from rye.project.context import CUSTOMIZATIONS, load_manifest
from rye.project.declared_sources import PathSource
from rye.project.layout import Project
from rye.text.display import visible
from rye.text.spelling import near_miss


class Misplaced(Struct, frozen=True):
    """An item's file in a place that Rye does not read. All paths are relative to the project."""

    path: str
    moved: str
    """What to move: the file, or its folder where the item is one."""
    wanted: str
    """Where to."""
    folder: str
    """The folder whose items Rye reads, e.g. ``.ai/skills``."""

    @property
    def message(self) -> str:
        """What is wrong, as a sentence."""
        if self.path.startswith(f"{self.folder}/"):
            return f"{visible(self.path)} is not in a folder directly below {self.folder}, so Rye does not read it."
        return f"{visible(self.path)} lies outside {self.folder}, so Rye does not read it."

    @property
    def hint(self) -> str:
        """What to do, as a sentence."""
        copied = (
            "" if self.path.startswith(".ai/") else f", or copy it with `rye adopt {shlex.quote(visible(self.moved))}`"
        )
        return f"Move {visible(self.moved)} to {visible(self.wanted)}{copied}."


def misplaced_items(project: Project) -> tuple[Misplaced, ...]:
    """The misplaced items, sorted by path; at most :data:`rye.limits.PROJECT`'s number. Raises RyeError ``bad-manifest``."""
    sources = [
        os.path.abspath(project.root / source.path)
        for source in load_manifest(project).sources.values()
        if isinstance(source, PathSource)
    ]
    unused = (each for each in _candidates(project) if not _is_used(project, each, sources))
    return tuple(sorted(islice(unused, PROJECT.misplaced_items), key=lambda each: each.path))


def _is_used(project: Project, each: Misplaced, sources: list[str]) -> bool:
    """Whether an item outside of .ai has a copy there, or comes from a folder that rye.toml names."""
    if each.path.startswith(".ai/"):
        return False
    lies_in = [str(folder) for folder in Path(os.path.abspath(project.root / each.path)).parents]
    return os.path.lexists(project.root / each.wanted) or any(source in lies_in for source in sources)


def _candidates(project: Project) -> Iterator[Misplaced]:
    """Files that are in no place for items."""
    known = {kind.folder for kind in KINDS.values()} | CUSTOMIZATIONS | {PACKAGES}
    unknown = [name for name in _folders(project.ai) if name not in known and not name.startswith(".")]
    for kind in KINDS.values():
        if kind.main_file is not None:
            for folder in (kind.folder, f".ai/{kind.folder}", *(f".ai/{name}" for name in unknown)):
                yield from _main_files(project, kind, folder)
    for name in unknown:
        meant = _meant(name)
        if meant is not None and meant.main_file is None:
            for file in _files(project.ai / name):
                if file.name.endswith(meant.endings):
                    below = file.relative_to(project.ai / name).as_posix()
                    path = f".ai/{name}/{below}"
                    yield Misplaced(path, path, f".ai/{meant.folder}/{below}", f".ai/{meant.folder}")


def _main_files(project: Project, kind: Kind, folder: str) -> Iterator[Misplaced]:
    """Items of a kind that are folders, in ``folder``, unless that is where they belong."""
    right = f".ai/{kind.folder}"
    for file in _files(project.root / folder, kind.main_file):
        path = file.relative_to(project.root)
        item = path.parent.as_posix()
        if item == folder:  # directly in the folder of all
            yield Misplaced(path.as_posix(), path.as_posix(), f"{right}/NAME/{path.name}", right)
        elif folder != right or item != f"{right}/{path.parent.name}":
            yield Misplaced(path.as_posix(), item, f"{right}/{path.parent.name}", right)


def _meant(name: str) -> Kind | None:
    """The kind whose folder is probably meant by the name of a folder in ``.ai``."""
    for kind in KINDS.values():
        if name.lower() in (kind.name, kind.folder):
            return kind
    near = near_miss(name, [kind.folder for kind in KINDS.values()])
    return KINDS.in_folder(near) if near else None


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _files(folder: Path, main_file: str | None = None) -> Iterator[Path]:
    """The files below a folder, at most as many as the limit; with ``main_file`` only those, and nothing below their folders."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return
    seen = 0
    for here, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        seen += len(files) + len(folders)
        if seen > PROJECT.misplaced_entries:
            return
        if main_file is None:
            yield from (Path(here, name) for name in sorted(files))
        elif main_file in files:
            folders[:] = []  # files below it belong to the item
            yield Path(here, main_file)
