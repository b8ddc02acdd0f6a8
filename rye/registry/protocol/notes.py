"""Signed notes (C2SP signed-note) with Ed25519 signatures: a strict parser, a verifier and a writer.

Signatures have type ``0x01``, and those of security keys type ``0xff``, followed by the key's OpenSSH blob, which begins with
the name of its type. A security key's signature is its 64 bytes, flags and counter (:mod:`rye.signing.security_key`).

Rules:

* A note is text that ends in LF, an empty line, then 1 to 32 signature lines ``— <key name> <base64>``. The last empty
  line is the separator.
* UTF-8 without BOM; no control characters except LF. Base64 is padded and canonical. Nothing is skipped or repaired.
* A signature belongs to a known key if both the name and the key ID match. Signatures by unknown keys are ignored. One
  bad signature by a known key invalidates the whole note. A *key* (its 32 bytes) counts once, however often it signed and
  in whichever of the two types.
* Parsing proves nothing. Text is trusted only after :func:`verify`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import KIB
from rye.signing.keys import PublicKey
from rye.text.lazy import lazy_pattern

ED25519 = b"\x01"
SECURITY_KEY = b"\xff"
MAX_NOTE_BYTES = 60_000
"""The largest signed note: a leaf's length is a uint16 (tlog-tiles, Log entries)."""
MAX_SIGNATURES = 32
"""The most signature lines of a note; a verifier must accept at least 16 (signed-note, Format)."""
MAX_KEY_NAME_CHARACTERS = KIB // 4

_CONTROL = lazy_pattern(r"[\x00-\x09\x0b-\x1f]")
_EM_DASH = "\N{EM DASH} "
_KEY_NAME = lazy_pattern(r"[^\s+]+")


class NoteError(RyeError):
    """A note that is malformed or not signed as required.

    Codes: ``note-too-large``, ``note-malformed``, ``note-base64``, ``note-key-invalid``, ``note-signature-wrong``,
    ``note-threshold``.
    """


class NoteSignature(Struct, frozen=True):
    """One signature line."""

    name: str
    key_id: bytes
    """4 bytes, big-endian."""
    signature: bytes


class SignedNote(Struct, frozen=True):
    """A parsed note: its text with the final LF, and its signatures in order."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def encode(self) -> str:
        """Return the note as it is stored; :func:`parse` reads this value back."""
        return self.text + "\n" + "".join(_signature_line(signature) for signature in self.signatures)


class VerifierKey(Struct, frozen=True):
    """A key name and a raw Ed25519 public key of 32 bytes, or a security key's blob. Raises NoteError (``note-key-invalid``)
    for others.
    """

    name: str
    key: bytes
    verified_only: bool = False
    """Whether a signature counts only if the security key verified its owner."""

    def __post_init__(self) -> None:
        if len(self.key) != 32 and not PublicKey(self.key).hardware:
            raise NoteError(
                "note-key-invalid", f"The public key of {self.name!r} has {len(self.key)} bytes instead of 32."
            )
        if not is_key_name(self.name):
            raise NoteError(
                "note-key-invalid", f"{self.name!r} is not a key name: it is empty or contains spaces or '+'."
            )

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name LF type key) (signed-note, Ed25519 signatures)."""
        return hashlib.sha256(self.name.encode() + b"\n" + self._typed).digest()[:4]

    @property
    def _typed(self) -> bytes:
        return (ED25519 if len(self.key) == 32 else SECURITY_KEY) + self.key

    @property
    def vkey(self) -> str:
        """``<name>+<hex key ID>+<base64 of type and key>`` (signed-note, Verifier keys)."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(self._typed)}"

    @classmethod
    def from_vkey(cls, text: str) -> VerifierKey:
        """Read a vkey. Raises NoteError for another type, a key ID that is not the key's, or invalid base64."""
        parts = text.split("+", 2)
        if len(parts) != 3 or not re.fullmatch(r"[0-9a-f]{8}", parts[1]):
            raise NoteError("note-key-invalid", f"{text!r} is not a verifier key of the form name+id+key.")
        material = decode_base64(parts[2])
        if material[:1] not in (ED25519, SECURITY_KEY):
            raise NoteError("note-key-invalid", f"The verifier key {parts[0]!r} is not of the Ed25519 type.")
        key = cls(parts[0], material[1:])
        if key._typed != material:
            raise NoteError("note-key-invalid", f"The verifier key {parts[0]!r} is not of the type that it says.")
        if key.key_id.hex() != parts[1]:
            raise NoteError("note-key-invalid", f"The key ID {parts[1]} does not belong to the key of {parts[0]!r}.")
        return key


class Signer(Struct, frozen=True):
    """A key that can sign: its public half, and a function that signs bytes (:meth:`PublicKey.verifies`)."""

    verifier: VerifierKey
    sign: Callable[[bytes], bytes]


def parse(data: bytes | str, *, max_bytes: int = MAX_NOTE_BYTES) -> SignedNote:
    """Read a signed note. Raises NoteError. The result is not verified."""
    if isinstance(data, str):
        try:
            data = data.encode()
        except UnicodeEncodeError as error:
            raise _malformed("it contains a lone surrogate") from error
    if len(data) > max_bytes:
        raise NoteError("note-too-large", f"The signed note has {len(data)} bytes; the limit is {max_bytes}.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed("it is not UTF-8") from error
    if text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}"):
        raise _malformed("it begins with a byte order mark")
    if _CONTROL.search(text):
        raise _malformed("it contains a control character other than LF")
    separator = text.rfind("\n\n")
    if separator < 0 or not text.endswith("\n"):
        raise _malformed("it has no empty line before its signatures or no LF at its end")
    lines = text[separator + 2 : -1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise _malformed(f"it has {len(lines)} signature lines; at most {MAX_SIGNATURES} are allowed")
    return SignedNote(text[: separator + 1], tuple(_parse_signature(line) for line in lines))


def verify(note: SignedNote, keys: Iterable[VerifierKey], threshold: int = 1) -> frozenset[VerifierKey]:
    """Return the keys among ``keys`` that signed the note.

    Raises NoteError: ``note-signature-wrong`` if a signature that names a known key does not verify, ``note-threshold``
    if fewer than ``threshold`` distinct 32-byte keys signed.
    """
    verifiers: dict[tuple[str, bytes], list[VerifierKey]] = {}
    for key in keys:
        verifiers.setdefault((key.name, key.key_id), []).append(key)
    message = note.text.encode()
    signed: set[VerifierKey] = set()
    for signature in note.signatures:
        candidates = verifiers.get((signature.name, signature.key_id))
        if candidates is None:
            continue
        # Several known keys share a name and an ID only if someone made them collide. Any of them can then match the line.
        good = [
            key for key in candidates if PublicKey(key.key, key.verified_only).verifies(message, signature.signature)
        ]
        if not good:
            raise NoteError(
                "note-signature-wrong",
                f"The signature by {signature.name} ({signature.key_id.hex()}) does not belong to this text.",
                "The note was changed after it was signed, or it is forged: do not use it.",
            )
        signed.update(good)
    distinct = len({PublicKey(key.key).point for key in signed})
    if distinct < threshold:
        raise NoteError(
            "note-threshold",
            f"The note is signed by {distinct} of the keys that may sign it; {threshold} are needed.",
            "Signatures of other keys do not count, and each key counts once.",
        )
    return frozenset(signed)


def sign(text: str, signers: Iterable[Signer]) -> SignedNote:
    """Return a note with one signature by each signer, in that order.

    Raises NoteError if the text cannot be a note's.
    """
    message = text.encode()
    note = SignedNote(text, tuple(NoteSignature(s.verifier.name, s.verifier.key_id, s.sign(message)) for s in signers))
    if parse(note.encode()) != note:
        raise _malformed("a signed note cannot carry this text")
    return note


def add_signatures(note: SignedNote, signers: Iterable[Signer]) -> SignedNote:
    """Return the note with more signatures, so that owners on different machines can sign in turn.

    Replaces a signer's earlier one.
    """
    added = sign(note.text, signers).signatures
    mine = {(signature.name, signature.key_id) for signature in added}
    kept = tuple(s for s in note.signatures if (s.name, s.key_id) not in mine)
    return SignedNote(note.text, kept + added)


def is_key_name(text: str) -> bool:
    """Whether ``text`` can be a key's name: not empty, no Unicode spaces, no ``+`` (signed-note, Format)."""
    return len(text) <= MAX_KEY_NAME_CHARACTERS and _KEY_NAME.fullmatch(text) is not None


def encode_base64(data: bytes) -> str:
    """Encode RFC 4648 §4 base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: str) -> bytes:
    """Read canonical RFC 4648 §4. Raises NoteError (``note-base64``) for whitespace, missing padding or stray bits."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise NoteError("note-base64", f"{text[:80]!r} is not base64.") from error
    if encode_base64(data) != text:
        raise NoteError("note-base64", f"{text[:80]!r} is not canonical base64.")
    return data


def _parse_signature(line: str) -> NoteSignature:
    if not line.startswith(_EM_DASH):
        raise _malformed("a signature line does not begin with an em dash and a space")
    parts = line[len(_EM_DASH) :].split(" ")
    if len(parts) != 2 or not is_key_name(parts[0]):
        raise _malformed("a signature line is not a key name and base64")
    data = decode_base64(parts[1])
    if len(data) < 5:
        raise _malformed("a signature is shorter than its key ID and one byte")
    return NoteSignature(parts[0], data[:4], data[4:])


def _signature_line(signature: NoteSignature) -> str:
    return f"{_EM_DASH}{signature.name} {encode_base64(signature.key_id + signature.signature)}\n"


def _malformed(reason: str) -> NoteError:
    return NoteError(
        "note-malformed", f"Not a signed note: {reason}.", "Fetch it again: this one is damaged or forged."
    )
