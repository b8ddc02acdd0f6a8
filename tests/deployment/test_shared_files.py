"""Blocks and keys in foreign files: every other byte stays, and removing ours restores the original bytes."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye.deployment import json_keys, markdown_blocks
from rye.deployment.json_keys import NotReadable

SETTINGS = [
    "{}",
    "{ }",
    "{\n}",
    "{\n}\n",
    '{"a":1}',
    '{"a":1,}',
    '{\n  "a": 1\n}\n',
    '{\n  "a": 1, // note\n}\n',
    '{\n  "a": 1 // note\n}',
    '// head\n{\r\n\t"mcp": {},\r\n\t"b": [1,2,{"x":1}] /* t */\r\n}\r\n',
    '{"mcp":{"z":{"type":"local"}},"permission":{"*":"allow"}}',
    "{\n // only\n}",
    "{/*c*/}",
    '\ufeff{"a":true}',
    '{"mcp": {\n}}',
    '{"url": "http://x/*y*/", "t": "// no \\" comment"}',
]
KEYS = {
    ("mcp", "rye-x"): '{"type": "local"}',
    ("permission", "rye-x_*"): '"deny"',
    ("mcp", "rye-y"): '{"b": [1]}',
}


@pytest.mark.parametrize("text", SETTINGS)
def test_keys_go_in_last_and_come_out_without_a_trace(text: str) -> None:
    for order in itertools.permutations(KEYS):
        changed, made = text, []
        for key, value in KEYS.items():
            changed, above = json_keys.put(changed, key, value)
            made += [above] if above else []
        for key, value in KEYS.items():
            assert json_keys.value_at(changed, key) == value
        assert json_keys.keys_at(changed, ("permission",))[-1] == "rye-x_*"  # the last pattern wins
        assert json_keys.put(changed, ("mcp", "rye-x"), KEYS["mcp", "rye-x"]) == (changed, None)
        for key in order:
            changed = json_keys.take_out(changed, key)
        for above in reversed(made):
            changed = json_keys.take_out(changed, above)
        assert changed == text


@pytest.mark.parametrize(
    ("value", "empty"), [("{}", True), ("{ }", True), ('"ask"', False), ("[]", False), ('{"a": 1}', False)]
)
def test_only_an_object_without_members_is_an_empty_object(value: str, empty: bool) -> None:
    """Rye created ``permission`` once; what a person put in its place belongs to that person."""
    assert json_keys.is_empty_object(f'{{"permission": {value}, "model": "m"}}', ("permission",)) is empty


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", '{"a":1 "b":2}', '{"a":1,"a":2}', "{} x", '{"mcp": 5}', "/* {}", "{'a':1}"]
)
def test_what_is_no_settings_file_is_left_alone(text: str) -> None:
    with pytest.raises(NotReadable):
        json_keys.put(text, ("mcp", "rye-x"), "1")


def test_a_bomb_of_brackets_is_refused() -> None:
    with pytest.raises(NotReadable, match="nested"):
        json_keys.value_at('{"a": ' + "[" * 100_000, ("a",))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=10,
    ),
    st.sampled_from([None, 0, 2, "\t"]),
)
def test_any_object_comes_back_byte_for_byte(value: object, indent: int | str | None) -> None:
    text = json.dumps({"mine": value}, indent=indent)
    changed, made = json_keys.put(text, ("mcp", "rye-x"), "{}")
    assert json.loads(changed) == {"mine": value, "mcp": {"rye-x": {}}}
    changed = json_keys.take_out(changed, ("mcp", "rye-x"))
    assert made == ("mcp",)
    assert json_keys.take_out(changed, made) == text


DOCUMENTS = [
    "",
    "a",
    "a\n",
    "a\r",
    "a\r\r",
    "a\r\nb",
    "a\r\nb\r\n",
    "\ufeff",
    "\ufeffx",
    "a\n\n\n",
    "no end\n<!-- rye:begin v1 --> inline",
]


@pytest.mark.parametrize("text", DOCUMENTS)
def test_a_block_goes_in_and_out_without_a_trace(text: str) -> None:
    block = markdown_blocks.block(["- one"])
    changed = markdown_blocks.put(text, block)
    assert markdown_blocks.present(changed) == block
    assert changed.startswith(text)
    assert "\r\n" not in text or "\n" not in changed.replace("\r\n", "")
    assert markdown_blocks.put(changed, block) == changed
    assert markdown_blocks.take_out(markdown_blocks.put(changed, markdown_blocks.block(["- two"]))) == text


def test_what_a_person_adds_after_the_block_stays() -> None:
    changed = markdown_blocks.put("a", markdown_blocks.block(["- one"])) + "\nmore\n"
    assert markdown_blocks.take_out(changed) == "a\nmore\n"


@pytest.mark.parametrize(
    "text",
    [
        markdown_blocks.BEGIN,
        markdown_blocks.END,
        f"{markdown_blocks.END}\n{markdown_blocks.BEGIN}",
        f"{markdown_blocks.BEGIN}\n{markdown_blocks.BEGIN}\n{markdown_blocks.END}",
    ],
)
def test_comments_that_make_no_block_are_left_alone(text: str) -> None:
    with pytest.raises(NotReadable):
        markdown_blocks.put(text, markdown_blocks.block([]))
