"""Why an item stays below its newest version after an update: what rye.toml asks for, or what another item needs; and what to
do about an installed version that its publisher yanked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from rye.installation.environment import Environment
from rye.installation.resolving import Chosen, latest_version
from rye.installation.sources import History
from rye.items.identity import Identity
from rye.project.forced_versions import forced_range
from rye.project.lock import LockedItem
from rye.project.manifest import Manifest, Requested
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


class Yanked(Struct, frozen=True, kw_only=True):
    """One item that is installed in a version that its publisher yanked."""

    identity: Identity
    version: str
    reason: str
    latest: str | None
    """The newest version that can be installed; None if there is none."""
    by: tuple[str, ...] = ()
    """What asks for another version than ``latest``."""
    member: str | None = None
    """The folder of the rye.toml that asks for the item, empty for the project's own; None if only other items need it."""

    def as_json(self) -> dict[str, object]:
        """``{"kind", "id", "version", "reason", "latest"}``."""
        return {
            "kind": self.identity.kind,
            "id": self.identity.id,
            "version": self.version,
            "reason": self.reason,
            "latest": self.latest,
        }

    @property
    def message(self) -> str:
        """What happened, and what to do, for people."""
        said = f"{self.identity}@{self.version} was yanked by its publisher"
        said += f": {self.reason.removesuffix('.')}." if self.reason else "."
        place = f" -p {self.member}" if self.member else ""
        if self.latest is None:
            remove, why = (
                f"`rye remove {self.identity}{place}` removes it",
                f"`rye why {self.identity}` says what needs it",
            )
            way_out = why if self.member is None else remove
            return f"{said} No other version can be installed, so it stays: ask its publisher for one. {way_out}."
        if not self.by:
            return f"{said} `rye update {self.identity}@{self.latest}` takes the newest, or says why it cannot."
        held = f"{said} The newest that can be installed is {self.latest}, but {'; '.join(self.by)}."
        if self.member is None:
            return held
        return f"{held} `rye add '{self.identity}@^{self.latest}'{place}` changes the range."


def yanked(
    manifest: Manifest,
    chosen: Mapping[Identity, Chosen],
    histories: Mapping[Identity, History],
    environment: Environment,
) -> tuple[Yanked, ...]:
    """Return the chosen items whose version was yanked, by identity. ``histories``: of these items at least."""
    withdrawn = []
    for identity, entry in sorted(chosen.items()):
        if entry.record.yank is None:
            continue
        latest = latest_version(histories.get(identity), environment)
        by = _holders(identity, Version.parse(latest), manifest, chosen.values()) if latest is not None else ()
        lines = _lines(manifest, identity)
        withdrawn.append(
            Yanked(
                identity=identity,
                version=entry.record.version,
                reason=entry.record.yank.reason,
                latest=latest,
                by=tuple(by),
                member=lines[0].member if lines else None,
            )
        )
    return tuple(withdrawn)


def moved_back(
    rows: Iterable[LockedItem], chosen: Mapping[Identity, Chosen], histories: Mapping[Identity, History]
) -> Iterator[str]:
    """Why items go back to an older version than the locked one, where the reason is that it was yanked: one line each."""
    for row in rows:
        now, history = chosen.get(row.identity), histories.get(row.identity)
        if now is None or history is None or Version.parse(now.record.version) >= Version.parse(row.version):
            continue
        for record in history.records:
            if record.version == row.version and record.yank is not None:
                why = f": {record.yank.reason}" if record.yank.reason else ""
                yield f"{row.identity} goes back to {now.record.version}: {row.version} was yanked by its publisher{why}"


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


def _lines(manifest: Manifest, identity: Identity) -> list[Requested]:
    """The lines of rye.toml and its members that ask for an item."""
    return [line for line in manifest.dependencies if line.id == identity.id and line.kind in (None, identity.kind)]


def _holders(identity: Identity, latest: Version, manifest: Manifest, chosen: Iterable[Chosen]) -> Iterator[str]:
    forced = forced_range(manifest.overrides, identity)
    if forced is not None:  # it replaces all other ranges
        if latest not in Range.parse(forced):
            yield f"[overrides] of rye.toml forces {forced}"
        return
    for line in _lines(manifest, identity):
        if latest not in Range.parse(line.range):
            yield f"{line.file} asks for {line.range}"
    for entry in chosen:
        for relation in entry.record.release.depends_on:
            if relation.identity == identity and latest not in Range.parse(relation.range):
                yield f"{entry.record.identity} {entry.record.version} needs {relation.range}"
