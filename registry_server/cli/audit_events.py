"""``rye-registry audit-events``: the log of changes to accounts, rights and releases."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from registry_server.accounts import audit_events as chain
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import reading
from registry_server.sequencer.ledger import Ledger
from rye.errors import RyeError
from rye.registry.protocol import notes
from rye.registry.protocol.statements import AuditHead, Checkpoint
from rye.registry.trust.keysets import log_keys

_COLUMNS = (
    ListColumn("event"),
    ListColumn("time"),
    ListColumn("actor"),
    ListColumn("action"),
    ListColumn("subject"),
    ListColumn("detail", wraps=True),
)


@click.group("audit-events", no_args_is_help=True)
def audit_events() -> None:
    """Show and check the log of changes to accounts, rights and releases: a chain of hashes."""


@audit_events.command("list")
@click.option("--since", type=click.IntRange(0), default=0, help="Start at this event.")
@click.option("--limit", type=click.IntRange(1), default=1000, show_default=True, help="The most to list.")
@data_option
@json_option
@pass_output
def audit_events_list(output: Output, since: int, limit: int, data: Path) -> None:
    """List events, oldest first."""
    with reading(data) as connection:
        events = list(chain.listing(connection, since, limit))
    rows = [
        (
            str(event.position),
            event.time,
            event.actor,
            event.action,
            event.subject,
            "  ".join(f"{name}={_plain(value)}" for name, value in event.detail.items() if value not in (None, [])),
        )
        for event in events
    ]
    show_list(output, {"events": [event.as_json() for event in events]}, _COLUMNS, rows, "No events.")


@audit_events.command("verify")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also compare it with this signed checkpoint, which anybody may have kept; repeatable.",
)
@data_option
@json_option
@pass_output
def audit_events_verify(output: Output, checkpoints: tuple[Path, ...], data: Path) -> None:
    """Recompute the chain. Exit 1 if an event was changed or removed."""
    with reading(data) as connection:
        ledger = Ledger(connection)
        problems = chain.problems(connection)
        for path in checkpoints:
            problems += chain.problems_before(connection, _audit_head(path, ledger))
        size, value = chain.head(connection)
    text = "\n".join(problems) or f"The chain of {size} events is intact. Last hash: {value}"
    output.result({"ok": not problems, "size": size, "hash": value, "problems": problems}, text)
    if problems:
        sys.exit(1)


def _plain(value: object) -> str:
    """A detail on one line: a list without Python's brackets, yes or no, unprintable characters replaced."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _audit_head(path: Path, ledger: Ledger) -> AuditHead:
    """What a checkpoint that this log signed says of the chain. Raises RyeError."""
    try:
        note = notes.parse(path.read_bytes())
    except OSError as error:
        raise RyeError("unreadable", f"{path} cannot be read: {error.strerror}.", "Check the path.") from error
    notes.verify(note, [key for root in ledger.roots() for key in log_keys(root)])
    checkpoint = Checkpoint.parse(note.text)
    if checkpoint.origin != ledger.origin or checkpoint.audit is None:
        raise RyeError(
            "no-audit-head",
            f"{path} says nothing about audit events of {ledger.origin}.",
            "Give a checkpoint that was signed while `audit_in_head` was on.",
        )
    return checkpoint.audit
