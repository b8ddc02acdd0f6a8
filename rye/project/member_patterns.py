"""``[workspace] members``: which folders of a project are members, decided by name only. Pure.

A pattern is a relative path with ``/``. In each part, ``*`` matches any characters and ``?`` matches one. ``**`` is
unsupported, because it would search without a bound. Names that begin with a dot are never members.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from rye.errors import RyeError
from rye.limits import WORKSPACE
from rye.text.lazy import lazy_pattern
from rye.text.toml_keys import has_long_key

LEFT_OUT = frozenset({"node_modules", "__pycache__"})
"""Folders that no wildcard matches."""
_UNSAFE = lazy_pattern(r'[\\/:<>"|\[\]{}]')


class BadPattern(ValueError):
    """An invalid pattern. The message is the end of a sentence."""


def check_pattern(pattern: str) -> str:
    """Return the pattern if it is valid. Raises BadPattern."""
    if not pattern or len(pattern) > WORKSPACE.path_characters:
        raise BadPattern("it is not a relative path")
    parts = pattern.split("/")
    if len(parts) > WORKSPACE.depth:
        raise BadPattern(f"it has more than {WORKSPACE.depth} parts")
    for part in parts:
        if part in ("", ".", "..") or part.startswith("."):
            raise BadPattern("it must stay inside the project and must not name a hidden folder")
        if "**" in part:
            raise BadPattern("`**` is not supported; `*` matches one folder name")
        if not is_member_name(part.replace("*", "x").replace("?", "x")):
            raise BadPattern(f"{part!r} is not a folder name that works on every system")
    return pattern


def is_member_name(name: str) -> bool:
    """Whether a folder name can be part of a member's path: it is printable and works on every system."""
    return bool(name) and name.isprintable() and not _UNSAFE.search(name) and name == name.strip() and name[0] != "."


def is_wild(part: str) -> bool:
    """Whether a part of a pattern can match more than one name."""
    return "*" in part or "?" in part


def matches_part(part: str, name: str) -> bool:
    """Whether a folder name matches a part of a pattern."""
    if not is_wild(part):
        return part == name
    return name not in LEFT_OUT and not name.startswith(".") and fnmatchcase(name, part)


def matches(patterns: Sequence[str], path: str) -> bool:
    """Whether a folder (relative to the root, with ``/``) matches one of the patterns."""
    parts = path.split("/")
    return any(
        len(wanted) == len(parts) and all(map(matches_part, wanted, parts))
        for wanted in (pattern.split("/") for pattern in patterns)
    )


def claimed_by(data: bytes, path: str) -> bool:
    """Whether the ``rye.toml`` with these bytes names the folder at ``path`` below it as a member.

    Raises ValueError if it mentions a workspace and is invalid. It is unknown then whether the folder is its own project, so
    this must not be guessed.
    """
    if b"workspace" not in data:
        return False
    text = data.decode("utf-8").removeprefix("\ufeff")
    if has_long_key(text):
        raise ValueError("a key has too many parts")
    try:
        table = tomllib.loads(text).get("workspace", {})
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    members = table.get("members", []) if isinstance(table, dict) else []
    return isinstance(members, list) and matches([one for one in members if isinstance(one, str)], path)


def unreadable_root(path: str, error: Exception) -> RyeError:
    """The error for an invalid ``rye.toml`` further up that may be a workspace root."""
    return RyeError(
        "bad-manifest",
        f"{path} may be the root of a workspace that includes this folder, and it cannot be read: {error}.",
        "Fix that file.",
    )
