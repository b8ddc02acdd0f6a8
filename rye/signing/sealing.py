"""Encrypting private keys under a passphrase: libsodium's Argon2id and SecretBox, in the form of
:mod:`rye.signing.sealed_form`.
"""

from __future__ import annotations

import unicodedata

from nacl.exceptions import CryptoError
from nacl.pwhash import argon2id
from nacl.secret import SecretBox
from nacl.utils import random

from rye.errors import RyeError, UsageError
from rye.signing.keys import PrivateKey
from rye.signing.sealed_form import Sealed, read_sealed, write_sealed


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
        raise RyeError("wrong-passphrase", message, "Try again with the right passphrase.") from None
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
