"""Atom feeds (RFC 4287) of releases, yanks, deprecations, advisories and takedowns, newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from lxml import etree
from msgspec import Struct
from msgspec.structs import replace

from registry_server.pages.addresses import entry_path, feed_path, item_feed_path, item_path, namespace_path
from registry_server.pages.analysed import description_of, files_named
from registry_server.pages.entry_words import EntryWords, entry_words
from registry_server.pages.escaped_text import plain
from registry_server.pages.limits import RECORDS
from registry_server.pages.log import logged_time
from registry_server.pages.name_ranges import Stretch, newest_positions, stretches
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Document, Page
from registry_server.pages.registry_view import RegistryView
from registry_server.storage.prepared import Among, Prepared
from registry_server.storage.schema import log_entries
from rye.describing.description import ages_of
from rye.describing.words import Said, said
from rye.items.identity import Identity, is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol import notes, statements
from rye.registry.protocol.lines import write_time
from rye.registry.trust.records import signer_history

ATOM = "http://www.w3.org/2005/Atom"
_NAMESPACES: Any = {None: ATOM}
TOLD = frozenset(("release", "yank", "unyank", "deprecation", "advisory", "takedown"))
"""The types of log entries that a feed contains."""


class FeedEntry(Struct, frozen=True):
    """One entry of a feed."""

    position: int
    told: EntryWords
    title: str
    summary: str
    """The signer's text; for a deprecation, also what to use instead."""
    logged: datetime
    """When the registry logged it."""
    said: tuple[Said, ...] = ()
    """Of a release: the words in which the client describes it before it is installed."""


class Feed(Struct, frozen=True, kw_only=True):
    """A feed before it is written as XML."""

    origin: str
    address: str
    """The registry's address, without a trailing slash."""
    path: str
    about: str
    """The path of the page that the feed belongs to."""
    title: str
    since: datetime
    """When the registry was created."""
    updated: datetime
    entries: tuple[FeedEntry, ...]


class Scope(Struct, frozen=True, kw_only=True):
    """What a feed is about: one item, one kind, one namespace, or everything."""

    namespace: str = ""
    kind: str = ""
    identity: Identity | None = None

    @property
    def path(self) -> str:
        """The feed's path."""
        if self.identity is not None:
            return item_feed_path(self.identity)
        if self.kind:
            return f"/-/{KINDS[self.kind].folder}/feed.atom"
        return feed_path(self.namespace) if self.namespace else "/feed.atom"

    @property
    def about(self) -> str:
        """The path of the page that the feed belongs to."""
        if self.identity is not None:
            return item_path(self.identity)
        if self.kind:
            return f"/-/{KINDS[self.kind].folder}"
        return namespace_path(self.namespace) if self.namespace else "/"

    def title(self, origin: str) -> str:
        """The feed's title."""
        if self.identity is not None:
            return f"{self.identity.kind} {self.identity.id} at {origin}"
        if self.kind:
            return f"New {KINDS[self.kind].folder} at {origin}"
        return f"{self.namespace} at {origin}" if self.namespace else f"New at {origin}"

    def is_there(self, registry: RegistryView) -> bool:
        """Whether this reader may see what the feed is about."""
        if self.identity is not None:
            return registry.history(self.identity) is not None
        if not self.namespace:
            return True
        return (
            is_segment(self.namespace)
            and registry.may_read(self.namespace)
            and bool(registry.chain(self.namespace).links)
        )

    def where(self, registry: RegistryView) -> list[Stretch] | None:
        """The ranges of names that the feed is about; None: everything that is logged."""
        readable = registry.reader.namespaces
        if self.identity is not None:
            name = str(self.identity)
            # No name has a control character; PostgreSQL has no text with a NUL.
            return [(f"{name[:-1]}{chr(ord(name[-1]) - 1)}\U0010ffff", f"{name}\x01")]
        if self.kind and readable is None:
            return [(f"{self.kind}:", f"{self.kind};")]
        if self.kind:
            return [each for each in stretches(readable) if each[0].startswith(f"{self.kind}:")]
        return stretches([self.namespace]) if self.namespace else None if readable is None else stretches(readable)


EVERYTHING = Scope()


def feed_page(scope: Scope = EVERYTHING) -> Maker:
    """Return the maker of a feed."""

    def make(registry: RegistryView) -> Page:
        if not scope.is_there(registry):
            raise registry.missing(scope.path)
        feed = feed_of(registry, scope)
        return Page(
            template="",
            view=feed,
            title=feed.title,
            description=feed.title,
            path=scope.path,
            document=Document(atom(feed), "application/atom+xml"),
        )

    return for_each_head(make)


def feed_of(registry: RegistryView, scope: Scope = EVERYTHING) -> Feed:
    """Return the feed of the newest entries that this reader may see."""
    entries = _described(registry, tuple(_entries(registry, scope)))
    origin = registry.origin
    return Feed(
        origin=origin,
        address=registry.site.address,
        path=scope.path,
        about=scope.about,
        title=scope.title(origin),
        since=registry.roots()[0].time,
        updated=max((entry.logged for entry in entries), default=registry.roots()[0].time),
        entries=entries,
    )


def _entries(registry: RegistryView, scope: Scope) -> Iterator[FeedEntry]:
    left = RECORDS.feed_entries
    for position, leaf in _newest(registry, scope):
        statement = statements.parse(notes.parse(leaf).text)
        told = entry_words(statement)
        if told.type in TOLD and told.namespace is not None and registry.may_read(told.namespace):
            yield FeedEntry(
                position,
                told,
                _title(statement, told),
                _summary(statement, told),
                logged_time(registry, position) or registry.published.time,
            )
            left -= 1
            if not left:
                return


def _described(registry: RegistryView, entries: tuple[FeedEntry, ...]) -> tuple[FeedEntry, ...]:
    """Return the entries with what is said of each release, as old as things were when it was logged."""
    released = {_identity(entry.told): None for entry in entries if entry.told.type == "release"}
    histories = registry.histories([each for each in released if each is not None])

    logged = {record.line.log: record for history in histories.values() for record in history.records}
    records = {entry.position: logged[entry.position] for entry in entries if entry.position in logged}
    registry.taken_down(files_named(records.values()))

    def words(entry: FeedEntry) -> tuple[Said, ...]:
        record = records.get(entry.position)
        description = description_of(registry, record) if record is not None else None
        if record is None or description is None:
            return ()
        chain, since = registry.chain(record.identity.namespace), registry.since(record.identity.namespace)
        ages = ages_of(signer_history(chain, record, since, None))
        return said(replace(description, ages=ages), entry.logged)

    return tuple(replace(entry, said=words(entry)) for entry in entries)


def _identity(told: EntryWords) -> Identity | None:
    return Identity(told.kind, told.id) if told.kind is not None and told.id is not None else None


def _title(statement: statements.Logged, told: EntryWords) -> str:
    item = f"{told.kind} {told.id}" + (f" {told.version}" if told.version is not None else "")
    if isinstance(statement, statements.Deprecation):
        return f"{'Deprecated' if statement.deprecated else 'Supported again'}: {item}"
    return {
        "release": item,
        "yank": f"Yanked: {item}",
        "unyank": f"Available again: {item}",
        "advisory": f"Advisory {getattr(statement, 'number', '')}: {item}",
        "takedown": f"Taken down: {item}",
    }[told.type]


def _summary(statement: statements.Logged, told: EntryWords) -> str:
    if isinstance(statement, statements.Deprecation):
        return told.words
    given = (getattr(statement, name, None) for name in ("description", "title", "reason"))
    return next((str(text) for text in given if text), told.words)


def _newest(registry: RegistryView, scope: Scope) -> Iterator[tuple[int, bytes]]:
    """Yield candidates, newest first. Without all namespaces, they are found by name."""
    size = registry.published.size
    where = scope.where(registry)
    if where is not None:
        found = newest_positions(registry.connection, where, 2 * RECORDS.feed_entries)
        positions = [position for position in found if position < size]
        leaves: dict[int, bytes] = dict(_LEAVES.rows(registry.connection, {"some": positions})) if positions else {}
        yield from ((position, bytes(leaves[position])) for position in positions)
        return
    least = max(size - RECORDS.feed_looks, 0)
    for end in range(size, least, -RECORDS.feed_entries):
        start = max(end - RECORDS.feed_entries, least)
        some = registry.log.leaves(start, end)
        yield from ((start + at, some[at]) for at in range(len(some) - 1, -1, -1))


_LEAVES = Prepared(sa.select(log_entries.c.position, log_entries.c.leaf).where(Among(log_entries.c.position)))


# -- XML -------------------------------------------------------------------------------------------------------------------


def atom(feed: Feed) -> bytes:
    """Return the feed as XML."""
    root = etree.Element(f"{{{ATOM}}}feed", nsmap=_NAMESPACES)
    _add(root, "id", tag(feed.origin, feed.since, feed.path.removesuffix(".atom").strip("/")))
    _add(root, "title", feed.title)
    _add(root, "updated", write_time(feed.updated))
    _add(root, "link", rel="self", type="application/atom+xml", href=feed.address + feed.path)
    _add(root, "link", rel="alternate", type="text/html", href=feed.address + feed.about)
    _add(_add(root, "author"), "name", feed.origin)
    for entry in feed.entries:
        _add_entry(root, feed, entry)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8") + b"\n"


def _add_entry(root: etree._Element, feed: Feed, entry: FeedEntry) -> None:
    told = entry.told
    added = _add(root, "entry")
    _add(added, "id", tag(feed.origin, feed.since, f"log/{entry.position}"))
    _add(added, "title", entry.title)
    _add(added, "updated", write_time(entry.logged))
    _add(added, "published", write_time(told.time))
    _add(_add(added, "author"), "name", told.namespace if told.keyset is not None else feed.origin)
    _add(added, "category", term=told.type)
    if told.kind is not None and told.id is not None:
        page = item_path(Identity(told.kind, told.id), told.version)
        _add(added, "link", rel="alternate", type="text/html", href=feed.address + page)
    _add(added, "link", rel="related", type="text/html", href=feed.address + entry_path(entry.position))
    _add(added, "summary", entry.summary, type="text")
    if entry.said:
        words = "; ".join(f"{row.subject}: {row.words}" for row in entry.said)
        _add(added, "content", words, type="text")


def tag(origin: str, since: datetime, specific: str) -> str:
    """Return a permanent URI (RFC 4151): the registry's host, the day on which it was created, and what it names
    there."""
    host = re.split("[:/]", origin, maxsplit=1)[0]
    rest = origin[len(host) :].replace(":", "/").strip("/")
    return f"tag:{host},{since:%Y-%m-%d}:{'/'.join(part for part in (rest, specific) if part)}"


def _add(above: etree._Element, name: str, text: str | None = None, **attributes: str) -> etree._Element:
    added = etree.SubElement(above, f"{{{ATOM}}}{name}", {key: xml_text(value) for key, value in attributes.items()})
    if text is not None:
        added.text = xml_text(text)
    return added


def xml_text(text: str) -> str:
    """Return one line of valid XML characters (XML 1.0 §2.2). Hidden and invalid characters become ``[U+202E]``."""
    return _refused().sub(lambda found: f"[U+{ord(found[0]):04X}]", plain(text, RECORDS.feed_characters))


@cache
def _refused() -> re.Pattern[str]:
    return re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
