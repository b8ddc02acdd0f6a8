"""What a witness signs, and every request that it must refuse, with the specification's status (C2SP tlog-witness)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rye.registry.protocol import merkle, notes
from rye.registry.protocol.add_checkpoint import AddCheckpoint
from rye.registry.protocol.cosignatures import read_cosignatures
from rye.registry.protocol.notes import NoteSignature, SignedNote, encode_base64
from rye.witness.deciding import Declined, Log, cosigned, decide, origin_of
from tests.registry.simulated_registry import key, signer
from tests.registry.witness_keys import ed25519, ml_dsa

ORIGIN = "logs.example"
LOG = signer("logs.example", key("log"))
W = ed25519("witness.example")
EMPTY = Log(ORIGIN, (LOG.verifier,))


class Tree:
    """A log of leaves, any of whose sizes it can sign and prove."""

    def __init__(self, *leaves: bytes):
        self.leaves = [merkle.leaf_hash(leaf) for leaf in leaves]

    def root(self, size: int) -> bytes:
        return merkle.tree_root(self.leaves[:size])

    def note(self, size: int, *, extension: str = "", signers: Sequence[notes.Signer] = (LOG,)) -> SignedNote:
        return notes.sign(f"{ORIGIN}\n{size}\n{encode_base64(self.root(size))}\n{extension}", signers)

    def request(self, old: int, size: int) -> AddCheckpoint:
        def read(level: int, index: int) -> bytes:
            return merkle.tree_root(self.leaves[index << level : (index + 1) << level])

        proof = merkle.consistency_proof(min(old, size), size, read)
        return AddCheckpoint(old, tuple(proof), self.note(size).encode())


TREE = Tree(*[bytes((number,)) for number in range(20)])
FORK = Tree(b"harm", *[bytes((number,)) for number in range(1, 20)])


def after(size: int, tree: Tree = TREE) -> Log:
    """The log, when this size was signed last."""
    kept, _ = cosigned(tree.note(size), [W], 1_000)
    return Log(ORIGIN, (LOG.verifier,), kept.encode())


def refused(request: AddCheckpoint, log: Log) -> Declined:
    done = decide(request, log)
    assert isinstance(done, Declined)
    return done


@pytest.mark.parametrize(("old", "size"), [(0, 0), (0, 1), (0, 20), (1, 2), (7, 20), (16, 17), (5, 5)])
def test_a_log_that_grew_is_signed(old: int, size: int) -> None:
    done = decide(TREE.request(old, size), after(old) if old else EMPTY)
    assert isinstance(done, SignedNote)
    kept, lines = cosigned(done, [W, ml_dsa("witness.example")], 2_000)
    assert [one.time for one in read_cosignatures(kept, [W.verifier])] == [2_000]
    assert len(kept.signatures) == 3
    assert lines.count(b"\n") == 2


def test_extension_lines_and_strangers_signatures_do_not_matter() -> None:
    note = TREE.note(5, extension="more\n", signers=[LOG, signer("stranger", key("stranger"))])
    done = decide(AddCheckpoint(0, (), note.encode()), EMPTY)
    assert isinstance(done, SignedNote)
    assert [line.name for line in done.signatures] == ["logs.example"], "only the log's own line is kept"


def test_a_log_that_signs_with_ml_dsa() -> None:
    log = ml_dsa("logs.example")
    unsigned = TREE.note(3, signers=[signer("stranger", key("stranger"))])
    note, _ = cosigned(unsigned, [log], 1_000)
    done = decide(AddCheckpoint(0, (), note.encode()), Log(ORIGIN, (log.verifier,)))
    assert isinstance(done, SignedNote)
    assert refused(AddCheckpoint(0, (), unsigned.encode()), Log(ORIGIN, (log.verifier,))).status == 403


@pytest.mark.parametrize(
    "checkpoint", ["", "x", "a\n1\n", f"{ORIGIN}\n01\n{encode_base64(bytes(32))}\n\n— l AAAAAAA=\n"]
)
def test_what_is_no_checkpoint_is_400(checkpoint: str) -> None:
    done = origin_of(AddCheckpoint(0, (), checkpoint))
    assert isinstance(done, Declined)
    assert done.status == 400
    assert origin_of(TREE.request(0, 1)) == ORIGIN


def test_unsigned_and_wrongly_signed_checkpoints_are_403() -> None:
    stranger = TREE.note(3, signers=[signer("logs.example", key("stranger"))])
    assert refused(AddCheckpoint(0, (), stranger.encode()), EMPTY).status == 403
    good = TREE.note(3)
    line = good.signatures[0]
    bad = NoteSignature(line.name, line.key_id, line.signature[:-1] + bytes((line.signature[-1] ^ 1,)))
    for lines in ((bad,), (line, bad)):
        note = SignedNote(good.text, lines).encode()
        assert refused(AddCheckpoint(0, (), note), EMPTY).status == 403


def test_another_old_size_is_409_and_names_the_right_one() -> None:
    for old in (0, 6, 8):
        done = refused(TREE.request(old, 20), after(7))
        assert (done.status, done.body, done.size_type) == (409, "7", True)


def test_an_old_size_larger_than_the_checkpoint_is_400() -> None:
    assert refused(TREE.request(8, 7), after(8)).status == 400


def test_a_fork_a_rollback_and_a_wrong_proof_are_422() -> None:
    assert refused(FORK.request(7, 20), after(7)).status == 422
    good = TREE.request(7, 20)
    for proof in ((), good.proof[:-1], (*good.proof, bytes(32)), tuple(reversed(good.proof))):
        assert refused(AddCheckpoint(7, proof, good.checkpoint), after(7)).status == 422
    assert refused(AddCheckpoint(0, (bytes(32),), good.checkpoint), EMPTY).status == 422
    assert isinstance(decide(good, after(7)), SignedNote)


def test_another_root_of_the_same_size_is_never_signed_and_is_evidence_whatever_the_old_size() -> None:
    done = refused(FORK.request(7, 7), after(7))
    assert (done.status, done.evidence) == (422, True)
    again = refused(FORK.request(0, 7), after(7))
    assert (again.status, again.evidence) == (409, True)
    assert not refused(FORK.request(7, 20), after(7)).evidence, "a wrong proof alone proves nothing"


def test_a_tree_of_size_zero_has_the_root_of_the_empty_tree() -> None:
    text = f"{ORIGIN}\n0\n{encode_base64(bytes(32))}\n"
    assert refused(AddCheckpoint(0, (), notes.sign(text, [LOG]).encode()), EMPTY).status == 422
