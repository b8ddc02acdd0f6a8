"""From a release's fetched bytes to an item that may be installed: the last checks before anything is written. Pure.

In order, each with its own code; the first that fails ends it (docs/protocol.md, What a client does, 5):

0. Its files have places of their own: no other item's and no other file's of the same release (``item-misplaced``).
1. The item is text that the content rules allow, and its kind's parser can read it (``item-invalid``).
2. Its in-file signature is ``valid`` by a key of the keyset under which it was released (``item-unsigned``).
3. Relations, capabilities, hooks, name and version are what the signed note says (``manifest-mismatch``).

Signature of the note, keyset, inclusion in the log, sizes and hashes were checked by :mod:`rye.registry.client`.
"""

from __future__ import annotations

from msgspec import Struct

from rye.items.kinds import KINDS
from rye.items.published import read_published
from rye.items.reading import Metadata
from rye.project.lock import LockedFile, LockedItem
from rye.registry.client import ItemFiles
from rye.registry.trust.records import ReleaseRecord, check_manifest
from rye.registry.trust.trust_error import TrustError
from rye.signing.keys import PublicKey
from rye.signing.verification import verify


class VerifiedItem(Struct, frozen=True):
    """An item that passed every check, with all its bytes. ``locked`` carries no approvals yet."""

    locked: LockedItem
    metadata: Metadata
    data: bytes
    attached: dict[str, bytes]


def verify_files(
    files: ItemFiles, dependencies: tuple[str, ...], groups: tuple[str, ...], metadata: Metadata | None = None
) -> VerifiedItem:
    """Check one release's bytes. ``dependencies``: identities that it was resolved to; ``metadata``: what :func:`judge_files`
    said of the same :func:`judged_by` before. Raises TrustError."""
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
        agent_tools=tuple(sorted(set(metadata.agent_tools))),
        hooks=metadata.hooks,
        groups=groups,
    )
    return VerifiedItem(locked, metadata, files.file, dict(files.attached))


def judged_by(record: ReleaseRecord) -> tuple[str, str]:
    """Everything that :func:`judge_files` reads: the signed note, which fixes every byte by its hash, and the keyset's hash."""
    return record.line.note, record.link.sha256


def judge_files(files: ItemFiles) -> Metadata:
    """What one release's bytes say of the item, when every check accepts them. Raises TrustError."""
    release = files.record.release
    subject = f"{release.identity} {release.version}"
    _check_place(files, subject)
    metadata = _read(files, subject)
    keyset_keys = [PublicKey(raw) for raw in files.record.link.keyset.keys]
    verification = verify(files.file, release.identity.kind, f"x{release.file.suffix}", keyset_keys)
    if not verification.ok:
        raise TrustError(
            "item-unsigned",
            f"The file of {subject} is not signed by a key of {release.identity.namespace!r}: {verification.detail}",
            verdict=verification.verdict,
        )
    check_manifest(files.record, metadata)
    return metadata


def _check_place(files: ItemFiles, subject: str) -> None:
    """Two items' files never share a path, on no system: what stands in a flat kind's folder has no folders of its own."""
    release = files.record.release
    kind = KINDS[release.identity.kind]
    wrong = None
    if not kind.nested and "/" in release.identity.local_id:
        wrong = f"a {kind.name} stands directly below its namespace"
    elif kind.main_file is None and release.attached:
        wrong = f"a {kind.name} has no attached files"
    elif release.file.suffix not in ((kind.main_file,) if kind.main_file else kind.suffixes):
        wrong = f"no {kind.name} has a file that ends with {release.file.suffix}"
    else:
        seen = {(kind.main_file or "").lower()}
        for entry in release.attached:
            path = entry.path.lower()
            above = {path[:cut] for cut, letter in enumerate(path) if letter == "/"}
            if path in seen or any(other.startswith(f"{path}/") for other in seen) or above & seen:
                wrong = f"{entry.path!r} and another of its files have the same place"
            seen.add(path)
    if wrong is not None:
        raise TrustError("item-misplaced", f"{subject} cannot be installed: {wrong}.")


def _read(files: ItemFiles, subject: str) -> Metadata:
    release = files.record.release
    reading = read_published(release.identity, release.file.suffix, files.file, files.attached)
    error = next((finding for finding in reading.diagnostics if finding.severity == "error"), None)
    if reading.metadata is None or error is not None:
        why = error.message if error is not None else "it cannot be read."
        raise TrustError("item-invalid", f"The file of {subject} breaks a rule of its format: {why}")
    return reading.metadata
