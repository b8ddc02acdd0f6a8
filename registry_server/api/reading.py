"""Answer requests for static files, from the file and the request's headers (RFC 9110 §8.8, §13, §14).

* The entity tag of a file that never changes comes from its name; only the few that change are hashed.
* ``If-None-Match`` matches weakly, so a proxy that compresses and weakens a tag still gets its 304.
* A single byte range is supported. Several ranges, or a malformed one, get the whole file, as the standard allows.
* Heads, index files and the name map are compressed with zstd or gzip for clients that accept it; such an answer has a
  weak tag. Item bytes are never compressed: they can be large, and clients need them unchanged.
* Any web page can read these files (CORS): everything here is public, and no answer depends on cookies.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import zstandard

from registry_server.storage.served import Served
from rye.limits import MIB

COMPRESSED_BYTES = 1024
"""Shorter files are not compressed."""
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_MOST_TAGS = 1000
"""Characters of ``If-None-Match`` that are read."""
_CORS = ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", b"ETag, Content-Range"))
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"cross-origin"),
)
PREFLIGHT = (
    *_CORS,
    (b"access-control-allow-methods", b"GET, HEAD"),
    (b"access-control-allow-headers", b"If-None-Match, If-Range, Range"),
    (b"access-control-max-age", b"86400"),
    (b"content-length", b"0"),
    *_SAFE,
)

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class ReadHeaders:
    """The headers of a request that change its answer; empty: not sent."""

    if_none_match: str = ""
    accept_encoding: str = ""
    range: str = ""
    if_range: str = ""


_ASKED = {
    b"if-none-match": "if_none_match",
    b"accept-encoding": "accept_encoding",
    b"range": "range",
    b"if-range": "if_range",
}


def asked_by(scope: dict[str, Any]) -> ReadHeaders:
    """Return these headers of an ASGI request. A range counts only for GET (RFC 9110 §14.2)."""
    sent = {_ASKED[name]: value.decode("latin-1") for name, value in scope["headers"] if name in _ASKED}
    if scope["method"] == "HEAD":
        sent.pop("range", None)
    return ReadHeaders(**sent)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A response."""

    status: int
    headers: Headers
    body: bytes


class Compressed:
    """Recently compressed files, up to a few MiB. Thread-safe."""

    def __init__(self, most_bytes: int = 32 * MIB) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def kept(self, tag: str, encoding: str) -> bytes | None:
        """Return the compressed content if it is here. ``tag`` identifies it; ``encoding``: ``zstd`` or ``gzip``."""
        key = (tag, encoding)
        with self._lock:
            compressed = self._kept.get(key)
            if compressed is not None:
                self._kept.move_to_end(key)
            return compressed

    def get(self, tag: str, encoding: str, content: bytes) -> bytes:
        """Return the compressed content, and keep it."""
        compressed = self.kept(tag, encoding)
        if compressed is not None:
            return compressed
        key = (tag, encoding)
        compressed = zstandard.compress(content, 6) if encoding == "zstd" else gzip.compress(content, 6, mtime=0)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compressed
                self._bytes += len(compressed)
            while self._bytes > self._most:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return compressed


def answer(file: Served, content: bytes, asked: ReadHeaders, compressed: Compressed) -> ReadAnswer:
    """Return the answer to a GET."""
    tag = file.tag or hashlib.sha256(content).hexdigest()
    headers = _common(file)
    strong = f'"{tag}"'
    encoding = None
    if file.may_compress and len(content) >= COMPRESSED_BYTES:
        encoding = encoding_of(asked.accept_encoding)
    whole = strong if encoding is None else f"W/{strong}"
    if asked.if_none_match and _matches(asked.if_none_match, strong):
        return ReadAnswer(304, ((b"etag", whole.encode()), *headers), b"")  # that of the 200 to this request (§15.4.5)
    if asked.range and (not asked.if_range or asked.if_range == strong):
        part = _part(asked.range, content, ((b"etag", strong.encode()), *headers))
        if part is not None:
            return part
    if encoding is not None:
        body = compressed.get(tag, encoding, content)
        return ReadAnswer(
            200,
            (
                (b"etag", whole.encode()),
                (b"content-encoding", encoding.encode()),
                (b"content-length", str(len(body)).encode()),
                *headers,
            ),
            body,
        )
    return ReadAnswer(
        200,
        (
            (b"etag", whole.encode()),
            (b"accept-ranges", b"bytes"),
            (b"content-length", str(len(content)).encode()),
            *headers,
        ),
        content,
    )


def joined_answer(content: bytes) -> ReadAnswer:
    """Return the answer with several files (:mod:`rye.registry.protocol.joined`). No cache keeps it: hardly anyone else asks for
    the same ones."""
    headers = ((b"content-type", b"application/octet-stream"), (b"cache-control", b"no-store"), *_CORS, *_SAFE)
    return ReadAnswer(200, ((b"content-length", str(len(content)).encode()), *headers), content)


@lru_cache(maxsize=4096)
def _common(file: Served) -> Headers:
    """Return the headers of every answer for a file."""
    charset = b"; charset=utf-8" if file.media_type == "text/plain" else b""
    vary = ((b"vary", b"Accept-Encoding"),) if file.may_compress else ()
    return (
        (b"content-type", file.media_type.encode() + charset),
        (b"cache-control", file.cache_control.encode()),
        *_CORS,
        *_SAFE,
        *vary,
    )


def _matches(if_none_match: str, strong: str) -> bool:
    tags = {part.strip().removeprefix("W/") for part in if_none_match[:_MOST_TAGS].split(",")}
    return strong in tags or "*" in tags


def _part(wanted: str, content: bytes, headers: Headers) -> ReadAnswer | None:
    """Return the answer with one range; None: answer with the whole file."""
    match = _RANGE.fullmatch(wanted.strip())
    if match is None or not (match[1] or match[2]):
        return None
    size = len(content)
    if match[1]:
        first = int(match[1])
        last = min(int(match[2]), size - 1) if match[2] else size - 1
        if match[2] and int(match[2]) < first:
            return None
    else:
        first, last = max(size - int(match[2]), 0), size - 1
    if first > last:
        return ReadAnswer(
            416, ((b"content-range", f"bytes */{size}".encode()), (b"content-length", b"0"), *headers), b""
        )
    body = content[first : last + 1]
    return ReadAnswer(
        206,
        (
            (b"content-range", f"bytes {first}-{last}/{size}".encode()),
            (b"content-length", str(len(body)).encode()),
            *headers,
        ),
        body,
    )


def encoding_of(accepted: str) -> str | None:
    """Return the best encoding that the client accepts, zstd or gzip; None if neither. ``accepted``: ``Accept-Encoding``."""
    weights = {}
    for part in accepted[:_MOST_TAGS].lower().split(","):
        name, _, rest = part.partition(";")
        weight = rest.strip().removeprefix("q=") if rest.strip().startswith("q=") else "1"
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            weights[name.strip()] = 0.0
    usable = [(weights[name], -rank, name) for rank, name in enumerate(("zstd", "gzip")) if weights.get(name, 0) > 0]
    return max(usable)[2] if usable else None
