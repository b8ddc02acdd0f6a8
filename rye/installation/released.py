"""Finds and fetches releases by name, without a project's lock. They are proved and verified as in an installation."""

from __future__ import annotations

from collections.abc import Sequence

from rye.errors import RyeError
from rye.installation.resolving import identify
from rye.installation.sources import Sources, fetch_logged
from rye.items.identity import Identity, Reference
from rye.project.manifest import Requested
from rye.registry.trust.records import ReleaseRecord, check_installable
from rye.resolution.ranges import Range
from rye.resolution.versions import Version
from rye.verified.release import VerifiedItem, verify_files


def identify_one(reference: Reference, sources: Sources) -> Identity:
    """Return the item that a reference means in the registries. Raises RyeError ``no-such-item``, UsageError ``ambiguous``."""
    wanted = Requested(reference.id, reference.kind, "*")
    return identify([wanted], sources)[wanted]


def find_release(identity: Identity, wanted: str | None, sources: Sources) -> ReleaseRecord:
    """Return the newest release in a range (None: any). Withdrawn ones and pre-releases are chosen only if there is no other."""
    if sources.is_source(identity.namespace):
        raise RyeError(
            "source-has-one-version",
            f"{identity} comes from [sources], so it has no releases, only the versions in its repository.",
            f"`rye diff {identity.id}` compares what is installed with what its source has now.",
        )
    history = sources.releases([identity]).get(identity)
    records = history.records if history is not None else ()
    if wanted is not None:
        allowed = Range.parse(wanted)
        exact = [record for record in records if record.version == wanted.lstrip("=v ")]
        records = tuple(exact or [record for record in records if Version.parse(record.version) in allowed])
    if not records:
        there = ", ".join(record.version for record in (history.records if history else ())[-8:])
        raise RyeError(
            "no-such-version",
            f"The registry has no {identity}{'@' + wanted if wanted else ''}.",
            f"Available: {there}." if there else f"`rye search {identity.id.rsplit('/', 1)[-1]}` looks for it.",
        )

    def rank(record: ReleaseRecord) -> tuple[bool, bool, Version]:
        version = Version.parse(record.version)
        return not record.is_withdrawn, not version.is_prerelease, version

    return max(records, key=rank)


def fetch_releases(records: Sequence[ReleaseRecord], sources: Sources) -> list[VerifiedItem]:
    """Return the verified items of these releases, in the same order."""
    items: dict[int, VerifiedItem] = {}
    groups: dict[int, list[int]] = {}
    for number, record in enumerate(records):
        check_installable(record)
        groups.setdefault(id(sources.client_of(record)), []).append(number)
    for numbers in groups.values():
        wanted = [records[number] for number in numbers]
        for number, files in zip(numbers, fetch_logged(sources.client_of(wanted[0]), wanted), strict=True):
            items[number] = verify_files(files, (), ())
    return [items[number] for number in range(len(records))]
