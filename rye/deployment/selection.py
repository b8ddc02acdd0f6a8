"""Which installed items a project deploys, and where. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from rye.deployment.request import Scope
from rye.deployment.targets.protocol import Target
from rye.installation.completeness import roots
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import DeployTable, Manifest


def matches(identity: Identity, patterns: Iterable[str]) -> bool:
    """Whether a pattern of rye.toml matches the item: ``kind:id``, or an id of any kind."""
    return any(fnmatchcase(str(identity), one) or fnmatchcase(identity.id, one) for one in patterns)


def asked_for(lock: Lock, manifest: Manifest) -> frozenset[Identity]:
    """Return the items that rye.toml asks for, including the members of bundles."""
    rows = lock.by_identity()
    identities: set[Identity] = set()
    waiting = [identity for _, identity in roots(lock, manifest)]
    while waiting:
        identity = waiting.pop()
        if identity in identities:
            continue
        identities.add(identity)
        row = rows.get(identity)
        if row is not None and row.kind == "bundle":
            parts = (name.partition(":") for name in row.dependencies)
            waiting += [Identity(kind, identifier) for kind, _, identifier in parts]
    return frozenset(identities)


def included(lock: Lock, manifest: Manifest) -> list[LockedItem]:
    """Return the items that are deployed to any target, sorted."""
    patterns = manifest.deploy.include
    if patterns is None:
        asked = asked_for(lock, manifest)
        rows = [row for row in lock.items if row.identity in asked]
    else:
        rows = [row for row in lock.items if matches(row.identity, patterns)]
    return sorted(rows, key=lambda row: row.identity)


def excluded(table: DeployTable, target: str, identity: Identity) -> bool:
    """Whether rye.toml excludes an item from a target."""
    return matches(identity, table.excluded.get(target, ()))


def detected(targets: Sequence[Target], scope: Scope, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the programs whose files or folders exist."""
    return tuple(one.name for one in targets if any(exists(path) for path in one.places[scope].detected_by))
