"""A registry that does not answer, and an unchanged head (DESIGN 6.1, last paragraph). Clocks and answers are values."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import REGISTRY
from rye.registry.client import RegistryClient
from rye.registry.store.cache import Cache
from rye.registry.store.state import HeadTags, StateStore
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.http_connection import DirectConnection
from rye.registry.transport.seam import Fetched, FetchError, NoAnswer, Request, Tagged
from rye.registry.trust.trust_error import TrustError
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry
from tests.registry.test_transport import Site, body, running

TOOL = Identity("tool", "acme/text/count")
ADDRESS = "https://registry.example"
SILENCE = NoAnswer("fetch-unreachable", "head could not be fetched.")


class Tagging(MemoryTransport):
    """A registry in memory that tags its head. ``fails``: its answer instead; ``asked``: tag and timeout of each request."""

    def __init__(self, registry: SimulatedRegistry):
        super().__init__(registry.files)
        self.fails: FetchError | None = None
        self.frozen = False
        self.asked: list[tuple[str | None, float]] = []
        self.hurried: list[float] = []

    def hurry(self, seconds: float) -> None:
        self.hurried.append(seconds)

    def fetch_if_changed(self, request: Request, tag: str | None, seconds: float) -> Tagged | FetchError:
        self.asked.append((tag, seconds))
        if self.fails is not None:
            return self.fails
        data = self.files[request.path]
        current = f'"{hash(data)}"'
        if tag is not None and (self.frozen or tag == current):
            return Tagged(None, tag)
        return Tagged(data, current)


class ReaderInOutages:
    """One registry, and one user who has pinned it and read it once."""

    def __init__(self, folder: Path):
        self.registry = SimulatedRegistry()
        self.registry.claim("acme")
        self.registry.release(TOOL, content=b"count\n")
        self.registry.publish()
        self.store, self.cache = StateStore(folder / "state"), Cache(folder / "cache")
        self.transport = Tagging(self.registry)
        with self.client(self.registry.fingerprint) as client:
            client.fetch_items(client.releases([TOOL])[TOOL])
        with self.client():
            pass
        self.transport.asked.clear()
        self.transport.requested.clear()

    def client(
        self, fingerprint: str | None = None, *, survives: bool = False, patient: bool = False, address: str = ADDRESS
    ) -> RegistryClient:
        client = RegistryClient(
            address,
            self.transport,
            self.store,
            self.cache,
            survives_outages=survives,
            patient=patient,
            now=lambda: self.registry.now,
        )
        client.refresh(fingerprint)
        return client

    def refused(self, *, survives: bool = False, patient: bool = False) -> RyeError:
        with pytest.raises(RyeError) as raised:
            self.client(survives=survives, patient=patient)
        return raised.value


@pytest.fixture
def reader(tmp_path: Path) -> ReaderInOutages:
    return ReaderInOutages(tmp_path)


def test_an_outage_behind_a_proxy_names_the_proxy_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("HTTPS_PROXY", f"http://robot:secret@127.0.0.1:{port}")
    monkeypatch.setenv("NO_PROXY", "inside.example")
    transport = HttpTransport(ADDRESS, REGISTRY)
    (silent,) = transport.fetch_many([Request("head", 100)])
    transport.close()
    assert isinstance(silent, NoAnswer)
    assert f"through the proxy 127.0.0.1:{port}" in silent.of_registry(ADDRESS, "").message
    assert "secret" not in silent.message


class TestSilence:
    @pytest.mark.parametrize("hours", [0, 1, 71.9, 72])
    def test_for_72_hours_the_last_verified_head_stands(self, reader: ReaderInOutages, hours: float) -> None:
        size = reader.client().head.checkpoint.size
        reader.transport.fails = SILENCE
        reader.registry.pass_time(hours=hours)
        with reader.client(survives=True) as client:
            assert client.head.checkpoint.size == size
            assert client.outage is not None
            assert ADDRESS in client.outage.message
            assert client.releases([TOOL])[TOOL]

    @pytest.mark.parametrize("hours", [72.1, 100, 24 * 6])
    def test_beyond_72_hours_it_is_too_old(self, reader: ReaderInOutages, hours: float) -> None:
        reader.transport.fails = SILENCE
        reader.registry.pass_time(hours=hours)
        error = reader.refused(survives=True)
        assert isinstance(error, TrustError)
        assert error.code == "head-frozen"
        assert "does not answer" in error.message
        assert f"{int(hours)} hours old" in error.message

    def test_a_caller_that_needs_news_gets_the_error(self, reader: ReaderInOutages) -> None:
        reader.transport.fails = SILENCE
        error = reader.refused()
        assert isinstance(error, NoAnswer)
        assert "does not answer" in error.message

    def test_a_clock_that_was_set_back_is_no_way_around_the_age(self, reader: ReaderInOutages) -> None:
        reader.transport.fails = SILENCE
        reader.registry.pass_time(hours=-1)
        assert reader.refused(survives=True).code == "snapshot-future"

    def test_what_is_no_outage_is_never_survived(self, reader: ReaderInOutages) -> None:
        """A refusal, a redirect, a wrong certificate or a missing head: in each case something answered."""
        for code in ("fetch-status", "fetch-redirect", "fetch-unreachable", "fetch-not-found", "fetch-too-large"):
            reader.transport.fails = FetchError(code, "No.")
            assert reader.refused(survives=True).code == code

    def test_a_head_that_breaks_a_rule_is_never_survived(self, reader: ReaderInOutages) -> None:
        reader.registry.files["head"] = b"<html>Log in to this network</html>"
        assert reader.refused(survives=True).code == "head-malformed"

    def test_nothing_more_is_asked_of_a_registry_that_was_silent_once(
        self, reader: ReaderInOutages, tmp_path: Path
    ) -> None:
        reader.cache = Cache(tmp_path / "another")
        reader.transport.fails = SILENCE
        client = reader.client(survives=True)
        with pytest.raises(NoAnswer, match="not cached"):
            client.releases([TOOL])
        assert reader.transport.requested == []

    def test_what_owners_state_about_themselves_is_not_needed(self, reader: ReaderInOutages) -> None:
        """As offline: the keysets say since when the name is theirs. A registry that answers must give the file."""
        reader.transport.fails = SILENCE
        stated = reader.client(survives=True).owners(["acme"])["acme"]
        assert (stated.claimed is not None, stated.proofs) == (True, ())
        reader.transport.fails = None
        reader.transport.files = {**reader.transport.files, "owners/acme": b"x" * (REGISTRY.owners_bytes + 1)}
        with pytest.raises(FetchError):
            reader.client(survives=True).owners(["acme"])

    def test_the_wait_is_short_where_the_held_head_will_do(self, reader: ReaderInOutages) -> None:
        reader.client(survives=True)
        reader.client(survives=True, patient=True)
        reader.client()
        reader.registry.pass_time(hours=80)
        reader.registry.publish()
        reader.client(survives=True)
        short, long = REGISTRY.hasty_answer_seconds, REGISTRY.answer_seconds
        assert [seconds for _, seconds in reader.transport.asked] == [short, long, long, long]
        assert reader.transport.hurried == [long], "what comes after the head is waited for as the head is"
        assert short < 0.4 < long < 3

    def test_a_first_contact_has_nothing_to_fall_back_on(self, reader: ReaderInOutages) -> None:
        class Silent(MemoryTransport):
            def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
                return [SILENCE for _ in requests]

        reader.transport = Silent({})  # type: ignore[assignment]
        with pytest.raises(NoAnswer) as raised:
            reader.client(survives=True, address="https://another.example")
        assert raised.value.message.startswith("The registry at https://another.example does not answer: ")
        assert "--offline" not in (raised.value.hint or ""), "there is nothing in the cache yet"

    def test_the_address_is_said_once_and_the_reason_in_full(self) -> None:
        error = NoAnswer("fetch-unreachable", "head could not be fetched from a.example: refused.", reason="refused")
        said = error.of_registry("https://a.example", "Check.")
        assert (said.message, said.hint) == ("The registry at https://a.example does not answer: refused.", "Check.")
        assert said.code == "fetch-unreachable"
        own = error.of_registry("http://127.0.0.1:8420", "Check.")
        assert own.hint == "If it is your own, `rye registry serve` starts it. Check."
        other = error.of_registry("http://127.0.0.1:8421", "Check.")
        assert other.hint == (
            "If it is your own, `rye registry serve --port 8421` starts it, with --data if its folder is not the default one. "
            "Check."
        )


class TestUnchangedHead:
    def test_it_costs_one_request_without_a_body(self, reader: ReaderInOutages) -> None:
        with reader.client() as client:
            client.releases([TOOL])
        [(tag, _)] = reader.transport.asked
        assert tag is not None
        assert reader.transport.requested == []

    def test_a_new_head_is_taken_and_its_tag_kept(self, reader: ReaderInOutages) -> None:
        reader.registry.release(TOOL, "1.1.0", content=b"more\n")
        reader.registry.publish()
        with reader.client() as client:
            assert len(client.releases([TOOL])[TOOL]) == 2
        with reader.client():
            pass
        old, new = (tag for tag, _ in reader.transport.asked)
        assert old != new
        assert new == f'"{hash(reader.registry.files["head"])}"'

    def test_a_tag_is_for_its_head_and_address_alone(self, reader: ReaderInOutages) -> None:
        state = reader.store.load(reader.registry.origin)
        assert state is not None
        assert state.head is not None
        tags = HeadTags(reader.store.folder)
        assert tags.tag(ADDRESS, state.head) is not None
        assert tags.tag(ADDRESS, f"{state.head} ") is None
        assert tags.tag("https://mirror.example", state.head) is None

    @pytest.mark.parametrize("harm", ["damaged", "another form", "writable"])
    def test_tags_that_cannot_be_relied_on_cost_a_download(self, reader: ReaderInOutages, harm: str) -> None:
        file = reader.store.folder / "head-tags.json"
        if harm == "writable":
            file.chmod(0o666)
        else:
            file.write_text("{" if harm == "damaged" else json.dumps({ADDRESS: {"head": 1}}))
        with reader.client():
            pass
        assert reader.transport.asked[0][0] is None
        if harm != "writable":
            reader.client()
            assert reader.transport.asked[1][0] is not None

    def test_one_that_never_changes_is_noticed_by_its_age(self, reader: ReaderInOutages) -> None:
        """The attack: 304 forever, while releases are yanked. There is a warning after 72 hours and an error after 7 days."""
        reader.transport.frozen = True
        reader.registry.pass_time(hours=70)
        assert reader.client().warnings == ()
        reader.registry.pass_time(hours=3)
        reader.registry.publish()
        assert len(reader.client().warnings) == 1
        reader.registry.pass_time(days=5)
        assert reader.refused().code == "head-frozen"
        assert reader.refused(survives=True).code == "head-frozen"


class TestOverHttp:
    @pytest.fixture
    def attempts(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        made: list[str] = []
        connect = DirectConnection._connect

        def counted(self: DirectConnection) -> None:
            made.append("connect")
            connect(self)

        monkeypatch.setattr(DirectConnection, "_connect", counted)
        return made

    def test_304_is_for_a_tag_that_was_sent(self) -> None:
        with running(Site()) as site:
            site.answer = body(b"", 304)
            transport = HttpTransport(site.address, REGISTRY)
            unasked = transport.fetch_if_changed(Request("head", 10), None, 2)
            assert isinstance(unasked, FetchError)
            assert (unasked.code, type(unasked)) == ("fetch-status", FetchError)
            found = transport.fetch_if_changed(Request("head", 10), '"a"', 2)
            assert isinstance(found, Tagged)
            assert (found.data, found.tag) == (None, '"a"')
            assert [headers.get("if-none-match") for _, headers in site.seen] == [None, '"a"']

    @pytest.mark.parametrize(
        ("header", "tag"),
        [
            ('"abc"', '"abc"'),
            ('W/"abc"', 'W/"abc"'),
            ("abc", None),
            ('"' + "a" * 201 + '"', None),
            ('"a" , "b"', None),
            ('"é"', None),
            ("*", None),
        ],
    )
    def test_only_a_tag_that_is_one_is_kept(self, header: str, tag: str | None) -> None:
        with running(Site()) as site:
            site.answer = body(b"text", ETag=header)
            found = HttpTransport(site.address, REGISTRY).fetch_if_changed(Request("head", 10), None, 2)
            assert isinstance(found, Tagged)
            assert (found.data, found.tag) == (b"text", tag)

    def test_a_refused_connection_is_tried_once(self, attempts: list[str]) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        assert isinstance(HttpTransport(address, REGISTRY).fetch_many([Request("head", 10)])[0], NoAnswer)
        assert attempts == ["connect"]

    def test_one_that_answered_before_is_tried_again(self, attempts: list[str]) -> None:
        quick = replace(REGISTRY, retry_seconds=0.001)
        with running(Site()) as site:
            transport = HttpTransport(site.address, quick)
            assert transport.fetch_many([Request("head", 10)]) == [b"text"]
            transport.close()
        attempts.clear()
        assert isinstance(transport.fetch_many([Request("head", 10)])[0], NoAnswer)
        assert len(attempts) == 1 + quick.retries

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_server_out_of_order_is_no_answer(self, status: int) -> None:
        with running(Site()) as site:
            site.answer = body(b"", status)
            found = HttpTransport(site.address, replace(REGISTRY, retries=0)).fetch_many([Request("head", 10)])[0]
            assert isinstance(found, NoAnswer)

    @pytest.mark.parametrize("status", [401, 403, 404, 301])
    def test_a_refusal_is_an_answer(self, status: int) -> None:
        with running(Site()) as site:
            site.answer = body(b"", status)
            found = HttpTransport(site.address, REGISTRY).fetch_many([Request("head", 10)])[0]
            assert isinstance(found, FetchError)
            assert not isinstance(found, NoAnswer)

    @pytest.mark.parametrize("conditional", [True, False])
    def test_silence_ends_in_time(self, conditional: bool) -> None:
        """A port that accepts connections and sends nothing."""
        quick = replace(REGISTRY, answer_seconds=0.1)
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            transport = HttpTransport(f"http://127.0.0.1:{deaf.getsockname()[1]}", quick)
            if conditional:
                found: object = transport.fetch_if_changed(Request("head", 10), None, 0.1)
            else:
                found = transport.fetch_many([Request("root/1", 10), Request("head", 10)])[0]
            assert isinstance(found, NoAnswer)
            assert found.code == "fetch-deadline"
