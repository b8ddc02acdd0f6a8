"""``rye advisory``: signed warnings about versions with a known fault, by an item's owners or by the registry's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.publish.owner_statements import (
    keyset_in_force,
    now,
    one_line,
    owner_key,
    published,
    registry_of,
    send,
    send_note,
)
from rye.cli.registry.registry_access import open_registry, show_document
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.registry.protocol.statements import Advisory
    from rye.registry.trust.records import ItemHistory

_NOTHING = "<0.0.0-0"
"""The range that holds no version: it withdraws an advisory (docs/protocol.md, rye.advisory/v1)."""


@command("publish")
@click.argument("item", metavar="[KIND:]ID")
@click.option("--number", required=True, metavar="TEXT", help="Its number: A-Z, 0-9 and -, e.g. ACME-2026-1.")
@click.option("--range", "affected", required=True, metavar="RANGE", help='The versions with the fault, e.g. "<1.2.3".')
@click.option(
    "--severity",
    required=True,
    type=click.Choice(["low", "medium", "high", "critical"]),
    help="How bad it is.",
)
@click.option("--title", required=True, help="What is wrong, in a line.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.option(
    "--draft-for-registry-owners",
    "draft",
    metavar="FILE",
    help="Write it for the registry's owners to sign (rye-registry root sign FILE), instead of signing it yourself.",
)
@click.pass_obj
def publish(
    session: Session,
    item: str,
    number: str,
    affected: str,
    severity: str,
    title: str,
    key: str | None,
    draft: str | None,
) -> None:
    """Warn of versions of an item. The same number again replaces the earlier warning."""
    _publish(session, item, number, affected, severity, one_line("--title", title), key, draft)


@command("withdraw")
@click.argument("item", metavar="[KIND:]ID")
@click.argument("number")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def withdraw(session: Session, item: str, number: str, key: str | None) -> None:
    """Take an advisory back: from now on it holds for no version."""
    with open_registry(session, registry_of(session, item)) as client:
        identity, _ = published(client, item)
        known = {advisory.number: advisory for advisory in client.histories([identity])[identity].advisories}
    if number not in known or known[number].range == _NOTHING:
        raise RyeError(
            "no-such-advisory",
            f"There is no advisory {number} about {identity}.",
            f"`rye advisory list {identity}` shows those there are.",
        )
    _publish(session, item, number, _NOTHING, known[number].severity, known[number].title, key, None)


@command("submit")
@click.argument("file", metavar="FILE")
@click.pass_obj
def submit(session: Session, file: str) -> None:
    """Publish an advisory that the registry's owners signed."""
    from rye.project.item_file import read_bytes
    from rye.registry.protocol import notes
    from rye.registry.protocol.notes import MAX_NOTE_BYTES
    from rye.registry.protocol.statements import Advisory

    note = notes.parse(read_bytes(session.path(file), MAX_NOTE_BYTES))
    advisory = Advisory.parse(note.text)
    with open_registry(session, registry_of(session, advisory.identity.id)) as client:
        if client.origin != advisory.origin:
            raise RyeError(
                "other-registry",
                f"The advisory is for {advisory.origin}; {client.address} is {client.origin}.",
                "Name the right one with --registry.",
            )
        position = send_note(session, client, advisory.identity, note.encode(), _shows(advisory))
    _report(session, advisory, position)


@command("list")
@click.argument("item", metavar="[KIND:]ID")
@click.pass_obj
def list_advisories(session: Session, item: str) -> None:
    """Show the advisories about an item."""
    from rye.registry.protocol.lines import write_time

    with open_registry(session, registry_of(session, item)) as client:
        identity, _ = published(client, item)
        found = [a for a in client.histories([identity])[identity].advisories if a.range != _NOTHING]
    if session.json:
        rows = [{**_document(a), "time": write_time(a.time)} for a in found]
        session.console.document({"id": identity.id, "kind": identity.kind, "advisories": rows})
        return
    if not found:
        session.console.say(f"There are no advisories about {identity}.")
    session.console.table(
        [[a.number, a.severity, a.range, "owner" if a.keyset else "registry", a.title] for a in found],
        ["NUMBER", "SEVERITY", "VERSIONS", "BY", "TITLE"],
    )


def _publish(
    session: Session,
    item: str,
    number: str,
    affected: str,
    severity: str,
    title: str,
    key: str | None,
    draft: str | None,
) -> None:
    from rye.registry.protocol.lines import StatementError
    from rye.registry.protocol.statements import Advisory
    from rye.resolution.ranges import Range

    Range.parse(affected)
    with open_registry(session, registry_of(session, item)) as client:
        identity, _ = published(client, item)
        keyset = keyset_in_force(client, identity.namespace)
        advisory = Advisory(
            origin=client.origin,
            identity=identity,
            number=number,
            range=affected,
            severity=severity,
            keyset=None if draft else keyset.number,
            time=now(),
            title=title,
        )
        try:
            text = advisory.text()
        except StatementError as error:
            raise UsageError(
                "bad-advisory", error.message, "The number is A-Z, 0-9 and -; the range is as `rye add` takes it."
            ) from None
        if draft is not None:
            _write_draft(session, draft, text)
            return
        private = owner_key(session, keyset, key)
        position = send(session, client, identity, advisory, private, _shows(advisory))
    _report(session, advisory, position)


def _write_draft(session: Session, file: str, text: str) -> None:
    try:
        with session.path(file).open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise RyeError("file-exists", f"{file} exists.", "Give another name.") from None
    show_document(
        session,
        {"file": file, "text": text},
        f"wrote {file}; the registry's owners run `rye-registry root sign {file} --key KEY`, then `rye advisory submit {file}`",
    )


def _shows(advisory: Advisory) -> Callable[[ItemHistory], bool]:
    def shows(history: ItemHistory) -> bool:
        return advisory in history.advisories

    return shows


def _document(advisory: Advisory) -> dict[str, object]:
    return {
        "number": advisory.number,
        "range": advisory.range,
        "severity": advisory.severity,
        "title": advisory.title,
        "by": "owner" if advisory.keyset else "registry",
    }


def _report(session: Session, advisory: Advisory, position: int) -> None:
    identity = advisory.identity
    state = "withdrawn" if advisory.range == _NOTHING else "published"
    document = {"id": identity.id, "kind": identity.kind, "state": state, **_document(advisory), "log": position}
    show_document(session, document, f"{state} {advisory.number} about {identity} {advisory.range} (log {position})")


advisory = family(
    "advisory",
    "Signed warnings about versions.",
    {
        "publish": ("rye.cli.publish.advisory:publish", "Warn of versions of an item."),
        "withdraw": ("rye.cli.publish.advisory:withdraw", "Take a warning back."),
        "list": ("rye.cli.publish.advisory:list_advisories", "Show the warnings about an item."),
        "submit": ("rye.cli.publish.advisory:submit", "Publish one that the registry's owners signed."),
    },
)
