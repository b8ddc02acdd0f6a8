"""What stands between a registry and its readers, checked from outside: a proxy, a CDN, or the web server of a mirror.

A client verifies every byte, so a bad front can forge nothing. It can hide: show an old head, keep an error, or break files
so that nobody can install. Anyone who can read a registry can run this check, without a token and without changing anything:

1. ``/head``, ``/checkpoint`` and ``/config.json`` are compared with what the same address answers to a query that no cache
   has seen, and asked for with tags and dates that cannot match. Their tags must follow their content.
2. Files that are named by their hash arrive with exactly these bytes, whatever compression is offered.
3. Headers that caches and browsers obey say what docs/reference/protocol.md says.
4. A file that does not exist is 404 each time, and no cache may keep that answer.
5. A public host answers no plain http.
6. The registry's own address, as its feed says it, is the one that was asked: links, sign-in and webhooks begin with it.
7. What only one person may see is not compressed on the way, so that its size tells nothing (BREACH).

Everything is asked for through one function, so the rules need no network.
"""

from __future__ import annotations

import html
import re
import secrets
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from hashlib import sha256
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol import name_map, notes, wire
from rye.registry.protocol.statements import Checkpoint, Release, parse
from rye.registry.protocol.tiles import tile_at
from rye.registry.transport.seam import FetchError
from rye.text.addresses import is_loopback

CHANGES: Mapping[str, str] = {
    "absent-status": "Answer 404, without a page of your own. If a bucket answers 403, let its readers list it, or ask the "
    "registry.",
    "address-missing": "Set `address` in the registry's registry.toml to the address that readers use, and start the registry "
    "again: links in pages, feeds, invitations and webhooks begin with it, and people come back to it when they sign in.",
    "address-other": "Check with the address that readers use. If that is this one, set it as `address` in the registry's "
    "registry.toml and start the registry again: links and webhooks lead to the other one, and so does sign-in.",
    "bytes-changed": "Switch off what changes files: minifying, rewriting of links, scripts, compressing without saying so. A "
    "cache must keep compressed and plain forms apart (`Vary: Accept-Encoding`).",
    "encoded": "Compress only for requests whose `Accept-Encoding` names the method.",
    "error-kept": "Do not cache 404, 451 and 5xx, and send `Cache-Control: no-store` with them: a name that is published "
    "next would stay unknown. Or let the registry answer for files that the front does not have.",
    "file-missing": "Pass requests for files that the front does not have to the registry, and do not keep errors. For a "
    "mirror, run `rye mirror` again.",
    "head-kept": "Send `Cache-Control: public, max-age=0, must-revalidate` for this file, and switch off rules that set "
    "another time: a cache must ask for each request, or keep no copy.",
    "head-stale": "A cache keeps an old copy, so readers miss releases, yanks and revocations. Do not cache this file, or "
    "make the cache ask for each request, by a tag of the content.",
    "no-hsts": "Send `Strict-Transport-Security: max-age=31536000`.",
    "not-kept": "Send `Cache-Control: public, max-age=31536000, immutable`: readers and caches then ask once.",
    "nothing-released": "Run the check again when something is published.",
    "page-compressed": "Compress only the files that the front serves itself, as operating/nginx.conf does. The registry "
    "compresses what may be compressed.",
    "plain-http": "Redirect port 80 to https, as operating/nginx.conf does, or close it.",
    "private-kept": "Pass on the registry's own `Cache-Control`, which is private.",
    "range-ignored": "Pass `Range` on, so that interrupted copies can go on.",
    "range-wrong": "Pass `Range` and `Content-Range` on unchanged, or answer with the whole file.",
    "tag-ignored": "Let the server compare `If-None-Match` with the tag of the file, or take the header out of requests.",
    "tag-of-time": "Send this file without `ETag` and `Last-Modified` and ignore the conditions of requests, as "
    "operating/nginx.conf does. Or let the registry answer, whose tags are hashes of the content.",
    "type-guessed": "Pass the registry's header on, or add it.",
    "type-runs": "Send files of items as `application/octet-stream`, and `X-Content-Type-Options: nosniff` with all.",
}
"""What to change about each finding."""
FRESH = ("head", "checkpoint", "config.json")
"""The files that are replaced. All others never change."""
QUERY = "rye-check"
FEED = "feed.atom"
_SELF = re.compile(rb'<link rel="self"[^>]* href="([^"]*)"')
_FEED_HEAD = 4_096
"""The bytes of a feed that have its own address."""
ABSENT = "index/"
"""The folder in which a file is asked for that does not exist."""
PAGE = "-/account"
"""A page that every registry with pages shows to everybody, and never compresses: below it are those of one person."""
_ANY_ENCODING = "gzip, deflate, br, zstd"
_IDENTITY = {"Accept-Encoding": "identity"}
_LOOKS = 3
"""Looks at a checkpoint that is behind the head: while a batch is shown, a store may have replaced the head alone."""
_MOST_FILES = 12
"""Index files that are read until one names a file of an item."""
_KEPT_SECONDS = 24 * 3600
_RUNS = re.compile(
    r"(?:text/html|text/xml|application/xhtml\+xml|application/xml|image/svg\+xml|(?:text|application)/javascript)\b"
)
"""Types that a browser would run or render with scripts."""
_CACHES_SAY = ("cache-status", "cf-cache-status", "x-cache", "x-cache-status", "x-proxy-cache")
"""Headers in which caches say that they had the answer."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Seen(Struct, frozen=True):
    """One answer. Names of headers are in lower case; the body is as it arrived, not decoded."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[str, Mapping[str, str]], Seen]
"""Sends a GET for a path below the registry's address, perhaps with a query, and these headers. Raises FetchError."""


class FrontFinding(Struct, frozen=True):
    """One thing that is wrong, and what to change."""

    code: str
    level: Literal["problem", "advice"]
    path: str
    message: str
    change: str


class Report(Struct, frozen=True, kw_only=True):
    """The result of a check."""

    origin: str
    size: int
    """Entries of the log, as the newest head that was seen says."""
    asked: int
    """Requests that were sent."""
    findings: tuple[FrontFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing needs to be changed; advice does not count."""
        return all(finding.level != "problem" for finding in self.findings)


def check_front(
    ask: Ask,
    *,
    plain: Callable[[], Seen | None] = lambda: None,
    is_private: bool = False,
    is_secure: bool = False,
    address: str | None = None,
    wait: Callable[[Callable[[], bool]], None] = lambda is_over: None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Report:
    """Check the answers at a registry's address. ``plain``: asks for the head over http on the same host; None: nothing answers.

    ``is_private``: a token was needed. ``is_secure``: the address is https on a public host. ``address``: the one that is asked;
    None: it is not compared with what the registry says. ``wait``: called with a function
    that looks whether the head has changed, which it may call again until it is true.

    Raises FetchError where there is no answer or none of a registry, and WireError.
    """
    return _Check(ask, is_private, now).run(plain, is_secure, address, wait)


class _Check:
    def __init__(self, ask: Ask, is_private: bool, now: Callable[[], datetime]) -> None:
        self._send = ask
        self._is_private = is_private
        self._now = now
        self._asked = 0
        self._findings: dict[tuple[str, str], FrontFinding] = {}

    def run(
        self,
        plain: Callable[[], Seen | None],
        is_secure: bool,
        address: str | None,
        wait: Callable[[Callable[[], bool]], None],
    ) -> Report:
        config = wire.decode_config(self._wanted("config.json").body)
        first = {path: self._wanted(path) for path in FRESH}
        for path, seen in first.items():
            self._check_fresh(path, seen)
        self._check_order()
        head = self._newest_head()
        self._check_files(head)
        self._check_absent()
        self._check_page()
        if is_secure:
            self._check_plain(plain(), first["head"])
        if address is not None:
            self._check_address(address)
        wait(lambda: self._busted("head").body != first["head"].body)
        self._check_old_tags(first)
        size = _size("head", self._wanted("head").body)
        findings = tuple(sorted(self._findings.values(), key=lambda finding: finding.level == "advice"))
        return Report(origin=config.origin, size=size, asked=self._asked, findings=findings)

    # -- files that are replaced --------------------------------------------------------------------------------------

    def _check_fresh(self, path: str, seen: Seen) -> None:
        self._check_encoding(path, seen)
        self._check_type(path, seen)
        if self._keeps(seen):
            self._problem(
                "head-kept",
                path,
                f"Cache-Control is {_shown(seen, 'cache-control')}, so a cache may keep it without asking.",
            )
        if is_from_cache(seen, self._wanted(path)):
            self._problem("head-kept", path, "Of two requests, the second was answered by a cache, without asking.")
        self._check_stale(path)
        self._check_conditions(path, seen)

    def _check_stale(self, path: str) -> None:
        """What a request that no cache knows gets must not be newer than what comes afterwards without a query."""
        newest, after = self._busted(path), self._wanted(path)
        if newest.status != 200 or newest.body == after.body:
            return
        if path == "config.json" or _size(path, newest.body) > _size(path, after.body):
            self._stale(
                path,
                f"With a query that no cache has seen it is {self._words(path, newest)}, without one {self._words(path, after)}.",
            )

    def _stale(self, path: str, message: str) -> None:
        self._problem("head-stale", path, message)

    def _check_conditions(self, path: str, seen: Seen) -> None:
        tag = seen.headers.get("etag", "")
        foreign = self._ask(path, {"If-None-Match": f'"{secrets.token_hex(16)}"'})
        if foreign.status == 304:
            self._problem(
                "tag-ignored", path, "A tag that no file ever had is answered with 304, which means unchanged."
            )
        if tag and is_of_time_and_length(tag, len(seen.body), seen.headers.get("last-modified", "")):
            self._problem(
                "tag-of-time",
                path,
                f"Its tag {tag[:80]} is made of the file's time and length, which two versions within a second can share.",
            )
        elif not tag:
            by_date = self._ask(path, {"If-Modified-Since": self._date(seen)})
            if by_date.status == 304:
                self._problem(
                    "tag-of-time",
                    path,
                    "It has no tag, and a date is answered with 304: two versions within a second are the same.",
                )

    def _date(self, seen: Seen) -> str:
        return seen.headers.get("last-modified") or format_datetime(self._now().replace(microsecond=0), usegmt=True)

    def _check_order(self) -> None:
        """``/checkpoint`` is replaced with ``/head``: it covers as much, or with witnesses as much as they cosigned."""
        head = wire.decode_head(self._wanted("head").body)
        covered = _covered(head.checkpoint if head.cosigned is None else head.cosigned.checkpoint)
        for _ in range(_LOOKS):
            checkpoint = _size("checkpoint", self._wanted("checkpoint").body)
            if checkpoint >= covered:
                return
        self._stale("checkpoint", f"It covers {checkpoint} entries, but the head that came before it {covered}.")

    def _check_old_tags(self, first: Mapping[str, Seen]) -> None:
        """If a file changed since the check began, its first tag and date must not count any more."""
        for path, old in first.items():
            newest = self._busted(path)
            if newest.status != 200 or newest.body == old.body:
                continue
            conditions: list[dict[str, str]] = [{"If-Modified-Since": self._date(old)}, {}]
            if tag := old.headers.get("etag"):
                conditions.insert(0, {"If-None-Match": tag})
            for condition in conditions:
                seen = self._ask(path, condition)
                if seen.status == 304:
                    name = next(iter(condition))
                    self._stale(path, f"It changed, and `{name}` with what the old one had is still answered with 304.")
                elif seen.status == 200 and path != "config.json" and _size(path, seen.body) < _size(path, newest.body):
                    self._stale(path, f"It changed, and the old one still comes: {self._words(path, seen)}.")
            self._check_stale(path)

    def _newest_head(self) -> wire.Head:
        return wire.decode_head(self._wanted("head").body)

    # -- files that never change --------------------------------------------------------------------------------------

    def _check_files(self, head: wire.Head) -> None:
        size = Checkpoint.parse(notes.parse(head.checkpoint).text).size
        self._check_kept("root/1", None)
        self._check_kept(tile_at(0, 0, size).path, None)
        leaf = self._leaf(head.map)
        blob = None
        for entry in list(leaf)[:_MOST_FILES]:
            path = f"index/{entry.sha256}"
            data = self._check_kept(path, entry.sha256)
            blob = _blob_of(data)
            if blob is not None:
                break
        if blob is None:
            self._advice(
                "nothing-released",
                "blobs/",
                "The registry has no released file near the beginning of its map, so none was checked.",
            )
            return
        path = wire.blob_path(blob)
        data = self._check_kept(path, blob)
        if data is not None:
            self._check_range(path, data)

    def _leaf(self, root: str) -> list[name_map.MapEntry]:
        """The entries of the first leaf of the name map."""
        while True:
            data = self._check_kept(name_map.node_path(root), root)
            if data is None:
                return []
            node = name_map.decode_node(data)
            if isinstance(node, name_map.Leaf):
                return list(node.entries.values())
            root = node.children[0].sha256

    def _check_kept(self, path: str, hashed: str | None) -> bytes | None:
        """Check a file that never changes; returns its bytes, None if they are wrong. ``hashed``: its SHA-256, if it has that
        name."""
        seen = self._ask(path, {})
        if seen.status != 200:
            self._problem("file-missing", path, f"The head needs it, and it is answered with {seen.status}.")
            return None
        self._check_encoding(path, seen)
        if hashed is not None and sha256(seen.body).hexdigest() != hashed:
            self._problem("bytes-changed", path, "Its bytes are not those that its name says, so clients refuse it.")
            return None
        self._check_compressed(path, seen.body)
        self._check_type(path, seen)
        kept = _seconds(seen)
        control = seen.headers.get("cache-control", "").lower()
        if self._is_private and not re.search(r"\b(?:private|no-store)\b", control):
            self._problem(
                "private-kept", path, f"Only members may read it, but Cache-Control is {_shown(seen, 'cache-control')}."
            )
        elif not self._is_private and not path.startswith("tile/") and (kept is None or kept < _KEPT_SECONDS):
            self._advice("not-kept", path, f"It never changes, but Cache-Control is {_shown(seen, 'cache-control')}.")
        return seen.body

    def _check_encoding(self, path: str, seen: Seen) -> None:
        encoding = seen.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", ""):
            self._problem(
                "encoded", path, f"It comes compressed ({encoding[:40]}), although the request allowed no compression."
            )

    def _check_compressed(self, path: str, expected: bytes) -> None:
        """The same file for a client that accepts gzip: decoded, it must be the same."""
        seen = self._ask(path, {"Accept-Encoding": "gzip"})
        encoding = seen.headers.get("content-encoding", "identity").strip().lower()
        body: bytes | None = seen.body
        if encoding in ("gzip", "x-gzip"):
            body = _unzipped(seen.body, len(expected))
        elif encoding not in ("identity", ""):
            body = None
        if seen.status != 200 or body != expected:
            self._problem("bytes-changed", path, "For clients that accept gzip it comes with other bytes.")

    def _check_type(self, path: str, seen: Seen) -> None:
        kind = seen.headers.get("content-type", "").lower()
        is_guarded = seen.headers.get("x-content-type-options", "").strip().lower() == "nosniff"
        if _RUNS.match(kind):
            self._problem(
                "type-runs", path, f"Content-Type is {kind[:80]!r}: a browser would run what strangers published."
            )
        elif not is_guarded and not kind.startswith("application/octet-stream"):
            self._advice(
                "type-guessed", path, "Without `X-Content-Type-Options: nosniff` a browser may guess another type."
            )

    def _check_range(self, path: str, data: bytes) -> None:
        if len(data) < 2:
            return
        seen = self._ask(path, {"Range": "bytes=0-0"})
        if seen.status == 206:
            if seen.body != data[:1] or seen.headers.get("content-range", "").strip() != f"bytes 0-0/{len(data)}":
                self._problem(
                    "range-wrong",
                    path,
                    "A request for its first byte is answered with another part, or a wrong `Content-Range`.",
                )
        elif seen.status == 200 and seen.body == data:
            self._advice("range-ignored", path, "A request for a part of it is answered with the whole file.")
        else:
            self._problem("range-wrong", path, f"A request for its first byte is answered with {seen.status}.")

    # -- errors and plain http ----------------------------------------------------------------------------------------

    def _check_absent(self) -> None:
        path = ABSENT + secrets.token_hex(32)
        first, second = self._ask(path, {}), self._ask(path, {})
        for seen in (first, second):
            if seen.status != 404:
                self._problem(
                    "absent-status", ABSENT, f"A file that does not exist is answered with {seen.status}, not with 404."
                )
                return
        if is_from_cache(first, second) or ("age" in second.headers and "age" not in first.headers):
            self._problem(
                "error-kept", ABSENT, "The second request for a file that does not exist was answered by a cache."
            )
        elif not re.search(
            r"\b(?:no-store|no-cache|private)\b|\bmax-age=0\b", second.headers.get("cache-control", "").lower()
        ):
            self._problem(
                "error-kept", ABSENT, f"A cache may keep the 404: Cache-Control is {_shown(second, 'cache-control')}."
            )

    def _check_page(self) -> None:
        seen = self._ask(PAGE, {"Accept": "text/html", "Accept-Encoding": _ANY_ENCODING})
        encoding = seen.headers.get("content-encoding", "identity").strip().lower()
        if seen.status != 200 or encoding in ("identity", ""):
            return
        message = f"A page for one person comes compressed ({encoding[:40]}), so its size can tell what is on it."
        (self._problem if self._is_private else self._advice)("page-compressed", PAGE, message)

    def _check_plain(self, seen: Seen | None, head: Seen) -> None:
        target = "" if seen is None else seen.headers.get("location", "")
        if seen is not None and not (seen.status in (301, 302, 307, 308) and target.startswith("https://")):
            self._problem(
                "plain-http",
                "head",
                f"Over plain http it is answered with {seen.status}, so a network can read and change requests.",
            )
        if "strict-transport-security" not in head.headers:
            self._advice("no-hsts", "head", "Browsers are not told to stay with https.")

    def _check_address(self, asked: str) -> None:
        """The registry's feed, which mirrors and registries without pages do not have, begins with its own address."""
        seen = self._ask(FEED, {})
        said = own_address(seen.body) if seen.status == 200 else None
        if said is None or _parts(said) == _parts(asked):
            return
        message = f"The registry calls itself {said[:200]!r}"
        if _is_here(asked):  # who operates it asks past the front
            if _is_here(said):
                self._advice("address-missing", FEED, f"{message}, and was asked as {asked!r}.")
        elif _is_here(said):
            self._problem("address-missing", FEED, f"{message}, which nobody reaches from elsewhere.")
        else:
            self._problem("address-other", FEED, f"{message}, not {asked!r}.")

    # -- asking -------------------------------------------------------------------------------------------------------

    def _ask(self, path: str, headers: Mapping[str, str]) -> Seen:
        self._asked += 1
        return self._send(path, {**_IDENTITY, **headers})

    def _wanted(self, path: str) -> Seen:
        """A file that every registry has. Raises FetchError."""
        seen = self._ask(path, {})
        if seen.status != 200:
            raise FetchError(
                "fetch-status",
                f"The address answers {seen.status} for {path}, which every registry has.",
                "Give the registry's address as `rye registry add` takes it, with the path if it has one.",
            )
        return seen

    def _busted(self, path: str) -> Seen:
        """The file, asked for with a query that no cache has seen."""
        return self._ask(f"{path}?{QUERY}={secrets.token_hex(8)}", {})

    def _keeps(self, seen: Seen) -> bool:
        control = seen.headers.get("cache-control", "").lower()
        if re.search(r"\b(?:no-cache|no-store)\b", control):
            return False
        seconds = _seconds(seen)
        return seconds is None or seconds > 0

    @staticmethod
    def _words(path: str, seen: Seen) -> str:
        return "another" if path == "config.json" else f"the one of {_size(path, seen.body):,} entries"

    def _problem(self, code: str, path: str, message: str) -> None:
        self._findings.setdefault((code, path), FrontFinding(code, "problem", path, message, CHANGES[code]))

    def _advice(self, code: str, path: str, message: str) -> None:
        folder = path.partition("/")[0]
        self._findings.setdefault((code, folder), FrontFinding(code, "advice", path, message, CHANGES[code]))


def own_address(feed: bytes) -> str | None:
    """The address that a registry's feed gives for itself; None if it gives none."""
    found = _SELF.search(feed[:_FEED_HEAD])
    if found is None:
        return None
    address = html.unescape(found[1].decode("utf-8", "replace"))
    return address.removesuffix(f"/{FEED}") if address.endswith(f"/{FEED}") else None


def _parts(address: str) -> tuple[str, str, int | None, str]:
    """Scheme, host, port and path, in one form for addresses that mean the same."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", address, None, ""
    host = parts.hostname or ""
    return parts.scheme, "localhost" if is_loopback(host) else host, port, parts.path.rstrip("/")


def _is_here(address: str) -> bool:
    """Whether an address means the machine that it is used on."""
    host = _parts(address)[1]
    return is_loopback(host) or host in ("0.0.0.0", "::")


def is_from_cache(first: Seen, second: Seen) -> bool:
    """Whether the second of two answers to the same request comes from a cache that did not ask the server again.

    It has an age, or says so, or has the ID that the registry gave to the first request.
    """
    age = second.headers.get("age", "").strip()
    if age.isdigit() and int(age) > 0:  # 0: it may just have asked
        return True
    if "x-request-id" in first.headers and first.headers["x-request-id"] == second.headers.get("x-request-id"):
        return True
    words = " ".join(second.headers.get(name, "") for name in _CACHES_SAY)
    return re.search(r"\bhit\b", words.lower()) is not None


def is_of_time_and_length(tag: str, length: int, modified: str) -> bool:
    """Whether a tag looks like those that web servers make of a file's time and its length.

    nginx writes both in hex with a hyphen between, Apache the other way round, and Caddy both to the base 36 without one.
    ``modified``: the ``Last-Modified`` header.
    """
    inner = tag.strip().removeprefix("W/").strip('"').lower()
    parts = inner.split("-")
    if len(parts) in (2, 3) and f"{length:x}" in parts and all(re.fullmatch(r"[0-9a-f]{1,16}", part) for part in parts):
        return True
    ending = _base36(length)
    rest = inner.removesuffix(ending)
    if rest == inner or not re.fullmatch(r"[0-9a-z]{5,13}", rest):
        return False
    try:
        seconds = parsedate_to_datetime(modified).timestamp()
    except (TypeError, ValueError, OverflowError):
        return False
    stamp = int(rest, 36)
    return any(abs(stamp / unit - seconds) <= timedelta(seconds=2).total_seconds() for unit in (1, 1_000_000_000))


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


def _seconds(seen: Seen) -> int | None:
    """How long a cache may keep an answer; None: nothing is said, and it may guess."""
    control = seen.headers.get("cache-control", "").lower()
    found = [int(value) for value in re.findall(r"\b(?:s-maxage|max-age)=\"?([0-9]{1,10})", control)]
    return max(found) if found else None


def _shown(seen: Seen, name: str) -> str:
    value = seen.headers.get(name)
    return "missing" if value is None else repr(value[:80])


def _size(path: str, body: bytes) -> int:
    """The entries that a head or a checkpoint covers. Raises WireError, NoteError, StatementError."""
    return _covered(wire.decode_head(body).checkpoint if path == "head" else body)


def _covered(checkpoint: str | bytes) -> int:
    return Checkpoint.parse(notes.parse(checkpoint).text).size


def _blob_of(data: bytes | None) -> str | None:
    """The SHA-256 of the file of the last release in an index file; None if it has none."""
    if data is None:
        return None
    for line in reversed(wire.decode_index(data)):
        try:
            statement = parse(notes.parse(line.note).text)
        except RyeError:
            continue
        if isinstance(statement, Release):
            return statement.file.sha256
    return None


def _unzipped(data: bytes, most: int) -> bytes | None:
    """The content of a gzip stream of at most ``most`` bytes; None if it is longer or is none."""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, most + 1)
    except zlib.error:
        return None
