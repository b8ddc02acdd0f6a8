"""A key whose private half is in an ssh-agent: a :class:`rye.signing.signing_key.SigningKey`.

What is signed is shown before the agent is asked, since the agent's own window shows at most which key is wanted. The signature
is verified with the expected public key before anything uses it. A refusal says only "failure", so the agent's list of keys
afterwards tells whether it is locked, has lost the key, or its owner declined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from msgspec import Struct

from rye.errors import RyeError
from rye.signing.keys import PublicKey
from rye.signing.ssh_agent import Agent, Wait, wrong_answer
from rye.signing.ssh_wire import SshKey

_SHOWN_LINES, _SHOWN_CHARACTERS = 8, 200


class AgentKey(Struct, frozen=True):
    """``find`` opens the agent (raises RyeError ``ssh-agent-missing``, ``ssh-agent-socket``), ``show`` shows the person
    what is signed, even where notices are not wanted, ``tell`` shows a notice, and ``signed`` is called after each signature.
    """

    public: PublicKey
    name: str
    find: Callable[[], Agent]
    show: Callable[[str], None]
    tell: Callable[[str], None]
    signed: Callable[[], None]

    def sign(self, message: bytes, what: str = "") -> bytes:
        """Have the agent sign. Raises RyeError ``ssh-agent-missing``, ``ssh-agent-socket``, ``ssh-agent-locked``,
        ``ssh-agent-key-gone``, ``ssh-agent-declined``, ``ssh-agent-silent``, ``ssh-agent-answer``.
        """
        agent = self.find()
        self.show(f"Asking your agent to sign with {self.name!r}: {what or described(message)}")
        key = self.public.ssh
        signature = agent.sign(key, message, self._waits("sign"))
        if signature is None:
            raise self._refused(agent, key)
        if not self.public.verifies(message, signature):
            raise wrong_answer(
                agent.path, f"its signature is not one of {self.public.fingerprint} over what was to be signed"
            )
        self.signed()
        return signature

    def _waits(self, what: str) -> Wait:
        touch = "touch your security key, or " if self.public.hardware else ""
        return lambda: self.tell(
            f"Waiting for your agent to {what}: {touch}confirm it where the agent asks. Ctrl-C stops."
        )

    def _refused(self, agent: Agent, key: SshKey) -> RyeError:
        entries = agent.identities(self._waits("list its keys"))
        if any(entry.key == key for entry in entries):
            return RyeError(
                "ssh-agent-declined",
                f"The agent declined to sign with {self.name!r} ({self.public.fingerprint}).",
                "Run the command again and confirm it"
                + (" with a touch, or your PIN." if self.public.hardware else " where the agent asks."),
            )
        if not entries:
            return RyeError(
                "ssh-agent-locked",
                f"The agent at {agent.path} shows none of its keys: it is locked, or empty.",
                "`ssh-add -X` unlocks it, `ssh-add FILE` adds a key.",
            )
        return RyeError(
            "ssh-agent-key-gone",
            f"The agent no longer has {self.name!r} ({key.type} {self.public.openssh_fingerprint}).",
            "Add it again with `ssh-add FILE`; `ssh-add -l` lists what the agent has.",
        )


def described(message: bytes) -> str:
    """What a message says, for a person: the first lines of a statement, or else the hash of the bytes."""
    digest = hashlib.sha256(message).hexdigest()
    try:
        lines = message.decode("utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError:
        lines = [""]
    if not all(line and line.isprintable() for line in lines):
        return f"{len(message):,} bytes with the SHA-256 {digest}"
    more = f" … ({len(lines) - _SHOWN_LINES} more lines)" if len(lines) > _SHOWN_LINES else ""
    shown = "; ".join(
        line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}… ({len(line):,} characters)"
        for line in lines[:_SHOWN_LINES]
    )
    return f"{shown}{more}, SHA-256 {digest}"
