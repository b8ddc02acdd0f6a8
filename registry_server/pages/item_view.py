"""Build the content of an item's page from what was read. Pure.

What the item may do comes first, sorted by risk, so a list that is cut always shows the worst. A cut list gives its
full length, and the page names the command that lists everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from registry_server.pages.addresses import (
    dependents_path,
    diff_path,
    entry_path,
    item_path,
    namespace_path,
    versions_path,
)
from registry_server.pages.directive_tables import Shape
from registry_server.pages.examined import Examined, Facts
from registry_server.pages.item_rows import ItemRow, Use, used_words
from registry_server.pages.key_rows import KeyRow, keys_in_force
from registry_server.pages.limits import PAGES
from registry_server.pages.owners import Behind
from registry_server.pages.page_budget import Rows, fitting, line_cost, rows
from registry_server.pages.source_parts import part_of_line
from registry_server.pages.version_order import in_order
from rye.describing.description import RUN_ORDER, Description, counted_document
from rye.describing.right_words import right_words, tool_words
from rye.describing.words import RUN_WORDS, Said, ShortMark, fact_words, said, warning_counts
from rye.items.agent_tools import shown
from rye.items.consented import HookAction, Run
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.permissions.risk import tiers, tool_tier
from rye.registry.protocol.statements import Relation, Release
from rye.registry.protocol.wire import blob_path
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.signing.keys import PublicKey
from rye.text.content import hidden_characters
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


class Content(Struct, frozen=True, kw_only=True):
    """The item's own file, or an attached one."""

    name: str
    size: int
    lines: int
    text: str | None
    """The text, cut to what a page can show; null: not text, or gone."""
    is_cut: bool
    is_markdown: bool
    hidden: int
    """How many characters people do not see, or see in the wrong place."""
    path: str
    """The path of its source page."""
    blob: str
    """The path of its bytes."""


class FileRow(Struct, frozen=True):
    """An attached file."""

    path: str
    size: int
    sha256: str
    executable: bool
    page: str


class RelationRow(Struct, frozen=True):
    """Another item that this one needs or conflicts with."""

    relation: str
    reference: str
    range: str
    page: str | None
    """Null: a feature of the environment, not an item of this registry."""


class DependentRow(Struct, frozen=True):
    """An item that depends on this one."""

    kind: str
    id: str
    version: str
    page: str
    marks: tuple[ShortMark, ...] = ()
    """What is said of it in lists."""


class AdvisoryRow(Struct, frozen=True):
    """An advisory about this version."""

    number: str
    severity: str
    range: str
    title: str
    by_owners: bool
    """Whether the registry's owners signed it, not the namespace."""


class VersionRow(Struct, frozen=True, kw_only=True):
    """A version of the item."""

    version: str
    time: datetime
    page: str
    diff: str | None
    """The page that compares it with the previous version in SemVer order; null: it is the first."""
    yanked: str | None
    """Why it was yanked; null: it is not yanked."""
    taken_down: str | None
    revoked: bool
    advisories: tuple[str, ...]
    """The numbers of advisories about it."""


class Proof(Struct, frozen=True):
    """Who signed the release, and its place in the log."""

    log: int
    entry: str
    """The page of the log's entry."""
    keyset: int
    signers: tuple[str, ...]
    """Fingerprints."""
    sha256: str
    """SHA-256 of the item's own file."""
    commands: str
    """The commands that check it on the reader's machine."""


class Deprecated(Struct, frozen=True):
    """Why the item is deprecated, and what to use instead."""

    reason: str
    replacement: str | None
    page: str | None


class ItemView(Struct, frozen=True, kw_only=True):
    """The JSON of an item's page."""

    kind: str
    id: str
    version: str
    description: str
    lead: str
    """The same as the item's own file has it, whole."""
    namespace: str
    namespace_page: str
    behind: Behind
    page: str
    """The path of the page of exactly this version."""
    is_latest: bool
    """Whether an installation without a range chooses this version."""
    latest: str
    latest_page: str
    install: str
    """The command that installs it, unless it is withdrawn."""
    is_withdrawn: bool
    """Whether no new installation can choose it: yanked, taken down, held back, or signed with revoked keys."""
    install_newest: str | None
    """The command that installs the newest version that is not withdrawn; null: there is none."""
    info: str
    """The command that lists everything, without cuts."""
    time: datetime
    namespace_since: datetime | None
    keys: Rows[KeyRow]
    """The keys that may publish now."""
    needed: int
    """How many of them must sign a release."""
    signer_since: datetime | None
    """Since when the key that signed it may publish; null: it no longer may."""
    recovery: datetime | None
    """When the namespace moves to other keys, unless its current keys object; null: no recovery is pending."""
    yanked: str | None
    taken_down: str | None
    revoked: bool
    deprecated: Deprecated | None
    advisories: Rows[AdvisoryRow]
    """Advisories about this version."""
    said: tuple[Said, ...]
    """The item in the words of the client's consent screen."""
    declared: bool | None
    """Whether something limits what it may use; null: it only names other items."""
    alarms: int
    cautions: int
    licence: str | None
    bytes: int
    """Bytes of its text, with attached files."""
    tokens: int
    """About how many tokens that is."""
    brings: Brought | None
    """What it brings besides itself; null: nothing."""
    is_list: bool
    """Whether it only names other items, and has no text of its own."""
    used_by: int
    """How many items of other publishers depend on it."""
    publishers: int
    """Of how many publishers these are."""
    used: str
    """The same in words; empty: none."""
    may: MayDo
    shape: Shape | None
    """Its inputs, outputs and steps, if its kind declares them."""
    content: Content | None
    """Null: the bytes are gone."""
    files: Rows[FileRow]
    """Attached files."""
    proof: Proof
    dependencies: Rows[RelationRow]
    dependents: Rows[DependentRow]
    dependents_page: str
    """The path of the list of all of them."""
    versions_page: str
    versions: Rows[VersionRow]
    """Newest first."""
    dependents_entries: int = 0
    """How many log entries were searched for dependents. If it is less than the log's size, some may be missing. HTML
    shows it only then, so that it does not change with every head."""


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


class Dependent(Struct, frozen=True, order=True):
    """A release that depends on or requires another item."""

    name: str
    """``kind:id``."""
    version: str


class Dependents(Struct, frozen=True):
    """The dependents that the reader may see: the newest release of each item, sorted by name."""

    rows: tuple[Dependent, ...]
    """Those of one page."""
    total: int
    is_complete: bool
    """Whether all were counted: not if there are very many releases."""
    is_whole: bool
    """Whether the whole log was searched. If not, some may be missing."""


class Brought(Struct, frozen=True, kw_only=True):
    """What an item brings besides itself, as a client would resolve its dependencies."""

    words: str = ""
    """What it and they may do together. Empty: not worked out."""
    alarms: int = 0
    cautions: int = 0
    """Of all of them together."""
    rows: tuple[ItemRow, ...] = ()
    problem: str | None = None
    """Why not all of it is known."""


class ItemSource(Struct, frozen=True, kw_only=True):
    """Everything that was read for the page of one release."""

    history: ItemHistory
    record: ReleaseRecord
    latest: str
    chain: KeysetChain
    behind: Behind
    may: MayDo
    description: Description
    """With its ages."""
    about: str
    """As of an analysis."""
    hour: datetime
    """The hour that the page is made in."""
    brings: Brought | None
    use: Use
    shape: Shape | None
    content: Content | None
    dependents: Dependents
    marks: Mapping[str, tuple[ShortMark, ...]]
    """What is said of them in lists, by name."""
    dependents_entries: int
    """How many log entries were searched; 0: all."""


def item_view(source: ItemSource, snapshot: datetime) -> ItemView:
    """Return the view. ``snapshot``: the time that decides which keysets are in effect, or the latest recovery before
    it."""
    record, release, identity = source.record, source.record.release, source.record.identity
    effective = source.chain.effective(snapshot)
    keys = tuple(keys_in_force(effective))
    pending = source.chain.pending(snapshot)
    deprecation = source.history.deprecation
    signer = PublicKey(record.signers[0]).fingerprint if record.signers else ""
    reference = f"{identity}@{record.version}"
    is_latest = record.version == source.latest
    advisories = tuple(AdvisoryRow(a.number, a.severity, a.range, a.title, a.keyset is None) for a in record.advisories)
    return ItemView(
        kind=identity.kind,
        id=identity.id,
        version=record.version,
        description=release.description,
        lead=source.about or release.description,
        namespace=identity.namespace,
        namespace_page=namespace_path(identity.namespace),
        behind=source.behind,
        page=item_path(identity, record.version),
        is_latest=is_latest,
        latest=source.latest,
        latest_page=item_path(identity, source.latest),
        install=f"rye add {identity if is_latest else reference}",
        is_withdrawn=record.is_withdrawn,
        install_newest=None if all(each.is_withdrawn for each in source.history.records) else f"rye add {identity}",
        info=item_info(release),
        time=release.time,
        namespace_since=effective[0].keyset.time if effective else None,
        keys=rows(keys, lambda key: 200),
        needed=effective[-1].keyset.release_threshold if effective else 1,
        signer_since=next((key.since for key in keys if key.fingerprint == signer), None),
        recovery=pending.keyset.recovery if pending is not None else None,
        yanked=record.yank.reason if record.yank is not None else None,
        taken_down=record.takedown.reason if record.takedown is not None else None,
        revoked=record.revoked,
        deprecated=Deprecated(
            deprecation.reason,
            str(deprecation.replacement) if deprecation.replacement is not None else None,
            item_path(deprecation.replacement) if deprecation.replacement is not None else None,
        )
        if deprecation is not None
        else None,
        advisories=rows(advisories, lambda row: 200 + line_cost(row.title)),
        said=said(source.description, source.hour, to_the_hour=True, advisories=len(record.advisories)),
        **counted_document(source.description),
        brings=source.brings,
        is_list=KINDS[identity.kind].limited == "to its members",
        used_by=source.use.items,
        publishers=source.use.publishers,
        used=used_words(source.use),
        may=source.may,
        shape=source.shape,
        content=source.content,
        files=attached_files(release),
        proof=_proof(record),
        dependencies=rows(
            (
                *(_relation("depends on", relation) for relation in release.depends_on),
                *(_relation("requires", relation) for relation in release.requires),
                *(_relation("conflicts with", relation) for relation in release.conflicts_with),
            ),
            lambda row: 120 + 3 * len(row.reference) + len(row.range),
        ),
        dependents=_dependents(source.dependents, source.marks),
        dependents_entries=source.dependents_entries,
        dependents_page=dependents_path(identity),
        versions_page=versions_path(identity),
        versions=rows(
            tuple(version_rows(source.history)), lambda row: 330 + line_cost(row.yanked or row.taken_down or "")
        ),
    )


def item_info(release: Release) -> str:
    """Return the command that lists everything about a release."""
    return f"rye info {release.identity}@{release.version}"


def attached_files(release: Release) -> Rows[FileRow]:
    """Return the attached files of a release."""
    files = tuple(
        FileRow(e.path, e.size, e.sha256, e.executable, item_path(release.identity, release.version, "source", e.path))
        for e in release.attached
    )
    return rows(files, lambda row: 260 + 2 * len(row.path) + len(row.page))


def item_content(release: Release, data: bytes) -> Content:
    """Return the item's own file as its page shows it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    shown_text = text[: PAGES.content_characters] if text is not None else None
    return Content(
        name=release.file_name,
        size=len(data),
        lines=text.count("\n") + (not text.endswith("\n")) if text else 0,
        text=shown_text,
        is_cut=text is not None and shown_text != text,
        is_markdown=text is not None and KINDS[release.identity.kind].formats.get(release.file.suffix) == "markdown",
        hidden=len(hidden_characters(text)) if text else 0,
        path=item_path(release.identity, release.version, "source"),
        blob=f"/{blob_path(release.file.sha256)}",
    )


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


def _relation(word: str, relation: Relation) -> RelationRow:
    page = item_path(relation.identity) if relation.identity is not None else None
    return RelationRow(word, str(relation.identity or relation.reference), relation.range, page)


def _dependents(found: Dependents, marks: Mapping[str, tuple[ShortMark, ...]]) -> Rows[DependentRow]:
    made = []
    for row in found.rows:
        kind, _, identifier = row.name.partition(":")
        page = item_path(Identity(kind, identifier), row.version)
        made.append(DependentRow(kind, identifier, row.version, page, marks.get(row.name, ())))
    fitted = fitting(made, PAGES.list_characters, lambda row: 80 + 3 * len(row.id) + 70 * len(row.marks))
    return Rows(tuple(fitted), found.total)


def version_rows(history: ItemHistory) -> Iterable[VersionRow]:
    """Yield all versions, newest first."""
    records = {record.version: record for record in history.records}
    ordered = in_order(list(records))
    for version, before in zip(reversed(ordered), [*reversed(ordered[:-1]), None], strict=True):
        record = records[version]
        yield VersionRow(
            version=version,
            time=record.release.time,
            page=item_path(history.identity, version),
            diff=diff_path(history.identity, before, version) if before is not None else None,
            yanked=record.yank.reason if record.yank is not None else None,
            taken_down=record.takedown.reason if record.takedown is not None else None,
            revoked=record.revoked,
            advisories=tuple(advisory.number for advisory in record.advisories[:_ADVISORIES]),
        )


_ADVISORIES = 5


def _proof(record: ReleaseRecord) -> Proof:
    identity, release = record.identity, record.release
    name = identity.id.rpartition("/")[2]
    suffix = release.file.suffix
    file = f"{name}{suffix}" if suffix.startswith(".") else suffix
    commands = (
        f"rye log prove {identity}@{record.version} -o {name}.tlog-proof\n"
        f"rye log check-proof {name}.tlog-proof --item {file}"
    )
    return Proof(
        log=record.line.log,
        entry=entry_path(record.line.log),
        keyset=record.link.keyset.number,
        signers=tuple(PublicKey(key).fingerprint for key in record.signers),
        sha256=release.file.sha256,
        commands=commands,
    )
