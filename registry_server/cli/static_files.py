"""``rye-registry export``, ``verify`` and ``rebuild``: the static files, which follow from the log's entries."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import contains, engine_of, missing_key, reading, sequencer_of, settings_of
from registry_server.sequencer.clock import Clock, steady_seconds
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects
from registry_server.upkeep import audit
from registry_server.upkeep.clock import problems as clock_problems
from registry_server.upkeep.plugins import plugins
from rye.registry.export_folder import write_export


@click.command("export")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--plugins",
    "as_plugins",
    is_flag=True,
    help="Write the skills as plugin marketplaces and well-known indexes instead, for programs that know nothing of Rye.",
)
@data_option
@json_option
@pass_output
def export_command(output: Output, directory: Path, as_plugins: bool, data: Path) -> None:
    """Copy the static registry to DIRECTORY, for any web server or for file:// addresses. Incremental."""
    settings = settings_of(data, {})
    if as_plugins:
        with reading(data) as connection:
            files = plugins(Ledger(connection), public_objects(settings), datetime.now(UTC))
        changed = write_export(directory, files)
        document = {"directory": str(directory), "files": len(files), "changed": changed}
        output.result(document, f"{len(files)} files in {directory}; {changed} changed.")
        return
    with reading(data) as connection:
        ledger = Ledger(connection)
        origin, taken_down = ledger.origin, ledger.all_taken_down()
    count = sum(1 for _ in audit.export(public_objects(settings), origin, directory, taken_down))
    output.result({"directory": str(directory), "files": count}, f"{count} new files in {directory}.")


@click.command()
@data_option
@json_option
@pass_output
def verify(output: Output, data: Path) -> None:
    """Recompute everything from the log's entries, and compare it with what is served."""
    settings = settings_of(data, {})
    public = public_objects(settings)
    clock = Clock(settings, steady=steady_seconds, store=public.now)
    clock.ask_store()
    with engine_of(settings) as engine:
        seen = audit.look(public)  # before the database, so that anything newer was published meanwhile
        with database.reader(engine) as connection:
            ledger = Ledger(connection)
            untimely = clock_problems(clock, ledger)
            problems = [
                *(f"{error.message} ({error.code})" for error in untimely),
                *audit.verify(ledger, public, seen, partial(contains, engine)),
            ]
            size, root = ledger.size, ledger.roots()[-1]
    keyless = missing_key(settings, root)
    matching = f"{'N' if keyless is None else 'Apart from the log key, n'}o problems found"
    text = "\n".join(problems) or f"{matching}: all files and tables match the {size} entries of the log."
    warnings = [] if keyless is None else [f"{keyless.message} ({keyless.code})"]
    output.result({"ok": not problems, "size": size, "problems": problems, "warnings": warnings}, text)
    if keyless is not None:
        output.say(f"warning: {warnings[0]}\nhint: {keyless.hint}")
    for error in untimely:
        output.say(f"hint: {error.hint}")
    if len(problems) > len(untimely):
        output.say(
            "hint: `rye-registry rebuild` writes the static files again. Restore missing blobs from a backup: "
            "`rye-registry restore --from BACKUP`"
        )
    if problems:
        sys.exit(1)


@click.command()
@data_option
@click.option(
    "--prune",
    is_flag=True,
    help="Also delete files that no head leads to and that are over a day old.",
)
@json_option
@pass_output
def rebuild(output: Output, data: Path, prune: bool) -> None:
    """Write every static file again from the database."""
    settings = settings_of(data, {})
    public = public_objects(settings)
    with sequencer_of(settings) as sequencer:
        is_shown = sequencer.is_shown()
        written, refreshed = audit.repair(sequencer.engine, public)
        if not is_shown:
            sequencer.show()
        pruned = audit.prune(sequencer.engine, public, datetime.now(UTC).timestamp() - 86_400) if prune else 0
    words = [f"{len(written.files)} static files are up to date", f"{pruned} old ones were deleted"]
    if refreshed:
        words.append(f"{refreshed} items were repaired in the database")
    document: dict[str, object] = {
        "files": len(written.files),
        "pruned": pruned,
        "refreshed": refreshed,
        "size": written.size,
    }
    output.result(document, "; ".join(words) + ".")
