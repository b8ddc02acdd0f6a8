"""A security key in software, which signs whatever a test wants: what a hostile authenticator could, too."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rye.signing.keys import PrivateKey, PublicKey
from rye.signing.ssh_wire import SshKey


@dataclass(frozen=True)
class SecurityKey:
    """``flags``, ``counter``, ``between`` (bytes before the hash of the message) and ``claimed`` (the application that is
    signed) are what it signs."""

    private: PrivateKey
    application: str = "ssh:"
    flags: int = 1
    counter: int = 7
    between: bytes = b""
    claimed: str | None = None

    @property
    def public(self) -> PublicKey:
        return PublicKey.from_raw(SshKey(self.private.public.raw, self.application).blob())

    def sign(self, message: bytes, what: str = "") -> bytes:
        """As PROTOCOL.u2f says, if nothing is set otherwise."""
        ending = bytes([self.flags]) + self.counter.to_bytes(4, "big")
        application = hashlib.sha256((self.claimed or self.application).encode()).digest()
        return self.private.sign(application + ending + self.between + hashlib.sha256(message).digest()) + ending
