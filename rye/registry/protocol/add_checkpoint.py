"""The body of ``add-checkpoint`` (C2SP tlog-witness), which a log sends and a witness reads, and the answer's signature lines.

::

    old <size of the tree that the witness cosigned last>
    <base64 hash>                 up to 63 lines: the consistency proof
    <empty line>
    <the signed checkpoint>
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol import lines, notes
from rye.registry.protocol.cosignatures import read_size
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import MAX_NOTE_BYTES, NoteError, NoteSignature, SignedNote

PATH = "add-checkpoint"
MAX_HASHES = 63
MAX_REQUEST_BYTES = MAX_NOTE_BYTES + 4 * 1024
"""A checkpoint with the most signatures, and 63 hashes."""
SIZE_TYPE = "text/x.tlog.size"
"""The content type of a 409 that names the size that the witness has."""


class AddCheckpointError(RyeError):
    """A request or an answer that is malformed. Code: ``add-checkpoint-malformed``."""


class AddCheckpoint(Struct, frozen=True):
    """A request: the old size, the proof, and the whole signed checkpoint."""

    old: int
    proof: tuple[bytes, ...]
    checkpoint: str

    def encode(self) -> bytes:
        """Return the request's body."""
        rows = [f"old {self.old}", *map(notes.encode_base64, self.proof), "", self.checkpoint]
        return "\n".join(rows).encode()


def read_request(data: bytes) -> AddCheckpoint:
    """Read a request's body; the checkpoint is not parsed. Raises AddCheckpointError."""
    if len(data) > MAX_REQUEST_BYTES:
        raise _malformed(f"it has more than {MAX_REQUEST_BYTES:,} bytes")
    try:
        head, separator, checkpoint = data.decode("utf-8").partition("\n\n")
        rows = head.split("\n")
        if not separator or not rows[0].startswith("old "):
            raise _malformed("it does not begin with 'old SIZE', or has no empty line before its checkpoint")
        if len(rows) - 1 > MAX_HASHES:
            raise _malformed(f"its proof has more than {MAX_HASHES} hashes")
        old = read_size(rows[0].removeprefix("old "))
        return AddCheckpoint(old, tuple(map(lines.read_base64_hash, rows[1:])), checkpoint)
    except (StatementError, NoteError) as error:
        raise _malformed(error.message.removesuffix(".")) from error
    except UnicodeDecodeError as error:
        raise _malformed("it is not UTF-8") from error


def encode_answer(signatures: Sequence[NoteSignature]) -> bytes:
    """Return the signature lines of an answer."""
    return SignedNote("", tuple(signatures)).encode()[1:].encode()


def read_answer(data: bytes) -> tuple[NoteSignature, ...]:
    """Read an answer's signature lines. Nothing is verified. Raises AddCheckpointError."""
    if len(data) > MAX_NOTE_BYTES:
        raise _malformed(f"the answer has more than {MAX_NOTE_BYTES:,} bytes")
    try:
        return notes.parse(b"answer\n\n" + data).signatures
    except NoteError as error:
        raise _malformed(error.message.removesuffix(".")) from error


def read_known_size(data: bytes) -> int | None:
    """The size that a 409 names; None if it names none."""
    try:
        return read_size(data[:64].decode("ascii").removesuffix("\n"))
    except (StatementError, UnicodeDecodeError):
        return None


def _malformed(reason: str) -> AddCheckpointError:
    return AddCheckpointError("add-checkpoint-malformed", f"This is not an add-checkpoint request: {reason}.")
