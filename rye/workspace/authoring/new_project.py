"""Creating a project: its rye.toml."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.project.layout import MANIFEST, workspace_above
from rye.project.manifest import parse_manifest
from rye.project.new_manifest import new_manifest
from rye.project.ownership import refuse_wide_folder
from rye.storage.atomic import replace_file


class NewProject(Struct, frozen=True):
    """The created project."""

    manifest: Path
    workspace: Path | None = None
    """The root of the workspace that it became a member of, or None."""


def new_project(root: Path, name: str | None, namespace: str | None) -> NewProject:
    """Create a project in ``root``, which is created if missing. ``name``: by default, the folder's name.

    Raises UsageError ``bad-argument``, or ``contradiction`` for a workspace member's namespace, and RyeError ``already-exists``
    or ``wide-folder``.
    """
    if namespace is not None and not is_segment(namespace):
        raise UsageError(
            "bad-argument",
            f"{namespace!r} is not a valid namespace.",
            "Use a-z, 0-9, '-' and '_', at most 64 characters.",
            what="namespace",
        )
    manifest = root / MANIFEST
    if manifest.exists():
        raise RyeError(
            "already-exists", f"{manifest} already exists.", "Add items with `rye add [KIND:]ID`.", what="project"
        )
    refuse_wide_folder(root)
    workspace = workspace_above(root.absolute())
    if workspace is not None and namespace is not None:
        raise UsageError(
            "contradiction",
            f"{root.absolute().relative_to(workspace).as_posix()} is a member of the workspace at {workspace}, which has one "
            "namespace.",
            "Leave --namespace out; [project] namespace belongs in the root's rye.toml.",
        )
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, None)
    parse_manifest(text)
    replace_file(manifest, text.encode())
    return NewProject(manifest, workspace)
