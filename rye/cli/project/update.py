"""``rye update``: move locked items to newer versions."""

from __future__ import annotations

from collections.abc import Sequence

import click

from rye.cli.options import Session, command
from rye.cli.project.installing import (
    agreement,
    airgap_given,
    command_text,
    deploy_after,
    install_options,
    show_outcome,
)
from rye.errors import UsageError
from rye.project.context import require_project
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.installing.updating import update as update_items


@command("update")
@click.argument("items", nargs=-1, metavar="[KIND:]ID[@VERSION]…")
@click.option("--strict-overrides", is_flag=True, help="Stop if an override does not fit the new version.")
@click.option(
    "--origin", is_flag=True, help="Merge the newest originals into forks: those named, or all (see rye fork)."
)
@install_options("approve", "dry_run", "discard", "airgap")
@click.pass_obj
def update(
    session: Session,
    items: tuple[str, ...],
    strict_overrides: bool,
    origin: bool,
    approved: tuple[str, ...],
    dry_run: bool,
    discard_local_edits: bool,
    bundle: str | None,
) -> int:
    """Move the named items, or all, to the newest versions that rye.toml allows. ID@VERSION moves to exactly that version.
    The end of an ID will do if only one item has it.

    If a registry does not answer, what it has in rye.lock stays, and named items of others move; without names, nothing moves.

    Also lists the items that hold others back. A locked version that was yanked stays if there is no other, with a warning.

    An update that widens rights, adds hooks or changes the signer needs your approval.
    """
    if origin:
        if strict_overrides or dry_run or discard_local_edits or bundle is not None:
            hint = (
                "`rye diff --origin` shows what it would bring; --approve takes over another signer, and what can run."
            )
            raise UsageError("contradiction", "--origin cannot be combined with these options.", hint)
        from rye.cli.author.origins import update_forks

        return update_forks(session, items, approved)
    request = InstallRequest(
        command=command_text("update", items),
        approved=approved,
        dry_run=dry_run,
        discard_local_edits=discard_local_edits,
        strict_overrides=strict_overrides,
        airgap=airgap_given(session, bundle),
        follow=deploy_after,
    )
    outcome = update_items(session, require_project(session.cwd), request, items, agreement(session))
    return show_outcome(session, outcome, dry_run=dry_run, in_order=_nothing_newer(items, offline=session.offline))


def _nothing_newer(items: Sequence[str], *, offline: bool) -> str:
    """What is true if no version moved. ``items``: those named, if any."""
    if items and all("@" in name for name in items):
        return "nothing to update: rye.lock has that version" + "s" * (len(items) > 1)
    what = ", ".join(name for name in items if "@" not in name) if 0 < len(items) <= 3 else ""
    verb = "is" if what and len(items) == 1 else "are"
    known = " and that is known offline" if offline else ""
    whose = f"{what} {verb}" if what else "each of the named items is" if items else "each item is"
    return f"nothing to update: {whose} at the newest version that rye.toml and the other items allow{known}"
