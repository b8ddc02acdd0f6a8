"""The words of a text, and their lines."""

from __future__ import annotations

import pytest

from rye.text.facts.word_lines import WordLines, lowered

LOWERED = {
    "Curl": "curl",
    "c''u\"\"rl": "curl",
    "c\\url": "curl",
    "c^url": "curl",
    "c$@url": "curl",
    "curl${IFS}x": "curl x",
    "curl$IFS$9x": "curl x",
    "a\\nb": "a  b",
    "C:\\Temp\\a.exe": "c:/temp/a.exe",
    "%TEMP%\\a": "%temp%/a",
    "HKCU\\Software\\Run": "hkcu/software/run",
    "x Software\\Microsoft\\Run": "x software/microsoft/run",
    '(f"curl")': "(curl)",
    'of"x"': "ofx",
}


@pytest.mark.parametrize(("text", "bare"), LOWERED.items(), ids=map(repr, LOWERED))
def test_words_are_taken_from_a_text_without_case_quotes_and_escapes(text: str, bare: str) -> None:
    assert lowered(text).decode() == bare


def test_a_word_has_lines() -> None:
    index = WordLines("curl x\nlibcurl curl_x\nls; 'curl' (curl)\n")
    assert index.lines_of(b"curl") == [0, 2]
    assert index.lines_of(b"curl_x") == [1]
    assert index.lines_with(frozenset((b"curl", b"libcurl", b"wget"))) == [0, 1, 2]
    assert index.lines_with(frozenset((b"wget",))) == []
    assert list(index.lines_of_bytes(b"curl")) == [0, 1, 2]
    assert index.between(1, 2) == {b"libcurl", b"curl_x"}
    assert index.between(2, 99) == {b"ls", b"curl"}


def test_a_hidden_word_counts_for_its_lines() -> None:
    index = WordLines("curl x\n$a$b y\n")
    assert index.lines_of(b"curl") == [0]
    index.add_hidden({b"curl": [1], b"wget": [1]})
    assert index.lines_of(b"curl") == [0, 1]
    assert index.lines_with(frozenset((b"wget",))) == [1]
    assert b"wget" not in index.written
