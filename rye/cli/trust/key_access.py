"""How commands reach keys: the user's private ones with their passphrases, and the public ones that they trust."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.storage.folders import config_dir

if TYPE_CHECKING:
    from rye.cli.options import Session
    from rye.signing.key_store import KeyStore
    from rye.signing.keys import PrivateKey, PublicKey


def key_store() -> KeyStore:
    from rye.signing.key_store import KeyStore

    return KeyStore(config_dir())


def passphrase_asker(session: Session, question: str = "Passphrase of the key") -> Callable[[], str]:
    """Asks for a passphrase: ``RYE_PASSPHRASE``, else a person; an error where there is neither."""

    def ask() -> str:
        given = os.environ.get("RYE_PASSPHRASE")
        if given is not None:
            return given
        if not session.interactive:
            raise RyeError(
                "passphrase-needed", "The private key is sealed.", "Set RYE_PASSPHRASE, or run on a terminal."
            )
        return session.console.ask(question, hidden=True)

    return ask


def signing_key(session: Session, name: str | None) -> PrivateKey:
    """The private key called ``name`` (None: the default one), with a warning when others can read its file."""
    store = key_store()
    stored = store.get(name)
    if stored.warning:
        session.console.warn(stored.warning)
    return store.private(name, passphrase_asker(session, f"Passphrase of the key {stored.name!r}"))


def pinned_keys(session: Session, namespace: str) -> tuple[PublicKey, ...]:
    """The keys of a namespace, as the registry that the user pinned for it had them when it was last read.

    Nothing is fetched: what is not cached, or not verified, gives no keys.
    """
    from rye.cli.registry.registry_access import configured
    from rye.registry.client import RegistryClient
    from rye.signing.keys import PublicKey

    try:
        client = RegistryClient.open(configured(session).of(namespace), offline=True)
        link = client.keysets([namespace])[namespace].current(client.head.snapshot.time)
    except RyeError:
        return ()
    return tuple(PublicKey(raw) for raw in link.keyset.keys) if link is not None else ()


class Trusted(Struct, frozen=True):
    """The keys that a verification counts."""

    keys: tuple[PublicKey, ...]
    revoked: tuple[PublicKey, ...]


def trusted_keys(session: Session, files: Iterable[str]) -> Trusted:
    """The user's trust store and the key files that they named; nothing that a project or package brings along."""
    from rye.signing.trust_store import TrustStore, read_key_file

    named = tuple(read_key_file(session.path(file))[0] for file in files)
    store = TrustStore(config_dir())
    return Trusted((*named, *store.trusted()), store.revoked())
