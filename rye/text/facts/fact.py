"""What a fact is: the closed table of facts, their levels, and the form in which other programs read them (DESIGN §7.2).

A fact says what a text talks about. It is never a verdict: no list of facts means "safe", and no fact means "hostile".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

NOTE: Final = "note"
CAUTION: Final = "caution"
ALARM: Final = "alarm"
LEVELS: Final = (NOTE, CAUTION, ALARM)
"""Levels, mildest first. A note is listed; cautions and alarms are shown when consent is asked."""

HOST: Final = "host"
COMMAND: Final = "command"
PIPE_TO_SHELL: Final = "pipe-to-shell"
DECODE_AND_RUN: Final = "decode-and-run"
UNPINNED_FETCH: Final = "unpinned-fetch"
REMOTE_INSTRUCTIONS: Final = "remote-instructions"
SECRET_PATH: Final = "secret-path"
SECRET_NAME: Final = "secret-name"
PERSISTENCE: Final = "persistence"
SAFETY_OFF: Final = "safety-off"

RULES_VERSION: Final = 1
"""Raised when a caution or an alarm is found that was not, or a value is written otherwise: rye.lock says by which rules its
approvals were given, and an approval given under others does not turn into a refusal (a test holds this)."""
FACTS: Final[dict[str, str]] = {
    HOST: NOTE,
    COMMAND: NOTE,
    PIPE_TO_SHELL: ALARM,
    DECODE_AND_RUN: ALARM,
    UNPINNED_FETCH: CAUTION,
    REMOTE_INSTRUCTIONS: CAUTION,
    SECRET_PATH: CAUTION,
    SECRET_NAME: NOTE,
    PERSISTENCE: CAUTION,
    SAFETY_OFF: CAUTION,
}
"""Every fact with its usual level. Only ``host`` has another one at times: a bare public IP address is an alarm."""


class Fact(Struct, frozen=True):
    """One thing that a text talks about, and where."""

    fact: str
    """A key of ``FACTS``."""
    value: str
    """What it is about: an address, a program, a path, a command. One line, at most ``FACTS.value_characters`` long."""
    level: str
    """One of ``LEVELS``."""
    path: str
    """The file, as the caller named it."""
    line: int
    """In that file, from 1."""
    column: int
    """In characters, from 1."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes two facts the same fact, wherever they are: fact and value."""
        return self.fact, self.value

    def as_json(self) -> dict[str, str | int]:
        """The object that ``rye facts --json`` prints for this fact."""
        return {
            "fact": self.fact,
            "value": self.value,
            "level": self.level,
            "path": self.path,
            "line": self.line,
            "column": self.column,
        }


def severity(level: str) -> int:
    """The place of ``level`` in ``LEVELS``, 0 for a note. ValueError for any other word."""
    return LEVELS.index(level)


def counts(facts: Iterable[Fact]) -> dict[str, int]:
    """How many facts there are of each level; every level is a key."""
    found = dict.fromkeys(LEVELS, 0)
    for fact in facts:
        found[fact.level] += 1
    return found


def difference(old: Iterable[Fact], new: Iterable[Fact]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """``(added, removed)``: the facts of ``new`` that ``old`` lacks and the other way round, each once, at its first place."""
    before: dict[tuple[str, str], Fact] = {}
    after: dict[tuple[str, str], Fact] = {}
    for fact in old:
        before.setdefault(fact.key, fact)
    for fact in new:
        after.setdefault(fact.key, fact)
    added = tuple(fact for key, fact in after.items() if key not in before)
    removed = tuple(fact for key, fact in before.items() if key not in after)
    return added, removed


def as_json(
    results: Iterable[tuple[str, str | None, Iterable[Fact]]],
    *,
    against: tuple[Iterable[Fact], Iterable[Fact]] | None = None,
) -> dict[str, object]:
    """The document of ``rye facts --json``: one ``(path, id, facts)`` for each item; ``against`` is ``difference``'s answer."""
    rows = [(path, identity, list(facts)) for path, identity, facts in results]
    document: dict[str, object] = {
        "results": [
            {"path": path, "id": identity, "facts": [fact.as_json() for fact in facts]}
            for path, identity, facts in rows
        ],
        "counts": counts(fact for _, _, facts in rows for fact in facts),
    }
    if against is not None:
        added, removed = against
        document["added"] = [fact.as_json() for fact in added]
        document["removed"] = [fact.as_json() for fact in removed]
    return document
