"""Git objects for a repository that is generated from scratch and never modified: blobs, trees, one commit, a pack.

Formats: gitformat-pack(5) version 2 without deltas, and git's object model. The same files, words and time give the same commit
on every machine; the pack's bytes may differ with the version of zlib, which no hash that a person sees depends on.

Rules:

1. A path is made of segments that mean the same on every system and nothing to git: none begins with a dot that git would read
   (``.git``), goes up, or is a device's name; no two differ in case alone.
2. A file has the mode 100644 or 100755, a folder 040000: no links, no submodules.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from hashlib import sha1

from msgspec import Struct

from rye.errors import RyeError
from rye.publishing.marketplaces import SharedFile

COMMIT, TREE, BLOB = "commit", "tree", "blob"
_NUMBERS = {COMMIT: 1, TREE: 2, BLOB: 3}
_LEVEL = 6
_SEGMENT = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]{0,254}")
_OWN_FOLDERS = frozenset({".claude-plugin", ".codex-plugin", ".agents"})
"""What begins with a dot: marketplaces' own folders."""

Tree = dict[str, "SharedFile | Tree"]


class GitObject(Struct, frozen=True):
    """One object: its kind and its bytes."""

    kind: str
    data: bytes

    @property
    def name(self) -> str:
        """The hash that names it, in hex."""
        return sha1(f"{self.kind} {len(self.data)}\0".encode() + self.data, usedforsecurity=False).hexdigest()


class Snapshot(Struct, frozen=True):
    """One commit without parents, and everything that it leads to."""

    commit: str
    seconds: int
    """When it was made, since 1970."""
    pack: bytes


def snapshot(files: Mapping[str, SharedFile], origin: str, seconds: int, message: str) -> Snapshot:
    """A repository's only commit. ``seconds``: its time since 1970; ``origin``: who made it. Raises RyeError ``unsafe-path``."""
    objects: dict[str, GitObject] = {}
    root = _add_tree(objects, _as_tree(files))
    who = f"{origin} <registry@{origin}> {seconds} +0000"
    text = f"tree {root}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    commit = _add(objects, GitObject(COMMIT, text.encode()))
    return Snapshot(commit, seconds, pack(objects.values()))


def pack(objects: Iterable[GitObject]) -> bytes:
    """A pack of whole objects."""
    parts = [b""]
    for one in objects:
        parts += [_header(one), zlib.compress(one.data, _LEVEL)]
    parts[0] = b"PACK" + (2).to_bytes(4, "big") + (len(parts) // 2).to_bytes(4, "big")
    body = b"".join(parts)
    return body + sha1(body, usedforsecurity=False).digest()


def _header(one: GitObject) -> bytes:
    """Kind and size: four bits of the size, then seven at a time, the lowest first."""
    size = len(one.data)
    byte, size = _NUMBERS[one.kind] << 4 | size & 15, size >> 4
    found = bytearray()
    while size:
        found.append(byte | 128)
        byte, size = size & 127, size >> 7
    found.append(byte)
    return bytes(found)


def _as_tree(files: Mapping[str, SharedFile]) -> Tree:
    root: Tree = {}
    folded: dict[str, str] = {}
    for path in sorted(files):
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            part = "/".join(parts[:count])
            if folded.setdefault(part.lower(), part) != part or not _is_safe(parts[count - 1]):
                raise _unsafe(path)
        place = root
        for part in parts[:-1]:
            below = place.setdefault(part, {})
            if isinstance(below, SharedFile):
                raise _unsafe(path)
            place = below
        if parts[-1] in place:
            raise _unsafe(path)
        place[parts[-1]] = files[path]
    return root


def _is_safe(segment: str) -> bool:
    """Rule 1. What begins with a dot is one of our own."""
    if _SEGMENT.fullmatch(segment) is None or segment.endswith("."):
        return False
    return not segment.startswith(".") or segment in _OWN_FOLDERS


def _unsafe(path: str) -> RyeError:
    return RyeError("unsafe-path", f"{path[:200]!r} cannot be a file's path in a repository.", None)


def _add_tree(objects: dict[str, GitObject], tree: Tree) -> str:
    rows = []
    for name, entry in tree.items():
        if isinstance(entry, SharedFile):
            mode = b"100755" if entry.executable else b"100644"
            rows.append((name.encode(), mode, name, _add(objects, GitObject(BLOB, entry.data))))
        else:
            rows.append((f"{name}/".encode(), b"40000", name, _add_tree(objects, entry)))
    rows.sort()  # git compares folders as if their names ended in a slash
    data = b"".join(mode + b" " + name.encode() + b"\0" + bytes.fromhex(found) for _, mode, name, found in rows)
    return _add(objects, GitObject(TREE, data))


def _add(objects: dict[str, GitObject], one: GitObject) -> str:
    name = one.name
    objects[name] = one
    return name
