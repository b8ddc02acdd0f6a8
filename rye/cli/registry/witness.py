"""``rye witness``: a witness of logs (C2SP tlog-witness), for anybody's log and anybody's readers."""

from __future__ import annotations

import logging
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.registry.protocol import notes
from rye.registry.protocol.cosignatures import CosignerKey, TreeHead, read_cosignatures
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.registry.protocol.witness_policy import MAX_POLICY_BYTES, Policy, read_policy, simple_policy
from rye.storage.safe_files import read_bytes
from rye.witness.folder import WitnessFolder, log_key
from rye.workspace.given_file import given_bytes
from rye.workspace.named_file import NamedFile

_DATA = click.option("--data", metavar="DIR", help="The witness's folder (default: one in your data folder).")


def _folder(session: Session, data: str | None) -> WitnessFolder:
    return WitnessFolder(session.path(data) if data else session.home.registries.parent / "witness")


@command("init")
@click.argument("name")
@click.option("--ed25519-only", is_flag=True, help="Make no ML-DSA-44 key, for readers that do not know it.")
@_DATA
@click.pass_obj
def init(session: Session, name: str, ed25519_only: bool, data: str | None) -> None:
    """Create a witness called NAME, such as witness.example/w1, with new keys. Publish the verifier keys that it prints."""
    folder = _folder(session, data)
    keys = folder.create(name, ed25519_only=ed25519_only)
    session.console.answer(
        {"name": name, "folder": str(folder.root), "keys": [key.vkey for key in keys]},
        "\n".join(key.vkey for key in keys),
    )


@command("add-log")
@click.argument("vkeys", metavar="VKEY...", nargs=-1, required=True)
@click.option("--from", "last", metavar="NOTE", help="Continue from this checkpoint, which this witness cosigned.")
@click.option(
    "--forget", is_flag=True, help="Start from nothing, whatever was cosigned before: a fork would go unnoticed."
)
@_DATA
@click.pass_obj
def add_log(session: Session, vkeys: tuple[str, ...], last: str | None, forget: bool, data: str | None) -> None:
    """Cosign the log with the keys VKEY from now on, or change its keys. Works while the witness serves."""
    keys = tuple(map(log_key, vkeys))
    if len({key.name for key in keys}) > 1:
        shown = " and ".join(sorted({key.name for key in keys}))
        raise RyeError("several-logs", f"The keys belong to different logs: {shown}.", "Add them one after the other.")
    if last is not None and forget:
        raise UsageError("usage", "--from and --forget contradict each other.", "Give one of them.")
    note = None if last is None else read_bytes(session.path(last), MAX_NOTE_BYTES)
    log = _folder(session, data).add_log(keys, last=note, forget=forget)
    session.console.answer(
        {"origin": log.origin, "size": log.head.size},
        f"cosigning {log.origin}, which had {log.head.size} entries last",
    )


@command("serve")
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:7380", show_default=True, help="Port 0: a free one.")
@_DATA
@click.pass_obj
def serve(session: Session, listen: str, data: str | None) -> None:
    """Answer logs until Ctrl-C or SIGTERM. Put a web server with TLS in front of it, or give logs an address in your network."""
    from rye.witness.serving import Witness, WitnessServer  # an HTTP server, which the others do not need

    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError("bad-argument", f"{listen!r} is not an address.", "Write 127.0.0.1:7380.", what="address")
    folder = _folder(session, data)
    cosigners = folder.cosigners()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    server = WitnessServer((host.strip("[]"), int(port)), Witness(folder, cosigners))
    url = f"http://{host}:{server.server_address[1]}"
    session.console.answer({"url": url, "keys": [one.verifier.vkey for one in cosigners]}, f"listening on {url}")
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


@command("list")
@_DATA
@click.pass_obj
def list_logs(session: Session, data: str | None) -> int:
    """List the keys of the witness, and its logs with the size that it cosigned last. Exits 1 if one cannot be cosigned."""
    folder = _folder(session, data)
    keys, logs = folder.cosigners(), folder.logs()
    document = {
        "keys": [one.verifier.vkey for one in keys],
        "logs": [{"origin": log.origin, "keys": log.keys, "size": log.size, "problem": log.problem} for log in logs],
    }
    if session.json:
        session.console.document(document)
    else:
        for one in keys:
            session.console.data(f"{one.verifier.algorithm_name:<10} {one.verifier.vkey}")
        session.console.table(
            [[log.origin, str(log.size) if log.problem is None else log.problem] for log in logs], ["LOG", "SIZE"]
        )
    return 1 if any(log.problem is not None for log in logs) else 0


@command("verify")
@click.argument("note", metavar="NOTE")
@click.option("--key", "vkeys", multiple=True, metavar="VKEY", help="A witness that must have cosigned; repeatable.")
@click.option("--policy", metavar="FILE", help="The policy (C2SP tlog-policy) that the checkpoint must meet.")
@click.pass_obj
def verify(session: Session, note: str, vkeys: tuple[str, ...], policy: str | None) -> int:
    """Check the cosignatures of a checkpoint offline, and say who cosigned it and when. NOTE: a file, or - for standard input.

    Exits 1 if they are not enough.
    """
    if bool(vkeys) == (policy is not None):
        raise UsageError("usage", "Say which witnesses count: --key or --policy.", "Give --policy FILE, or --key VKEY.")
    data = given_bytes(NamedFile(session.path(note), note), sys.stdin.buffer.read, MAX_NOTE_BYTES)
    parsed = notes.parse(data)
    head = TreeHead.parse(parsed.text)
    wanted = (
        _policy(session.path(policy)) if policy else simple_policy(list(map(CosignerKey.from_vkey, vkeys)), len(vkeys))
    )
    found = read_cosignatures(parsed, wanted.keys)
    is_met = wanted.is_met({one.key for one in found})
    times = [(one, write_time(datetime.fromtimestamp(min(one.time, 2**33), UTC))) for one in found]
    document = {
        "ok": is_met,
        "origin": head.origin,
        "size": head.size,
        "cosigned": [{"witness": one.key.name, "key": one.key.algorithm_name, "time": time} for one, time in times],
    }
    lines = [f"{one.key.name} ({one.key.algorithm_name}) at {time}" for one, time in times]
    said = "enough witnesses cosigned it" if is_met else f"not enough witnesses cosigned it: {wanted}"
    session.console.answer(document, "\n".join([f"{head.origin}, {head.size} entries: {said}", *lines]))
    return 0 if is_met else 1


def _policy(path: Path) -> Policy:
    return read_policy(read_bytes(path, MAX_POLICY_BYTES))


witness = family(
    "witness",
    "Run a witness, which cosigns logs that only grow.",
    {
        "init": ("rye.cli.registry.witness:init", "Create a witness with new keys."),
        "add-log": ("rye.cli.registry.witness:add_log", "Cosign a log from now on."),
        "serve": ("rye.cli.registry.witness:serve", "Answer logs until Ctrl-C."),
        "list": ("rye.cli.registry.witness:list_logs", "List its keys and logs."),
        "verify": ("rye.cli.registry.witness:verify", "Check who cosigned a checkpoint."),
    },
)
