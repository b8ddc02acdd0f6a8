"""The three Ed25519 operations that libsodium (PyNaCl) does for :mod:`rye.signing.keys`: raw bytes in, raw bytes out.

Callers of :meth:`Ed25519.verifies` check key and signature with :mod:`rye.signing.ed25519` first: libsodium alone accepts
some encodings that other implementations refuse.
"""

from __future__ import annotations

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey


class Ed25519:
    """The operations; no values are made of it."""

    @staticmethod
    def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` (64 bytes) is that of ``message`` by the key ``public`` (32 bytes). Never raises."""
        try:
            VerifyKey(public).verify(message, signature)
        except (BadSignatureError, ValueError):
            return False
        return True

    @staticmethod
    def public_half(seed: bytes) -> bytes:
        """The public key (32 bytes) that belongs to a seed (32 bytes)."""
        return bytes(SigningKey(seed).verify_key)

    @staticmethod
    def sign(seed: bytes, message: bytes) -> bytes:
        """The 64-byte signature; the same for the same message (RFC 8032 §5.1.6)."""
        return SigningKey(seed).sign(message).signature
