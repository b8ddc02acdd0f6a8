"""The last checks of a release's bytes before the item can be installed. Pure.

The checks are those of :mod:`rye.registry.trust.file_acceptance`, with the keyset under which the item was released.
Each has its own error code (docs/reference/protocol.md, What a client does, 5): ``item-misplaced``, ``item-invalid``,
``item-unsigned``, ``manifest-mismatch``.

:mod:`rye.registry.client` has already checked the note's signature, the keyset, inclusion in the log, sizes and hashes.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from rye.items.consented import Run
from rye.items.reading import Metadata
from rye.items.runs import attached_runs
from rye.items.signed_release import Mention, SignedRelation, SignedRelease
from rye.project.lock import LockedFile, LockedItem
from rye.registry.protocol.statements import Relation, Release
from rye.registry.released import ItemFiles
from rye.registry.trust.file_acceptance import Refusal, judge_release_file
from rye.registry.trust.records import ReleaseRecord
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PublicKey


class VerifiedItem(Struct, frozen=True):
    """An item that passed every check, with all its bytes. ``locked`` carries no approvals yet."""

    locked: LockedItem
    signed: SignedRelease
    metadata: Metadata
    data: bytes
    attached: dict[str, bytes]


def verify_files(
    files: ItemFiles,
    dependencies: tuple[str, ...],
    groups: tuple[str, ...],
    metadata: Metadata | None = None,
    mentions: tuple[Mention, ...] | None = None,
    *,
    forced: str | None = None,
) -> VerifiedItem:
    """Check one release's bytes and return the verified item. Raises TrustError.

    ``dependencies``: the identities that its dependencies resolved to; ``metadata``: an earlier result of :func:`judge_files`
    for the same :func:`judgement_inputs`; ``mentions``: its cautions and alarms, None if they were not computed; ``forced``:
    the range that ``[overrides]`` forces on it.
    """
    release = files.record.release
    metadata = judge_files(files) if metadata is None else metadata
    locked = LockedItem(
        kind=release.identity.kind,
        id=release.identity.id,
        version=release.version,
        size=release.file.size,
        sha256=release.file.sha256,
        suffix=release.file.suffix,
        registry=release.origin,
        log=files.record.line.log,
        keyset=release.keyset,
        signer=PublicKey(files.record.signers[0]).fingerprint,
        attached=tuple(LockedFile(a.path, a.size, a.sha256, a.executable) for a in release.attached),
        dependencies=dependencies,
        capabilities=metadata.capabilities,
        agent_tools=metadata.agent_tools.names if metadata.agent_tools else (),
        agent_limits=metadata.agent_tools.limits if metadata.agent_tools else (),
        runs=item_runs(files, metadata),
        hooks=metadata.hooks,
        groups=groups,
        forced=forced,
    )
    words = replace(
        signed_words(release, locked, mentions),
        signers=files.record.counted,
        time=release.time,
    )
    return VerifiedItem(locked, words, metadata, files.file, dict(files.attached))


def signed_words(
    release: Release, locked: LockedItem | None = None, mentions: tuple[Mention, ...] | None = None
) -> SignedRelease:
    """Return what a release says about its item. ``locked``: the row made from its verified bytes; ``mentions``: their cautions
    and alarms. Without ``locked``, hooks, tools and runs are left out."""
    return SignedRelease(
        capabilities=release.capabilities if locked is None else locked.capabilities,
        agent_tools=() if locked is None else locked.agent_tools,
        agent_limits=() if locked is None else locked.agent_limits,
        hooks=() if locked is None else locked.hooks,
        runs=() if locked is None else locked.runs,
        mentions=mentions,
        depends_on=_relations(release.depends_on),
        requires=_relations(release.requires),
        conflicts_with=_relations(release.conflicts_with),
    )


def _relations(relations: Iterable[Relation]) -> tuple[SignedRelation, ...]:
    return tuple(SignedRelation(relation.reference, relation.identity, relation.range) for relation in relations)


def item_runs(files: ItemFiles, metadata: Metadata) -> tuple[Run, ...]:
    """Return the code in a release that can run: started by its main file, or attached."""
    attached = (
        (entry.path, entry.executable, entry.sha256, files.attached[entry.path])
        for entry in files.record.release.attached
    )
    return tuple(sorted({*metadata.runs, *attached_runs(attached, files.file)}))


def judgement_inputs(record: ReleaseRecord) -> tuple[str, str]:
    """Return what the result of :func:`judge_files` depends on: the signed note, which has the hash of every file, and the
    keyset's hash."""
    return record.line.note, record.link.sha256


def judge_files(files: ItemFiles) -> Metadata:
    """Check one release's bytes, and return the item's metadata. Raises TrustError."""
    release = files.record.release
    keys = files.record.link.keyset.accepted_keys()
    found = judge_release_file(release, files.file, keys)
    if isinstance(found, Refusal):
        raise _refused(release, found)
    return found.metadata


def _refused(release: Release, refusal: Refusal) -> TrustError:
    subject = f"{release.identity} {release.version}"
    match refusal.rule:
        case "place":
            return TrustError("item-misplaced", f"{subject} cannot be installed: {refusal.reason}.")
        case "text" | "format":
            return TrustError("item-invalid", f"The file of {subject} breaks a rule of its format: {refusal.reason}")
        case "signature":
            return TrustError(
                "item-unsigned",
                f"The file of {subject} is not signed by a key of {release.identity.namespace!r}: {refusal.reason}",
                verdict=refusal.verdict,
            )
        case "note":
            return TrustError("manifest-mismatch", f"The release of {subject} contradicts the item: {refusal.reason}.")
