"""Whether an item of a source can be used, and what its bytes say. Pure.

The content rules are those of any item: UTF-8 text with nothing hidden, a size limit, the rules of its kind. An agent in a
program's own form is converted first (:mod:`rye.items.agent.conversion`); everything later is about the result. A
signature is optional. It counts if it is by a key that this user trusts and the item has no other files, because it
would not cover them. An invalid signature by such a key is an error; a signature by any other key is ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct

from rye.items.agent import conversion
from rye.items.agent.program_forms import BY_PROGRAM
from rye.items.identity import Identity
from rye.items.published import read_published
from rye.items.reading import FOREIGN, Metadata
from rye.limits import CONTENT
from rye.resolution.versions import comparable
from rye.signing.keys import PublicKey
from rye.signing.verification import verify
from rye.sources.inventory.found import FoundItem
from rye.text.content import decode

_BROKEN = frozenset({"modified", "bad-signature", "revoked", "partial"})


class SourceFile(Struct, frozen=True):
    """An attached file's bytes."""

    path: str
    data: bytes
    executable: bool


class Judged(Struct, frozen=True, kw_only=True):
    """An item that can be used."""

    identity: Identity
    metadata: Metadata
    version: str
    data: bytes
    attached: tuple[SourceFile, ...]
    signer: str | None
    """The fingerprint of the trusted key that signed all of it."""
    kept: tuple[str, ...] = ()
    """Of a converted agent: its program's keys that are kept without effect."""
    converted_from: str | None = None
    """The title of the program in whose form the agent was."""
    by_lines: bool = False
    """Whether the agent's frontmatter is not YAML and was read line by line."""


class Keys(Struct, frozen=True):
    """The keys that this user trusts, and those they revoked."""

    trusted: tuple[PublicKey, ...] = ()
    revoked: tuple[PublicKey, ...] = ()


def judge(
    namespace: str,
    found: FoundItem,
    data: bytes,
    attached: Sequence[SourceFile],
    keys: Keys,
    build: str,
    *,
    in_place: bool = False,
) -> Judged | str:
    """Return the item, or why it cannot be used, as the end of a sentence. ``build``: build metadata if it has no version;
    ``in_place``: whether its file is used where it is."""
    if found.problem is not None:
        return found.problem
    identity = Identity(found.kind, f"{namespace}/{found.local_id}")
    if len(data) > CONTENT.item_bytes:
        return f"its file has more than {CONTENT.item_bytes:,} bytes"
    if sum(len(file.data) for file in attached) > CONTENT.attached_bytes:
        return f"its attached files have more than {CONTENT.attached_bytes:,} bytes"
    decoded = decode(data)
    kept: tuple[str, ...] = ()
    program: str | None = None
    by_lines = False
    if found.program is not None and decoded.text is not None and decoded.ok:
        title = BY_PROGRAM[found.program].title
        try:
            converted = conversion.convert(found.program, found.local_id, decoded.text)
        except conversion.NotConvertible as error:
            return f"it is not an agent of {title} ({error})"
        if converted is not None:
            if in_place:
                return (
                    f"it is in {title}'s form, and what is used in place cannot be converted; add it without --editable"
                )
            data, kept, program, by_lines = converted.data, converted.kept, title, converted.by_lines
            decoded = decode(data)
    reading = read_published(identity, found.suffix, decoded, [file.path for file in attached], FOREIGN)
    metadata = reading.metadata
    if metadata is None or not reading.ok:
        first = next((one.message for one in reading.diagnostics if one.severity == "error"), "it cannot be read")
        return first.rstrip(".")
    if metadata.name != found.local_id.rpartition("/")[2]:
        return f"its name {metadata.name!r} does not match its file name"
    signature = verify(data, found.kind, f"x{found.suffix}", keys.trusted, keys.revoked)
    if signature.verdict in _BROKEN:
        return f"its signature is not valid ({signature.verdict}): {signature.detail.rstrip('.')}"
    whole = signature.ok and not attached
    signer = signature.key.fingerprint if whole and signature.key is not None else None
    version = metadata.version or f"0.0.0+{build}"
    if comparable(version) is None:
        return f"its version {version[:80]} is not a valid version"
    return Judged(
        identity=identity,
        metadata=metadata,
        version=version,
        data=data,
        attached=tuple(attached),
        signer=signer,
        kept=kept,
        converted_from=program,
        by_lines=by_lines,
    )


def folder_build(files: Mapping[str, bytes], executable: frozenset[str]) -> str:
    """Return build metadata for an item in a folder without a version: eight digits of a hash of its files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        flag = "x" if path in executable else "-"
        digest.update(f"{path}\0{flag}{hashlib.sha256(files[path]).hexdigest()}\n".encode())
    return f"p{digest.hexdigest()[:8]}"


def commit_build(commit: str) -> str:
    """Return build metadata for an item of a commit without a version."""
    return f"g{commit[:8]}"
