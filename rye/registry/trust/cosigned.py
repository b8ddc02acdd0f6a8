"""What a client with a policy of witnesses trusts: the newest head that enough of them cosigned, and nothing after it.

Pure: heads, a policy and the time come in; the head to read from comes out, or a TrustError. The newest head is checked as
without a policy (:mod:`rye.registry.trust.trusted`); what it adds to the cosigned one does not exist yet.

Acceptance rules, each with the code of the error for breaking it:

W1  A cosigned head is a head of this log: its checkpoint and its snapshot have this origin and are signed by a log key of the
    root that the snapshot names, which is one of this registry's; the snapshot is the last leaf (``cosigned-head``). If the
    policy lists logs, one of them signed it.
W2  It is a part of the newest head: not larger (``head-rollback``), with the same root if it has the same size (``head-fork``),
    otherwise proved to be contained in it (``head-inconsistent``). Both signed heads are kept as evidence.
W3  No cosignature of a witness in the policy is wrong (``cosignature-wrong``).
W4  Those that count are enough for the policy's quorum (``witness-quorum``). One that is dated more than ten minutes in the
    future does not count.
W5  They are enough even without those older than the limit, 24 hours by default (``witness-frozen``).
W6  It is not smaller than the cosigned head that was accepted before; that one stays good as long as W5 allows, even if the
    registry shows none or only older ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from rye.limits import REGISTRY, RegistryLimits
from rye.registry.protocol import merkle, notes, tiles, wire
from rye.registry.protocol.cosignatures import Cosignature, CosignerKey, read_cosignatures
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import NoteError, SignedNote, VerifierKey
from rye.registry.protocol.statements import Checkpoint, Snapshot
from rye.registry.protocol.tiles import Tile, VerifiedTiles
from rye.registry.protocol.wire import Head, WireError
from rye.registry.protocol.witness_policy import Policy
from rye.registry.trust.keysets import log_keys
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import OpenedHead, TrustedHead, TrustedState


class WitnessDemand(Struct, frozen=True):
    """What a user demands of a registry's heads."""

    policy: Policy
    max_age_seconds: int = REGISTRY.witness_age_seconds
    """How old cosignatures may be."""
    also: tuple[CosignerKey, ...] = ()
    """Witnesses who must have cosigned whatever the policy says: an organization requires them."""

    @property
    def demands(self) -> bool:
        """Whether any cosignature is needed at all."""
        return self.policy.demands or bool(self.also)

    @property
    def keys(self) -> tuple[CosignerKey, ...]:
        """The keys of all witnesses that count."""
        return tuple(dict.fromkeys((*self.policy.keys, *self.also)))

    def is_met(self, signed: Collection[CosignerKey]) -> bool:
        """Whether the keys that cosigned are enough."""
        return self.policy.is_met(signed) and all(key in signed for key in self.also)


class Waiting(Struct, frozen=True):
    """Entries that are in the log, but not yet under a cosigned head."""

    entries: int
    newest: datetime
    """The time of the newest head."""

    def told(self, now: datetime) -> str:
        """One sentence for a person."""
        seconds = max(0, int((now - self.newest).total_seconds()))
        entries = "1 entry waits" if self.entries == 1 else f"{self.entries} entries wait"
        return f"{entries} for witnesses, the newest {_span(seconds)} old."


class CosignedHead(Struct, frozen=True, kw_only=True):
    """A cosigned head that fulfills the rules that need no proof."""

    document: str
    """The head as it is stored: its checkpoint has the cosignatures."""
    checkpoint: Checkpoint
    snapshot: Snapshot
    cosignatures: tuple[Cosignature, ...]
    """Those of the policy's witnesses that count now."""

    @property
    def time(self) -> datetime:
        """When the last of them was made."""
        return datetime.fromtimestamp(max((one.time for one in self.cosignatures), default=0), UTC)


def open_cosigned(
    state: TrustedState, opened: OpenedHead, demand: WitnessDemand, now: datetime, limits: RegistryLimits = REGISTRY
) -> CosignedHead:
    """W1 and W3 to W6, and the parts of W2 that need no proof, for the best of the heads that the registry shows and the one that
    was accepted before.
    """
    kept = _kept(state, demand, now, limits)
    candidates = [] if kept is None else [kept]
    head = opened.head.alone if opened.head.cosigned is None else opened.head.cosigned.as_head()
    if kept is None or wire.encode_head(head).decode() != kept.document:
        found = _read(state, head, demand, now, limits)
        _compare(opened, found)
        if kept is not None and found.checkpoint.size == kept.checkpoint.size and found.checkpoint != kept.checkpoint:
            raise _forked(
                "head-fork", "The registry shows another cosigned history of the same size", kept.document, head
            )
        if kept is None or found.checkpoint.size >= kept.checkpoint.size:  # W6
            candidates.append(found)
    short = [(one, _shortage(demand, one, now)) for one in candidates]
    good = [one for one, error in short if error is None]
    if good:
        return max(good, key=lambda one: (one.checkpoint.size, one.time))
    raise max((error for _, error in short if error is not None), key=lambda error: error.code == "witness-frozen")


def tiles_needed(state: TrustedState, opened: OpenedHead, found: CosignedHead) -> list[Tile]:
    """Return the tiles for :func:`accept_cosigned`, all of the newest head's tree."""
    if not _needs_proof(state, opened, found):
        return []
    return tiles.consistency_tiles(found.checkpoint.size, opened.checkpoint.size)


def accept_cosigned(
    state: TrustedState, opened: OpenedHead, found: CosignedHead, fetched: Mapping[Tile, bytes]
) -> tuple[TrustedState, TrustedHead, Waiting | None]:
    """W2: return the state with the cosigned head, the head to read from, and what waits.

    ``state``: has accepted ``opened``. ``fetched``: :func:`tiles_needed`, asked before that. Raises TrustError
    ``head-inconsistent``, and TileError ``tile-missing`` if not all of them are given.
    """
    size, newest = found.checkpoint.size, opened.checkpoint
    if _needs_proof(state, opened, found):
        try:
            read = VerifiedTiles(fetched, newest.size, newest.root_hash)
            proof = merkle.consistency_proof(size, newest.size, read)
            merkle.verify_consistency(size, newest.size, found.checkpoint.root_hash, newest.root_hash, proof)
        except merkle.ProofError as error:
            message = f"The registry's {newest.size} entries do not contain the {size} that witnesses cosigned"
            raise _forked("head-inconsistent", message, found.document, opened.head) from error
    waiting = Waiting(newest.size - size, opened.snapshot.time) if newest.size > size else None
    head = TrustedHead(state.origin, found.checkpoint, found.snapshot, opened.warnings)
    return replace(state, cosigned=found.document), head, waiting


def _needs_proof(state: TrustedState, opened: OpenedHead, found: CosignedHead) -> bool:
    """Whether the cosigned head is not known to be a part of the newest one: it was not accepted before, and is smaller."""
    if found.checkpoint.size == opened.checkpoint.size:
        return False
    return state.cosigned is None or checkpoint_of(state.cosigned) != found.checkpoint


def checkpoint_of(document: str) -> Checkpoint:
    """The checkpoint of a stored head."""
    return Checkpoint.parse(notes.parse(wire.decode_head(document.encode()).checkpoint).text)


def _kept(state: TrustedState, demand: WitnessDemand, now: datetime, limits: RegistryLimits) -> CosignedHead | None:
    """The cosigned head that was accepted before, read again: the policy or the time may be another now."""
    if state.cosigned is None:
        return None
    try:
        return _read(state, wire.decode_head(state.cosigned.encode()), demand, now, limits)
    except TrustError:  # accepted under a policy with other logs or witnesses
        return None


def _read(
    state: TrustedState, head: Head, demand: WitnessDemand, now: datetime, limits: RegistryLimits
) -> CosignedHead:
    """W1 and W3."""
    try:
        note = notes.parse(head.checkpoint)
        checkpoint = Checkpoint.parse(note.text)
        snapshot_note = notes.parse(head.snapshot)
        snapshot = Snapshot.parse(snapshot_note.text)
        for origin in (checkpoint.origin, snapshot.origin):
            if origin != state.origin:
                raise _wrong(f"it is of {origin}, not of {state.origin}")
        if snapshot.root > len(state.roots):
            raise _wrong(f"it names root {snapshot.root}, which the registry does not have")
        keys = log_keys(state.all_roots[snapshot.root - 1])
        notes.verify(note, keys)
        notes.verify(snapshot_note, keys)
        leaf = merkle.leaf_hash(head.snapshot.encode())
        size = checkpoint.size
        merkle.verify_inclusion(leaf, size - 1, size, head.proof_hashes(), checkpoint.root_hash)
        if snapshot.map != head.map:
            raise _wrong("it and its snapshot name different name maps")
        _check_log(note, demand.policy)
    except (NoteError, StatementError, WireError, merkle.ProofError) as error:
        raise _wrong(error.message.removesuffix(".")) from error
    try:
        found = read_cosignatures(note, demand.keys)
    except NoteError as error:
        raise TrustError("cosignature-wrong", error.message, cause=error.code) from error
    latest = now.timestamp() + limits.clock_skew_seconds
    return CosignedHead(
        document=wire.encode_head(head).decode(),
        checkpoint=checkpoint,
        snapshot=snapshot,
        cosignatures=tuple(one for one in found if one.time <= latest),
    )


def _check_log(note: SignedNote, policy: Policy) -> None:
    """Require one of the policy's logs, if it lists any."""
    if not policy.logs:
        return
    plain = [key for key in policy.logs if isinstance(key, VerifierKey)]
    others = [key for key in policy.logs if isinstance(key, CosignerKey)]
    if not (plain and notes.verify(note, plain, 0)) and not read_cosignatures(note, others):
        raise _wrong("none of the logs that the policy lists signed it")


def _compare(opened: OpenedHead, found: CosignedHead) -> None:
    """W2, as far as sizes tell."""
    newest, size = opened.checkpoint, found.checkpoint.size
    if size > newest.size:
        message = f"The registry shows {newest.size} entries, and witnesses cosigned {size}: some were removed"
        raise _forked("head-rollback", message, found.document, opened.head)
    if size == newest.size and found.checkpoint != newest:
        message = f"The registry shows a different history of {size} entries than the one that witnesses cosigned"
        raise _forked("head-fork", message, found.document, opened.head)


def _shortage(demand: WitnessDemand, found: CosignedHead, now: datetime) -> TrustError | None:
    """W4 and W5."""
    policy = demand.policy
    signed = {one.key for one in found.cosignatures}
    if not demand.is_met(signed):
        names = ", ".join(sorted(key.name for key in signed)) or "no known witness"
        wanted = [
            *([str(policy)] if policy.demands else []),
            *(f"{key.name} must have cosigned" for key in demand.also),
        ]
        message = f"The head of {found.checkpoint.size} entries is cosigned by {names}, but {', and '.join(wanted)}."
        return TrustError("witness-quorum", message, size=found.checkpoint.size)
    oldest = now.timestamp() - demand.max_age_seconds
    if not demand.is_met({one.key for one in found.cosignatures if one.time >= oldest}):
        age = _span(int(now.timestamp()) - max(one.time for one in found.cosignatures))
        limit = _span(demand.max_age_seconds)
        message = f"The cosignatures are too old: the last witness signed {age} ago, and the limit is {limit}."
        return TrustError("witness-frozen", message, size=found.checkpoint.size)
    return None


def _wrong(reason: str) -> TrustError:
    return TrustError("cosigned-head", f"The cosigned head that the registry shows is wrong: {reason}.")


def _forked(code: str, message: str, cosigned: str, head: Head) -> TrustError:
    trusted = wire.decode_head(cosigned.encode()).checkpoint
    return TrustError(code, f"{message}.", evidence={"trusted": trusted, "offered": head.checkpoint})


def _span(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 2 * 3600:
        return f"{seconds // 60} minutes"
    return f"{timedelta(seconds=seconds) // timedelta(hours=1)} hours"
