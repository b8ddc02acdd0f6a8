"""``rye help``: the page of a command."""

from __future__ import annotations

from typing import cast

import click

from rye.cli.main import Families, unknown_command
from rye.cli.options import Session, command
from rye.errors import UsageError


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]…")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show how a command is used: the same page as `rye COMMAND --help`."""
    context = ctx.find_root()
    for word in words:
        group = context.command
        if not isinstance(group, Families):
            raise UsageError(
                "unknown-command", f"{context.command_path} has no commands.", f"`{context.command_path} --help`."
            )
        found = group.get_command(context, word)
        if found is None:
            raise unknown_command(word, group.table, context.command_path)
        context = click.Context(found, info_name=word, parent=context)
    text = context.command.get_help(context)
    cast("Session", ctx.obj).console.answer({"help": text}, text)
