"""What signs, wherever its private half is: a file (:class:`rye.signing.keys.PrivateKey`) or an agent
(:class:`rye.signing.agent_key.AgentKey`).

Everything that signs takes one of these. The public half is known without asking anybody; a passphrase, a confirmation or a touch
may be needed to sign.
"""

from __future__ import annotations

from typing import Protocol

from rye.signing.keys import PublicKey


class SigningKey(Protocol):
    """A key that can sign."""

    @property
    def public(self) -> PublicKey:
        """The public half."""

    def sign(self, message: bytes, what: str = "") -> bytes:
        """Return the signature of the message, which :meth:`PublicKey.verifies` accepts.

        ``what``: the thing that is signed, in words, for a person who has to confirm it; needed only where the message is not a
        text that says it. Raises RyeError if the key is not to be had, or refused.
        """
