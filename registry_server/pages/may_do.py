"""What a release may do and what its texts mention, as rows of a page, published or waiting on a stage. Pure.

The riskiest comes first, so a list that is cut always shows the worst; it gives its full length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from registry_server.pages.addresses import item_path
from registry_server.pages.examined import Examined, Facts
from registry_server.pages.limits import PAGES
from registry_server.pages.page_budget import Rows, line_cost, rows
from registry_server.pages.source_parts import part_of_line
from rye.describing.description import RUN_ORDER
from rye.describing.right_words import right_words, tool_words
from rye.describing.words import RUN_WORDS, fact_words, warning_counts
from rye.items.agent_tools import shown
from rye.items.consented import HookAction, Run
from rye.permissions.risk import tiers, tool_tier
from rye.registry.protocol.statements import Release
from rye.text.facts import Fact
from rye.text.facts.fact import ALARM, CAUTION, NOTE


class RightRow(Struct, frozen=True):
    """A capability of the release."""

    capability: str
    tier: str
    """``safe``, ``write``, ``elevated`` or ``unrestricted``."""
    words: str
    """What it allows."""


class ToolRow(Struct, frozen=True):
    """A tool of the agent program. ``*``: every tool."""

    name: str
    tier: str
    words: str
    """What it allows."""


class RunRow(Struct, frozen=True, kw_only=True):
    """Something that can run on the reader's machine."""

    what: str
    words: str
    """What it is, in words."""
    where: str
    action: str
    page: str | None = None
    """The page of the file that it is in; null: it is not published."""
    size: int | None = None
    """The size of an attached file."""
    warnings: str = ""
    """Alarms and cautions in that file, counted."""


class FactRow(Struct, frozen=True, kw_only=True):
    """A fact, and where it is."""

    fact: str
    value: str
    level: str
    path: str
    line: int
    column: int
    words: str
    """What the fact says, in words."""
    page: str | None = None
    """The page of its line; null: it is not published."""


class MayDo(Struct, frozen=True, kw_only=True):
    """What the release may do and asks for."""

    tier: str | None
    """The highest tier of its rights and tools; null: it has neither."""
    rights: Rows[RightRow]
    """Riskiest first."""
    agent_tools: Rows[ToolRow]
    agent_limits: tuple[str, ...]
    """The restrictions of the tools, in words."""
    hooks: Rows[HookAction]
    runs: Rows[RunRow]
    facts: Rows[FactRow]
    """What the texts mention, most severe first. Never a verdict."""
    unread: Rows[str]
    """Files that were not searched for facts or for what can run."""
    problem: str | None
    """Why clients refuse the item's file."""

    @property
    def warned(self) -> tuple[FactRow, ...]:
        """Alarms and cautions, most severe first."""
        return tuple(row for row in self.facts.rows if row.level != NOTE)

    @property
    def alarms(self) -> tuple[FactRow, ...]:
        """The alarms."""
        return tuple(row for row in self.facts.rows if row.level == ALARM)

    @property
    def notes(self) -> tuple[tuple[str, tuple[FactRow, ...]], ...]:
        """The notes by what they say."""
        by_words: dict[str, list[FactRow]] = {}
        for row in self.facts.rows:
            if row.level == NOTE:
                by_words.setdefault(row.words, []).append(row)
        return tuple((words, tuple(rows)) for words, rows in by_words.items())


class Pages(Struct, frozen=True):
    """The pages of a published release's files."""

    release: Release
    files: Mapping[str, bytes | None]
    """By path, the item's own file by its name."""

    def of(self, path: str) -> str:
        """The path of a file's page."""
        release = self.release
        rest = path if path != release.file_name else ""
        return item_path(release.identity, release.version, "source", rest)

    def of_line(self, path: str, line: int) -> str:
        """The address of one of its lines. An attached Markdown file is rendered, unless its lines are asked for."""
        is_rendered = path != self.release.file_name and path.lower().endswith((".md", ".markdown"))
        data = self.files.get(path)
        part = part_of_line(data.decode("utf-8", "replace"), line) if data is not None else 0
        asked = [*(["plain"] if is_rendered else []), *([f"part={part}"] if part else [])]
        return f"{self.of(path)}{'?' if asked else ''}{'&'.join(asked)}#L{line}"


def may_do(examined: Examined, facts: Facts, pages: Pages | None = None) -> MayDo:
    """Return what a release may do, riskiest first in every list. ``pages``: where its files are; None: it is not published."""
    rights = sorted(tiers(examined.capabilities).items(), key=lambda row: (-row[1], row[0]))
    tools = examined.tools
    named = sorted(
        ((tool_tier(name, tools), name) for name in tools.names) if tools is not None else (),
        key=lambda row: (-row[0], row[1]),
    )
    unread = tuple(sorted({*examined.unread, *facts.unread}))
    return MayDo(
        tier=str(examined.tier) if examined.tier is not None else None,
        rights=rows(
            [RightRow(right, str(level), right_words(right)) for right, level in rights],
            lambda row: 110 + line_cost(row.capability) + line_cost(row.words),
        ),
        agent_tools=rows(
            [ToolRow(name, str(level), tool_words(name, tools)) for level, name in named] if tools is not None else (),
            lambda row: 80 + line_cost(row.name) + line_cost(row.words),
        ),
        agent_limits=tuple(shown(tools)[len(tools.names) :]) if tools is not None else (),
        hooks=rows(examined.hooks, _hook_cost),
        runs=rows(
            [_run(run, pages, facts.facts) for run in _by_kind(examined.runs)],
            lambda row: 220 + 3 * line_cost(row.where) + line_cost(row.action),
        ),
        facts=rows([_fact(fact, pages) for fact in facts.facts], _fact_cost, PAGES.facts_characters),
        unread=rows(unread, line_cost, 2_000),
        problem=examined.problem,
    )


def _by_kind(runs: Iterable[Run]) -> list[Run]:
    """Sort what starts by itself before what must be started."""
    return sorted(runs, key=lambda run: (RUN_ORDER.index(run.what), run.where, run.action))


def _run(run: Run, pages: Pages | None, facts: Iterable[Fact]) -> RunRow:
    is_file = run.what == "attached-file"
    data = pages.files.get(run.where) if pages is not None and is_file else None
    levels = [fact.level for fact in facts if fact.path == run.where] if is_file else []
    return RunRow(
        what=run.what,
        words=RUN_WORDS[run.what],
        where=run.where,
        action=run.action,
        page=pages.of(run.where) if pages is not None and is_file else None,
        size=len(data) if data is not None else None,
        warnings=warning_counts(levels.count(ALARM), levels.count(CAUTION)),
    )


def _fact(fact: Fact, pages: Pages | None) -> FactRow:
    return FactRow(
        fact=fact.fact,
        value=fact.value,
        level=fact.level,
        path=fact.path,
        line=fact.line,
        column=fact.column,
        words=fact_words(fact.fact, fact.level),
        page=pages.of_line(fact.path, fact.line) if pages is not None else None,
    )


def _fact_cost(row: FactRow) -> int:
    if row.level == NOTE:
        return 30 + line_cost(row.value) + len(row.page or "")
    return 260 + line_cost(row.value) + line_cost(row.path) + len(row.page or "")


def _hook_cost(hook: HookAction) -> int:
    inputs = sum(60 + line_cost(name) + line_cost(text) for name, text in hook.inputs)
    return 160 + line_cost(hook.when) + line_cost(hook.item_id) + inputs
