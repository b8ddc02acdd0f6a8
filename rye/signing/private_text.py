"""The text of a private key: sealed under a passphrase, in the form of :mod:`rye.signing.sealed_form`, or PKCS #8 PEM.

Sealing is libsodium's Argon2id and SecretBox. PEM is read by ``cryptography``, which knows the encodings of other programs;
nothing else here uses it.
"""

from __future__ import annotations

import unicodedata

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox
from nacl.utils import random

from rye.errors import RyeError, UsageError
from rye.signing.keys import ED25519_HINT, PrivateKey
from rye.signing.sealed_form import Sealed, is_sealed, read_sealed, write_sealed


def read_private(text: str, passphrase: str | None) -> PrivateKey:
    """Return the key of a sealed text, opened with the passphrase, or of a PEM, which needs none.

    Raises RyeError ``bad-key``, ``wrong-passphrase``, ``passphrase-needed``.
    """
    if not is_sealed(text):
        return read_private_pem(text)
    if passphrase is None:
        raise RyeError("passphrase-needed", "The private key is sealed.", "Enter its passphrase.")
    return unseal(text, passphrase)


def read_private_pem(text: str) -> PrivateKey:
    """Read an unencrypted PKCS #8 Ed25519 key. Raises RyeError ``bad-key``."""
    try:
        key = load_pem_private_key(text.encode("utf-8"), password=None)
    except TypeError:
        hint = "Decrypt it with the program that created it, then import it and let Rye seal it."
        raise RyeError("bad-key", "The private key is encrypted in a format that Rye cannot read.", hint) from None
    except (ValueError, UnsupportedAlgorithm):
        raise RyeError("bad-key", "This is not a private key in PEM form.", ED25519_HINT) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise RyeError("bad-key", "The PEM contains a key that is not an Ed25519 key.", ED25519_HINT)
    return PrivateKey(key.private_bytes_raw())


def seal(key: PrivateKey, passphrase: str, *, operations: int = 3, memory: int = 256 * 1024 * 1024) -> str:
    """Encrypt a private key under a passphrase (Argon2id, SecretBox). Raises UsageError ``missing-argument``."""
    if not passphrase:
        raise UsageError(
            "missing-argument",
            "The passphrase is empty.",
            "Enter a passphrase, or store the key unsealed.",
            what="passphrase",
        )
    salt = random(16)
    box = SecretBox(_derive(passphrase, salt, operations, memory))
    return write_sealed(Sealed(operations, memory, salt, key.public, bytes(box.encrypt(key.seed))))


def unseal(text: str, passphrase: str) -> PrivateKey:
    """Open a sealed key. Raises RyeError ``bad-key`` (not a sealed key) or ``wrong-passphrase``."""
    sealed = read_sealed(text)
    box = SecretBox(_derive(passphrase, sealed.salt, sealed.operations, sealed.memory))
    try:
        key = PrivateKey(box.decrypt(sealed.secret))
    except CryptoError:
        message = "The passphrase is wrong, or the file of the private key was changed."
        hint = (
            "Try again with the right passphrase. Nobody can open the key without it: if it is lost, make another one with "
            "`rye keys generate --name NAME`, and let an owner of your namespace add it with `rye namespace keys add`."
        )
        raise RyeError("wrong-passphrase", message, hint) from None
    if key.public.raw != sealed.public.raw:
        raise RyeError(
            "bad-key",
            "The sealed file names a public key that does not belong to its private key.",
            "Restore the file from a backup.",
        )
    return key


def _derive(passphrase: str, salt: bytes, operations: int, memory: int) -> bytes:
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8")
    try:
        return argon2id.kdf(32, secret, salt, opslimit=operations, memlimit=memory)
    except (CryptoError, MemoryError):
        raise RyeError("out-of-memory", f"Deriving the key needs {memory:,} bytes of memory.") from None
