"""What a security key (FIDO) signs, exactly as OpenSSH's PROTOCOL.u2f constructs it. Pure.

::

    signed    = SHA-256(application) ‖ flags ‖ counter ‖ SHA-256(message)
    signature = Ed25519(signed), 64 bytes ‖ flags, 1 byte ‖ counter, 4 bytes, big-endian

Only two values of ``flags`` count: 1 (a person was present) and 5 (present, and verified by PIN or finger). Every other bit
is refused even if it is signed: bit 6 says that an attestation is part of what was signed, bit 7 that extensions are, and
nothing here reads either. The counter is kept with the signature and not judged: an item is verified many times, in any order.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

from rye.signing.ssh_wire import SshKey, WireError, read_blob

PRESENT, VERIFIED = 1, 5
"""The flags that count: user presence, and presence with user verification."""
ENDING_BYTES = 1 + 4
"""The flags and the counter, which follow the 64 bytes of a signature."""


@lru_cache(maxsize=1024)
def security_key(raw: bytes) -> SshKey | None:
    """The security key of an OpenSSH blob; None if the bytes are not exactly one, in its only encoding."""
    try:
        key = read_blob(raw)
    except WireError:
        return None
    return key if key is not None and key.application is not None else None


def signed_bytes(key: SshKey, message: bytes, signature: bytes, *, verified_only: bool) -> bytes | None:
    """The bytes over which the first 64 bytes of ``signature`` must be; None if its length or flags are refused."""
    accepted = (VERIFIED,) if verified_only else (PRESENT, VERIFIED)
    if len(signature) != 64 + ENDING_BYTES or signature[64] not in accepted:
        return None
    return hashlib.sha256((key.application or "").encode()).digest() + signature[64:] + hashlib.sha256(message).digest()
