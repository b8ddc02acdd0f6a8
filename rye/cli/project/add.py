"""``rye add``: add items to rye.toml and install them with their dependencies.

It makes deploying part of the first question, and its last line says which agent programs read the new items now, or what deploys
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.cli.project.installing import (
    ProposedDeploy,
    agreement,
    airgap_given,
    command_text,
    deploy_after,
    deployed_by,
    install_options,
    show_outcome,
)
from rye.cli.project.proposed_deploy import programs_here, titles
from rye.errors import UsageError
from rye.items.kinds import KINDS, NoPrompt
from rye.project.context import load_manifest
from rye.workspace.installing.adding import add as add_items
from rye.workspace.installing.adding import names_source, project_to_add_to
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.source_words import is_runner, is_source_word

if TYPE_CHECKING:
    from rye.deployment.deploying import Deployed
    from rye.project.layout import Project
    from rye.workspace.context import Context
    from rye.workspace.installing.install_request import Follow, Followed


@command("add")
@click.argument("items", nargs=-1, required=True, metavar="[KIND:]ID[@RANGE]… | SOURCE [NAME…]")
@click.option("--all", "everything", is_flag=True, help="Add every item of the source.")
@click.option("--list", "listing", is_flag=True, help="List the source's items; NAMEs are words that filter them.")
@click.option("--as", "name", metavar="NAME", help="The source's name in rye.toml: its items' namespace here.")
@click.option(
    "--skill", "skills", multiple=True, metavar="NAME", help="An item of the source, as `npx skills add` has it."
)
@click.option("--editable", is_flag=True, help="Use the folder's items in place, without copying them.")
@install_options("group", "member", "approve", "dry_run", "discard", "airgap")
@click.pass_obj
def add(
    session: Session,
    items: tuple[str, ...],
    everything: bool,
    listing: bool,
    name: str | None,
    skills: tuple[str, ...],
    editable: bool,
    group: str,
    member: str | None,
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> int:
    """Add items to rye.toml and install them with their dependencies.

    A SOURCE is a git repository (OWNER/REPO of GitHub, an address as copied from a browser, or
    git+https://HOST/PATH.git#REV:FOLDER) or a folder's path. NAMEs select its items; without them, its items are
    listed. rye.toml is made if there is none. On a terminal, the question includes the agent programs that are used
    here, if rye.toml has no targets yet.
    """
    said = [
        *(["--all"] if everything else []),
        *(["--list"] if listing else []),
        *(["--as", name] if name else []),
        *(["--editable"] if editable else []),
    ]
    project = project_to_add_to(session.cwd)
    deploying = _proposed_deploy(session, project, dry_run=dry_run)
    request = InstallRequest(
        command=command_text("add", (*items, *said), group, member=member),
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        airgap=airgap_given(session, bundle),
        follow=_following(deploying),
    )
    flags = is_runner(items[0])  # a pasted line for npx, which click has taken the options out of
    items = (*items, *(word for skill in skills for word in (("--skill", skill) if flags else (skill,))))
    if is_source_word(items[0]) or names_source(session, items[0]):
        from rye.workspace.installing.adding_source import (
            SourceRequest,
            add_from_source,
        )  # loads git, needed only for sources

        wanted = SourceRequest(
            word=items[0],
            items=items[1:],
            everything=everything,
            name=name,
            group=group,
            member=member,
            editable=editable,
            listing=listing,
        )
        outcome = add_from_source(session, project, request, wanted, agreement(session, deploying))
        if not isinstance(outcome, InstallOutcome):
            from rye.cli.project.source_list import show_list  # most runs list nothing

            return show_list(session, outcome)
        return _show_added(session, project, outcome, deploying, command=request.command, dry_run=dry_run)
    if everything or editable or listing or name is not None:
        message = "--all, --list, --as and --editable need a source: git+https://… or a folder's path."
        raise UsageError("bad-argument", message, "Name the source before its items.", what="source")
    outcome = add_items(session, project, request, items, group, agreement(session, deploying), member)
    return _show_added(session, project, outcome, deploying, command=request.command, dry_run=dry_run)


def _proposed_deploy(session: Session, project: Project, *, dry_run: bool) -> ProposedDeploy:
    """What to propose: only to a person who is asked, in a project that has no item yet and whose rye.toml does not say where to
    deploy. Later, `rye deploy` asks."""
    if dry_run or session.yes or not session.interactive or project.lock_path.exists() or project.has_deployed:
        return ProposedDeploy()
    table = load_manifest(project).deploy
    if table.targets or not table.after_install:
        return ProposedDeploy()
    return ProposedDeploy(programs_here(project.root))


def _following(proposed: ProposedDeploy) -> Follow:
    """What runs once the items are in place: the deploy that a person agreed to, or else one to rye.toml's targets."""

    def follow(context: Context, project: Project) -> Followed | None:
        if not proposed.agreed:
            return deploy_after(context, project)
        from rye.deployment.deploying import following as deploy  # loads adapters, needed only after this yes

        return deploy(context, project, proposed.names)

    return follow


def _show_added(
    session: Session,
    project: Project,
    outcome: InstallOutcome,
    proposed: ProposedDeploy,
    *,
    command: str,
    dry_run: bool,
) -> int:
    """Show the outcome. The last line says which programs read the new items now, or what deploys them. Return the exit code."""
    code = show_outcome(
        session, outcome, dry_run=dry_run, brief=proposed.agreed and not session.verbose, command=command
    )
    if session.json or outcome.result != "installed":
        return code
    deployed, added = (
        deployed_by(outcome),
        [str(change.identity) for change in outcome.changes if change.new is not None],
    )
    if deployed is not None:
        _show_readers(session, deployed, added)
    elif added and not project.has_deployed:
        changed = [change.identity for change in outcome.changes if change.new is not None]
        texts = [one for one in changed if not isinstance(KINDS[one.kind].prompt, NoPrompt)]  # what programs read
        if not texts:
            if any(KINDS[one.kind].item_type for one in changed):  # what agents run, and no program reads
                session.console.next_step(
                    "`rye mcp config PROGRAM` lets an agent program run it. Tools are not deployed."
                )
            return code
        here = programs_here(project.root) if session.console.on_terminal and not proposed.names else proposed.names
        them = "it" if len(texts) == 1 else "them"
        if here:
            session.console.next_step(f"`rye deploy` writes {them} where {titles(here)} can read {them}.")
        else:
            session.console.next_step(f"`rye deploy --target claude` writes {them} for Claude Code (or codex, …).")
    return code


def _show_readers(session: Session, deployed: Deployed, added: list[str]) -> None:
    """Say which items each group of programs reads now."""
    refused = {(row.item, row.target) for row in deployed.refused}
    written = {change.item for change in deployed.changes if change.change != "remove"}
    readers: dict[tuple[str, ...], list[str]] = {}
    for item in added:
        names = tuple(name for name in deployed.targets if (item, name) not in refused)
        if item in written and names:
            readers.setdefault(names, []).append(item)
    for names, items in readers.items():
        what = f"{one_line(items[0])} now" if len(items) == 1 else f"these {len(items)} items now"
        verb = "reads" if len(names) == 1 else "read"
        session.console.say(f"{titles(names)} {verb} {what}.", "ok")
