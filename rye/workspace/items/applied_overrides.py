"""A published item's text and attached files with overrides files."""

from __future__ import annotations

from datetime import date

from rye.customization.effective_files import Tree
from rye.customization.effective_text import Effective, effective, reader, unsigned
from rye.customization.item_overrides import OverrideSource
from rye.customization.provenance import file_lines
from rye.items.reading import ReadOptions
from rye.project.item_file import ItemFile
from rye.project.manifest import Manifest
from rye.project.spaces import Spaces


def apply_overrides(
    spaces: Spaces,
    item: ItemFile,
    version: str | None,
    files: tuple[OverrideSource, ...],
    manifest: Manifest | None,
    today: date | None = None,
    attached: Tree | None = None,
) -> Effective:
    """The published item's unsigned text and its ``attached`` files with these overrides files. ``spaces``: of the
    moment, with its policies; ``version``: the item's."""
    options = ReadOptions(tools=manifest.tools if manifest is not None else frozenset())
    text = item.text or ""
    base = unsigned(text, item.location, item.path.name)
    return effective(
        base,
        files,
        reader(item.location, item.shown, options),
        name=item.location.name,
        version=version,
        file_name=item.shown,
        today=today,
        widening_allowed=spaces.other_policies.allow_override_widening(manifest or Manifest()),
        origins=file_lines(item.shown, text, base),
        attached=attached,
    )
