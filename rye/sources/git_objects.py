"""Git's objects as bytes: their names, commits and trees. Pure and strict: data from a server or a cache is checked
here.

An object's name is the hash of ``TYPE SIZE NUL`` and its bytes (gitformat-pack, git-hash-object). So a commit's name
determines its tree's name, and a tree's name those of all files below. Reading from the top and hashing each object
trusts only the commit's name. Most repositories use SHA-1; rye.lock also has the SHA-256 of every file, so a SHA-1
collision is detected.
"""

from __future__ import annotations

import hashlib
import re

from msgspec import Struct

from rye.limits import SOURCES
from rye.sources.source_error import SourceError

_HEADER = re.compile(rb"tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")
_MODE = re.compile(rb"[1-7][0-7]{4,5}")
FOLDER = "folder"
_KINDS = {
    b"40000": FOLDER,
    b"100644": "file",
    b"100664": "file",
    b"100755": "executable",
    b"120000": "link",
    b"160000": "submodule",
}


class TreeEntry(Struct, frozen=True):
    """One row of a tree."""

    name: str | None
    """None: the name is not UTF-8."""
    what: str
    """As in :class:`rye.sources.listing.TreeEntry`, or :data:`FOLDER`."""
    object: str


def object_name(kind: str, data: bytes, length: int) -> str:
    """Return the name of an object. ``length`` in hex digits selects the hash (40: SHA-1, 64: SHA-256)."""
    hashed = hashlib.sha1(usedforsecurity=False) if length == 40 else hashlib.sha256()
    hashed.update(f"{kind} {len(data)}\0".encode())
    hashed.update(data)
    return hashed.hexdigest()


def require_object(name: str, kind: str, data: bytes) -> bytes:
    """Return the object's bytes if they match its name. Raises SourceError ``source-forged``."""
    found = object_name(kind, data, len(name))
    if found != name:
        raise SourceError(
            "source-forged",
            f"The {kind} {name} does not match its name: its bytes have the hash {found}.",
            "The cache or git was tampered with. Run `rye cache clean` to empty the cache, then try again.",
        )
    return data


def tree_of(commit: str, data: bytes) -> str:
    """Return the tree of a commit with these bytes. Raises SourceError."""
    found = _HEADER.match(require_object(commit, "commit", data))
    if found is None or len(found[1]) != len(commit):
        raise _malformed(f"the commit {commit} does not name a tree")
    return found[1].decode("ascii")


def tree_entries(tree: str, data: bytes) -> list[TreeEntry]:
    """Return the rows of a tree with these bytes. They must be in git's order and have no duplicate names.

    Raises SourceError ``source-forged``, ``source-malformed``.
    """
    require_object(tree, "tree", data)
    entries: list[TreeEntry] = []
    seen: set[bytes] = set()
    at, width, before = 0, len(tree) // 2, b""
    while at < len(data):
        space = data.find(b" ", at, at + 8)
        end = data.find(b"\0", space + 1)
        if space < 0 or end < 0 or end + 1 + width > len(data) or not _MODE.fullmatch(data[at:space]):
            raise _malformed(f"the tree {tree} cannot be read")
        mode, name = data[at:space], data[space + 1 : end]
        what = _KINDS.get(mode, "special")
        key = name + b"/" if what == FOLDER else name
        if not name or name in seen or key <= before:
            raise _malformed(f"the tree {tree} has a duplicate name, or names out of order")
        seen.add(name)
        before = key
        entries.append(TreeEntry(_text(name), what, data[end + 1 : end + 1 + width].hex()))
        at = end + 1 + width
        if len(entries) > SOURCES.entries:
            raise too_large(f"a folder of more than {SOURCES.entries:,} entries")
    return entries


def too_large(what: str) -> SourceError:
    """The error for a source that exceeds a limit. ``what``: what the source has, with its article."""
    return SourceError(
        "source-too-large",
        f"The source has {what}, which is over the limit.",
        "Use a folder in it: #REV:PATH, or path in [sources] in rye.toml.",
    )


def _text(name: bytes) -> str | None:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _malformed(what: str) -> SourceError:
    return SourceError(
        "source-malformed",
        f"The repository is invalid: {what}.",
        "Nothing from it was used. Report it to its maintainers; `git fsck` shows the same.",
    )
