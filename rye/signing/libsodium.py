"""The three Ed25519 operations of libsodium (PyNaCl) for :mod:`rye.signing.keys`: raw bytes in, raw bytes out.

Callers of :meth:`Ed25519.verifies` check key and signature with :mod:`rye.signing.ed25519` first: libsodium alone
accepts some encodings that other implementations refuse.
"""

from __future__ import annotations

from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey


class Ed25519:
    """The operations. The class has no instances."""

    @staticmethod
    def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
        """Whether ``signature`` (64 bytes) is the signature of ``message`` by the key ``public`` (32 bytes).

        Never raises.
        """
        try:
            VerifyKey(public).verify(message, signature)
        except (BadSignatureError, ValueError):
            return False
        return True

    @staticmethod
    def public_half(seed: bytes) -> bytes:
        """Return the public key (32 bytes) of a seed (32 bytes)."""
        return bytes(SigningKey(seed).verify_key)

    @staticmethod
    def sign(seed: bytes, message: bytes) -> bytes:
        """Return the 64-byte signature, which is deterministic (RFC 8032 §5.1.6)."""
        return SigningKey(seed).sign(message).signature
