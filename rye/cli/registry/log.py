"""``rye log``: audit a registry's log: recompute it, follow its heads, prove what is in it."""

from __future__ import annotations

import itertools
import sys
import time
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import asdict, replace

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import UsageError
from rye.limits import MIRROR
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Logged, Release
from rye.workspace.named_file import NamedFile
from rye.workspace.new_file import write_new
from rye.workspace.registries import log_audit
from rye.workspace.registries.log_audit import Observation, audit_log, observe, prove_release
from rye.workspace.registries.registry_access import configured

if TYPE_CHECKING:
    from rye.workspace.registries.namespace_watch import Watch, WatchRequest


@command("verify")
@click.pass_obj
def verify(session: Session) -> int:
    """Read every entry of the registry's log, and recompute tree, snapshots, index, keys and signatures.

    Exits 1 if the log breaks any of its rules; each finding names the entry.
    """
    audit = audit_log(session)
    document: dict[str, object] = {
        "ok": audit.ok,
        "registry": audit.registry,
        "origin": audit.origin,
        "size": audit.size,
        "root_hash": audit.root_hash.hex(),
        "snapshots": audit.snapshots,
        "releases": audit.releases,
        "names": audit.names,
        "findings": list(audit.findings),
        "count": audit.count,
    }
    text = (
        f"{audit.origin}: {audit.size} entries, {audit.snapshots} snapshots, {audit.releases} releases: no problems found"
        if audit.ok
        else "\n".join(f"entry {f['position']}: {f['code']}: {f['message']}" for f in audit.findings)
    )
    session.console.answer(document, text)
    if audit.ok:
        return 0
    session.console.say("Do not install from this registry. Keep this output and show it to the operator.", "hint")
    return 1


@command("watch")
@click.option(
    "--interval",
    type=click.FloatRange(0.1, 86400),
    default=MIRROR.watch_seconds,
    show_default=True,
    help="Seconds between checks.",
)
@click.option("--count", type=click.IntRange(1), help="Stop after this many checks (default: until interrupted).")
@click.option("--evidence", metavar="FILE", help="Where to write evidence of a fork (default: a new file here).")
@click.option("--namespace", "namespaces", multiple=True, help="Tell what is logged under this name; repeatable.")
@click.option("--since", metavar="FILE", help="Start after this signed checkpoint.")
@click.option("--state", metavar="FILE", help="Where to remember what was seen (default: a file in your data folder).")
@click.option("--expect", metavar="FILE", help="Lines KIND:ID@VERSION: releases of yours that are no news.")
@click.option("--look-alikes", is_flag=True, help="Also tell of new namespaces that look like yours.")
@click.option("--exec", "command_", metavar="CMD", help="Run CMD with the news as JSON on its standard input.")
@click.option("--webhook", metavar="URL", help="POST the news as JSON to URL.")
@click.option(
    "--once", is_flag=True, help="Look once, for cron and CI. Exits 3 if there is news, 4 if it could not be told."
)
@click.pass_obj
def watch(
    session: Session,
    interval: float,
    count: int | None,
    evidence: str | None,
    namespaces: tuple[str, ...],
    since: str | None,
    state: str | None,
    expect: str | None,
    look_alikes: bool,
    command_: str | None,
    webhook: str | None,
    once: bool,
) -> int:
    """Follow the registry's head. On a fork or rollback, write both signed heads to a file as evidence and exit 1.

    With --namespace, tell everything that is logged under your names: releases, keys, yanks, recoveries, takedowns, and
    whether one of this machine's keys signed it. Neither registry nor mirror is trusted.

    To follow a mirror, give its address with --registry. All addresses of one registry share what was seen.
    """
    own = (since, state, expect, command_, webhook)
    if not namespaces and (once or look_alikes or any(one is not None for one in own)):
        raise UsageError("usage", "These options belong to a watch over names.", "Add --namespace NAME.")
    if namespaces:
        from rye.workspace.registries.namespace_watch import WatchRequest  # as below

        path = (
            session.path(state)
            if state
            else session.home.registries.parent / "watch" / f"{'+'.join(sorted(namespaces))}.json"
        )
        request = WatchRequest(
            namespaces=frozenset(namespaces),
            state=path,
            since=session.path(since) if since else None,
            expected=session.path(expect) if expect else None,
            look_alikes=look_alikes,
            command=command_,
            webhook=webhook,
        )
        return _watch_names(session, request, interval, 1 if once else count)
    _watch_head(session, interval, count, evidence)
    return 0


def _watch_names(session: Session, request: WatchRequest, interval: float, count: int | None) -> int:
    from rye.workspace.registries.namespace_watch import (
        watch_namespaces,
    )  # an HTTP client, which the others do not need

    if session.json and count is None:
        raise UsageError(
            "usage", "--json prints one document at the end, so it needs --once or --count.", "Give --once."
        )
    looks: list[Watch] = []
    for number in itertools.count(1):
        found = watch_namespaces(session, request)
        looks = [*looks, found] if session.json else [found]
        if not session.json:
            for one in found.new:
                version = f"@{one.version}" if one.version else ""
                signer = "signed by a key of this machine" if one.own else "not signed by a key of this machine"
                session.console.data(f"{one.log} {one.time} {one.what} {one.name}{version}: {signer}")
            if found.problem is not None:
                session.console.say(f"{found.problem} It is told again next time.", "warning")
            if not found.new and count == 1:
                session.console.say(f"{found.origin}: nothing new in {found.size - found.since} entries.")
        if number == count:
            break
        request = replace(request, since=None)
        time.sleep(interval)
    if session.json:
        session.console.document({"looks": [{**msgspec.to_builtins(one), "exit": one.code} for one in looks]})
    return max(one.code for one in looks)


def _watch_head(session: Session, interval: float, count: int | None, evidence: str | None) -> None:
    if session.json and count is None:
        raise UsageError("usage", "--json prints one document at the end, so it needs --count.", "Give --count N.")
    address = configured(session).main()
    file = session.path(evidence) if evidence is not None else None
    seen: list[Observation] = []
    looks = 0
    while True:
        observation = observe(session, address, file)
        if observation is not None:
            if not session.json and (not seen or seen[-1] != observation):
                time_ = write_time(observation.snapshot_time)
                session.console.data(f"{observation.size} {observation.root_hash.hex()} {time_}")
            seen = [*seen, observation] if session.json else [observation]
        looks += 1
        if looks == count:
            break
        time.sleep(interval)
    if session.json:
        session.console.document({"registry": address, "observations": [_observed(one) for one in seen]})


def _observed(observation: Observation) -> dict[str, object]:
    return {
        "size": observation.size,
        "root_hash": observation.root_hash.hex(),
        "snapshot_time": write_time(observation.snapshot_time),
    }


@command("evidence")
@click.pass_obj
def evidence(session: Session) -> None:
    """Show the evidence of forks that this machine has kept: pairs of signed heads of which only one can be true.

    Each file has both heads with their signatures, so everybody who has the log's key can check them.
    """
    found = log_audit.kept_evidence(session.home)
    if session.json:
        session.console.document({"evidence": [{"file": str(path), **asdict(one)} for path, one in found]})
        return
    if not found:
        session.console.say("No registry has contradicted itself here.")
    for path, one in found:
        session.console.data(f"{one.observed} {one.origin} at {one.registry}: {one.rule}: {one.message}")
        session.console.data(f"    {path}")


@command("prove")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("-o", "--output", metavar="FILE", help="Write the proof to FILE (default: standard output).")
@click.pass_obj
def prove(session: Session, release: str, output: str | None) -> None:
    """Write the proof that a release is in the log: one file (C2SP tlog-proof) that anyone can check offline."""
    proof = prove_release(session, release)
    if output is not None:
        write_new(NamedFile(session.path(output), output), proof.text)
    record = proof.record
    document: dict[str, object] = {
        "id": record.identity.id,
        "kind": record.identity.kind,
        "version": record.version,
        "log": record.line.log,
        "size": proof.size,
        "file": output,
        "proof": proof.text,
    }
    if session.json:
        session.console.document(document)
    elif output is None:
        session.console.data(proof.text, newline=False)
    else:
        session.console.data(f"wrote {output}; `rye log check-proof {output}` checks it offline")


@command("check-proof")
@click.argument("file", metavar="FILE")
@click.option("--item", metavar="FILE", help="Also check that this file has the bytes of the release.")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="NAME+ID+KEY",
    help="Check with this log key instead of the registry that you pinned; repeatable.",
)
@click.pass_obj
def check_proof(session: Session, file: str, item: str | None, keys: tuple[str, ...]) -> None:
    """Check a proof offline, against the registry that you pinned or with the log's key.

    FILE comes from `rye log prove`, or is a log entry that a registry served as JSON; - reads standard input.
    """
    named = NamedFile(session.path(item), item) if item is not None else None
    proof = log_audit.check_proof(session.home, NamedFile(session.path(file), file), sys.stdin.buffer.read, named, keys)
    document: dict[str, object] = {
        "ok": True,
        "origin": proof.origin,
        "log": proof.log,
        "size": proof.size,
        **_described(proof.statement),
    }
    if item is not None:
        document["item"] = item
    what = " ".join(str(document[name]) for name in ("statement", "id", "version") if document.get(name))
    session.console.answer(document, f"{what} is entry {proof.log} of the log of {proof.origin}")


def _described(statement: Logged) -> dict[str, object]:
    described: dict[str, object] = {"statement": statement.TITLE}
    identity = getattr(statement, "identity", None)
    if identity is not None:
        described.update(kind=identity.kind, id=identity.id)
    if isinstance(statement, Release):
        described.update(version=statement.version, sha256=statement.file.sha256)
    return described


log = family(
    "log",
    "Audit a registry's log.",
    {
        "verify": ("rye.cli.registry.log:verify", "Recompute everything from all entries."),
        "watch": ("rye.cli.registry.log:watch", "Follow the head, or everything under your names."),
        "evidence": ("rye.cli.registry.log:evidence", "Show kept evidence of forks."),
        "prove": ("rye.cli.registry.log:prove", "Write the proof that a release is in the log."),
        "check-proof": ("rye.cli.registry.log:check_proof", "Check such a proof offline."),
    },
)
