"""All rules over all files of an item: text in, facts out. No disk, no network, no verdict (DESIGN §7.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final

from rye.limits import FACTS as LIMITS
from rye.text.facts import (
    commands,
    decode_and_run,
    hosts,
    persistence,
    pipe_to_shell,
    remote_instructions,
    safety_off,
    secret_names,
    secret_paths,
    unpinned_fetch,
)
from rye.text.facts.fact import FACTS, NOTE, Fact, severity
from rye.text.facts.source import Found, Source

RULES: Final[tuple[Callable[[Source], Iterator[Found]], ...]] = (
    hosts.find,
    commands.find,
    pipe_to_shell.find,
    decode_and_run.find,
    unpinned_fetch.find,
    remote_instructions.find,
    secret_paths.find,
    secret_names.find,
    persistence.find,
    safety_off.find,
)


def find_facts(files: Mapping[str, str] | Iterable[tuple[str, str]]) -> tuple[Fact, ...]:
    """The facts of one item: its own file and those attached to it, as text by path.

    Sorted by path, line and column. A note is listed once for each file, a caution or an alarm once for each line, at most
    ``FACTS.places`` times. Never raises, whatever the text; its cost grows with the text's length and no faster.
    """
    texts = dict(files)
    found: list[Fact] = []
    for path in sorted(texts):
        found.extend(_of_file(path, texts))
    return _capped(found)


def _of_file(path: str, texts: dict[str, str]) -> list[Fact]:
    text = texts[path]
    source = Source(path, text.replace("\r\n", "\n") if "\r" in text else text, texts)
    facts: list[Fact] = []
    lines: set[tuple[str, str, int]] = set()
    places: dict[tuple[str, str], int] = {}
    for rule in RULES:
        for found in rule(source):
            level = found.level or FACTS[found.fact]
            value = _short(found.value)
            key = (found.fact, value)
            place = (found.fact, value, found.line)
            if not value or place in lines or places.get(key, 0) >= (1 if level == NOTE else LIMITS.places):
                continue
            lines.add(place)
            places[key] = places.get(key, 0) + 1
            facts.append(Fact(found.fact, value, level, path, found.line + 1, found.column + 1))
    facts.sort(key=lambda fact: (fact.line, fact.column, -severity(fact.level), fact.fact, fact.value))
    return facts


def _short(value: str) -> str:
    """A value of one line; a long one is cut, and a digest of the whole keeps it different from others that begin alike."""
    printable = "".join(character if character.isprintable() else " " for character in value).strip()
    if len(printable) <= LIMITS.value_characters:
        return printable
    digest = sha256(value.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{printable[: LIMITS.value_characters - 20]}… {digest}"


def _capped(found: list[Fact]) -> tuple[Fact, ...]:
    """At most ``FACTS.facts``: alarms first, then cautions. What is left out stays visible as one fact for each kind."""
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
