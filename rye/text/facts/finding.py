"""Apply all rules to all files of an item: text in, facts out. No disk, no network, no verdict (DESIGN §7.2)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Final

from rye.limits import FACTS as LIMITS
from rye.text.facts import (
    assembled,
    commands,
    computed_code,
    copies_of_itself,
    decode_and_run,
    destruction,
    diverted_payments,
    ends,
    environment,
    exfiltration,
    hidden_orders,
    hosts,
    locked_archives,
    persistence,
    pipe_to_shell,
    remote_instructions,
    reverse_shells,
    safety_off,
    secret_names,
    secret_paths,
    surveillance,
    unpinned_fetch,
)
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.fact import DECODE_AND_RUN, FACTS, NOTE, PIPE_TO_SHELL, Fact, severity
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.spelled import filled, spelled

RULES: Final[tuple[Callable[[Source], Iterator[RuleMatch]], ...]] = (
    hosts.find,
    commands.find,
    pipe_to_shell.find,
    reverse_shells.find,
    decode_and_run.find,
    computed_code.find,
    ends.find,
    locked_archives.find,
    unpinned_fetch.find,
    remote_instructions.find,
    secret_paths.find,
    environment.find,
    exfiltration.find,
    secret_names.find,
    persistence.find,
    safety_off.find,
    hidden_orders.find,
    copies_of_itself.find,
    surveillance.find,
    destruction.find,
    diverted_payments.find,
)
"""Rules that look at one file at a time. ``computed_code`` comes after those whose alarms it would repeat."""
NAMED: Final = frozenset((environment.find,))
"""Rules that see the file with its names resolved, because addresses are put together in programs."""
AGAIN: Final[tuple[tuple[Callable[[Source], Source], tuple[Callable[[Source], Iterator[RuleMatch]], ...]], ...]] = (
    (
        spelled,
        (
            pipe_to_shell.find_in_commands,
            decode_and_run.find_in_commands,
            unpinned_fetch.find,
            remote_instructions.find,
            safety_off.find,
            hidden_orders.find,
            hosts.find,
        ),
    ),
    (resolved, (secret_paths.find, exfiltration.find, persistence.find)),
    (filled, (secret_paths.find, exfiltration.find, persistence.find, safety_off.find, hosts.find)),
)
"""Other ways to write a file out, each with the rules that read it again. They add only facts that the file as it stands does not
show."""
MARKED: Final[tuple[tuple[bytes, Callable[[Source], Iterator[RuleMatch]]], ...]] = (
    (secret_names.ALLOWED, secret_names.find_allowed),
)
"""Rules for the few files in which these bytes are, in lower case."""

_SIGNATURE: Final = re.compile(
    r"\A(?P<first>[^\n]*\n)?(?P<open><!-- |# |// )(?P<name>rye(?:os)?:signed)"
    r":[0-9TZ:+-]{20,32}:[0-9a-f]{64}:[\w+/=-]{86,88}:[0-9a-f]{16,64}(?P<close>(?: -->)?\n)"
)
"""A signature line where one may stand, the first or the second (:mod:`rye.signing.signature_line`)."""
_SIGNED: Final = r"\g<first>\g<open>\g<name>\g<close>"

_RUN: Final = frozenset((PIPE_TO_SHELL, DECODE_AND_RUN))

ACROSS: Final[tuple[Callable[[Sequence[Source]], Iterator[tuple[Source, RuleMatch]]], ...]] = (
    pipe_to_shell.find_across,
    decode_and_run.find_across,
)
"""Rules that look at all files of an item, after ``RULES`` have read each of them."""


def find_facts(files: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    """Return the facts of one item, given the text of its own file and its attached files by path.

    Sorted by path, line and column. A note is listed once per file, a caution or alarm once per line and at most
    ``FACTS.places`` times. Never raises, whatever the text. Time is linear in the length of the text.
    """
    texts = dict(files)
    sources = [Source(path, _without_signature(_unix_lines(texts[path])), texts) for path in sorted(texts)]
    lists = {source.path: _Listed(source.path) for source in sources}
    for source in sources:
        listed = lists[source.path]
        for rule in (*RULES, *(rule for mark, rule in MARKED if mark in source.lowered)):
            for found in rule(resolved(source) if rule in NAMED else source):
                listed.add(found)
                if found.fact in _RUN:
                    source.run_lines.add(found.line)
        _read_again(source, listed)
    if len(sources) > 1:
        for find_across in ACROSS:
            for source, found in find_across(sources):
                lists[source.path].add(found)
    return _capped([fact for listed in lists.values() for fact in listed.in_order()])


def _read_again(source: Source, listed: _Listed) -> None:
    """Add what the other forms of a file show."""
    read: defaultdict[Callable[[Source], Iterator[RuleMatch]], set[str]] = defaultdict(lambda: {source.text})
    for form, rules in AGAIN:
        other = form(source)
        for rule in rules:
            if other.text not in read[rule]:
                read[rule].add(other.text)
                for found in rule(other):
                    if (found.level or FACTS[found.fact]) != NOTE:
                        listed.add_new(found)
    for found in assembled.find(source):
        listed.add_new(found)


def _without_signature(text: str) -> str:
    """A text whose signature line says only that it is one: an item has the same facts whoever signs it and when. The line has
    no blanks, so that no command fits in; what merely resembles one stays."""
    return _SIGNATURE.sub(_SIGNED, text, count=1) if ":signed:" in text else text


def _unix_lines(text: str) -> str:
    text = text.replace("\r\n", "\n") if "\r" in text else text
    if text.isascii() or _MAY_BE_INVISIBLE.search(text.encode("utf-8", "replace")) is None:
        return text
    return _INVISIBLE.sub(_seen, text)


#: How these characters begin in UTF-8; their bytes are found faster than they are.
_MAY_BE_INVISIBLE: Final = re.compile(
    rb"[\xc2\xcd\xd8\xe1\xe2\xef\xf3](?:(?<=\xc2)\xad|(?<=\xcd)\x8f|(?<=\xd8)\x9c|(?<=\xe1)\xa0\x8e|(?<=\xe2)(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xaf])|"
    rb"(?<=\xef)\xbb\xbf|(?<=\xf3)\xa0)"
)


#: Characters that nobody sees: inside a word they split it for a rule, and as tags they are letters for a model.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0001-\U000e007f]"
)


def _seen(match: re.Match[str]) -> str:
    code = ord(match[0]) - 0xE0000
    return chr(code) if 0x20 <= code < 0x7F else ""


class _Listed:
    """The facts of one file: a note once, a caution or alarm once per line and at most ``FACTS.places`` times."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.facts: list[Fact] = []
        self.lines: set[tuple[str, str, int]] = set()
        self.kinds: dict[tuple[str, int], int] = {}
        """The facts of each line, without their values, and how severe the worst of them is."""
        self.places: Counter[tuple[str, str]] = Counter()

    def add(self, found: RuleMatch) -> None:
        level = found.level or FACTS[found.fact]
        value = _short(found.value)
        key, place = (found.fact, value), (found.fact, value, found.line)
        if not value or place in self.lines or self.places[key] >= (1 if level == NOTE else LIMITS.places):
            return
        self.lines.add(place)
        kind = (found.fact, found.line)
        self.kinds[kind] = max(severity(level), self.kinds.get(kind, severity(NOTE)))
        self.places[key] += 1
        self.facts.append(Fact(found.fact, value, level, self.path, found.line + 1, found.column + 1))

    def add_new(self, found: RuleMatch) -> None:
        """Add a fact unless it is known, or the line has one of its kind that is as severe."""
        known = self.kinds.get((found.fact, found.line), -1)
        if known < severity(found.level or FACTS[found.fact]) and not self.places[found.fact, _short(found.value)]:
            self.add(found)

    def in_order(self) -> list[Fact]:
        return sorted(
            self.facts, key=lambda fact: (fact.line, fact.column, -severity(fact.level), fact.fact, fact.value)
        )


def _short(value: str) -> str:
    """Make a value fit on one line. A long one is cut and gets a digest, so that values with the same start stay distinct."""
    printable = value
    if not value.isprintable():
        printable = "".join(character if character.isprintable() else " " for character in value)
    printable = printable.strip()
    if len(printable) <= LIMITS.value_characters:
        return printable
    digest = sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{printable[: LIMITS.value_characters - 20]}… {digest}"


def _capped(found: list[Fact]) -> tuple[Fact, ...]:
    """Keep at most ``FACTS.facts``: alarms first, then cautions. Per kind, one fact stands for all that are left out."""
    if len(found) <= LIMITS.facts:
        return tuple(found)
    ranked = sorted(range(len(found)), key=lambda index: (-severity(found[index].level), index))
    kept = sorted(ranked[: LIMITS.facts])
    left: dict[tuple[str, str], list[Fact]] = {}
    for index in sorted(ranked[LIMITS.facts :]):
        left.setdefault((found[index].fact, found[index].level), []).append(found[index])
    rest = [
        Fact(name, f"{len(facts)} more ({_digest(facts)})", level, facts[0].path, facts[0].line, facts[0].column)
        for (name, level), facts in left.items()
    ]
    return (*(found[index] for index in kept), *rest)


def _digest(facts: list[Fact]) -> str:
    values = sorted({fact.value for fact in facts})
    return sha256("\n".join(values).encode("utf-8", "replace")).hexdigest()[:16]
