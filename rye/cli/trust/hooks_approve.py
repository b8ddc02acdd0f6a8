"""``rye hooks approve``: approve the hooks of one installed item, shown with their exact action."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.project.consent_screen import show_hook
from rye.project.context import require_project
from rye.workspace.installing.hook_approval import WaitingHooks, approve_hooks


@command("approve")
@click.argument("target", metavar="[KIND:]ID")
@click.pass_obj
def approve(session: Session, target: str) -> None:
    """Show all hooks of an installed item with their exact action, approve them, and record that in rye.lock.

    --yes is enough here, because the item is named.
    """

    def show(waiting: WaitingHooks) -> None:
        for hook in waiting.hooks:
            show_hook(session.console, hook, style="strong")

    approved = approve_hooks(session, require_project(session.cwd), target, show)
    item, count = approved.item, len(approved.hooks)
    if session.json:
        session.console.document({"id": item.id, "kind": item.kind, "version": item.version, "approved": count})
    elif count:
        session.console.data(f"approved {count} hook{'s' * (count != 1)} of {item.identity}")
    else:
        session.console.data("no hooks wait for approval")
