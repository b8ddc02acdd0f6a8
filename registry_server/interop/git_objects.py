"""Git objects for a repository that is generated from scratch and never modified: blobs, trees, one commit, a pack.

Formats: gitformat-pack(5) version 2 without deltas, and git's object model. The same files, message and time give the
same commit on every machine. The bytes of the pack can differ between versions of zlib, but no visible hash depends on
them.

Rules:

1. Path segments mean the same on every system and nothing special to git: none begins with a dot (except our own
   folders), ends with one or leads upwards, and no two paths differ only in case. Ids and the paths of attached files
   never contain device names.
2. A file has the mode 100644 or 100755, a folder 040000: no links, no submodules.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from hashlib import sha1

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.marketplaces import SharedFile

COMMIT, TREE, BLOB = "commit", "tree", "blob"
_NUMBERS = {COMMIT: 1, TREE: 2, BLOB: 3}
_LEVEL = 6
_SEGMENT = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]{0,254}")
_OWN_FOLDERS = frozenset({".claude-plugin", ".codex-plugin", ".agents"})
"""The only names that may begin with a dot: folders of the marketplace formats."""

Tree = dict[str, "SharedFile | Tree"]


class GitObject(Struct, frozen=True):
    """One object."""

    kind: str
    data: bytes

    @property
    def name(self) -> str:
        """The object's hash, in hex."""
        return sha1(f"{self.kind} {len(self.data)}\0".encode() + self.data, usedforsecurity=False).hexdigest()


class RepositorySnapshot(Struct, frozen=True):
    """One commit without parents, and the pack of all its objects."""

    commit: str
    seconds: int
    """The commit's time, in seconds since 1970."""
    pack: bytes


def snapshot(files: Mapping[str, SharedFile], origin: str, seconds: int, message: str) -> RepositorySnapshot:
    """Return a repository's only commit. ``seconds``: its time since 1970; ``origin``: its author. Raises RyeError
    ``unsafe-path``."""
    objects: dict[str, GitObject] = {}
    root = _add_tree(objects, _as_tree(files))
    who = f"{origin} <registry@{origin}> {seconds} +0000"
    text = f"tree {root}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    commit = _add(objects, GitObject(COMMIT, text.encode()))
    return RepositorySnapshot(commit, seconds, pack(objects.values()))


def pack(objects: Iterable[GitObject]) -> bytes:
    """Return a pack of objects without deltas."""
    parts = [b""]
    for part in objects:
        parts += [_header(part), zlib.compress(part.data, _LEVEL)]
    parts[0] = b"PACK" + (2).to_bytes(4, "big") + (len(parts) // 2).to_bytes(4, "big")
    body = b"".join(parts)
    return body + sha1(body, usedforsecurity=False).digest()


def _header(part: GitObject) -> bytes:
    """Encode kind and size: four bits of the size, then seven at a time, lowest first."""
    size = len(part.data)
    byte, size = _NUMBERS[part.kind] << 4 | size & 15, size >> 4
    encoded = bytearray()
    while size:
        encoded.append(byte | 128)
        byte, size = size & 127, size >> 7
    encoded.append(byte)
    return bytes(encoded)


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
    """Whether a segment follows rule 1."""
    if _SEGMENT.fullmatch(segment) is None or segment.endswith("."):
        return False
    return not segment.startswith(".") or segment in _OWN_FOLDERS


def _unsafe(path: str) -> RyeError:
    return RyeError("unsafe-path", f"{path[:200]!r} is not a safe path in a git repository.", None)


def _add_tree(objects: dict[str, GitObject], tree: Tree) -> str:
    rows = []
    for name, entry in tree.items():
        if isinstance(entry, SharedFile):
            mode = b"100755" if entry.executable else b"100644"
            rows.append((name.encode(), mode, name, _add(objects, GitObject(BLOB, entry.data))))
        else:
            rows.append((f"{name}/".encode(), b"40000", name, _add_tree(objects, entry)))
    rows.sort()  # git compares folders as if their names ended in a slash
    data = b"".join(mode + b" " + name.encode() + b"\0" + bytes.fromhex(sha1) for _, mode, name, sha1 in rows)
    return _add(objects, GitObject(TREE, data))


def _add(objects: dict[str, GitObject], part: GitObject) -> str:
    name = part.name
    objects[name] = part
    return name
