"""A chain of callers allows only what every caller allows, and it can only grow (design: agents 3, rule 3; DESIGN 7)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.permissions.containment import TooComplex
from rye.permissions.containment import find as real
from rye.runtime.chain import READ_ONLY, Chain, LevelDecision, allows, capability_of, decide
from tests.runtime.simulated_world import level

RUN_TOOL = "rye.execute.tool.acme.fs.write"


def test_every_level_must_allow_it_and_each_says_by_which_right() -> None:
    chain = Chain((level("acme/root", "rye.execute.tool.acme.*"), level("acme/child", "rye.execute.tool.acme.fs.*")))
    decision = decide(chain, RUN_TOOL)
    assert decision.allowed
    assert [one.as_json() for one in decision.levels] == [
        {"id": "directive:acme/root@1.0.0", "by": "rye.execute.tool.acme.*"},
        {"id": "directive:acme/child@1.0.0", "by": "rye.execute.tool.acme.fs.*"},
    ]
    assert decision.by == "rye.execute.tool.acme.fs.*"


@pytest.mark.parametrize("without", [0, 1])
def test_one_level_that_denies_is_enough(without: int) -> None:
    levels = [level("acme/root", "rye.*"), level("acme/child", "rye.*")]
    levels[without] = level("acme/poor", "rye.load.*")
    decision = decide(Chain(tuple(levels)), RUN_TOOL)
    assert not decision.allowed
    assert decision.by is None
    assert decision.denied_by == "directive:acme/poor@1.0.0"


def test_an_empty_chain_denies() -> None:
    assert not decide(Chain(()), RUN_TOOL).allowed
    assert not allows(Chain(()), "load", "knowledge", "acme/notes/style")


def test_pushing_gives_a_longer_chain_and_leaves_the_old_one() -> None:
    short = Chain((level("acme/root", "rye.*"),))
    long = short.push(level("acme/child", "rye.load.*"))
    assert decide(short, RUN_TOOL).allowed
    assert not decide(long, RUN_TOOL).allowed
    assert not decide(long.push(level("acme/grandchild", "rye.*")), RUN_TOOL).allowed
    assert not any(name in dir(Chain) for name in ("pop", "remove", "clear"))


def test_a_right_to_some_ids_searches_and_no_right_at_all_does_not() -> None:
    some = Chain((level("acme/root", "rye.search.tool.acme.*"),))
    assert decide(some, capability_of("search", "tool")).allowed
    assert allows(some, "search", "tool", "acme/fs/write")
    assert not allows(some, "search", "tool", "other/fs/write")
    assert not decide(some, capability_of("search", "knowledge")).allowed


def test_a_right_to_search_a_kind_finds_each_of_its_items() -> None:
    chain = Chain((level("acme/root", "rye.search.tool"),))
    assert decide(chain, "rye.search.tool").allowed
    assert allows(chain, "search", "tool", "acme/fs/write")
    assert not allows(chain, "load", "tool", "acme/fs/write")


def test_two_levels_that_may_search_different_ids_find_nothing_together() -> None:
    chain = Chain((level("acme/root", "rye.search.tool.acme.*"), level("acme/child", "rye.search.tool.other.*")))
    assert decide(chain, "rye.search.tool").allowed
    assert not allows(chain, "search", "tool", "acme/fs/write")


def test_a_run_without_an_item_searches_and_loads_every_kind_and_executes_nothing() -> None:
    chain = Chain((READ_ONLY,))
    assert allows(chain, "load", "skill", "acme/pdf")
    assert allows(chain, "search", "knowledge", "acme/notes/style")
    assert not allows(chain, "execute", "knowledge", "acme/notes/style")
    assert not allows(chain, "sign", "directive", "acme/work/ship")


def test_dashes_and_underscores_differ_in_rights() -> None:
    assert not allows(
        Chain((level("acme/root", "rye.load.tool.acme.file_system"),)), "load", "tool", "acme/file-system"
    )


@pytest.mark.parametrize("item_id", ["../x", "acme/../x", "acme.x", "", "a b", "ACME/x", "acme/x*"])
def test_what_is_no_id_names_no_action(item_id: str) -> None:
    with pytest.raises(ValueError, match="is not an id"):
        capability_of("load", "tool", item_id)


def test_a_level_is_named_with_its_version_if_it_has_one() -> None:
    one = level("acme/root", "rye.*")
    assert one.label == "directive:acme/root@1.0.0"
    assert replace(one, version=None).label == "directive:acme/root"
    assert (READ_ONLY.label, READ_ONLY.rights) == ("operator:read-only", ("rye.load.*", "rye.search.*"))
    assert READ_ONLY.sha256 == "0" * 64


def test_a_chain_knows_its_root_its_caller_and_its_depth() -> None:
    levels = [level(f"acme/{name}", "rye.*") for name in ("root", "child", "grandchild")]
    chain = Chain((levels[0],))
    assert (chain.root, chain.caller, chain.depth) == (levels[0], levels[0], 0)
    for number, each in enumerate(levels[1:], 1):
        chain = chain.push(each)
        assert (chain.root, chain.caller, chain.depth) == (levels[0], each, number)
    assert chain.levels == tuple(levels)


def test_the_first_level_that_denies_is_named() -> None:
    chain = Chain((level("acme/root", "rye.*"), level("acme/poor"), level("acme/poorer")))
    decision = decide(chain, RUN_TOOL)
    assert decision.denied_by == "directive:acme/poor@1.0.0"
    assert decision.levels[2] == LevelDecision("directive:acme/poorer@1.0.0", None)
    assert decision.required == RUN_TOOL
    assert decide(Chain((level("acme/root", "rye.*"),)), RUN_TOOL).denied_by is None


@pytest.mark.parametrize(
    ("primary", "kind", "item_id", "said"),
    [
        ("run", "tool", "acme/a/b", "'run' is not one of execute, search, load, sign"),
        ("load", "x" * 90, "acme/a/b", f"'{'x' * 80}' is not one of directive, "),
        ("load", "tool", None, "only a search can be without an id"),
        ("execute", "tool", None, "only a search can be without an id"),
        ("search", "tool", "X" * 90, f"'{'X' * 80}' is not an id"),
    ],
)
def test_what_names_no_action_is_said(primary: str, kind: str, item_id: str | None, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        capability_of(primary, kind, item_id)


def test_an_action_is_named_with_dots() -> None:
    assert capability_of("execute", "tool", "acme/fs/write") == RUN_TOOL
    assert capability_of("search", "tool") == "rye.search.tool"
    assert capability_of("search", "tool", "acme/fs/write") == "rye.search.tool.acme.fs.write"


def test_only_a_search_without_an_id_is_decided_by_what_it_can_find() -> None:
    chain = Chain((level("acme/root", "rye.search.tool.acme.*", "rye.load.tool.acme.*", "x.search.tool.acme.*"),))
    assert decide(chain, "rye.search.tool").by == "rye.search.tool.acme.*"
    for capability in ("rye.load.tool", "rye.search", "x.search.tool", "rye.search.tool.other", "rye.search.directive"):
        assert decide(chain, capability).allowed is False
    whole = Chain((level("acme/root", "rye.search.tool.acme.*", "rye.search.tool"),))
    assert decide(whole, "rye.search.tool").by == "rye.search.tool"


def test_a_right_to_search_finds_nothing_for_another_action() -> None:
    chain = Chain((level("acme/root", "rye.search.tool"),))
    for primary in ("execute", "load", "sign"):
        assert allows(chain, primary, "tool", "acme/fs/write") is False
    both = chain.push(level("acme/child", "rye.search.tool.acme.fs.write"))
    assert allows(both, "search", "tool", "acme/fs/write") is True
    assert allows(both.push(level("acme/other", "rye.load.*")), "search", "tool", "acme/fs/write") is False


def test_a_right_to_one_item_reaches_its_kind() -> None:
    chain = Chain((level("acme/root", "rye.search.tool.acme.fs.write"),))
    assert decide(chain, "rye.search.tool").by == "rye.search.tool.acme.fs.write"


def test_a_right_that_is_too_complex_to_compare_reaches_nothing_and_the_next_one_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find(wanted: list[str], *given: Any, **named: Any) -> str | None:
        if wanted[0] == "rye.search.tool.hard*":
            raise TooComplex
        return real(wanted, *given, **named)

    monkeypatch.setattr("rye.runtime.chain.find", find)
    hard = level("acme/root", "rye.search.tool.hard*")
    assert decide(Chain((hard,)), "rye.search.tool").allowed is False
    also = level("acme/root", "rye.search.tool.hard*", "rye.search.tool.other.*")
    assert decide(Chain((also,)), "rye.search.tool").by == "rye.search.tool.other.*"
