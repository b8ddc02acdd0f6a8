"""Auditing a registry's log: all of it computed again, its head followed, proofs made and checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import CONTENT
from rye.project.context import load_manifest
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.lock_file import read_lock
from rye.registry import mirroring
from rye.registry.client import RegistryClient
from rye.registry.protocol import tlog_proof, wire
from rye.registry.protocol.notes import VerifierKey
from rye.registry.protocol.statements import Logged, Release
from rye.registry.protocol.tlog_proof import TlogProof
from rye.registry.store import witness_demands
from rye.registry.store.state import StateStore
from rye.registry.store.witness_demands import Evidence
from rye.registry.transport.factory import open_transport
from rye.registry.trust.auditing import Auditor
from rye.registry.trust.keysets import log_keys
from rye.registry.trust.records import ReleaseRecord, find_locked
from rye.storage.home import Home
from rye.workspace.given_file import ReadStream, given_bytes
from rye.workspace.named_file import NamedFile
from rye.workspace.registries.published_items import published_release, registry_of
from rye.workspace.registries.registry_access import configured, open_registry, project_sources, reading_token

if TYPE_CHECKING:
    from rye.workspace.context import Context

_TRANSIENT = ("fetch-unreachable", "fetch-deadline", "fetch-slow", "fetch-status", "fetch-truncated", "fetch-not-found")


class LogAudit(Struct, frozen=True, kw_only=True):
    """The result of auditing a log. ``findings``: the rules that it breaks, each with its entry."""

    registry: str
    origin: str
    size: int
    root_hash: bytes
    snapshots: int
    releases: int
    names: int
    findings: tuple[dict[str, object], ...]
    count: int
    """The number of findings, including those not listed."""

    @property
    def ok(self) -> bool:
        """Whether the log breaks no rule."""
        return self.count == 0


def audit_log(context: Context) -> LogAudit:
    """Read every entry and recompute tree, snapshots, index, keys and signatures. Raises RyeError ``offline``."""
    if context.offline:
        raise RyeError("offline", "Auditing a log needs the network, and --offline forbids it.", "Omit --offline.")
    address = configured(context).main()
    with open_registry(context, address) as client:
        state, head = client.state, client.head
    transport = open_transport(address, mirroring.transport_limits(), token=reading_token(context, address))
    auditor = Auditor(state.fingerprint)
    try:
        with context.progress("reading the log", mirroring.steps(state)) as advance:
            for entry in mirroring.entries(transport, head.checkpoint, advance=advance):
                auditor.add(entry)
    finally:
        transport.close()
    audit = auditor.finish()
    findings = [finding.as_json() for finding in audit.findings]
    if (audit.root_hash, audit.map) != (head.checkpoint.root_hash, head.map):
        message = "The entries do not match the head that the registry shows."
        findings.append({"position": audit.size - 1, "code": "head-mismatch", "message": message})
    return LogAudit(
        registry=address,
        origin=state.origin,
        size=audit.size,
        root_hash=audit.root_hash,
        snapshots=audit.snapshots,
        releases=audit.releases,
        names=len(audit.index),
        findings=tuple(findings),
        count=max(audit.count, len(findings), 0 if audit.ok else 1),
    )


class Observation(Struct, frozen=True):
    """A head that was observed."""

    size: int
    root_hash: bytes
    snapshot_time: datetime


def observe(context: Context, address: str, evidence: Path | None) -> Observation | None:
    """Fetch and check the head once. None, with a warning, if the registry did not answer.

    A fork or a rollback writes both signed heads to ``evidence`` (None: a new file in the current folder) and raises TrustError's
    code as a RyeError that names the file.
    """
    try:
        with open_registry(context, address) as client:
            head = client.head
    except RyeError as error:
        if error.code in _TRANSIENT:
            context.warn(error.message)
            return None
        if "evidence" in error.details:
            raise _with_evidence(context, error, address, evidence) from error
        raise
    return Observation(head.checkpoint.size, head.checkpoint.root_hash, head.snapshot.time)


def _with_evidence(context: Context, error: RyeError, address: str, file: Path | None) -> RyeError:
    """Write both signed heads to a new file, and return the error that names it."""
    now = context.now()
    path = file or context.cwd / f"rye-evidence-{now:%Y%m%dT%H%M%SZ}.json"
    document: dict[str, object] = {
        "rule": error.code,
        "message": error.message,
        "registry": address,
        "observed": f"{now:%Y-%m-%dT%H:%M:%SZ}",
        "heads": error.details["evidence"],
    }
    try:
        with path.open("x", encoding="utf-8") as out:
            json.dump(document, out, indent=2)
            out.write("\n")
    except OSError as problem:
        hint = f"Cannot write the evidence to {path}: {problem.strerror}. The output of --json contains it."
        return RyeError(error.code, error.message, hint, details=error.details)
    return RyeError(
        error.code,
        error.message,
        f"Do not install from it. Both signed heads are in {path}. Send the file to the operator and other users.",
        details={**error.details, "file": str(path)},
    )


def kept_evidence(home: Home) -> list[tuple[Path, Evidence]]:
    """All evidence of forks that this machine has kept, oldest first."""
    return witness_demands.kept_evidence(home.registries)


class ReleaseProof(Struct, frozen=True):
    """The proof that a release is in the log."""

    record: ReleaseRecord
    size: int
    """The size of the tree."""
    text: str
    """The proof as a C2SP tlog-proof."""


def prove_release(context: Context, reference: str) -> ReleaseProof:
    """The proof that a release (``[kind:]id@version``) is in the log. Anyone can check it without a network."""
    with open_registry(context, registry_of(context, reference)) as client:
        return proof_of(client, published_release(client, reference))


def proof_of(client: RegistryClient, record: ReleaseRecord) -> ReleaseProof:
    """The proof that this release of the client's registry is in the log."""
    paths = client.prove([record]).paths
    checkpoint = wire.decode_head(client.document.encode()).checkpoint
    proof = TlogProof(record.line.note, record.line.log, paths[record.line.log], checkpoint)
    return ReleaseProof(record, client.head.checkpoint.size, proof.text())


def known_proof(context: Context, project: Project, kind: str, item_id: str, version: str | None) -> str | None:
    """The C2SP tlog-proof of an installed release; None if it is not installed, or trusted state and cache are not enough.

    Nothing is fetched: the proof is made from what this machine already has.
    """
    if not project.lock_path.exists():
        return None
    row = read_lock(project).find(Identity(kind, item_id))
    if row is None or row.source is not None or row.version != version:
        return None
    try:
        with project_sources(context, load_manifest(project), project.root, offline=True, asks=False) as sources:
            client = sources.client(row.identity.namespace)
            history = sources.releases([row.identity]).get(row.identity)
            record = find_locked(history, row.identity, row.version, row.sha256)
            return proof_of(client, record).text
    except (RyeError, OSError, KeyError):
        return None


class CheckedProof(Struct, frozen=True):
    """A proof that is valid for the log of ``origin``."""

    origin: str
    log: int
    size: int
    statement: Logged


def check_proof(
    home: Home, proof_file: NamedFile, stream: ReadStream, item: NamedFile | None = None, keys: Sequence[str] = ()
) -> CheckedProof:
    """Check a proof file, or the page of an entry as JSON, and that ``item`` has the bytes of its release.

    ``stream``: reads the file called ``-``. ``keys``: the log's keys as ``name+id+key``; empty: those of the pinned registry.
    Raises RyeError, among them ``registry-unpinned``, ``wrong-statement``, ``other-bytes``, ``note-key-invalid``.
    """
    data = given_bytes(proof_file, stream, tlog_proof.MAX_PAGE_BYTES)
    is_page = data.lstrip(b" \t\r\n")[:1] == b"{"
    proof = tlog_proof.read_page(data) if is_page else tlog_proof.read(data)
    origin, known = _given_keys(keys) if keys else _pinned_keys(home, proof)
    statement, checkpoint = tlog_proof.verify(proof, origin, known)
    if item is not None:
        _check_item(statement, item.path, item.shown)
    return CheckedProof(origin, proof.index, checkpoint.size, statement)


def _given_keys(keys: Sequence[str]) -> tuple[str, tuple[VerifierKey, ...]]:
    """The origin in the names of a log's keys, and the keys. Raises RyeError ``note-key-invalid``, ``several-logs``."""
    read = tuple(VerifierKey.from_vkey(key) for key in keys)
    names = {key.name for key in read}
    if len(names) > 1:
        shown = " and ".join(sorted(names))
        raise RyeError("several-logs", f"The keys belong to different logs: {shown}.", "Pass the keys of one log.")
    return read[0].name, read


def _pinned_keys(home: Home, proof: TlogProof) -> tuple[str, tuple[VerifierKey, ...]]:
    origin = tlog_proof.read_checkpoint(proof)[1].origin
    state = StateStore(home.registries).load(origin)
    if state is None:
        raise RyeError(
            "registry-unpinned",
            f"The proof is from the registry {origin}, which is not pinned.",
            "Pin it with `rye registry add ADDRESS --fingerprint HASH`, or pass the log's key with `--key NAME+ID+KEY`.",
        )
    return origin, log_keys(state.root)


def _check_item(statement: Logged, item: Path, shown: str) -> None:
    if not isinstance(statement, Release):
        raise RyeError("wrong-statement", "The proof is not for a release.", "Omit --item.", what="release")
    if sha256(read_item_bytes(item, CONTENT.item_bytes)).hexdigest() != statement.file.sha256:
        raise RyeError(
            "other-bytes",
            f"{shown} differs from {statement.identity} {statement.version}.",
            "It was changed or is a different version. `rye verify` checks its signature.",
        )
