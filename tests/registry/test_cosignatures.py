"""Cosignatures: the published examples, the exact bytes that are signed, and what must be refused (C2SP tlog-cosignature)."""

from __future__ import annotations

import pytest

from rye.errors import RyeError
from rye.registry.protocol import add_checkpoint, cosignatures, notes
from rye.registry.protocol.add_checkpoint import AddCheckpoint, AddCheckpointError
from rye.registry.protocol.cosignatures import CosignerKey, TreeHead, cosigned_message, read_cosignatures
from rye.registry.protocol.notes import NoteError, NoteSignature, SignedNote
from tests.registry.simulated_registry import key, signer
from tests.registry.witness_keys import cosigned, ed25519, ml_dsa

TEXT = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
TIME = 1679315147
LOG = notes.sign(TEXT, [signer("example.com/behind-the-sofa", key("log"))])
W1, W2, QUANTUM = ed25519("witness.example/w1"), ed25519("witness.example/w2"), ml_dsa("witness.example/w1")
REQUEST = """old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
"""
ANSWER = (
    "— witness.example/w1 "
    "CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5G2HgLatVs0pWh6Up69HVOw==\n"
    "— witness.example/w1 "
    "I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWhO+DlkL0+UfzuOBMh9ChdMkP1vi/lCAsmlw==\n"
)
OTHER_PROGRAM = (
    "other.example/w+ccc74873+BOpKbGPinFIKvvVQexMuxfmVR3auvr57kkIe6mkURtIs",
    (
        "— other.example/w "
        "zMdIcwAAAABkGFDLWr4Jea05CAgwNVtwky0Jgz6WfX0QJgM//FkB/W9BoT9TX0DkTxG+2cT4p/ViKNhUM/SnUwFcYQzugGFQ15LwDw==\n"
    ),
)
"""The vkey of a witness and the line that aics-tlog 0.2.1, another implementation, made with its key for TEXT."""


def refused(note: SignedNote, *keys: CosignerKey) -> str:
    with pytest.raises(NoteError) as raised:
        read_cosignatures(note, keys)
    return raised.value.code


def test_what_ed25519_signs_is_the_specifications_example_byte_by_byte() -> None:
    expected = (
        b"cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n"
        b"CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    )
    assert cosigned_message(TEXT, W1.verifier, TIME) == expected


def test_what_ml_dsa_signs_is_the_structure_of_the_specification() -> None:
    message = cosigned_message(TEXT, QUANTUM.verifier, TIME)
    head = TreeHead.parse(TEXT)
    assert message[:12] == b"subtree/v1\n\0"
    assert message[12:31] == b"\x12witness.example/w1"
    assert message[31:39] == TIME.to_bytes(8, "big")
    assert message[39:67] == b"\x1bexample.com/behind-the-sofa"
    assert message[67:] == bytes(8) + (20852163).to_bytes(8, "big") + head.root_hash


def test_extension_lines_are_signed_by_ed25519_and_not_by_ml_dsa() -> None:
    longer = TEXT + "extension\n"
    assert cosigned_message(longer, W1.verifier, TIME) != cosigned_message(TEXT, W1.verifier, TIME)
    assert cosigned_message(longer, QUANTUM.verifier, TIME) == cosigned_message(TEXT, QUANTUM.verifier, TIME)


def test_both_algorithms_verify_and_their_keys_are_read_back() -> None:
    note = notes.parse(cosigned(LOG, TIME, W1, QUANTUM).encode())
    found = read_cosignatures(note, [QUANTUM.verifier, W1.verifier, W2.verifier])
    assert [(one.key, one.time) for one in found] == [(QUANTUM.verifier, TIME), (W1.verifier, TIME)]
    for one in (W1.verifier, QUANTUM.verifier):
        assert CosignerKey.from_vkey(one.vkey) == one
    assert len(QUANTUM.verifier.key) == 1312


def test_the_line_of_another_implementation_verifies() -> None:
    vkey, line = OTHER_PROGRAM
    note = notes.parse(LOG.encode() + line)
    verifier = CosignerKey.from_vkey(vkey)
    assert [(one.key, one.time) for one in read_cosignatures(note, [verifier])] == [(verifier, TIME)]


def test_the_published_cosignature_parses_and_its_key_is_unknown() -> None:
    line = (
        "— witness.example.com/w1 "
        "jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
    )
    note = notes.parse(LOG.encode() + line)
    assert int.from_bytes(note.signatures[1].signature[:8], "big") == TIME
    assert read_cosignatures(note, [W1.verifier]) == ()


def test_a_key_counts_once_with_its_latest_time() -> None:
    note = cosigned(cosigned(LOG, TIME + 9, W1), TIME, W1, W1)
    assert [(one.key, one.time) for one in read_cosignatures(note, [W1.verifier, W1.verifier])] == [
        (W1.verifier, TIME + 9)
    ]


@pytest.mark.parametrize("one", [W1, QUANTUM], ids=["Ed25519", "ML-DSA-44"])
def test_a_changed_time_text_or_signature_refuses_the_whole_note(one: cosignatures.Cosigner) -> None:
    good = cosigned(LOG, TIME, one, W2)
    assert len(read_cosignatures(good, [one.verifier, W2.verifier])) == 2
    line = good.signatures[1]
    later = (TIME + 1).to_bytes(8, "big") + line.signature[8:]
    flipped = line.signature[:-1] + bytes((line.signature[-1] ^ 1,))
    for payload in (later, flipped, line.signature[:-1], line.signature + b"\0", b"\xff" * 8 + line.signature[8:]):
        changed = NoteSignature(line.name, line.key_id, payload)
        note = SignedNote(good.text, (good.signatures[0], changed, good.signatures[2]))
        assert refused(note, one.verifier, W2.verifier) == "note-signature-wrong"
    other = SignedNote(TEXT.replace("20852163", "20852164"), good.signatures)
    assert refused(other, one.verifier) == "note-signature-wrong"


def test_another_logs_cosignature_does_not_verify_here() -> None:
    elsewhere = cosigned(notes.sign(TEXT.replace("sofa", "couch"), [signer("x", key("log"))]), TIME, W1)
    note = SignedNote(TEXT, (*LOG.signatures, *elsewhere.signatures[1:]))
    assert refused(note, W1.verifier) == "note-signature-wrong"


def test_ten_thousand_cosignatures_are_refused_before_any_is_verified() -> None:
    line = cosigned(LOG, TIME, W1).signatures[1]
    with pytest.raises(NoteError) as raised:
        notes.parse(SignedNote(TEXT, (*LOG.signatures, *[line] * 10_000)).encode(), max_bytes=10_000_000)
    assert raised.value.code == "note-malformed"


@pytest.mark.parametrize(
    "vkey",
    [
        signer("example.com/a", key("a")).verifier.vkey,  # a log's key
        W1.verifier.vkey.replace("+", "+0", 1),
        W1.verifier.vkey[:-4],
        W1.verifier.vkey.replace("w1", "w2"),
        f"w+{'0' * 8}+{notes.encode_base64(cosignatures.ED25519 + bytes(32))}",  # a point of small order
        "w",
    ],
)
def test_other_keys_are_refused(vkey: str) -> None:
    with pytest.raises(NoteError) as raised:
        CosignerKey.from_vkey(vkey)
    assert raised.value.code in ("note-key-invalid", "note-base64")


def test_the_request_of_the_specification_is_read_and_written_back() -> None:
    request = add_checkpoint.read_request(REQUEST.encode())
    assert (request.old, len(request.proof)) == (20852014, 4)
    assert request.encode() == REQUEST.encode()
    assert TreeHead.parse(notes.parse(request.checkpoint).text).size == 20852163
    assert AddCheckpoint(0, (), LOG.encode()).encode().startswith(b"old 0\n\nexample.com")


def test_the_answer_of_the_specification_is_read_and_written_back() -> None:
    lines = add_checkpoint.read_answer(ANSWER.encode())
    assert [line.name for line in lines] == ["witness.example/w1"] * 2
    assert add_checkpoint.encode_answer(lines) == ANSWER.encode()


@pytest.mark.parametrize(
    "body",
    [
        REQUEST.replace("old ", "new "),
        REQUEST.replace("old 2", "old 02"),
        REQUEST.replace("old 2", "old -2"),
        REQUEST.replace("\n\n", "\n", 1),
        REQUEST.replace("PlRN", "PlRN\r"),
        REQUEST.replace(
            "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n", "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n" * 64
        ),
        "x" * (add_checkpoint.MAX_REQUEST_BYTES + 1),
        "",
    ],
)
def test_other_requests_are_refused(body: str) -> None:
    with pytest.raises(AddCheckpointError):
        add_checkpoint.read_request(body.encode())


@pytest.mark.parametrize("answer", [b"", b"hello\n", b"\xff\n", ANSWER.encode()[:-1], b"x" * 70_000])
def test_other_answers_are_refused(answer: bytes) -> None:
    with pytest.raises(AddCheckpointError):
        add_checkpoint.read_answer(answer)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "o\n1\n",
        "\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
        TEXT + "\n",
        TEXT[:-1],
        TEXT.replace("20", "0", 1),
        "o" * 256 + TEXT.removeprefix("example.com/behind-the-sofa"),
        TEXT.replace("20852163", str(2**63)),
    ],
)
def test_texts_that_are_no_checkpoints_are_refused(text: str) -> None:
    with pytest.raises(RyeError):
        TreeHead.parse(text)
