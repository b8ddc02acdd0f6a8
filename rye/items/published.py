"""Read the bytes of a published item, which is known by its identity instead of a path in a project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec.structs import replace

from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.reading import Reading, ReadOptions, Source
from rye.text import content
from rye.text.content import Decoded

_AS_PUBLISHED = ReadOptions()


def decode_published(data: bytes) -> Decoded:
    """Decode an item's own file. Its bytes must be canonical: a byte order mark or CR LF, tolerated in a project's file, is an
    error here."""
    decoded = content.decode(data)
    if not decoded.diagnostics:
        return decoded
    findings = tuple(
        replace(finding, severity="error") if finding.code in ("C09", "C10") else finding
        for finding in decoded.diagnostics
    )
    return replace(decoded, diagnostics=findings)


def read_published(
    identity: Identity,
    suffix: str,
    data: bytes | Decoded,
    attached: Iterable[str],
    options: ReadOptions = _AS_PUBLISHED,
) -> Reading[object]:
    """Read an item's own file with its kind's reader, given its bytes or the result of :func:`decode_published`.

    ``attached``: relative paths of the attached files.
    """
    kind = KINDS[identity.kind]
    decoded = decode_published(data) if isinstance(data, bytes) else data
    if decoded.text is None or not decoded.ok:
        return Reading(None, None, decoded.diagnostics)
    place = PurePosixPath(identity.local_id)
    category = "" if place.parent == PurePosixPath(".") else str(place.parent)
    source = Source(
        decoded.text,
        f"{place}{suffix}",  # the suffix determines the language if the kind has several
        place.name,
        category if kind.nested else "",
        tuple(sorted(attached)) if kind.main_file is not None else None,
    )
    reading = kind.load().read(source, options)
    return replace(reading, diagnostics=(*decoded.diagnostics, *reading.diagnostics))
