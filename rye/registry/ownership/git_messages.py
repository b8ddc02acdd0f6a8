"""git's protocol, as much as it takes to read one file at the root of a repository: pure.

gitprotocol-v2 over smart HTTP: the branch that ``HEAD`` names (``ls-refs``), its commit and trees without any file
(``fetch`` with ``deepen 1`` and ``filter blob:none``), then the one file. Every object is found by the SHA-1 of its bytes, so a
server can leave objects out but cannot exchange them. Sizes are bounded before anything is unpacked.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator

MAX_PACK_BYTES = 16 * 1024 * 1024
"""One answer: the trees of a large repository."""
MAX_OBJECT_BYTES = 4 * 1024 * 1024
MAX_OBJECTS = 50_000
MAX_UNPACKED_BYTES = 64 * 1024 * 1024

_PIECE_BYTES = 4096
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
_OID = re.compile(rb"[0-9a-f]{40}")


class GitMessageError(ValueError):
    """The server's answer is not git's protocol, or lacks what was asked for."""


def head_request() -> bytes:
    """Ask which commit ``HEAD`` is."""
    return _message([b"command=ls-refs\n", b"object-format=sha1\n"], [b"ref-prefix HEAD\n"])


def trees_request(commit: str) -> bytes:
    """Ask for a commit with its trees, without history and files."""
    words = [b"no-progress\n", f"want {commit}\n".encode(), b"deepen 1\n", b"filter blob:none\n", b"done\n"]
    return _message([b"command=fetch\n", b"object-format=sha1\n"], words)


def object_request(oid: str) -> bytes:
    """Ask for one object."""
    words = [b"no-progress\n", f"want {oid}\n".encode(), b"done\n"]
    return _message([b"command=fetch\n", b"object-format=sha1\n"], words)


def speaks_version_2(answer: bytes) -> bool:
    """Whether the answer to ``info/refs`` offers version 2, and fetching without files."""
    lines = list(_lines(answer))
    return b"version 2\n" in lines and any(re.match(rb"fetch=.*\bfilter\b", line) for line in lines)


def read_head(answer: bytes) -> str:
    """Return the commit that ``HEAD`` is. Raises GitMessageError."""
    for line in _lines(answer):
        oid, _, name = line.rstrip(b"\n").partition(b" ")
        if name.split(b" ")[0] == b"HEAD" and _OID.fullmatch(oid):
            return oid.decode()
    raise GitMessageError("it has no HEAD")


def read_pack(answer: bytes) -> dict[str, tuple[bytes, bytes]]:
    """Return the objects of an answer to ``fetch``: SHA-1 → kind and content. Raises GitMessageError."""
    lines = _lines(answer)
    for line in lines:
        if line == b"packfile\n":
            break
    else:
        raise GitMessageError("it sent no pack")
    pack = bytearray()
    for line in lines:
        if line[:1] == b"\x01":
            pack += line[1:]
        elif line[:1] == b"\x03":
            raise GitMessageError("it refused: " + line[1:200].decode("utf-8", "replace").strip())
    return _objects(bytes(pack))


def file_at_root(objects: dict[str, tuple[bytes, bytes]], commit: str, name: bytes) -> str | None:
    """Return the SHA-1 of the regular file of this name at the root of a commit; None if it has none. Raises GitMessageError."""
    data = _object(objects, commit, b"commit")
    match = re.match(rb"tree ([0-9a-f]{40})\n", data)
    if match is None:
        raise GitMessageError("its commit is malformed")
    tree = _object(objects, match[1].decode(), b"tree")
    place = 0
    while place < len(tree):
        end = tree.find(b"\0", place)
        if end < 0 or end + 21 > len(tree):
            raise GitMessageError("its tree is malformed")
        mode, _, found = tree[place:end].partition(b" ")
        if found == name:
            return tree[end + 1 : end + 21].hex() if mode in (b"100644", b"100755") else None
        place = end + 21
    return None


def blob(objects: dict[str, tuple[bytes, bytes]], oid: str) -> bytes:
    """Return the content of a file. Raises GitMessageError."""
    return _object(objects, oid, b"blob")


def _object(objects: dict[str, tuple[bytes, bytes]], oid: str, kind: bytes) -> bytes:
    found = objects.get(oid)
    if found is None or found[0] != kind:
        raise GitMessageError(f"it did not send the {kind.decode()} {oid}")
    return found[1]


def _message(command: list[bytes], arguments: list[bytes]) -> bytes:
    return b"".join([*map(_line, command), b"0001", *map(_line, arguments), b"0000"])


def _line(data: bytes) -> bytes:
    return f"{len(data) + 4:04x}".encode() + data


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield the pkt-lines of an answer, without flush, delimiter and end packets."""
    place = 0
    while place < len(data):
        size = data[place : place + 4]
        if re.fullmatch(rb"[0-9a-f]{4}", size) is None:
            raise GitMessageError("its answer is not git's protocol")
        length = int(size, 16)
        if length < 4:
            place += 4
            continue
        if place + length > len(data):
            raise GitMessageError("its answer is cut off")
        yield data[place + 4 : place + length]
        place += length


def _objects(pack: bytes) -> dict[str, tuple[bytes, bytes]]:
    """Unpack a pack (gitformat-pack), deltas included."""
    if pack[:8] != b"PACK\x00\x00\x00\x02" or len(pack) < 32:
        raise GitMessageError("its pack is malformed")
    count = int.from_bytes(pack[8:12], "big")
    if count > MAX_OBJECTS:
        raise GitMessageError(f"its pack has {count:,} objects; at most {MAX_OBJECTS:,} are read")
    objects: dict[str, tuple[bytes, bytes]] = {}
    at: dict[int, str] = {}
    place, left = 12, MAX_UNPACKED_BYTES
    for _ in range(count):
        start = place
        kind, size, place = _header(pack, place)
        base: str | None = None
        if kind == _OFS_DELTA:
            distance, place = _distance(pack, place)
            base = at.get(start - distance)
        elif kind == _REF_DELTA:
            base, place = pack[place : place + 20].hex(), place + 20
        elif kind not in _KINDS:
            raise GitMessageError("its pack is malformed")
        data, place = _inflated(pack, place, size)
        name = _KINDS.get(kind, b"")
        if kind in (_OFS_DELTA, _REF_DELTA):
            if base is None or base not in objects:
                raise GitMessageError("its pack has a delta without its base")
            name, original = objects[base]
            data = _patched(original, data)
        left -= len(data)
        if left < 0:
            raise GitMessageError(f"its pack unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
        oid = hashlib.sha1(b"%s %d\0" % (name, len(data)) + data, usedforsecurity=False).hexdigest()
        objects[oid] = (name, data)
        at[start] = oid
    return objects


def _header(pack: bytes, place: int) -> tuple[int, int, int]:
    """Kind, size and the place behind an object's header."""
    byte = _byte(pack, place)
    kind, size, shift = byte >> 4 & 7, byte & 15, 4
    while byte & 0x80:
        place += 1
        byte = _byte(pack, place)
        size |= (byte & 0x7F) << shift
        shift += 7
        if size > MAX_OBJECT_BYTES:
            raise GitMessageError(f"an object has more than {MAX_OBJECT_BYTES:,} bytes")
    return kind, size, place + 1


def _distance(pack: bytes, place: int) -> tuple[int, int]:
    byte = _byte(pack, place)
    value = byte & 0x7F
    while byte & 0x80:
        place += 1
        byte = _byte(pack, place)
        value = (value + 1) << 7 | byte & 0x7F
        if value > MAX_PACK_BYTES:
            raise GitMessageError("its pack is malformed")
    return value, place + 1


def _inflated(pack: bytes, place: int, size: int) -> tuple[bytes, int]:
    """Return the content of ``size`` bytes that is packed at a place, and the place behind it."""
    unpacker = zlib.decompressobj()
    data = b""
    try:
        while not unpacker.eof and place < len(pack):
            # Pieces: what is left over is copied, so feeding the whole rest would make a pack of many objects quadratic.
            # One byte more than stated, so that a stream that goes on is noticed and never unpacked.
            piece = unpacker.unconsumed_tail or pack[place : place + _PIECE_BYTES]
            if not unpacker.unconsumed_tail:
                place += len(piece)
            data += unpacker.decompress(piece, size + 1 - len(data))
            if len(data) > size:
                break
    except zlib.error as error:
        raise GitMessageError("its pack is damaged") from error
    if len(data) != size or not unpacker.eof:
        raise GitMessageError("its pack is damaged")
    return data, place - len(unpacker.unused_data)


def _patched(base: bytes, delta: bytes) -> bytes:
    """Apply a delta: copies from the base, and inserted bytes."""
    place = 0
    sizes = []
    for _ in range(2):
        size = shift = 0
        byte = 0x80
        while byte & 0x80:
            byte = _byte(delta, place)
            size |= (byte & 0x7F) << shift
            shift += 7
            place += 1
            if size > MAX_OBJECT_BYTES:
                raise GitMessageError(f"an object has more than {MAX_OBJECT_BYTES:,} bytes")
        sizes.append(size)
    if sizes[0] != len(base):
        raise GitMessageError("its pack has a delta of another base")
    made = bytearray()
    while place < len(delta):
        code = delta[place]
        place += 1
        if code & 0x80:
            offset = length = 0
            for bit in range(4):
                if code >> bit & 1:
                    offset |= _byte(delta, place) << 8 * bit
                    place += 1
            for bit in range(3):
                if code >> (4 + bit) & 1:
                    length |= _byte(delta, place) << 8 * bit
                    place += 1
            length = length or 0x10000
            if offset + length > len(base):
                raise GitMessageError("its pack has a malformed delta")
            made += base[offset : offset + length]
        elif code:
            made += delta[place : place + code]
            place += code
        else:
            raise GitMessageError("its pack has a malformed delta")
        if len(made) > sizes[1]:
            raise GitMessageError("its pack has a malformed delta")
    if len(made) != sizes[1]:
        raise GitMessageError("its pack has a malformed delta")
    return bytes(made)


def _byte(data: bytes, place: int) -> int:
    if place >= len(data):
        raise GitMessageError("its pack is cut off")
    return data[place]
