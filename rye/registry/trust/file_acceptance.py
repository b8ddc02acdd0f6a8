"""Whether these bytes are acceptable as a file of this release.

The server checks before it logs, every client before it installs.

Pure. The checks run in this order; the first that fails is the :class:`Refusal`'s ``rule``:

========== ======================================================================================================
place      The release's files have distinct places, which no other item's file can have.
text       The file is text that the content rules allow: UTF-8, LF, no byte order mark, nothing hidden (DESIGN 5).
signature  Its in-file signature is ``valid`` by one of the keys given.
format     Its kind's parser reads it without an error.
note       Its version can be compared with others; relations, capabilities, hooks, name and version are those in the release
           note (DESIGN 5: the blob is the source of truth).
========== ======================================================================================================

A version cannot be reused once it is logged, so the server must refuse everything that a client would refuse. It adds
the rules for publishing (:class:`rye.items.reading.ReadOptions`), which only add errors. Sizes and hashes of the bytes,
the note's own signature and its place in the log are checked earlier, elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rye.items.kinds import KINDS
from rye.items.published import decode_published, read_published
from rye.items.reading import Metadata, ReadOptions
from rye.registry.protocol.derivation import contradiction
from rye.registry.protocol.statements import Release
from rye.resolution.versions import comparable
from rye.signing.keys import PublicKey
from rye.signing.verification import Verdict, verify
from rye.text.diagnostics import Diagnostic

Rule = Literal["place", "text", "signature", "format", "note"]

_INSTALLING = ReadOptions()


class Accepted(Struct, frozen=True):
    """The file is acceptable."""

    metadata: Metadata
    value: object
    """The item, as the reader of its kind returned it."""
    signer: PublicKey
    """The key of the valid in-file signature."""


class Refusal(Struct, frozen=True):
    """The file is not acceptable."""

    rule: Rule
    reason: str
    """Why, as a clause or a sentence."""
    finding: Diagnostic | None = None
    """For ``text`` and ``format``: the first error in the file, if there is one."""
    verdict: Verdict | None = None
    """For ``signature``: the verdict."""


def judge_release_file(
    release: Release, data: bytes, keys: Sequence[PublicKey], options: ReadOptions = _INSTALLING
) -> Accepted | Refusal:
    """Check a release's own file.

    ``data``: its bytes; ``keys``: those of the keyset that the release must be signed under.
    """
    misplaced = misplacement(release)
    if misplaced is not None:
        return Refusal("place", misplaced)
    decoded = decode_published(data)
    if decoded.text is None or not decoded.ok:
        return _finding("text", decoded.diagnostics)
    verification = verify(data, release.identity.kind, f"x{release.file.suffix}", keys)
    if not verification.ok or verification.key is None:
        return Refusal("signature", verification.detail, verdict=verification.verdict)
    attached = [entry.path for entry in release.attached]
    reading = read_published(release.identity, release.file.suffix, decoded, attached, options)
    if reading.metadata is None or not reading.ok:
        return _finding("format", reading.diagnostics)
    said = contradiction(release, reading.metadata)
    if said is None and comparable(release.version) is None:
        said = f"its version {release.version[:80]} has a number that is too large to be compared"
    if said is not None:
        return Refusal("note", said)
    return Accepted(reading.metadata, reading.value, verification.key)


def misplacement(release: Release) -> str | None:
    """Return why the release's files do not have distinct places, as a clause; None if they do.

    Files of two items never share a path on any system. An item of a flat kind must be directly below its namespace,
    because folders there could belong to another item.
    """
    kind = KINDS[release.identity.kind]
    if not kind.nested and "/" in release.identity.local_id:
        return f"a {kind.name} must be directly below its namespace"
    if kind.main_file is None and release.attached:
        return f"a {kind.name} cannot have attached files"
    if release.file.suffix not in kind.endings:
        return f"a {kind.name}'s file cannot end in {release.file.suffix}"
    seen = {(kind.main_file or "").lower()}
    folders: set[str] = set()
    for entry in release.attached:
        path = entry.path.lower()
        above = {path[:cut] for cut, letter in enumerate(path) if letter == "/"}
        if path in seen or path in folders or above & seen:
            return f"{entry.path!r} and another of its files have the same place"
        seen.add(path)
        folders |= above
    return None


def _finding(rule: Rule, findings: Sequence[Diagnostic]) -> Refusal:
    first = next((finding for finding in findings if finding.severity == "error"), None)
    return Refusal(rule, first.message if first is not None else "It cannot be read as an item of its kind.", first)
