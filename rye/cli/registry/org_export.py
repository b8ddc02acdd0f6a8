"""``rye org export``: settings of agent programs that match the policy."""

from __future__ import annotations

import json

import click

from rye.cli.options import Session, command
from rye.errors import RyeError, UsageError
from rye.workspace.registries.joining import require_policies
from rye.workspace.registries.program_settings import claude_settings


@command("export")
@click.option("--claude", is_flag=True, help="Managed settings of Claude Code (managed-settings.json).")
@click.pass_obj
def export(session: Session, claude: bool) -> None:
    """Print the settings of an agent program that match the policies in force, and say what they do not cover.

    Only keys that the program documents are written. Merge them into what you have.
    """
    if not claude:
        raise UsageError("missing-argument", "Name the program.", "rye org export --claude", what="target")
    policies = require_policies(session)
    if not policies:
        raise RyeError("not-joined", "You joined no organization.", "`rye org join ADDRESS FINGERPRINT` joins one.")
    found = claude_settings(policies)
    if session.json:
        session.console.document({"settings": found.settings, "not_covered": list(found.not_covered)})
        return
    session.console.data(json.dumps(found.settings, indent=2))
    for line in found.not_covered:
        session.console.say(f"not covered: {line}")
