"""The public keys that count when signatures are verified. Only the user grants trust (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.project.layout import Project, find_project
from rye.project.lock_file import read_lock
from rye.signing.keys import PublicKey
from rye.signing.trust_store import Proposal, TrustedKey, TrustStore, proposals, read_key_file
from rye.storage.home import Home
from rye.text.lazy import lazy_module
from rye.workspace.context import Context
from rye.workspace.trusting.project_keys import agreed_keys

if TYPE_CHECKING:
    from rye.workspace.registries import registry_access
else:
    registry_access = lazy_module("rye.workspace.registries.registry_access")  # the client, which few runs need


class Trusted(Struct, frozen=True):
    """The keys that a verification accepts."""

    keys: tuple[PublicKey, ...]
    revoked: tuple[PublicKey, ...]


def trusted_keys(home: Home, files: Iterable[Path], project: Project | None = None) -> Trusted:
    """The keys of the user's trust store and of key files that they named, never those of a package. ``project``: the project
    whose own items are judged, with the keys that it proposes and this user agreed to for them."""
    named = tuple(read_key_file(file)[0] for file in files)
    store = TrustStore(home.config)
    own = agreed_keys(home, project) if project is not None else ()
    return Trusted((*named, *store.trusted(), *own), store.revoked())


def key_of_file(path: Path) -> tuple[PublicKey, str | None]:
    """The key in a file (PEM or key TOML), and the owner named there. Raises RyeError ``bad-key``."""
    return read_key_file(path)


def trust_key(context: Context, key: PublicKey, label: str, source: str) -> TrustedKey:
    """Trust a key: its signatures count from now on."""
    return _store(context.home).add(key, label, source, context.now())


def trust_entries(home: Home) -> tuple[TrustedKey, ...]:
    """The trusted and revoked keys."""
    return tuple(_store(home).entries())


def offered_keys(context: Context) -> list[Proposal]:
    """Keys in the enclosing project that the user has neither trusted nor revoked."""
    project = find_project(context.cwd)
    known = {entry.key for entry in trust_entries(context.home)}
    return [p for p in (proposals(project.root) if project else ()) if p.key is not None and p.key not in known]


def forget_key(home: Home, name: str) -> TrustedKey:
    """Forget a key (label, key id or fingerprint)."""
    return _store(home).remove(name)


def revoke_key(context: Context, name: str) -> TrustedKey:
    """Mark a key as revoked: one of the trust store, or by its fingerprint one that signed an item which is installed here."""
    store = _store(context.home)
    try:
        return store.revoke(name, context.now())
    except RyeError as error:
        if error.code != "unknown-key" or not name.startswith("SHA256:"):
            raise
        signer = _signer(context, name)
        if signer is None:
            raise RyeError(
                "unknown-key",
                f"Neither the trust store nor an item installed here has the key {name}.",
                "Give the key's file: `rye trust add FILE`, then revoke it.",
            ) from None
    key, namespace = signer
    return store.revoke_unknown(key, namespace, f"signed items of {namespace}", context.now())


def _signer(context: Context, fingerprint: str) -> tuple[PublicKey, str] | None:
    """The key with a fingerprint that rye.lock names as a signer, and its namespace: from the last look at the registry."""
    project = find_project(context.cwd)
    rows = read_lock(project).items if project is not None and project.lock_path.exists() else ()
    for namespace in dict.fromkeys(row.identity.namespace for row in rows if row.signer == fingerprint):
        keyset = registry_access.last_seen_keyset(context, namespace)
        for key in map(PublicKey, keyset.keys if keyset is not None else ()):
            if key.fingerprint == fingerprint:
                return key, namespace
    return None


def _store(home: Home) -> TrustStore:
    return TrustStore(home.config)
