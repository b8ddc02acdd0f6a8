"""``rye-registry witness``: independent programs that cosign every head of the log."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from registry_server.accounts import audit_events
from registry_server.accounts.times import now_text
from registry_server.cli.listing import ListColumn, show_list
from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import changing, reading, settings_of
from registry_server.sequencer.cosigned_head import read_cosigned, size_of
from registry_server.sequencer.ledger import Ledger
from registry_server.witnesses import records
from registry_server.witnesses.lag import lags
from registry_server.witnesses.quorum import quorum_of
from registry_server.witnesses.records import WitnessRow
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.trust.keysets import log_keys

_COLUMNS = (ListColumn("witness"), ListColumn("key"), ListColumn("address"), ListColumn("added"))
_OF_STATUS = (
    ListColumn("witness"),
    ListColumn("key"),
    ListColumn("entries", "{} entries"),
    ListColumn("cosigned"),
    ListColumn("error", wraps=True),
)


@click.group(no_args_is_help=True)
def witness() -> None:
    """Manage witnesses: independent programs that cosign every head, so that no client can be shown a log of its own."""


@witness.command("add")
@click.argument("vkey")
@click.argument("url")
@data_option
@json_option
@pass_output
def witness_add(output: Output, vkey: str, url: str, data: Path) -> None:
    """Send every head to the witness at URL, and accept cosignatures of the key VKEY (NAME+ID+KEY). The server notices at once.

    A witness with two keys is added twice, with the same URL. Its operator needs the log's key: `rye-registry witness list`.
    """
    with changing(data) as connection:
        added = records.add(connection, vkey, url, now_text())
        audit_events.record(
            connection, now_text(), "witness.add", f"witness:{added.key.name}", detail={"url": added.url}
        )
    output.result(_facts(added), f"Added {added.key.name} ({added.key.algorithm_name}) at {added.url}")


@witness.command("list")
@data_option
@json_option
@pass_output
def witness_list(output: Output, data: Path) -> None:
    """List witnesses and their addresses, and the log's own key, which their operators need."""
    with reading(data) as connection:
        listed = records.listing(connection)
        own = [key.vkey for key in log_keys(Ledger(connection).roots()[-1])]
    rows = [(row.key.name, row.key.algorithm_name, row.url, row.created) for row in listed]
    document: dict[str, object] = {"witnesses": [_facts(row) for row in listed], "log_keys": own}
    show_list(output, document, _COLUMNS, rows, "No witnesses.")
    output.say(f"Operators of witnesses need the log's key: {' '.join(own)}")


@witness.command("remove")
@click.argument("named", metavar="NAME|VKEY")
@data_option
@json_option
@pass_output
def witness_remove(output: Output, named: str, data: Path) -> None:
    """Remove a witness. A name removes all of its keys.

    People who demand this witness see nothing new until they get another policy, so tell them first.
    """
    with changing(data) as connection:
        gone = records.remove(connection, named)
        for row in gone:
            audit_events.record(
                connection, now_text(), "witness.remove", f"witness:{row.key.name}", detail={"url": row.url}
            )
    output.result({"witnesses": [_facts(row) for row in gone]}, f"Removed {', '.join(row.key.name for row in gone)}")


@witness.command("status")
@data_option
@json_option
@pass_output
def witness_status(output: Output, data: Path) -> None:
    """Show how far each witness has cosigned, what failed, and how far the head is that enough of them cosigned."""
    settings = settings_of(data, {})
    with reading(data) as connection:
        listed = records.listing(connection)
        size, known = Ledger(connection).size, read_cosigned(connection)
    try:
        quorum = str(quorum_of(settings, listed)) if listed else "no witnesses are configured"
    except RyeError as error:
        quorum = error.message
    cosigned = size_of(known) if known is not None else None
    behind = {lag.name: lag for lag in lags(listed, size, time.time())}
    document: dict[str, object] = {
        "size": size,
        "cosigned_size": cosigned,
        "quorum": quorum,
        "witnesses": [
            {
                **_facts(row),
                "size": row.size,
                "cosigned": _time(row),
                "lag_seconds": behind[row.key.name].seconds,
                "lag_entries": max(size - row.size, 0),
                "error": row.error or None,
            }
            for row in listed
        ],
    }
    rows = [
        (row.key.name, row.key.algorithm_name, str(row.size), _time(row) or "never", row.error or "-") for row in listed
    ]
    show_list(output, document, _OF_STATUS, rows, "No witnesses.")
    shown = "nothing" if cosigned is None else f"{cosigned} entries"
    output.say(f"{shown} of {size} cosigned by enough witnesses ({quorum}).")


def _facts(row: WitnessRow) -> dict[str, object]:
    return {
        "name": row.key.name,
        "key": row.key.algorithm_name,
        "vkey": row.vkey,
        "url": row.url,
        "created": row.created,
    }


def _time(row: WitnessRow) -> str | None:
    return None if row.cosigned is None else write_time(datetime.fromtimestamp(row.cosigned, UTC))
