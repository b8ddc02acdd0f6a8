"""``rye registry check``: each way in which a proxy or CDN hides or breaks what a registry serves, and a registry without one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.front_check import CHANGES, FRESH, Report, Seen, check_front, is_of_time_and_length
from rye.registry.protocol import wire
from rye.registry.transport.seam import FetchError
from tests.scenes.effort import rest_thorough
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher

pytestmark = pytest.mark.processes

Change = Callable[[str, Mapping[str, str], Seen], Seen]


@dataclass
class Front:
    """Whatever stands before a real registry, with the faults of a test."""

    local: LocalRegistry
    change: Change = lambda _path, _headers, seen: seen
    asked: list[str] = field(default_factory=list)

    def ask(self, path: str, headers: Mapping[str, str]) -> Seen:
        self.asked.append(path)
        return self.change(path, headers, self.registry(path, headers))

    def registry(self, path: str, headers: Mapping[str, str]) -> Seen:
        return self.local.loop.run_until_complete(self._raw(path, headers))

    async def _raw(self, path: str, headers: Mapping[str, str]) -> Seen:
        async with self.local.client.stream("GET", f"/{path}", headers=dict(headers)) as answer:
            body = b"".join([piece async for piece in answer.aiter_raw()])
        return Seen(answer.status_code, dict(answer.headers), body)

    def check(self, **options: object) -> Report:
        return check_front(self.ask, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("front") / "data") as made:
        token, acme = made.token(), made.owner("acme")
        for number in range(12):  # an index file that is long enough to be compressed
            assert made.publish(acme, "a/one", token, f"1.0.{number}").status_code == 200
        yield made


def codes(report: Report, level: str = "problem") -> set[tuple[str, str]]:
    return {(one.code, one.path.partition("/")[0]) for one in report.findings if one.level == level}


def with_headers(seen: Seen, **headers: str | None) -> Seen:
    changed = {**seen.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return replace(seen, headers={name: value for name, value in changed.items() if value is not None})


def is_fresh(path: str) -> bool:
    return path.partition("?")[0] in FRESH


@pytest.mark.parametrize(
    ("setting", "asked", "expected"),
    rest_thorough(
        4,
        [
            ("", "https://registry.example.org", ("problem", "address-missing")),
            ("http://0.0.0.0:8420", "https://registry.example.org", ("problem", "address-missing")),
            ("https://other.example.org", "https://registry.example.org", ("problem", "address-other")),
            ("http://registry.example.org", "https://registry.example.org", ("problem", "address-other")),
            ("https://registry.example.org/items", "https://registry.example.org", ("problem", "address-other")),
            ("https://Registry.example.org:443/", "https://registry.example.org", None),
            ("https://registry.example.org", "http://127.0.0.1:8420", None),
            ("", "http://127.0.0.1:9000", ("advice", "address-missing")),
            ("", "http://localhost:8420", None),
        ],
    ),
)
def test_its_own_address_is_the_one_that_was_asked(
    tmp_path: Path, setting: str, asked: str, expected: tuple[str, str] | None
) -> None:
    with LocalRegistry(tmp_path / "data", f'address = "{setting}"\n') as local:
        local.owner("acme")
        found = [one for one in Front(local).check(address=asked).findings if one.path == "feed.atom"]
        assert [(one.level, one.code) for one in found] == ([expected] if expected else [])
        if expected:
            assert repr(setting or "http://127.0.0.1:8420") in found[0].message
            assert "`address`" in found[0].change or "as `address`" in found[0].change


def test_a_mirror_says_no_address(local: LocalRegistry) -> None:
    front = Front(local, lambda path, _headers, seen: replace(seen, status=404) if path == "feed.atom" else seen)
    assert front.check(address="https://mirror.example.org").ok


def test_a_registry_without_a_front_has_no_findings(local: LocalRegistry) -> None:
    front = Front(local)
    report = front.check()
    assert (report.ok, report.findings) == (True, ())
    assert report.origin == local.service.origin
    assert report.asked == len(front.asked)
    assert any(path.startswith("blobs/") for path in front.asked)
    assert any(path.startswith("map/") for path in front.asked)


HEAD_FAULTS: dict[str, tuple[Change, str]] = {
    "kept by its header": (lambda _p, _h, seen: with_headers(seen, cache_control="public, max-age=60"), "head-kept"),
    "kept for caches alone": (lambda _p, _h, seen: with_headers(seen, cache_control="max-age=0, s-maxage=30"), "head-kept"),
    "no header": (lambda _p, _h, seen: with_headers(seen, cache_control=None), "head-kept"),
    "an answer from memory": (lambda _p, _h, seen: with_headers(seen, age="37"), "head-kept"),
    "a hit": (lambda _p, _h, seen: with_headers(seen, x_cache="HIT from edge"), "head-kept"),
    "a hit by the standard": (lambda _p, _h, seen: with_headers(seen, cache_status="edge; hit; ttl=30"), "head-kept"),
    "an answer of a second ago": (lambda _p, _h, seen: with_headers(seen, age="1"), "head-kept"),
    "the same answer": (lambda _p, _h, seen: with_headers(seen, x_request_id="one"), "head-kept"),
    "every tag matches": (lambda _p, h, seen: replace(seen, status=304) if "If-None-Match" in h else seen, "tag-ignored"),
    "nginx' tag": (
        lambda _p, _h, seen: with_headers(seen, etag=f'"66f5c8a1-{len(seen.body):x}"'), "tag-of-time"),
    "dates without a tag": (
        lambda _p, h, seen: replace(seen, status=304) if "If-Modified-Since" in h else with_headers(seen, etag=None),
        "tag-of-time"),
    "a page": (lambda _p, _h, seen: with_headers(seen, content_type="text/html; charset=utf-8"), "type-runs"),
    "compressed unasked": (
        lambda _p, _h, seen: replace(with_headers(seen, content_encoding="gzip"), body=seen.body), "encoded"),
}  # fmt: skip


@pytest.mark.parametrize("fault", HEAD_FAULTS)
def test_each_fault_of_the_files_that_change_is_found(local: LocalRegistry, fault: str) -> None:
    change, expected = HEAD_FAULTS[fault]
    report = Front(local, lambda path, h, seen: change(path, h, seen) if is_fresh(path) else seen).check()
    assert not report.ok
    assert {(expected, path) for path in FRESH} <= codes(report)
    assert {code for code, _ in codes(report)} == {expected}


def test_no_tag_and_no_dates_are_as_good_as_tags_of_the_content(local: LocalRegistry) -> None:
    """What operating/nginx.conf does."""
    bare: Change = lambda path, _h, seen: with_headers(seen, etag=None) if is_fresh(path) else seen  # noqa: E731
    assert Front(local, bare).check().findings == ()


class Cache:
    """A CDN that keeps files by their whole address, whatever their headers say."""

    def __init__(self, only: Callable[[str], bool]) -> None:
        self.kept: dict[str, Seen] = {}
        self.only = only

    def __call__(self, path: str, headers: Mapping[str, str], seen: Seen) -> Seen:
        if not self.only(path):
            return seen
        if any(name in headers for name in ("Range", "If-None-Match", "If-Modified-Since")):
            return seen
        return self.kept.setdefault(f"{path} {headers.get('Accept-Encoding')}", seen)


def test_a_cache_that_keeps_the_head_is_found_after_the_next_publish(local: LocalRegistry) -> None:
    cache = Cache(lambda path: path in ("head", "checkpoint"))
    front = Front(local, lambda path, headers, seen: with_headers(cache(path, headers, seen), x_request_id=None))
    assert front.check().ok  # nothing is old yet
    local.owner("second")
    report = front.check()
    assert codes(report) == {("head-stale", "head"), ("head-stale", "checkpoint")}
    (message,) = {one.message for one in report.findings if one.path == "head"}
    assert "entries, without one the one of" in message


def test_waiting_for_a_publish_finds_a_front_that_takes_its_tag_for_unchanged(local: LocalRegistry) -> None:
    """Its tags look good, and it answers 304 to the old one."""
    old = Front(local).registry("head", {})
    tags = (old.headers["etag"], '"of-the-time"')

    def change(path: str, headers: Mapping[str, str], seen: Seen) -> Seen:
        if path.partition("?")[0] != "head":
            return seen
        matches = headers.get("If-None-Match") in tags
        return replace(seen, status=304) if matches else with_headers(seen, etag=tags[1])

    looks: list[bool] = []

    def wait(has_changed: Callable[[], bool]) -> None:
        looks.append(has_changed())
        local.owner("third")
        looks.append(has_changed())

    report = Front(local, change).check(wait=wait)
    assert looks == [False, True]
    assert codes(report) == {("head-stale", "head")}
    assert "If-None-Match" in report.findings[0].message


def test_a_publish_during_the_check_is_no_fault(local: LocalRegistry) -> None:
    def wait(has_changed: Callable[[], bool]) -> None:
        local.owner("fourth")
        assert has_changed()

    assert Front(local).check(wait=wait).ok


def test_with_witnesses_the_checkpoint_covers_what_they_cosigned(local: LocalRegistry) -> None:
    front = Front(local)
    before = {path: front.registry(path, {}) for path in ("head", "checkpoint")}
    token, acme = local.token(), Publisher("cosigned")
    assert local.statements(token, acme.claim()).status_code == 200
    older = wire.decode_head(before["head"].body)
    member = wire.CosignedHead(older.checkpoint, older.snapshot, older.proof, older.map)

    def change(path: str, _headers: Mapping[str, str], seen: Seen) -> Seen:
        name = path.partition("?")[0]
        if name == "checkpoint":
            return with_headers(before["checkpoint"], x_request_id=seen.headers.get("x-request-id"))
        if name == "head" and seen.status == 200:
            newest = wire.decode_head(seen.body)
            return replace(seen, body=wire.encode_head(replace(newest, cosigned=member)))
        return seen

    assert codes(Front(local, change).check()) == set()


def test_a_checkpoint_that_a_store_replaces_a_moment_after_the_head_is_no_fault(local: LocalRegistry) -> None:
    """A bucket replaces both at the same time, in either order."""
    old = [Front(local).registry("checkpoint", {})]
    token, acme = local.token(), Publisher("later")
    assert local.statements(token, acme.claim()).status_code == 200
    seen_heads: list[str] = []

    def change(path: str, _headers: Mapping[str, str], seen: Seen) -> Seen:
        if path == "head":
            seen_heads.append(path)
        if path == "checkpoint" and len(seen_heads) > len(FRESH) and old:
            return old.pop()
        return seen

    report = Front(local, change).check()
    assert codes(report) == set()
    assert not old


def test_a_checkpoint_that_is_older_than_the_head_is_found_where_queries_are_cached_too(local: LocalRegistry) -> None:
    kept = Front(local).registry("checkpoint", {})
    local.owner("fifth")

    def change(path: str, _headers: Mapping[str, str], seen: Seen) -> Seen:
        return with_headers(kept if path.startswith("checkpoint") else seen, x_request_id=None)

    assert codes(Front(local, change).check()) == {("head-stale", "checkpoint")}


FILE_FAULTS: dict[str, tuple[Change, set[tuple[str, str]]]] = {
    "minified": (
        lambda path, _h, seen: replace(seen, body=seen.body + b"\n") if path.startswith("blobs/") else seen,
        {("bytes-changed", "blobs")}),
    "an error page of its own": (
        lambda path, _h, seen: replace(seen, status=200, body=b"<html>") if seen.status == 404 else seen,
        {("absent-status", "index")}),
    "a bucket that hides what it lacks": (
        lambda path, _h, seen: replace(seen, status=403) if seen.status == 404 else seen, {("absent-status", "index")}),
    "404 without no-store": (
        lambda path, _h, seen: with_headers(seen, cache_control=None) if seen.status == 404 else seen,
        {("error-kept", "index")}),
    "404 for a minute": (
        lambda path, _h, seen: with_headers(seen, cache_control="max-age=60") if seen.status == 404 else seen,
        {("error-kept", "index")}),
    "gzip without saying so": (
        lambda path, h, seen: with_headers(seen, content_encoding=None) if path.startswith("index/") else seen,
        {("bytes-changed", "index")}),
    "another part": (
        lambda path, h, seen: replace(seen, body=b"x") if "Range" in h else seen, {("range-wrong", "blobs")}),
    "a part of its own": (
        lambda path, h, seen: with_headers(seen, content_range="bytes 0-0/*") if "Range" in h else seen,
        {("range-wrong", "blobs")}),
    "no tile": (
        lambda path, _h, seen: replace(seen, status=502) if path.startswith("tile/") else seen, {("file-missing", "tile")}),
    "items as pages": (
        lambda path, _h, seen: with_headers(seen, content_type="text/html") if path.startswith("blobs/") else seen,
        {("type-runs", "blobs")}),
}  # fmt: skip


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_each_fault_of_the_files_that_never_change_is_found(local: LocalRegistry, fault: str) -> None:
    change, expected = FILE_FAULTS[fault]
    report = Front(local, change).check()
    assert codes(report) == expected
    assert not report.ok


def test_a_cached_404_is_seen_by_its_age(local: LocalRegistry) -> None:
    asked: list[str] = []

    def change(path: str, _headers: Mapping[str, str], seen: Seen) -> Seen:
        if seen.status != 404:
            return seen
        asked.append(path)
        return seen if len(asked) == 1 else with_headers(seen, age="0")

    assert codes(Front(local, change).check()) == {("error-kept", "index")}
    assert len(set(asked)) == 1


def test_what_only_costs_is_advice(local: LocalRegistry) -> None:
    def change(path: str, headers: Mapping[str, str], seen: Seen) -> Seen:
        if "Range" in headers:
            return Front(local).registry(path, {})
        seen = with_headers(seen, x_content_type_options=None)
        return seen if is_fresh(path) or seen.status == 404 else with_headers(seen, cache_control="no-cache")

    report = Front(local, change).check()
    assert report.ok
    assert {code for code, _ in codes(report, "advice")} == {"range-ignored", "not-kept", "type-guessed"}


def test_a_member_registry_whose_files_a_cache_may_keep(local: LocalRegistry) -> None:
    assert {code for code, _ in codes(Front(local).check(is_private=True))} == {"private-kept"}
    private: Change = lambda _p, _h, seen: with_headers(seen, cache_control="private, no-cache")  # noqa: E731
    assert Front(local, private).check(is_private=True).ok


def test_a_front_that_compresses_what_the_registry_does_not_is_found(local: LocalRegistry) -> None:
    """Whoever makes a member follow links and sees the sizes of answers learns what is on a private page (BREACH)."""

    def change(path: str, headers: Mapping[str, str], seen: Seen) -> Seen:
        seen = with_headers(seen, cache_control="private, no-cache")
        is_page = path.startswith("-/") and "gzip" in headers.get("Accept-Encoding", "")
        return with_headers(seen, content_encoding="gzip") if is_page else seen

    found = {("page-compressed", "-")}
    assert codes(Front(local, change).check(is_private=True)) == found
    report = Front(local, change).check()
    assert found & codes(report) == set()
    assert found <= codes(report, "advice")


@pytest.mark.parametrize(
    ("seen", "problems"),
    [
        (None, set()),
        (Seen(301, {"location": "https://registry.example.org/head"}, b""), set()),
        (Seen(301, {"location": "http://registry.example.org/other"}, b""), {("plain-http", "head")}),
        (Seen(200, {}, b"{}"), {("plain-http", "head")}),
    ],
)
def test_a_public_host_redirects_plain_http(
    local: LocalRegistry, seen: Seen | None, problems: set[tuple[str, str]]
) -> None:
    report = Front(local).check(is_secure=True, plain=lambda: seen)
    assert codes(report) == problems
    assert codes(report, "advice") == {("no-hsts", "head")}
    strict: Change = lambda _p, _h, seen: with_headers(seen, strict_transport_security="max-age=1")  # noqa: E731
    assert Front(local, strict).check(is_secure=True).findings == ()


def test_an_address_without_a_registry_is_an_error_with_a_code(local: LocalRegistry) -> None:
    for status in (404, 502, 301):
        with pytest.raises(FetchError) as refused:
            Front(local, lambda _p, _h, seen, status=status: replace(seen, status=status)).check()  # type: ignore[misc]
        assert refused.value.code == "fetch-status"
    for broken in (b"<html>", b"", b"\xff", json.dumps({"protocol": 2}).encode()):
        with pytest.raises(RyeError):
            Front(local, lambda _p, _h, seen, broken=broken: replace(seen, body=broken)).check()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('"66f5c8a1-400"', True),  # nginx
        ('W/"66f5c8a1-400"', True),
        ('"400-5f2a1b2c3d4e5"', True),  # Apache
        ('"tgz1a0sg"', True),  # Caddy: seconds, then the length
        ('"' + "0" * 64 + '"', False),
        ('"5d41402abc4b2a76b9719d911017c592"', False),  # a bucket's MD5
        ('"5d41402abc4b2a76b9719d911017c592-400"', False),  # a bucket's upload in parts
        ("", False),
    ],
)
def test_tags_of_time_and_length_are_known_by_their_form(tag: str, expected: bool) -> None:
    seconds = int("tgz1a0", 36)
    modified = datetime.fromtimestamp(seconds, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert is_of_time_and_length(tag, 1024, modified) is expected


def test_every_finding_says_what_to_change() -> None:
    for code, change in CHANGES.items():
        assert change.endswith("."), code
