"""``rye yank``, ``unyank``, ``deprecate``: owner-signed statements about published releases."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.workspace.publishing import release_status
from rye.workspace.publishing.release_status import DeprecationRequest, YankRequest, set_yanked


@command("yank")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("--reason", required=True, help="Why, in one line; public.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def yank(session: Session, release: str, reason: str, key: str | None) -> None:
    """Withdraw a version: new resolutions avoid it, and locked installs continue with a warning. Nothing is deleted.

    Asks first; without a terminal it needs --yes. For a version that is already yanked, replaces the reason.
    """
    _set_yanked(session, YankRequest(release, True, reason, key))


@command("unyank")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("--reason", help="Why, in one line; public.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def unyank(session: Session, release: str, reason: str | None, key: str | None) -> None:
    """Make a yanked version available again."""
    _set_yanked(session, YankRequest(release, False, reason, key))


def _set_yanked(session: Session, request: YankRequest) -> None:
    done = set_yanked(session, own_keys(session), request)
    identity, version = done.identity, done.version
    state = "yanked" if request.yanked else "unyanked"
    document = {
        "id": identity.id,
        "kind": identity.kind,
        "version": version,
        "state": state,
        "reason": done.reason,
        "log": done.log,
    }
    if done.log is None:
        there = f"already yanked: {done.reason}" if request.yanked else "not yanked"
        session.console.answer(document, f"{identity} {version} is {there}")
    else:
        session.console.answer(document, f"{state} {identity} {version} (log {done.log})")


@command("deprecate")
@click.argument("item", metavar="[KIND:]ID")
@click.option("--reason", required=True, help="Why, in one line.")
@click.option("--replacement", metavar="[KIND:]ID", help="What to use instead.")
@click.option("--undo", is_flag=True, help="Mark it as supported again.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def deprecate(session: Session, item: str, reason: str, replacement: str | None, undo: bool, key: str | None) -> None:
    """Mark an item as no longer recommended, and name a replacement."""
    request = DeprecationRequest(item, reason, replacement, undo, key)
    done = release_status.deprecate(session, own_keys(session), request)
    state = "supported again" if undo else "deprecated"
    document = {
        "id": done.identity.id,
        "kind": done.identity.kind,
        "state": state,
        "replacement": str(done.replacement) if done.replacement else None,
        "reason": done.reason,
        "log": done.log,
    }
    session.console.answer(document, f"{done.identity} is {state} (log {done.log})")
