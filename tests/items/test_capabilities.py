"""Writing capability strings (DESIGN §7; R06, R08; DECISIONS Directives 3, 6, 16, 17)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.items.capabilities import EVERYTHING, capability, everything_of, is_path_pattern, required_capability
from rye.items.identity import is_id


@pytest.mark.parametrize(
    "path",
    [
        *("*", "?", "a", "rye.file-system.*", "rye/core/*", "rye.agent.threads.spawn_thread", "A_b-9", "a*b?c", "**"),
        *("[abc]", "[!abc]x", "rye.[a-z]*", "a[0-9].b", "s[h]ell.*", "[a/b]", "a.*.b"),
    ],
)
def test_r08_paths(path: str) -> None:
    assert is_path_pattern(path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            ".",
            "/",
            "a.",
            ".a",
            "a..b",
            "a//b",
            "a./b",
            "/a",
            "a/",
            " a",
            "a b",
            "a\n",
            "a\nb",
            "a,b",
            "a|b",
            "(a)",
        ),
        *(
            "[abc",
            "abc]",
            "[]",
            "[!]",
            "a.[b",
            "[a]]",
            "[^a]",
            "[[a]",
            "[a b]",
            "{a}",
            "{input:a}",
            "ä",
            "a\u200b",
            "\\*",
            "a:b",
            "~",
        ),
        *("a" * 2049, "٣"),
    ],
)
def test_r08_refuses(path: str) -> None:
    assert not is_path_pattern(path)
    with pytest.raises(ValueError, match="capability path"):
        capability("execute", "tool", path)


def test_slashes_become_dots_and_nothing_else_changes() -> None:
    assert capability("load", "knowledge", "rye/core/*") == "rye.load.knowledge.rye.core.*"
    assert capability("execute", "tool", "rye.file-system.re_ad") == "rye.execute.tool.rye.file-system.re_ad"


def test_shortcuts() -> None:
    assert EVERYTHING == "rye.*"
    assert [everything_of(p) for p in ("execute", "search")] == ["rye.execute.*", "rye.search.*"]
    with pytest.raises(ValueError, match="'run'"):
        everything_of("run")


@pytest.mark.parametrize(
    ("primary", "item_type"), [("run", "tool"), ("execute", "agent"), ("", ""), ("Execute", "tool")]
)
def test_unknown_words_are_refused(primary: str, item_type: str) -> None:
    with pytest.raises(ValueError, match="is not one of"):
        capability(primary, item_type, "*")
    with pytest.raises(UsageError):
        required_capability(primary, item_type, "a/b")


def test_what_an_action_asks_for() -> None:
    assert required_capability("execute", "tool", "rye/file-system/write") == "rye.execute.tool.rye.file-system.write"
    assert required_capability("search", "directive", None) == "rye.search.directive"
    with pytest.raises(UsageError, match="without one"):
        required_capability("load", "tool", None)


@pytest.mark.parametrize(
    "item_id", ["", "a.b", "a/../b", "A/b", "a//b", "*", "a/*", "/a", "a b", "a\n", "con/x", "a/" * 20 + "a"]
)
def test_an_id_outside_the_grammar_is_a_usage_error(item_id: str) -> None:
    with pytest.raises(UsageError) as caught:
        required_capability("execute", "tool", item_id)
    assert caught.value.exit_code == 2


@given(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,5}(/[a-z0-9][a-z0-9_-]{0,5}){0,3}", fullmatch=True))
def test_every_id_is_a_path_and_asks_for_what_it_grants(item_id: str) -> None:
    if is_id(item_id):
        assert is_path_pattern(item_id)
        assert capability("sign", "tool", item_id) == required_capability("sign", "tool", item_id)
