"""One row for an item, the same in every list: search, namespaces, kinds, home, dependencies and dependents. Pure.

A row says what the item's own page says first, in the marks of :mod:`rye.describing.words`. Only releases whose files were
examined have marks about them; a release that is too large for a list and has no stored analysis sends the reader to its page.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct

from registry_server.pages.addresses import item_path
from registry_server.pages.page_budget import line_cost
from rye.describing.description import Description, counted_document
from rye.describing.words import ShortMark, counted, licence_words, marks, size_words
from rye.items.identity import Identity
from rye.registry.trust.records import ItemHistory, ReleaseRecord


class Use(Struct, frozen=True):
    """How many items of other namespaces depend on an item, and of how many publishers these are."""

    items: int = 0
    publishers: int = 0


NO_USE = Use()


class Wanted(Struct, frozen=True):
    """An item that a list has."""

    identity: Identity
    version: str | None = None
    """None: the highest that is not withdrawn."""
    description: str = ""
    """What the list knows of it, if its history cannot be read."""
    is_deprecated: bool | None = None
    """None: as its history says."""


def named(name: str) -> Identity:
    """Return the item of a name in a table, ``kind:id``."""
    kind, _, identifier = name.partition(":")
    return Identity(kind, identifier)


class ItemRow(Struct, frozen=True, kw_only=True):
    """One item in a list."""

    kind: str
    id: str
    version: str | None
    """Null: all versions were withdrawn."""
    description: str
    page: str
    path: str
    """The same as ``page``."""
    deprecated: bool
    time: datetime | None
    """The time of the release note; null: the release is not known any more."""
    is_examined: bool
    """Whether the fields about its bytes are known."""
    tier: str | None
    """The highest tier of its rights and tools; null: it has neither."""
    runs: int
    """How many things can run."""
    advisories: int
    """How many advisories are about this version."""
    declared: bool | None
    """Whether something limits what it may use; null: not known, or it only names other items."""
    alarms: int | None
    cautions: int | None
    licence: str | None
    bytes: int | None
    tokens: int | None
    marks: tuple[ShortMark, ...]
    """What is said of it, the worst first."""
    facts: tuple[str, ...]
    """Licence and size in words."""
    used_by: int
    """How many items of other publishers depend on it."""
    publishers: int
    """Of how many publishers these are."""

    @property
    def used(self) -> str:
        """The same in words; empty: none."""
        return used_words(Use(self.used_by, self.publishers))


def used_words(use: Use) -> str:
    """Say how many items of other publishers depend on an item; empty: none."""
    if not use.items:
        return ""
    return f"used by {counted(use.items, 'item')} of {counted(use.publishers, 'other publisher')}"


def item_row(
    wanted: Wanted,
    history: ItemHistory | None,
    record: ReleaseRecord | None,
    description: Description | None,
    use: Use,
) -> ItemRow:
    """Return one row. ``description`` None: its files were not examined."""
    identity = wanted.identity
    version = record.version if record is not None and not (record.is_withdrawn and wanted.version is None) else None
    page = item_path(identity, wanted.version)
    deprecated = wanted.is_deprecated
    if deprecated is None:
        deprecated = history is not None and history.deprecation is not None
    about = _about(description if record is not None else None)
    if record is not None:
        about["marks"] += _brings(record)
    return ItemRow(
        kind=identity.kind,
        id=identity.id,
        version=version or wanted.version,
        description=(record.release.description if record is not None else "") or wanted.description,
        page=page,
        path=page,
        deprecated=deprecated,
        time=record.release.time if record is not None else None,
        advisories=len(record.advisories) if record is not None else 0,
        **about,
        used_by=use.items,
        publishers=use.publishers,
    )


def _brings(record: ReleaseRecord) -> tuple[ShortMark, ...]:
    """That the release needs other items, whose alarms and rights only its page works out: a list reads nothing but its rows."""
    relations = (*record.release.depends_on, *record.release.requires)
    needed = {relation.identity for relation in relations if relation.identity is not None}
    return (ShortMark(f"brings {counted(len(needed), 'other item')}"),) if needed else ()


def _about(description: Description | None) -> dict[str, Any]:
    """The fields about an item's bytes."""
    known = counted_document(description)
    if description is None:
        return {**known, "is_examined": False, "tier": None, "runs": 0, "marks": (), "facts": ()}
    return {
        **known,
        "is_examined": description.is_whole,
        "tier": description.tier,
        "runs": description.run_count,
        "marks": marks(description),
        "facts": (f"licence {licence_words(description)}", size_words(description)),
    }


def row_cost(row: ItemRow) -> int:
    """Return about how many characters of HTML a row takes."""
    said = sum(60 + len(mark.words) for mark in row.marks) + sum(map(len, row.facts))
    return 420 + 2 * len(row.id) + len(row.page) + line_cost(row.description) + said
