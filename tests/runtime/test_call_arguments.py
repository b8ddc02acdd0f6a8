"""Arguments come from a model, so they are read strictly, and refusals stay small (design: agents 3.1)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.runtime.calls import CODES, TOOLS, CallError, ExecuteCall, from_rye_error, parse_call
from rye.runtime.chain import LevelDecision


def refused(name: str, arguments: object) -> dict[str, object]:
    with pytest.raises(CallError) as caught:
        parse_call(name, arguments)
    found = caught.value.as_json()["error"]
    assert isinstance(found, dict)
    return found


def test_the_five_tools_take_exactly_what_their_schemas_say() -> None:
    assert list(TOOLS) == ["rye_search", "rye_load", "rye_execute", "rye_sign", "rye_return"]
    fields = {name: list(tool.schema["properties"]) for name, tool in TOOLS.items()}
    assert fields == {
        "rye_search": ["item_type", "query", "limit"],
        "rye_load": ["item_type", "item_id"],
        "rye_execute": ["item_type", "item_id", "parameters", "dry_run"],
        "rye_sign": ["item_type", "item_id"],
        "rye_return": ["outputs", "status", "error_detail"],
    }
    for tool in TOOLS.values():
        assert tool.schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(tool.schema)
        assert tool.description


LOAD = {"item_type": "knowledge", "item_id": "acme/notes/style"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("rye_load", {**LOAD, "as": "acme/other"}),
        ("rye_load", {**LOAD, "item_id": 7}),
        ("rye_load", {**LOAD, "item_id": None}),
        ("rye_load", {**LOAD, "item_id": ["acme/notes/style"]}),
        ("rye_load", {**LOAD, "item_id": "../../etc/passwd"}),
        ("rye_load", {**LOAD, "item_id": "acme/notes/style.md"}),
        ("rye_load", {**LOAD, "item_id": "acme/notes/style@1.0.0"}),
        ("rye_load", {**LOAD, "item_id": "knowledge:acme/notes/style"}),
        ("rye_load", {**LOAD, "item_id": "/etc/passwd"}),
        ("rye_load", {**LOAD, "item_id": "a/" * 600 + "b"}),
        ("rye_load", {**LOAD, "item_type": "secret"}),
        ("rye_load", {"item_id": "acme/notes/style"}),
        ("rye_load", []),
        ("rye_load", "acme"),
        ("rye_search", {"item_type": "tool", "query": "x" * 401}),
        ("rye_search", {"item_type": "tool", "query": "x", "limit": 51}),
        ("rye_search", {"item_type": "tool", "query": "x", "limit": 0}),
        ("rye_search", {"item_type": "tool", "query": "x", "limit": "5"}),
        ("rye_search", {"item_type": "tool", "query": "x", "limit": True}),
        ("rye_execute", {**LOAD, "parameters": "{}"}),
        ("rye_execute", {**LOAD, "parameters": []}),
        ("rye_execute", {**LOAD, "dry_run": "false"}),
        ("rye_execute", {**LOAD, "parameters": {"x": "y" * 300_000}}),
        ("rye_execute", {**LOAD, "parameters": {"x": float("nan")}}),
        ("rye_return", {}),
        ("rye_return", {"outputs": {}, "status": "error"}),
        ("rye_return", {"status": "ok"}),
        ("rye_return", {"outputs": []}),
        ("rye_return", {"outputs": {}, "error_detail": "x"}),
        ("rye_everything", {}),
    ],
)
def test_what_is_not_exactly_a_call_is_refused(name: str, arguments: object) -> None:
    found = refused(name, arguments)
    assert found["code"] == "invalid-parameters"
    assert found["message"]
    assert len(json.dumps({"error": found})) <= 2048


def test_arguments_that_are_nested_too_deep_are_refused() -> None:
    deep: object = 1
    for _ in range(500):
        deep = {"x": deep}
    assert refused("rye_execute", {**LOAD, "parameters": deep})["code"] == "invalid-parameters"


def test_what_is_left_out_has_its_default() -> None:
    assert parse_call("rye_execute", LOAD) == ExecuteCall("knowledge", "acme/notes/style", {}, False)


TEXT = st.text(max_size=3000) | st.sampled_from(["\u2028" * 900, "\U0001f600" * 900, '"\\' * 1500, "\x00" * 2000])


@given(TEXT, TEXT, TEXT, TEXT, st.integers(0, 40))
@settings(max_examples=25, deadline=None)
def test_no_error_is_longer_than_2_kb_or_loses_its_code(a: str, b: str, c: str, d: str, levels: int) -> None:
    chain = tuple(LevelDecision(a, b if number % 2 else None) for number in range(levels))
    error = CallError("denied", a, b, required=c, chain=chain, resource=d, details={"cause": a, "unknown": [b] * 500})
    document = error.as_json()
    assert len(json.dumps(document).encode()) <= 2048
    assert isinstance(document["error"], dict)
    assert list(document["error"])[:6] == ["code", "message", "hint", "required", "chain", "resource"]
    assert document["error"]["code"] == "denied"


def test_the_level_that_denies_is_still_there_in_a_long_chain() -> None:
    levels = tuple(
        LevelDecision(f"directive:acme/l{number}@1.0.0", None if number == 20 else "rye.*") for number in range(40)
    )
    found = CallError("denied", "no", chain=levels).as_json()["error"]
    assert isinstance(found, dict)
    assert {"id": "directive:acme/l20@1.0.0", "by": None} in found["chain"]


def test_an_error_that_nobody_expected_counts_against_the_item() -> None:
    assert from_rye_error(RyeError("something-new", "what")).code == "untrusted"
    assert len(CODES) == 22
