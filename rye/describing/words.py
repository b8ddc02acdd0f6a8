"""The words in which every surface says a :class:`~rye.describing.description.Description`. Pure, plain text.

A surface shows :func:`said` row by row, or :func:`marks` where a list has one line for an item. It adds markup and colour, never
a word of its own about the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rye.limits import DESCRIBING

if TYPE_CHECKING:
    from rye.describing.description import Dated, Description, Total
    from rye.items.consented import Run
    from rye.items.signed_release import Mention

NOT_DECLARED = "not declared: it may use everything that your agent may"
"""What is said of an item that nothing limits. It is never better to say nothing than to name tools or rights."""
ANY_COMMAND = "unrestricted: it may run any command"
NO_WARNINGS = "no alarms, no cautions"
NOTHING_RUNS = "nothing of its own"
NO_LICENCE = "not stated"
NOT_ALL_READ = "not all files were read"
GONE = "unknown: the files are gone"
"""What is said of an item whose bytes nobody has any more. What was not read is never said to be harmless."""

Level = Literal["plain", "caution", "alarm"]
"""How a surface colours words. Only alarms of the texts are alarms."""
Subject = Literal["may use", "can run", "warnings", "age", "licence", "size"]


class Said(Struct, frozen=True):
    """One row: what about an item, in which words."""

    subject: Subject
    words: str
    level: Level = "plain"


def said(
    description: Description, now: datetime, *, to_the_hour: bool = False, advisories: int = 0
) -> tuple[Said, ...]:
    """Return the rows of an item, always in this order. ``to_the_hour``: ``now`` is the hour that a kept page was made in;
    ``advisories``: how many there are about this version."""
    rows = [may_use(description), can_run(description), warnings(description, advisories)]
    if description.ages is not None:
        rows.append(Said("age", age_words(description.ages, now, to_the_hour=to_the_hour)))
    rows.append(Said("licence", licence_words(description)))
    rows.append(Said("size", size_words(description)))
    return tuple(rows)


def said_document(rows: Iterable[Said]) -> dict[str, str]:
    """The rows as JSON has them."""
    return {row.subject: row.words for row in rows}


def may_use(description: Description) -> Said:
    """What limits the item, if anything does."""
    if description.declared is None:
        return Said("may use", "only what its items may")
    if description.is_gone and not description.capabilities and not description.hooks:
        return Said("may use", GONE, "caution")
    if not description.declared:
        return Said("may use", NOT_DECLARED, "caution")
    words = []
    if description.tools is not None:
        words.append(tools_words(description.tools))
    if description.any_command:
        words.append(ANY_COMMAND)
    if description.capabilities:
        count = len(description.capabilities)
        words.append(f"{counted(count, 'right')}, at most {description.tier}: {_riskiest(description.capabilities)}")
    if description.hooks:
        words.append(f"{counted(description.hooks, 'hook')}, denied until approved")
    is_wide = description.any_command or description.tier == "unrestricted"
    return Said("may use", "; ".join(words) or "asks for no rights", "caution" if is_wide else "plain")


def _riskiest(capabilities: Iterable[str]) -> str:
    """What the riskiest rights allow, and how many there are besides."""
    from rye.describing.right_words import riskiest_first  # slow to load, and needed only for items with rights

    return some(riskiest_first(capabilities), "; ")


def tools_words(tools: Iterable[str]) -> str:
    """The agent program's tools that an item names, with its restrictions."""
    return f"tools of the agent program: {', '.join(tools) or 'none'}"


def can_run(description: Description) -> Said:
    """What can run, counted."""
    if description.is_gone:
        return Said("can run", GONE, "caution")
    if not description.runs:
        return Said("can run", NOTHING_RUNS)
    parts = [f"{count:,} {(RUN_WORDS if count == 1 else RUN_NAMES)[kind]}" for kind, count in description.runs]
    return Said("can run", ", ".join(parts))


RUN_WORDS = {
    "attached-file": "executable file",
    "frontmatter-hook": "hook of the agent program",
    "mcp-server": "MCP server",
    "inline-command": "command that runs on loading",
    "tool-code": "code",
    "tool-needs": "need beyond the sandbox",
}
"""What one thing that can run is called, by its kind."""
RUN_NAMES = {
    "attached-file": "executables",
    "frontmatter-hook": "hooks of the agent program",
    "mcp-server": "MCP servers",
    "inline-command": "commands that run on loading",
    "tool-code": "code",
    "tool-needs": "needs beyond the sandbox",
}
"""What several are called."""


FACT_WORDS = {
    "host": "names the host",
    "command": "names the command",
    "pipe-to-shell": "downloads and runs",
    "decode-and-run": "decodes and runs",
    "unpinned-fetch": "fetches code without a fixed version",
    "remote-instructions": "takes instructions from elsewhere",
    "secret-path": "names a place of secrets",
    "secret-name": "names a secret",
    "persistence": "makes something start by itself",
    "safety-off": "switches a safeguard off",
    "allowed-secret": "contains a secret that was allowed",
    "surveillance": "watches what the user types, copies, sees or mails",
    "destruction": "deletes or locks the user's files",
    "diverted-payment": "names who else is paid",
}
"""What a fact says of the words that follow (:mod:`rye.text.facts.fact`)."""
_ALARM_WORDS = {
    "secret-path": "sends secrets",
    "persistence": "copies itself into other items",
    "surveillance": "records and sends what the user types, copies, sees or mails",
    "destruction": "locks the user's files",
    "diverted-payment": "sends payments to somebody else",
}
"""The same where an alarm says something else than a caution."""


def fact_words(fact: str, level: str) -> str:
    """What a fact of this level says of the words that follow. One that this version does not know, from a lock or another
    version's memory, is called what it is called there, on one line."""
    known = FACT_WORDS.get(fact) or "".join(c if c.isprintable() else "?" for c in fact)
    return _ALARM_WORDS.get(fact, known) if level == "alarm" else known


def mention_words(mention: Mention) -> str:
    """What an item's text says or does, after the item's name: ``downloads and runs: curl … | sh``. Its value is the author's."""
    return f"{fact_words(mention.fact, mention.level)}: {mention.value}"


def warned_lines(mentions: Iterable[Mention]) -> list[str]:
    """The alarms and cautions of an item, each with its level first; notes are left out."""
    return [f"{mention.level}  {mention_words(mention)}" for mention in mentions if not mention.is_note]


def run_words(run: Run) -> str:
    """One thing that can run, where, and the exact action, on one line. Its parts are the author's text."""
    return f"{RUN_WORDS[run.what]} {run.where}: {run.action}"


def warnings(description: Description, advisories: int = 0) -> Said:
    """How many alarms and cautions the texts have, and how many ``advisories`` there are about the version."""
    level: Level = "alarm" if description.alarms else "caution" if description.cautions or advisories else "plain"
    counts = warning_counts(description.alarms, description.cautions)
    published = f"{advisories:,} advisor{'y' if advisories == 1 else 'ies'}" if advisories else ""
    if description.is_gone:
        return Said("warnings", "; ".join(filter(None, (published, GONE))), "caution")
    words = [counts or ("" if published else NO_WARNINGS), published, "" if description.is_whole else NOT_ALL_READ]
    return Said("warnings", "; ".join(filter(None, words)), level)


def warning_counts(alarms: int, cautions: int) -> str:
    """``1 alarm, 2 cautions``; empty if there are none."""
    return ", ".join(counted(count, noun) for count, noun in ((alarms, "alarm"), (cautions, "caution")) if count)


def age_words(ages: Dated, now: datetime, *, to_the_hour: bool = False) -> str:
    """``released 3 days ago, key 4 months old, namespace 2 years old``."""
    released = age(ages.released, now, "ago", to_the_hour=to_the_hour)
    key, namespace = (
        age(since, now, "old", to_the_hour=to_the_hour) for since in (ages.key_since, ages.namespace_since)
    )
    return f"released {released}, key {key}, namespace {namespace}"


_UNITS = (("years", 525_600), ("months", 43_800), ("days", 1_440), ("hours", 60), ("minutes", 1))


def age(then: datetime, now: datetime, word: Literal["ago", "old"], *, to_the_hour: bool = False) -> str:
    """Return the time since ``then`` in the largest unit with at least two, and ``word``: ``3 days ago``, ``3 days old``.

    ``to_the_hour``: ``now`` is the beginning of the current hour, so that minutes are not known.
    """
    minutes = int((now - then).total_seconds()) // 60
    for unit, size in _UNITS[:4] if to_the_hour else _UNITS:
        if minutes >= 2 * size:
            return f"{minutes // size} {unit} {word}"
    if to_the_hour:
        return f"less than 2 hours {word}" if minutes >= -60 else "dated in the future"
    return "just now" if minutes >= 0 else "dated in the future"


def licence_words(description: Description) -> str:
    """The licence, cut to one short line, or that there is none."""
    if description.is_gone:
        return GONE
    words = " ".join((description.licence or "").split())
    most = DESCRIBING.licence_characters
    return f"{words[:most]}…" if len(words) > most else words or NO_LICENCE


def size_words(description: Description) -> str:
    """``8.3 kB, about 2,100 tokens, 3 attached files``."""
    if description.is_gone:
        return GONE
    words = f"{byte_count(description.bytes)}, {token_count(description.tokens)}"
    if description.files:
        words += f", {counted(description.files, 'attached file')}"
    return words + (f" ({byte_count(description.other_bytes)} of them not text)" if description.other_bytes else "")


def byte_count(size: int) -> str:
    """``12 bytes``, ``8.3 kB``, ``1.2 MB``."""
    if size < 1000:
        return f"{size} bytes" if size != 1 else "1 byte"
    return f"{size / 1000:.1f} kB" if size < 999_950 else f"{size / 1_000_000:.1f} MB"


def token_count(tokens: int) -> str:
    """``about 2,100 tokens``: two digits count, since it is an estimate."""
    step = 10 ** max(len(str(tokens)) - 2, 0)
    rounded = (tokens + step // 2) // step * step
    return f"about {counted(rounded, 'token')}"


def total_words(total: Total) -> str:
    """What several items may do together, the worst first."""
    parts = [
        (total.any_command, "may run any command", "may run any command"),
        *((count, f"with {tier} rights", f"with {tier} rights") for tier, count in total.rights),
        (total.alarms, "alarm", "alarms"),
        (total.cautions, "caution", "cautions"),
        (total.runs, "thing that can run", "things that can run"),
        (total.hooks, "hook", "hooks"),
        (total.undeclared, "not declared", "not declared"),
    ]
    told = [f"{count:,} {one if count == 1 else more}" for count, one, more in parts if count]
    told.append(f"{byte_count(total.bytes)}, {token_count(total.tokens)}")
    told += [] if total.is_whole else [NOT_ALL_READ]
    return f"{counted(total.items, 'item')}: {', '.join(told)}"


class ShortMark(Struct, frozen=True):
    """A few words in a list."""

    words: str
    level: Level = "plain"


def marks(description: Description) -> tuple[ShortMark, ...]:
    """Return the marks of an item in a list, the worst first. An item that declares what it may use never gets a worse one than
    an item that does not."""
    if description.is_gone:
        return (ShortMark(GONE, "caution"),)
    found = [ShortMark(counted(count, noun), level) for count, noun, level in _warned(description) if count]
    if description.declared is False:
        found.append(ShortMark(NOT_DECLARED.partition(":")[0], "caution"))
    elif description.any_command:
        found.append(ShortMark("may run any command", "caution"))
    elif description.capabilities:
        found.append(
            ShortMark(
                f"{counted(len(description.capabilities), 'right')}, at most {description.tier}",
                "caution" if description.tier == "unrestricted" else "plain",
            )
        )
    elif description.tools is not None:
        found.append(ShortMark(f"only {some(description.tools)}" if description.tools else "no tools"))
    if description.runs:
        found.append(ShortMark(f"{counted(description.run_count, 'thing')} that can run"))
    if not description.is_whole:
        found.append(ShortMark(NOT_ALL_READ))
    return tuple(found)


def _warned(description: Description) -> tuple[tuple[int, str, Level], ...]:
    return (description.alarms, "alarm", "alarm"), (description.cautions, "caution", "caution")


def some(names: Iterable[str], between: str = ", ") -> str:
    """The first names, and how many there are besides."""
    every = tuple(names)
    more = len(every) - DESCRIBING.names
    return f"{between.join(every[: DESCRIBING.names])}{f' and {more:,} more' if more > 0 else ''}"


def counted(count: int, noun: str) -> str:
    """``1 alarm``, ``2 alarms``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
