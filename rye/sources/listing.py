"""The files of a source as a list, in which items are found. Pure.

Paths are relative to the source's own folder, with ``/``. Links and submodules are entries; nothing on the disk is ever reached
through them. A link that names a regular file of the same source stands for that file (:func:`with_links`), unless the file is
one that a skill leaves out (:mod:`rye.sources.inventory.skill_folders`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rye.limits import SOURCES
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from rye.text import secrets
    from rye.text.facts import secret_paths
else:
    # few sources have links: the others need not read these patterns
    secrets, secret_paths = lazy_module("rye.text.secrets"), lazy_module("rye.text.facts.secret_paths")

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
    target: str = ""
    """Of a link that stands for a regular file of the source: that file's path. The rest of the entry is the file's."""

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, executable or not."""
        return self.what in ("file", "executable")


Listing: TypeAlias = Mapping[str, TreeEntry]
"""By path."""


def with_links(files: Listing, texts: Mapping[str, str]) -> Listing:
    """Return the listing with each link that names a regular file of the source as that file. ``texts``: what the links say, by
    path. A link to a folder, another link, an absolute path or anything outside the source's folder stays a link. So does one to
    a file that holds secrets by its name: under another name nobody would refuse to publish it."""
    found = {path: _named_by(path, text, files) for path, text in texts.items()}
    return {**files, **{path: entry for path, entry in found.items() if entry is not None}}


def _named_by(path: str, text: str, files: Listing) -> TreeEntry | None:
    """Return the entry of the file that a link names, or None. Steps up come first: what lies on the way never matters."""
    parts = path.split("/")[:-1]
    below = False
    for part in text.split("/"):
        if part in (".", "..") and not below:
            if part == ".." and not parts:
                return None
            parts = parts[:-1] if part == ".." else parts
        elif is_name(part):
            below = True
            parts.append(part)
        else:
            return None
    target = "/".join(parts)
    entry = files.get(target)
    if entry is None or not entry.is_file or entry.target:
        return None
    if secrets.is_secret_file(target) or secret_paths.holds_secrets(target):
        return None
    return replace(entry, target=target)


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
