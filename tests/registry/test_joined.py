"""Several small files in one answer: the bytes, and what a client does with an answer that is not these files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.limits import REGISTRY
from rye.registry.protocol import joined
from rye.registry.protocol.name_map import MAX_NODE_BYTES
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.seam import FetchError, Request
from tests.registry.test_transport import Answer, Site, body, running
from tests.scenes.effort import rest_thorough

NAMES = [hashlib.sha256(b"%d" % number).hexdigest() for number in range(150)]
NODES = {f"map/{name}": f"node {name}".encode() for name in NAMES}
QUICK = replace(REGISTRY, retries=0, joined_from=8)


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as found:
        found.answer = honest
        yield found


def honest(handler: BaseHTTPRequestHandler) -> None:
    path = handler.path.removeprefix("/registry/")
    together = joined.joined_files(path)
    data = joined.join(NODES[one] for one in together) if together else NODES.get(path, b"head")
    body(data)(handler)


def lying(data: bytes, status: int = 200) -> Answer:
    """Answer whatever asks for several files with this."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if "-" in handler.path:
            body(data, status)(handler)
        else:
            honest(handler)

    return answer


def client(site: Site) -> HttpTransport:
    transport = HttpTransport(site.address, QUICK)
    transport.fetch_many([Request("head", 100)])
    site.seen.clear()
    return transport


def fetched(transport: HttpTransport, names: list[str] = NAMES, most: int = 1_000) -> list[bytes | FetchError]:
    return transport.fetch_many([Request(f"map/{name}", most) for name in names])


class TestBytes:
    @given(st.lists(st.binary(max_size=40), min_size=1, max_size=8))
    def test_what_was_joined_is_split(self, files: list[bytes]) -> None:
        assert joined.split(joined.join(files), len(files)) == files

    @given(st.binary(max_size=60), st.integers(1, 5))
    def test_anything_else_is_nothing(self, data: bytes, number: int) -> None:
        files = joined.split(data, number)
        assert files is None or (len(files) == number and joined.join(files) == data)

    @pytest.mark.parametrize("change", [b"", b"\0", b"\0\0\0\0", b"\0\0\0\1"])
    def test_more_or_less_than_the_files_is_nothing(self, change: bytes) -> None:
        whole = joined.join([b"one", b"two"])
        assert joined.split(whole[:-1], 2) is None
        assert joined.split(whole, 3) is None
        assert joined.split(whole, 1) is None
        assert change == b"" or joined.split(whole + change, 2) is None

    @pytest.mark.parametrize(
        "path",
        [
            f"map/{NAMES[0]}",
            f"map/{NAMES[0]}-{NAMES[0]}",
            f"map/{NAMES[0]}-{NAMES[1]}-",
            f"map/{NAMES[0]}-{NAMES[1].upper()}",
            f"map/{NAMES[0]}-../{NAMES[1]}",
            f"blobs/sha256/{NAMES[0]}-{NAMES[1]}",
            f"map/{'-'.join(NAMES[: joined.MOST_FILES + 1])}",
        ],
    )
    def test_no_other_path_asks_for_files(self, path: str) -> None:
        assert joined.joined_files(path) is None

    def test_the_longest_path_is_one_that_a_client_sends(self, site: Site) -> None:
        names = NAMES[: joined.MOST_FILES]
        assert joined.joined_files(joined.joined_path("map", names)) == tuple(f"map/{name}" for name in names)
        assert fetched(client(site), names) == [NODES[f"map/{name}"] for name in names]
        assert len(site.seen) == 1

    def test_as_many_of_the_largest_nodes_fit(self) -> None:
        assert joined.MOST_BYTES >= joined.MOST_FILES * (MAX_NODE_BYTES + joined.LENGTH_BYTES)


class TestClient:
    def test_many_files_are_few_requests_in_order(self, site: Site) -> None:
        assert fetched(client(site)) == [NODES[f"map/{name}"] for name in NAMES]
        assert len(site.seen) == 3

    def test_a_few_are_requested_alone_as_a_cache_in_front_knows_them(self, site: Site) -> None:
        fetched(client(site), NAMES[:7])
        assert sorted(path for path, _ in site.seen) == sorted(f"/registry/map/{name}" for name in NAMES[:7])

    def test_the_first_request_of_a_run_is_none_of_these(self, site: Site) -> None:
        transport = HttpTransport(site.address, QUICK)
        fetched(transport, NAMES[:20])
        assert len(site.seen) == 20

    @pytest.mark.parametrize(
        "answer",
        rest_thorough(
            2,
            [
                lying(b"", 404),
                lying(b"<html>not here</html>"),
                lying(joined.join([b"one"])),
                lying(joined.join(NODES.values()) + b"more"),
                lying(b"", 403),
                lying(b"", 414),
                lying(b"", 500),
                lying(b""),
            ],
        ),
    )
    def test_a_registry_without_such_answers_is_asked_for_each_file_and_not_again(
        self, site: Site, answer: Answer
    ) -> None:
        site.answer = answer
        transport = client(site)
        assert fetched(transport) == [NODES[f"map/{name}"] for name in NAMES]
        asked = len(site.seen)
        assert fetched(transport) == [NODES[f"map/{name}"] for name in NAMES]
        assert len(site.seen) == asked + len(NAMES)

    def test_a_file_that_is_larger_than_it_can_be_is_requested_alone(self, site: Site) -> None:
        found = fetched(client(site), most=10)
        assert {error.code for error in found if isinstance(error, FetchError)} == {"fetch-too-large"}

    def test_what_has_another_content_is_for_the_caller_to_refuse(self, site: Site) -> None:
        """As a file that came alone: nothing here knows what a hash stands for."""
        site.answer = lying(joined.join([b"evil"] * 20))
        assert fetched(client(site), NAMES[:20]) == [b"evil"] * 20
