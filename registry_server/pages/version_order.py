"""The order of an item's versions, and the one that pages show first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rye.registry.trust.records import ItemHistory
from rye.resolution.versions import Version, comparable


def newest_offered(history: ItemHistory) -> str:
    """Return the highest version that is not withdrawn, or the highest of all if every version is.

    Pre-releases count only if there is no other version.
    """
    offered = [record.version for record in history.records if not record.is_withdrawn]
    versions = in_order(offered or [record.version for record in history.records])
    stable = [version for version in versions if (parsed := comparable(version)) and not parsed.is_prerelease]
    return (stable or versions or [""])[-1]


def version_before(versions: Sequence[str], version: str) -> str | None:
    """Return the previous version in SemVer order; None for the first."""
    ordered = in_order(versions)
    at = ordered.index(version)
    return ordered[at - 1] if at else None


def in_order(versions: Sequence[str]) -> list[str]:
    """Sort versions from lowest to highest. Those that are not SemVer come first."""
    lowest = Version.of(0, 0, 0, "0")
    return sorted(versions, key=lambda text: (comparable(text) is not None, comparable(text) or lowest, text))
