"""``rye log``: anybody audits. Read a registry's whole log again, follow its heads, prove what is in it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.registry.registry_access import configured, open_registry, show_document
from rye.errors import RyeError, UsageError
from rye.limits import MIRROR
from rye.storage.folders import data_dir

if TYPE_CHECKING:
    from rye.registry.protocol.statements import Logged

_TRANSIENT = ("fetch-unreachable", "fetch-deadline", "fetch-slow", "fetch-status", "fetch-truncated", "fetch-not-found")


# -- verify ---------------------------------------------------------------------------------------------------------------------


@command("verify")
@click.pass_obj
def verify(session: Session) -> None:
    """Read every entry of the registry's log and compute everything again: tree, snapshots, index, keys, signatures.

    Exit 1 when the log breaks any of its rules; each finding names the entry.
    """
    from rye.registry import mirroring
    from rye.registry.protocol import wire
    from rye.registry.transport.seam import open_transport
    from rye.registry.trust.auditing import Auditor

    if session.offline:
        raise RyeError("offline", "The log is read from the network, and --offline forbids it.", "Leave --offline out.")
    address = configured(session).main()
    with open_registry(session, address) as client:
        state, head = client.state, client.head
    transport = open_transport(address, mirroring.transport_limits())
    auditor = Auditor(state.fingerprint)
    try:
        with session.console.progress("reading the log", mirroring.steps(state)) as advance:
            for entry in mirroring.entries(transport, head.checkpoint, advance=advance):
                auditor.add(entry)
    finally:
        transport.close()
    audit = auditor.finish()
    findings = [finding.as_json() for finding in audit.findings]
    shards = wire.shards_root(audit.shards)
    if (audit.root_hash, shards) != (head.checkpoint.root_hash, head.snapshot.shards):
        message = "The entries do not make the head that the registry shows."
        findings.append({"position": audit.size - 1, "code": "head-mismatch", "message": message})
    ok = audit.ok and not findings
    document: dict[str, object] = {
        "ok": ok,
        "registry": address,
        "origin": state.origin,
        "size": audit.size,
        "root_hash": audit.root_hash.hex(),
        "snapshots": audit.snapshots,
        "releases": audit.releases,
        "names": len(audit.index),
        "findings": findings,
        "count": max(audit.count, len(findings)),
    }
    text = (
        f"{state.origin}: {audit.size} entries, {audit.snapshots} snapshots, {audit.releases} releases: all as it must be"
        if ok
        else "\n".join(f"entry {f['position']}: {f['code']}: {f['message']}" for f in findings)
    )
    show_document(session, document, text)
    if not ok:
        session.console.say("Do not install from it. Keep this output and show it to the operator.", "hint")
        raise click.exceptions.Exit(1)


# -- watch ----------------------------------------------------------------------------------------------------------------------


@command("watch")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 86400),
    default=MIRROR.watch_seconds,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--count", type=click.IntRange(1), help="Look this often, then end; without it, until interrupted.")
@click.option("--evidence", metavar="FILE", help="Where evidence of a fork goes; default: a new file here.")
@click.pass_obj
def watch(session: Session, interval: float, count: int | None, evidence: str | None) -> None:
    """Follow the registry's head. A fork or a rollback ends it with exit 1 and a file with both signed heads as evidence.

    Give a mirror's address with --registry: what one address showed is remembered for all addresses of the same registry.
    """
    if session.json and count is None:
        raise UsageError("usage", "--json prints one document at the end, so it needs --count.", "Give --count N.")
    address = configured(session).main()
    seen: list[dict[str, object]] = []
    while True:
        observation = _look(session, address, evidence)
        if observation is not None:
            if not session.json and (not seen or seen[-1] != observation):
                session.console.data(f"{observation['size']} {observation['root_hash']} {observation['snapshot_time']}")
            seen.append(observation)
        if count is not None:
            count -= 1
            if count == 0:
                break
        time.sleep(interval)
    if session.json:
        session.console.document({"registry": address, "observations": seen})


def _look(session: Session, address: str, evidence: str | None) -> dict[str, object] | None:
    """One look at the head; None where the registry did not answer."""
    from rye.registry.protocol.lines import write_time

    try:
        with open_registry(session, address) as client:
            head = client.head
    except RyeError as error:
        if error.code in _TRANSIENT:
            session.console.warn(error.message)
            return None
        if "evidence" in error.details:
            raise _with_evidence(session, error, address, evidence) from error
        raise
    return {
        "size": head.checkpoint.size,
        "root_hash": head.checkpoint.root_hash.hex(),
        "snapshot_time": write_time(head.snapshot.time),
    }


def _with_evidence(session: Session, error: RyeError, address: str, file: str | None) -> RyeError:
    """The error with both signed heads in a file that is never written over."""
    now = datetime.now(UTC)
    path = session.path(file or f"rye-evidence-{now:%Y%m%dT%H%M%SZ}.json")
    document: dict[str, Any] = {
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
        hint = f"The evidence could not be written to {path} ({problem.strerror}); it is in --json."
        return RyeError(error.code, error.message, hint, details=error.details)
    return RyeError(
        error.code,
        error.message,
        f"Do not install from it. Both signed heads are in {path}: show them to the operator and to other users.",
        details={**error.details, "file": str(path)},
    )


# -- prove and check ------------------------------------------------------------------------------------------


@command("prove")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("-o", "--output", metavar="FILE", help="Write the proof there; default: standard output.")
@click.pass_obj
def prove(session: Session, release: str, output: str | None) -> None:
    """Write the proof that a release is in the log: one file (C2SP tlog-proof) that anybody checks without a network."""
    from rye.cli.publish.owner_statements import published_release, registry_of
    from rye.registry.protocol import wire
    from rye.registry.protocol.tlog_proof import TlogProof

    with open_registry(session, registry_of(session, release)) as client:
        record = published_release(client, release)
        paths = client.prove([record]).paths
        checkpoint = wire.decode_head((client.state.head or "").encode()).checkpoint
        proof = TlogProof(record.line.note, record.line.log, paths[record.line.log], checkpoint)
        size = client.head.checkpoint.size
    text = proof.text()
    if output is not None:
        path = session.path(output)
        if path.exists():
            raise RyeError("file-exists", f"{output} exists.", "Give another name to -o.")
        path.write_text(text, encoding="utf-8")
    document: dict[str, object] = {
        "id": record.identity.id,
        "kind": record.identity.kind,
        "version": record.version,
        "log": record.line.log,
        "size": size,
        "file": output,
        "proof": text,
    }
    if session.json:
        session.console.document(document)
    elif output is None:
        session.console.data(text, newline=False)
    else:
        session.console.data(f"wrote {output}; `rye log check-proof {output}` checks it without a network")


@command("check-proof")
@click.argument("file", metavar="FILE")
@click.option("--item", metavar="FILE", help="Check also that this file has the bytes of the release.")
@click.pass_obj
def check_proof(session: Session, file: str, item: str | None) -> None:
    """Check a proof file against the registry that you pinned, without a network."""
    from rye.project.item_file import read_bytes
    from rye.registry.protocol import tlog_proof
    from rye.registry.store.state import StateStore
    from rye.registry.trust.keysets import log_keys

    proof = tlog_proof.read(read_bytes(session.path(file), tlog_proof.MAX_PROOF_BYTES))
    origin = tlog_proof.read_checkpoint(proof)[1].origin
    state = StateStore(data_dir() / "registries").load(origin)
    if state is None:
        raise RyeError(
            "registry-unpinned",
            f"The proof is of the registry {origin}, which is not pinned here.",
            "Pin it first: `rye registry add ADDRESS --fingerprint HASH`.",
        )
    statement, checkpoint = tlog_proof.verify(proof, origin, log_keys(state.root))
    document: dict[str, object] = {
        "ok": True,
        "origin": origin,
        "log": proof.index,
        "size": checkpoint.size,
        **_described(statement),
    }
    if item is not None:
        _check_item(session, statement, item)
        document["item"] = item
    what = " ".join(str(document[name]) for name in ("statement", "id", "version") if document.get(name))
    show_document(session, document, f"{what} is entry {proof.index} of the log of {origin}")


def _described(statement: Logged) -> dict[str, object]:
    from rye.registry.protocol.statements import Release

    described: dict[str, object] = {"statement": statement.TITLE}
    identity = getattr(statement, "identity", None)
    if identity is not None:
        described.update(kind=identity.kind, id=identity.id)
    if isinstance(statement, Release):
        described.update(version=statement.version, sha256=statement.file.sha256)
    return described


def _check_item(session: Session, statement: Logged, item: str) -> None:
    from hashlib import sha256

    from rye.limits import CONTENT
    from rye.project.item_file import read_bytes
    from rye.registry.protocol.statements import Release

    path: Path = session.path(item)
    if not isinstance(statement, Release):
        raise RyeError("not-a-release", "The proof is not of a release.", "Leave --item out.")
    if sha256(read_bytes(path, CONTENT.item_bytes)).hexdigest() != statement.file.sha256:
        raise RyeError(
            "other-bytes",
            f"{item} does not have the bytes of {statement.identity} {statement.version}.",
            "It was changed, or is another version: `rye verify` checks its signature.",
        )


log = family(
    "log",
    "Audit a registry's log.",
    {
        "verify": ("rye.cli.registry.log:verify", "Compute everything again from all entries."),
        "watch": ("rye.cli.registry.log:watch", "Follow the head; report forks with evidence."),
        "prove": ("rye.cli.registry.log:prove", "Write the proof that a release is in the log."),
        "check-proof": ("rye.cli.registry.log:check_proof", "Check such a proof without a network."),
    },
)
