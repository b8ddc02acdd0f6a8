"""The table of kinds is consistent, and every kind's modules implement the protocols that its row promises."""

from __future__ import annotations

import re
from pathlib import PurePath

import pytest

from rye.items import bundle, kinds, knowledge
from rye.items.agent import closed_set as agent_set
from rye.items.agent import reader as agent
from rye.items.agent.model import Agent
from rye.items.bundle import Bundle
from rye.items.capabilities import ITEM_TYPES
from rye.items.directive import fix as directive_fix
from rye.items.directive import reader as directive
from rye.items.directive.model import Directive
from rye.items.formula import graph as formula_graph
from rye.items.formula import reader as formula
from rye.items.formula.model import Formula
from rye.items.identity import is_segment
from rye.items.kinds import KINDS, TABLE, Kind
from rye.items.knowledge import Knowledge
from rye.items.location import guess, item_name, locate
from rye.items.readers import Fixer, GraphReader, KindReader, PromptReader, SetRules
from rye.items.reading import ReadOptions, Source
from rye.items.role import closed_set as role_set
from rye.items.role import reader as role
from rye.items.role.model import Role
from rye.items.skill import reader as skill
from rye.items.skill.reader import Skill
from rye.items.tool import reader as tool
from rye.items.tool.reader import Tool
from rye.signing.signature_line import LAYOUTS, layout_of

# The type checker proves these: each module is its kind's reader, for its kind's own value.
_agent: KindReader[Agent] = agent
_bundle: KindReader[Bundle] = bundle
_directive: KindReader[Directive] = directive
_formula: KindReader[Formula] = formula
_knowledge: KindReader[Knowledge] = knowledge
_role: KindReader[Role] = role
_skill: KindReader[Skill] = skill
_tool: KindReader[Tool] = tool
_prompts: tuple[PromptReader[Agent], PromptReader[Knowledge], PromptReader[Role], PromptReader[Skill]] = (
    agent,
    knowledge,
    role,
    skill,
)
_sets: tuple[SetRules[Agent], SetRules[Knowledge], SetRules[Role]] = (agent_set, knowledge, role_set)
_graph: GraphReader[Formula] = formula_graph
_fixer: Fixer = directive_fix

ROWS = pytest.mark.parametrize("kind", TABLE, ids=lambda kind: str(kind.name))


def test_names_and_folders_are_item_names_and_unique() -> None:
    assert len({kind.name for kind in TABLE}) == len({kind.folder for kind in TABLE}) == len(TABLE)
    assert all(is_segment(kind.name) and is_segment(kind.folder) for kind in TABLE)


def test_the_view_follows_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(KINDS) == [kind.name for kind in TABLE]
    monkeypatch.setattr(kinds, "TABLE", TABLE[:2])
    assert (list(KINDS), len(KINDS), "skill" in KINDS, KINDS.in_folder("skills")) == (
        ["directive", "tool"],
        2,
        False,
        None,
    )
    monkeypatch.undo()
    assert "skill" in KINDS


def test_what_actions_name_are_kinds() -> None:
    assert set(ITEM_TYPES) == {"tool", "directive", "knowledge"}


def test_signs_are_tried_in_one_order() -> None:
    signs = [kind.sign for kind in TABLE if kind.sign is not None]
    assert len({sign.rank for sign in signs}) == len(signs)
    assert all(re.compile(sign.pattern) for sign in signs)


def test_an_ending_that_tells_its_kind_is_no_other_kinds() -> None:
    endings = [ending for kind in TABLE for ending in kind.endings]
    assert all(endings.count(ending) == 1 for kind in TABLE if kind.telling for ending in kind.endings)


@ROWS
def test_its_modules_do_what_its_row_says(kind: Kind) -> None:
    reader = kind.load()
    assert all(callable(getattr(reader, name)) for name in ("read", "as_json", "template"))
    assert (kind.load_prompt() is not None) == (kind.prompt == "text")
    assert kind.load_prompt() is None or callable(getattr(kind.load_prompt(), "prompt", None))
    for loaded, named, function in (
        (kind.load_set_rules(), kind.set_rules, "check_set"),
        (kind.load_fixer(), kind.fixer, "fix"),
        (kind.load_graph(), kind.graph, "as_mermaid"),
    ):
        assert (loaded is None) == (named is None)
        assert loaded is None or callable(getattr(loaded, function))


@ROWS
def test_every_ending_has_a_place_and_a_signature_line(kind: Kind) -> None:
    for ending, form in kind.formats.items():
        name = f"x/{ending}" if kind.main_file is not None else f"x{ending}"
        path = PurePath(".ai", kind.folder, *(["ops"] if kind.nested else []), name)
        place = locate(path)
        assert place is not None
        assert (place.kind, place.name, place.category) == (kind.name, "x", "ops" if kind.nested else "")
        assert item_name(kind, path) == "x"
        assert layout_of(kind.name, path.name) == LAYOUTS[form]


@ROWS
def test_a_new_item_is_read_and_known_outside_its_folder(kind: Kind) -> None:
    text = kind.load().template("thing", "ops" if kind.nested else "", "someone")
    ending = kind.endings[0]
    path = PurePath("thing", ending) if kind.main_file is not None else PurePath(f"thing{ending}")
    source = Source(text, str(path), "thing", "ops" if kind.nested else "", () if kind.main_file is not None else None)
    reading = kind.load().read(source, ReadOptions(publishing=True))
    assert reading.ok
    assert reading.value is not None
    assert kind.load().as_json(reading.value)
    found = guess(path, text)
    assert found is not None
    assert (found.kind, found.name) == (kind.name, "thing")
