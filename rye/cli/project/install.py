"""``rye install`` and ``rye ci``: install the project as rye.toml and rye.lock describe it."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import (
    agreement,
    airgap_given,
    command_text,
    compare_after,
    deploy_after,
    install_options,
    require_deployed,
    said_of,
    show_outcome,
)
from rye.cli.unchanged import remember
from rye.errors import UsageError
from rye.project.context import require_project
from rye.project.layout import Project
from rye.workspace.context import Context
from rye.workspace.installing.install import install as install_project
from rye.workspace.installing.install_request import Followed, InstallRequest, LockUse

if TYPE_CHECKING:
    from rye.workspace.installing.install_outcome import InstallOutcome


@command("install")
@click.argument("items", nargs=-1, metavar="[KIND:]ID[@RANGE]…")
@click.option("--locked", is_flag=True, help="Fail if rye.lock does not match rye.toml.")
@click.option("--frozen", is_flag=True, help="Install exactly what rye.lock says, and check the installed bytes.")
@install_options("group", "without", "approve", "dry_run", "discard", "airgap")
@click.pass_obj
def install(
    session: Session,
    items: tuple[str, ...],
    locked: bool,
    frozen: bool,
    group: str,
    without: tuple[str, ...],
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> int:
    """Install what rye.toml asks for, at the versions in rye.lock. With ITEMS, add them first."""
    lock_use: LockUse = "frozen" if frozen else "locked" if locked else "repair"
    request = InstallRequest(
        command=command_text("install", items, group if items else "main", without),
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        without=frozenset(without),
        lock_use=lock_use,
        airgap=airgap_given(session, bundle),
        follow=deploy_after if items else _compare_if_applied if frozen else compare_after,
    )
    if items:
        return _add(session, request, items, group)
    outcome = install_project(session, require_project(session.cwd), request, agreement(session))
    code = _shown(session, outcome, dry_run=dry_run, is_exact=frozen)
    if (
        outcome.result == "in-order"
        and outcome.followed is None
        and bundle is None
        and not outcome.policies  # they end by themselves
        and not (outcome.warnings or session.warned or session.json)
    ):
        remember(session.arguments, os.getcwd(), session.environment, session.started, f"{said_of(outcome)}\n")
    return code


def _add(session: Session, request: InstallRequest, items: tuple[str, ...], group: str) -> int:
    if request.lock_use != "repair" or request.without:
        raise UsageError(
            "contradiction", "--locked, --frozen and --without cannot be combined with items.", "Use `rye add` first."
        )
    from rye.workspace.installing.adding import (
        add,
        project_to_add_to,
    )  # loads the solver, which an up-to-date installation never needs
    from rye.workspace.installing.source_words import is_source_word

    address = next((item for item in items if is_source_word(item)), None)
    if address is not None:
        raise UsageError(
            "bad-argument",
            f"{address!a} is where items come from, not the name of an item.",
            f"`rye add {quote(address)}` lists what is there, or installs it.",
            what="source",
        )
    project = project_to_add_to(session.cwd)
    outcome = add(session, project, request, items, group, agreement(session))
    return show_outcome(session, outcome, dry_run=request.dry_run)


@command("ci")
@install_options("without", "airgap")
@click.pass_obj
def ci(session: Session, without: tuple[str, ...], bundle: str | None) -> int:
    """Install exactly what rye.lock says, and check the installed bytes. Same as `rye install --frozen`."""
    request = InstallRequest(
        command=command_text("ci", without=without),
        without=frozenset(without),
        lock_use="frozen",
        airgap=airgap_given(session, bundle),
        follow=_compare_if_applied,
    )
    outcome = install_project(session, require_project(session.cwd), request, agreement(session))
    return _shown(session, outcome, is_exact=True)


def _shown(session: Session, outcome: InstallOutcome, *, dry_run: bool = False, is_exact: bool = False) -> int:
    """Show what was installed, and then what is deployed and differs from it. ``is_exact``: whether it is a check, of which more
    could be expected than it does. Raises RyeError ``not-as-deployed``."""
    if session.json:
        require_deployed(outcome)
        return show_outcome(session, outcome, dry_run=dry_run)
    code = show_outcome(session, outcome, dry_run=dry_run, requires_deployed=True)
    if is_exact and outcome.result == "in-order":
        session.console.say("No registry was asked; `rye audit` looks for advisories.", "dim")
    require_deployed(outcome)
    return code


def _compare_if_applied(context: Context, project: Project) -> Followed | None:
    """Once the items are in place: require that the project's customizations apply to them, and compare. Raises RyeError
    ``customization-lapsed``; then the installation is undone."""
    if any(folder.is_dir() for folder in (project.overrides, project.overlays, project.role_directives)):
        from rye.workspace.customizing.lapsed import require_applied  # few projects have customizations

        require_applied(context)
    return compare_after(context, project)
