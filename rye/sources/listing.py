"""The files of a source as a list, in which items are found. Pure.

Paths are relative to the source's own folder, with ``/``. Links and submodules are not followed: each is an entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from rye.limits import SOURCES

What = Literal["file", "executable", "link", "submodule", "special"]
_NEVER = frozenset(
    {
        *(".git", "node_modules", "__pycache__"),
        *(
            ".venv",
            ".tox",
            ".nox",
            ".cache",
            ".mypy_cache",
            ".pytest_cache",
            ".ruff_cache",
            ".terraform",
            ".gradle",
            ".yarn",
        ),
    }
)
"""Folders that are never searched: version control, and what tools install or cache. Other hidden ones are searched: collections
keep skills in folders such as ``skills/.curated``."""
_NOT_ITEMS = frozenset({"packages", "cache", ".rye"})
"""Folders in ``.ai`` with installed items and rye's own files."""


class TreeEntry(Struct, frozen=True):
    """One file, link or submodule."""

    what: What
    blob: str = ""
    """The git object name of the file; empty for a folder on disk."""

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, executable or not."""
        return self.what in ("file", "executable")


Listing: TypeAlias = Mapping[str, TreeEntry]
"""By path."""


def is_entered(path: str) -> bool:
    """Whether a folder is searched. ``path``: relative to the source's own folder, not from the repository's root."""
    parts = path.split("/")
    if len(parts) > SOURCES.depth or parts[-1] in _NEVER:
        return False
    return not (parts[0] == ".ai" and len(parts) == 2 and parts[1] in _NOT_ITEMS)


def is_name(name: str) -> bool:
    """Whether a name in a tree is usable: no separator, not only dots, and not ``.git``, not even as another system spells it
    (``.GIT``, ``git~1``, ``.git `` with a space, or with invisible letters in between)."""
    if not name or "/" in name or "\\" in name or name in (".", "..") or not name.isprintable():
        return False
    plain = "".join(character for character in name.lower() if character.isascii()).rstrip(". ").split(":", 1)[0]
    return plain not in (".git", "git~1", "git~2")
