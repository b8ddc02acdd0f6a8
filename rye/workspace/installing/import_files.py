"""Finding and reading the files of other tools in a project (shell)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.importing.apm import LOCK as APM_LOCK
from rye.importing.apm import MANIFEST as APM_MANIFEST
from rye.importing.apm import read_apm
from rye.importing.foreign import FolderPlace, Foreign, ForeignEntry, LeftOut, bad_file, shown
from rye.importing.marketplace import MARKETPLACE, read_marketplace
from rye.importing.skills_locks import PROJECT_LOCK, USER_LOCK, read_project_lock, read_user_lock
from rye.importing.toolhive import LOCK as TOOLHIVE_LOCK
from rye.importing.toolhive import read_toolhive
from rye.limits import IMPORTS, PROJECT
from rye.project.agent_programs import STATE
from rye.project.layout import read_project_file
from rye.storage.safe_files import read_bytes

_READERS: dict[str, Callable[[bytes, str], Foreign]] = {
    PROJECT_LOCK: read_project_lock,
    USER_LOCK: read_user_lock,
    TOOLHIVE_LOCK: read_toolhive,
    MARKETPLACE: read_marketplace,
}
"""By path from the project."""
SKILL_FOLDERS = (".agents/skills", ".claude/skills")
AGENT_FOLDER = ".claude/agents"
KNOWN = (APM_MANIFEST, APM_LOCK, *_READERS, *SKILL_FOLDERS, AGENT_FOLDER)
"""The files to look for, by path from the project."""


def read_foreign(root: Path, cwd: Path, given: Sequence[str], without: frozenset[str]) -> Foreign:
    """The entries of the given files, or of all known files in the project. ``without``: files and names to leave out.

    Raises UsageError ``not-importable`` for a file of unknown format, RyeError ``nothing-to-import``, ``bad-foreign-file``.
    """
    wanted = [_known(root, cwd, word) for word in given] if given else [(name, root / name) for name in KNOWN]
    files = {name: path for name, path in wanted if name not in without and (given or os.path.lexists(path))}
    if not files:
        raise RyeError(
            "nothing-to-import",
            "This folder has no file that `rye import` reads.",
            f"It reads {', '.join(KNOWN)}.",
        )
    parts = [_READERS[name](_bytes(path), name) for name, path in files.items() if name in _READERS]
    if APM_MANIFEST in files or APM_LOCK in files:
        manifest, lock = (_bytes(files[name]) if name in files else None for name in (APM_MANIFEST, APM_LOCK))
        parts.append(read_apm(manifest, lock))
    parts = [_inside(part, files, root) for part in parts]
    installed = frozenset(name for part in parts for name in part.installed)
    parts += _folders(root, [name for name in SKILL_FOLDERS if name in files], installed)
    if AGENT_FOLDER in files:
        parts += _agents(root)
    return _without(_joined(parts), without)


def _known(root: Path, cwd: Path, word: str) -> tuple[str, Path]:
    """The known file that a person means, by the end of its path."""
    path = Path(os.path.abspath(cwd / word))
    for name in KNOWN:
        if path.as_posix().endswith(f"/{name}") and (name not in (*SKILL_FOLDERS, AGENT_FOLDER) or path == root / name):
            return name, path
    raise UsageError(
        "not-importable", f"{word!r} is not a file that `rye import` reads.", f"It reads {', '.join(KNOWN)}."
    )


def _bytes(path: Path) -> bytes:
    return read_bytes(path, IMPORTS.file_bytes)


def _inside(part: Foreign, files: dict[str, Path], root: Path) -> Foreign:
    """Leave out folders that belong to another machine's or project's file."""
    kept: list[ForeignEntry] = []
    left_out = list(part.left_out)
    for entry in part.entries:
        path = files.get(entry.file)
        if isinstance(entry.place, FolderPlace) and path is not None and path != root / entry.file:
            left_out.append(
                LeftOut(entry.file, shown(entry.name), "it is a folder next to that file, not to this project")
            )
        else:
            kept.append(entry)
    return replace(part, entries=tuple(kept), left_out=tuple(left_out))


def _folders(root: Path, folders: Sequence[str], installed: frozenset[str]) -> list[Foreign]:
    """The skills in agents' folders that neither another tool nor a deploy put there."""
    deployed = _deployed(root)
    seen = set(installed)
    foreign = []
    for folder in folders:
        if _is_reached_by_link(root, folder):
            foreign.append(Foreign((), (LeftOut(folder, folder, "it is reached through a link"),)))
            continue
        names = []
        for name in _names(root / folder):
            path = root / folder / name
            if name not in seen and not path.is_symlink() and (path / "SKILL.md").is_file():
                seen.add(name)
                if f"{folder}/{name}/" not in deployed:
                    names.append(name)
        if names:
            foreign.append(
                Foreign((ForeignEntry(file=folder, name=folder, place=FolderPlace(folder), only=tuple(names)),))
            )
    return foreign


def _is_reached_by_link(root: Path, folder: str) -> bool:
    parts = folder.split("/")
    return any((root / "/".join(parts[: count + 1])).is_symlink() for count in range(len(parts)))


def _names(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except NotADirectoryError:
        return []
    if len(names) > IMPORTS.entries:
        raise bad_file(folder.name, f"it holds more than {IMPORTS.entries} files and folders")
    return names


def _agents(root: Path) -> list[Foreign]:
    """The agents in Claude Code's folder that no deploy put there."""
    if _is_reached_by_link(root, AGENT_FOLDER):
        return [Foreign((), (LeftOut(AGENT_FOLDER, AGENT_FOLDER, "it is reached through a link"),))]
    deployed = _deployed(root)
    names = []
    for name in _names(root / AGENT_FOLDER):
        path = root / AGENT_FOLDER / name
        if (
            name.endswith(".md")
            and path.is_file()
            and not path.is_symlink()
            and f"{AGENT_FOLDER}/{name}" not in deployed
        ):
            names.append(name.removesuffix(".md"))
    return (
        [
            Foreign(
                (
                    ForeignEntry(
                        file=AGENT_FOLDER, name=AGENT_FOLDER, place=FolderPlace(AGENT_FOLDER), only=tuple(names)
                    ),
                )
            )
        ]
        if names
        else []
    )


def _deployed(root: Path) -> str:
    """The record of what `rye deploy` wrote, as text."""
    return (read_project_file(root / STATE, PROJECT.lock_bytes) or b"").decode("utf-8", "replace")


def _joined(parts: Sequence[Foreign]) -> Foreign:
    return Foreign(
        tuple(entry for part in parts for entry in part.entries),
        tuple(one for part in parts for one in part.left_out),
        frozenset(name for part in parts for name in part.installed),
    )


def _without(found: Foreign, without: frozenset[str]) -> Foreign:
    gone = [entry for entry in found.entries if entry.name in without]
    left_out = [*found.left_out, *(LeftOut(one.file, shown(one.name), "left out with --without") for one in gone)]
    unknown = sorted(without - {entry.name for entry in gone} - set(KNOWN))
    if unknown:
        names = ", ".join(shown(entry.name) for entry in found.entries[:8]) or "nothing"
        raise UsageError(
            "not-importable", f"--without {unknown[0]}: no file or entry has this name.", f"Available: {names}."
        )
    kept = tuple(entry for entry in found.entries if entry.name not in without)
    return Foreign(kept, tuple(left_out), found.installed)
