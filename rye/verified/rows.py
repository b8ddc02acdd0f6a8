"""Rows of rye.lock that this user's Rye verified in full (DESIGN 6.1, Verified here).

Rules:

* A row is remembered once its release was found in the log, its signer is in the keyset, its in-file signature is
  valid and its bytes are the signed ones. Only :func:`remember_rows` writes rows, and only with results of
  :func:`rye.verified.release.verify_files`.
* The key is everything that the row says about its release, and what it was checked against: the root that the user
  pinned for its origin, the newest keyset seen for its namespace, and the takedowns seen
  (:mod:`rye.registry.store.basis`; :mod:`rye.storage.verdicts` adds the version of the checking code). So when this
  machine learns of a revocation, the result is a cache miss, and the row is checked again. A row that differs in any
  way is a different row. Approvals and groups come from the project, not from the release, so they are not part of the
  key.
* The value is what the signed release says: rights, tools, hooks, runs, cautions and alarms, and relations.
* Rows are stored in the user's data folder. Nothing that comes with a repository can put a row there.
* A row of an editable folder is never remembered, because the folder can change at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache

import msgspec

from rye.errors import RyeError
from rye.items.agent_tools import EVERY
from rye.items.identity import Identity
from rye.items.signed_release import SignedRelease
from rye.project.lock import LockedItem
from rye.storage.verdicts import Verdicts
from rye.text.json_reading import msgpack_decoder

TrustBasis = Callable[[str, str], str | None]
"""What releases of an origin and a namespace are checked against (:meth:`rye.registry.store.basis.Basis.of`); None if the
registry is not pinned."""
_WORDS = ("capabilities", "agent_tools", "agent_limits", "runs", "hooks")
RELEASE_FIELDS = ("size", "suffix", "registry", "keyset", "signer", "attached", *_WORDS)
"""What a row says about a release, besides the fields that identify it."""
_LATER = frozenset(("agent_limits", "runs"))
"""Fields that older locks lack. A row without them does not contradict its release; it just approves nothing of that sort."""


def remember_rows(verdicts: Verdicts, rows: Iterable[tuple[LockedItem, SignedRelease]], basis: TrustBasis) -> None:
    """Remember rows that were just verified."""
    found: dict[bytes, bytes] = {}
    basis = cache(basis)
    for item, words in rows:
        key = _key(verdicts, item, basis)
        if key is not None:
            found[key] = msgspec.msgpack.encode(words)
    verdicts.put(found)


def remembered_rows(
    verdicts: Verdicts, items: Iterable[LockedItem], basis: TrustBasis
) -> dict[Identity, SignedRelease]:
    """Return what the signed releases of these rows say, for those that were verified on this machine before."""
    keys: dict[bytes, Identity] = {}
    basis = cache(basis)
    for item in items:
        key = _key(verdicts, item, basis)
        if key is not None:
            keys[key] = item.identity
    decoder = msgpack_decoder(SignedRelease)
    found: dict[Identity, SignedRelease] = {}
    for key, data in verdicts.get(keys).items():
        with contextlib.suppress(msgspec.MsgspecError):  # written by another version of Rye
            found[keys[key]] = decoder.decode(data)
    return found


def check_words(items: Iterable[LockedItem], signed: Mapping[Identity, SignedRelease]) -> None:
    """Check that each row has its release's rights, tools and hooks. Raises RyeError ``lock-mismatch``."""
    for item in items:
        if item.identity in signed:
            _check(item, signed[item.identity], _WORDS)


def check_row(locked: LockedItem, found: LockedItem) -> None:
    """Check that a row that names the verified release does not contradict it: reviews rely on the row. A row with another source
    or commit, or another place in a folder, does not name this release, even if the bytes are the same.

    Raises RyeError ``lock-mismatch``.
    """
    if (locked.version, locked.sha256, locked.log) != (found.version, found.sha256, found.log):
        return
    if locked.source is None or found.source is None:
        _check(locked, found, (*RELEASE_FIELDS, "source"))
    elif locked.source.origin == found.source.origin and locked.source.commit == found.source.commit:
        fields = tuple(name for name in RELEASE_FIELDS if name != "signer")
        _check(locked, found, fields if found.source.commit is None else (*fields, "source"))


def mismatch(item: LockedItem, what: str) -> RyeError:
    """Return the error for a row that contradicts its release."""
    return RyeError(
        "lock-mismatch",
        f"rye.lock contradicts the release of {item.identity} {item.version}: {what}.",
        "Someone changed rye.lock. Restore it from version control, or delete it and run `rye install`, which asks for every "
        "right again.",
    )


def _key(verdicts: Verdicts, item: LockedItem, basis: TrustBasis) -> bytes | None:
    grounds = basis(item.registry, item.id.partition("/")[0])
    if grounds is None or item.is_editable:
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
    return verdicts.key("row", grounds, msgspec.msgpack.encode(row))


def _check(locked: LockedItem, found: LockedItem | SignedRelease, names: Iterable[str]) -> None:
    for name in names:
        says, true = getattr(locked, name), getattr(found, name)
        if not says and (name in _LATER or (name == "agent_tools" and true == (EVERY,))):
            continue
        if says != true and not (isinstance(says, tuple) and len(says) == len(true) and set(says) == set(true)):
            raise mismatch(locked, name.replace("_", "-"))
