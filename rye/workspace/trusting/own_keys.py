"""The user's own keys, and the passphrases that unseal them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.limits import KEYS
from rye.project.layout import find_project, is_committed_place
from rye.signing.key_store import KeyStore, StoredKey
from rye.signing.keys import PrivateKey, PublicKey, key_problem
from rye.signing.sealed_form import is_sealed
from rye.signing.signing_key import SigningKey
from rye.storage.safe_files import read_bytes
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    from pathlib import Path

    from rye.signing import agent_key, paper, ssh_agent
    from rye.signing.ssh_agent import Agent, AgentEntry
    from rye.workspace.context import Context
else:
    paper = lazy_module("rye.signing.paper")  # for two commands
    agent_key, ssh_agent = (
        lazy_module("rye.signing.agent_key"),
        lazy_module("rye.signing.ssh_agent"),
    )  # few sign with one

AskPassphrase = Callable[[str], str]
"""Asks the question given as text. Called only if a person can be asked."""


class OwnKeys:
    """The user's private keys for a use case."""

    def __init__(self, context: Context, ask: AskPassphrase):
        self.context = context
        self.store = KeyStore(context.home.config)
        self._ask = ask

    def list(self) -> tuple[StoredKey, ...]:
        """All of the user's keys."""
        return tuple(self.store.list())

    def generate(self, name: str, *, seal: bool) -> StoredKey:
        """Generate a key pair and trust it. ``seal``: with a new passphrase."""
        return self.store.generate(name, self.context.now(), self.new_passphrase() if seal else None)

    def import_from(self, path: Path, name: str, *, seal: bool) -> StoredKey:
        """Store the private key of a file (PEM or sealed) and trust it. ``seal``: with a new passphrase; otherwise as it was."""
        text = read_bytes(path, KEYS.file_bytes).decode("utf-8", "replace")
        opened = self.passphrase() if is_sealed(text) else None
        sealed_with = self.new_passphrase() if seal else opened
        return self.store.import_private(name, text, self.context.now(), sealed_with, unseal_with=opened)

    def import_words(self, text: str, name: str, *, seal: bool) -> StoredKey:
        """Store the private key of the words of a paper, and trust it. ``seal``: with a new passphrase. Raises RyeError
        ``bad-key``.
        """
        key = paper.key_of(text)
        sealed_with = self.new_passphrase() if seal else None
        return self.store.store_private(name, key, self.context.now(), sealed_with, "typed from paper")

    def on_paper(self, name: str) -> str:
        """The private key as a page to print: its words, and a QR code of them. A sealed key is opened first."""
        return paper.page(name, self.private(name))

    def public(self, name: str | None = None) -> PublicKey:
        """The public half of the key called ``name`` (None: the default)."""
        return self.store.get(name, to_sign=True).public

    def signing_key(self, name: str | None = None) -> SigningKey:
        """The key that signs: unsealed from its file, or the agent's, which is asked only when something is to be signed."""
        stored = self.store.get(name, to_sign=True)
        if stored.in_agent:
            return self._in_agent(stored.public, stored.name, lambda: self._used(stored.name))
        private = self.private(stored.name)
        self._used(stored.name)
        return private

    def agent_signing_key(self, key: PublicKey) -> SigningKey:
        """The key of the agent that has this public half, whether or not it was added to the user's keys."""
        return self._in_agent(key, key.openssh_fingerprint, lambda: None)

    def _in_agent(self, key: PublicKey, name: str, signed: Callable[[], None]) -> SigningKey:
        tell = self.context.tell
        return agent_key.AgentKey(key, name, self.agent, lambda text: tell(text, always=True), tell, signed)

    def _used(self, name: str) -> None:
        self.store.mark_used(name, self.context.now())

    def agent(self) -> Agent:
        """The user's ssh-agent. Raises RyeError ``ssh-agent-missing``, ``ssh-agent-socket``."""
        project = find_project(self.context.cwd)
        folder = self.context.cwd if project is None else project.root
        whole = not folder.resolve().name  # nobody commits to the whole file system
        return ssh_agent.agent_of(self.context.environment, lambda path: not whole and is_committed_place(folder, path))

    def agent_keys(self) -> tuple[AgentEntry, ...]:
        """The keys of the user's ssh-agent that Rye can use. Raises RyeError ``ssh-agent-missing`` and others."""
        return self.agent().identities(
            lambda: self.context.tell("Waiting for your agent to list its keys. Ctrl-C stops.")
        )

    def stored_from_agent(self, selector: str) -> StoredKey | None:
        """The key of the agent that was added already and has this name, fingerprint or comment; None if there is none."""
        key = self.chosen_in_agent(selector)
        return next((stored for stored in self.list() if stored.in_agent and stored.public == key), None)

    def add_from_agent(self, selector: str, name: str) -> StoredKey:
        """Store the public half of a key in the agent, and trust it. Raises what :meth:`chosen_in_agent` and
        :meth:`KeyStore.add_agent` raise.
        """
        return self.store.add_agent(name, self.chosen_in_agent(selector), self.context.now())

    def chosen_in_agent(self, selector: str) -> PublicKey:
        """The key of the agent.

        ``selector``: its fingerprint (OpenSSH's or Rye's) or its comment; empty: the only one. Raises RyeError
        ``unknown-key``, ``ambiguous-key``.
        """
        keys = {entry: _public_of(entry) for entry in self.agent_keys() if key_problem(entry.key.point) is None}
        entries = tuple(keys)
        matching = [entry for entry, key in keys.items() if not selector or selector in _selectors(entry, key)]
        listed = "; ".join(f"{keys[entry].openssh_fingerprint} {entry.comment}" for entry in (matching or entries))
        if not entries:
            raise RyeError(
                "unknown-key",
                "Your agent shows no Ed25519 key.",
                "`ssh-add FILE` adds one, `ssh-add -X` unlocks a locked agent, `ssh-keygen -t ed25519` makes a key.",
            )
        if not matching:
            raise RyeError("unknown-key", f"Your agent has no key {selector!r}.", f"It has: {listed}.")
        if len({keys[entry] for entry in matching}) > 1:
            raise RyeError(
                "ambiguous-key", f"Several keys of your agent match: {listed}.", "Give the fingerprint of one."
            )
        return keys[matching[0]]

    def private(self, name: str | None = None) -> PrivateKey:
        """The private key, unsealed. Warns if others can read its file. Raises RyeError ``key-in-ssh-agent``."""
        stored = self.store.with_private_file(name)
        if stored.warning:
            self.context.warn(stored.warning)
        return self.store.private(name, lambda: self.passphrase(f"Passphrase of the key {stored.name!r}"))

    def passphrase(self, question: str = "Passphrase of the key", variable: str = "RYE_PASSPHRASE") -> str:
        """The passphrase from the environment, otherwise from the user. Raises RyeError ``passphrase-needed`` without either."""
        given = self.context.environment.get(variable)
        if given is not None:
            return given
        if not self.context.interactive:
            raise RyeError(
                "passphrase-needed", "The key needs a passphrase.", f"Set {variable}, or run the command on a terminal."
            )
        return self._ask(question)

    def new_passphrase(self, variable: str = "RYE_PASSPHRASE") -> str:
        """A passphrase to seal with. The user enters it twice. Raises ``passphrase-mismatch`` and ``missing-argument``."""
        found = self.passphrase("New passphrase", variable)
        if not found:
            raise UsageError(
                "missing-argument",
                "An empty passphrase does not protect a key.",
                "Omit --passphrase, or enter a passphrase.",
                what="passphrase",
            )
        if variable not in self.context.environment and self._ask("Repeat the new passphrase") != found:
            raise RyeError(
                "passphrase-mismatch", "The passphrases do not match. Nothing was changed.", "Run the command again."
            )
        return found


def _public_of(entry: AgentEntry) -> PublicKey:
    key = entry.key
    return PublicKey.from_raw(key.point if key.application is None else key.blob())


def _selectors(entry: AgentEntry, key: PublicKey) -> frozenset[str]:
    return frozenset(
        (key.fingerprint, key.openssh_fingerprint, key.openssh_fingerprint.removeprefix("SHA256:"), entry.comment)
    )
