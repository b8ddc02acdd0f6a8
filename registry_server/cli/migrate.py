"""``rye-registry migrate``: upgrade the database to this version's schema, or list the missing steps."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import engine_of, settings_of
from registry_server.migrations.upgrading import pending
from registry_server.storage import database


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit 1 if the database needs an upgrade.")
@data_option
@json_option
@pass_output
def migrate(output: Output, check: bool, data: Path) -> None:
    """Upgrade the database to this version's schema, in one transaction.

    Every command that opens the database does this as well. It can start from any older version. An older rye-registry cannot
    open the database afterwards.
    """
    settings = settings_of(data, {})
    engine = database.engine_of(
        settings.database_url, wait_seconds=settings.database_wait_seconds, idle_seconds=settings.leader_seconds
    )
    try:
        with database.reader(engine) as connection:
            plan = pending(connection)
    finally:
        engine.dispose()
    document: dict[str, object] = {
        "current": plan.current,
        "newest": plan.newest,
        "steps": [{"revision": step.revision, "what": step.what} for step in plan.steps],
    }
    if check:
        text = "\n".join(f"{step.revision}  {step.what}" for step in plan.steps)
        output.result(document, text or f"The database is at the newest revision, {plan.newest}.")
        if plan.steps:
            output.say("hint: Stop the servers, or expect them to refuse publishing. Then run `rye-registry migrate`.")
            sys.exit(1)
        return
    with engine_of(settings):
        pass
    taken = f"Upgraded the database from {plan.current or 'nothing'} to {plan.newest}." if plan.steps else ""
    output.result(document, taken or f"The database is at the newest revision, {plan.newest}.")
