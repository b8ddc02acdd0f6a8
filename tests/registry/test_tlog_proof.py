"""Proof files in the form of C2SP tlog-proof: strict, whole, and worth nothing when a byte is another."""

from __future__ import annotations

import base64

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import merkle, tlog_proof
from rye.registry.protocol.notes import VerifierKey
from rye.registry.protocol.statements import Release, Root
from rye.registry.protocol.tlog_proof import TlogProof, TlogProofError
from rye.registry.trust.keysets import log_keys
from tests.registry.simulated_registry import SimulatedRegistry, key

ONE = Identity("directive", "acme/work/one")


def made() -> tuple[SimulatedRegistry, TlogProof]:
    registry = SimulatedRegistry()
    registry.claim("acme", [key("acme")])
    position = registry.release(ONE)
    registry.publish()
    path = merkle.inclusion_proof(position, registry.size, registry.reader())
    return registry, TlogProof(registry.leaves[position], position, tuple(path), registry.files["checkpoint"].decode())


def keys(registry: SimulatedRegistry) -> tuple[VerifierKey, ...]:
    return log_keys(Root.parse(registry.roots[-1].text))


def test_the_file_has_the_lines_of_the_specification_and_reads_back() -> None:
    registry, proof = made()
    lines = proof.text().split("\n")
    assert lines[0] == "c2sp.org/tlog-proof@v1"
    assert base64.b64decode(lines[1].removeprefix("extra ")).decode() == proof.entry
    assert lines[2] == f"index {proof.index}"
    assert [base64.b64decode(line) for line in lines[3 : 3 + len(proof.path)]] == list(proof.path)
    assert lines[3 + len(proof.path)] == ""
    assert "\n".join(lines[4 + len(proof.path) :]) == registry.files["checkpoint"].decode()
    assert tlog_proof.read(proof.text().encode()) == proof


def test_it_proves_the_release() -> None:
    registry, proof = made()
    statement, checkpoint = tlog_proof.verify(proof, registry.origin, keys(registry))
    assert isinstance(statement, Release)
    assert (statement.identity, statement.version) == (ONE, "1.0.0")
    assert checkpoint.size == registry.size


def test_every_changed_byte_is_found() -> None:
    registry, proof = made()
    data = proof.text().encode()
    for at in range(len(data)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(TlogProofError):
            tlog_proof.verify(tlog_proof.read(changed), registry.origin, keys(registry))


def test_another_place_another_log_and_another_key() -> None:
    registry, proof = made()
    moved = TlogProof(proof.entry, proof.index - 1, proof.path, proof.checkpoint)
    longer = TlogProof(proof.entry, proof.index, (*proof.path, bytes(32)), proof.checkpoint)
    other = SimulatedRegistry(logs=[key("another log")])
    for wrong in (moved, longer):
        with pytest.raises(TlogProofError) as error:
            tlog_proof.verify(wrong, registry.origin, keys(registry))
        assert error.value.code == "proof-wrong"
    with pytest.raises(TlogProofError) as error:
        tlog_proof.verify(proof, registry.origin, keys(other))
    assert error.value.code == "proof-wrong"
    with pytest.raises(TlogProofError) as error:
        tlog_proof.verify(proof, "other.example", keys(registry))
    assert error.value.code == "proof-origin"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c2sp.org/tlog-proof@v2\nextra eA==\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eA==\nindex 00\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eA==\nindex -1\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eA=\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eB==\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nextra /w==\nindex 0\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eA==\nindex 0\nAAAA\n\nx",
        "c2sp.org/tlog-proof@v1\nextra eA==\nindex 0\n" + (base64.b64encode(bytes(32)).decode() + "\n") * 65 + "\nx",
        "c2sp.org/tlog-proof@v1\r\nextra eA==\r\nindex 0\r\n\r\nx",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(TlogProofError) as error:
        tlog_proof.read(text.encode())
    assert error.value.code == "proof-malformed"


def test_a_file_that_is_too_large_or_no_text() -> None:
    for data in (b"x" * (tlog_proof.MAX_PROOF_BYTES + 1), b"c2sp.org/tlog-proof@v1\nextra \xff\n\n"):
        with pytest.raises(TlogProofError) as error:
            tlog_proof.read(data)
        assert error.value.code == "proof-malformed"
