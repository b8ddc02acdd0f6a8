"""Ed25519 keys as values: reading, writing, naming, signing and verifying (DESIGN §3, §4 Keys).

* A public key is its 32 raw bytes, and its text is PEM: the canonical SubjectPublicKeyInfo with LF and a final newline. The
  public key of a *security key* (FIDO) is OpenSSH's blob, and its text is OpenSSH's line without a comment, with LF
  (:mod:`rye.signing.security_key`).
* ``key_id`` (KEYID) is the first 16 hex digits of SHA-256 over that text. It only selects a candidate: trust is in the
  full key.
* ``fingerprint`` is ``SHA256:`` and the unpadded base64 of SHA-256 over the raw key; people compare it. OpenSSH takes its own
  over the blob, so an ordinary key has two, and a security key one.
* Every signature is made and checked by libsodium after :func:`key_problem` and :func:`is_strict_signature`.
* A private key's text is PKCS #8 PEM or sealed (:mod:`rye.signing.private_text`).

Which public keys and signatures are acceptable is stricter than RFC 8032 requires. A key of small order accepts
signatures that nobody made, and a value with two encodings gives one signature two forms. So:

* a public key is the canonical encoding (y < p) of a point on the curve, but not of one of the eight points of small
  order;
* a signature's R is canonical and not of small order, and its S is below the group order L (RFC 8032 §5.1.7).

These checks are pure integers, and hold whichever library verifies. Callers of :meth:`Ed25519.verifies` make them first:
libsodium (PyNaCl) checks most of this as well, but accepts some encodings that other implementations refuse.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import tomllib
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import KEYS
from rye.text.lazy import lazy_module, lazy_pattern

if TYPE_CHECKING:
    import nacl.exceptions as nacl_exceptions
    import nacl.signing as nacl_signing

    from rye.signing import security_key, ssh_wire
else:
    nacl_exceptions = lazy_module("nacl.exceptions")
    nacl_signing = lazy_module("nacl.signing")
    security_key, ssh_wire = lazy_module("rye.signing.security_key"), lazy_module("rye.signing.ssh_wire")

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
"""The order of the base point."""
_D = -121665 * pow(121666, -1, P) % P
_SIGN = 1 << 255
_Y8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
SMALL_ORDER_Y = frozenset({0, 1, P - 1, _Y8, P - _Y8})
"""The y coordinates of the eight points whose order divides 8."""


@lru_cache(maxsize=1024)  # a namespace's key is checked for each of its releases
def key_problem(raw: bytes) -> str | None:
    """Return why 32 bytes are not an acceptable public key; None if they are."""
    if len(raw) != 32:
        return f"it has {len(raw)} bytes instead of 32"
    y = int.from_bytes(raw, "little") & (_SIGN - 1)
    if y % P in SMALL_ORDER_Y:
        return "it is a point of small order, which would accept forged signatures"
    if y >= P:
        return "its encoding is not canonical"
    # x² = (y² - 1) / (d·y² + 1) must be a square (Euler's criterion). It is not 0, since y is not 1 or -1.
    square = (y * y - 1) * pow(_D * y * y + 1, -1, P) % P
    return None if pow(square, (P - 1) // 2, P) == 1 else "it is not a point on the curve"


def public_key_problem(raw: bytes) -> str | None:
    """Return why bytes are not an acceptable public key, ordinary or a security key's; None if they are."""
    if len(raw) <= 32:
        return key_problem(raw)
    key = security_key.security_key(raw)
    return "it is neither 32 bytes nor an OpenSSH security key" if key is None else key_problem(key.point)


def is_strict_signature(signature: bytes) -> bool:
    """Whether 64 bytes have the only acceptable form of a signature. It says nothing about whether they verify."""
    if len(signature) != 64:
        return False
    r = int.from_bytes(signature[:32], "little") & (_SIGN - 1)
    s = int.from_bytes(signature[32:], "little")
    return s < L and r < P and r not in SMALL_ORDER_Y


class Ed25519:
    """Three operations of libsodium for :mod:`rye.signing.keys`: raw bytes in, raw bytes out. The class has no instances."""

    @staticmethod
    def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` (64 bytes) is the signature of ``message`` by the key ``public`` (32 bytes).

        Never raises.
        """
        try:
            nacl_signing.VerifyKey(public).verify(message, signature)
        except (nacl_exceptions.BadSignatureError, ValueError):
            return False
        return True

    @staticmethod
    def public_half(seed: bytes) -> bytes:
        """Return the public key (32 bytes) of a seed (32 bytes)."""
        return bytes(nacl_signing.SigningKey(seed).verify_key)

    @staticmethod
    def sign(seed: bytes, message: bytes) -> bytes:
        """Return the 64-byte signature, which is deterministic (RFC 8032 §5.1.6)."""
        return nacl_signing.SigningKey(seed).sign(message).signature


_SPKI = bytes.fromhex("302a300506032b6570032100")
_PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
_PEM = lazy_pattern(r"\s*-----BEGIN PUBLIC KEY-----\n([A-Za-z0-9+/=\n]{1,200})\n-----END PUBLIC KEY-----\s*")
_SSH_TYPES = ("ssh-", "sk-ssh-", "ecdsa-", "sk-ecdsa-")
ED25519_HINT = "Rye uses only Ed25519 keys; `rye keys generate` creates one."


class PublicKey(Struct, frozen=True, eq=False):
    """A valid public key. Create it with ``from_raw``, ``read_pem`` or ``read_public_key``.

    Two are equal if they are the same key, whatever is demanded of their signatures.
    """

    raw: bytes
    """32 bytes, or the blob of a security key."""
    verified_only: bool = False
    """Whether signatures count only if the security key verified its owner."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self.raw == other.raw

    def __ne__(self, other: object) -> bool:  # a Struct has its own, which is not the inverse of this __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(self.raw)

    @classmethod
    def from_raw(cls, raw: bytes) -> PublicKey:
        """Return the key of these bytes. Raises RyeError ``bad-key`` for keys that
        :func:`rye.signing.keys.public_key_problem` refuses.
        """
        problem = public_key_problem(raw)
        if problem:
            raise RyeError("bad-key", f"This is not a usable Ed25519 public key: {problem}.", ED25519_HINT)
        return cls(bytes(raw))

    @property
    def ssh(self) -> ssh_wire.SshKey:
        """The key as SSH programs know it."""
        return self._security_key or ssh_wire.SshKey(self.raw)

    @property
    def hardware(self) -> bool:
        """Whether it is a security key."""
        return self._security_key is not None

    @property
    def point(self) -> bytes:
        """The 32 bytes that verify: two keys with the same ones are one person's."""
        key = self._security_key
        return self.raw if key is None else key.point

    @property
    def _security_key(self) -> ssh_wire.SshKey | None:
        return None if len(self.raw) == 32 else security_key.security_key(self.raw)

    @property
    def pem(self) -> str:
        """The canonical text: PEM (SubjectPublicKeyInfo); of a security key the line that OpenSSH writes."""
        if self.hardware:
            return self.ssh.line() + "\n"
        body = base64.b64encode(_SPKI + self.raw).decode("ascii")
        return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"

    @property
    def key_id(self) -> str:
        """The KEYID of a signature line: 16 hex digits."""
        return hashlib.sha256(self.pem.encode("ascii")).hexdigest()[:16]

    @property
    def later_key_id(self) -> str:
        """The KEYID of the later form: 64 hex digits, SHA-256 of the raw key."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def fingerprint(self) -> str:
        """The fingerprint that people compare: ``SHA256:`` and base64."""
        return _fingerprint(self.raw)

    @property
    def openssh_fingerprint(self) -> str:
        """The fingerprint that OpenSSH's programs print for this key."""
        return _fingerprint(self.ssh.blob())

    @property
    def names(self) -> frozenset[str]:
        """What a person can call it: either fingerprint, or its key id."""
        return frozenset((self.fingerprint, self.openssh_fingerprint, self.key_id))

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` (64 bytes; of a security key with flags and counter) is this key's signature of ``message``.

        Never raises.
        """
        key, point = self._security_key, self.point
        if key is not None:
            signed = security_key.signed_bytes(key, message, signature, verified_only=self.verified_only)
            if signed is None:
                return False
            message, signature = signed, signature[:64]
        if key_problem(point) or not is_strict_signature(signature):
            return False
        return _libsodium().verifies(point, message, signature)


class PrivateKey(Struct, frozen=True):
    """A private key: the 32-byte seed of RFC 8032. ``repr`` never shows it."""

    seed: bytes

    def __repr__(self) -> str:
        return "PrivateKey()"

    def __post_init__(self) -> None:
        if len(self.seed) != 32:
            raise RyeError("bad-key", "An Ed25519 private key has 32 bytes.", ED25519_HINT)

    @classmethod
    def generate(cls) -> PrivateKey:
        """Create a key from the system's random numbers."""
        return cls(os.urandom(32))

    @property
    def public(self) -> PublicKey:
        """The public half."""
        return PublicKey(_libsodium().public_half(self.seed))

    def sign(self, message: bytes, what: str = "") -> bytes:
        """Return the 64-byte signature, which is deterministic (RFC 8032 §5.1.6). ``what`` is for keys that ask a person."""
        return _libsodium().sign(self.seed, message)

    def pem(self) -> str:
        """Return unencrypted PKCS #8 (RFC 8410 §7, version 1, without attributes)."""
        body = base64.b64encode(_PKCS8 + self.seed).decode("ascii")
        return f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"


class KeyFile(Struct, frozen=True):
    """A public key from a file. ``owner`` is the file's own claim and proves nothing."""

    key: PublicKey
    owner: str | None = None


def read_pem(text: str) -> PublicKey:
    """Read a public key in PEM, with any line endings. Raises RyeError ``bad-key``."""
    if "PRIVATE KEY" in text:
        raise RyeError("bad-key", "This is a private key, but a public key is needed here.", "Use `rye keys export`.")
    match = _PEM.fullmatch(text.replace("\r\n", "\n"))
    der = strict_base64(match[1].replace("\n", "")) if match else None
    if der is None:
        message = "This is not a public key in PEM form (one -----BEGIN PUBLIC KEY----- block and no other text)."
        raise RyeError("bad-key", message, "Export it with `rye keys export`.")
    if not der.startswith(_SPKI) or len(der) != len(_SPKI) + 32:
        raise RyeError("bad-key", "The PEM contains a key that is not an Ed25519 key.", ED25519_HINT)
    return PublicKey.from_raw(der[len(_SPKI) :])


def read_public_line(text: str) -> PublicKey:
    """Read the line of an OpenSSH ``.pub`` file. Raises RyeError ``bad-key``."""
    try:
        key = ssh_wire.read_line(text)
    except ssh_wire.WireError as error:
        raise RyeError(
            "bad-key", f"The OpenSSH public key cannot be read: {error}.", "Copy the whole .pub file."
        ) from None
    if key is None:
        hint = "`ssh-keygen -t ed25519`, or `-t ed25519-sk` for a security key, makes one that Rye can use."
        raise RyeError("bad-key", f"{text.split(' ', 1)[0][:80]!r} is not an Ed25519 key.", hint)
    return PublicKey.from_raw(key.point if key.application is None else key.blob())


KEY_FILE_FORMS = "Give a PEM file, an OpenSSH line or a key TOML."
"""What to do where no key can be read from a file."""


def read_public_text(text: str) -> PublicKey:
    """Read a public key's own text: PEM or an OpenSSH line. Raises RyeError ``bad-key``."""
    return read_public_line(text) if text.startswith(_SSH_TYPES) else read_pem(text)


def read_public_key(data: bytes) -> KeyFile:
    """Read a key file: PEM, an OpenSSH line, or TOML with ``[public_key] pem`` (and optionally ``fingerprint``, which must
    match, and ``owner``).

    Raises RyeError ``bad-key``. A signature line in the TOML is only a comment: a file that vouches for itself proves
    nothing.
    """
    if len(data) > KEYS.file_bytes:
        raise RyeError("bad-key", f"The key file has {len(data):,} bytes; the limit is {KEYS.file_bytes:,}.")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise RyeError("bad-key", "The key file is not text.", KEY_FILE_FORMS) from None
    if text.lstrip().startswith("-----BEGIN"):
        return KeyFile(read_pem(text))
    if text.startswith(_SSH_TYPES):
        return KeyFile(read_public_line(text))
    return _read_toml(text)


def _read_toml(text: str) -> KeyFile:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"The key file is not PEM and not valid TOML: {str(error)[:120] or 'too deep'}."
        raise RyeError("bad-key", message, KEY_FILE_FORMS) from None
    table = document.get("public_key")
    pem = table.get("pem") if isinstance(table, dict) else None
    if not isinstance(pem, str):
        raise RyeError("bad-key", "The key file has no `pem` text in [public_key].", KEY_FILE_FORMS)
    key = read_public_text(pem)
    claimed = document.get("fingerprint", key.key_id)
    if claimed not in (key.key_id, key.later_key_id, key.fingerprint):
        message = f"The key file says fingerprint {str(claimed)[:80]!r}, but its key has {key.key_id}."
        raise RyeError("bad-key", message, "Ask its owner for the right file.")
    owner = document.get("owner")
    return KeyFile(key, owner[:100] if isinstance(owner, str) and owner.isprintable() else None)


def _fingerprint(data: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(data).digest()).decode("ascii").rstrip("=")


def strict_base64(text: str) -> bytes | None:
    """Decode canonical base64; None for every other spelling of a value."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode("ascii") == text else None


def _libsodium() -> type[Ed25519]:

    return Ed25519
