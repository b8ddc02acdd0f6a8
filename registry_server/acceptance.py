"""What is looked at before a statement may be published, as far as it needs no database: pure, given the bytes.

In this order, each of them an error with its own code:

1. The note parses strictly, is of a type that clients may send, and is of this registry (``note-…``, ``statement-…``,
   ``wrong-origin``).
2. Its time does not lie ahead (``time-ahead``).
3. A release's blobs are there with the size and hash that the note gives (``blob-missing``, ``blob-mismatch``).
4. Sizes are within the limits (``file-too-large``, ``too-many-files``).
5. No file holds a secret or is one by its name (``secret-found``).
6. The item's text follows the content rules, LF and no BOM; attached text hides nothing from readers (``content-refused``).
7. The in-file signature is ``valid``, by a key of the namespace (``item-signature``).
8. The kind's parser finds no error, with the rules for publishing (``item-invalid``).
9. The note says what the item's bytes say (``note-contradicts-item``).

Signatures of notes are checked with the lock held, in :mod:`registry_server.admission`: only there the keyset in force is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.kinds import KINDS
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.limits import CONTENT, ContentLimits
from rye.registry.protocol import notes, statements
from rye.registry.protocol.derivation import contradiction
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Logged, Release, Root, Snapshot
from rye.signing.keys import PublicKey
from rye.signing.verification import Verification, verify
from rye.text.content import check_text, decode
from rye.text.diagnostics import Diagnostic, has_errors
from rye.text.secrets import find_secrets, is_secret_file

#: Findings about characters that readers do not see or see elsewhere (:mod:`rye.text.content`).
_HIDING = frozenset({"C05", "C06", "C07"})

#: Reads a blob that was uploaded or published; None where there is none.
ReadBlob = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement on its way into the log."""

    note: SignedNote
    statement: Logged
    signer: bytes | None = None
    """Of a release: the raw key whose in-file signature is valid."""
    keywords: str = ""
    """Of a release: what search finds it by, beside id and description."""

    @property
    def leaf(self) -> bytes:
        return self.note.encode().encode()


def namespace_of(statement: Logged) -> str | None:
    """The namespace that a statement is about; None for the registry's own."""
    if isinstance(statement, Root | Snapshot):
        return None
    if isinstance(statement, statements.Keyset):
        return statement.namespace
    return statement.identity.namespace


def read_note(text: str, origin: str, now: datetime, skew_seconds: int) -> Candidate:
    """Rules 1 and 2. Raises RyeError."""
    note = notes.parse(text)
    statement = statements.parse(note.text)
    if isinstance(statement, Root | Snapshot):
        raise RyeError(
            "statement-not-accepted",
            f"{statement.TITLE} statements come from the registry itself, never from clients.",
            "Operators use rye-registry root publish FILE.",
        )
    if statement.origin != origin:
        raise RyeError(
            "wrong-origin",
            f"The statement is for the registry {statement.origin}; this one is {origin}.",
            "Sign it again for this registry.",
        )
    if statement.time > now + timedelta(seconds=skew_seconds):
        raise RyeError(
            "time-ahead",
            f"The statement's time {statement.time:%Y-%m-%dT%H:%M:%SZ} lies in the future.",
            "Set the clock of the machine that signs, then sign again.",
        )
    return Candidate(note, statement)


def examine(
    candidate: Candidate, read_blob: ReadBlob, keys: Sequence[PublicKey], limits: ContentLimits = CONTENT
) -> Candidate:
    """Rules 3 to 9 for a release; other statements have no blobs and pass. Raises RyeError."""
    release = candidate.statement
    if not isinstance(release, Release):
        return candidate
    kind = KINDS[release.identity.kind]
    if release.file.suffix not in ((kind.main_file,) if kind.main_file else kind.suffixes):
        raise RyeError("item-invalid", f"No {kind.name} has a file that ends with {release.file.suffix}.", None)
    if release.file.size > limits.item_bytes:
        raise RyeError(
            "file-too-large",
            f"{release.identity} has {release.file.size:,} bytes; an item has at most {limits.item_bytes:,}.",
            "Split the item, or attach the bulk as a skill's files.",
        )
    attached_bytes = sum(entry.size for entry in release.attached)
    if len(release.attached) > limits.attached_files or attached_bytes > limits.attached_bytes:
        raise RyeError(
            "too-many-files",
            f"{release.identity} has {len(release.attached):,} attached files of {attached_bytes:,} bytes; at most "
            f"{limits.attached_files:,} of {limits.attached_bytes:,} are allowed.",
            "Leave files out with .ryeignore.",
        )
    data = _blob(release.file.sha256, release.file.size, f"the file of {release.identity}", read_blob)
    for entry in release.attached:
        if is_secret_file(entry.path):
            raise _secret(entry.path, None, "a file that holds secrets by its name")
        content = _blob(entry.sha256, entry.size, f"attached file {entry.path}", read_blob)
        _refuse_secrets(entry.path, content)
        _refuse_hidden(release, entry.path, content)
    _refuse_secrets(str(release.identity), data)
    decoded = decode(data, limits)
    if decoded.text is None or not decoded.ok or decoded.had_bom or decoded.had_crlf:
        worst = next((d for d in decoded.diagnostics if d.severity == "error"), decoded.diagnostics[0])
        raise _finding("content-refused", release, worst)
    signature = _judge_signature(data, release, keys)
    reading = _read(release, decoded.text)
    metadata = reading.metadata
    if metadata is None or has_errors(reading.diagnostics):
        errors = [d for d in reading.diagnostics if d.severity == "error"]
        unread = Diagnostic("error", "unreadable", "It cannot be read as an item of its kind.")
        raise _finding("item-invalid", release, errors[0] if errors else unread)
    said = contradiction(release, metadata)
    if said is not None:
        raise RyeError(
            "note-contradicts-item",
            f"The release note of {release.identity} {release.version} does not say what the item says: {said}.",
            "Publish with the rye command, which takes the note's lines from the item.",
        )
    assert signature.key is not None  # a valid signature has its key
    return Candidate(candidate.note, release, signature.key.raw, _keywords(metadata))


def blobs_of(statement: Logged) -> list[str]:
    """The hashes of the blobs that a statement makes public."""
    if not isinstance(statement, Release):
        return []
    return [statement.file.sha256, *(entry.sha256 for entry in statement.attached)]


def _blob(sha256: str, size: int, what: str, read_blob: ReadBlob) -> bytes:
    data = read_blob(sha256)
    if data is None:
        raise RyeError(
            "blob-missing",
            f"The bytes of {what} were not uploaded ({sha256}).",
            "Upload them first; rye publish does.",
        )
    if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise RyeError("blob-mismatch", f"The bytes of {what} are not those of the release note.", "Publish it again.")
    return data


def _refuse_secrets(name: str, data: bytes) -> None:
    found = find_secrets(data.decode("utf-8", "replace"))
    if found:
        raise _secret(name, *found[0])


def _refuse_hidden(release: Release, path: str, data: bytes) -> None:
    """Attached files may be images or have any line endings, but text that agents read must be what people see."""
    try:
        text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return
    for finding in check_text(text):
        if finding.code in _HIDING:
            raise _finding("content-refused", release, replace(finding, message=f"{path}: {finding.message}"))


def _secret(name: str, line: int | None, what: str) -> RyeError:
    where = f"{name}, line {line}," if line else name
    return RyeError(
        "secret-found",
        f"{where} holds {what}; what is published stays public for ever.",
        "Remove it, and replace the secret if it was ever shared. In examples write a placeholder such as <token>.",
    )


def _judge_signature(data: bytes, release: Release, keys: Sequence[PublicKey]) -> Verification:
    verification = verify(data, release.identity.kind, f"item{release.file.suffix}", keys)
    if verification.ok:
        return verification
    hints = {
        "unsigned": "Sign it first: rye sign FILE",
        "untrusted": "Sign it with a key of the namespace: rye namespace show lists them.",
    }
    raise RyeError(
        "item-signature",
        f"The file of {release.identity} has no valid signature ({verification.verdict}): {verification.detail}",
        hints.get(verification.verdict, "Sign it again: rye sign FILE"),
    )


def _read(release: Release, text: str) -> Reading:
    kind = KINDS[release.identity.kind]
    category, _, name = release.identity.local_id.rpartition("/")
    path = kind.main_file or f"{name}{release.file.suffix}"
    attached = tuple(entry.path for entry in release.attached) if kind.main_file else None
    reading: Reading = kind.load().read(Source(text, path, name, category, attached), ReadOptions(publishing=True))
    return reading


def _keywords(metadata: Metadata) -> str:
    words = [metadata.category or "", *(tool for tool in metadata.agent_tools)]
    return " ".join(word for word in words if word)[:1000]


def _finding(code: str, release: Release, finding: Diagnostic) -> RyeError:
    place = f" (line {finding.line})" if finding.line else ""
    return RyeError(
        code,
        f"{release.identity} is refused: {finding.code}{place}: {finding.message}",
        finding.hint or "Check it first: rye validate --strict FILE",
    )
