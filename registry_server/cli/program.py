"""The program ``rye-registry``: a table of commands, each imported when it runs, and the one place where errors become
exits.

Exit codes: 0, done; 1, failed, or ``verify`` found a problem; 2, wrong usage.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

import click

from registry_server.cli.options import Output, json_option
from registry_server.cli.screen import fitted
from registry_server.storage.first_line import first_line
from rye import __version__
from rye.errors import RyeError, UsageError
from rye.extras import extra_missing, extra_of

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module:attribute, one line of help)
    "account": (
        "registry_server.cli.account:account",
        "Manage accounts: people who sign in, create tokens, approve stages.",
    ),
    "audit-events": (
        "registry_server.cli.audit_events:audit_events",
        "Show and check the log of changes to accounts, rights and releases.",
    ),
    "backup": ("registry_server.cli.backup:backup", "Back up the registry to a folder, while it runs."),
    "clock": ("registry_server.cli.clock:clock", "Set a log that is dated in the future back to the right time."),
    "export": ("registry_server.cli.static_files:export_command", "Copy the static registry to a folder."),
    "init": ("registry_server.cli.init:init", "Create a registry: its folder, keys, root and first signed head."),
    "policy": ("registry_server.cli.policy:policy", "Manage the policy for everybody who joined with `rye org join`."),
    "publisher": (
        "registry_server.cli.publisher:publisher",
        "Manage trusted publishers: workflows that need no secret.",
    ),
    "migrate": (
        "registry_server.cli.migrate:migrate",
        "Upgrade the database to this version, or check whether it needs it.",
    ),
    "rebuild": ("registry_server.cli.static_files:rebuild", "Write every static file again from the database."),
    "restore": ("registry_server.cli.backup:restore", "Restore a registry from a backup, mirror or export."),
    "role": ("registry_server.cli.role:role", "Manage who may upload to a namespace, and who may read it."),
    "root": ("registry_server.cli.root:root", "Manage root statements: who owns the registry, and until when."),
    "serve": ("registry_server.cli.serve:serve", "Serve the registry until SIGTERM or Ctrl-C."),
    "takedown": ("registry_server.cli.takedown:takedown_command", "Permanently remove a release's files, and log why."),
    "team": ("registry_server.cli.team:team", "Manage teams: accounts that share roles."),
    "token": ("registry_server.cli.token:token", "Manage tokens, which allow uploading and reading."),
    "verify": (
        "registry_server.cli.static_files:verify",
        "Recompute everything from the log, and compare it with what is served.",
    ),
    "webhook": (
        "registry_server.cli.webhook:webhook",
        "Manage webhooks: addresses that are notified of new log entries.",
    ),
    "witness": (
        "registry_server.cli.witness:witness",
        "Manage witnesses: independent programs that cosign every head.",
    ),
}


class Families(click.Group):
    """A group whose commands are rows of the table: listing them imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        loaded: click.Command = getattr(import_module(module), attribute)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, but an unknown name gets suggestions from the table."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.exceptions.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table's own lines of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=Families, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, "-V", "--version", prog_name="rye-registry", message="%(prog)s %(version)s")
@json_option
@click.pass_context
def cli(context: click.Context) -> None:
    """Run a registry: create it, serve it, give out tokens, copy and check it."""
    context.ensure_object(Output)


def main() -> None:
    """Run the program. Every failure becomes a message and an exit code, never a traceback."""
    as_json = "--json" in sys.argv[1:]
    try:
        cli.main(prog_name="rye-registry", standalone_mode=False)
    except RyeError as error:
        _fail(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        usage = error.ctx.command_path if error.ctx else "rye-registry"
        hint = f"`{usage} --help` shows how it is used."
        message = error.format_message()
        if isinstance(error, click.NoSuchOption):
            message = error.message  # without click's list of near options, which goes into the hint
            near = [repr(name) for name in error.possibilities or []][:2]
            hint = f"Did you mean {' or '.join(near)}? {hint}" if near else hint
        _fail(UsageError("usage", " ".join(message.split()), hint), as_json)
    except click.ClickException as error:
        _fail(RyeError("failed", error.format_message(), None), as_json)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(
            RyeError("system", f"{where}{error.strerror or error}.", "Check the path, its owner and the disk."), as_json
        )
    except Exception as error:  # the last resort: people get one line and an exit code, never a traceback
        if os.environ.get("RYE_REGISTRY_TRACEBACK") == "1":
            raise
        of = extra_of(error.name) if isinstance(error, ModuleNotFoundError) else None
        _fail(extra_missing(*of) if of is not None else _unforeseen(error), as_json)


def _unforeseen(error: Exception) -> RyeError:
    """An unexpected error as a RyeError of one line; errors of the database as the storage words them."""
    if "sqlalchemy" in sys.modules:
        from registry_server.storage.database import (  # already imported by the command that failed
            DriverError,
            explained,
        )

        if isinstance(error, DriverError):
            return explained(error)
    name, said = type(error).__name__, first_line(error)
    reason = f"{name}: {said}" if said != name else name
    return RyeError(
        "internal",
        f"rye-registry failed unexpectedly: {reason}",
        "Run it again with RYE_REGISTRY_TRACEBACK=1, and report the output.",
    )


def _fail(error: RyeError, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(error.as_json(), ensure_ascii=False))
    else:
        click.echo(fitted(f"error: {error.message}"), err=True)
        if error.hint:
            click.echo(fitted(f"hint: {error.hint}"), err=True)
    sys.exit(error.exit_code)
