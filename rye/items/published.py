"""Reading the bytes of a published item, which is known by its identity and not by a place in a project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec.structs import replace

from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.reading import Reading, ReadOptions, Source
from rye.text import content
from rye.text.diagnostics import has_errors


def read_published(identity: Identity, suffix: str, data: bytes, attached: Iterable[str]) -> Reading:
    """What the kind's reader finds in an item's own file; ``attached``: paths of the files beside it.

    The bytes count as they are: a byte order mark or CR LF, which reading a project's file forgives, is an error here.
    """
    kind = KINDS[identity.kind]
    decoded = content.decode(data)
    findings = tuple(
        replace(finding, severity="error") if finding.code in ("C09", "C10") else finding
        for finding in decoded.diagnostics
    )
    if decoded.text is None or has_errors(findings):
        return Reading(None, None, findings)
    place = PurePosixPath(identity.local_id)
    category = "" if place.parent == PurePosixPath(".") else str(place.parent)
    source = Source(
        decoded.text,
        f"{place}{suffix}",  # a tool's language is told by its file's name
        place.name,
        category if kind.nested else "",
        tuple(sorted(attached)) if kind.main_file is not None else None,
    )
    reading: Reading = kind.load().read(source, ReadOptions())
    return replace(reading, diagnostics=(*findings, *reading.diagnostics))
