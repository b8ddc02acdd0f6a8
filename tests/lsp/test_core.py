"""The pure core of the language server: positions in a text, what is at them, and which span a finding covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.lsp.cursor import cursor_at, inputs_of, word_at
from rye.lsp.explanations import explained_capability
from rye.lsp.positions import Encoding, Text
from rye.lsp.ranges import span_of
from rye.lsp.repairs import repairs_of, whole_file
from rye.text import content
from rye.text.diagnostics import Diagnostic

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(st.sampled_from("ab\n\r\u2028\x0b😀é\u200b<>\"'{}:/"), max_size=60)


@given(TEXTS, st.integers(0, 70), st.sampled_from(ENCODINGS))
def test_a_place_leads_back_to_its_offset_but_for_the_ends_of_lines(text: str, offset: int, encoding: Encoding) -> None:
    one = Text(text, encoding)
    offset = min(offset, len(text))
    back = one.offset(*one.place(offset))
    if offset < len(text) and text[offset] == "\n" and text[offset - 1 : offset] == "\r":
        assert back in (offset, offset - 1)  # there is no position between CR and LF
    else:
        assert back == offset


@given(TEXTS, TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_a_change_between_places_is_the_change_between_their_offsets(text: str, new: str, a: int, b: int) -> None:
    one = Text(text)
    first, last = sorted((min(a, len(text)), min(b, len(text))))
    places = one.place(first), one.place(last)
    begin, end = one.offset(*places[0]), one.offset(*places[1])
    assert one.changed(*places, new).text == text[:begin] + new + text[end:]


@given(TEXTS)
def test_lines_of_a_client_end_with_lf_crlf_and_cr_alone(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    assert len(Text(text).starts) == plain.count("\n") + 1


@given(TEXTS, st.booleans())
def test_a_finding_of_a_hidden_character_is_that_character_in_the_editors_text(text: str, bom: bool) -> None:
    """For any line endings and byte order marks: the positions of :mod:`rye.text.content` refer to a different text."""
    raw = ("\ufeff" if bom else "") + text
    one = Text(raw)
    for found in content.decode(raw.encode()).diagnostics:
        start, end = span_of(one, found)
        if found.code == "C06":
            assert raw[start:end] == "\u200b"
        if found.code == "C11":
            assert raw[start:end] == "\u2028"


def test_places_behind_the_text_are_its_ends() -> None:
    text = Text("a\nbb")
    assert text.offset(9, 9) == 4
    assert text.offset(0, 9) == 1
    assert text.offset(-1, 0) == 0
    assert text.own_offset(9, 9) == 4
    assert text.place(99) == (1, 2)


OPEN = '# T\n\n```xml\n<directive name="x">\n  <metadata>\n    <permissions>\n      <execute><tool>ac'


def test_the_open_elements_are_known_whatever_is_behind() -> None:
    for tail in ("", "</nonsense>", "\n```\n<process>", '"' * 100):
        cursor = cursor_at(OPEN + tail, len(OPEN))
        assert (cursor.what, cursor.begun) == ("text", "ac")
        assert cursor.path == ("directive", "metadata", "permissions", "execute", "tool")


@pytest.mark.parametrize(
    ("inside", "what", "begun"),
    [
        ("<!-- <me", "none", ""),
        ("<![CDATA[ <me", "none", ""),
        ("<!-- x --><me", "element", "me"),
        ("<metadata", "element", "metadata"),
        ("<metadata ", "attribute", ""),
        ('<metadata a="<" b', "none", ""),
        ("<metadata x='y\" z", "value", 'y" z'),
        ("</", "element", ""),
        ("<a>" * 100 + "<b", "none", ""),
        ("{input:na", "placeholder", "na"),
    ],
)
def test_what_is_begun_is_told_by_its_form(inside: str, what: str, begun: str) -> None:
    text = f"```xml\n<directive>{inside}"
    cursor = cursor_at(text, len(text))
    assert (cursor.what, cursor.begun) == (what, begun)


def test_a_step_that_ended_long_before_makes_no_difference() -> None:
    head = "```xml\n<directive></directive>\n```\n<process>\n"
    steps = '<step name="x">text</step>\n' * 50
    for text in (head + steps + '<step name="y"><exec', head + '<step name="y"><exec'):
        cursor = cursor_at(text, len(text))
        assert (cursor.what, cursor.path) == ("element", ("process", "step"))


PIECES = [*list("<>/ab=\"' \n`~-!{}[]"), "```xml\n", "<directive>", "</a>", "<!--", "rye."]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_no_text_keeps_the_core_from_answering(text: str) -> None:
    for offset in range(0, len(text) + 1, 7):
        cursor = cursor_at(text, offset)
        assert text[cursor.start : cursor.start + len(cursor.begun)] == cursor.begun
        word_at(text, offset)
    inputs_of(text)


def test_inputs_are_known_in_xml_that_is_broken() -> None:
    text = (
        '```xml\n<directive><inputs><input name="one" type="string"><input type="integer" name=\'two\'/></oops>\n```\n'
    )
    assert inputs_of(text) == {"one": "string", "two": "integer"}
    assert inputs_of("no fence") == {}


def test_a_capability_is_said_in_words() -> None:
    assert explained_capability("rye.*").endswith("Tier: unrestricted (it may do anything).")
    every = "May read the text of every knowledge item, whoever publishes it, now and later."
    assert every in explained_capability("rye.load.knowledge.*")
    assert "Tier: safe" in explained_capability("rye.load.knowledge.acme.x")
    assert "May sign every item, whoever publishes it, now and later." in explained_capability("rye.sign.*")


@given(TEXTS, TEXTS)
def test_the_edit_of_a_whole_file_makes_the_fixed_text(old: str, fixed: str) -> None:
    (edit,) = whole_file(Text(old), fixed, ("Changed.",)).edits
    assert old[: edit.start] + edit.text + old[edit.end :] == fixed


def test_an_element_is_renamed_at_both_ends() -> None:
    text = "<a><b>x</b><b/></a>"
    finding = Diagnostic("warning", "D011", "`<a>` is unknown in `<x>`.", 1, 1, "Did you mean `<c>`?")
    (repair,) = repairs_of(Text(text), [finding])
    assert [(edit.start, edit.end, edit.text) for edit in repair.edits] == [(1, 2, "c"), (17, 18, "c")]
    alone = Diagnostic("warning", "D011", "`<b>` is unknown in `<a>`.", 1, 12, "Did you mean `<c>`?")
    assert len(repairs_of(Text(text), [alone])[0].edits) == 1
