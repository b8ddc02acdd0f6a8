"""``rye-registry clock``: the way back from a log that is dated in the future."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import audit_events
from registry_server.accounts.times import now_text
from registry_server.cli.drafts import owners_here, read_draft_file, write_draft
from registry_server.cli.options import Output, data_option, draft_option, json_option, owner_keys_option, pass_output
from registry_server.cli.registry_access import sequencer_of, settings_of
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep import clock as steps
from rye.errors import UsageError
from rye.registry.protocol.lines import write_time


@click.group(no_args_is_help=True)
def clock() -> None:
    """Set a log that is dated in the future back to the right time."""


@clock.command("back")
@click.option("--reason", help="Why, in one line. Everyone can read it in the log.")
@owner_keys_option
@draft_option
@click.option(
    "--publish",
    "from_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Publish this draft, signed by enough owners.",
)
@data_option
@json_option
@pass_output
def clock_back(
    output: Output,
    reason: str | None,
    key_files: tuple[Path, ...],
    draft: Path | None,
    from_file: Path | None,
    data: Path,
) -> None:
    """Let the log's time go back once, to this machine's clock, by a statement that the registry's owners sign.

    Set the clock first. The statement counts at one position of the log only.
    """
    if (reason is None) is (from_file is None):
        raise UsageError(
            "usage",
            "Give --reason, or --publish FILE.",
            "`rye-registry clock back --help` shows how it is used.",
        )
    settings = settings_of(data, {})
    with sequencer_of(settings) as sequencer:
        if from_file is not None:
            text = read_draft_file(from_file)
        else:
            with database.reader(sequencer.engine) as connection:
                step = steps.plan(Ledger(connection), reason or "", sequencer.clock.now())
            if draft is not None:
                write_draft(output, draft, step.text(), f"rye-registry clock back --publish {draft}")
                return
            text = steps.signed(step, owners_here(settings, key_files))
        done = steps.publish(sequencer, text)
        with database.change(sequencer.engine) as connection:
            detail = {"before": write_time(done.before), "time": write_time(done.time), "reason": done.reason}
            audit_events.record(connection, now_text(), "clock.back", f"log:{done.position}", detail=detail)
    document: dict[str, object] = {
        "position": done.position,
        "before": write_time(done.before),
        "time": write_time(done.time),
        "reason": done.reason,
    }
    output.result(
        document,
        f"The log went back from {write_time(done.before)} to {write_time(done.time)}, at entry {done.position}.",
    )
    output.say("Clients go on with the same fingerprint. Running servers continue at their next check.")
