"""What an ``add-checkpoint`` request deserves (C2SP tlog-witness). Pure: what was signed comes in, an answer comes out.

Rules, in this order:

1. 400 for a request that is malformed, or whose old size is larger than the checkpoint's.
2. 404 for the origin of a log that the operator did not add.
3. 403 unless one of the log's keys signed the checkpoint, and no line that names one of them is wrong. Other lines are ignored.
4. 409, with the size that was signed last, for another old size.
5. 422 if the tree is not proved to contain the one that was signed last; for the same size, if the root is another; for size 0,
   if the root is not that of the empty tree.
6. Otherwise the checkpoint becomes what is signed, with the log's valid lines only.

Two checkpoints of one size with different roots, both signed by the log, are evidence that it forked, whatever the old size.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rye.errors import RyeError
from rye.registry.protocol import add_checkpoint, merkle, notes
from rye.registry.protocol.add_checkpoint import AddCheckpoint
from rye.registry.protocol.cosignatures import Cosigner, CosignerKey, TreeHead, cosign, read_cosignatures
from rye.registry.protocol.notes import SignedNote, VerifierKey
from rye.registry.protocol.witness_policy import LogKey


class Log(Struct, frozen=True):
    """A log that the operator added, and what the witness signed last: all that it has to remember."""

    origin: str
    keys: tuple[LogKey, ...]
    note: str | None = None
    """The last checkpoint with the log's and the witness's signatures; None: none so far."""

    @property
    def head(self) -> TreeHead:
        """What was signed last; the empty tree at first."""
        if self.note is None:
            return TreeHead(self.origin, 0, merkle.EMPTY_ROOT)
        return TreeHead.parse(notes.parse(self.note).text)


class Declined(Struct, frozen=True):
    """An answer other than a cosignature. ``evidence``: whether the two checkpoints contradict each other."""

    status: int
    body: str
    size_type: bool = False
    evidence: bool = False


def origin_of(request: AddCheckpoint) -> str | Declined:
    """The log that a request is about, to look up what was signed of it."""
    try:
        return TreeHead.parse(notes.parse(request.checkpoint).text).origin
    except RyeError as error:
        return Declined(400, error.message)


def decide(request: AddCheckpoint, log: Log) -> SignedNote | Declined:
    """Return the checkpoint to sign, with the log's valid lines, or the refusal. ``log``: of the request's origin."""
    note = notes.parse(request.checkpoint)
    head = TreeHead.parse(note.text)
    try:
        signed = log_lines(note, log.keys)
    except RyeError as error:
        return Declined(403, error.message)
    if not signed.signatures:
        return Declined(403, f"No key of {log.origin} that this witness knows signed the checkpoint.")
    if request.old > head.size:
        return Declined(400, f"The old size {request.old} is larger than the checkpoint's, {head.size}.")
    known = log.head
    forked = head.size == known.size and head.root_hash != known.root_hash and known.size > 0
    if request.old != known.size:
        return Declined(409, f"{known.size}", size_type=True, evidence=forked)
    if head.size == 0 and head.root_hash != merkle.EMPTY_ROOT:
        return Declined(422, "The root of an empty tree is another.")
    try:
        merkle.verify_consistency(request.old, head.size, known.root_hash, head.root_hash, request.proof)
    except merkle.ProofError as error:
        return Declined(422, error.message, evidence=forked)
    return signed


def log_lines(note: SignedNote, keys: Sequence[LogKey]) -> SignedNote:
    """Return the note with the lines of these keys only, all verified. Raises NoteError if one is wrong."""
    plain = [key for key in keys if isinstance(key, VerifierKey)]
    others = [key for key in keys if isinstance(key, CosignerKey)]
    good: set[LogKey] = set(notes.verify(note, plain, 0))
    good |= {one.key for one in read_cosignatures(note, others)}
    names = {(key.name, key.key_id) for key in good}
    return SignedNote(note.text, tuple(line for line in note.signatures if (line.name, line.key_id) in names))


def cosigned(note: SignedNote, cosigners: Sequence[Cosigner], time: int) -> tuple[SignedNote, bytes]:
    """Return the note with a line of each key, which the witness keeps, and those lines, which it answers."""
    added = tuple(cosign(note.text, one, time) for one in cosigners)
    return SignedNote(note.text, (*note.signatures, *added)), add_checkpoint.encode_answer(added)
