"""Writing overrides: the written file reads back as intended, and changes nothing until a person edits it."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.customization.merge import merge
from rye.customization.override_file import read_overrides
from rye.customization.override_writing import described, directive_text, new_file, section_of, with_directive
from rye.errors import RyeError
from tests.customization.override_text import BASE

FILE = new_file("sage", "1.0", date(2026, 1, 2))


def test_a_new_file_is_complete_and_changes_nothing() -> None:
    reading = read_overrides(FILE)
    assert reading.diagnostics == ()
    assert reading.file is not None
    assert (reading.file.agent, reading.file.base_version, reading.file.directives) == ("sage", "1.0", ())
    assert merge(BASE, FILE).output == BASE


@pytest.mark.parametrize("value", ['say "x"', "back\\slash", "a: b # c", "1.0", "~", "line\nbreak", "ta\tb"])
def test_fields_come_back_as_they_were(value: str) -> None:
    reading = read_overrides(new_file(value, value, date(2026, 1, 2)))
    assert reading.file is not None
    assert (reading.file.agent, reading.file.base_version) == (value, value)


@pytest.mark.parametrize("target", ["# Identity", "## Rules", "### Detail", "# Identity > ## Rules > ### Detail"])
def test_replacing_a_section_by_itself_changes_nothing(target: str) -> None:
    text = with_directive(FILE, directive_text("replace", target, "why", section_of(BASE, target)))
    result = merge(BASE, text)
    assert result.output == BASE
    assert result.diagnostics == ()


def test_a_section_ends_where_the_merge_says_it_ends() -> None:
    assert section_of(BASE, "## Rules") == ["## Rules", "", "Old rules.", "", "### Detail", "", "Old detail."]


def test_a_missing_section_names_the_nearest() -> None:
    with pytest.raises(RyeError) as raised:
        section_of(BASE, "## Ruels")
    assert "'## Rules'" in (raised.value.hint or "")
    with pytest.raises(RyeError):
        section_of(BASE, "# Closing > ## Rules")


@pytest.mark.parametrize("text", ["<!-- DIRECTIVE: replace", "x <!-- END DIRECTIVE\u200b --> y"])
def test_text_that_a_directive_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(RyeError):
        directive_text("replace", "## Rules", "why", ["## Rules", text])


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines", "esc\x1b[2J"])
def test_a_reason_is_one_printable_line(reason: str) -> None:
    with pytest.raises(RyeError):
        directive_text("append", "## Rules", reason)


@pytest.mark.parametrize("reason", ["because -->", '"quoted"', "'q", "a: b", "#x", "$(touch x)"])
def test_any_reason_is_read_back_word_for_word(reason: str) -> None:
    reading = read_overrides(with_directive(FILE, directive_text("append", "## Rules", reason, ["x"])))
    assert reading.file is not None
    assert [each.reason for each in reading.file.directives] == [reason]


def test_a_file_keeps_its_line_form() -> None:
    text = with_directive("\ufeff" + FILE.replace("\n", "\r\n"), directive_text("append", "## Rules", "why", ["x"]))
    assert text.startswith("\ufeff")
    assert text.count("\n") == text.count("\r\n")
    with pytest.raises(RyeError):
        with_directive("rejected", directive_text("append", "## Rules", "why", ["x"]))


def test_who_a_base_is() -> None:
    assert described(BASE, "file", "9") == ("sage", "1.0")
    assert described("# No frontmatter\n", "file", "9") == ("file", "9")
    assert described("---\nversion: 2\n---\n", "file", None) == ("file", "2")
    assert described("text", "file", None) == ("file", "unknown")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text(alphabet=st.sampled_from("ab #`~<!->\t"), max_size=12), max_size=8))
def test_any_section_can_be_replaced_by_itself_or_is_refused(lines: list[str]) -> None:
    base = "# A\n\n## B\n\n" + "\n".join(lines) + "\n\n## C\n\nEnd.\n"
    try:
        text = with_directive(FILE, directive_text("replace", "## B", "why", section_of(base, "## B")))
    except RyeError:
        return
    assert merge(base, text).output == base
