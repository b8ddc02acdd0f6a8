"""Adopting again: what became of a skill since it was adopted from a checkout of git, there and here.

The recorded origin names the commit that has the adopted text. It stays as it is while the skill does, although other commits
follow: it is still true, and writing another one would end the skill's signature and change a version that may be published.
Where the skill changed there, the commit's own files say whether the copy was edited here since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from rye.errors import RyeError
from rye.items.attached import IGNORE_FILE
from rye.items.skill.adoption import analyze
from rye.publishing.working_tree import blob_at, tree_at
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of, text_of
from rye.sources.inventory.layouts import find_items
from rye.sources.listing import Listing, TreeEntry
from rye.text.frontmatter import FrontmatterError, split
from rye.text.yaml_reading import YamlError, read_yaml

_MAIN = "SKILL.md"
_SHA1_DIGITS = 40


class Recorded(Struct, frozen=True):
    """What an adopted skill's ``metadata`` says."""

    version: str | None
    origin: str | None

    @property
    def added(self) -> dict[str, str]:
        """What adopting added, or may have: ``metadata`` that the skill has at home stays."""
        return {key: value for key, value in (("version", self.version), ("origin", self.origin)) if value is not None}

    @property
    def address(self) -> str:
        """The origin without commit and folder."""
        return (self.origin or "").partition("#")[0]

    @property
    def commit(self) -> str:
        """The origin's commit."""
        return (self.origin or "").partition("#")[2].partition(":")[0]

    @property
    def folder(self) -> str:
        """The skill's folder in the repository; empty for its root."""
        return (self.origin or "").partition("#")[2].partition(":")[2]


class AttachedBytes(Struct, frozen=True):
    """An attached file, read."""

    data: bytes
    executable: bool


class SkillFiles(Struct, frozen=True):
    """A skill's files, read: its ``SKILL.md`` and the attached ones by path."""

    main: bytes
    attached: Mapping[str, AttachedBytes]


def _unsigned(main: bytes) -> str:
    return unsigned_text(text_of(main), layout_of("skill", _MAIN))


def recorded_in(main: bytes) -> Recorded:
    """Return what a ``SKILL.md`` says in its ``metadata``; nothing if it cannot be read."""
    try:
        value = read_yaml(split(_unsigned(main)).yaml).value
    except (FrontmatterError, YamlError, RyeError, UnicodeDecodeError):
        return Recorded(None, None)
    metadata = value.get("metadata") if isinstance(value, dict) else None
    known = metadata if isinstance(metadata, dict) else {}
    version, origin = known.get("version"), known.get("origin")
    return Recorded(version if isinstance(version, str) else None, origin if isinstance(origin, str) else None)


def is_same(copy: SkillFiles, name: str, there: SkillFiles, recorded: Recorded) -> bool:
    """Whether the skill is here what it is there: adopted now with the recorded version and origin, it would be the copy."""
    if copy.attached != there.attached:
        return False
    adopted = analyze(there.main, name, (), recorded.added).fixed
    return _unsigned(copy.main) == _unsigned(there.main if adopted is None else adopted)


class Base(Struct, frozen=True):
    """A skill as its recorded commit has it."""

    name: str
    recorded: Recorded
    main: bytes
    blobs: Mapping[str, tuple[str, bool]]
    """git's name of each attached file, and whether it is executable."""

    def is_adopted_as(self, copy: SkillFiles) -> bool:
        """Whether a copy here is what adopting made of it: nobody edited it, though it may be signed."""
        there = SkillFiles(self.main, copy.attached)
        return self._has(copy.attached) and is_same(copy, self.name, there, self.recorded)

    def is_still(self, there: SkillFiles) -> bool:
        """Whether the skill did not change where it comes from."""
        return self._has(there.attached) and text_of(there.main) == text_of(self.main)

    def _has(self, attached: Mapping[str, AttachedBytes]) -> bool:
        digits = len(self.recorded.commit)
        return self.blobs == {path: (_blob_name(file.data, digits), file.executable) for path, file in attached.items()}


def base_of(name: str, recorded: Recorded, checkout: Path) -> Base | None:
    """Return the skill at the recorded commit; None if the checkout does not have it. ``checkout``: a folder in it."""
    tree = tree_at(checkout, recorded.commit, recorded.folder)

    def text_at(path: str) -> bytes | None:
        return blob_at(checkout, recorded.commit, f"{recorded.folder}/{path}".lstrip("/"))

    main = text_at(_MAIN) if tree is not None and _MAIN in tree else None
    if tree is None or main is None:
        return None
    ignore = text_at(IGNORE_FILE) if IGNORE_FILE in tree else None
    listing: Listing = {path: TreeEntry("executable" if runs else "file", blob) for path, (blob, runs) in tree.items()}
    texts = {_MAIN: main} | ({IGNORE_FILE: ignore} if ignore is not None else {})
    found = next((item for item in find_items(listing, name, texts).items if item.place == _MAIN), None)
    attached = found.attached if found is not None and found.problem is None else ()
    return Base(name, recorded, main, {path: tree[path] for path in attached})


def _blob_name(data: bytes, digits: int) -> str:
    """Return git's name of a file's content."""
    framed = b"blob %d\0" % len(data) + data
    return (
        hashlib.sha1(framed, usedforsecurity=False) if digits == _SHA1_DIGITS else hashlib.sha256(framed)
    ).hexdigest()
