"""Signed notes: the published examples, and everything that a strict parser must refuse (C2SP signed-note)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.registry.protocol import notes
from rye.registry.protocol.notes import NoteError, NoteSignature, SignedNote, VerifierKey
from rye.signing.keys import L
from tests.registry.simulated_registry import key, signer

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/notes/notes.json").read_text("utf-8"))
VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
NOTE = (
    "This is an example message.\n\n— example.com/foo "
    "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
)
ALICE, BOB = signer("example.com/a", key("alice")), signer("example.com/b", key("bob"))


def code_of(note: str | bytes) -> str:
    with pytest.raises(NoteError) as raised:
        notes.parse(note)
    return raised.value.code


def refusal(note: SignedNote, keys: list[VerifierKey], threshold: int = 1) -> str:
    with pytest.raises(NoteError) as raised:
        notes.verify(note, keys, threshold)
    return raised.value.code


def test_the_example_of_the_specification_verifies_with_its_verifier_key() -> None:
    verifier = VerifierKey.from_vkey(VKEY)
    assert verifier.vkey == VKEY
    assert notes.verify(notes.parse(NOTE), [verifier]) == {verifier}
    assert notes.parse(NOTE).encode() == NOTE


def test_the_first_example_of_the_specification_parses_with_empty_lines_in_its_text() -> None:
    text = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n"
    line = (
        "— quasimodo.example/salvatore "
        "NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n"
    )
    note = notes.parse(text + "\n" + line)
    assert note.text == text
    assert [signature.key_id.hex() for signature in note.signatures] == ["367ba04b"]


def test_the_published_checkpoint_with_a_witness_cosignature_parses_and_its_keys_are_unknown() -> None:
    note = notes.parse(VECTORS["c2sp_cosigned_checkpoint"]["note"])
    assert [signature.name for signature in note.signatures] == [
        "example.com/behind-the-sofa",
        "witness.example.com/w1",
    ]
    assert refusal(note, [ALICE.verifier]) == "note-threshold"


@pytest.mark.parametrize("vector", VECTORS["valid"], ids=lambda vector: vector["name"])
def test_golden_notes_verify_and_are_written_the_same_way(vector: dict[str, object]) -> None:
    note = notes.parse(str(vector["note"]))
    assert note.encode() == vector["note"]
    keys = [VerifierKey.from_vkey(str(vkey)) for vkey in vector["vkeys"]]  # type: ignore[attr-defined]
    assert len(notes.verify(note, keys, int(str(vector["threshold"])))) >= int(str(vector["threshold"]))


@pytest.mark.parametrize("vector", VECTORS["invalid"], ids=lambda vector: vector["name"])
def test_golden_forgeries_are_refused_with_their_code(vector: dict[str, object]) -> None:
    keys = [VerifierKey.from_vkey(str(vkey)) for vkey in vector["vkeys"]]  # type: ignore[attr-defined]
    with pytest.raises(NoteError) as raised:
        notes.verify(notes.parse(str(vector["note"])), keys, int(str(vector["threshold"])))
    assert raised.value.code == vector["code"]


LINE = NOTE.split("\n\n")[1]


@pytest.mark.parametrize(
    ("note", "code"),
    [
        ("", "note-malformed"),
        ("text\n", "note-malformed"),
        ("text\n\n", "note-malformed"),
        ("text\n" + LINE, "note-malformed"),
        ("text\n\n" + LINE.rstrip("\n"), "note-malformed"),
        ("text\n\n" + LINE + "\n", "note-malformed"),
        ("text\r\n\n" + LINE, "note-malformed"),
        ("te\x00xt\n\n" + LINE, "note-malformed"),
        ("te\txt\n\n" + LINE, "note-malformed"),
        ("\ufefftext\n\n" + LINE, "note-malformed"),
        (b"te\xffxt\n\n" + LINE.encode(), "note-malformed"),
        ("te\ud800xt\n\n" + LINE, "note-malformed"),
        ("text\n\n" + LINE.replace("— ", "- "), "note-malformed"),
        ("text\n\n" + LINE.replace("— ", "—"), "note-malformed"),
        ("text\n\n" + LINE.replace("— ", "—  "), "note-malformed"),
        ("text\n\n" + LINE.replace("foo ", "foo  "), "note-malformed"),
        ("text\n\n" + LINE.replace("foo", "f+o"), "note-malformed"),
        ("text\n\n" + LINE.replace("foo", "f\u00a0o"), "note-malformed"),
        ("text\n\n" + LINE.replace("foo", "f\u2003o"), "note-malformed"),
        ("text\n\n— name\n", "note-malformed"),
        ("text\n\n— name AAAAAA==\n", "note-malformed"),
        ("text\n\n" + LINE.replace("=", ""), "note-base64"),
        ("text\n\n" + LINE.replace("=", "==="), "note-base64"),
        ("text\n\n" + LINE.replace("QM=", "QN="), "note-base64"),
        ("text\n\n" + LINE.replace("Uw2Q", "Uw-Q"), "note-base64"),
        ("text\n\n" + LINE.replace("\n", " \n"), "note-malformed"),
        ("text\n\n" + LINE * 33, "note-malformed"),
        ("x" * 60_000 + "\n\n" + LINE, "note-too-large"),
    ],
)
def test_a_note_that_breaks_the_format_is_refused(note: str | bytes, code: str) -> None:
    assert code_of(note) == code


def test_sixteen_signatures_and_more_are_accepted() -> None:
    signers = [signer(f"example.com/{number}", key(str(number))) for number in range(32)]
    note = notes.parse(notes.sign("text\n", signers).encode())
    assert len(notes.verify(note, [one.verifier for one in signers], 32)) == 32


def test_signatures_of_unknown_keys_are_ignored_even_with_a_known_name_or_a_known_id() -> None:
    note = notes.sign("text\n", [ALICE])
    same_name = NoteSignature(ALICE.verifier.name, b"\0\0\0\0", b"\0" * 64)
    same_id = NoteSignature("example.com/other", ALICE.verifier.key_id, b"\0" * 64)
    padded = notes.parse(SignedNote(note.text, (same_name, same_id, *note.signatures)).encode())
    assert notes.verify(padded, [ALICE.verifier]) == {ALICE.verifier}


def test_one_wrong_signature_by_a_known_key_refuses_the_whole_note() -> None:
    note = notes.sign("text\n", [ALICE, BOB])
    wrong = NoteSignature(BOB.verifier.name, BOB.verifier.key_id, note.signatures[0].signature)
    forged = SignedNote(note.text, (note.signatures[0], wrong))
    assert refusal(forged, [ALICE.verifier, BOB.verifier]) == "note-signature-wrong"
    assert notes.verify(forged, [ALICE.verifier]) == {ALICE.verifier}


def test_a_changed_text_is_refused() -> None:
    note = notes.sign("text\n", [ALICE])
    assert refusal(SignedNote("Text\n", note.signatures), [ALICE.verifier]) == "note-signature-wrong"


def test_a_key_counts_once_however_often_and_under_however_many_names_it_signs() -> None:
    other_name = signer("example.com/second", key("alice"))
    note = notes.sign("text\n", [ALICE, ALICE, other_name])
    assert refusal(note, [ALICE.verifier, other_name.verifier], 2) == "note-threshold"
    assert refusal(notes.sign("text\n", [ALICE, ALICE]), [ALICE.verifier, BOB.verifier], 2) == "note-threshold"


def test_a_signature_with_s_raised_by_the_group_order_is_refused() -> None:
    note = notes.sign("text\n", [ALICE])
    raw = note.signatures[0].signature
    raised = raw[:32] + (int.from_bytes(raw[32:], "little") + L).to_bytes(32, "little")
    forged = SignedNote(note.text, (NoteSignature(ALICE.verifier.name, ALICE.verifier.key_id, raised),))
    assert refusal(forged, [ALICE.verifier]) == "note-signature-wrong"


@pytest.mark.parametrize("point", ["01" + "00" * 31, "00" * 32, "ec" + "ff" * 30 + "7f", "01" + "00" * 30 + "80"])
def test_a_small_order_key_verifies_nothing(point: str) -> None:
    weak = VerifierKey("example.com/weak", bytes.fromhex(point))
    signature = NoteSignature(weak.name, weak.key_id, bytes.fromhex(point) + b"\0" * 32)
    assert refusal(SignedNote("text\n", (signature,)), [weak]) == "note-signature-wrong"


def test_a_signature_of_another_length_is_refused() -> None:
    note = notes.sign("text\n", [ALICE])
    longer = NoteSignature(ALICE.verifier.name, ALICE.verifier.key_id, note.signatures[0].signature + b"\0")
    assert refusal(SignedNote(note.text, (longer,)), [ALICE.verifier]) == "note-signature-wrong"


def test_owners_on_different_machines_sign_one_after_the_other() -> None:
    first = notes.parse(notes.sign("text\n", [ALICE]).encode())
    both = notes.add_signatures(first, [BOB])
    assert notes.verify(notes.parse(both.encode()), [ALICE.verifier, BOB.verifier], 2) == {ALICE.verifier, BOB.verifier}
    assert notes.add_signatures(both, [ALICE, BOB]).signatures == both.signatures


@pytest.mark.parametrize("text", ["no line end", "", "tab\t\n", "carriage\r\n", "\ufeffbom\n", "x" * 60_000 + "\n"])
def test_a_text_that_no_note_can_carry_is_not_signed(text: str) -> None:
    with pytest.raises(NoteError):
        notes.sign(text, [ALICE])


@pytest.mark.parametrize(
    "vkey",
    [
        "example.com/foo",
        VKEY.replace("530d903a", "530d903b"),
        VKEY.replace("530d903a", "530D903A"),
        VKEY.replace("foo", "bar"),
        VKEY[:-4],
        "example.com/foo+530d903a+" + base64.b64encode(b"\x02" + b"\1" * 32).decode(),
        "example.com/foo+530d903a+" + base64.b64encode(b"\x01" + b"\1" * 31).decode(),
    ],
)
def test_a_verifier_key_that_contradicts_itself_is_refused(vkey: str) -> None:
    with pytest.raises(NoteError):
        VerifierKey.from_vkey(vkey)


@given(st.text(st.characters(codec="utf-8", min_codepoint=32), max_size=200).map(lambda text: text + "\n"))
def test_what_is_written_is_read_back_and_verifies_hypothesis(text: str) -> None:
    try:
        note = notes.sign(text, [ALICE])
    except NoteError:
        assert text.startswith("\ufeff")
        return
    assert notes.parse(note.encode()) == note
    assert notes.verify(note, [ALICE.verifier]) == {ALICE.verifier}


@given(st.data())
def test_no_changed_byte_goes_unnoticed_hypothesis(data: st.DataObject) -> None:
    encoded = bytearray(notes.sign("rye\nsome text\n", [ALICE]).encode().encode())
    at = data.draw(st.integers(0, len(encoded) - 1))
    encoded[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(NoteError):
        notes.verify(notes.parse(bytes(encoded)), [ALICE.verifier])
