"""What a command needs from the project it runs in: the manifest, read options and the project's own items."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rye.errors import RyeError
from rye.items.reading import ReadOptions
from rye.limits import PROJECT
from rye.project.discovery import Found, expand, own_items
from rye.project.layout import LOCK, Project, find_project, read_project_file
from rye.project.manifest import Manifest, parse_manifest
from rye.project.members import MemberText, read_members, whole_manifest


def require_project(start: Path) -> Project:
    """Return the project around ``start``. Raises RyeError ``no-project`` or ``no-manifest``."""
    project = find_project(start)
    if project is None:
        if (start / LOCK).is_file():
            raise no_manifest()
        raise RyeError("no-project", "There is no rye.toml in this folder or above it.", "Create one with `rye init`.")
    return project


def no_manifest() -> RyeError:
    """The error for a lock or installed items without a rye.toml."""
    return RyeError(
        "no-manifest",
        "rye.toml is missing, but there is a rye.lock or there are installed items.",
        "Restore it with `git checkout rye.toml`, or start without dependencies with `rye init`.",
    )


def load_manifest(project: Project) -> Manifest:
    """Return the project's manifest with its members' dependencies; an empty one if it has only an ``.ai`` folder."""
    text, members = read_manifests(project)
    return whole_manifest(text, members)


def read_manifests(project: Project) -> tuple[str, tuple[MemberText, ...]]:
    """Return the texts of the manifests of the project (empty if it has none) and its members, with unchanged line endings."""
    data = read_project_file(project.manifest_path, PROJECT.manifest_bytes)
    try:
        text = data.decode("utf-8") if data is not None else ""
    except UnicodeDecodeError:
        raise RyeError("bad-manifest", "rye.toml is not UTF-8.", "Save it as UTF-8.") from None
    return text, members_of(project, text)


def members_of(project: Project, text: str) -> tuple[MemberText, ...]:
    """Read the members that a root's manifest names. A text that does not mention a workspace is not parsed, so it can be
    invalid."""
    return read_members(project.root, parse_manifest(text)) if "workspace" in text else ()


def read_options(start: Path, *, publishing: bool = False) -> ReadOptions:
    """Return the read options, with the agent tools that the project's manifest adds."""
    project = find_project(start)
    tools = load_manifest(project).tools if project is not None else frozenset()
    return ReadOptions(tools=tools, publishing=publishing)


def arguments_or_own_items(cwd: Path, arguments: Sequence[str]) -> list[Found]:
    """The files that the arguments name or, without any, the project's own items."""
    if arguments:
        return expand(arguments, cwd)
    project = require_project(cwd)
    paths = own_items(project.ai)
    if not paths and project.packages.is_dir():
        raise RyeError(
            "no-items",
            "This project has no items of its own.",
            "`rye audit` checks what is installed; `rye new directive ID` creates an item.",
            what="items",
        )
    if not paths:
        raise RyeError(
            "no-items", "This project has no items of its own.", "Create one with `rye new directive ID`.", what="items"
        )
    return [Found(path, os.path.relpath(path, cwd), set_root=project.ai) for path in paths]
