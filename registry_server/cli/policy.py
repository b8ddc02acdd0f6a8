"""``rye-registry policy``: what everybody who joined the registry's owners may use."""

from __future__ import annotations

from pathlib import Path

import click

from registry_server.accounts import audit_events
from registry_server.accounts.times import now_text
from registry_server.cli.drafts import owners_here, read_draft_file, write_draft
from registry_server.cli.options import Output, data_option, draft_option, json_option, owner_keys_option, pass_output
from registry_server.cli.registry_access import reading, sequencer_of, settings_of
from registry_server.sequencer.ledger import Ledger
from registry_server.storage import database
from registry_server.upkeep import policy as policies
from registry_server.upkeep.founding import add_signature
from rye.errors import RyeError
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import OrganizationPolicy
from rye.registry.trust.policies import read_organization_policy


@click.group(no_args_is_help=True)
def policy() -> None:
    """Manage the policy for everybody who joined with `rye org join`."""


@policy.command("publish")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@owner_keys_option
@draft_option
@data_option
@json_option
@pass_output
def policy_publish(output: Output, file: Path, key_files: tuple[Path, ...], draft: Path | None, data: Path) -> None:
    """Publish FILE: a TOML file with [policy], or a draft that the registry's owners signed.

    Each policy takes the place of the one before. Machines that joined stop when the newest that they have seen expires.
    """
    text = read_draft_file(file)
    settings = settings_of(data, {})
    with sequencer_of(settings) as sequencer:
        if not policies.is_statement(text):
            with database.reader(sequencer.engine) as connection:
                planned = policies.plan(Ledger(connection), text, sequencer.clock.now(), str(file))
            text = planned.text()
            if draft is not None:
                write_draft(output, draft, text, f"rye-registry policy publish {draft}")
                return
            for key in owners_here(settings, key_files):
                text = add_signature(text, key).encode()
        done, position = policies.publish(sequencer, text)
        with database.change(sequencer.engine) as connection:
            detail = {"sha256": done.sha256(), "expires": write_time(done.expires)}
            audit_events.record(connection, now_text(), "policy.publish", f"policy:{done.number}", detail=detail)
    output.result(
        _document(done, position),
        f"Published policy {done.number}, until {write_time(done.expires)} (entry {position}).",
    )
    output.say(
        "Machines that joined get it the next time that they ask this registry. Publish again before it expires."
    )


@policy.command("show")
@data_option
@json_option
@pass_output
def policy_show(output: Output, data: Path) -> None:
    """Show the newest policy."""
    with reading(data) as connection:
        newest = Ledger(connection).newest_policy()
    if newest is None:
        raise RyeError(
            "no-such-entry",
            "This registry has no policy.",
            "Publish one: rye-registry policy publish FILE",
            what="policy",
        )
    found = read_organization_policy(newest)[1]
    output.result(_document(found, newest.log), found.text().removesuffix("\n"))


def _document(policy: OrganizationPolicy, position: int) -> dict[str, object]:
    return {
        "number": policy.number,
        "position": position,
        "sha256": policy.sha256(),
        "expires": write_time(policy.expires),
        "rules": list(policy.rules),
    }
