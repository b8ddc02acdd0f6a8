"""How an approved hook is remembered and shown: no two different hooks have the same line."""

from __future__ import annotations

import pytest

from rye.consent.ask import hook_text
from rye.items.consented import HookAction


def test_a_plain_hook_reads_as_it_is_written() -> None:
    hook = HookAction("cost.current > 5", "directive", "acme/ops/report", (("limit", "5"),))
    assert hook_text(hook) == 'when cost.current > 5: execute directive acme/ops/report limit="5"'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            HookAction("true", "tool", 'acme/fs/write path="a"'),
            HookAction("true", "tool", "acme/fs/write", (("path", "a"),)),
        ),
        (
            HookAction("true", "tool", "acme/fs/write", (('path="a" mode', "b"),)),
            HookAction("true", "tool", "acme/fs/write", (("path", "a"), ("mode", "b"))),
        ),
        (
            HookAction('error.type == "x": execute tool acme/a', "tool", "acme/b"),
            HookAction('error.type == "x"', "tool", "acme/a: execute tool acme/b"),
        ),
        (HookAction("true", "tool acme/a", "b"), HookAction("true", "tool", "acme/a b")),
    ],
)
def test_different_hooks_read_differently(one: HookAction, other: HookAction) -> None:
    assert hook_text(one) != hook_text(other)


def test_it_is_one_line() -> None:
    assert hook_text(HookAction("true\nfalse", "tool\n", "a\u2028b", (("c\nd", "e\nf"),))).isprintable()
