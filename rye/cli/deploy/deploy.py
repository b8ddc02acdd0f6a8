"""``rye deploy``: write installed items for agent programs. Also ``rye deploy status`` and ``rye deploy export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import install_options
from rye.deployment.recall import recall
from rye.deployment.request import DeployRequest, Scope, words_of
from rye.errors import UsageError
from rye.project.context import require_project
from rye.workspace.registries.project_registries import refuse_other_pins
from rye.workspace.trusting.acceptance import trusts_lock

if TYPE_CHECKING:
    from rye.deployment.exporting import Form

EXPORTS = ("claude", "codex", "copilot", "well-known")


@command("deploy")
@click.argument("items", nargs=-1, metavar="[KIND:]ID… | status | export OUT")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="Only this agent program; repeatable. On a terminal it is recorded in rye.toml.",
)
@click.option("--once", is_flag=True, help="With --target: leave rye.toml as it is.")
@click.option(
    "--scope",
    type=click.Choice(["project", "user"]),
    default="project",
    show_default=True,
    help="Write to the project, or to your home folder for all your projects.",
)
@install_options("member")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Compare the deployed files with what should be there; exit 1 on differences.",
)
@click.option(
    "--allow-widening",
    "allow",
    multiple=True,
    metavar="ID",
    help="Agree to what the item gets beyond its text: allowed-tools, hooks, inline commands, and rights that "
    "a target cannot express.",
)
@click.option("--adopt", multiple=True, metavar="PATH", help="Take over an existing file that has the same bytes.")
@click.option(
    "--overwrite-edited",
    "overwrite",
    multiple=True,
    metavar="ID",
    help="Overwrite your edits to this item's deployed files.",
)
@click.option("--for", "export_for", type=click.Choice(EXPORTS), help="With `export`: the program that reads it.")
@click.pass_obj
def deploy(
    session: Session,
    items: tuple[str, ...],
    targets: tuple[str, ...],
    once: bool,
    scope: Scope,
    member: str | None,
    dry_run: bool,
    only_check: bool,
    allow: tuple[str, ...],
    adopt: tuple[str, ...],
    overwrite: tuple[str, ...],
    export_for: str | None,
) -> int:
    """Write installed items where Claude Code, Codex, Copilot, Cursor, Gemini CLI and OpenCode read them.

    The targets are those of [deploy] in rye.toml, or the ones that you name. What is deployed to other programs goes with a bare
    `rye deploy`. `rye deploy status` lists deployed files.
    `rye deploy export --for claude OUT` writes a marketplace.
    """
    if export_for is not None or items[:1] == ("export",):
        if export_for is None or items[:1] != ("export",) or len(items) != 2:
            raise UsageError("usage", "An export needs --for and a folder.", "rye deploy export --for claude OUT")
        from rye.cli.deploy.running import export  # loads adapters, as below

        return export(session, require_project(session.cwd), cast("Form", export_for), session.path(items[1]))
    if once and not targets:
        raise UsageError(
            "missing-argument", "--once needs --target.", "rye deploy --target claude --once", what="target"
        )
    is_status = items == ("status",)
    request = DeployRequest(
        items=() if is_status else items,
        member=member,
        targets=targets,
        once=once,
        scope=scope,
        dry_run=dry_run,
        allow=allow,
        adopt=adopt,
        overwrite=overwrite,
    )
    project, words = require_project(session.cwd), words_of(request, trusts_lock=trusts_lock(session))
    if targets and session.interactive and not once:
        words = None  # rye.toml may have to name them
    if words is not None and not only_check and not is_status:
        refuse_other_pins(session)
        known = recall(session.home, project, Path.home() if scope == "user" else project.root, words)
        if known is not None:
            session.console.answer(known.document, known.said)
            if unrecorded := known.document.get("unrecorded"):
                from rye.cli.deploy.shown import show_recorded  # loads adapters, as below

                show_recorded(session, (), unrecorded, deploys=bool(known.document["changes"]), dry_run=False)
            return 0
    from rye.cli.deploy import running  # loads adapters and every kind's reader, which most runs never need

    if only_check or is_status:
        return running.check(session, project, request, only_check=only_check)
    return running.deploy(session, project, request)
