"""Names, ids and references (DESIGN §1 Words, §5 Names).

A *local id* is ``category/name``; a *qualified id* is ``namespace/category/name``; a *reference* is ``[kind:]id[@range]``.
Ids consist of segments ``[a-z0-9][a-z0-9_-]{0,63}``. An item's identity is its kind and its qualified id.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from rye.errors import UsageError
from rye.items.kinds import KINDS
from rye.text.lazy import lazy_pattern

SEGMENT_PATTERN = r"(?!(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?![a-z0-9_-]))[a-z0-9][a-z0-9_-]{0,63}"
"""A regular expression for one part of an id. Windows device names are excluded."""
SEGMENT_CHARACTERS = 64
"""The most characters of one part of an id, as in the pattern."""
MAX_SEGMENTS = 16

_SEGMENT = lazy_pattern(SEGMENT_PATTERN)
_NOT_IN_SEGMENT = lazy_pattern(r"[^a-z0-9_-]+")
_ID = lazy_pattern(rf"(?:{SEGMENT_PATTERN}(?:/(?!\Z)|\Z)){{1,{MAX_SEGMENTS}}}")


def is_segment(text: str) -> bool:
    """Whether ``text`` is valid as one part of an id. Windows device names are not."""
    return _SEGMENT.fullmatch(text) is not None


def nearest_segment(text: str) -> str:
    """Return the part of an id that stands for a name of others: lower case, other characters as ``-``, none at the ends. Empty:
    nothing is left. A valid part stays as it is."""
    if is_segment(text):
        return text
    return _NOT_IN_SEGMENT.sub("-", text.lower()).strip("-_")[:SEGMENT_CHARACTERS].rstrip("-_")


def is_id(text: str) -> bool:
    """Whether ``text`` is one or more segments joined by ``/``."""
    return _is_short_id(text) if len(text) <= _SHORT else _is_id(text)


_SHORT = 128


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _is_short_id(text: str) -> bool:
    """Cached, because the same few ids are checked repeatedly; the cache is bounded in number and length."""
    return _is_id(text)


def fold(text: str) -> str:
    """Fold look-alike letters together, so that a look-alike of a taken name can be refused (DESIGN §5 Names)."""
    return text.lower().translate(_FOLD)


_FOLD = str.maketrans({".": None, "_": None, "-": None, "l": "1", "i": "1", "o": "0"})


def lookup_key(text: str) -> str:
    """Treat ``-`` and ``_`` as the same letter in lookups (DESIGN §6), never when capabilities are matched."""
    return text.replace("-", "_")


class Identity(Struct, frozen=True, order=True):
    """Identifies an item in a registry: its kind and its qualified id."""

    kind: str
    id: str

    @property
    def namespace(self) -> str:
        """The first segment of the id."""
        return self.id.split("/", 1)[0]

    @property
    def local_id(self) -> str:
        """The id without its namespace."""
        return self.id.split("/", 1)[1]

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class Reference(Struct, frozen=True):
    """``[kind:]id[@range]`` as a person writes it; ``kind`` and ``range`` are None if absent."""

    id: str
    kind: str | None = None
    range: str | None = None

    def __str__(self) -> str:
        prefix = f"{self.kind}:" if self.kind else ""
        suffix = f"@{self.range}" if self.range else ""
        return f"{prefix}{self.id}{suffix}"


def parse_reference(text: str) -> Reference:
    """Parse ``[kind:]id[@range]``. Raises UsageError saying what is wrong."""
    rest, at, wanted = text.partition("@")
    kind, colon, identifier = rest.rpartition(":")
    if colon and kind not in KINDS:
        raise UsageError("unknown-name", f"{kind!r} is not a kind of item.", f"Kinds: {KINDS.names()}.", what="kind")
    if not is_id(identifier):
        raise UsageError(
            "bad-reference",
            f"{text!r} is not a valid reference: ids are lower-case segments of a-z, 0-9, - and _ joined by '/'.",
            _as_written_here(text)
            or "Write [kind:]namespace/category/name[@range], e.g. tool:acme/file-system/read@^1.2.",
        )
    if at and not wanted.strip():
        raise UsageError("bad-reference", f"{text!r} has nothing after '@'.", "Add a version range, or remove the '@'.")
    return Reference(identifier, kind or None, wanted.strip() or None)


def _as_written_here(text: str) -> str | None:
    """The hint for forms of other package managers: ``@acme/x`` and ``acme/x==1.0.0``."""
    plain = text.removeprefix("@").replace("==", "@", 1)
    return f"Write {plain}" if plain != text and is_id(plain.partition("@")[0].rpartition(":")[2]) else None
