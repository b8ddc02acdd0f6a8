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

from registry_server.pages import page_layout
from registry_server.pages.directive_tables import Shape, shape_of
from registry_server.pages.examined import examine_item, facts_of
from registry_server.pages.item_view import Content, MayDo, attached_files, item_content, item_info, may_do
from registry_server.pages.limits import PAGES
from rye.registry.protocol.statements import Release
from rye.registry.trust.records import ReleaseRecord
from rye.text.json_reading import UNDECODABLE

Bytes = Mapping[str, bytes | None]
"""A release's files by path, the item's own file by its name. None: the bytes are gone."""


class Parts(Struct, frozen=True):
    """The HTML of the page's sections about the bytes."""

    may: str
    shape: str
    text: str

    @property
    def html(self) -> Mapping[str, Markup]:
        """The sections as safe HTML for a template."""
        return {"may": Markup(self.may), "shape": Markup(self.shape), "text": Markup(self.text)}


class Analysis(Struct, frozen=True):
    """What a page says about a release's bytes."""

    may: MayDo
    shape: Shape | None
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
    may = may_do(examined, facts_of(release, own, attached))
    shape = shape_of(release.identity.kind, value) if value is not None else None
    content = item_content(release, own) if own is not None else None
    return Analysis(may, shape, content, parts_of(release, may, shape, content))


def parts_of(release: Release, may: MayDo, shape: Shape | None, content: Content | None, share: float = 1.0) -> Parts:
    """Render the sections. ``share``: the part of the room for long texts that they may take, at most 1."""
    made = _macros()
    info = item_info(release)
    files = attached_files(release).rows
    return Parts(
        str(made.may(may, info)),
        str(made.shape(shape, info)) if shape is not None else "",
        str(made.text(release.identity.kind, content, files, share)),
    )


@cache
def _macros() -> Any:
    """The macros ``may``, ``shape`` and ``text``."""
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
