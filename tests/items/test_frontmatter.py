"""Where frontmatter ends (DECISIONS Agents 1 and 12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.text.frontmatter import Frontmatter, FrontmatterError, frontmatter_end, has_frontmatter, split

LATER = "<!-- rye:signed:2026-03-01T00:00:00Z:" + "a" * 64 + ":" + "b" * 86 + "==:" + "c" * 64 + " -->"


def test_the_block_and_the_body_know_their_lines() -> None:
    assert split("---\na: 1\n---\nbody\n") == Frontmatter("a: 1", 2, "body\n", 4)


def test_markers_may_have_trailing_blanks() -> None:
    assert split("---  \na: 1\n---\t\nbody").yaml == "a: 1"


def test_a_signature_inside_the_block_is_a_comment_of_it() -> None:
    assert split("---\n# rye:signed:x\na: 1\n---\n").yaml == "# rye:signed:x\na: 1"


def test_the_later_form_of_signature_may_stand_above() -> None:
    assert split(f"{LATER}\n---\na: 1\n---\nx") == Frontmatter("a: 1", 3, "x", 5)


@pytest.mark.parametrize(
    "line", [LATER[: -len("c" * 48 + " -->")] + " -->", "<!-- rye:signed:TIMESTAMP:placeholder:unsigned:unsigned -->"]
)
def test_a_line_that_is_no_signature_there_still_lets_the_file_be_read(line: str) -> None:
    """DESIGN §4: it is ignored there; signing the file moves it."""
    assert split(f"{line}\n---\na: 1\n---\nx") == Frontmatter("a: 1", 3, "x", 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n---\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "----\na\n----\n",
        "# T\n---\na: 1\n---\n",
        "<!-- x -->\n---\na: 1\n---\n",
    ],
)
def test_anything_else_on_line_1_is_an_error(text: str) -> None:
    assert not has_frontmatter(text)
    with pytest.raises(FrontmatterError) as caught:
        split(text)
    assert caught.value.line == 1


def test_an_open_block_is_an_error() -> None:
    assert has_frontmatter("---\na: 1\n")
    with pytest.raises(FrontmatterError, match="not closed"):
        split("---\na: 1\n ---\n----\n--- x\n")


@given(st.text(alphabet="-ab \n", max_size=60))
def test_the_parts_are_the_lines_of_the_file(text: str) -> None:
    try:
        parts = split(text)
    except FrontmatterError:
        return
    lines = text.split("\n")
    assert parts.yaml.split("\n") == lines[1 : parts.body_line - 2] or parts.yaml == ""
    assert parts.body.split("\n") == lines[parts.body_line - 1 :] or parts.body == ""


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("---\na: 1\n---\nb", 0, 3),
        ("--- \t\n---\t", 0, 2),
        ("---\n----\n --- \n---x\n---", 0, 5),
        ("x\n---\na\n---", 1, 4),
        ("---\na: 1", 0, None),
        ("x\n---\na\n---", 0, None),
        ("---", 0, None),
        ("", 0, None),
        ("---\r\n---\r", 0, None),
    ],
)
def test_frontmatter_ends_at_the_next_line_of_three_dashes(text: str, start: int, end: int | None) -> None:
    assert frontmatter_end(text.split("\n"), start) == end
