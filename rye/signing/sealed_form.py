"""The text form of a *sealed* private key, read and written without opening it::

    -----BEGIN RYE SEALED PRIVATE KEY-----
    version: 1
    kdf: argon2id
    operations: 3
    memory: 268435456
    salt: <base64, 16 bytes>
    public-key: <base64, 32 bytes>
    secret: <base64: 24-byte nonce and SecretBox of the 32-byte seed>
    -----END RYE SEALED PRIVATE KEY-----

Exactly these lines in this order. The box's key is Argon2id of the passphrase (UTF-8, NFC) with libsodium's parameters:
passes, bytes of memory, one lane. ``public-key`` lets keys be listed without a passphrase, and must belong to the seed.
"""

from __future__ import annotations

import base64
import re

from msgspec import Struct

from rye.errors import RyeError
from rye.limits import KEYS
from rye.signing.keys import PublicKey, strict_base64

_BEGIN = "-----BEGIN RYE SEALED PRIVATE KEY-----"
_END = "-----END RYE SEALED PRIVATE KEY-----"
_FIELDS = ("version", "kdf", "operations", "memory", "salt", "public-key", "secret")
_MIN_OPERATIONS, _MIN_MEMORY = 1, 8192


class Sealed(Struct, frozen=True):
    """The fields of a sealed key; ``secret`` is nonce and box."""

    operations: int
    memory: int
    salt: bytes
    public: PublicKey
    secret: bytes


def is_sealed(text: str) -> bool:
    """Whether a text begins like a sealed key."""
    return text.lstrip().startswith(_BEGIN)


def write_sealed(sealed: Sealed) -> str:
    """Return the text that :func:`read_sealed` reads."""
    values = (
        "1",
        "argon2id",
        str(sealed.operations),
        str(sealed.memory),
        _base64(sealed.salt),
        _base64(sealed.public.raw),
        _base64(sealed.secret),
    )
    lines = (f"{name}: {value}" for name, value in zip(_FIELDS, values, strict=True))
    return "\n".join((_BEGIN, *lines, _END)) + "\n"


def read_sealed(text: str) -> Sealed:
    """Read a sealed key's text. Raises RyeError ``bad-key`` for any deviation from the form."""
    lines = text.replace("\r\n", "\n").strip().split("\n") if len(text) <= KEYS.file_bytes else []
    names = tuple(line.partition(": ")[0] for line in lines[1:-1])
    if not lines or lines[0] != _BEGIN or lines[-1] != _END or names != _FIELDS:
        raise _unreadable("its lines are not those of a sealed key")
    version, kdf, operations, memory, salt, public, secret = (line.partition(": ")[2] for line in lines[1:-1])
    if (version, kdf) != ("1", "argon2id"):
        raise _unreadable("this version of rye does not know its version or key derivation")
    decoded = [strict_base64(value) for value in (salt, public, secret)]
    if [len(value or b"") for value in decoded] != [16, 32, 24 + 32 + 16]:
        raise _unreadable("salt, public-key or secret is not base64 of the right length")
    return Sealed(
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


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
