"""Cosignatures (C2SP tlog-cosignature): what a witness signs, with Ed25519 (type ``0x04``) or ML-DSA-44 (type ``0x06``).

Rules:

* A cosignature is a signature line whose payload is a big-endian timestamp of 8 bytes and the signature. The timestamp is at
  most 2^63−1. A time of 0 makes no statement about time, and counts as the year 1970: it is never fresh.
* Ed25519 signs ``cosignature/v1``, the time and the whole text; ML-DSA-44 signs the structure ``subtree/v1`` with the
  cosigner's name, the origin, the size and the root, so not the extension lines.
* Lines of unknown keys are ignored. One bad signature of a known key refuses the whole note, as in
  :mod:`rye.registry.protocol.notes`. A key that signed several times counts once, with its latest time.
* Nothing here knows the time of day: :mod:`rye.registry.trust.cosigned` decides which times count.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.registry.protocol import lines
from rye.registry.protocol.lines import malformed
from rye.registry.protocol.notes import (
    NoteError,
    NoteSignature,
    SignedNote,
    decode_base64,
    encode_base64,
    is_key_name,
)
from rye.signing.keys import PublicKey, key_problem
from rye.text.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    import cryptography.exceptions as cryptography_exceptions
    from cryptography.hazmat.primitives.asymmetric import mldsa
else:  # only a policy that names such a key needs them
    cryptography_exceptions = lazy_module("cryptography.exceptions")
    mldsa = lazy_module("cryptography.hazmat.primitives.asymmetric.mldsa")

ED25519 = b"\x04"
ML_DSA_44 = b"\x06"
KEY_BYTES = {ED25519: 32, ML_DSA_44: 1312}
SIGNATURE_BYTES = {ED25519: 64, ML_DSA_44: 2420}
ALGORITHMS = {ED25519: "Ed25519", ML_DSA_44: "ML-DSA-44"}
MAX_TIME = 2**63 - 1
MAX_TREE = 2**63 - 1
"""The largest tree that is cosigned: other logs may be larger than a registry's can be."""
MAX_ORIGIN_BYTES = 255
"""The longest origin: one byte holds its length (tlog-cosignature, ML-DSA-44 signed message)."""

_ID = lazy_pattern(r"[0-9a-f]{8}")
_SIZE = lazy_pattern(r"0|[1-9][0-9]{0,18}")


class TreeHead(Struct, frozen=True):
    """The first three lines of any log's checkpoint (tlog-checkpoint, Note text); extension lines are not kept."""

    origin: str
    size: int
    root_hash: bytes

    @classmethod
    def parse(cls, text: str) -> TreeHead:
        """Read a checkpoint's text, of any log. Raises StatementError."""
        rows = text.split("\n")
        if len(rows) < 4 or rows[-1] or not all(rows[:-1]):
            raise malformed("a checkpoint begins with an origin, a size and a root hash, and has no empty line")
        if len(rows[0].encode()) > MAX_ORIGIN_BYTES:
            raise malformed(f"its origin is longer than {MAX_ORIGIN_BYTES} bytes")
        return cls(rows[0], read_size(rows[1]), lines.read_base64_hash(rows[2]))


class CosignerKey(Struct, frozen=True):
    """A witness's name, the type of its key, and the raw public key. Raises NoteError ``note-key-invalid`` for others."""

    name: str
    algorithm: bytes
    """``0x04`` or ``0x06``."""
    key: bytes

    def __post_init__(self) -> None:
        length = KEY_BYTES.get(self.algorithm)
        if length is None:
            raise NoteError("note-key-invalid", f"The verifier key {self.name!r} is not of a type for cosignatures.")
        if len(self.key) != length:
            message = f"The public key of {self.name!r} has {len(self.key)} bytes instead of {length}."
            raise NoteError("note-key-invalid", message)
        if not is_key_name(self.name) or len(self.name.encode()) > MAX_ORIGIN_BYTES:
            message = f"{self.name[:80]!r} is not a key name: it is empty, too long, or contains spaces or '+'."
            raise NoteError("note-key-invalid", message)
        problem = key_problem(self.key) if self.algorithm == ED25519 else None
        if problem is not None:
            raise NoteError("note-key-invalid", f"The public key of {self.name!r} is not usable: {problem}.")

    @property
    def key_id(self) -> bytes:
        """The first 4 bytes of SHA-256(name LF type key)."""
        return hashlib.sha256(self.name.encode() + b"\n" + self.algorithm + self.key).digest()[:4]

    @property
    def vkey(self) -> str:
        """``<name>+<hex key ID>+<base64 of type and key>``."""
        return f"{self.name}+{self.key_id.hex()}+{encode_base64(self.algorithm + self.key)}"

    @property
    def algorithm_name(self) -> str:
        """``Ed25519`` or ``ML-DSA-44``."""
        return ALGORITHMS[self.algorithm]

    @classmethod
    def from_vkey(cls, text: str) -> CosignerKey:
        """Read a vkey. Raises NoteError for another type, a key ID that is not the key's, or invalid base64."""
        name, key_id, material = split_vkey(text)
        key = cls(name, material[:1], material[1:])
        if key.key_id.hex() != key_id:
            raise NoteError("note-key-invalid", f"The key ID {key_id} does not belong to the key of {name!r}.")
        return key

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's signature of the message. Never raises for a bad one."""
        if self.algorithm == ED25519:
            return PublicKey(self.key).verifies(message, signature)
        try:
            mldsa.MLDSA44PublicKey.from_public_bytes(self.key).verify(signature, message)
        except (cryptography_exceptions.InvalidSignature, ValueError):
            return False
        except (cryptography_exceptions.UnsupportedAlgorithm, ImportError) as error:
            raise NoteError(
                "note-key-invalid",
                f"The witness {self.name} signs with ML-DSA-44, which the installed cryptography library does not have.",
                "Install a version of cryptography that has it, or use the witness's Ed25519 key.",
            ) from error
        return True


class Cosignature(Struct, frozen=True):
    """A verified cosignature: who, and when (seconds since 1970)."""

    key: CosignerKey
    time: int


class Cosigner(Struct, frozen=True):
    """A key that cosigns: its public half, and a function that signs bytes. A file, an agent or a token may be behind it."""

    verifier: CosignerKey
    sign: Callable[[bytes], bytes]


def split_vkey(text: str) -> tuple[str, str, bytes]:
    """Return name, key ID and key material of any vkey. Raises NoteError ``note-key-invalid``, ``note-base64``."""
    parts = text.split("+", 2)
    if len(parts) != 3 or _ID.fullmatch(parts[1]) is None:
        raise NoteError("note-key-invalid", f"{text[:80]!r} is not a verifier key of the form name+id+key.")
    return parts[0], parts[1], decode_base64(parts[2])


def read_size(text: str) -> int:
    """Read the size of a tree: an ASCII decimal without leading zeros, up to 2^63−1. Raises StatementError."""
    if _SIZE.fullmatch(text) is None or int(text) > MAX_TREE:
        raise malformed(f"{text[:80]!r} is not the size of a tree")
    return int(text)


def cosigned_message(text: str, key: CosignerKey, time: int) -> bytes:
    """Return what a key signs for a checkpoint's text at a time. Raises StatementError for a text that is no checkpoint's."""
    head = TreeHead.parse(text)
    if key.algorithm == ED25519:
        return f"cosignature/v1\ntime {time}\n{text}".encode()
    name, origin = key.name.encode(), head.origin.encode()
    return b"".join(
        (
            b"subtree/v1\n\x00",
            bytes((len(name),)),
            name,
            time.to_bytes(8, "big"),
            bytes((len(origin),)),
            origin,
            bytes(8),
            head.size.to_bytes(8, "big"),
            head.root_hash,
        )
    )


def cosign(text: str, cosigner: Cosigner, time: int) -> NoteSignature:
    """Return a key's signature line for a checkpoint's text."""
    key = cosigner.verifier
    signature = cosigner.sign(cosigned_message(text, key, time))
    return NoteSignature(key.name, key.key_id, time.to_bytes(8, "big") + signature)


def read_cosignatures(note: SignedNote, keys: Iterable[CosignerKey]) -> tuple[Cosignature, ...]:
    """Return the cosignatures of a note by these keys, one for each key that signed, in the order of ``keys``.

    Raises NoteError ``note-signature-wrong`` if a line that names one of the keys does not verify, and StatementError for a
    text that is no checkpoint's.
    """
    verifiers: dict[tuple[str, bytes], list[CosignerKey]] = {}
    ordered = tuple(dict.fromkeys(keys))
    for key in ordered:
        verifiers.setdefault((key.name, key.key_id), []).append(key)
    times: dict[CosignerKey, int] = {}
    for line in note.signatures:
        candidates = verifiers.get((line.name, line.key_id), ())
        # As in notes.verify: keys collide in name and ID only if someone made them, and then any of them can match.
        good = [key for key in candidates if _is_good(note.text, key, line.signature)]
        if candidates and not good:
            raise NoteError(
                "note-signature-wrong",
                f"The cosignature by {line.name} ({line.key_id.hex()}) does not belong to this checkpoint.",
                "The note was changed after it was signed, or it is forged: do not use it.",
            )
        for key in good:
            times[key] = max(times.get(key, 0), int.from_bytes(line.signature[:8], "big"))
    return tuple(Cosignature(key, times[key]) for key in ordered if key in times)


def lines_of(note: SignedNote, keys: Iterable[CosignerKey]) -> tuple[NoteSignature, ...]:
    """Return the note's signature lines that name one of these keys, without verifying them."""
    names = {(key.name, key.key_id) for key in keys}
    return tuple(line for line in note.signatures if (line.name, line.key_id) in names)


def _is_good(text: str, key: CosignerKey, payload: bytes) -> bool:
    if len(payload) != 8 + SIGNATURE_BYTES[key.algorithm]:
        return False
    time = int.from_bytes(payload[:8], "big")
    return time <= MAX_TIME and key.verifies(cosigned_message(text, key, time), payload[8:])
