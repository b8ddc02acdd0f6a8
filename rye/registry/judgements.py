"""Cached verdicts on items, so that unchanged items are not checked again (:mod:`rye.storage.verdicts`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rye.items.identity import Identity
from rye.registry.protocol import wire
from rye.registry.protocol.name_map import MapEntry
from rye.registry.trust.keysets import KeysetChain
from rye.registry.trust.records import ItemHistory, Judged, decode_judged, encode_judged
from rye.registry.trust.trusted import LoggedStatement, TrustedHead, TrustedState
from rye.storage.verdicts import Verdicts

Entry = Callable[[str], MapEntry | None]
"""Returns where the index file of a name is; None if the head has no such name."""
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class Judgements:
    """The verdicts of one client. ``index_bytes``: larger index files are refused, so they have no verdicts."""

    def __init__(self, verdicts: Verdicts, index_bytes: int) -> None:
        self._verdicts = verdicts
        self._index_bytes = index_bytes

    def before(
        self, identities: Sequence[Identity], state: TrustedState, head: TrustedHead, entry: Entry
    ) -> dict[Identity, ItemHistory]:
        """Return the histories that were evaluated earlier from the same index files, keysets and roots."""
        if not self._verdicts.remembers:
            return {}
        keys = {key: identity for identity in identities if (key := self._key(identity, state, entry)) is not None}
        histories = {}
        for key, data in self._verdicts.get(keys).items():
            judged = decode_judged(data)
            # A verdict stays valid for a larger log and a later time, but not for a smaller or earlier one.
            if judged is not None and judged.last < head.checkpoint.size and judged.since <= head.snapshot.time:
                histories[keys[key]] = judged.history
        return histories

    def remember(
        self,
        history: ItemHistory,
        entries: Sequence[LoggedStatement],
        chain: KeysetChain,
        state: TrustedState,
        head: TrustedHead,
        entry: Entry,
    ) -> None:
        """Store a verdict, unless it would change with time alone."""
        time = head.snapshot.time
        key = self._key(history.identity, state, entry) if self._verdicts.remembers else None
        if key is None or chain.pending(time) is not None:  # a pending recovery will change the verdict
            return
        last = max((one.line.log for one in entries), default=-1)
        since = max((link.keyset.recovery for link in chain.links if link.keyset.recovery is not None), default=_ALWAYS)
        self._verdicts.put({key: encode_judged(Judged(history, last, since))})

    def is_signed(self, head: bytes, state: TrustedState) -> bool:
        """Whether the signatures of exactly these bytes of a head were verified before, under the state's last root."""
        if not self._verdicts.remembers:
            return False
        key = self._head_key(head, state)
        return key in self._verdicts.get([key])

    def remember_signed(self, head: bytes, state: TrustedState) -> None:
        """Store that they were. The head's age, and that it only grows, are checked every time."""
        if self._verdicts.remembers:
            self._verdicts.put({self._head_key(head, state): b""})

    def is_extended(self, checkpoint: str, state: TrustedState, removal: str) -> bool:
        """Whether a head that was accepted before was proved to continue this checkpoint. Every later one then does, too, unless
        the pin was removed meanwhile (``removal``)."""
        if not self._verdicts.remembers:
            return False
        key = self._extended_key(checkpoint, state, removal)
        return key in self._verdicts.get([key])

    def remember_extended(self, checkpoint: str, state: TrustedState, removal: str) -> None:
        """Store that it was."""
        if self._verdicts.remembers:
            self._verdicts.put({self._extended_key(checkpoint, state, removal): b""})

    def _extended_key(self, checkpoint: str, state: TrustedState, removal: str) -> bytes:
        return self._verdicts.key("extended", state.origin, state.fingerprint, removal, checkpoint)

    def _head_key(self, head: bytes, state: TrustedState) -> bytes:
        return self._verdicts.key("head signatures", state.origin, head, *state.roots)

    def _key(self, identity: Identity, state: TrustedState, entry: Entry) -> bytes | None:
        """A key derived from everything that :func:`rye.registry.trust.records.judge` reads, by hash."""
        item, namespace = entry(str(identity)), entry(wire.namespace_name(identity.namespace))
        if item is None or namespace is None or item.size > self._index_bytes:
            return None
        files = (item.sha256, str(item.size), namespace.sha256, str(namespace.size))
        in_force = (f"{number}:{size}" for number, size in sorted(state.in_force.items()))
        return self._verdicts.key("judge", state.origin, item.name, *files, *in_force, *state.roots)
