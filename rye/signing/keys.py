"""Ed25519 keys as values: reading, writing, naming, signing and verifying (DESIGN §3, §4 Keys).

* A public key is its 32 raw bytes. Its PEM text is the canonical SubjectPublicKeyInfo with LF and a final newline.
* ``key_id`` (KEYID) is the first 16 hex digits of SHA-256 over that text. It only selects a candidate: trust is in the full key.
* ``fingerprint`` is ``SHA256:`` and the unpadded base64 of SHA-256 over the raw key; it is what people compare.
* Every signature is made and checked by libsodium (PyNaCl) after the checks of :mod:`rye.signing.ed25519`. ``cryptography``
  reads and writes private PEM and nothing else, and is imported only then.

A *sealed* private key is text::

    -----BEGIN RYE SEALED PRIVATE KEY-----
    version: 1
    kdf: argon2id
    operations: 3
    memory: 268435456
    salt: <base64, 16 bytes>
    public-key: <base64, 32 bytes>
    secret: <base64: 24-byte nonce and SecretBox of the 32-byte seed>
    -----END RYE SEALED PRIVATE KEY-----

Exactly these lines in this order. The box's key is Argon2id of the passphrase (UTF-8, NFC) with libsodium's parameters: passes,
bytes of memory, one lane. ``public-key`` is there to list keys without a passphrase, and must be the seed's own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing.ed25519 import is_strict_signature, key_problem

if TYPE_CHECKING:
    from nacl.signing import SigningKey

_SPKI = bytes.fromhex("302a300506032b6570032100")
_PEM = re.compile(r"\s*-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]{1,200})\n-----END PUBLIC KEY-----\s*")
_SEALED_BEGIN = "-----BEGIN RYE SEALED PRIVATE KEY-----"
_SEALED_END = "-----END RYE SEALED PRIVATE KEY-----"
_SEALED_FIELDS = ("version", "kdf", "operations", "memory", "salt", "public-key", "secret")
_MIN_OPERATIONS, _MIN_MEMORY = 1, 8192
_ED25519_HINT = "Rye signs with Ed25519 keys only; `rye keys generate` makes one."


class PublicKey(Struct, frozen=True):
    """A public key that signatures may be checked with. Made by ``from_raw``, ``read_pem`` or ``read_public_key``."""

    raw: bytes

    @classmethod
    def from_raw(cls, raw: bytes) -> PublicKey:
        """Raises RyeError ``bad-key`` for what :func:`rye.signing.ed25519.key_problem` refuses."""
        problem = key_problem(raw)
        if problem:
            raise RyeError("bad-key", f"This is not a usable Ed25519 public key: {problem}.", _ED25519_HINT)
        return cls(bytes(raw))

    @property
    def pem(self) -> str:
        body = base64.b64encode(_SPKI + self.raw).decode("ascii")
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    @property
    def key_id(self) -> str:
        """KEYID of the signature line: 16 hex digits."""
        return hashlib.sha256(self.pem.encode("ascii")).hexdigest()[:16]

    @property
    def later_key_id(self) -> str:
        """KEYID of the later form: 64 hex digits, SHA-256 of the raw key."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def fingerprint(self) -> str:
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.raw).digest()).decode("ascii").rstrip("=")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` (64 bytes) is this key's signature of ``message``. Never raises."""
        if key_problem(self.raw) or not is_strict_signature(signature):
            return False
        from nacl.exceptions import BadSignatureError
        from nacl.signing import VerifyKey

        try:
            VerifyKey(self.raw).verify(message, signature)
        except (BadSignatureError, ValueError):
            return False
        return True


class PrivateKey(Struct, frozen=True):
    """A private key: the 32-byte seed of RFC 8032. Never shown by ``repr``."""

    seed: bytes

    def __repr__(self) -> str:
        return "PrivateKey()"

    def __post_init__(self) -> None:
        if len(self.seed) != 32:
            raise RyeError("bad-key", "An Ed25519 private key has 32 bytes.", _ED25519_HINT)

    @classmethod
    def generate(cls) -> PrivateKey:
        from nacl.utils import random

        return cls(random(32))

    @property
    def public(self) -> PublicKey:
        return PublicKey(bytes(self._signing_key().verify_key))

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature; the same for the same message (RFC 8032 §5.1.6)."""
        return self._signing_key().sign(message).signature

    def pem(self) -> str:
        """Unencrypted PKCS #8."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")

    def _signing_key(self) -> SigningKey:
        from nacl.signing import SigningKey

        return SigningKey(self.seed)


class KeyFile(Struct, frozen=True):
    """A public key as a file gave it; ``owner`` is what the file claims and proves nothing."""

    key: PublicKey
    owner: str | None = None


def read_pem(text: str) -> PublicKey:
    """Read a public key's PEM; its line endings do not matter. Raises RyeError ``bad-key``."""
    if "PRIVATE KEY" in text:
        raise RyeError("bad-key", "This is a private key; a public key is wanted here.", "Use `rye keys export`.")
    match = _PEM.fullmatch(text.replace("\r\n", "\n"))
    der = _strict_base64(match[1].replace("\n", "")) if match else None
    if der is None:
        message = "This is not a public key in PEM form (-----BEGIN PUBLIC KEY-----, one key, nothing else)."
        raise RyeError("bad-key", message, "Export it with `rye keys export`.")
    if not der.startswith(_SPKI) or len(der) != len(_SPKI) + 32:
        raise RyeError("bad-key", "The PEM holds another kind of key than Ed25519.", _ED25519_HINT)
    return PublicKey.from_raw(der[len(_SPKI) :])


def read_public_key(data: bytes) -> KeyFile:
    """Read a key file: PEM, or TOML with ``[public_key] pem`` (and ``fingerprint``, which must fit, and ``owner``).

    Raises RyeError ``bad-key``. A signature line in the TOML is a comment: a file that vouches for itself proves nothing.
    """
    if len(data) > KEYS.file_bytes:
        raise RyeError("bad-key", f"A key file has at most {KEYS.file_bytes:,} bytes; this one has {len(data):,}.")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise RyeError("bad-key", "The key file is not text.", "Give a PEM file or a key TOML.") from None
    if text.lstrip().startswith("-----BEGIN"):
        return KeyFile(read_pem(text))
    return _read_toml(text)


def _read_toml(text: str) -> KeyFile:
    import tomllib

    try:
        document = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"The key file is neither PEM nor TOML: {str(error)[:120] or 'too deep'}."
        raise RyeError("bad-key", message, "Give a PEM file or a key TOML.") from None
    table = document.get("public_key")
    pem = table.get("pem") if isinstance(table, dict) else None
    if not isinstance(pem, str):
        raise RyeError("bad-key", "The key file has no [public_key] with a pem text.", "Give a PEM file or a key TOML.")
    key = read_pem(pem)
    claimed = document.get("fingerprint", key.key_id)
    if claimed not in (key.key_id, key.later_key_id, key.fingerprint):
        message = f"The key file says fingerprint {str(claimed)[:80]!r}, but its key has {key.key_id}."
        raise RyeError("bad-key", message, "Ask its owner for the right file.")
    owner = document.get("owner")
    return KeyFile(key, owner[:100] if isinstance(owner, str) and owner.isprintable() else None)


def read_private_pem(text: str) -> PrivateKey:
    """Read an unencrypted PKCS #8 Ed25519 key. Raises RyeError ``bad-key``."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(text.encode("utf-8"), password=None)
    except TypeError:
        hint = "Decrypt it with the program that made it, import it, and let Rye seal it."
        raise RyeError("bad-key", "The private key is encrypted in a form that Rye does not read.", hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise RyeError("bad-key", "This is not a private key in PEM form.", _ED25519_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise RyeError("bad-key", "The PEM holds another kind of key than Ed25519.", _ED25519_HINT)
    return PrivateKey(key.private_bytes_raw())


def is_sealed(text: str) -> bool:
    return text.lstrip().startswith(_SEALED_BEGIN)


def seal(key: PrivateKey, passphrase: str, *, operations: int = 3, memory: int = 256 * 1024 * 1024) -> str:
    """Encrypt a private key under a passphrase (Argon2id, SecretBox). An empty passphrase is refused."""
    from nacl.secret import SecretBox
    from nacl.utils import random

    if not passphrase:
        raise RyeError("empty-passphrase", "An empty passphrase seals nothing.", "Give one, or store the key unsealed.")
    salt = random(16)
    box = SecretBox(_derive(passphrase, salt, operations, memory))
    values = (
        "1",
        "argon2id",
        str(operations),
        str(memory),
        _base64(salt),
        _base64(key.public.raw),
        _base64(bytes(box.encrypt(key.seed))),
    )
    lines = (f"{name}: {value}" for name, value in zip(_SEALED_FIELDS, values, strict=True))
    return "\n".join((_SEALED_BEGIN, *lines, _SEALED_END)) + "\n"


def unseal(text: str, passphrase: str) -> PrivateKey:
    """Open a sealed key. Raises RyeError ``bad-key`` (not of the form above) or ``wrong-passphrase``."""
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox

    sealed = _read_sealed(text)
    box = SecretBox(_derive(passphrase, sealed.salt, sealed.operations, sealed.memory))
    try:
        key = PrivateKey(box.decrypt(sealed.secret))
    except CryptoError:
        message = "The passphrase does not open the private key (or the file was changed)."
        raise RyeError("wrong-passphrase", message, "Try again with the right passphrase.") from None
    if key.public.raw != sealed.public.raw:
        raise RyeError(
            "bad-key", "The sealed file names another public key than it holds.", "Restore it from a backup."
        )
    return key


class _Sealed(Struct, frozen=True):
    operations: int
    memory: int
    salt: bytes
    public: PublicKey
    secret: bytes


def _read_sealed(text: str) -> _Sealed:
    lines = text.replace("\r\n", "\n").strip().split("\n") if len(text) <= KEYS.file_bytes else []
    names = tuple(line.partition(": ")[0] for line in lines[1:-1])
    if not lines or lines[0] != _SEALED_BEGIN or lines[-1] != _SEALED_END or names != _SEALED_FIELDS:
        raise _unreadable("its lines are not those of the form")
    version, kdf, operations, memory, salt, public, secret = (line.partition(": ")[2] for line in lines[1:-1])
    if (version, kdf) != ("1", "argon2id"):
        raise _unreadable("it has a version or key derivation that this Rye does not know")
    decoded = [_strict_base64(value) for value in (salt, public, secret)]
    if [len(value or b"") for value in decoded] != [16, 32, 24 + 32 + 16]:
        raise _unreadable("salt, public-key or secret is not base64 of the right length")
    return _Sealed(
        _bounded("operations", operations, _MIN_OPERATIONS, KEYS.seal_operations),
        _bounded("memory", memory, _MIN_MEMORY, KEYS.seal_memory),
        decoded[0] or b"",
        PublicKey.from_raw(decoded[1] or b""),
        decoded[2] or b"",
    )


def _bounded(name: str, text: str, least: int, most: int) -> int:
    if re.fullmatch(r"[1-9][0-9]{0,11}", text) is None or not least <= int(text) <= most:
        raise _unreadable(f"{name} is not a number from {least:,} to {most:,}")
    return int(text)


def _unreadable(why: str) -> RyeError:
    return RyeError("bad-key", f"The sealed private key cannot be read: {why}.", "Restore the file from a backup.")


def _derive(passphrase: str, salt: bytes, operations: int, memory: int) -> bytes:
    from nacl.exceptions import CryptoError
    from nacl.pwhash import argon2id

    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8")
    try:
        return argon2id.kdf(32, secret, salt, opslimit=operations, memlimit=memory)
    except (CryptoError, MemoryError):
        raise RyeError("out-of-memory", f"Deriving the key needs {memory:,} bytes of memory.") from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _strict_base64(text: str) -> bytes | None:
    """Decoded canonical base64, or None: one text for one value."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode("ascii") == text else None
