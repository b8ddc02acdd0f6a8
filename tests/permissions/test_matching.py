"""Whether an action is allowed (DESIGN §7; DECISIONS Directives 16, 17)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.permissions.matching import allowed_by, check

WRITE = ("execute", "tool", "rye/file-system/write")


def test_a_capability_matches_the_whole_string() -> None:
    decision = check([["rye.load.*", "rye.execute.tool.rye.file-system.*"]], *WRITE)
    assert decision.as_json() == {
        "allowed": True,
        "required": "rye.execute.tool.rye.file-system.write",
        "by": "rye.execute.tool.rye.file-system.*",
        "levels": ["rye.execute.tool.rye.file-system.*"],
    }


@pytest.mark.parametrize(
    "capability",
    [
        *(
            "rye.execute.tool.rye.file-system",
            "rye.execute.tool.rye.file-system.writ",
            "execute.tool.rye.file-system.write",
        ),
        *(
            "rye.execute.tool.rye.file_system.*",
            "Rye.execute.*",
            "rye.execute.tool.rye/file-system/*",
            "rye.execute.directive.*",
        ),
        *("rye.execute.tool.rye.file-system.write.*", "rye.execute.tool.rye.file-system.?", ""),
    ],
)
def test_near_misses_deny(capability: str) -> None:
    decision = check([[capability]], *WRITE)
    assert not decision.allowed
    assert decision.by is None


def test_nothing_declared_denies_everything() -> None:
    assert not check([[]], *WRITE).allowed
    assert not check([], *WRITE).allowed
    assert not check([[]], "search", "tool").allowed


def test_no_prefix_is_exempt() -> None:
    assert not check([["rye.load.*"]], "execute", "tool", "rye/agent/threads/internal/limit_checker").allowed


def test_a_chain_is_a_conjunction() -> None:
    wide, narrow = ["rye.*"], ["rye.execute.tool.rye.file-system.*"]
    assert check([wide, narrow], *WRITE).by == narrow[0]
    assert check([narrow, wide], *WRITE).by == "rye.*"
    denied = check([wide, ["rye.load.*"], wide], *WRITE)
    assert not denied.allowed
    assert denied.by is None
    assert denied.levels == ("rye.*", None, "rye.*")
    assert not check([[], wide], *WRITE).allowed


def test_no_pattern_arithmetic_in_a_chain() -> None:
    """Two levels together allow only what both allow, each by any one of its patterns."""
    assert check([["*write", "*read"], ["rye.execute.tool.rye.*"]], *WRITE).allowed
    assert not check([["*read"], ["*write"]], *WRITE).allowed


@pytest.mark.parametrize(
    ("capability", "allowed"),
    [
        ("rye.search.tool.*", True),
        ("rye.search.tool", True),
        ("rye.search.to[o]l", True),
        ("rye.search.tool*", True),
        ("rye.search.*", True),
        ("rye.*", True),
        ("*", True),
        ("rye.s*", True),
        ("rye.search.tool.**", True),
        ("rye.search.tool.acme.*", False),
        ("rye.search.tool.[a-z]*", False),
        ("rye.search.tool.?*", False),
        ("rye.search.t*l", False),
        ("rye.search.tool.", False),
        ("rye.search.directive.*", False),
        ("rye.load.tool.*", False),
        ("rye.search", False),
        ("rye.search.[z-a]", False),
        ("[z-a]*", False),
    ],
)
def test_a_search_without_an_id_needs_the_whole_type(capability: str, allowed: bool) -> None:
    decision = check([[capability]], "search", "tool")
    assert decision.required == "rye.search.tool"
    assert decision.allowed is allowed
    assert decision.by == (capability if allowed else None)


def test_one_capability_must_cover_the_search_not_two_together() -> None:
    assert not check(
        [["rye.search.tool.[a-m]*", "rye.search.tool.[!a-m]*", "rye.search.tool."]], "search", "tool"
    ).allowed


def test_a_search_with_an_id_is_an_ordinary_action() -> None:
    assert check([["rye.search.tool.acme.*"]], "search", "tool", "acme/x").allowed


def test_dashes_and_underscores_stay_different() -> None:
    assert check([["rye.load.tool.a-b"]], "load", "tool", "a-b").allowed
    assert not check([["rye.load.tool.a-b"]], "load", "tool", "a_b").allowed


@pytest.mark.parametrize("item_id", ["../etc", "a.b", "*", "A"])
def test_an_id_that_is_none_is_a_usage_error(item_id: str) -> None:
    with pytest.raises(UsageError):
        check([["rye.*"]], "execute", "tool", item_id)


def test_an_id_is_required_but_for_searches() -> None:
    with pytest.raises(UsageError):
        check([["rye.*"]], "execute", "tool")


@given(st.lists(st.lists(st.sampled_from(["rye.*", "rye.load.*", "*x", "rye.execute.tool.*"]), max_size=3), max_size=4))
def test_a_longer_chain_never_allows_more(chain: list[list[str]]) -> None:
    longer = check([*chain, ["rye.execute.tool.*"]], "execute", "tool", "a/x").allowed
    if chain:
        assert not longer or check(chain, "execute", "tool", "a/x").allowed
    assert check(chain, "execute", "tool", "a/x").allowed is (
        bool(chain) and all(allowed_by(level, "rye.execute.tool.a.x") for level in chain)
    )
