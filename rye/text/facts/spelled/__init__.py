"""A file's text with its constants written out, line for line: ``"cu" + "rl"``, ``$'\\x63url'``, ``[char]105``, ``{{ name }}``.

A command, a path or an order can be spelled in ways that its reader undoes without any secret: strings that are put together,
numbers of characters, names with a literal value, elements of a list or a table, escapes of a shell or of JSON, patterns that
only one program matches, holes of a template, make's own variables, and markup inside words. Here each of them becomes what it
stands for. Nothing is evaluated, every repetition is capped, and no line is added or removed. The rules read the file as it is,
and as it is spelled out if that differs.
"""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts.markup import referred, without_unseen
from rye.text.facts.source import Source
from rye.text.facts.spelled.joined import with_joined
from rye.text.facts.spelled.looked_up import asks, with_looked_up
from rye.text.facts.spelled.powershell import in_powershell
from rye.text.facts.spelled.shells import in_shells, with_given_words
from rye.text.facts.spelled.strings import with_values, with_whole_strings
from rye.text.facts.spelled.templates import HOLE, as_latin, in_templates, is_makefile, recipes, with_commands
from rye.text.facts.spelled.words import (
    HIDDEN,
    INSTALL,
    MATTERS,
    MODULES,
    MOST_VALUES,
    PROPERTIES,
    WORDS_OF_LINE,
)

__all__ = ["HIDDEN", "MODULES", "PROPERTIES", "filled", "spelled", "template_lines"]

_RECORDS: Final = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".log", ".svg", ".gif", ".png", ".pdf")
_LARGEST_RECORDS: Final = 64_000
"""Larger files of records and pictures spell nothing that runs."""


def spelled(source: Source) -> Source:
    """Return the file with its constants written out; the file itself if that changes nothing. Computed once."""
    known: Source | None = source.kept.get("spelled")
    if known is None:
        text = _spelled(source)
        known = source if text == source.text else Source(source.path, text, source.files)
        known.run_lines, known.saved = source.run_lines, source.saved
        known.original = source.original
        source.kept["spelled"] = known.kept["spelled"] = known
    return known


def filled(source: Source) -> Source:
    """Return the file with the known values of its shell variables in their places, where paths and switches are put together."""
    source = spelled(source)
    known: Source | None = source.kept.get("filled")
    if known is None:
        names = source.names
        known = source
        numbers = {source.line_at(at) for at in source.uses(names.values)} if names.values else set()
        if numbers:
            lines = list(source.lines)
            for number in numbers:
                lines[number] = names.filled_in(lines[number], 0)
            text = _where_it_matters(source, "\n".join(lines))
            known = source if text == source.text else Source(source.path, text, source.files)
        known.original = source.original
        source.kept["filled"] = known.kept["filled"] = known
    return known


def template_lines(source: Source) -> list[str]:
    """The file's lines with the words that this module writes for what a build tool does by other words."""
    made = in_templates(source.path.rpartition("/")[2].lower(), source.text)
    return source.lines if made == source.text else made.split("\n")


def _spelled(source: Source) -> str:
    text = source.text
    if len(text) > _LARGEST_RECORDS and source.path.lower().endswith(_RECORDS):
        return text
    if asks(text, source.words):
        text = with_looked_up(text, source.files)
    text, sums = with_joined(with_whole_strings(text), source.path, source.words)
    text = with_values(text, sums, source.path, source.words)
    text = in_powershell(source.path, in_shells(text, source.words), source.words)
    name = source.path.rpartition("/")[2].lower()
    if not source.markdown and "{{" in text:
        text = HOLE.sub(r"$\1", text)
    if is_makefile(name):
        return recipes(text)
    text = in_templates(name, text)
    if text != source.text:
        text = _where_it_matters(source, text)
    text = with_given_words(with_commands(name, text), source.words)
    text = as_latin(text, source.lowered)
    if source.marked:
        lines = text.split("\n")
        for number in source.marked:
            if source.tagged or not source.is_code(number):
                lines[number] = without_unseen(referred(lines[number]))
        text = "\n".join(lines)
    return text


_FOUR_PARTS = re.compile(r"\d\.\d{1,3}\.\d{1,3}\.\d")


def _where_it_matters(source: Source, text: str) -> str:
    """The text with those lines spelled out that then name something a rule looks for; the other lines as they are."""
    old, new = source.lines, text.split("\n")
    if len(old) != len(new):
        return source.text
    for number, line in enumerate(new):
        if line != old[number]:
            words = WORDS_OF_LINE.findall(line.lower())
            before = WORDS_OF_LINE.findall(old[number].lower())
            if (
                INSTALL.isdisjoint(before)
                and not any(word in MATTERS and words.count(word) > before.count(word) for word in words[:MOST_VALUES])
                and not HOLE.search(old[number])
                and not (_FOUR_PARTS.search(line) and not _FOUR_PARTS.search(old[number]))
            ):
                new[number] = old[number]
    return "\n".join(new)
