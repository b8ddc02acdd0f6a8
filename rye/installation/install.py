"""One installation from question to switch. Deciding is in :mod:`resolving` and :mod:`plan`; here they are put in order.

1. ``prepare``: choose releases (from the lock, or by resolving), fetch and verify every byte, compare with what is installed.
2. The caller shows the plan and gets consent (:mod:`rye.installation.plan`).
3. ``changes``: the files, the lock and the manifest as one transaction's changes. Nothing is written before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rye.errors import RyeError
from rye.installation.on_disk import Drift, find_drift
from rye.installation.placement import item_files, item_folder, item_path
from rye.installation.plan import Consent, Plan, approved_items, make_plan
from rye.installation.resolving import Chosen, Environment, locked_records, resolve
from rye.installation.sources import Sources
from rye.installation.transaction import Change
from rye.installation.verified import VerifiedItem, verify_files
from rye.items.identity import Identity
from rye.permissions.policy import violations
from rye.project.layout import Project
from rye.project.lock import Lock, LockedItem, lock_text
from rye.project.manifest import Manifest
from rye.registry.records import ReleaseRecord, check_installable

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that is needed to install, verified, and nothing written yet."""

    plan: Plan
    items: Mapping[Identity, VerifiedItem]
    """The verified bytes of every item that is not on disk already as it shall be."""
    wanted: Mapping[str, str]
    """The manifest's keys and ranges, for the lock."""
    warnings: tuple[str, ...]


def wanted_ranges(manifest: Manifest) -> dict[str, str]:
    """What the lock remembers of the manifest: ``group/key`` outside the main group, so that moving between groups counts."""
    return {
        (w.key if w.group == "main" else f"{w.group}/{w.key}"): w.range + (" (pre-release)" if w.pre_release else "")
        for w in manifest.dependencies
    }


def is_stale(lock: Lock, manifest: Manifest) -> bool:
    """Whether the manifest asks for something else than when the lock was made."""
    return dict(lock.wanted) != wanted_ranges(manifest)


def in_groups(items: Iterable[LockedItem], without: frozenset[str]) -> list[LockedItem]:
    """The items that some group needs which is not left out."""
    return [item for item in items if not set(item.groups) <= without]


def choose(
    manifest: Manifest, lock: Lock, sources: Sources, environment: Environment, unlock: frozenset[Identity] | None
) -> dict[Identity, Chosen]:
    """The releases to lock. ``unlock`` empty and a fresh lock: exactly what the lock has; else resolved anew."""
    if unlock == frozenset() and not is_stale(lock, manifest):
        records = locked_records(lock, sources)
        return {i.identity: Chosen(records[i.identity], i.dependencies, i.groups) for i in lock.items}
    return resolve(manifest, lock, sources, environment, unlock)


def prepare(
    project: Project,
    manifest: Manifest,
    lock: Lock,
    chosen: Mapping[Identity, Chosen],
    sources: Sources,
    environment: Environment,
    without: frozenset[str] = frozenset(),
) -> Prepared:
    """Fetch and verify what is chosen, and compare with what is installed. Raises RyeError, TrustError; writes nothing."""
    records = {identity: entry.record for identity, entry in chosen.items()}
    for record in records.values():
        check_installable(record)
    verified = _verify(chosen, sources)
    _check_policy(verified.values(), environment)
    plan = make_plan(lock, [item.locked for item in verified.values()])
    warnings = tuple(_warnings(records.values(), lock))
    kept = {identity: item for identity, item in verified.items() if not set(item.locked.groups) <= without}
    return Prepared(plan, kept, wanted_ranges(manifest), warnings)


def _verify(chosen: Mapping[Identity, Chosen], sources: Sources) -> dict[Identity, VerifiedItem]:
    """All bytes in one wave per registry, all proofs in another; each item checked (:mod:`rye.installation.verified`)."""
    verified: dict[Identity, VerifiedItem] = {}
    by_client: dict[int, list[ReleaseRecord]] = {}
    for entry in chosen.values():
        by_client.setdefault(id(sources.client_of(entry.record)), []).append(entry.record)
    for records in by_client.values():
        client = sources.client_of(records[0])
        client.prove(records)
        for files in client.fetch_items(records):
            entry = chosen[files.record.identity]
            verified[files.record.identity] = verify_files(files, entry.dependencies, entry.groups)
    return dict(sorted(verified.items()))


def _check_policy(items: Iterable[VerifiedItem], environment: Environment) -> None:
    """Every item must keep to the policy, whatever a person would say."""
    found = [
        (item.locked, violation)
        for item in items
        for violation in violations(environment.policy, item.locked.capabilities)
    ]
    if found:
        listed = "\n".join(f"  {item.identity}@{item.version}: {v.message}" for item, v in found)
        raise RyeError(
            "policy-violation",
            f"The policy forbids what these items ask for:\n{listed}",
            "Choose another item or version, or have the policy changed by whoever answers for it.",
            details={
                "violations": [
                    {"item": str(item.identity), "version": item.version, "rule": v.rule, "capability": v.capability}
                    for item, v in found
                ]
            },
        )


def _warnings(records: Iterable[ReleaseRecord], lock: Lock) -> Iterable[str]:
    del lock
    for record in records:
        name = f"{record.identity}@{record.version}"
        if record.yank is not None:
            yield f"{name} was yanked by its publisher: {record.yank.reason}"
        if record.deprecation is not None:
            instead = f" Use {record.deprecation.replacement} instead." if record.deprecation.replacement else ""
            yield f"{record.identity} is deprecated: {record.deprecation.reason}{instead}"
        for advisory in record.advisories:
            yield f"{name}: advisory {advisory.number} ({advisory.severity}): {advisory.title}"


def edited_files(project: Project, lock: Lock) -> list[Drift]:
    """Installed files that were changed or added by hand: an installation would lose them."""
    return [drift for drift in find_drift(project, lock.items) if drift.state != "missing"]


def new_lock(prepared: Prepared, consent: Consent) -> Lock:
    """The lock after this installation, with what was approved."""
    return Lock(prepared.wanted, approved_items(prepared.plan, consent))


def changes(
    project: Project, old: Lock, new: Lock, items: Mapping[Identity, VerifiedItem], manifest_text: str | None = None
) -> list[Change]:
    """The files of the new state, what the old one leaves behind, the lock and (where it changed) the manifest."""
    found: list[Change] = []
    keep: set[str] = set()
    for item in new.items:
        verified = items.get(item.identity)
        if verified is None:
            continue
        keep.update(item_files(item))
        found.append(Change(item_path(item), verified.data))
        found.extend(
            Change(f"{item_folder(item)}/{entry.path}", verified.attached[entry.path], entry.executable)
            for entry in item.attached
        )
    gone = {path for item in old.items for path in item_files(item)} - keep
    found.extend(Change(path, None) for path in sorted(gone) if (project.root / path).is_file())
    found.append(Change("rye.lock", lock_text(new).encode()))
    if manifest_text is not None:
        found.append(Change("rye.toml", manifest_text.encode()))
    return found


def lock_only(old: Lock, chosen: Sequence[LockedItem], wanted: Mapping[str, str]) -> Lock:
    """The lock of ``rye lock``, which consents to nothing: approvals stay as they were, for what is still there."""
    before = {item.identity: item for item in old.items}
    items = []
    for item in chosen:
        was = before.get(item.identity)
        approved = was.approved_capabilities if was else ()
        hooks = was.approved_hooks if was else ()
        items.append(replace(item, approved_capabilities=approved, approved_hooks=hooks))
    return Lock(wanted, tuple(items))
