"""A sentence that has secrets sent somewhere, or has them read where the next one has it sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.secret_paths import HARMLESS, SETTINGS, STORE, places_in
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers

_LONGEST: Final = 2_000
_SENDING_WORDS: Final = triggers(
    "send sends sending sent upload uploads uploading uploaded post posts posting posted forward submit transmit exfiltrate "
    "email mail attach include append deliver push share"
)
#: The end of a text after which comes what is sent, or read: a verb, and no word that makes what follows a place.
_OBJECT = (
    r"(?:\s+(?:(?:all|the|every)\s+){0,2}(?:files?|contents?|keys?|everything)\s+(?:in|of|from|below))?"
    r"(?:\s+(?!(?:in|to|into|onto|from|with|using|via|through|at|as|of your|so|and then|then)\b)[\w,'`*~/.$-]{1,60}){0,8}?"
    r"\s+[`\"'*]{0,3}$"
)
_SENDS = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|exfiltrate|e-?mail|deliver|push|attach|include|append|share)(?:s|ing)?\b"
    + _OBJECT,
    re.IGNORECASE,
)
_READS = re.compile(rf"\b(?:read|collect|gather|copy|get|extract|cat|grab|fetch)\b{_OBJECT}", re.IGNORECASE)
#: After what is sent: ``KEY must be sent to …``.
_IS_SENT = re.compile(
    r"\b(?:is|are|be|been|gets?)\s+(?:\w{2,12}\s+)?"
    r"(?:sent|uploaded|posted|forwarded|submitted|e-?mailed|shared)\b",
    re.IGNORECASE,
)
_WHAT_WAS_READ = re.compile(
    r"\b(?:send|upload|post|forward|submit|transmit|e-?mail|push|share)\s+"
    r"(?:it|them|these|those|both|everything|all of (?:it|them)|"
    r"(?:the|its|their)\s+(?:\w+\s+)?(?:contents?|files?|archive|keys?))\b",
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
    r"attackers?|malicious|malware|stealers?|would|could|may|might|flag|detect|block|if (?:a|the) (?:skill|prompt|page))\b",
    re.IGNORECASE,
)
#: Negations that forbid nothing of this.
_NO_NEGATION = re.compile(
    r"\bwithout (?:asking|telling|mentioning|waiting)\b|\b(?:do not|don't|never) (?:forget|tell|mention|ask|wait)\b",
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
            at = next((at for at, place in places_in(said, STORE, SETTINGS) if HARMLESS.search(place) is None), None)
            if at is None or _is_negated(said[:at]):
                continue
            before, after = said[:at], said[at:]
            sends = _SENDS.search(before) is not None or _IS_SENT.search(after) is not None
            reads = _READS.search(before) is not None
            if (
                (sends and _WHERE_TO.search(after) is not None)
                or (reads and _WHAT_WAS_READ.search(after) is not None and _WHERE_TO.search(after) is not None)
                or (reads and _is_sent_next(source, number, sentence.end()))
            ):
                yield RuleMatch(SECRET_PATH, shown(plain(said)), number, sentence.start(), ALARM)


def _is_negated(said: str) -> bool:
    return _NOT.search(_NO_NEGATION.sub(" ", said)) is not None


def _is_sent_next(source: Source, number: int, end: int) -> bool:
    """Whether one of the next sentences has sent what this one has read."""
    following = "\n".join((source.lines[number][end:_LONGEST], *source.lines[number + 1 : number + _NEXT_LINES]))
    return any(
        _WHAT_WAS_READ.search(sentence[0]) is not None
        and _WHERE_TO.search(sentence[0]) is not None
        and not _is_negated(sentence[0])
        for sentence in islice(_SENTENCE.finditer(following), _NEXT_SENTENCES)
    )


_NEXT_LINES: Final = 5
_NEXT_SENTENCES: Final = 5
