"""The registry's private keys: one that signs the log, and the owners', which sign root statements and can be kept offline.

A key file is one line in the format of Go's note tools,
``PRIVATE+KEY+<key name>+<hex key ID>+<base64 of type and seed>``,
mode 0600. The log's key is ``keys/log-<id>.key``, an owner's ``keys/root-<id>.key`` unless it is kept elsewhere.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from nacl.signing import SigningKey

from rye.errors import RyeError
from rye.registry.protocol.notes import ED25519, NoteError, Signer, VerifierKey, decode_base64, encode_base64

_FORM = re.compile(r"PRIVATE\+KEY\+([^\s+]{1,256})\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{40,60})\n?")


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key name and an Ed25519 seed of 32 bytes."""

    name: str
    seed: bytes

    @classmethod
    def generate(cls, name: str) -> PrivateKey:
        """Create a key from the system's random numbers."""
        return cls(name, os.urandom(32))

    @property
    def verifier(self) -> VerifierKey:
        """The public half."""
        return VerifierKey(self.name, bytes(SigningKey(self.seed).verify_key))

    @property
    def signer(self) -> Signer:
        """What signs notes with this key."""
        key = SigningKey(self.seed)
        return Signer(VerifierKey(self.name, bytes(key.verify_key)), lambda message: bytes(key.sign(message).signature))

    def encode(self) -> str:
        """The text of the key file."""
        return f"PRIVATE+KEY+{self.name}+{self.verifier.key_id.hex()}+{encode_base64(ED25519 + self.seed)}\n"

    @classmethod
    def decode(cls, text: str) -> PrivateKey:
        """Read a key file's text. Raises RyeError ``bad-key``; the message never contains the key."""
        match = _FORM.fullmatch(text)
        try:
            material = decode_base64(match[3]) if match else b""
        except NoteError:
            material = b""
        if match is None or len(material) != 33 or material[:1] != ED25519:
            raise RyeError(
                "bad-key", "This is not a registry's private key.", "A key file is one line: PRIVATE+KEY+name+id+key."
            )
        key = cls(match[1], material[1:])
        if key.verifier.key_id.hex() != match[2]:
            raise RyeError(
                "bad-key",
                "The key file is damaged: its key ID belongs to another key.",
                "Restore the file from a backup.",
            )
        return key


def write(path: Path, key: PrivateKey) -> None:
    """Write a new key file, mode 0600 from the start. Raises RyeError ``already-exists``."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise RyeError(
            "already-exists", f"{path} already exists; a key is never overwritten.", "Choose another file.", what="key"
        ) from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.encode())
        file.flush()
        os.fsync(file.fileno())


def reason_of(error: OSError | UnicodeDecodeError) -> str:
    """Why a file cannot be read, without its path."""
    return error.strerror or str(error) if isinstance(error, OSError) else "it is not text"


def read(path: Path) -> PrivateKey:
    """Read a key file. Raises RyeError ``no-key``, ``bad-key``."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(1000)
    except (OSError, UnicodeDecodeError) as error:
        raise RyeError(
            "no-key", f"The key file {path} cannot be read: {reason_of(error)}.", "Check the path and its owner."
        ) from error
    return PrivateKey.decode(text)


def file_name(role: str, key: PrivateKey) -> str:
    """The name of a key's file: ``log-1a2b3c4d.key`` or ``root-1a2b3c4d.key``."""
    return f"{role}-{key.verifier.key_id.hex()}.key"


def in_folder(folder: Path, role: str) -> list[PrivateKey]:
    """All keys of a role in the registry's key folder, sorted by file name. Raises RyeError if one cannot be read."""
    return [read(path) for path in sorted(folder.glob(f"{role}-*.key"))]


def exposed(folder: Path) -> list[Path]:
    """The key files, and the folder itself, if other users of the machine can read them."""
    if os.name == "nt":
        return []
    paths = [folder, *folder.glob("*.key")] if folder.is_dir() else []
    return [path for path in paths if path.stat().st_mode & 0o077]
