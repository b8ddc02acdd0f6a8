"""``rye deploy``: what is installed reaches agent programs. ``status`` and ``export`` as the first word are its other forms."""

from __future__ import annotations

import click

from rye.cli.deploy.shown import show_checked, show_deployed, summary
from rye.cli.options import Session, command
from rye.deployment.deploying import DeployRequest, check, deploy_targets
from rye.deployment.deploying import deploy as deploy_items
from rye.deployment.targets.protocol import Scope, target
from rye.errors import UsageError
from rye.project.context import require_project

EXPORTS = ("claude", "codex", "copilot", "well-known")


@command("deploy")
@click.argument("items", nargs=-1, metavar="[KIND:]ID… | status | export OUT")
@click.option("--target", "targets", multiple=True, metavar="TARGET", help="Only this agent program; several times.")
@click.option(
    "--scope",
    type=click.Choice(["project", "user"]),
    default="project",
    show_default=True,
    help="Write to the project, or to your home folder for all projects.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and stop.")
@click.option(
    "--check", "only_check", is_flag=True, help="Compare what is there with what should be; exit 1 on differences."
)
@click.option(
    "--allow-widening",
    "allow",
    multiple=True,
    metavar="ID",
    help="Agree to what the item gets beyond its text: allowed-tools, hooks, inline commands, rights that a target cannot say.",
)
@click.option("--adopt", multiple=True, metavar="PATH", help="Take over a file that is there with the same bytes.")
@click.option(
    "--overwrite-edited", "overwrite", multiple=True, metavar="ID", help="Give up edits of this item's deployed files."
)
@click.option("--for", "export_for", type=click.Choice(EXPORTS), help="With `export`: who is to read it.")
@click.pass_obj
def deploy(
    session: Session,
    items: tuple[str, ...],
    targets: tuple[str, ...],
    scope: Scope,
    dry_run: bool,
    only_check: bool,
    allow: tuple[str, ...],
    adopt: tuple[str, ...],
    overwrite: tuple[str, ...],
    export_for: str | None,
) -> int:
    """Write what is installed where Claude Code, Codex, Copilot, Cursor, Gemini CLI and OpenCode read it.

    The targets are those of [deploy] in rye.toml, or the ones that you name. `rye deploy status` lists what is deployed;
    `rye deploy export --for claude OUT` makes a marketplace of it.
    """
    if export_for is not None or items[:1] == ("export",):
        raise UsageError("not-here", "There is no export in this version.", "Use `rye deploy`.")
    for name in targets:
        target(name)
    request = DeployRequest(() if items == ("status",) else items, targets, scope, dry_run, allow, adopt, overwrite)
    project = require_project(session.cwd)
    if only_check or items == ("status",):
        found = check(session, project, request)
        names = deploy_targets(session, project, request)
        show_checked(session, found, names, with_targets=not only_check)
        return 1 if only_check and any(one.state != "ok" for one in found) else 0

    def choose(found: tuple[str, ...]) -> bool:
        listed = ", ".join(target(name).title for name in found)
        return session.console.confirm(f"Deploy to {listed}, and write that into rye.toml?")

    done = deploy_items(session, project, request, choose)
    show_deployed(session, done)
    session.console.answer(done.as_json(), summary(done))
    return 1 if done.refused else 0
