"""The name of a program or a function that runs code, which is readable only once it is put together.

A program runs ``"cu" + "rl"``, ``_G["lo" .. "ad"]`` and ``%first%%second%`` as whole words, but nobody who searches for the words
finds them. There is no honest reason to split such a word. If the file also fetches or decodes anything, this is an alarm.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import calls, shell
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.fact import CAUTION, DECODE_AND_RUN, PIPE_TO_SHELL
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.spelled import HIDDEN, spelled, template_lines
from rye.text.facts.tables import triggers

_WORDS: Final = triggers(HIDDEN)
_PROGRAMS: Final = triggers(
    "curl wget bash powershell pwsh certutil bitsadmin mshta regsvr32 rundll32 iex iwr irm aria2c"
)
"""Words that count in prose as well, where emphasis takes other words apart."""
_NEED_ADDRESS: Final = triggers("curl wget bash aria2c")
"""Programs that do nothing without an address or a script."""
_FETCHES: Final = triggers(
    "curl wget aria2c iwr irm nc ncat socat certutil bitsadmin ztcp webclient restmethod webrequest"
)
#: What a page refers to, which is no address that its examples fetch.
_LINK: Final = re.compile(r"\]\([^()\s]{1,400}\)")
_MOST: Final = 32
"""How many such words of a file are listed."""


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield each line in which such a word is put together."""
    found = dict(sorted(_assembled(source).items())[:_MOST])
    if not found:
        return
    program = resolved(source)
    fact, level = DECODE_AND_RUN, CAUTION
    text = _LINK.sub("]", source.text) if source.markdown and "](" in source.text else source.text
    if "://" in text or _FETCHES & source.written or calls.FETCHED.pattern.search(program.text) is not None:
        fact, level = PIPE_TO_SHELL, ""
    elif calls.DECODED.pattern.search(program.text) is not None:
        fact, level = DECODE_AND_RUN, ""
    for number, (word, line) in found.items():
        if level and word in _NEED_ADDRESS:
            continue
        if fact == DECODE_AND_RUN and not source.is_code(number):
            level = CAUTION  # a sentence names it, and nothing beside it fetches
        yield RuleMatch(fact, f"{word.decode()}: {shell.shown(shell.plain(line.strip()))}", number, 0, level)


def _assembled(source: Source) -> dict[int, tuple[bytes, str]]:
    """The lines in which such a word is put together, each with the word and the line as it is meant."""
    lines_of_words: dict[int, tuple[bytes, str]] = {}
    other = spelled(source)
    for form in (source, other):
        for word, numbers in form.disguised(_WORDS):
            if word not in source.written and word not in other.written:
                for number in numbers:
                    raw = source.lines[number]
                    if (
                        (source.is_code(number) or word in _PROGRAMS)
                        and _CONTINUED.search(raw) is None
                        and not _has(raw.replace("_", " "), word)
                    ):
                        lines_of_words.setdefault(number, (word, form.logical(number).text))
    if other is not source and len(other.lines) == len(source.lines):
        templates = template_lines(source)
        for word in sorted(_WORDS & other.written):
            if word in source.written and _named_whole(source, word):
                continue
            for number in other.lines_with(frozenset((word,))):
                raw, line = source.lines[number], other.lines[number]
                if (
                    raw != line
                    and (source.is_code(number) or word in _PROGRAMS)
                    and not _has(raw, word)
                    and not (number < len(templates) and _has(templates[number], word))
                    and _has(line, word)
                    and not any(_has(below, word) for below in source.lines[number + 1 : number + _FOLDED])
                ):
                    lines_of_words.setdefault(number, (word, line))
    return lines_of_words


_FOLDED: Final = 40
"""How many lines below a word can stand that a format puts into the line above: it is only moved."""
#: A word that goes on in the next line is only wrapped.
_CONTINUED: Final = re.compile(r"\w\\$")


def _has(line: str, word: bytes) -> bool:
    return re.search(rf"(?<!\w){re.escape(word.decode())}(?!\w)", line, re.IGNORECASE) is not None


def _named_whole(source: Source, word: bytes) -> bool:
    """Whether a string or a value of the text has the word as a whole: then a name for it is no disguise."""
    pattern = rf"[\"'`=][^\"'`\n]{{0,200}}?(?<!\w){re.escape(word.decode())}(?!\w)"
    return re.search(pattern, source.text, re.IGNORECASE) is not None
