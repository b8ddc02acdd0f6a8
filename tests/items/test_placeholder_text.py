"""What ``rye new`` leaves for its author to replace is reported until it is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.items.kinds import KINDS
from rye.items.placeholder_text import PHRASES, placeholder_text
from tests.scenes.shared_data import shared

TEMPLATES = {kind.name: kind.load().template("thing", "cat" if kind.nested else "", "me") for kind in KINDS.values()}


@pytest.mark.parametrize("kind", list(TEMPLATES))
def test_every_template_has_some(kind: str) -> None:
    found = placeholder_text(TEMPLATES[kind])
    assert found
    assert {(one.severity, one.code) for one in found} == {("warning", "placeholder-text")}
    lines = TEMPLATES[kind].split("\n")
    assert all(any(phrase in lines[one.line - 1] for phrase in PHRASES) for one in found if one.line is not None)


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_is_in_a_template(phrase: str) -> None:
    assert any(phrase in text for text in TEMPLATES.values())


def test_an_item_of_somebodys_own_words_has_none() -> None:
    assert (
        placeholder_text("# Count words\n\nSay what you found, and where. What the tool does is in its docstring.\n")
        == ()
    )


def test_a_text_full_of_it_lists_the_first_lines() -> None:
    assert [one.line for one in placeholder_text("Say what to do first.\n" * 5_000)] == list(range(1, 11))


def test_real_items_have_none() -> None:
    corpus = shared("corpus")
    wrong = [
        (path, one.line)
        for path in sorted(corpus.rglob("*"))
        if path.is_file() and path.suffix in (".md", ".toml", ".py", ".txt", ".yaml", ".js", ".sh")
        for one in placeholder_text(path.read_text("utf-8", "replace"))
    ]
    assert wrong == []


def test_our_own_items_have_none() -> None:
    own = Path(__file__).parents[2] / ".ai"
    assert [path for path in own.rglob("*.md") if placeholder_text(path.read_text("utf-8"))] == []
