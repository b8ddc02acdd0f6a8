"""An item of a source for the solver, the plan and the lock. It is never mistaken for a registry's release.

A :class:`SourceRecord` holds what a publisher's note would say, derived from the bytes. It is unsigned, so it has no
log entry, no keyset and no signers. Code that needs those takes a :class:`~rye.registry.trust.records.ReleaseRecord`,
and the type checker keeps the two apart.
"""

from __future__ import annotations

from msgspec import Struct

from rye.items.consented import Run
from rye.items.identity import Identity
from rye.items.reading import Metadata
from rye.project.lock import LockedSource
from rye.registry.protocol.statements import Advisory, Deprecation, Release, Takedown, Yank


class SourceRecord(Struct, frozen=True, kw_only=True):
    """One item in one state of its source, whose bytes were checked against that state."""

    release: Release
    """Derived from the bytes; never a signed statement."""
    source: LockedSource
    metadata: Metadata
    data: bytes
    attached: dict[str, bytes]
    runs: tuple[Run, ...]
    """What of it can run, attached files included."""
    signer: str | None
    """The fingerprint of the key in this user's trust store that signed all of it."""
    yank: Yank | None = None
    deprecation: Deprecation | None = None
    advisories: tuple[Advisory, ...] = ()
    takedown: Takedown | None = None

    @property
    def identity(self) -> Identity:
        """The item's kind and id."""
        return self.release.identity

    @property
    def version(self) -> str:
        """The item's version."""
        return self.release.version


class SourceHistory(Struct, frozen=True):
    """The item that a source has for one identity, in the state that this run uses."""

    identity: Identity
    records: tuple[SourceRecord, ...]
