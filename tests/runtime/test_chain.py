"""A chain of callers allows only what every caller allows, and it can only grow (design: agents 3, rule 3; DESIGN 7)."""

from __future__ import annotations

import pytest

from rye.runtime.chain import READ_ONLY, Chain, allows, capability_of, decide
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
