"""``rye version``: this program's version, and ``rye version bump`` for the versions of a person's items."""

from __future__ import annotations

import click

from rye.cli.console import one_line
from rye.cli.main import family, print_version
from rye.cli.options import Session, command
from rye.workspace.authoring.version_bump import bump_versions


@command("bump")
@click.argument("step", metavar="patch|minor|major|X.Y.Z")
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.pass_obj
def bump(session: Session, step: str, paths: tuple[str, ...]) -> None:
    """Raise the version of items; nothing else changes.

    PATH is a file, a folder, a pattern, or KIND:ID of an own item (default: the project's own items; on a terminal, asks before
    it raises several). Changed items need `rye sign` again.
    """
    bumped = bump_versions(session, step, paths)
    if session.json:
        session.console.document({"results": [each.as_json() for each in bumped]})
        return
    for each in bumped:
        session.console.data(f"{each.old} → {each.new}  {one_line(each.shown)}")
    session.console.say("`rye sign` signs the changed items.", "hint")


@click.pass_context
def _show(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        print_version(ctx.ensure_object(Session))


version = family(
    "version",
    "Raise the versions of your items. Without a command, print rye's own version.",
    {"bump": ("rye.cli.author.version:bump", "Raise the version of items; nothing else changes.")},
)
version.no_args_is_help, version.invoke_without_command, version.callback = False, True, _show
