"""What a text names and what is here: what counts as named, and what as present."""

from __future__ import annotations

import pytest
from msgspec import Struct

from rye.items import named
from rye.items.kinds import KINDS
from rye.items.named import AbsentItem, ItemNames, called
from rye.items.reading import ReadOptions, Source
from rye.items.rights import Call, Permission
from rye.limits import CONTENT
from tests.scenes.directive_text import directive

HERE = (("tool", "acme/text/count", "text/count"), ("directive", "acme/work/other", "work/other"))


class Hook(Struct, frozen=True):
    item_type: str
    item_id: str
    line: int = 9


class Text(Struct, frozen=True):
    permissions: tuple[Permission, ...] = ()
    calls: tuple[Call, ...] = ()
    hooks: tuple[Hook, ...] = ()


def calling(kind: str | None, item_id: str | None, primary: str = "execute") -> Text:
    return Text(calls=(Call(primary, kind, item_id, 4, 1),))


def absent(text: Text, here: ItemNames) -> tuple[AbsentItem, ...]:
    return here.lacks(called(text.calls, text.permissions, text.hooks))


def names(text: Text, *, provided: tuple[str, ...] = ()) -> list[str]:
    return [one.name for one in absent(text, ItemNames(HERE, provided))]


@pytest.mark.parametrize(
    ("kind", "item_id"), [("tool", "acme/text/none"), ("directive", "acme/text/count"), ("tool", "none")]
)
def test_what_is_not_here_is_absent_and_a_name_of_another_kind_is_not_here(kind: str, item_id: str) -> None:
    assert names(calling(kind, item_id)) == [f"{kind}:{item_id}"]
    assert names(calling(kind, item_id, "load")) == [f"{kind}:{item_id}"]


@pytest.mark.parametrize("item_id", ["acme/text/count", "text/count", "count"])
def test_every_name_that_a_look_up_takes_is_present(item_id: str) -> None:
    assert names(calling("tool", item_id)) == []


def test_hyphen_and_underscore_are_one_letter() -> None:
    here = ItemNames([("tool", "acme/text/word-count", "text/word-count")])
    assert absent(calling("tool", "acme/text/word_count"), here) == ()


@pytest.mark.parametrize("item_id", ["{input:tool}", "acme/text/<name>", "acme/...", None])
def test_what_is_known_only_at_run_time_names_nothing(item_id: str | None) -> None:
    assert names(calling("tool", item_id)) == []
    assert names(calling(None, "acme/text/none")) == []


def test_a_search_and_a_signature_need_no_item() -> None:
    assert names(calling("tool", "acme/text/none", "search")) == []
    assert names(calling("directive", "acme/text/none", "sign")) == []


@pytest.mark.parametrize(
    "capability", ["rye.*", "rye.execute.*", "rye.execute.tool.acme.*", "rye.execute.tool.acme.text.n?ne"]
)
def test_a_pattern_names_nothing(capability: str) -> None:
    assert names(Text(permissions=(Permission(capability, 3, 1),))) == []


def test_a_right_without_a_pattern_and_a_hook_name_an_item() -> None:
    text = Text((Permission("rye.execute.tool.acme.text.none", 3, 1),), (), (Hook("directive", "acme/work/none"),))
    assert [(one.name, one.line) for one in absent(text, ItemNames(HERE))] == [
        ("tool:acme/text/none", 3),
        ("directive:acme/work/none", 9),
    ]


def test_one_item_is_named_once_where_it_is_called() -> None:
    text = Text((Permission("rye.execute.tool.acme.text.none", 3, 1),), calling("tool", "acme/text/none").calls * 2)
    (one,) = absent(text, ItemNames(HERE))
    assert (one.line, one.verb) == (4, "calls")
    assert "rye add tool:acme/text/none" in one.hint


@pytest.mark.parametrize("provided", ["acme/text/none", "tool:acme/text/none"])
def test_what_the_agent_program_provides_is_present(provided: str) -> None:
    assert names(calling("tool", "acme/text/none"), provided=(provided,)) == []
    assert names(calling("directive", "acme/text/other"), provided=("tool:acme/text/other",)) == [
        "directive:acme/text/other"
    ]


def named_in(kind: str, name: str, text: str) -> list[tuple[str, int | None, str]]:
    path = f"{name}{KINDS[kind].endings[0]}"
    metadata = KINDS[kind].load().read(Source(text, path, name), ReadOptions()).metadata
    assert metadata is not None
    return [(f"{one.kind}:{one.id}", one.line, one.verb) for one in metadata.names]


AGENT = """---
name: developer
whenToUse: Use it.
transitions:
  onSuccess: tester
  onFailure: developer
  onMaxIterations: complete
---

## System Prompt

Write it.
"""
FORMULA = """formula = "release"
version = 1
extends = ["base"]

[compose]
aspects = ["careful"]

[[compose.expand]]
target = "test"
with = "twice"

[[steps]]
id = "test"
"""


def test_an_agent_names_who_takes_over() -> None:
    assert named_in("agent", "developer", AGENT) == [("agent:tester", 5, "hands over to")]


def test_a_role_names_whom_it_hands_off_to_but_not_the_nexus() -> None:
    text = template_of("role", "verifier").replace(
        "**You hand off to:** Nexus (report)", "**You hand off to:** the Release Manager (report), Nexus, all agents"
    )
    (one,) = named_in("role", "verifier", text)
    assert (one[0], one[2]) == ("role:release-manager", "hands over to")
    assert named_in("role", "verifier", template_of("role", "verifier")) == []


def test_a_formula_names_what_it_is_made_from() -> None:
    made = [("formula:base", None, "is made from"), ("formula:twice", None, "is made from")]
    assert named_in("formula", "release", FORMULA) == [*made, ("formula:careful", None, "is made from")]


def template_of(kind: str, name: str) -> str:
    return KINDS[kind].load().template(name, "notes", None)


def test_a_directive_names_what_it_calls() -> None:
    text = directive("work/clean", "1.0.0", permissions="<execute><tool>acme.text.count</tool></execute>")
    assert [name for name, _, _ in named_in("directive", "clean", text)] == ["tool:acme/text/count"]


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS.values() if not kind.names_items])
def test_the_other_kinds_name_items_by_relations_only(kind: str) -> None:
    assert named_in(kind, "one", template_of(kind, "one")) == []


def test_every_kind_that_names_items_is_in_the_table() -> None:
    rows = {
        line.split()[0]
        for line in (named.__doc__ or "").splitlines()
        if line[:1].isalpha() and line.split()[0] in KINDS
    }
    assert rows == {kind.name for kind in KINDS.values() if kind.names_items}


def test_a_bare_name_is_one_of_the_same_namespace_in_the_command_that_adds_it() -> None:
    one = AbsentItem("agent", "tester", 5, "hands over to")
    assert "rye add agent:acme/tester" in one.within("acme").hint
    assert "rye search tester" in one.within(None).hint
    assert one.within("acme").message.endswith("agent:acme/tester, which is not installed.")


def test_what_one_text_names_is_bounded() -> None:
    calls = tuple(Call("load", "tool", f"acme/text/t{number}", number, 1) for number in range(2000))
    assert len(called(calls, (), ())) == CONTENT.named_items
