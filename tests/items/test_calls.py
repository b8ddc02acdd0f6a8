"""Calls in the backticks of a process step (DECISIONS Directives 7)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.directive.calls import find_calls
from rye.items.rights import Call


def one(text: str) -> tuple[str, str | None, str | None]:
    (call,) = find_calls(text)
    return call.primary, call.item_type, call.item_id


@pytest.mark.parametrize("primary", ["execute", "search", "load", "sign"])
def test_the_four_primaries(primary: str) -> None:
    assert one(f'`rye_{primary}(item_type="tool", item_id="a/b")`') == (primary, "tool", "a/b")


@pytest.mark.parametrize(
    "text",
    [
        '`rye_execute(item_type="tool", item_id="a/b", parameters={...})`',
        "`rye_execute(item_type='tool', item_id='a/b')`",
        '``rye_execute(item_type="tool", item_id="a/b")``',
        '`rye_execute( item_id = "a/b" ,\n     item_type = "tool" )`',
        '`result = rye_execute(item_type="tool", item_id="a/b")`',
        '`rye_execute(parameters={"item_id": "evil/x", "s": "}) , item_id=", "t": [1, (2)]}, item_type="tool", item_id="a/b")`',
        '`rye_execute(item_type="tool", item_id="a/b", note="it\'s (not) over")`',
        '`rye_execute(item_type="tool", item_id="a/b", x="\\"),item_id=\\"c")`',
        '`rye_execute(item_type="tool", item_id="a/b"`',
        '`rye_execute(item_type="tool", item_id="a/b", item_id="c/d")`',
        'a stray ` here\n\n`rye_execute(item_type="tool", item_id="a/b")`',
        '```\nrye_execute(item_type="tool", item_id="a/b")\n```',
    ],
)
def test_every_way_to_write_a_call(text: str) -> None:
    assert one(text) == ("execute", "tool", "a/b")


def test_what_is_missing_or_no_text_is_unknown() -> None:
    assert one("`rye_search(query=...)`") == ("search", None, None)
    assert one('`rye_execute(item_type=kind, item_id=f"x")`') == ("execute", None, None)
    assert one('`rye_sign(item_type="tool", item_id="{input:category}/{input:name}")`') == (
        "sign",
        "tool",
        "{input:category}/{input:name}",
    )


@pytest.mark.parametrize(
    "text",
    [
        'rye_execute(item_type="tool")',
        "`rye_execute`",
        "`xrye_load(a)`",
        "`rye_run(a)`",
        "`rye_load`(a)",
        "`open\n\nrye_load(a)`",
    ],
)
def test_what_is_no_call(text: str) -> None:
    assert find_calls(text) == ()


def test_several_calls_with_their_places() -> None:
    text = 'First `rye_load(item_type="tool", item_id="a")` and\n  `rye_sign(rye_search(item_type="directive"))`.\n'
    assert find_calls(text, first_line=10) == (
        Call("load", "tool", "a", 10, 8),
        Call("sign", None, None, 11, 4),
        Call("search", "directive", None, 11, 13),
    )


def test_hostile_text_is_linear() -> None:
    started = time.thread_time()
    find_calls('`rye_execute(item_type="a\n' * 10_000)
    find_calls("`" + "rye_execute((((" * 17_000 + "`")
    find_calls("`rye_execute(item_type=" + " " * 250_000 + "x`")
    find_calls("`rye_execute(" + "a=" * 120_000 + "`")
    find_calls("`rye_load(` " * 130_000)
    find_calls("".join("`" * (n % 600 + 1) + " " for n in range(900)))
    assert time.thread_time() - started < 3


@given(st.text(alphabet="`rye_load(){}[]\"'\\,= \nitem_id", max_size=60))
def test_any_text_is_read(text: str) -> None:
    lines = text.split("\n")
    for call in find_calls("`rye_load(" + text):
        assert 1 <= call.line <= len(lines)
        assert call.column >= 1
