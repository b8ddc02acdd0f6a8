"""A log entry and its proof in one file that anyone can check without a network: C2SP tlog-proof.

::

    c2sp.org/tlog-proof@v1
    extra <base64 of the entry: a statement's whole signed note>
    index <position>
    <base64 hash>                 the inclusion proof, from the leaf's sibling up
    <empty line>
    <the signed checkpoint>

Strict: canonical base64, ASCII decimals, and no other lines. ``extra`` is required, because without it the leaf is
unknown. The proof shows that the log of that origin, signed with its key, contains the statement. Keysets decide who
had to sign it.

A registry's page for an entry (``/-/log/N`` as JSON) has this file in its field ``proof``; :func:`read_page` reads it
from there.
"""

from __future__ import annotations

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol import lines, merkle, notes
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import MAX_NOTE_BYTES, NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import Checkpoint, Logged, parse
from rye.text.json_reading import JsonError, read_json

TITLE = "c2sp.org/tlog-proof@v1"
MAX_PROOF_BYTES = 3 * MAX_NOTE_BYTES
"""Enough for a note in base64, 64 hashes and a checkpoint."""
MAX_PAGE_BYTES = 8 * MAX_NOTE_BYTES
"""The page contains the note a second time, as JSON."""
_MAX_HASHES = 64


class TlogProofError(RyeError):
    """A proof file that is malformed or proves nothing. Codes: ``proof-malformed``, ``proof-origin``, ``proof-wrong``."""


class TlogProof(Struct, frozen=True):
    """An entry, its position, and its path to a signed checkpoint."""

    entry: str
    """The whole signed note."""
    index: int
    path: tuple[bytes, ...]
    checkpoint: str
    """The whole signed checkpoint."""

    def text(self) -> str:
        """Return the file's text; :func:`read` reads this value back."""
        return "\n".join(
            [
                TITLE,
                f"extra {notes.encode_base64(self.entry.encode())}",
                f"index {self.index}",
                *(notes.encode_base64(item) for item in self.path),
                "",
                self.checkpoint,
            ]
        )


def read(data: bytes) -> TlogProof:
    """Parse a proof file. Raises TlogProofError ``proof-malformed``. The result is not verified."""
    if len(data) > MAX_PROOF_BYTES:
        raise _malformed(f"it has more than {MAX_PROOF_BYTES:,} bytes")
    try:
        head, separator, checkpoint = data.decode("utf-8").partition("\n\n")
        rows = head.split("\n")
        if not separator or rows[0] != TITLE:
            raise _malformed(f"it does not begin with {TITLE!r}, or has no checkpoint")
        if len(rows) < 3 or not rows[1].startswith("extra ") or not rows[2].startswith("index "):
            raise _malformed("its second line is not the entry, or its third not the index")
        if len(rows) - 3 > _MAX_HASHES:
            raise _malformed(f"it has more than {_MAX_HASHES} hashes")
        entry = notes.decode_base64(rows[1].removeprefix("extra ")).decode("utf-8")
        index = lines.read_number(rows[2].removeprefix("index "))
        path = tuple(lines.read_base64_hash(row) for row in rows[3:])
    except (NoteError, StatementError, UnicodeDecodeError) as error:
        raise _malformed(getattr(error, "message", None) or "it is not UTF-8") from error
    return TlogProof(entry, index, path, checkpoint)


def read_page(data: bytes) -> TlogProof:
    """Return the proof in a registry's page of an entry, saved as JSON. The page's other fields must agree with it.

    Raises TlogProofError ``proof-malformed``. The result is not verified.
    """
    if len(data) > MAX_PAGE_BYTES:
        raise _malformed(f"it has more than {MAX_PAGE_BYTES:,} bytes")
    try:
        page = read_json(data)
    except JsonError as error:
        raise _malformed(f"it is not valid JSON: {error}") from error
    text = page.get("proof") if isinstance(page, dict) else None
    if not isinstance(page, dict) or not isinstance(text, str):
        raise _malformed("its JSON has no text called proof")
    proof = read(text.encode("utf-8", "surrogatepass"))
    try:
        note = notes.parse(proof.entry).text
    except NoteError as error:
        raise _malformed(error.message) from error
    for name, proved in (("note", note), ("position", proof.index), ("checkpoint", proof.checkpoint)):
        if name in page and page[name] != proved:
            raise _malformed(f"its {name} is not the one in its proof")
    return proof


def read_checkpoint(proof: TlogProof) -> tuple[SignedNote, Checkpoint]:
    """Return the checkpoint as it claims to be, to learn which log it is from.

    Raises TlogProofError ``proof-malformed``.
    """
    try:
        note = notes.parse(proof.checkpoint)
        return note, Checkpoint.parse(note.text)
    except (NoteError, StatementError) as error:
        raise _malformed(error.message) from error


def verify(proof: TlogProof, origin: str, keys: tuple[VerifierKey, ...]) -> tuple[Logged, Checkpoint]:
    """Return the verified statement and its checkpoint. ``keys``: the log's. Raises TlogProofError."""
    note, checkpoint = read_checkpoint(proof)
    if checkpoint.origin != origin:
        raise TlogProofError("proof-origin", f"The proof is from the log {checkpoint.origin}, not from {origin}.", _ASK)
    try:
        notes.verify(note, keys)
        leaf = merkle.leaf_hash(proof.entry.encode())
        merkle.verify_inclusion(leaf, proof.index, checkpoint.size, proof.path, checkpoint.root_hash)
    except (NoteError, merkle.ProofError) as error:
        raise TlogProofError("proof-wrong", f"The proof is invalid: {error.message}", _ASK) from error
    try:
        statement = parse(notes.parse(proof.entry).text)
    except (NoteError, StatementError) as error:
        raise _malformed(error.message) from error
    if statement.origin != origin:
        raise TlogProofError(
            "proof-origin", f"The entry is about {statement.origin}, but the log is that of {origin}.", _ASK
        )
    return statement, checkpoint


_ASK = "Do not rely on it. Create a new one: `rye log prove ID@VERSION`."


def _malformed(reason: str) -> TlogProofError:
    return TlogProofError("proof-malformed", f"This is not a proof file: {reason.removesuffix('.')}.", _ASK)
