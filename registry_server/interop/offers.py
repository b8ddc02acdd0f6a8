"""The releases of skills that a registry offers to other programs, as values.

Rules:

1. A release is offered if it is not withdrawn (yanked, signed only by revoked keys, taken down), none of its files was
   taken down, and the head in the store covers it: only then are all of its files in the store.
2. A skill's name is the last segment of its id. If two skills of a namespace have the same name, neither is offered,
   because the name would be ambiguous.
3. Of each skill the newest release counts, in the order that search uses
   (:func:`registry_server.sequencer.search_offers.rank`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from msgspec import Struct

from registry_server.sequencer.search_offers import rank
from rye.items.identity import Identity
from rye.registry.protocol.statements import Release

MAIN = "SKILL.md"


class OfferedFile(Struct, frozen=True):
    """One file of a release, by its path in the skill's folder."""

    path: str
    sha256: str
    size: int
    executable: bool = False


class Offer(Struct, frozen=True):
    """One release of a skill that is offered."""

    identity: Identity
    version: str
    position: int
    """The release's position in the log."""
    time: datetime
    """The time in the release note."""
    description: str
    files: tuple[OfferedFile, ...]
    """``SKILL.md`` first, then the others, sorted."""

    @property
    def namespace(self) -> str:
        """The skill's namespace."""
        return self.identity.namespace

    @property
    def name(self) -> str:
        """The skill's name in other programs."""
        return self.identity.id.rpartition("/")[2]

    @property
    def content(self) -> str:
        """A hash of paths, bytes and modes. Releases with the same folder have the same hash."""
        lines = (f"{file.path} {file.sha256} {'x' if file.executable else '-'}" for file in self.files)
        return sha256("\n".join(lines).encode()).hexdigest()

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


def offer_of(release: Release, position: int) -> Offer:
    """Return a release of a skill as an offer."""
    main = OfferedFile(MAIN, release.file.sha256, release.file.size)
    attached = [OfferedFile(entry.path, entry.sha256, entry.size, entry.executable) for entry in release.attached]
    return Offer(
        release.identity,
        release.version,
        position,
        release.time,
        release.description,
        (main, *sorted(attached, key=lambda file: file.path)),
    )


def newest(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Return the newest offer of each skill (rule 3), sorted by id."""
    offers_by_id: dict[str, Offer] = {}
    for offer in offers:
        other = offers_by_id.get(offer.identity.id)
        if other is None or rank(offer.version) > rank(other.version):
            offers_by_id[offer.identity.id] = offer
    return tuple(offers_by_id[identifier] for identifier in sorted(offers_by_id))


def named_once(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Return the offers whose name is unique in their namespace (rule 2)."""
    all_offers = tuple(offers)
    counts = Counter((offer.namespace, offer.name) for offer in all_offers)
    return tuple(offer for offer in all_offers if counts[offer.namespace, offer.name] == 1)
