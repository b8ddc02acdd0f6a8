"""Threads that decode the same type make its decoder once, and never two decoders at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from rye.installation.sources import fetch_logged
from rye.registry.protocol import wire
from rye.registry.trust.records import decode_judged
from rye.runtime.calls import parse_call
from rye.text import json_reading


class Part(Struct):
    number: int


class Whole(Struct):
    part: Part


class Other(Struct):
    part: Part


class Counted:
    """Stands in for msgspec's decoders: notes what is made, and how many are being made at the same time."""

    def __init__(self, form: Any) -> None:
        self.form = form
        self.made: list[Any] = []
        self.inside = self.most = 0

    def __call__(self, kind: Any) -> Any:
        self.inside += 1
        self.most = max(self.most, self.inside)
        time.sleep(0.02)
        found = self.form(kind)
        self.made.append(kind)
        self.inside -= 1
        return found


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted = Counted(msgspec.json.Decoder)
    monkeypatch.setattr(json_reading, "_made", {})
    monkeypatch.setattr(msgspec.json, "Decoder", counted)
    monkeypatch.setattr(msgspec.msgpack, "Decoder", Counted(msgspec.msgpack.Decoder))
    return counted


def test_threads_that_begin_together_make_each_decoder_once_and_in_turn(counted: Counted) -> None:
    begin = threading.Barrier(8)

    def decode(number: int) -> int:
        begin.wait(timeout=10)
        kind: type[Whole | Other] = (Whole, Other)[number % 2]
        return json_reading.json_decoder(kind).decode(b'{"part": {"number": 7}}').part.number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(decode, range(8))) == [7] * 8
    assert sorted(kind.__name__ for kind in counted.made) == ["Other", "Whole"]
    assert counted.most == 1


def test_the_same_decoder_comes_back() -> None:
    assert json_reading.json_decoder(Whole) is json_reading.json_decoder(Whole)
    assert json_reading.msgpack_decoder(Whole) is json_reading.msgpack_decoder(Whole)


def test_answers_that_several_uploads_get_are_decoded_by_one_decoder(counted: Counted) -> None:
    body = b'{"error": {"code": "busy", "message": "Later."}}'
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: wire.decode_json(body, wire.ErrorAnswer), range(4)))
    assert {one.error.code for one in found} == {"busy"}
    assert counted.made == [wire.ErrorAnswer]


def test_calls_of_several_agents_prepare_a_tool_once(counted: Counted) -> None:
    with ThreadPoolExecutor(4) as pool:
        calls = list(pool.map(lambda _: parse_call("rye_search", {"query": "x", "item_type": "tool"}), range(4)))
    assert len(set(map(type, calls))) == 1
    assert counted.made == [type(calls[0])]


def test_a_verdict_is_decoded_after_the_proof_has_ended() -> None:
    """The thread that proves has ended before its caller goes on to read what was found earlier."""
    events: list[str] = []

    class Client:
        def check_logged(self, _records: object) -> None:
            time.sleep(0.02)
            decode_judged(b"")
            events.append("proved")

        def fetch_items(self, _records: object) -> list[Any]:
            return []

    fetch_logged(Client(), [])  # type: ignore[arg-type]
    events.append("decoded")
    decode_judged(b"")
    assert events == ["proved", "decoded"]
