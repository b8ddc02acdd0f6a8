"""What a fact is: the closed table of facts, their levels, and their JSON form (DESIGN §7.2).

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
"""Levels, mildest first. A note is only listed; cautions and alarms are shown when a command asks for consent."""

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
ALLOWED_SECRET: Final = "allowed-secret"
SURVEILLANCE: Final = "surveillance"
DESTRUCTION: Final = "destruction"
DIVERTED_PAYMENT: Final = "diverted-payment"

RULES_VERSION: Final = 10
"""Raise it when the rules find a new caution or alarm, or write a value differently. rye.lock records which version each approval
was given under, so that an approval under older rules does not turn into a refusal (a test checks this)."""
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
    ALLOWED_SECRET: CAUTION,
    SURVEILLANCE: CAUTION,
    DESTRUCTION: CAUTION,
    DIVERTED_PAYMENT: CAUTION,
}
"""Every fact with its usual level. A public IP address is an alarm, and a caution where only its form says what it is. What runs
is a caution if only the interpreter is known, not where its input comes from."""


class Fact(Struct, frozen=True):
    """One thing that a text talks about, and where."""

    fact: str
    """A key of ``FACTS``."""
    value: str
    """The subject: an address, a program, a path, a command. One line, at most ``FACTS.value_characters`` long."""
    level: str
    """One of ``LEVELS``."""
    path: str
    """The file's path as the caller gave it."""
    line: int
    """The line in that file, from 1."""
    column: int
    """The column in characters, from 1."""

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the fact regardless of its place: name and value."""
        return self.fact, self.value

    def as_json(self) -> dict[str, str | int]:
        """The JSON object that ``rye facts --json`` prints for this fact."""
        return {
            "fact": self.fact,
            "value": self.value,
            "level": self.level,
            "path": self.path,
            "line": self.line,
            "column": self.column,
        }


def severity(level: str) -> int:
    """The index of ``level`` in ``LEVELS``, 0 for a note. Raises ValueError for any other word."""
    return LEVELS.index(level)


def counts(facts: Iterable[Fact]) -> dict[str, int]:
    """The number of facts of each level; every level is a key."""
    found = dict.fromkeys(LEVELS, 0)
    for fact in facts:
        found[fact.level] += 1
    return found


def difference(old: Iterable[Fact], new: Iterable[Fact]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return ``(added, removed)``: facts only in ``new`` and facts only in ``old``, each once, at its first place."""
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
    """The document of ``rye facts --json``: one ``(path, id, facts)`` per item; ``against`` is a result of ``difference``."""
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
