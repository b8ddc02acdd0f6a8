"""``rye help``: show a command's help page."""

from __future__ import annotations

from typing import cast

import click

from rye.cli.main import Families, unknown_command
from rye.cli.options import Session, command, global_options
from rye.errors import UsageError


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]…")
@click.option("--all", "all_commands", is_flag=True, help="List all commands, not only those of every day.")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...], all_commands: bool) -> None:
    """Show how a command is used: the same page as `rye COMMAND --help`.

    `rye help options` shows the options that every command takes, and their environment variables.
    """
    context = ctx.find_root()
    if all_commands:
        if words:
            raise UsageError("usage", "--all takes no words.", "`rye help --all` lists all commands.")
        cast("Families", context.command).first = None
    if words == ("options",):
        _answer(ctx, _options(context))
        return
    for word in words:
        group = context.command
        if not isinstance(group, Families):
            raise UsageError(
                "unknown-command",
                f"{context.command_path} has no subcommands.",
                f"`{context.command_path} --help` shows its help.",
            )
        found = group.get_command(context, word)
        if found is None:
            raise unknown_command(word, group.table, context.command_path)
        context = click.Context(found, info_name=word, parent=context)
    _answer(ctx, context.command.get_help(context))


_FIRST_WINS = (
    "Every command accepts these options, before or after its name. The command line takes precedence over the environment, "
    "then rye.toml, then your own settings (`rye config`)."
)


def _options(context: click.Context) -> str:
    formatter = context.make_formatter()
    formatter.write(click.wrap_text(_FIRST_WINS, formatter.width) + "\n")
    with formatter.section("Options"):
        formatter.write_dl([record for each in global_options(shown=None) if (record := each.get_help_record(context))])
    named = [(str(each.envvar), str(each.opts[-1])) for each in global_options() if each.envvar]
    with formatter.section("Environment"):
        formatter.write_dl([(variable, f"The same as {option}.") for variable, option in named])
    return formatter.getvalue().rstrip("\n")


def _answer(ctx: click.Context, text: str) -> None:
    cast("Session", ctx.obj).console.answer({"help": text}, text)
