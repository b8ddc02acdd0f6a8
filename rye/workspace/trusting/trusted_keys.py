"""The public keys that count when signatures are verified. Only the user grants trust (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from rye.signing.keys import PublicKey
from rye.signing.trust_store import TrustStore, read_key_file
from rye.storage.home import Home


class Trusted(Struct, frozen=True):
    """The keys that a verification accepts."""

    keys: tuple[PublicKey, ...]
    revoked: tuple[PublicKey, ...]


def trusted_keys(home: Home, files: Iterable[Path]) -> Trusted:
    """The keys of the user's trust store and of key files that they named, never those of a project or package."""
    named = tuple(read_key_file(file)[0] for file in files)
    store = TrustStore(home.config)
    return Trusted((*named, *store.trusted()), store.revoked())
