"""The part of an item's page that depends only on a release's bytes: what it may do, inputs, outputs, steps, text.
Pure.

It is determined by the signed note, its keyset, the bytes and this version of the code, so it can be stored
(:mod:`registry_server.pages.analysis_store`). Nothing here may depend on the log, the time or the reader.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec
from markupsafe import Markup
from msgspec import Struct

from registry_server.pages import directive_text, markdown, page_layout
from registry_server.pages.directive_tables import Shape, shape_of
from registry_server.pages.examined import described, examine_item, facts_of
from registry_server.pages.highlighting import language_of
from registry_server.pages.item_view import Content, attached_files, item_content, item_info
from registry_server.pages.limits import PAGES
from registry_server.pages.markdown import Text, TextHeading, code_chunks
from registry_server.pages.may_do import MayDo, Pages, may_do
from rye.describing.description import Description
from rye.describing.words import may_use
from rye.items.kinds import KINDS
from rye.registry.protocol.statements import Release
from rye.registry.trust.records import ReleaseRecord
from rye.signing.sign_item import unsigned_text
from rye.signing.signature_line import layout_of
from rye.text.json_reading import UNDECODABLE

Bytes = Mapping[str, bytes | None]
"""A release's files by path, the item's own file by its name. None: the bytes are gone."""


class Parts(Struct, frozen=True):
    """The HTML of the page's sections about the bytes."""

    may: str
    shape: str
    head: str
    """What stands above the text."""
    text: Text
    """The text in pieces, which pages divide between them."""


class Shown(Struct, frozen=True, kw_only=True):
    """What one page shows of these sections, as safe HTML for a template."""

    may: Markup
    shape: Markup
    head: Markup
    text: Markup
    next: int | None
    """The piece with which the next page begins; None: this is the end of the text."""
    above: tuple[TextHeading, ...]
    """The headings of earlier pages below which this part of the text stands."""
    headings: tuple[tuple[TextHeading, bool], ...]
    """The headings of the whole text, and whether each is on this page."""


def shown(text: Text, start: int, room: int, parts: Parts | None = None) -> Shown:
    """Return the pieces of a text from ``start`` that fit into ``room`` characters, and at least one. ``parts``: the sections
    around it."""
    end = start
    while end < len(text.chunks) and (end == start or len(text.chunks[end]) <= room):
        room -= len(text.chunks[end])
        end += 1
    return Shown(
        may=Markup(parts.may if parts is not None else ""),
        shape=Markup(parts.shape if parts is not None else ""),
        head=Markup(parts.head if parts is not None else ""),
        text=Markup("".join(text.chunks[start:end])),
        next=end if end < len(text.chunks) else None,
        above=_above(text, start),
        headings=tuple((heading, start <= heading.chunk < end) for heading in text.headings),
    )


def _above(text: Text, start: int) -> tuple[TextHeading, ...]:
    """Return the headings before piece ``start`` that are above its first heading, or above its beginning."""
    open_headings: list[TextHeading] = []
    for heading in text.headings:
        open_headings = [each for each in open_headings if each.level < heading.level]
        if heading.chunk >= start:
            break
        open_headings.append(heading)
    return tuple(open_headings) if start else ()


class Analysis(Struct, frozen=True):
    """What a page says about a release's bytes."""

    may: MayDo
    shape: Shape | None
    description: Description
    about: str
    """The item's own description, whole; a release note has its beginning. Empty: the file cannot be read."""
    content: Content | None
    """None: the item's own file is gone."""
    parts: Parts
    """Rendered with the full room for long texts."""


def analyse(record: ReleaseRecord, files: Bytes) -> Analysis:
    """Analyse the bytes of a release."""
    release, name = record.release, record.release.file_name
    own = files[name]
    attached = {path: data for path, data in files.items() if path != name}
    examined, value = examine_item(release, record.link.keyset.accepted_keys(), own, attached)
    facts = facts_of(release, own, attached)
    may = may_do(examined, facts, Pages(release, files))
    description = described(release, examined, facts, files)
    shape = shape_of(release.identity.kind, value) if value is not None else None
    content = item_content(release, own) if own is not None else None
    return Analysis(
        may, shape, description, examined.about, content, _parts(release, may, description, shape, content, own)
    )


def _parts(
    release: Release,
    may: MayDo,
    description: Description,
    shape: Shape | None,
    content: Content | None,
    own: bytes | None,
) -> Parts:
    made = _macros()
    info = item_info(release)
    text = _text(release, content, own) if content is not None and own is not None else Text(())
    return Parts(
        str(
            made.may(
                may,
                may_use(description),
                info,
                KINDS[release.identity.kind].limited == "to its members",
                description.is_gone,
            )
        ),
        str(made.shape(shape, info)) if shape is not None else "",
        str(made.head(content, text)),
        text,
    )


def _text(release: Release, content: Content, own: bytes) -> Text:
    """Render the item's own text, whole, without its signature line."""
    kind = release.identity.kind
    if content.text is None or KINDS[kind].limited == "to its members":
        return Text(())
    text = unsigned_text(own.decode().replace("\r\n", "\n"), layout_of(kind, content.name))
    if not content.is_markdown:
        return Text(tuple(code_chunks(text, language_of(content.name))))
    pages = {file.path: file.page for file in attached_files(release).rows}
    divide = directive_text.parts if kind == "directive" else directive_text.undivided
    return markdown.render(text, pages.get, divide)


@cache
def _macros() -> Any:
    """The macros ``may``, ``shape`` and ``head``."""
    return page_layout.environment().get_template("item_parts.html").module


def encode(analysis: Analysis) -> tuple[bytes, int]:
    """Return an analysis in its stored form, and its size in bytes before compression."""
    raw = msgspec.msgpack.encode(analysis)
    return zlib.compress(raw, _LEVEL), len(raw)


def decode(data: bytes) -> tuple[Analysis, int]:
    """Decode a stored analysis; return its size as well. Raises ValueError if it is malformed or too large."""
    reading = zlib.decompressobj()
    try:
        raw = reading.decompress(data, PAGES.analysis_bytes)
        if not reading.eof or reading.unused_data:
            raise ValueError("not one whole analysis")
        return _DECODER.decode(raw), len(raw)
    except (zlib.error, *UNDECODABLE) as error:
        raise ValueError(str(error)) from error


_LEVEL = 1


_DECODER = msgspec.msgpack.Decoder(Analysis)
"""Made here and not on first use: msgspec 0.22 crashes where two threads make the first decoder of a type together."""
