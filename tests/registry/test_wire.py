"""Heads, index files and the API's messages: one encoding, no unknown or duplicate fields."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.registry.protocol import wire
from rye.registry.protocol.statements import Snapshot
from rye.registry.protocol.wire import Config, Head, IndexLine, WireError

HEAD = Head("checkpoint\n", "snapshot\n", [wire.encode_hash(bytes(32))], "f" * 64)


def code_of(error: pytest.ExceptionInfo[WireError]) -> str:
    return error.value.code


def test_a_head_has_one_spelling() -> None:
    data = wire.encode_head(HEAD)
    assert wire.decode_head(data) == HEAD
    assert data.endswith(b"}\n")
    assert b" " not in data
    document = json.loads(data)
    for other in (
        data[:-1],
        data + b"\n",
        b" " + data,
        json.dumps(document).encode() + b"\n",
        data.replace(b'"map"', b'"map":"' + b"0" * 64 + b'","map"'),
        data.replace(b'"map"', b'"shards"'),
        data.replace(b',"map":"' + b"f" * 64 + b'"', b""),
        data.replace(b'"proof"', b'"more":1,"proof"'),
        data.replace(b"f" * 64, b"F" * 64),
        data.replace(b"f" * 64, b"g" * 64),
        data.replace(b"f" * 64, b"f" * 63),
        data.replace(b"f" * 64, b"f" * 64 + b"\\n"),
        b"[" * 60_000,
        b"{}",
        b"",
        b"\xff",
    ):
        with pytest.raises(WireError) as raised:
            wire.decode_head(other)
        assert code_of(raised) == "head-malformed"
    with pytest.raises(WireError) as raised:
        wire.decode_head(data + b" " * wire.MAX_HEAD_BYTES)
    assert code_of(raised) == "head-too-large"


def test_a_heads_proof_is_canonical_base64_of_32_bytes() -> None:
    assert HEAD.proof_hashes() == [bytes(32)]
    for other in ("A" * 42 + "B=", "A" * 44, "-" + "A" * 42 + "="):
        with pytest.raises(WireError) as raised:
            Head("", "", [other], "f" * 64).proof_hashes()
        assert code_of(raised) == "head-malformed"
        assert raised.value.message.endswith(".")
        assert not raised.value.message.endswith("..")


def test_a_head_of_ten_million_names_is_under_2_kb() -> None:
    """The longest proof in a log of 2^27 entries, two signatures of the log, an origin of usual length."""
    line = "— registry.example.org " + "A" * 92 + "\n"
    checkpoint = "registry.example.org\n134217728\n" + "A" * 44 + "\n\n" + line
    statement = Snapshot("registry.example.org", datetime(2026, 1, 1, tzinfo=UTC), 12, "f" * 64)
    head = Head(checkpoint, f"{statement.text()}\n{line}", [wire.encode_hash(bytes(32))] * 26, "f" * 64)
    assert len(wire.encode_head(head)) < 2_000


@given(
    st.lists(
        st.tuples(st.integers(0, 2**53 - 1), st.text(st.characters(codec="utf-8", min_codepoint=32) | st.just("\n")))
    )
)
def test_an_index_file_is_read_back_and_is_json_hypothesis(pairs: list[tuple[int, str]]) -> None:
    lines = [IndexLine(log, note) for log, note in sorted(dict(pairs).items())]
    data = wire.encode_index(lines)
    assert list(wire.decode_index(data)) == lines
    assert [json.loads(line) for line in data.decode().split("\n")[:-1]] == [
        {"log": e.log, "note": e.note} for e in lines
    ]


GOOD = b'{"log":3,"note":"a\\nb"}\n'


@pytest.mark.parametrize(
    "data",
    [
        GOOD[:-1],
        GOOD + b"\n",
        GOOD.replace(b":3", b": 3"),
        GOOD.replace(b"3", b"03"),
        GOOD.replace(b"3", b"3.0"),
        GOOD.replace(b"3", b"-3"),
        GOOD.replace(b"3", b"9007199254740992"),
        GOOD.replace(b"\\n", b"\\u000a"),
        GOOD.replace(b"\\n", b"\\t"),
        GOOD.replace(b"\\n", b"\t"),
        GOOD.replace(b"\\n", b"\\/"),
        GOOD.replace(b'"}', b'","x":1}'),
        GOOD.replace(b'{"log":3,', b'{"log":3,"log":3,'),
        b'{"note":"a","log":3}\n',
        GOOD.replace(b"\n", b"\r\n"),
        GOOD + GOOD,
        GOOD + GOOD.replace(b"3", b"2"),
        b"\xff\n",
        b"\xef\xbb\xbf" + GOOD,
    ],
)
def test_another_spelling_or_order_of_an_index_file_is_refused(data: bytes) -> None:
    with pytest.raises(WireError) as raised:
        wire.decode_index(data)
    assert code_of(raised) == "index-malformed"


def test_a_config_of_another_protocol_says_so() -> None:
    config = Config(2, "registry.example", "/api")
    assert wire.decode_config(wire.encode_config(config)) == config
    for other, code in (
        (Config(1, "registry.example", None), "protocol-unknown"),
        (Config(3, "registry.example", None), "protocol-unknown"),
        (Config(2, "Registry.example", None), "config-malformed"),
    ):
        with pytest.raises(WireError) as raised:
            wire.decode_config(wire.encode_config(other))
        assert code_of(raised) == code
    for data in (
        b'{"protocol":2,"origin":"a","origin":"a","api":null}',
        b'{"protocol":2,"origin":"a"}',
        b" " * 5_000,
        b"[]",
    ):
        with pytest.raises(WireError) as raised:
            wire.decode_config(data)
        assert code_of(raised) == "config-malformed"


@pytest.mark.parametrize(
    ("api", "address"),
    [
        ("/api/v1/", "https://r.example:8443/api/v1"),
        ("https://r.example:8443/x", "https://r.example:8443/x"),
        (None, None),
    ],
)
def test_the_api_is_on_the_registrys_own_host(api: str | None, address: str | None) -> None:
    assert wire.api_address(Config(2, "r.example", api), "https://r.example:8443/registry") == address


@pytest.mark.parametrize(
    "api",
    ["https://evil.example/api", "http://r.example/api", "//evil.example/api", "https://r.example:8443/",
     "https://r.example@evil.example/", "api"],
)  # fmt: skip
def test_an_api_elsewhere_is_refused_because_a_token_would_go_there(api: str) -> None:
    with pytest.raises(WireError):
        wire.api_address(Config(2, "r.example", api), "https://r.example/registry")


def test_api_documents_refuse_unknown_missing_and_repeated_fields() -> None:
    good = b'{"results":[{"log":3,"duplicate":false}],"size":4}'
    assert wire.decode_json(good, wire.StatementsAnswer).results[0].log == 3
    for other in (
        good.replace(b'"size"', b'"more":1,"size"'),
        good.replace(b',"size":4', b""),
        good.replace(b'"size"', b'"size":5,"size"'),
        good.replace(b"3", b"-3"),
        good.replace(b"3", b'"3"'),
        good + b"x",
        b'{"results":' + b"[" * 100_000,
    ):
        with pytest.raises(WireError) as raised:
            wire.decode_json(other, wire.StatementsAnswer)
        assert code_of(raised) == "answer-malformed"
    with pytest.raises(WireError):
        wire.decode_json(b'{"notes":[]}', wire.StatementsRequest)
