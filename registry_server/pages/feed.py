"""Atom feeds (RFC 4287) of releases, yanks, deprecations, advisories and takedowns, newest first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from lxml import etree
from msgspec import Struct

from registry_server.pages.addresses import entry_path, item_path
from registry_server.pages.entry_words import EntryWords, entry_words
from registry_server.pages.escaped_text import plain
from registry_server.pages.limits import RECORDS
from registry_server.pages.log import logged_time
from registry_server.pages.name_ranges import newest_positions, stretches
from registry_server.pages.namespace import feed_path
from registry_server.pages.page_drafts import Maker, for_each_head
from registry_server.pages.page_layout import Document, Page
from registry_server.pages.registry_view import RegistryView
from rye.items.identity import Identity, is_segment
from rye.registry.protocol import notes, statements
from rye.registry.protocol.lines import write_time

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


def feed_page(namespace: str | None = None) -> Maker:
    """Return the maker of ``/feed.atom``, or of a namespace's feed."""

    def make(registry: RegistryView) -> Page:
        path = "/feed.atom" if namespace is None else feed_path(namespace)
        if namespace is not None and not (
            is_segment(namespace) and registry.may_read(namespace) and registry.chain(namespace).links
        ):
            raise registry.missing(path)
        feed = feed_of(registry, path, namespace)
        return Page(
            template="",
            view=feed,
            title=feed.title,
            description=feed.title,
            path=path,
            document=Document(atom(feed), "application/atom+xml"),
        )

    return for_each_head(make)


def feed_of(registry: RegistryView, path: str, namespace: str | None) -> Feed:
    """Return the feed of the newest entries that this reader may see."""
    entries = tuple(_entries(registry, namespace))
    origin = registry.origin
    return Feed(
        origin=origin,
        address=registry.site.address,
        path=path,
        about="/" if namespace is None else path.removesuffix("/feed.atom"),
        title=f"{namespace} at {origin}" if namespace is not None else f"New at {origin}",
        since=registry.roots()[0].time,
        updated=max((entry.logged for entry in entries), default=registry.roots()[0].time),
        entries=entries,
    )


def _entries(registry: RegistryView, namespace: str | None) -> Iterator[FeedEntry]:
    left = RECORDS.feed_entries
    for position, leaf in _newest(registry, namespace):
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


def _title(statement: statements.Logged, told: EntryWords) -> str:
    item = f"{told.kind} {told.id}" + (f" {told.version}" if told.version is not None else "")
    if isinstance(statement, statements.Deprecation):
        return f"{'Deprecated' if statement.deprecated else 'Supported again'}: {item}"
    return {
        "release": item,
        "yank": f"Yanked: {item}",
        "unyank": f"Available again: {item}",
        "advisory": f"Advisory: {item}",
        "takedown": f"Taken down: {item}",
    }[told.type]


def _summary(statement: statements.Logged, told: EntryWords) -> str:
    if isinstance(statement, statements.Deprecation):
        return told.words
    given = (getattr(statement, name, None) for name in ("description", "title", "reason"))
    return next((str(text) for text in given if text), told.words)


def _newest(registry: RegistryView, namespace: str | None) -> Iterator[tuple[int, bytes]]:
    """Yield candidates, newest first. Without all namespaces, they are found by name."""
    size = registry.published.size
    wanted = (namespace,) if namespace is not None else registry.reader.namespaces
    if wanted is not None:
        for position in newest_positions(registry.connection, stretches(wanted), 2 * RECORDS.feed_entries):
            if position < size:
                yield position, registry.log.leaves(position, position + 1)[0]
        return
    least = max(size - RECORDS.feed_looks, 0)
    for end in range(size, least, -RECORDS.feed_entries):
        start = max(end - RECORDS.feed_entries, least)
        leaves = registry.log.leaves(start, end)
        yield from ((start + at, leaves[at]) for at in range(len(leaves) - 1, -1, -1))


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
