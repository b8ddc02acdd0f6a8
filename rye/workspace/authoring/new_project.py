"""Creating a project: its rye.toml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.installation.git_attributes import own_attributes
from rye.installation.transaction import exclusive
from rye.items.identity import is_segment
from rye.project.context import require_project
from rye.project.layout import MANIFEST, Project, is_in_checkout, workspace_above
from rye.project.manifest import parse_manifest
from rye.project.new_manifest import new_manifest
from rye.project.ownership import refuse_wide_folder
from rye.project.registries import normal_address
from rye.storage.atomic import replace_file
from rye.workspace.authoring.merge_driver import MergeDriver, set_up_clone, write_attributes

if TYPE_CHECKING:
    from rye.workspace.context import Context


class NewProject(Struct, frozen=True):
    """The created project."""

    manifest: Path
    workspace: Path | None = None
    """The root of the workspace that it became a member of, or None."""
    merge_driver: MergeDriver | None = None
    """What was set up for merging rye.lock; None outside a git checkout."""


def new_project(context: Context, root: Path, name: str | None, namespace: str | None) -> NewProject:
    """Create a project in ``root``, which is created if missing. ``name``: by default, the folder's name. A registry that
    the context names is the project's; that of a workspace's member is the root's.

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
    registry = normal_address(context.registry, context.cwd) if context.registry and workspace is None else None
    root.mkdir(parents=True, exist_ok=True)
    text = new_manifest(name or root.resolve().name, namespace, registry)
    parse_manifest(text)
    replace_file(manifest, text.encode())
    if workspace is None and is_in_checkout(root):
        project = Project(root.absolute())
        with exclusive(project) as writer:
            writer.apply(own_attributes(project)[0])
        return NewProject(manifest, workspace, MergeDriver(write_attributes(project.root)))
    return NewProject(manifest, workspace)


def set_up_merging(folder: Path) -> MergeDriver:
    """Set up git's merge driver for the project around a folder, here and in this clone.

    Raises RyeError ``no-project``, and ``git-failed`` outside a git checkout.
    """
    project = require_project(folder)
    if not is_in_checkout(project.root):
        raise RyeError(
            "git-failed", f"{project.root} is not in a git checkout.", "Run `git init`, then the command again."
        )
    return MergeDriver(write_attributes(project.root), set_up_clone(project.root))
