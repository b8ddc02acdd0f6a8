"""The protocol's documents at their limits: sizes, numbers, file names, and one extra field in each message."""

from __future__ import annotations

import hashlib

import pytest
from msgspec import Struct

from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.wire import Config, Head, IndexLine, WireError

HASH = "0123456789abcdef" * 4
STAGE = (
    b'{"id":"0123456789abcdef","kind":"tool","name":"acme/a/b","version":"1.0.0","namespace":"acme","description":"d",'
    b'"sha256":"' + HASH.encode() + b'","size":0,"state":"staged","created":"c","expires":"e","by":"b","account":null,'
    b'"signatures":0,"needed":1,"log":null,"reason":null}'
)
RESULT = b'{"id":"acme/a/b","kind":"tool","version":"1.0.0","description":"d","score":1.5}'

MESSAGES: list[tuple[type[Struct], bytes]] = [
    (wire.Config, b'{"protocol":2,"origin":"r.example","api":null}'),
    (wire.Head, b'{"checkpoint":"c","snapshot":"s","proof":[],"map":"' + HASH.encode() + b'"}'),
    (wire.CosignedHead, b'{"checkpoint":"c","snapshot":"s","proof":[],"map":"' + HASH.encode() + b'"}'),
    (wire.StatementsRequest, b'{"notes":["n"],"blobs":["Yg=="]}'),
    (wire.StatementResult, b'{"log":0,"duplicate":true}'),
    (wire.StatementsAnswer, b'{"results":[],"size":0}'),
    (wire.SearchResult, RESULT),
    (wire.SimilarAnswer, b'{"names":[["tool:acme/fs/read","namespace:acme"],[]]}'),
    (wire.SearchAnswer, b'{"results":[' + RESULT + b'],"total":1}'),
    (wire.BlobAnswer, b'{"sha256":"' + HASH.encode() + b'","size":0,"duplicate":false}'),
    (wire.LiveAnswer, b'{"status":"ok"}'),
    (wire.ReadyAnswer, b'{"status":"ok","size":0,"head_age_seconds":-1}'),
    (wire.WhoamiAnswer, b'{"name":"n","token":"t","namespaces":["acme"],"scopes":[],"expires":null}'),
    (wire.ExchangeRequest, b'{"token":"t"}'),
    (wire.ExchangeAnswer, b'{"token":"t","expires":"e"}'),
    (
        wire.DeviceBegun,
        (
            b'{"device_code":"d","user_code":"u","verification_uri":"v","verification_uri_complete":"w",'
            b'"expires_in":1,"interval":5}'
        ),
    ),
    (wire.DeviceToken, b'{"access_token":"t","token_type":"bearer","expires_in":1}'),
    (wire.DeviceError, b'{"error":"slow_down"}'),
    (wire.StageRequest, b'{"drafts":["d"]}'),
    (wire.StageRow, STAGE),
    (wire.StagesAnswer, b'{"stages":[' + STAGE + b"]}"),
    (wire.StageDetail, b'{"stage":' + STAGE + b',"draft":"d","note":null}'),
    (wire.ApprovalRequest, b'{"note":"n"}'),
    (wire.RejectionRequest, b'{"reason":"r"}'),
    (wire.ErrorBody, b'{"code":"some-code","message":"m","hint":null}'),
    (wire.ErrorAnswer, b'{"error":{"code":"some-code","message":"m","hint":null}}'),
]


def refusal(data: bytes, kind: type[object]) -> str:
    with pytest.raises(WireError) as raised:
        wire.decode_json(data, kind)
    return raised.value.code


def test_every_message_has_a_sample_here() -> None:
    found = {value for value in vars(wire).values() if isinstance(value, type) and issubclass(value, Struct)}
    documents = {kind for kind in found if kind.__module__ == wire.__name__ and kind is not IndexLine}
    assert documents == {kind for kind, _ in MESSAGES}


@pytest.mark.parametrize(("kind", "data"), MESSAGES, ids=[kind.__name__ for kind, _ in MESSAGES])
def test_a_message_is_read_back_and_with_one_more_field_refused(kind: type[Struct], data: bytes) -> None:
    assert wire.encode_json(wire.decode_json(data, kind)) == data
    assert refusal(data[:-1] + b',"more":null}', kind) == "answer-malformed"


def test_nesting_beyond_the_readers_depth_is_refused_and_ends_nothing() -> None:
    assert refusal(b"[" * 100_000 + b"]" * 100_000, list) == "answer-malformed"


@pytest.mark.parametrize("stage", ["0123456789abcde", "0123456789abcdef0", "0123456789abcdeF", "0123456789abcdef\\n"])
def test_the_id_of_a_stage_is_16_lower_case_hexadecimal_digits(stage: str) -> None:
    assert wire.decode_json(STAGE, wire.StageRow).id == "0123456789abcdef"
    assert refusal(STAGE.replace(b"0123456789abcdef", stage.encode(), 1), wire.StageRow) == "answer-malformed"


def test_a_position_is_a_natural_number_that_json_holds_exactly() -> None:
    def result(log: int) -> bytes:
        return b'{"log":%d,"duplicate":false}' % log

    for good in (0, 1, 2**53 - 1):
        assert wire.decode_json(result(good), wire.StatementResult).log == good
    for bad in (-1, 2**53):
        assert refusal(result(bad), wire.StatementResult) == "answer-malformed"


def test_a_hash_of_a_heads_proof_has_44_characters() -> None:
    def head(length: int) -> bytes:
        return b'{"checkpoint":"","snapshot":"","proof":["%s"],"map":"%s"}\n' % (b"A" * length, HASH.encode())

    assert wire.decode_head(head(44)).proof == ["A" * 44]
    for length in (43, 45):
        with pytest.raises(WireError) as raised:
            wire.decode_head(head(length))
        assert raised.value.code == "head-malformed"
    assert wire.encode_hash(bytes(32)) == "A" * 43 + "="
    assert wire.encode_hash(b"\xfb\xff" * 16) == "+//7//v/+//7//v/+//7//v/+//7//v/+//7//v/+/8="


def test_a_search_counts_up_to_1000_and_then_says_1000_plus() -> None:
    assert (wire.SEARCH_TOTAL, wire.MORE) == (1_000, "1000+")
    for total in (b"0", b"1000", b'"1000+"'):
        assert wire.encode_json(wire.decode_json(b'{"results":[],"total":' + total + b"}", wire.SearchAnswer)).endswith(
            b":" + total + b"}"
        )
    for total in (b"-1", b"1001", b'"1001+"', b'"1000"'):
        assert refusal(b'{"results":[],"total":' + total + b"}", wire.SearchAnswer) == "answer-malformed"


def test_a_config_of_65536_bytes_is_read_and_of_one_more_refused() -> None:
    config = Config(2, "registry.example", None)
    data = wire.encode_config(config)
    assert wire.decode_config(data.ljust(65_536)) == config
    with pytest.raises(WireError) as raised:
        wire.decode_config(data.ljust(65_537))
    assert raised.value.code == "config-malformed"
    assert raised.value.message == "/config.json is larger than 65536 bytes."


def test_a_head_of_131072_bytes_is_looked_at_and_of_one_more_not() -> None:
    inner = wire.CosignedHead("c" * 60_000, "", [], HASH)
    empty = wire.encode_head(Head("", "", [], HASH, inner))
    full = Head("c" * 60_000, "s" * (131_072 - 60_000 - len(empty)), [], HASH, inner)
    data = wire.encode_head(full)
    assert len(data) == 131_072
    assert wire.decode_head(data) == full
    with pytest.raises(WireError) as raised:
        wire.decode_head(data + b" ")
    assert raised.value.code == "head-too-large"


def test_a_head_without_a_cosigned_one_has_the_bytes_that_it_always_had() -> None:
    head = Head("c", "s", [], HASH)
    assert wire.encode_head(head) == b'{"checkpoint":"c","snapshot":"s","proof":[],"map":"' + HASH.encode() + b'"}\n'
    with pytest.raises(WireError):
        wire.decode_head(wire.encode_head(head).replace(b"}", b',"cosigned":null}'))


@pytest.mark.parametrize(
    ("api", "address"),
    [
        ("/api/~", "https://r.example/api/~"),
        ("/api//", "https://r.example/api"),
        ("/", "https://r.example"),
        ("https://r.example/x/", "https://r.example/x"),
        ("https://r.example/x/~", "https://r.example/x/~"),
    ],
)
def test_only_slashes_at_the_end_of_the_apis_address_are_left_out(api: str, address: str) -> None:
    assert wire.api_address(Config(2, "r.example", api), "https://r.example/registry/") == address


@pytest.mark.parametrize(
    "api", ["https://r.example/a\\b", "https://r.example\\@evil.example/", "//r.example/api", "api/v1"]
)
def test_an_api_address_that_another_reader_takes_for_another_host_is_refused(api: str) -> None:
    """A browser reads a backslash as a slash; ``//host`` names a host. Each refusal has its own code."""
    with pytest.raises(WireError) as raised:
        wire.api_address(Config(2, "r.example", api), "https://r.example/")
    assert raised.value.code == "config-malformed"


@pytest.mark.parametrize("api", ["/api", "https://evil.example/api", "file:///api"])
def test_a_registry_read_from_a_folder_has_no_api(api: str) -> None:
    assert wire.api_address(Config(2, "r.example", api), "file:///srv/registry") is None


def line(log: int) -> bytes:
    return b'{"log":%d,"note":"n"}\n' % log


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (line(1) + b"x\n" + line(3), "Line 2 of the index file is malformed."),
        (b"\n" + line(1), "Line 1 of the index file is malformed."),
        (line(1) + line(3) + line(2), "Line 3 of the index file is not in the log's order."),
        (line(1) + line(3) + line(3), "Line 3 of the index file is not in the log's order."),
        (line(1)[:-1] + b"x", "A file of the index does not end with LF."),
        (b"\xff\n", "A file of the index is not UTF-8."),
    ],
)
def test_an_index_file_is_refused_at_the_line_that_is_wrong(data: bytes, message: str) -> None:
    with pytest.raises(WireError) as raised:
        wire.decode_index(data)
    assert (raised.value.code, raised.value.message) == ("index-malformed", message)


def test_an_index_file_holds_positions_up_to_the_largest_and_may_be_empty() -> None:
    assert wire.decode_index(b"") == ()
    assert wire.decode_index(line(0) + line(2**53 - 1)) == (IndexLine(0, "n"), IndexLine(2**53 - 1, "n"))
    with pytest.raises(WireError):
        wire.decode_index(line(2**53))


def test_names_and_paths_of_a_registrys_files() -> None:
    assert wire.NAMESPACE == "namespace"
    assert wire.namespace_name("acme") == "namespace:acme"
    assert wire.index_name("acme") == "namespace:acme"
    assert wire.index_name(Identity("tool", "acme/a/b")) == "tool:acme/a/b"
    sha256 = hashlib.sha256(b"").hexdigest()
    assert wire.blob_path(sha256) == f"blobs/sha256/e3/{sha256}"
