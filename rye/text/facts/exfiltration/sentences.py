"""A sentence that has secrets sent somewhere, or has them read where the next one has it sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.secret_paths import holds_secrets
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

_LONGEST: Final = 2_000
_SENDING_WORDS: Final = triggers(
    "send sends sending upload uploads uploading post posts posting forward submit transmit exfiltrate email mail attach include "
    "append pass embed add deliver push"
)
_SENDING = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|exfiltrate|e-?mail|deliver|push|attach|include|append|pass|embed|add)(?:s|ing)?\b",
    re.IGNORECASE,
)
_GATHERING = re.compile(
    r"\b(?:read|collect|gather|copy|get|load|open|extract|cat|grab|fetch|find|look up)\b", re.IGNORECASE
)
_WHAT_WAS_READ = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|e-?mail|push)\s+(?:it|them|these|those|both|everything|all of (?:it|them)|"
    r"(?:the|its|their)\s+(?:\w+\s+)?(?:contents?|files?|output|results?|values?|archive|data|text))\b",
    re.IGNORECASE,
)
_WHERE_TO = re.compile(
    r"\b(?:to|at|via|through|into|using|with|call(?:ing)?|request(?:ing)?)\b[^.!?\n]{0,60}?(?:https?://(?!localhost|127\.)[\w.-]|\bwebhook\b|"
    r"\b(?:telegram|discord|slack)\b|\bpaste(?:bin)?\b|\bgist\b|\bour (?:server|endpoint|collector)\b|"
    r"\b[\w.+-]{1,40}@[\w-]{1,40}\.[a-z]{2,10}\b)",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:never|not|don't|doesn't|avoid|without|cannot|can't|no one|must not|should not|refuse|prevent|instead of|"
    r"attacker|malicious|would|could|may|might|flag|detect|block|if (?:a|the) (?:skill|prompt|page))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n|]{1,400}(?:[.](?=\w)[^.!?\n|]{1,200}){0,12}")


def find(source: Source, places: set[int]) -> Iterator[RuleMatch]:
    """A sentence that has the content of a place sent somewhere. ``places``: the lines that name one."""
    if not source.markdown or not source.has(_SENDING_WORDS):
        return
    for number in sorted(places):
        raw = source.lines[number][:_LONGEST]
        if source.is_code(number):
            continue
        for sentence in _SENTENCE.finditer(raw):
            said = sentence[0]
            if _NOT.search(said) is not None or not holds_secrets(said):
                continue
            sends = _SENDING.search(said) is not None and _WHERE_TO.search(said) is not None
            if sends or (_GATHERING.search(said) is not None and _is_sent_next(source, number, sentence.end())):
                yield RuleMatch(SECRET_PATH, shown(plain(said)), number, sentence.start(), ALARM)


def _is_sent_next(source: Source, number: int, end: int) -> bool:
    """Whether one of the next sentences has sent what this one has read."""
    following = "\n".join((source.lines[number][end:_LONGEST], *source.lines[number + 1 : number + _NEXT_LINES]))
    return any(
        _WHAT_WAS_READ.search(sentence[0]) is not None
        and _WHERE_TO.search(sentence[0]) is not None
        and _NOT.search(sentence[0]) is None
        for sentence in islice(_SENTENCE.finditer(following), _NEXT_SENTENCES)
    )


_NEXT_LINES: Final = 5
_NEXT_SENTENCES: Final = 5
