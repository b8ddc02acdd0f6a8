"""Proof files in the format of C2SP tlog-proof: strict, complete, and invalid if any byte changes."""

from __future__ import annotations

import base64
import json
import re

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import merkle, notes, tlog_proof
from rye.registry.protocol.notes import VerifierKey
from rye.registry.protocol.statements import Checkpoint, Release, Root
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


HASH_LINE = base64.b64encode(bytes(32)).decode() + "\n"
HEAD = "c2sp.org/tlog-proof@v1\nextra eA==\nindex 0\n"
NO_ENTRY_OR_INDEX = "its second line is not the entry, or its third not the index"


def test_an_entry_alone_in_its_tree_has_no_hashes_and_the_last_index_line_is_enough() -> None:
    assert tlog_proof.read(f"{HEAD}\nsome checkpoint".encode()) == TlogProof("x", 0, (), "some checkpoint")


def test_a_file_of_the_longest_length_and_with_the_most_hashes_is_read() -> None:
    assert tlog_proof.MAX_PROOF_BYTES == 180_000
    text = HEAD + HASH_LINE * 64 + "\n"
    longest = text + "c" * (180_000 - len(text))
    proof = tlog_proof.read(longest.encode())
    assert (len(proof.path), proof.text()) == (64, longest)
    assert refusal(longest.encode() + b"c") == "it has more than 180,000 bytes"
    assert refusal((HEAD + HASH_LINE * 65 + "\nc").encode()) == "it has more than 64 hashes"


def refusal(data: bytes) -> str:
    """The reason that :func:`tlog_proof.read` gives."""
    with pytest.raises(TlogProofError) as error:
        tlog_proof.read(data)
    assert (error.value.code, error.value.hint) == (
        "proof-malformed",
        "Do not rely on it. Create a new one: `rye log prove ID@VERSION`.",
    )
    found = re.fullmatch(r"This is not a proof file: (.*)\.", error.value.message)
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HEAD, "it does not begin with 'c2sp.org/tlog-proof@v1', or has no checkpoint"),
        ("other\nextra eA==\nindex 0\n\nc", "it does not begin with 'c2sp.org/tlog-proof@v1', or has no checkpoint"),
        ("c2sp.org/tlog-proof@v1\n\nc", NO_ENTRY_OR_INDEX),
        ("c2sp.org/tlog-proof@v1\nextra eA==\n\nc", NO_ENTRY_OR_INDEX),
        ("c2sp.org/tlog-proof@v1\neA==\nindex 0\n\nc", NO_ENTRY_OR_INDEX),
        ("c2sp.org/tlog-proof@v1\nextra eA==\n0\n\nc", NO_ENTRY_OR_INDEX),
        ("c2sp.org/tlog-proof@v1\nindex 0\nextra eA==\n\nc", NO_ENTRY_OR_INDEX),
        ("c2sp.org/tlog-proof@v1\nextra /w==\nindex 0\n\nc", "it is not UTF-8"),
        ("c2sp.org/tlog-proof@v1\nextra eB==\nindex 0\n\nc", "'eB==' is not canonical base64"),
    ],
)
def test_the_refusal_says_which_part_is_wrong(text: str, reason: str) -> None:
    assert refusal(text.encode()) == reason


def alone(registry: SimulatedRegistry, entry: str) -> TlogProof:
    """A valid proof, signed by the log, for the only entry of a tree."""
    root = merkle.leaf_hash(entry.encode())
    note = notes.sign(Checkpoint(registry.origin, 1, root).text(), registry.log_signers())
    return TlogProof(entry, 0, (), note.encode())


def test_a_log_that_holds_something_else_than_its_own_statements_proves_nothing() -> None:
    registry, proof = made()
    foreign = SimulatedRegistry(origin="other.example/log")
    signed = notes.sign("rye.nonsense/v1\n", registry.log_signers()).encode()
    for entry, code, said in (
        ("no note", "proof-malformed", "Not a signed note"),
        (signed, "proof-malformed", "is not a statement type"),
        (
            foreign.leaves[0],
            "proof-origin",
            f"The entry is about other.example/log, but the log is that of {registry.origin}.",
        ),
    ):
        with pytest.raises(TlogProofError) as error:
            tlog_proof.verify(alone(registry, entry), registry.origin, keys(registry))
        assert error.value.code == code
        assert said in error.value.message
    assert tlog_proof.verify(alone(registry, proof.entry), registry.origin, keys(registry))[1].size == 1


def test_a_checkpoint_of_another_log_is_refused_for_its_origin_before_anything_else() -> None:
    registry, proof = made()
    with pytest.raises(TlogProofError) as error:
        tlog_proof.verify(proof, "other.example", keys(registry))
    assert error.value.message == f"The proof is from the log {registry.origin}, not from other.example."


@pytest.mark.parametrize("checkpoint", ["no note", "no\n\n\N{EM DASH} x AAAAAAA=\n"])
def test_a_checkpoint_that_is_none_is_no_proof(checkpoint: str) -> None:
    registry, proof = made()
    with pytest.raises(TlogProofError) as error:
        tlog_proof.verify(TlogProof(proof.entry, 0, (), checkpoint), registry.origin, keys(registry))
    assert error.value.code == "proof-malformed"


def page(**changes: object) -> bytes:
    _, proof = made()
    whole = {"proof": proof.text(), "note": notes.parse(proof.entry).text, "position": proof.index}
    return json.dumps({**whole, "checkpoint": proof.checkpoint, **changes}).encode()


def refused_page(data: bytes) -> str:
    with pytest.raises(TlogProofError) as raised:
        tlog_proof.read_page(data)
    assert raised.value.code == "proof-malformed"
    return raised.value.message.removeprefix("This is not a proof file: ")


def test_a_page_gives_its_proof_with_or_without_its_other_fields() -> None:
    _, proof = made()
    assert tlog_proof.read_page(page()) == tlog_proof.read_page(page(more=1)) == proof
    assert tlog_proof.read_page(json.dumps({"proof": proof.text()}).encode()) == proof


@pytest.mark.parametrize("name", ["note", "position", "checkpoint"])
def test_a_page_that_shows_something_else_than_it_proves_is_refused(name: str) -> None:
    """People read the page, and programs check the proof."""
    for value in ("other", 0, None):
        assert refused_page(page(**{name: value})) == f"its {name} is not the one in its proof."


def test_what_is_no_page_is_refused() -> None:
    for data in (b"[]", b"1", b"{}", page(proof=None), page(proof=1)):
        assert refused_page(data) == "its JSON has no text called proof."
    for data in (b"", b"{", b"\xff", b'{"proof": 1, "proof": 2}'):
        assert refused_page(data).startswith("it is not valid JSON: ")
    for text in ("", "x", "\ud800"):
        assert refused_page(page(proof=text))
    _, proof = made()
    unsigned = TlogProof("no note", proof.index, proof.path, proof.checkpoint)
    assert refused_page(json.dumps({"proof": unsigned.text()}).encode())


def test_a_page_has_a_largest_size() -> None:
    most = tlog_proof.MAX_PAGE_BYTES
    assert most == 8 * notes.MAX_NOTE_BYTES
    _, proof = made()
    assert tlog_proof.read_page(page().ljust(most)) == proof
    assert refused_page(page().ljust(most + 1)) == f"it has more than {most:,} bytes."
