"""Rows of rye.lock that come from ``[sources]``: how an item is locked, and whether a row still matches its source.

Pure. The bytes were checked against the commit hash or read from the folder (:mod:`rye.sources`). A row matches if it
describes exactly these bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.runs import attached_runs
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.policy import Policy
from rye.permissions.source_scale import source_refusal
from rye.project.lock import LockedFile, LockedItem, LockedSource
from rye.registry.trust.records import ItemHistory
from rye.sources.record import SourceHistory, SourceRecord
from rye.verified.release import VerifiedItem, signed_words

_FIELDS = ("version", "size", "sha256", "suffix", "attached", "source")


def source_item(
    record: SourceRecord,
    dependencies: tuple[str, ...],
    groups: tuple[str, ...],
    mentions: tuple[Mention, ...] | None,
    forced: str | None = None,
) -> VerifiedItem:
    """Return the item with its row for the lock. ``mentions``: its cautions and alarms; ``forced``: the range that
    ``[overrides]`` forces on it."""
    release, metadata = record.release, record.metadata
    files = ((a.path, a.executable, a.sha256, record.attached[a.path]) for a in release.attached)
    row = LockedItem(
        kind=release.identity.kind,
        id=release.identity.id,
        version=release.version,
        size=release.file.size,
        sha256=release.file.sha256,
        suffix=release.file.suffix,
        registry=release.origin,
        signer=record.signer or release.origin,
        source=record.source,
        attached=tuple(LockedFile(a.path, a.size, a.sha256, a.executable) for a in release.attached),
        dependencies=dependencies,
        capabilities=metadata.capabilities,
        agent_tools=metadata.agent_tools.names if metadata.agent_tools else (),
        agent_limits=metadata.agent_tools.limits if metadata.agent_tools else (),
        runs=tuple(sorted({*metadata.runs, *attached_runs(files)})),
        hooks=metadata.hooks,
        groups=groups,
        forced=forced,
    )
    words = signed_words(release, row, mentions)
    return VerifiedItem(row, _signed_by(words, record.signer), metadata, record.data, dict(record.attached))


def locked_source_record(item: LockedItem, history: ItemHistory | SourceHistory | None) -> SourceRecord:
    """Return the item that a row names, from its source in the locked state. Raises RyeError ``source-changed`` if the folder
    has changed, ``lock-mismatch`` if the row contradicts its commit."""
    record = history.records[0] if isinstance(history, SourceHistory) else None
    if record is None:
        raise differs(item, "the item is not there")
    found = source_item(record, (), (), None).locked
    for name in _FIELDS:
        says, true = getattr(item, name), getattr(found, name)
        if says != true and not (name == "attached" and sorted(says) == sorted(true)):
            raise differs(item, _difference(name, says, true))
    return record


def differs(item: LockedItem, what: str) -> RyeError:
    """Return the error for a row that does not match its source."""
    assert item.source is not None
    if item.source.path is not None:
        return RyeError(
            "source-changed",
            f"{item.identity} in the folder {item.source.path} differs from rye.lock: {what}.",
            "`rye install` looks at it again, shows what changed, and writes rye.lock.",
        )
    return RyeError(
        "lock-mismatch",
        f"rye.lock contradicts {item.identity} {item.version} at commit {item.source.commit}: {what}.",
        "Someone changed rye.lock. Restore it from version control, or delete it and run `rye install`, which asks for every "
        "right again.",
    )


def source_refused(policy: Policy, item: LockedItem) -> str | None:
    """Return why the policy refuses the item's source; None if it does not. ``item``: with its signer (:func:`with_signers`)."""
    if item.source is None:
        return None
    return source_refusal(policy.sources, is_git=item.source.git is not None, signed=not item.is_unsigned)


def with_signers(items: Sequence[LockedItem], known: Mapping[Identity, SignedRelease]) -> tuple[LockedItem, ...]:
    """Return the rows with the signers found when they were verified here, because the lock has none for items of sources."""
    return tuple(item.with_signer(known[item.identity].signed_by) if item.identity in known else item for item in items)


def _signed_by(words: SignedRelease, signer: str | None) -> SignedRelease:
    return replace(words, signed_by=signer)


def _difference(name: str, says: object, true: object) -> str:
    if name in ("version", "size", "sha256", "suffix"):
        return f"its {name} is {true}, not {says}"
    if name == "attached":
        return "its attached files differ"
    if isinstance(says, LockedSource) and isinstance(true, LockedSource):
        parts = [(part, getattr(says, part), getattr(true, part)) for part in LockedSource.__struct_fields__]
        return ", ".join(f"its source's {part} is {there}, not {said}" for part, said, there in parts if said != there)
    return f"its {name} differs"
