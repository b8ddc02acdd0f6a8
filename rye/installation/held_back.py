"""Why an item stays below its newest version after an update: what rye.toml asks for, or what another item needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from rye.installation.environment import Environment
from rye.installation.resolving import Chosen, latest_version
from rye.installation.sources import History
from rye.items.identity import Identity
from rye.project.forced_versions import forced_range
from rye.project.manifest import Manifest
from rye.resolution.ranges import Range
from rye.resolution.versions import Version


class HeldBack(Struct, frozen=True):
    """One item that stays below its newest usable version, and what holds it back."""

    identity: Identity
    version: str
    latest: str
    by: tuple[str, ...]
    """What holds it back, with the range: ``bundle:acme/kit 1.0.0 needs =1.0.0``. Never empty."""

    def as_json(self) -> dict[str, object]:
        """``{"kind", "id", "version", "latest", "by"}``."""
        return {
            "kind": self.identity.kind,
            "id": self.identity.id,
            "version": self.version,
            "latest": self.latest,
            "by": list(self.by),
        }

    @property
    def message(self) -> str:
        """One line for people."""
        return f"{self.identity} stays at {self.version}, not {self.latest}: {'; '.join(self.by)}"


def held_back(
    manifest: Manifest,
    chosen: Mapping[Identity, Chosen],
    histories: Mapping[Identity, History],
    environment: Environment,
) -> tuple[HeldBack, ...]:
    """Return the chosen items that others keep below their newest usable version, by identity."""
    withheld = []
    for identity, entry in sorted(chosen.items()):
        latest = latest_version(histories.get(identity), environment)
        if latest is None or Version.parse(latest) <= Version.parse(entry.record.version):
            continue
        by = tuple(_holders(identity, Version.parse(latest), manifest, chosen.values()))
        if by:
            withheld.append(HeldBack(identity, entry.record.version, latest, by))
    return tuple(withheld)


def _holders(identity: Identity, latest: Version, manifest: Manifest, chosen: Iterable[Chosen]) -> Iterator[str]:
    forced = forced_range(manifest.overrides, identity)
    if forced is not None:  # it replaces all other ranges
        if latest not in Range.parse(forced):
            yield f"[overrides] of rye.toml forces {forced}"
        return
    for line in manifest.dependencies:
        if line.id == identity.id and line.kind in (None, identity.kind) and latest not in Range.parse(line.range):
            yield f"{line.file} asks for {line.range}"
    for entry in chosen:
        for relation in entry.record.release.depends_on:
            if relation.identity == identity and latest not in Range.parse(relation.range):
                yield f"{entry.record.identity} {entry.record.version} needs {relation.range}"
