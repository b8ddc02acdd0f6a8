"""What a registry offers to programs that know nothing of Rye: releases of skills, as values.

Rules:

1. A release is offered while it is not withdrawn (yanked, signed by revoked keys alone, taken down), none of its files was taken
   down, and the head that the store shows covers it: only then all of its files are there.
2. A skill is named by the last segment of its id. A name that two skills of a namespace have is offered by neither, because
   nothing would say which is meant.
3. Of each skill the newest release counts, as search prefers them (:func:`registry_server.sequencer.offering.rank`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256

from msgspec import Struct

from registry_server.sequencer.offering import rank
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
    """One release of a skill that anybody may have."""

    identity: Identity
    version: str
    position: int
    """Where the release stands in the log."""
    time: datetime
    """What the release says of when it was made."""
    description: str
    files: tuple[OfferedFile, ...]
    """``SKILL.md`` first, the others sorted."""

    @property
    def namespace(self) -> str:
        return self.identity.namespace

    @property
    def name(self) -> str:
        """What other programs call the skill."""
        return self.identity.id.rpartition("/")[2]

    @property
    def content(self) -> str:
        """A hash of paths, bytes and modes: equal for two releases with the same folder."""
        lines = (f"{file.path} {file.sha256} {'x' if file.executable else '-'}" for file in self.files)
        return sha256("\n".join(lines).encode()).hexdigest()

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def offer_of(release: Release, position: int) -> Offer:
    """A release as an offer."""
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
    """The newest offer of each skill (rule 3), by id."""
    found: dict[str, Offer] = {}
    for offer in offers:
        known = found.get(offer.identity.id)
        if known is None or rank(offer.version) > rank(known.version):
            found[offer.identity.id] = offer
    return tuple(found[identifier] for identifier in sorted(found))


def named_once(offers: Iterable[Offer]) -> tuple[Offer, ...]:
    """Those whose name no other skill of the namespace has (rule 2)."""
    all_offers = tuple(offers)
    counts = Counter((offer.namespace, offer.name) for offer in all_offers)
    return tuple(offer for offer in all_offers if counts[offer.namespace, offer.name] == 1)
