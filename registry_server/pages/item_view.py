"""Build the content of an item's page from what was read. Pure.

What the item may do comes first (:mod:`registry_server.pages.may_do`). A cut list gives its full length, and the page
names the command that lists everything.
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
from registry_server.pages.item_rows import ItemRow, Use, used_words
from registry_server.pages.key_rows import KeyRow, keys_in_force
from registry_server.pages.limits import PAGES
from registry_server.pages.may_do import MayDo
from registry_server.pages.owners import Behind
from registry_server.pages.page_budget import Rows, fitting, line_cost, rows
from registry_server.pages.version_order import in_order
from rye.describing.description import Description, counted_document
from rye.describing.words import Said, ShortMark, said
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol.statements import Relation, Release
from rye.registry.protocol.wire import blob_path
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ItemHistory, ReleaseRecord
from rye.signing.keys import PublicKey
from rye.text.content import hidden_characters


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
