"""The registries that this user pinned, and the trusted state of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.project.registries import normal_address
from rye.project.user_config import read_settings
from rye.registry.protocol.lines import write_key, write_time
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.statements import Snapshot
from rye.registry.protocol.wire import decode_head
from rye.registry.store.doors import read_doors
from rye.registry.store.state import StateStore
from rye.storage.home import Home
from rye.text.lazy import lazy_module
from rye.workspace.registries.registry_access import configured, open_registry

if TYPE_CHECKING:
    from rye.describing import words
    from rye.registry.trust import keysets
    from rye.registry.trust.cosigned import CosignedHead
    from rye.workspace.context import Context
    from rye.workspace.registries import witness_policies
else:  # only for a registry's state, and for one with witnesses or upstreams
    words = lazy_module("rye.describing.words")
    keysets = lazy_module("rye.registry.trust.keysets")
    witness_policies = lazy_module("rye.workspace.registries.witness_policies")


class PinnedRegistry(Struct, frozen=True):
    """A pinned registry. None where a fact was never read."""

    registry: str
    """Its address."""
    origin: str
    fingerprint: str | None
    size: int | None
    """The number of entries in its largest log seen so far."""
    default: bool
    """Whether it is the default registry."""


class TrustedState(Struct, frozen=True, kw_only=True):
    """The trusted state of a registry: its root, owners and head. Keys, times and hashes are text."""

    registry: str
    origin: str
    fingerprint: str
    root: int
    root_expires: str
    owners: tuple[str, ...]
    threshold: int
    log_keys: tuple[str, ...]
    verifier_keys: tuple[str, ...]
    """The same keys of the log as ``NAME+ID+KEY``, which other programs and `rye log check-proof` take."""
    size: int
    root_hash: str
    snapshot_time: str
    witnesses: tuple[str, ...] = ()
    """What the user demands of witnesses, in lines; empty: nothing."""
    cosigned_by: tuple[str, ...] = ()
    """The names of the witnesses that cosigned the head, each with the time."""
    waiting_entries: int = 0
    """Entries that wait for witnesses."""
    upstreams: tuple[str, ...] = ()
    """The registries of others that are read through it, in lines, each with its last head that was seen here."""


def pinned_registries(home: Home) -> tuple[PinnedRegistry, ...]:
    """All pinned registries, sorted by address. Nothing is fetched."""
    store = StateStore(home.registries)
    default = read_settings(home).get("registry")
    rows = []
    for address, origin in sorted(store.addresses().items()):
        state = store.load(origin)
        checkpoint = state.checkpoint if state else None
        fingerprint = state.fingerprint if state else None
        size = checkpoint.size if checkpoint else None
        rows.append(PinnedRegistry(address, origin, fingerprint, size, address == default))
    return tuple(rows)


def pin_lines(rows: Iterable[PinnedRegistry]) -> list[str]:
    """The lines of a file for ``RYE_PINS``. A registry without a fingerprint was never seen, and one that is a folder of this
    machine means nothing elsewhere: both are left out."""
    return [
        f"{row.origin} {row.fingerprint} {row.registry}"
        for row in rows
        if row.fingerprint is not None and row.registry.startswith(("https://", "http://"))
    ]


def trusted_state(context: Context, address: str | None) -> TrustedState:
    """Fetch a registry's head and return its trusted state. ``address``: None for the configured registry."""
    where = normal_address(address, context.cwd) if address else configured(context).main()
    with open_registry(context, where, named=address is not None) as client:
        root, head, demand, cosigned = client.state.root, client.head, client.demand, client.cosigned
        return TrustedState(
            registry=where,
            origin=client.origin,
            fingerprint=client.state.fingerprint,
            root=root.number,
            root_expires=write_time(root.expires),
            owners=tuple(write_key(key) for key in root.owners),
            threshold=root.threshold,
            log_keys=tuple(write_key(key) for key in root.logs),
            verifier_keys=tuple(key.vkey for key in keysets.log_keys(root)),
            size=head.checkpoint.size,
            root_hash=head.checkpoint.root_hash.hex(),
            snapshot_time=write_time(head.snapshot.time),
            witnesses=() if demand is None else tuple(witness_policies.described(demand.policy)),
            cosigned_by=() if cosigned is None else cosigners(cosigned),
            waiting_entries=client.waiting.entries if client.waiting is not None else 0,
            upstreams=tuple(_seen_upstreams(context, where)),
        )


def _seen_upstreams(context: Context, registry: str) -> Iterator[str]:
    store = StateStore(context.home.registries)
    for upstream in read_doors(context.home.registries).get(registry, []):
        state = store.load(upstream.origin)
        seen = "not read yet"
        if state is not None and state.head is not None and state.checkpoint is not None:
            time = Snapshot.parse(note_text(decode_head(state.head.encode()).snapshot)).time
            seen = f"{state.checkpoint.size} entries at {write_time(time)}, {words.age(time, context.now(), 'ago')}"
        yield f"{upstream.origin} ({', '.join(upstream.namespaces)}): {seen}"


def cosigners(head: CosignedHead) -> tuple[str, ...]:
    """Who cosigned a head, and when."""
    return tuple(
        f"{one.key.name} ({one.key.algorithm_name}) at {write_time(datetime.fromtimestamp(one.time, UTC))}"
        for one in head.cosignatures
    )
