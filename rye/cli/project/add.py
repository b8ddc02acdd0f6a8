"""``rye add``: add items to rye.toml and install them with their dependencies."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.added import following, proposed_deploy, show_added
from rye.cli.project.installing import (
    agreement,
    airgap_given,
    command_text,
    install_options,
)
from rye.errors import UsageError
from rye.workspace.installing.adding import add as add_items
from rye.workspace.installing.adding import names_source, project_to_add_to
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.source_words import is_runner, is_source_word


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
    deploying = proposed_deploy(session, project, dry_run=dry_run)
    request = InstallRequest(
        command=command_text("add", (*items, *said), group, member=member),
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        airgap=airgap_given(session, bundle),
        follow=following(deploying),
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
        return show_added(session, project, outcome, deploying, command=request.command, dry_run=dry_run)
    if everything or editable or listing or name is not None:
        message = "--all, --list, --as and --editable need a source: git+https://… or a folder's path."
        raise UsageError("bad-argument", message, "Name the source before its items.", what="source")
    outcome = add_items(session, project, request, items, group, agreement(session, deploying), member)
    return show_added(session, project, outcome, deploying, command=request.command, dry_run=dry_run)
