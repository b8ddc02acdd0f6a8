"""``rye yank``, ``unyank``, ``deprecate``: owner-signed statements about what is published already."""

from __future__ import annotations

import click

from rye.cli.options import Session, command
from rye.cli.publish.owner_statements import (
    keyset_in_force,
    now,
    one_line,
    owner_key,
    published,
    published_release,
    registry_of,
    send,
)
from rye.cli.registry.registry_access import open_registry, show_document
from rye.errors import RyeError, UsageError


def _set_yanked(session: Session, release: str, reason: str, key: str | None, yanked: bool) -> None:
    from rye.registry.protocol.statements import Yank

    why = one_line("--reason", reason)
    with open_registry(session, registry_of(session, release)) as client:
        record = published_release(client, release)
        identity, version = record.identity, record.version
        what = "yanked" if yanked else "unyanked"
        document = {
            "id": identity.id,
            "kind": identity.kind,
            "version": version,
            "state": what,
            "reason": why,
            "log": None,
        }
        said = record.yank.reason if record.yank is not None else None
        if said == (why if yanked else None):
            there = f"already yanked: {why}" if yanked else "not yanked"
            show_document(session, document, f"{identity} {version} is {there}")
            return
        keyset = keyset_in_force(client, identity.namespace)
        private = owner_key(session, keyset, key)
        statement = Yank(
            origin=client.origin,
            identity=identity,
            version=version,
            yanked=yanked,
            keyset=keyset.number,
            time=now(),
            reason=why,
        )
        shown = statement if yanked else None
        position = send(
            session,
            client,
            identity,
            statement,
            private,
            lambda history: any(r.version == version and r.yank == shown for r in history.records),
        )
    show_document(session, {**document, "log": position}, f"{what} {identity} {version} (log {position})")


@command("yank")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("--reason", required=True, help="Why, in a line; everybody sees it.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def yank(session: Session, release: str, reason: str, key: str | None) -> None:
    """Take a version back: new resolutions avoid it, locked installs go on with a warning. Nothing is deleted.

    A version that is yanked already gets the new reason.
    """
    _set_yanked(session, release, reason, key, yanked=True)


@command("unyank")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("--reason", required=True, help="Why, in a line.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def unyank(session: Session, release: str, reason: str, key: str | None) -> None:
    """Make a yanked version available again."""
    _set_yanked(session, release, reason, key, yanked=False)


@command("deprecate")
@click.argument("item", metavar="[KIND:]ID")
@click.option("--reason", required=True, help="Why, in a line.")
@click.option("--replacement", metavar="[KIND:]ID", help="What to use instead.")
@click.option("--undo", is_flag=True, help="It is supported again.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def deprecate(session: Session, item: str, reason: str, replacement: str | None, undo: bool, key: str | None) -> None:
    """Say that an item should no longer be used, and what to use instead."""
    from rye.registry.protocol.statements import Deprecation

    why = one_line("--reason", reason)
    with open_registry(session, registry_of(session, item)) as client:
        identity, version = published(client, item)
        if version is not None:
            raise UsageError(
                "no-version-here",
                "An item is deprecated as a whole, not one version of it.",
                f"Leave @{version} out; `rye yank {identity}@{version}` takes one version back.",
            )
        instead = published(client, replacement)[0] if replacement else None
        if undo and client.histories([identity])[identity].deprecation is None:
            raise RyeError("nothing-to-do", f"{identity} is not deprecated.", f"`rye info {identity}` shows its state.")
        keyset = keyset_in_force(client, identity.namespace)
        private = owner_key(session, keyset, key)
        statement = Deprecation(
            origin=client.origin,
            identity=identity,
            deprecated=not undo,
            replacement=instead,
            keyset=keyset.number,
            time=now(),
            reason=why,
        )
        shown = None if undo else statement
        position = send(session, client, identity, statement, private, lambda history: history.deprecation == shown)
    what = "supported again" if undo else "deprecated"
    document = {
        "id": identity.id,
        "kind": identity.kind,
        "state": what,
        "replacement": str(instead) if instead else None,
        "reason": why,
        "log": position,
    }
    show_document(session, document, f"{identity} is {what} (log {position})")
