"""Making a project: its rye.toml."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import is_segment
from rye.project.layout import MANIFEST, workspace_above
from rye.project.manifest import parse_manifest
from rye.project.new_manifest import new_manifest
from rye.storage.atomic import replace_file


class NewProject(Struct, frozen=True):
    """What was made."""

    manifest: Path
    workspace: Path | None = None
    """The root of the workspace that it became a member of; None: it is a project of its own."""


def new_project(root: Path, name: str | None, namespace: str | None) -> NewProject:
    """Make a project in ``root``, which is made too. ``name`` None: the folder's.

    Raises UsageError ``bad-name``, or ``contradiction`` for a namespace of a workspace's member, and RyeError ``project-exists``.
    """
    if namespace is not None and not is_segment(namespace):
        raise UsageError(
            "bad-name", f"{namespace!r} cannot be a namespace.", "Names: a-z, 0-9, '-' and '_', at most 64."
        )
    manifest = root / MANIFEST
    if manifest.exists():
        raise RyeError("project-exists", f"{manifest} exists.", "Add items with `rye add [KIND:]ID`.")
    workspace = workspace_above(root.absolute())
    if workspace is not None and namespace is not None:
        raise UsageError(
            "contradiction",
            f"{root.absolute().relative_to(workspace).as_posix()} is a member of the workspace at {workspace}, which has one "
            "namespace.",
            "Leave --namespace out; [project] namespace belongs to the root.",
        )
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, None)
    parse_manifest(text)
    replace_file(manifest, text.encode())
    return NewProject(manifest, workspace)
