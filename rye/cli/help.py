"""``rye help``: show a command's help page."""

from __future__ import annotations

from typing import cast

import click

from rye.cli.main import SYNONYMS, Families, unknown_command
from rye.cli.options import Session, command, global_options
from rye.errors import UsageError
from rye.layout import Column


@command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]…")
@click.option("--all", "all_commands", is_flag=True, help="List all commands, not only those of every day.")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...], all_commands: bool) -> None:
    """Show how a command is used: the same page as `rye COMMAND --help`.

    Words that are no command are searched for in the commands, the error codes and the documentation. `rye help options` shows
    the options that every command takes, and their environment variables.
    """
    context = ctx.find_root()
    if all_commands:
        if words:
            raise UsageError("usage", "--all takes no words.", "`rye help --all` lists all commands.")
        cast("Families", context.command).first = None
    if words == ("options",):
        _answer(ctx, _options(context))
        return
    try:
        page = _page(context, words)
    except UsageError:
        if _search(cast("Session", ctx.obj), " ".join(words)):
            return
        if len(words) == 1:
            raise UsageError(
                "unknown-command",
                f"No command, error code or page has to do with {words[0]!r}.",
                "`rye help --all` lists all commands.",
            ) from None
        raise
    _answer(ctx, page)


def _page(context: click.Context, words: tuple[str, ...]) -> str:
    """The help of the command with these words. Raises UsageError ``unknown-command``."""
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
    return context.command.get_help(context)


def _search(session: Session, query: str) -> bool:
    """Print what has to do with the words. False, and nothing, if there is none."""
    from rye.cli.completing.answer import stored_table  # the ranking and all error codes, only for a search
    from rye.workspace.help_search import search

    found = search(query, stored_table(), SYNONYMS)
    if not found:
        return False
    if session.json:
        text = "".join(f"{each.next}  {each.line}\n" for each in found)
        session.console.document({"help": text, "found": [each.as_json() for each in found]})
        return True
    session.console.table(
        [[each.next, each.line] for each in found], ["READ ON WITH", Column("ABOUT", prose=True, lines=3)]
    )
    return True


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
