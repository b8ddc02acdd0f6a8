"""The one table of kinds. A new kind is one module and one row here; nothing else asks which kind an item is.

Kinds and folders: DESIGN §1. Comment styles of the signature line: DESIGN §4.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from msgspec import Struct

from rye.items.identity import KIND_NAMES


class Kind(Struct, frozen=True):
    """One row: where items of the kind live and which module reads them."""

    name: str
    folder: str
    """Below ``.ai/``."""
    suffixes: tuple[str, ...]
    """The file name's end, the longest first; what stands before it is the item's name."""
    module: str
    """Imported only when a file of the kind is read."""
    nested: bool
    """Whether folders below ``folder`` are a category (``directives/rye/core/x.md``); otherwise items stand directly in it."""
    fixer: str | None = None
    """The module whose ``fix(text, source)`` brings files of the kind to today's rules; None: nothing to fix."""
    main_file: str | None = None
    """For a kind that is a folder: the signed file in it. The folder is then the item, every other file is attached."""

    def load(self) -> ModuleType:
        """The module with ``read`` and ``as_json`` (contract in :mod:`rye.items.reading`)."""
        return import_module(self.module)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("directive", "directives", (".md",), "rye.items.directive.reader", True, "rye.items.directive.fix"),
        Kind("tool", "tools", (".py", ".js", ".ts", ".sh", ".yaml"), "rye.items.tool.reader", nested=True),
        Kind("knowledge", "knowledge", (".md",), "rye.items.knowledge", nested=True),
        Kind("agent", "agents", (".md",), "rye.items.agent.reader", nested=False),
        Kind("role", "roles", (".md",), "rye.items.role.reader", nested=False),
        Kind("formula", "formulas", (".formula.toml",), "rye.items.formula.reader", nested=False),
        Kind("skill", "skills", (), "rye.items.skill.reader", nested=False, main_file="SKILL.md"),
        Kind("bundle", "bundles", (".bundle.toml",), "rye.items.bundle", nested=False),
    )
}
BY_FOLDER: dict[str, Kind] = {kind.folder: kind for kind in KINDS.values()}
assert tuple(KINDS) == KIND_NAMES
