"""Which Ed25519 public keys and signatures are acceptable, stricter than RFC 8032 requires (DESIGN §3, §4).

A key of small order accepts signatures that nobody made, and a value with two encodings gives one signature two forms.
So:

* a public key is the canonical encoding (y < p) of a point on the curve, but not of one of the eight points of small
  order;
* a signature's R is canonical and not of small order, and its S is below the group order L (RFC 8032 §5.1.7).

These checks are pure integers, and hold whichever library verifies. Callers of :meth:`Ed25519.verifies` make them first:
libsodium (PyNaCl) checks most of this as well, but accepts some encodings that other implementations refuse.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import nacl.exceptions as nacl_exceptions
    import nacl.signing as nacl_signing
else:
    nacl_exceptions = lazy_module("nacl.exceptions")
    nacl_signing = lazy_module("nacl.signing")

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
