"""Heads, index files, shards and the API's messages: one spelling, no unknown or repeated fields."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.registry.protocol import merkle, wire
from rye.registry.protocol.wire import Config, Head, IndexLine, ShardEntry, WireError

HEAD = Head("checkpoint\n", "snapshot\n", [wire.encode_hash(bytes(32))], {"00": "0" * 64, "ff": "f" * 64})
NAMES = ["namespace:acme", "tool:acme/x", "directive:acme/x", "skill:acme/y/z"]


def entry(name: str, size: int = 7) -> ShardEntry:
    return ShardEntry(name, hashlib.sha256(name.encode()).hexdigest(), size)


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
        data.replace(b'"00":"' + b"0" * 64 + b'",', b"").replace(b"}}", b',"00":"' + b"0" * 64 + b'"}}'),
        data.replace(b'"shards"', b'"shards":{},"shards"'),
        data.replace(b'"proof"', b'"more":1,"proof"'),
        data.replace(b'"ff"', b'"fg"'),
        data.replace(b'"ff"', b'"FF"'),
        data.replace(b'"ff"', b'"fff"'),
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
        with pytest.raises(WireError):
            Head("", "", [other], {}).proof_hashes()


def test_a_head_with_every_shard_fits() -> None:
    shards = {f"{number:02x}": "a" * 64 for number in range(256)}
    head = Head("c" * 500, "s" * 500, [wire.encode_hash(bytes(32))] * 53, shards)
    assert len(wire.encode_head(head)) <= wire.MAX_HEAD_BYTES


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


def test_a_name_and_all_its_kinds_are_in_one_shard() -> None:
    assert wire.shard_of("tool:acme/x") == wire.shard_of("directive:acme/x") == wire.shard_of("acme/x")
    assert wire.shard_of("namespace:acme") == hashlib.sha256(b"acme").hexdigest()[:2]


def test_a_shard_is_read_back() -> None:
    shard = wire.shard_of("acme/x")
    entries = [entry("tool:acme/x"), entry("directive:acme/x")]
    data = wire.encode_shard(entries)
    assert wire.decode_shard(data, shard) == {one.name: one for one in entries}
    assert data.startswith(b"directive:")


@pytest.mark.parametrize(
    "why", ["order", "repeat", "same-name", "shard", "size", "hash", "name", "end", "empty", "blank", "fields"]
)
def test_a_shard_of_another_form_is_refused(why: str) -> None:
    shard = wire.shard_of("acme/x")
    first, second = wire.encode_shard([entry("directive:acme/x")]), wire.encode_shard([entry("tool:acme/x")])
    data = {
        "order": second + first,
        "repeat": first + first,
        "same-name": first + wire.encode_shard([ShardEntry("directive:acme/x", "f" * 64, 8)]),
        "shard": wire.encode_shard([entry("tool:acme/other")]),
        "size": first.replace(b" 7\n", b" 07\n"),
        "hash": first.replace(b" 7\n", b"a 7\n"),
        "name": first.replace(b"directive:", b"script:"),
        "end": first[:-1],
        "empty": b"",
        "blank": first.replace(b" 7", b"  7"),
        "fields": first.replace(b" 7", b" 7 8"),
    }[why]
    with pytest.raises(WireError) as raised:
        wire.decode_shard(data, shard)
    assert code_of(raised) == "shard-malformed"


def test_the_shards_root_is_rfc_6962_over_the_sorted_list() -> None:
    leaves = [merkle.leaf_hash(f"{shard} {sha256}".encode()) for shard, sha256 in (("00", "0" * 64), ("ff", "f" * 64))]
    assert wire.shards_root({"ff": "f" * 64, "00": "0" * 64}) == merkle.node_hash(*leaves)
    assert wire.shards_root({}) == merkle.EMPTY_ROOT


def test_a_config_of_another_protocol_says_so() -> None:
    config = Config(1, "registry.example", "/api")
    assert wire.decode_config(wire.encode_config(config)) == config
    for other, code in (
        (Config(2, "registry.example", None), "protocol-unknown"),
        (Config(1, "Registry.example", None), "config-malformed"),
    ):
        with pytest.raises(WireError) as raised:
            wire.decode_config(wire.encode_config(other))
        assert code_of(raised) == code
    for data in (
        b'{"protocol":1,"origin":"a","origin":"a","api":null}',
        b'{"protocol":1,"origin":"a"}',
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
    assert wire.api_address(Config(1, "r.example", api), "https://r.example:8443/registry") == address


@pytest.mark.parametrize(
    "api",
    ["https://evil.example/api", "http://r.example/api", "//evil.example/api", "https://r.example:8443/",
     "https://r.example@evil.example/", "api"],
)  # fmt: skip
def test_an_api_elsewhere_is_refused_because_a_token_would_go_there(api: str) -> None:
    with pytest.raises(WireError):
        wire.api_address(Config(1, "r.example", api), "https://r.example/registry")


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
