"""The checks before a statement may be published that need no database: pure, given the bytes.

In this order; each is an error with its own code:

1. The note parses strictly, is of a type that clients can send, and is for this registry (``note-…``, ``statement-…``,
   ``wrong-origin``).
2. Its time is not in the future (``time-ahead``).
3. A release's files have distinct places (``item-misplaced``); sizes are within the limits (``file-too-large``,
   ``too-many-files``).
4. Its blobs are present, with the size and hash in the note (``blob-missing``, ``blob-mismatch``).
5. No file contains a secret or has the name of a secret file (``secret-found``).
6. Attached text hides nothing from readers (``content-refused``).
7. The item's file matches the release and the rules for publishing: :mod:`rye.registry.trust.file_acceptance`, the same
   function that clients call before they install it (``content-refused``, ``item-signature``, ``item-invalid``,
   ``note-contradicts-item``).

Signatures of notes are checked with the lock held, in :mod:`registry_server.sequencer.admission`: only there is the
keyset in force known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.reading import ReadOptions
from rye.items.search_words import search_words
from rye.limits import CONTENT, ContentLimits
from rye.registry.protocol import notes, statements
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Logged, OfTheLog, OwnerStatement, Release, Takedown
from rye.registry.trust.file_acceptance import Refusal, judge_release_file, misplacement
from rye.signing.item_secrets import secrets_in_item
from rye.signing.keys import PublicKey
from rye.text.content import check_text
from rye.text.diagnostics import Diagnostic
from rye.text.secrets import is_secret_file, secrets_in_file

#: Findings about invisible characters and characters that are shown in another place (:mod:`rye.text.content`).
_HIDING = frozenset({"C05", "C06", "C07"})

#: Returns an uploaded or published blob; None if it does not exist.
ReadBlob = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement on its way into the log."""

    note: SignedNote
    statement: Logged
    signer: bytes | None = None
    """For a release: the raw key whose in-file signature is valid."""
    keywords: str = ""
    """For a release: what search finds it by, besides id and description."""

    @property
    def leaf(self) -> bytes:
        """The bytes of the log entry."""
        return self.note.encode().encode()


def namespace_of(statement: Logged) -> str | None:
    """Return the namespace of a statement; None for the registry's own."""
    if isinstance(statement, OfTheLog):
        return None
    if isinstance(statement, statements.Keyset | OwnerStatement):
        return statement.namespace
    return statement.identity.namespace


def read_note(text: str, origin: str, now: datetime, skew_seconds: int) -> Candidate:
    """Rules 1 and 2 for a note's text. Raises RyeError."""
    return check_read(notes.parse(text), origin, now, skew_seconds)


def check_read(note: SignedNote, origin: str, now: datetime, skew_seconds: int) -> Candidate:
    """Rules 1 and 2 for a parsed note, or one that nobody has signed yet. Raises RyeError."""
    statement = statements.parse(note.text)
    if isinstance(statement, OfTheLog | Takedown):
        raise RyeError(
            "statement-not-accepted",
            f"Clients cannot send {statement.TITLE} statements: they come from the registry itself.",
            "Operators use `rye-registry root publish FILE` and `rye-registry takedown --publish FILE`.",
        )
    if statement.origin != origin:
        raise RyeError(
            "wrong-origin",
            f"The statement is for the registry {statement.origin}; this one is {origin}.",
            "Publish it again for this registry.",
        )
    if statement.time > now + timedelta(seconds=skew_seconds):
        raise RyeError(
            "time-ahead",
            f"The statement's time {statement.time:%Y-%m-%dT%H:%M:%SZ} is in the future.",
            "Set the clock of the signing machine, then sign again.",
        )
    return Candidate(note, statement)


def examine(
    candidate: Candidate, read_blob: ReadBlob, keys: Sequence[PublicKey], limits: ContentLimits = CONTENT
) -> Candidate:
    """Rules 3 to 7 for a release; other statements have no blobs and pass. Raises RyeError."""
    release = candidate.statement
    if not isinstance(release, Release):
        return candidate
    _check_place(release)
    _check_sizes(release, limits)
    data = _blob(release.file.sha256, release.file.size, f"the file of {release.identity}", read_blob)
    _check_attached(release, read_blob)
    _refuse_secrets(str(release.identity), secrets_in_item(release.identity.kind, release.file.suffix, data))
    judged = judge_release_file(release, data, keys, ReadOptions(publishing=True))
    if isinstance(judged, Refusal):
        raise _refused(release, judged)
    words = search_words(judged.metadata.keywords, data.decode("utf-8", "replace"), release.file.suffix)
    return Candidate(candidate.note, release, judged.signer.raw, words)


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
            f"The content of {what} was not uploaded ({sha256}).",
            "Upload it first: rye publish does.",
        )
    if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise RyeError(
            "blob-mismatch",
            f"The content of {what} does not match the release note.",
            "Publish it again: rye publish FILE",
        )
    return data


def _check_place(release: Release) -> None:
    """Refuse a release that no client could install, before reading its files."""
    misplaced = misplacement(release)
    if misplaced is not None:
        raise _refused(release, Refusal("place", misplaced))


def _check_sizes(release: Release, limits: ContentLimits) -> None:
    if release.file.size > limits.item_bytes:
        raise RyeError(
            "file-too-large",
            f"{release.identity} has {release.file.size:,} bytes; the limit for an item is {limits.item_bytes:,}.",
            "Split the item, or move bulky material into a skill's attached files.",
        )
    attached_bytes = sum(entry.size for entry in release.attached)
    if len(release.attached) > limits.attached_files or attached_bytes > limits.attached_bytes:
        raise RyeError(
            "too-many-files",
            f"{release.identity} has {len(release.attached):,} attached files of {attached_bytes:,} bytes; at most "
            f"{limits.attached_files:,} of {limits.attached_bytes:,} are allowed.",
            "Exclude files with .ryeignore.",
        )


def _check_attached(release: Release, read_blob: ReadBlob) -> None:
    for entry in release.attached:
        if is_secret_file(entry.path):
            raise _secret(entry.path, None, "secrets, judging by its name")
        content = _blob(entry.sha256, entry.size, f"attached file {entry.path}", read_blob)
        _refuse_secrets(entry.path, secrets_in_file(content))
        _refuse_hidden(release, entry.path, content)


def _refuse_secrets(name: str, secrets: Sequence[tuple[int, str]]) -> None:
    if secrets:
        raise _secret(name, *secrets[0])


def _refuse_hidden(release: Release, path: str, data: bytes) -> None:
    """Attached files can be images and have any line endings, but text that agents read must be what people see."""
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
        f"{where} contains {what}. Published content stays public permanently.",
        "Remove it, and replace the secret if it was ever shared. In examples use a placeholder such as <token>. If it is not a "
        "secret, say why in the same line: rye:allow-secret REASON."
        if line
        else "Remove it, and replace the secret if it was ever shared.",
    )


def _refused(release: Release, refusal: Refusal) -> RyeError:
    subject = f"{release.identity} {release.version}"
    match refusal.rule:
        case "place":
            return RyeError(
                "item-misplaced",
                f"{subject} is refused, because no client could install it: {refusal.reason}.",
                "Publish with `rye publish`, which takes the item's name from its place.",
            )
        case "signature":
            hints = {
                "unsigned": "Sign it first: rye sign FILE",
                "untrusted": "Sign it with a key of the namespace: `rye namespace show NAMESPACE` lists them.",
            }
            return RyeError(
                "item-signature",
                f"The file of {release.identity} has no valid signature ({refusal.verdict}): {refusal.reason}",
                hints.get(refusal.verdict or "", "Sign it again: rye sign FILE"),
            )
        case "note":
            return RyeError(
                "note-contradicts-item",
                f"The release note of {subject} does not match the item: {refusal.reason}.",
                "Publish with `rye publish`, which writes the note from the item.",
            )
        case "text":
            return _finding("content-refused", release, refusal.finding or _unread(refusal))
        case "format":
            return _finding("item-invalid", release, refusal.finding or _unread(refusal))


def _unread(refusal: Refusal) -> Diagnostic:
    return Diagnostic("error", "unreadable", refusal.reason)


def _finding(code: str, release: Release, finding: Diagnostic) -> RyeError:
    place = f" (line {finding.line})" if finding.line else ""
    return RyeError(
        code,
        f"{release.identity} is refused: {finding.code}{place}: {finding.message}",
        finding.hint or "Check it first: rye validate --strict FILE",
    )
