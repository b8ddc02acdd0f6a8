"""Rows of rye.lock that this user's Rye verified in full (DESIGN 6.1, Verified here).

Rules:

* A row is remembered once its release was found in the log, its signer is in the keyset, its in-file signature is
  valid and its bytes are the signed ones. Only :meth:`Memory.remember` writes rows, and only with results of
  :func:`rye.verified.release.verify_files`.
* The key is everything that the row says about its release, and what it was checked against (:mod:`rye.verified.basis`). So when
  this machine learns of a revocation, or its user removes the registry's pin, the result is a cache miss, and the row is checked
  again. A row that differs in any way is a different row. Approvals and groups come from the project, not from the release, so
  they are not part of the key.
* The value is what the signed release says: rights, tools, hooks, runs, cautions and alarms, and relations.
* Rows are stored in the user's data folder. Nothing that comes with a repository can put a row there.
* A row of an editable folder is never remembered, because the folder can change at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import msgspec

from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedItem
from rye.storage.home import Home
from rye.storage.verdicts import Verdicts
from rye.text.json_reading import msgpack_decoder
from rye.verified.basis import BasisOf, lock_basis, stored_basis


@contextlib.contextmanager
def user_memory(home: Home) -> Iterator[Memory]:
    """What rye verified before for this user."""
    verdicts = home.verdicts()
    try:
        yield Memory(verdicts, stored_basis(home))
    finally:
        verdicts.close()


class Memory:
    """What was verified before, as far as it still counts."""

    def __init__(self, verdicts: Verdicts, basis: BasisOf) -> None:
        """``basis``: what rows are checked against now."""
        self._verdicts = verdicts
        self._basis = basis

    def known(self, items: Iterable[LockedItem]) -> dict[Identity, SignedRelease]:
        """Return what the signed releases of these rows say, for those that were verified on this machine before."""
        basis = cache(self._basis)
        identities = {key: item.identity for item in items if (key := self._row_key(item, basis)) is not None}
        decoder = msgpack_decoder(SignedRelease)
        signed: dict[Identity, SignedRelease] = {}
        for key, data in self._verdicts.get(identities).items():
            with contextlib.suppress(msgspec.MsgspecError):  # written by another version of Rye
                signed[identities[key]] = decoder.decode(data)
        return signed

    def remember(self, rows: Iterable[tuple[LockedItem, SignedRelease]]) -> None:
        """Remember rows that were just verified."""
        basis = cache(self._basis)
        values = {
            key: msgspec.msgpack.encode(signed)
            for item, signed in rows
            if (key := self._row_key(item, basis)) is not None
        }
        self._verdicts.put(values)

    def knows_whole(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> bool:
        """Whether exactly this lock with these items was verified and complete: one look-up. See
        :class:`rye.verified.basis.LockBasis`."""
        key = self._lock_key(lock, manifests, policies, items)
        return key is not None and key in self._verdicts.get([key])

    def remember_whole(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> None:
        """Remember that it was. A locked or full disk only costs speed."""
        key = self._lock_key(lock, manifests, policies, items)
        if key is not None:
            self._verdicts.put({key: b""})
            self._verdicts.flush()

    def _row_key(self, item: LockedItem, basis: BasisOf) -> bytes | None:
        checked_against = basis(item.registry, item.identity.namespace)
        if checked_against is None or item.is_editable:
            return None
        row = (
            item.kind,
            item.id,
            item.version,
            item.size,
            item.sha256,
            item.suffix,
            item.registry,
            item.log,
            item.keyset,
            item.signer if item.source is None else item.registry,  # the row does not decide who signed it
            sorted(item.attached),
            *(() if item.source is None else (item.source,)),
        )
        return self._verdicts.key("row", checked_against.encoded(), msgspec.msgpack.encode(row))

    def _lock_key(self, lock: bytes, manifests: str, policies: str, items: Sequence[LockedItem]) -> bytes | None:
        basis = lock_basis(lock, manifests, policies, items, self._basis)
        return self._verdicts.key("whole lock", basis.encoded()) if basis is not None else None
