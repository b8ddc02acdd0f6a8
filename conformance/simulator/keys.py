"""Keys of owners, logs, namespaces and witnesses, and what they sign: notes (C2SP signed-note) and cosignatures
(tlog-cosignature)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ED25519, COSIGNATURE, SECURITY_KEY = b"\x01", b"\x04", b"\xff"
ORDER = 2**252 + 27742317777372353535851937790883648493


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def sha256(data: bytes | str) -> str:
    """In lower-case hex, as the documents name files and texts."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


@lru_cache(maxsize=512)
def _private(label: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"conformance {label}".encode()).digest())


@lru_cache(maxsize=16_384)
def _signed(label: str, message: bytes) -> bytes:
    return _private(label).sign(message)


@dataclass(frozen=True)
class Key:
    """An Ed25519 key made of its label: the same in every run. It protects nothing."""

    label: str

    @cached_property
    def raw(self) -> bytes:
        return _private(self.label).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def material(self) -> bytes:
        """The type and the key, of which a key ID is made."""
        return ED25519 + self.raw

    @property
    def line(self) -> str:
        """As a ``key``, ``owner`` or ``log`` line has it."""
        return b64(self.raw)

    @property
    def item_key_id(self) -> str:
        """KEYID in a file's signature line."""
        der = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" + self.raw
        return sha256(f"-----BEGIN PUBLIC KEY-----\n{b64(der)}\n-----END PUBLIC KEY-----\n")[:16]

    def sign(self, message: bytes) -> bytes:
        return _signed(self.label, message)


@dataclass(frozen=True)
class HardwareKey(Key):
    """A security key (FIDO) in software, which signs whatever a case wants."""

    application: str = "ssh:"
    flags: int = 1
    counter: int = 7
    claimed: str | None = None
    """Another application than its own, in what it signs."""
    extensions: bytes = b""
    """What follows the counter, in what it signs."""

    @property
    def blob(self) -> bytes:
        parts = (b"sk-ssh-ed25519@openssh.com", self.raw, self.application.encode())
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)

    @property
    def material(self) -> bytes:
        return SECURITY_KEY + self.blob

    @property
    def line(self) -> str:
        return f"sk-ssh-ed25519@openssh.com {b64(self.blob)}"

    @property
    def item_key_id(self) -> str:
        return sha256(self.line + "\n")[:16]

    def sign(self, message: bytes) -> bytes:
        ending = bytes([self.flags]) + self.counter.to_bytes(4, "big") + self.extensions
        application = hashlib.sha256((self.claimed or self.application).encode()).digest()
        return _signed(self.label, application + ending + hashlib.sha256(message).digest()) + ending

    def with_flags(self, flags: int) -> HardwareKey:
        return replace(self, flags=flags)


@dataclass(frozen=True)
class Signer:
    """A key under the name that its signature lines have."""

    name: str
    key: Key

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + self.key.material).digest()[:4]

    @property
    def vkey(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64(self.key.material)}"

    def line(self, text: str, damage: Callable[[bytes], bytes] = bytes) -> str:
        """The signature line for a text. ``damage``: what is done to the signature's bytes."""
        return f"\N{EM DASH} {self.name} {b64(self.key_id + damage(self.key.sign(text.encode())))}\n"


@dataclass(frozen=True)
class Witness:
    """A witness with an Ed25519 key (tlog-cosignature, type 0x04)."""

    name: str
    key: Key

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + COSIGNATURE + self.key.raw).digest()[:4]

    @property
    def vkey(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64(COSIGNATURE + self.key.raw)}"

    def line(self, text: str, time: int, damage: Callable[[bytes], bytes] = bytes) -> str:
        signature = damage(self.key.sign(f"cosignature/v1\ntime {time}\n{text}".encode()))
        return f"\N{EM DASH} {self.name} {b64(self.key_id + time.to_bytes(8, 'big') + signature)}\n"


def note(text: str, *signers: Signer) -> str:
    """A signed note."""
    return f"{text}\n" + "".join(signer.line(text) for signer in signers)


def text_of(signed: str) -> str:
    """The text of a signed note."""
    return signed[: signed.rindex("\n\n") + 1]


def flipped(data: bytes) -> bytes:
    """The last bit of the first byte the other way round."""
    return bytes([data[0] ^ 1]) + data[1:]


def high_s(signature: bytes) -> bytes:
    """The same signature with S + L: some verifiers accept it, so that one statement would have two signatures."""
    return signature[:32] + (int.from_bytes(signature[32:64], "little") + ORDER).to_bytes(32, "little") + signature[64:]
