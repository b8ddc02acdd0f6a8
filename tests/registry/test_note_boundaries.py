"""Signed notes at their limits: bytes, signature lines, names, key IDs, and what a refusal says."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest

from rye.registry.protocol import notes
from rye.registry.protocol.notes import NoteError, NoteSignature, SignedNote, VerifierKey
from tests.registry.simulated_registry import key, signer

ALICE, BOB = signer("example.com/a", key("alice")), signer("example.com/b", key("bob"))
SIGNATURE = base64.b64encode(bytes(68)).decode()
LINE = f"— example.com/a {SIGNATURE}\n"


def refused(action: Callable[..., object], *arguments: object) -> NoteError:
    with pytest.raises(NoteError) as raised:
        action(*arguments)
    return raised.value


def malformed(note: str | bytes) -> str:
    error = refused(notes.parse, note)
    assert error.code == "note-malformed"
    assert error.hint == "Fetch it again: this one is damaged or forged."
    return error.message.removeprefix("Not a signed note: ").removesuffix(".")


def test_a_note_has_at_most_60000_bytes_or_what_the_caller_says() -> None:
    frame = f"\n\n{LINE}"
    text = "x" * (60_000 - len(frame.encode()))
    assert notes.parse(text + frame).text == text + "\n"
    error = refused(notes.parse, text + "x" + frame)
    assert (error.code, "60001 bytes; the limit is 60000" in error.message) == ("note-too-large", True)
    with pytest.raises(NoteError) as raised:
        notes.parse(text + frame, max_bytes=59_999)
    assert raised.value.code == "note-too-large"


def test_a_note_has_at_most_32_signature_lines() -> None:
    assert len(notes.parse("text\n\n" + LINE * 32).signatures) == 32
    assert malformed("text\n\n" + LINE * 33) == "it has 33 signature lines; at most 32 are allowed"


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        (b"\xff\n\n" + LINE.encode(), "it is not UTF-8"),
        ("\ud800\n\n" + LINE, "it contains a lone surrogate"),
        ("\ufefftext\n\n" + LINE, "it begins with a byte order mark"),
        ("text\n" + LINE, "it has no empty line before its signatures or no LF at its end"),
        ("text\n\n" + LINE[:-1], "it has no empty line before its signatures or no LF at its end"),
        ("", "it has no empty line before its signatures or no LF at its end"),
        ("text\n\n", "a signature line does not begin with an em dash and a space"),
        ("text\n\n- a b\n", "a signature line does not begin with an em dash and a space"),
        ("text\n\n—a b\n", "a signature line does not begin with an em dash and a space"),
        (f"text\n\n— {SIGNATURE}\n", "a signature line is not a key name and base64"),
        (f"text\n\n— a b {SIGNATURE}\n", "a signature line is not a key name and base64"),
        (f"text\n\n—  {SIGNATURE}\n", "a signature line is not a key name and base64"),
        (f"text\n\n— a+b {SIGNATURE}\n", "a signature line is not a key name and base64"),
        ("text\n\n— a AAAAAA==\n", "a signature is shorter than its key ID and one byte"),
    ],
)
def test_what_breaks_the_format_is_named(note: str | bytes, reason: str) -> None:
    assert malformed(note) == reason


@pytest.mark.parametrize("character", [*(chr(code) for code in range(32) if code != 10)])
def test_every_control_character_but_lf_is_refused(character: str) -> None:
    assert malformed(f"te{character}xt\n\n{LINE}") == "it contains a control character other than LF"


def test_text_may_hold_what_is_no_control_character() -> None:
    for text in (" ~\x7f", "\x80é", "\n", "", "a\n\nb"):
        assert notes.parse(f"{text}\n\n{LINE}").text == f"{text}\n"


def test_a_signature_of_one_byte_is_read_and_verifies_nothing() -> None:
    note = notes.parse("text\n\n— example.com/a AAAAAAA=\n")
    assert note.signatures == (NoteSignature("example.com/a", bytes(4), b"\0"),)
    assert refused(notes.verify, note, [ALICE.verifier]).code == "note-threshold"


@pytest.mark.parametrize(
    ("name", "good"),
    [("a", True), ("a" * 256, True), ("a" * 257, False), ("", False), ("a b", False), ("a\u00a0b", False), ("a+", False),
     ("+", False), ("a\n", False), ("é", True)],
)  # fmt: skip
def test_key_names_are_short_and_without_blanks(name: str, good: bool) -> None:
    assert notes.is_key_name(name) is good
    if good:
        assert VerifierKey(name, bytes(32)).name == name
    else:
        error = refused(VerifierKey, name, bytes(32))
        assert (error.code, "not a key name" in error.message) == ("note-key-invalid", True)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_has_32_bytes(length: int) -> None:
    error = refused(VerifierKey, "a", bytes(length))
    assert (error.code, f"has {length} bytes instead of 32" in error.message) == ("note-key-invalid", True)


def test_a_verifier_key_is_refused_by_what_is_wrong_with_it() -> None:
    name, key_id, material = ALICE.verifier.vkey.split("+", 2)
    raw = base64.b64decode(material)
    other_type = base64.b64encode(b"\x02" + raw[1:]).decode()
    long = base64.b64encode(raw + b"\0").decode()
    for vkey, code, words in (
        (f"{name}+{key_id}", "note-key-invalid", "is not a verifier key of the form"),
        ("", "note-key-invalid", "is not a verifier key of the form"),
        (f"{name}+{key_id[:7]}+{material}", "note-key-invalid", "is not a verifier key of the form"),
        (f"{name}+{key_id}0+{material}", "note-key-invalid", "is not a verifier key of the form"),
        (f"{name}+{key_id.upper()}+{material}", "note-key-invalid", "is not a verifier key of the form"),
        (f"{name}+{key_id}+{other_type}", "note-key-invalid", f"{name!r} is not of the Ed25519 type"),
        (f"{name}+{key_id}+{long}", "note-key-invalid", "has 33 bytes instead of 32"),
        (f"{name}+00000000+{material}", "note-key-invalid", "The key ID 00000000 does not belong"),
        (f"+{key_id}+{material}", "note-key-invalid", "not a key name"),
        (f"{name}+{key_id}+{material[:-1]}", "note-base64", "is not base64"),
        (f"{name}+{key_id}+{material}+more", "note-base64", "is not base64"),
    ):
        error = refused(VerifierKey.from_vkey, vkey)
        assert (error.code, words in error.message) == (code, True), (vkey, error.message)
    assert VerifierKey.from_vkey(ALICE.verifier.vkey) == ALICE.verifier


@pytest.mark.parametrize(
    ("text", "words"),
    [("AAA", "is not base64"), ("A A=", "is not base64"), ("é" * 4, "is not base64"), ("AB==", "is not canonical base64"),
     ("AAB=", "is not canonical base64"), ("-_==", "is not base64")],
)  # fmt: skip
def test_base64_is_canonical(text: str, words: str) -> None:
    error = refused(notes.decode_base64, text)
    assert (error.code, words in error.message) == ("note-base64", True)
    assert repr(text) in error.message


def test_a_refusal_shows_at_most_80_characters_of_what_was_no_base64() -> None:
    assert refused(notes.decode_base64, "é" * 100).message == f"{'é' * 80!r} is not base64."
    assert refused(notes.decode_base64, "A" * 101 + "B==").message == f"{'A' * 80!r} is not canonical base64."


def test_a_wrong_signature_and_too_few_are_told_apart() -> None:
    note = notes.sign("text\n", [ALICE])
    changed = SignedNote("Text\n", note.signatures)
    error = refused(notes.verify, changed, [BOB.verifier, ALICE.verifier])
    assert (error.code, error.hint) == (
        "note-signature-wrong",
        "The note was changed after it was signed, or it is forged: do not use it.",
    )
    assert f"The signature by example.com/a ({ALICE.verifier.key_id.hex()})" in error.message
    error = refused(notes.verify, note, [ALICE.verifier, BOB.verifier], 2)
    assert error.message == "The note is signed by 1 of the keys that may sign it; 2 are needed."
    assert (error.code, error.hint) == (
        "note-threshold",
        "Signatures of other keys do not count, and each key counts once.",
    )
    assert notes.verify(note, [ALICE.verifier], 1) == {ALICE.verifier}
    assert notes.verify(note, [], 0) == frozenset()


def test_signatures_by_others_before_ones_own_do_not_matter() -> None:
    note = notes.sign("text\n", [BOB, ALICE])
    assert notes.verify(note, [ALICE.verifier]) == {ALICE.verifier}


def test_signing_again_replaces_only_ones_own_signature() -> None:
    renamed = signer("example.com/a2", key("alice"))
    note = notes.sign("text\n", [ALICE, BOB])
    again = notes.add_signatures(note, [ALICE, renamed])
    assert [signature.name for signature in again.signatures] == ["example.com/b", "example.com/a", "example.com/a2"]
    assert again.text == "text\n"


@pytest.mark.parametrize("text", ["text", "", "a\tb\n", "\ufefftext\n"])
def test_a_text_that_no_note_can_carry_is_refused_when_it_is_signed(text: str) -> None:
    assert refused(notes.sign, text, [ALICE]).code == "note-malformed"


def test_a_text_that_smuggles_a_signature_line_is_not_signed() -> None:
    """Without its LF, the end of the text would be read as another signature."""
    error = refused(notes.sign, f"text\n\n{LINE[:-1]}", [ALICE])
    assert (error.code, "a signed note cannot carry this text" in error.message) == ("note-malformed", True)
    assert notes.sign(f"text\n\n{LINE}", [ALICE]).text == f"text\n\n{LINE}"
