"""A published item's text with overrides files."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from rye.customization.effective_text import Effective, effective, reader, unsigned
from rye.customization.item_overrides import OverrideSource
from rye.customization.provenance import file_lines
from rye.installation.policy_files import override_widening_allowed
from rye.items.identity import Identity
from rye.items.reading import ReadOptions
from rye.project.lock_file import read_lock
from rye.project.manifest import Manifest

if TYPE_CHECKING:
    from rye.workspace.items.effective_item import EffectiveItem


def apply_overrides(
    found: EffectiveItem, files: tuple[OverrideSource, ...], manifest: Manifest | None, today: date | None = None
) -> Effective:
    """The published item's unsigned text with these overrides files."""
    item = found.item
    options = ReadOptions(tools=manifest.tools if manifest is not None else frozenset())
    text = item.text or ""
    base = unsigned(text, item.location, item.path.name)
    return effective(
        base,
        files,
        reader(item.location, item.shown, options),
        name=item.location.name,
        version=version_of(found),
        file_name=item.shown,
        today=today,
        widening_allowed=override_widening_allowed(manifest or Manifest()),
        origins=file_lines(item.shown, text, base),
    )


def version_of(found: EffectiveItem) -> str | None:
    """The item's version: its own, else the one that it was installed as."""
    metadata = found.item.reading.metadata
    if metadata is not None and metadata.version is not None:
        return metadata.version
    if found.entry is None or found.entry.space != "installed" or found.project is None:
        return None
    locked = read_lock(found.project).find(Identity(found.item.kind.name, found.id))
    return locked.version if locked is not None else None
