"""Where a text names an item."""

from __future__ import annotations

import pytest

from rye.items.mentions import mentions_of, names_in, words_on


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ('"tool:acme/fs/write" = "*"', ["acme/fs/write"]),
        ("acme/fs/write, acme/fs/write.", ["acme/fs/write"] * 2),
        ("acme/fs/writer x/acme/fs/write skill:acme/fs/write acme/fs/write/more", []),
        ("rye.execute.tool.acme.fs.write", ["acme.fs.write"]),
        ("rye.execute.tool.acme.fs.writer rye.load.skill.acme.fs.write rye.execute.tool.acme.fs.*", []),
        ("acme/fs/write_it acme/fs/write-it", []),
        ("", []),
    ],
)
def test_only_the_whole_id_of_that_kind_is_found(text: str, spans: list[str]) -> None:
    assert [text[start:end] for start, end in mentions_of(text, "tool", "acme/fs/write")] == spans


def test_dash_and_underscore_are_one_letter() -> None:
    text = "acme/fs/read-file acme/fs/read_file rye.load.tool.acme.fs.read_file"
    assert len(mentions_of(text, "tool", "acme/fs/read_file")) == 3


def test_an_id_without_a_kind_can_be_left_out() -> None:
    text = "acme/plan tool:acme/plan skill:acme/plan rye.execute.tool.acme.plan"
    spans = mentions_of(text, "tool", "acme/plan", with_kind=True)
    assert [text[start - 5 : end] for start, end in spans] == ["tool:acme/plan", "tool.acme.plan"]


@pytest.mark.parametrize(
    ("line", "found"), [(1, 1), (2, 2), (3, 0), (99, 0), (None, 1)], ids=["first", "twice", "other", "beyond", "quoted"]
)
def test_a_word_is_found_on_its_line_or_in_quotation_marks(line: int | None, found: int) -> None:
    text = "to: plan\r\nplan, 'plan'\nplanner plan-b x/plan\n"
    spans = words_on(text, line, "plan")
    assert [text[start:end] for start, end in spans] == ["plan"] * found


def test_a_name_is_found_as_files_and_as_people_write_it() -> None:
    text = "name: code-review\n# Code Review\ncode-reviewer, my-code-review"
    assert [text[start:end] for start, end in names_in(text, "code-review")] == ["code-review", "Code Review"]
