"""``rye witness``: a witness of logs (C2SP tlog-witness), for anybody's log and anybody's readers."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterable

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.errors import UsageError
from rye.workspace.named_file import NamedFile
from rye.workspace.registries import witnessing

_DATA = click.option("--data", metavar="DIR", help="The witness's folder (default: one in your data folder).")


def _folder(session: Session, data: str | None) -> witnessing.WitnessFolder:
    return witnessing.witness_folder(session.home, session.path(data) if data else None, own_keys(session))


@command("init")
@click.argument("name")
@click.option("--ed25519-only", is_flag=True, help="Make no ML-DSA-44 key, for readers that do not know it.")
@click.option(
    "--agent",
    "selector",
    metavar="KEY",
    help="Sign with this Ed25519 key of your ssh-agent, and no other: its fingerprint or comment.",
)
@_DATA
@click.pass_obj
def init(session: Session, name: str, ed25519_only: bool, selector: str | None, data: str | None) -> None:
    """Create a witness called NAME, such as witness.example/w1, with new keys. Publish the verifier keys that it prints.

    With --agent, no private key is stored: the agent is asked for each signature, and must run where the witness serves.
    """
    folder = _folder(session, data)
    if selector is None:
        made = witnessing.create_witness(folder, name, ed25519_only=ed25519_only)
    else:
        made = witnessing.create_witness_with_agent(folder, name, own_keys(session), selector)
    vkeys = [vkey for _, vkey in made.keys]
    session.console.answer({"name": name, "folder": made.folder, "keys": vkeys}, "\n".join(_listed(made.keys)))


def _listed(keys: Iterable[tuple[str, str]]) -> list[str]:
    """Each verifier key with its algorithm."""
    return [f"{algorithm:<10} {vkey}" for algorithm, vkey in keys]


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
    path = session.path(last) if last is not None else None
    origin, size = witnessing.add_log(_folder(session, data), vkeys, path, forget=forget)
    session.console.answer({"origin": origin, "size": size}, f"cosigning {origin}, which had {size} entries last")


@command("serve")
@click.option("--listen", metavar="HOST:PORT", default="127.0.0.1:7380", show_default=True, help="Port 0: a free one.")
@_DATA
@click.pass_obj
def serve(session: Session, listen: str, data: str | None) -> None:
    """Answer logs until Ctrl-C or SIGTERM. Put a web server with TLS in front of it, or give logs an address in your network."""
    server, url, made = witnessing.open_server(_folder(session, data), listen)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    session.console.answer({"url": url, "keys": [vkey for _, vkey in made.keys]}, f"listening on {url}")
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
    made, logs = witnessing.list_witness(_folder(session, data))
    if session.json:
        rows = [{"origin": log.origin, "keys": log.keys, "size": log.size, "problem": log.problem} for log in logs]
        session.console.document({"keys": [vkey for _, vkey in made.keys], "logs": rows})
    else:
        for line in _listed(made.keys):
            session.console.data(line)
        session.console.table([[log.origin, log.problem or str(log.size)] for log in logs], ["LOG", "SIZE"])
    lost = any(log.problem is not None for log in logs)
    if lost:
        session.console.say(
            "`rye witness add-log VKEY --from NOTE` continues from a checkpoint that this witness signed."
        )
    return 1 if lost else 0


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
    file = NamedFile(session.path(note), note)
    done = witnessing.check_cosignatures(file, sys.stdin.buffer.read, vkeys, session.path(policy) if policy else None)
    rows = [{"witness": name, "key": algorithm, "time": time} for name, algorithm, time in done.cosigned]
    document = {"ok": done.ok, "origin": done.origin, "size": done.size, "cosigned": rows}
    said = "enough witnesses cosigned it" if done.ok else f"not enough witnesses cosigned it: {done.wanted}"
    lines = [f"{name} ({algorithm}) at {time}" for name, algorithm, time in done.cosigned]
    session.console.answer(document, "\n".join([f"{done.origin}, {done.size} entries: {said}", *lines]))
    return 0 if done.ok else 1


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
