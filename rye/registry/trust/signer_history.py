"""How old a release, its key and its namespace are, and what happened to the previous signing key (DESIGN 7.1). Pure.

All of this is derived from the namespace's chain of keysets, which is in the registry's log.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from rye.registry.trust.keysets import KeysetChain, Link
from rye.registry.trust.records import ReleaseRecord
from rye.signing.keys import PublicKey


class SignerHistory(Struct, frozen=True):
    """Facts about the signer of a release, shown to a person. Times are those in the statements."""

    released: datetime
    key_since: datetime
    """When the key first appeared in a keyset of the namespace."""
    namespace_since: datetime
    keyset: int
    """The keyset under which the key signed."""
    old_key: str | None = None
    """What happened to the previous signing key: still in the keyset, or why it is not. None if no other key signed before."""


def signer_history(chain: KeysetChain, record: ReleaseRecord, now: datetime, before: str | None) -> SignerHistory:
    """Return the facts. ``now``: the snapshot's time; ``before``: the previous key's fingerprint, if it was a different key."""
    links = chain.effective(now) or (record.link,)
    key = record.signers[0]
    since = next((link.keyset.time for link in links if key in link.keyset.keys), record.link.keyset.time)
    return SignerHistory(
        released=record.release.time,
        key_since=since,
        namespace_since=links[0].keyset.time,
        keyset=record.link.keyset.number,
        old_key=_became_of(before, links) if before is not None else None,
    )


def _became_of(fingerprint: str, links: Iterable[Link]) -> str:
    held: Link | None = None
    gone: Link | None = None
    for link in links:
        if any(PublicKey(key).fingerprint == fingerprint for key in link.keyset.keys):
            held, gone = link, None
        elif held is not None and gone is None:
            gone = link
    if held is None:
        return "it was never in a keyset of this namespace"
    if gone is None:
        return "it is still in the keyset"
    number, day = gone.keyset.number, gone.keyset.time.date()
    if any(PublicKey(entry.key).fingerprint == fingerprint for entry in gone.keyset.revoked):
        return f"keyset {number} of {day} revoked it"
    if gone.keyset.recovery is not None:
        return f"the registry's owners gave the namespace to other keys with keyset {number} of {day}"
    return f"keyset {number} of {day} left it out"
