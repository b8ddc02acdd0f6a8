"""The encodings that SSH programs share: numbers, strings and blobs (RFC 4251 §5), and the line of a public key.

Two key types are known: ``ssh-ed25519`` (RFC 8709) and ``sk-ssh-ed25519@openssh.com`` (OpenSSH's PROTOCOL.u2f). Readers refuse
what is cut off, what follows the end, and every text that the writers would not write.
"""

from __future__ import annotations

import base64
import binascii

from msgspec import Struct

from rye.limits import AGENT

PLAIN = "ssh-ed25519"
SECURITY_KEY = "sk-ssh-ed25519@openssh.com"


class WireError(ValueError):
    """The bytes are not what they should be; the text says how."""


class SshKey(Struct, frozen=True):
    """A public key as SSH programs write it. Nothing is checked about its 32 bytes."""

    point: bytes
    application: str | None = None
    """Of a security key: what it was made for, usually ``ssh:``. None: an ordinary key."""

    @property
    def type(self) -> str:
        """The name of its type."""
        return PLAIN if self.application is None else SECURITY_KEY

    def blob(self) -> bytes:
        """The bytes that OpenSSH stores, sends and takes fingerprints of."""
        ending = b"" if self.application is None else string(self.application.encode())
        return string(self.type.encode()) + string(self.point) + ending

    def line(self) -> str:
        """The line of a ``.pub`` file, without a comment and without LF."""
        return f"{self.type} {base64.b64encode(self.blob()).decode('ascii')}"


class Reader:
    """Reads values one after the other. Raises WireError for every value that is not there in full, or longer than ``most``."""

    def __init__(self, data: bytes):
        self._data = data

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        if count > len(self._data):
            raise WireError("it is cut off")
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def byte(self) -> int:
        """One byte as a number."""
        return self.take(1)[0]

    def number(self) -> int:
        """A uint32."""
        return int.from_bytes(self.take(4), "big")

    def string(self, most: int) -> bytes:
        """A string of at most ``most`` bytes."""
        size = self.number()
        if size > most:
            raise WireError(f"it has a value of {size:,} bytes where at most {most:,} are expected")
        return self.take(size)

    def end(self) -> None:
        """Require that nothing is left."""
        if self._data:
            raise WireError("something follows its end")


def string(data: bytes) -> bytes:
    """Encode a string: its length as a uint32, then its bytes."""
    return len(data).to_bytes(4, "big") + data


def read_blob(blob: bytes) -> SshKey | None:
    """Read a public key's blob; None for a key of another type. Raises WireError for a broken one of these types."""
    reader = Reader(blob)
    name = reader.string(AGENT.name_bytes)
    if name not in (PLAIN.encode(), SECURITY_KEY.encode()):
        return None
    point = reader.string(32)
    if len(point) != 32:
        raise WireError(f"its key has {len(point)} bytes instead of 32")
    application = None
    if name == SECURITY_KEY.encode():
        raw = reader.string(AGENT.application_bytes)
        if not raw or not all(0x21 <= byte <= 0x7E for byte in raw):
            raise WireError("its application is not printable ASCII without spaces")
        application = raw.decode("ascii")
    reader.end()
    return SshKey(point, application)


def read_line(text: str) -> SshKey | None:
    """Read the line of a ``.pub`` file, with or without a comment; None for a key of another type. Raises WireError."""
    parts = text.strip().split(" ", 2)
    if len(parts) < 2 or "\n" in text.strip():
        raise WireError("it is not one line TYPE BASE64 COMMENT")
    try:
        blob = base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError):
        raise WireError("its second word is not base64") from None
    if base64.b64encode(blob).decode("ascii") != parts[1]:
        raise WireError("its second word is not canonical base64")
    key = read_blob(blob)
    if key is not None and key.type != parts[0]:
        raise WireError(f"it says {parts[0][:80]!r}, but its key is of the type {key.type}")
    return key
