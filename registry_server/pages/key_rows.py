"""The keys that may publish in a namespace now, and since when. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from rye.registry.trust.keysets import Link
from rye.signing.keys import PublicKey


class KeyRow(Struct, frozen=True):
    """A key that may publish now."""

    fingerprint: str
    since: datetime
    """When the key joined the namespace's keysets; it has been in every keyset since."""
    keyset: int
    """The number of that keyset."""
    hardware: bool
    """Whether it is a security key (FIDO)."""


def keys_in_force(effective: Sequence[Link]) -> Iterable[KeyRow]:
    """Yield the keys in force, each with the first keyset of its unbroken series."""
    for key in effective[-1].keyset.keys if effective else ():
        since = effective[-1]
        for link in reversed(effective):
            if key not in link.keyset.keys:
                break
            since = link
        public = PublicKey(key)
        began = since.keyset.recovery or since.keyset.time
        yield KeyRow(public.fingerprint, began, since.keyset.number, public.hardware)
