"""The user's own keys, and the passphrases that unseal them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.limits import KEYS
from rye.signing.key_store import KeyStore, StoredKey
from rye.signing.keys import PrivateKey, PublicKey
from rye.signing.sealed_form import is_sealed
from rye.storage.safe_files import read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from rye.workspace.context import Context

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

    def public(self, name: str | None = None) -> PublicKey:
        """The public half of the key called ``name`` (None: the default)."""
        return self.store.get(name).public

    def private(self, name: str | None = None) -> PrivateKey:
        """The private key, unsealed. Warns if others can read its file."""
        stored = self.store.get(name)
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
