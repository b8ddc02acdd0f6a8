"""The ranges that ``[overrides]`` of rye.toml overrules: those that do not contain the forced version. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.forced_versions import forced_range
from rye.project.manifest import Manifest
from rye.resolution.ranges import Range
from rye.resolution.versions import Version


class Overruled(Struct, frozen=True):
    """One forced item, and the items that ask for another version."""

    identity: Identity
    version: str
    forced: str
    askers: tuple[str, ...]
    """Those whose range does not contain the version, e.g. ``directive:acme/work/top 1.0.0 asks for ^2``."""

    @property
    def message(self) -> str:
        """One line for people."""
        said = f"{self.identity} {self.version} is forced by [overrides] of rye.toml ({self.forced})"
        return f"{said}, which is out of range: {'; '.join(self.askers)}" if self.askers else said


def overruled(
    manifest: Manifest, versions: Mapping[Identity, str], needs: Mapping[Identity, Iterable[tuple[Identity, str]]]
) -> list[Overruled]:
    """Return every forced item in ``versions``, by identity. ``needs``: what items ask for, as far as known."""
    forced = {one: wanted for one in versions if (wanted := forced_range(manifest.overrides, one)) is not None}
    askers: dict[Identity, list[str]] = {identity: [] for identity in forced}
    if not forced:
        return []
    for line in manifest.dependencies:
        for identity in forced:
            if (
                line.id == identity.id
                and line.kind in (None, identity.kind)
                and _outside(versions[identity], line.range)
            ):
                askers[identity].append(f"{line.file} asks for {line.range}")
    for asker in sorted(needs):
        for needed, wanted in needs[asker]:
            if needed in forced and asker in versions and _outside(versions[needed], wanted):
                askers[needed].append(f"{asker} {versions[asker]} asks for {wanted}")
    return [
        Overruled(identity, versions[identity], forced[identity], tuple(askers[identity]))
        for identity in sorted(forced)
    ]


def _outside(version: str, wanted: str) -> bool:
    try:
        return Version.parse(version) not in Range.parse(wanted).versions
    except RyeError:
        return False
