"""The skills that a registry offers, read from its tables: all, those of one namespace, or every release of one skill.

Listings are cached until something changes (:mod:`registry_server.interop.changes`). A release never changes, so it is
read once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from registry_server.interop import queries
from registry_server.interop.changes import Changes
from registry_server.interop.offers import Offer, named_once, newest, offer_of
from registry_server.pages.lru_cache import LruCache
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.search_offers import like, rank
from registry_server.settings import Settings
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Release
from rye.registry.trust.records import release_files

_CHUNK = 500
_OFFERS = 50_000
"""Releases in the cache."""
_LISTINGS = 256
"""Namespaces whose listing is cached."""

Row = tuple[str, str, int]
"""Name, version and position of a release."""


class Listing(Struct, frozen=True):
    """The skills of one namespace, or of all."""

    offers: tuple[Offer, ...]
    """The newest release of each skill, by id, without names that two skills of a namespace have."""
    as_of: int
    """The size of the log at which it was read."""


class Releases(Struct, frozen=True):
    """The releases of one skill."""

    offers: tuple[Offer, ...]
    """The offered releases, newest in the log first."""
    names: tuple[str, ...]
    """The ids of all skills that have or had the name."""


class Catalogue:
    """The skills of a registry, cached. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self._most = settings.reader_skills
        self._versions = settings.reader_versions
        self.changes = Changes()
        self._offers: LruCache[int, Offer] = LruCache(_OFFERS)
        self._listings: LruCache[str, Listing] = LruCache(_LISTINGS)
        self._deriving = threading.Lock()

    def listing(self, ledger: Ledger, shown: int, namespace: str | None) -> Listing:
        """Return the skills of a namespace; None: of all. ``shown``: the log size of the head in the store.

        Raises RyeError ``listing-too-large``.
        """
        kept = self._known(namespace)
        if kept is not None:
            return kept
        with self._deriving:  # so that many simultaneous requests cost as much as one
            return self._known(namespace) or self._derived(ledger, shown, namespace)

    def of_readable(self, ledger: Ledger, shown: int, readable: Sequence[str] | None) -> tuple[Offer, ...]:
        """Return the skills of all namespaces that somebody may read; None: all that there are. Only these count for the limit.

        Raises RyeError ``listing-too-large``.
        """
        if readable is None:
            return self.listing(ledger, shown, None).offers
        counts = (queries.COUNT_NAMES.first(ledger.connection, _skills_of(namespace)) for namespace in readable)
        self._bound(sum(row[0] for row in counts if row is not None), "You may read")
        return tuple(
            offer for namespace in sorted(set(readable)) for offer in self.listing(ledger, shown, namespace).offers
        )

    def _known(self, namespace: str | None) -> Listing | None:
        kept = self._listings.get(namespace or "")
        return kept if kept is not None and self.changes.skills_are(kept.as_of, namespace) else None

    def _derived(self, ledger: Ledger, shown: int, namespace: str | None) -> Listing:
        as_of = min(ledger.size, shown)
        names = _skills_of(namespace)
        row = queries.COUNT_NAMES.first(ledger.connection, names)
        whose = f"The namespace {namespace} has" if namespace is not None else "This registry has"
        self._bound(row[0] if row is not None else 0, whose)
        rows = queries.AVAILABLE.rows(ledger.connection, {**names, "shown": shown})
        derived = Listing(named_once(self._newest(ledger, rows)), as_of)
        self._listings.put(namespace or "", derived)
        return derived

    def item(self, ledger: Ledger, shown: int, identity: Identity) -> tuple[list[Release], bool] | None:
        """Return an item's releases that are not withdrawn, in log order, and whether it is deprecated; None: unknown
        item."""
        name = queries.ONE_NAME.first(ledger.connection, {"name": str(identity)})
        if name is None:
            return None
        rows = queries.ONE_AVAILABLE.rows(ledger.connection, {"name": str(identity), "shown": shown})
        releases = []
        for some in _chunks([position for _, position in rows]):
            leaves: dict[int, bytes] = dict(queries.LEAVES.rows(ledger.connection, {"some": some}))
            releases += [_release(leaves[position]) for position in some]
        gone = ledger.taken_down(sha256 for release in releases for sha256 in release_files(release))
        return [release for release in releases if not release_files(release) & gone.keys()], bool(name[0])

    def has_skills(self, ledger: Ledger, namespace: str) -> bool:
        """Whether the namespace ever had a skill, offered or not."""
        row = queries.COUNT_NAMES.first(ledger.connection, queries.below(f"skill:{namespace}/"))
        return row is not None and row[0] > 0

    def releases(self, ledger: Ledger, shown: int, namespace: str, name: str) -> Releases | None:
        """Return the offered releases of the skill with this name; None: no skill or several skills of the namespace
        have it."""
        values = {**queries.below(f"skill:{namespace}/"), "called": f"%/{like(name)}"}
        every = _called(name, queries.KNOWN_SKILLS.rows(ledger.connection, values))
        offered = _called(name, queries.SKILL_NAMES.rows(ledger.connection, {**values, "shown": shown}))
        if not every or len(offered) > 1:
            return None
        rows = [
            row
            for offer in offered
            for row in queries.ONE_AVAILABLE.rows(ledger.connection, {"name": offer, "shown": shown})
        ]
        offers = whole(ledger, self._read(ledger, [position for _, position in rows[-self._versions :]]))
        return Releases(tuple(reversed(offers)), tuple(every))

    def are_offered(self, ledger: Ledger, shown: int, offers: Sequence[Offer]) -> bool:
        """Whether all of these are still offered, even if there are newer releases."""
        if len(whole(ledger, offers)) < len(offers):
            return False
        offered: set[int] = set()
        for namespace in {offer.namespace for offer in offers}:
            values = {**queries.below(f"skill:{namespace}/"), "shown": shown}
            offered.update(position for _, _, position in queries.AVAILABLE.rows(ledger.connection, values))
        return {offer.position for offer in offers} <= offered

    def _bound(self, count: int, whose: str) -> None:
        if count > self._most:
            raise RyeError(
                "listing-too-large",
                f"{whose} {count:,} skills; the limit for listings for other programs is {self._most:,}.",
                "Request one namespace, or use `rye search`. The operator can raise `reader_skills`.",
            )

    def _newest(self, ledger: Ledger, rows: Iterable[Row]) -> tuple[Offer, ...]:
        """Return the newest release of each name that has all of its files."""
        waiting: dict[str, list[tuple[str, int]]] = {}
        for name, version, position in rows:
            waiting.setdefault(name, []).append((version, position))
        for versions in waiting.values():
            versions.sort(key=lambda row: rank(row[0]))
        latest: list[Offer] = []
        while waiting:
            good = whole(ledger, self._read(ledger, [versions.pop()[1] for versions in waiting.values()]))
            latest += good
            done = {str(offer.identity) for offer in good}
            waiting = {name: versions for name, versions in waiting.items() if versions and name not in done}
        return newest(latest)

    def _read(self, ledger: Ledger, positions: Sequence[int]) -> list[Offer]:
        kept = {position: offer for position in positions if (offer := self._offers.get(position)) is not None}
        for some in _chunks(sorted(set(positions) - kept.keys())):
            for position, leaf in queries.LEAVES.rows(ledger.connection, {"some": some}):
                kept[position] = offer_of(_release(leaf), position)
                self._offers.put(position, kept[position])
        return [kept[position] for position in positions]


def _skills_of(namespace: str | None) -> dict[str, object]:
    """The values of a query about the skills of a namespace; None: of all."""
    return queries.below(f"skill:{namespace}/" if namespace is not None else "skill:")


def whole(ledger: Ledger, offers: Sequence[Offer]) -> list[Offer]:
    """Return the offers of which no file was taken down."""
    gone = ledger.taken_down(file.sha256 for offer in offers for file in offer.files)
    return [offer for offer in offers if not any(file.sha256 in gone for file in offer.files)]


def _called(name: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [other for (other,) in rows if other.rpartition("/")[2] == name]


def _release(leaf: bytes) -> Release:
    return Release.parse(notes.parse(bytes(leaf)).text)


def _chunks(values: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(values), _CHUNK):
        yield list(values[start : start + _CHUNK])
