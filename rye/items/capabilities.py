"""Capability strings: ``rye.{primary}.{item_type}.{item_id_dotted}`` (DESIGN §7; DECISIONS Directives 6).

A capability is an fnmatch pattern over such strings. ``/`` in an id or a pattern is written ``.``, which is not ambiguous, since
ids contain no dots. ``-`` and ``_`` are different letters here (DECISIONS Directives 17). This module only writes and checks the
strings; :mod:`rye.permissions` decides what they allow.
"""

from __future__ import annotations

from functools import lru_cache

from rye.errors import UsageError
from rye.items.identity import is_id
from rye.items.kinds import KINDS
from rye.limits import PERMISSIONS
from rye.text.lazy import lazy_pattern

PRIMARIES = ("execute", "search", "load", "sign")
ITEM_TYPES = tuple(kind.name for kind in KINDS.values() if kind.item_type)
"""The kinds that actions name. A constant, because they are words of the capability language, whatever kinds Rye has."""

EVERYTHING = "rye.*"
"""What ``<permissions>*</permissions>`` grants."""

_CLASS = r"\[!?[A-Za-z0-9_./-]+\]"
_SEGMENT = rf"(?:[A-Za-z0-9_*?-]|{_CLASS})+"
_PATH = lazy_pattern(rf"{_SEGMENT}(?:[./]{_SEGMENT})*")


def is_path_pattern(text: str) -> bool:
    """Whether ``text`` is allowed inside an item type's element (R08).

    Dotted or slashed segments of ``A-Z a-z 0-9 _ -``, ``*``, ``?`` and closed ``[…]`` classes. A class has an optional ``!`` and
    then the same letters and separators: nothing whose meaning in fnmatch would surprise a reader.
    """
    return len(text) <= PERMISSIONS.path_characters and _matches(text)


@lru_cache(maxsize=512)
def _matches(text: str) -> bool:
    return _PATH.fullmatch(text) is not None


def capability(primary: str, item_type: str, path: str) -> str:
    """Return the capability that ``<primary><item_type>path</item_type></primary>`` grants.

    Raises ValueError for an unknown primary or item type, or for a path that breaks R08.
    """
    if primary not in PRIMARIES:
        raise ValueError(f"{primary!r} is not one of {', '.join(PRIMARIES)}")
    if item_type not in ITEM_TYPES:
        raise ValueError(f"{item_type!r} is not one of {', '.join(ITEM_TYPES)}")
    if not is_path_pattern(path):
        raise ValueError(f"{path!r} is not a capability path")
    return f"rye.{primary}.{item_type}.{path.replace('/', '.')}"


def everything_of(primary: str) -> str:
    """Return what ``<primary>*</primary>`` grants: ``rye.{primary}.*``. Raises ValueError for an unknown primary."""
    if primary not in PRIMARIES:
        raise ValueError(f"{primary!r} is not one of {', '.join(PRIMARIES)}")
    return f"rye.{primary}.*"


def required_capability(primary: str, item_type: str, item_id: str | None) -> str:
    """Return the capability string that one action needs; ``rye.search.<type>`` for a search without an id.

    Raises UsageError for an unknown primary or item type, for an id that breaks the name grammar (DECISIONS Directives 16),
    and for an action other than a search without an id.
    """
    if primary not in PRIMARIES:
        raise UsageError(
            "unknown-name", f"{primary!r} is not an action.", f"Actions: {', '.join(PRIMARIES)}.", what="action"
        )
    if item_type not in ITEM_TYPES:
        raise UsageError(
            "unknown-name", f"{item_type!r} is not an item type.", f"Types: {', '.join(ITEM_TYPES)}.", what="item type"
        )
    if item_id is None:
        if primary == "search":
            return f"rye.search.{item_type}"
        raise UsageError(
            "missing-argument",
            f"{primary} needs an id; only search works without one.",
            "Add the item's id.",
            what="id",
        )
    if not is_id(item_id):
        raise UsageError(
            "bad-argument",
            f"{item_id!r} is not a valid id: ids are lower-case segments of a-z, 0-9, - and _ joined by '/'.",
            "Write it as namespace/category/name, e.g. rye/file-system/write.",
            what="id",
        )
    return f"rye.{primary}.{item_type}.{item_id.replace('/', '.')}"
