"""The page of a namespace: which keys may publish and since when, its owners, and its items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from registry_server.accounts import roles
from registry_server.pages.addresses import entry_path, feed_path, namespace_path
from registry_server.pages.dependents import uses_of
from registry_server.pages.item_rows import ItemRow, Wanted, named, row_cost
from registry_server.pages.key_rows import KeyRow, keys_in_force
from registry_server.pages.limits import RECORDS
from registry_server.pages.listed_items import item_rows
from registry_server.pages.lists import Choice
from registry_server.pages.name_ranges import names_in, offered_counts, stretches
from registry_server.pages.owners import Behind
from registry_server.pages.page_budget import fitting, line_cost
from registry_server.pages.page_drafts import Draft, Maker
from registry_server.pages.page_layout import Page
from registry_server.pages.registry_view import RegistryView
from registry_server.storage.prepared import Row
from rye.describing.words import counted
from rye.items.identity import is_segment
from rye.items.kinds import KINDS
from rye.registry.protocol.statements import Require
from rye.registry.trust.keysets import KeysetChain, Link
from rye.signing.keys import PublicKey

KeysetState = Literal["in-force", "past", "pending"]


class RevokedKey(Struct, frozen=True):
    """A key that a keyset revokes."""

    fingerprint: str
    from_position: int
    """Statements at this log position or later do not count."""


class KeysetRow(Struct, frozen=True, kw_only=True):
    """One keyset of the namespace's history."""

    number: int
    log: int
    path: str
    """The path of its log entry."""
    time: datetime
    state: KeysetState
    threshold: int
    """How many of its keys must sign the next keyset."""
    release_threshold: int
    """How many must sign a release."""
    require: Require | None
    """Whose signatures count; null: those of all its keys."""
    keys: tuple[str, ...]
    """Fingerprints."""
    added: tuple[str, ...]
    """Keys that the previous keyset does not have."""
    removed: tuple[str, ...]
    """Keys of the previous keyset that this one does not have."""
    revoked: tuple[RevokedKey, ...]
    """Keys that this keyset is the first to revoke."""
    recovery: datetime | None
    """When a recovery by the registry's owners takes effect; null: the previous keys signed it."""


class OwnerRow(Struct, frozen=True):
    """An account or team that owns the namespace on this server."""

    name: str
    is_team: bool


class NamespaceView(Struct, frozen=True, kw_only=True):
    """The JSON of ``/-/namespaces/NS``."""

    namespace: str
    claimed: datetime
    behind: Behind
    keys: tuple[KeyRow, ...]
    """The keys that may publish now."""
    threshold: int
    release_threshold: int
    require: Require | None
    """Whether only security keys' signatures count (``hardware``), and only those that also verified the person
    (``hardware-verified``)."""
    pending: tuple[KeysetRow, ...]
    """Recoveries that are announced but not in effect yet."""
    keysets: tuple[KeysetRow, ...]
    """Newest first. In a long history, older ones are only listed in ``earlier``."""
    earlier: tuple[int, ...]
    """Log positions of keysets that are not listed."""
    owners: tuple[OwnerRow, ...]
    items: tuple[ItemRow, ...]
    """Sorted by name."""
    kind: str
    """The kind of the items listed; empty: any."""
    kinds: tuple[Choice, ...]
    """The items of each kind, counted."""
    next_page: str | None
    first_page: str
    feed: str


def namespace_page(namespace: str, after: str, owners: Sequence[roles.Given], kind: str = "") -> Maker:
    """Return the maker of ``/-/namespaces/NS``. ``after``: the list of items continues after this name; empty: from the
    start. ``kind``: of the items listed; empty: any."""

    path = page_path(namespace, after, kind)

    def draft(registry: RegistryView) -> Draft:
        if not is_segment(namespace) or not registry.may_read(namespace):
            raise registry.missing(path)
        chain = registry.chain(namespace)
        if not chain.links:
            raise registry.missing(path)
        where = [stretch for stretch in stretches([namespace]) if stretch[0].startswith(f"{kind}:" if kind else "")]
        rows = names_in(registry.connection, where, after, RECORDS.items + 1)
        counts = offered_counts(registry.connection, namespace)
        listed = [named(row[0]) for row in rows[: RECORDS.items]]
        who = registry.behind(namespace)
        basis = (
            who,
            registry.chain_basis(namespace),
            hashlib.sha256(repr(rows).encode()).digest(),
            registry.bases(listed),
            uses_of(registry, listed),
            counts,
        )
        return Draft(basis, lambda: make(registry, chain, rows, who, counts))

    def make(
        registry: RegistryView, chain: KeysetChain, rows: Sequence[Row], who: Behind, counts: Mapping[str, int]
    ) -> Page:
        since = registry.since(namespace)
        wanted = [Wanted(named(row[0]), None, row[3] or "", bool(row[1])) for row in rows[: RECORDS.items]]
        items = fitting(item_rows(registry, wanted), RECORDS.list_characters, row_cost)
        view = namespace_view(chain, since, owners, items, who)
        view = replace(view, kind=kind, kinds=tuple(_kinds(namespace, kind, counts)))
        if len(rows) > len(items):
            view = replace(view, next_page=page_path(namespace, rows[len(items) - 1][0], kind))
        words = f"Who may publish as {namespace}: {counted(len(view.keys), 'key')}. Claimed on {view.claimed:%Y-%m-%d}."
        return Page(
            template="namespace.html",
            view=view,
            title=f"Namespace {namespace}",
            description=words,
            path=path,
            canonical=page_path(namespace, after),
            feeds=(view.feed,),
        )

    return draft


def page_path(namespace: str, after: str = "", kind: str = "") -> str:
    """Return the path of the page. ``after``: the part of its items after this name, which needs no escaping in a
    query; ``kind``: of these items."""
    asked = "&".join(f"{name}={value}" for name, value in (("kind", kind), ("after", after)) if value)
    return f"{namespace_path(namespace)}?{asked}" if asked else namespace_path(namespace)


def _kinds(namespace: str, chosen: str, counts: Mapping[str, int]) -> Iterator[Choice]:
    yield Choice("all", page_path(namespace), not chosen, sum(counts.values()))
    for kind in KINDS:
        if kind in counts:
            yield Choice(KINDS[kind].folder, page_path(namespace, "", kind), kind == chosen, counts[kind])


def is_item_name(text: str, namespace: str) -> bool:
    """Whether a text is the name of an item in the namespace, so that a list can continue after it."""
    kind, mark, identifier = text.partition(":")
    return bool(mark) and identifier.startswith(f"{namespace}/") and len(text) < 1_200 and _is_plain(kind + identifier)


def _is_plain(text: str) -> bool:
    return all(is_segment(part) for part in text.split("/"))


def namespace_view(
    chain: KeysetChain, now: datetime, owners: Sequence[roles.Given], items: Sequence[ItemRow], who: Behind
) -> NamespaceView:
    """Return the view of a namespace with a keyset. ``now``: the time of the snapshot, or of the latest recovery before
    it."""
    effective = chain.effective(now)
    rows = keyset_rows(chain, now)
    in_force = effective[-1] if effective else chain.links[0]
    namespace = chain.namespace
    listed = tuple(fitting(rows[: -RECORDS.keysets - 1 : -1], RECORDS.keysets_characters, _keyset_cost))
    holders = [given for given in owners if given.role == "owner"][: RECORDS.owners]
    holders = list(fitting(holders, RECORDS.owners_characters, lambda given: 60 + line_cost(given.account or "")))
    return NamespaceView(
        namespace=namespace,
        claimed=chain.links[0].keyset.time,
        behind=who,
        keys=tuple(keys_in_force(effective)),
        threshold=in_force.keyset.threshold,
        release_threshold=in_force.keyset.release_threshold,
        require=in_force.keyset.require,
        pending=tuple(row for row in listed if row.state == "pending"),
        keysets=listed,
        earlier=tuple(row.log for row in reversed(rows[: -len(listed)]))[: RECORDS.earlier],
        owners=tuple(OwnerRow(given.account or given.team or "", given.team is not None) for given in holders),
        items=tuple(items),
        kind="",
        kinds=(),
        next_page=None,
        first_page=namespace_path(namespace),
        feed=feed_path(namespace),
    )


def keyset_rows(chain: KeysetChain, now: datetime) -> list[KeysetRow]:
    """Return the keysets of a namespace, oldest first."""
    effective = len(chain.effective(now))
    rows = []
    for at, link in enumerate(chain.links):
        state: KeysetState = "in-force" if at == effective - 1 else "past" if at < effective else "pending"
        rows.append(_keyset(link, chain.links[at - 1] if at else None, state))
    return rows


def _keyset(link: Link, before: Link | None, state: KeysetState) -> KeysetRow:
    keyset = link.keyset
    own = [PublicKey(key).fingerprint for key in keyset.keys]
    earlier = [PublicKey(key).fingerprint for key in before.keyset.keys] if before is not None else []
    known = set(before.keyset.revoked) if before is not None else set()
    return KeysetRow(
        number=keyset.number,
        log=link.position,
        path=entry_path(link.position),
        time=keyset.time,
        state=state,
        threshold=keyset.threshold,
        release_threshold=keyset.release_threshold,
        require=keyset.require,
        keys=tuple(own),
        added=tuple(key for key in own if key not in earlier),
        removed=tuple(key for key in earlier if key not in own),
        revoked=tuple(
            RevokedKey(PublicKey(entry.key).fingerprint, entry.position)
            for entry in keyset.revoked
            if entry not in known
        ),
        recovery=keyset.recovery,
    )


def _keyset_cost(row: KeysetRow) -> int:
    return 900 + 140 * (len(row.keys) + len(row.removed)) + 220 * len(row.revoked)
