"""``rye-registry export``, ``verify`` and ``rebuild``: the static files that the log's entries make."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from registry_server.cli.options import Output, data_option, json_option, pass_output
from registry_server.cli.registry_access import engine_of, settings_of, transaction


@click.command("export")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@data_option
@json_option
@pass_output
def export_command(output: Output, directory: Path, data: Path) -> None:
    """Copy the static registry to DIRECTORY: any web server can serve it, or read it as file://. Incremental."""
    from registry_server.audit import export
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = settings_of(data, {})
    with transaction(data) as connection:
        origin = Ledger(connection).origin
    count = sum(1 for _ in export(public_objects(settings), origin, directory))
    output.result({"directory": str(directory), "files": count}, f"{count} new files in {directory}.")


@click.command()
@data_option
@json_option
@pass_output
def verify(output: Output, data: Path) -> None:
    """Compute everything again from the log's entries and compare it with what is served."""
    from registry_server import audit, database
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = settings_of(data, {})
    with engine_of(settings) as engine, database.reader(engine) as connection:  # publishes go on meanwhile
        ledger = Ledger(connection)
        problems = audit.verify(ledger, public_objects(settings))
        size = ledger.size
    text = "\n".join(problems) or f"Everything is as the {size} entries of the log make it."
    output.result({"ok": not problems, "size": size, "problems": problems}, text)
    if problems:
        output.say("hint: rye-registry rebuild writes static files again; missing blobs come from a backup.")
        sys.exit(1)


@click.command()
@data_option
@click.option(
    "--prune",
    is_flag=True,
    help="Also delete what no head leads to and is over a day old.",
)
@json_option
@pass_output
def rebuild(output: Output, data: Path, prune: bool) -> None:
    """Write every static file again from the database."""
    from registry_server import audit, database
    from registry_server.ledger import Ledger
    from registry_server.objects import public_objects

    settings = settings_of(data, {})
    public = public_objects(settings)
    with engine_of(settings) as engine, database.writer(engine) as connection:
        ledger = Ledger(connection)
        written = audit.recompute(ledger, public)
        published = ledger.published()
        if published is not None:
            public.put("checkpoint", published.checkpoint)
            public.put("head", published.document)
        pruned = audit.prune(ledger, public, datetime.now(UTC).timestamp() - 86_400) if prune else 0
    text = f"{len(written.files)} files are as they should be; {pruned} old ones were deleted."
    output.result({"files": len(written.files), "pruned": pruned, "size": written.size}, text)
