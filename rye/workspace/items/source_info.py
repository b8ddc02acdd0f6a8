"""Facts about a locked item of ``[sources]``. It was not published, so they come from rye.lock and its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rye.installation.graph import locked_item
from rye.items.identity import parse_reference
from rye.items.signed_release import SignedRelease
from rye.project.context import load_manifest
from rye.project.layout import Project, find_project
from rye.project.lock import LockedItem
from rye.project.lock_file import read_lock
from rye.workspace.trusting.verified_items import require_verified

if TYPE_CHECKING:
    from rye.workspace.context import Context


class SourceInfo(Struct, frozen=True):
    """A locked item and the facts of its bytes."""

    row: LockedItem
    """The row, with the signer of the verified release."""
    words: SignedRelease


def source_info(context: Context, reference: str) -> SourceInfo | None:
    """The locked item of ``reference`` (``[kind:]id``); None if its namespace is not a source of the enclosing project.

    Raises RyeError ``not-installed``, ``unverified-item``.
    """
    project = find_project(context.cwd)
    if project is None or not project.manifest_path.exists():
        return None
    manifest = load_manifest(project)
    if parse_reference(reference).id.partition("/")[0] not in manifest.sources:
        return None
    return _of(context, project, reference)


def _of(context: Context, project: Project, reference: str) -> SourceInfo:
    row = locked_item(read_lock(project), reference.partition("@")[0])
    words = require_verified(context, project, [row])[row.identity]
    return SourceInfo(row.with_signer(words.signed_by), words)
