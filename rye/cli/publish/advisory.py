"""``rye advisory``: signed warnings about versions with a known fault, by an item's owners or the registry's."""

from __future__ import annotations

import click

from rye.cli.main import family
from rye.cli.options import Session, command
from rye.cli.trust.own_keys import own_keys
from rye.layout import Column
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Advisory
from rye.workspace.named_file import NamedFile
from rye.workspace.new_file import write_new
from rye.workspace.publishing.advisories import (
    AdvisoryOutcome,
    AdvisoryRequest,
    advisories_of,
    draft_advisory,
    publish_advisory,
    submit_advisory,
    withdraw_advisory,
)


@command("publish")
@click.argument("item", metavar="[KIND:]ID")
@click.option(
    "--number", required=True, metavar="TEXT", help="The advisory's number: A-Z, 0-9 and -, e.g. ACME-2026-1."
)
@click.option("--range", "affected", required=True, metavar="RANGE", help='The affected versions, e.g. "<1.2.3".')
@click.option(
    "--severity",
    required=True,
    type=click.Choice(["low", "medium", "high", "critical"]),
    help="The severity.",
)
@click.option("--title", required=True, help="What is wrong, in one line.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.option(
    "--draft-for-registry-owners",
    "draft",
    metavar="FILE",
    help="Write a file for the registry's owners to sign (`rye-registry root sign FILE`) instead of signing it yourself.",
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
    """Warn about versions of an item. Publishing the same number again replaces the earlier warning.

    Asks first on a terminal; --yes answers.
    """
    request = AdvisoryRequest(item, number, affected, severity, title, key)
    if draft is not None:
        _write_draft(session, draft, draft_advisory(session, request))
    else:
        _report(session, publish_advisory(session, own_keys(session), request))


@command("withdraw")
@click.argument("item", metavar="[KIND:]ID")
@click.argument("number")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def withdraw(session: Session, item: str, number: str, key: str | None) -> None:
    """Withdraw an advisory: from now on it applies to no version. Asks first on a terminal."""
    _report(session, withdraw_advisory(session, own_keys(session), item, number, key))


@command("submit")
@click.argument("file", metavar="FILE")
@click.pass_obj
def submit(session: Session, file: str) -> None:
    """Publish an advisory that the registry's owners signed."""
    _report(session, submit_advisory(session, session.path(file)))


@command("list")
@click.argument("item", metavar="[KIND:]ID")
@click.pass_obj
def list_advisories(session: Session, item: str) -> None:
    """Show the advisories about an item."""
    identity, found = advisories_of(session, item)
    if session.json:
        rows = [{**_document(a), "time": write_time(a.time)} for a in found]
        session.console.document({"id": identity.id, "kind": identity.kind, "advisories": rows})
        return
    if not found:
        session.console.say(f"{identity} has no advisories.")
    session.console.table(
        [[a.number, a.severity, a.range, "owner" if a.keyset else "registry", a.title] for a in found],
        ["NUMBER", "SEVERITY", "VERSIONS", "BY", Column("TITLE", prose=True, lines=9)],
    )


def _write_draft(session: Session, file: str, text: str) -> None:
    write_new(NamedFile(session.path(file), file), text)
    session.console.answer(
        {"file": file, "text": text},
        f"wrote {file}; the registry's owners run `rye-registry root sign {file} --key KEY`, then `rye advisory submit {file}`",
    )


def _document(advisory: Advisory) -> dict[str, object]:
    return {
        "number": advisory.number,
        "range": advisory.range,
        "severity": advisory.severity,
        "title": advisory.title,
        "by": "owner" if advisory.keyset else "registry",
    }


def _report(session: Session, done: AdvisoryOutcome) -> None:
    advisory, identity = done.advisory, done.advisory.identity
    state = "withdrawn" if done.withdraws else "published"
    document = {"id": identity.id, "kind": identity.kind, "state": state, **_document(advisory), "log": done.log}
    session.console.answer(document, f"{state} {advisory.number} about {identity} {advisory.range} (log {done.log})")


advisory = family(
    "advisory",
    "Signed warnings about versions.",
    {
        "publish": ("rye.cli.publish.advisory:publish", "Warn about versions of an item."),
        "withdraw": ("rye.cli.publish.advisory:withdraw", "Withdraw a warning."),
        "list": ("rye.cli.publish.advisory:list_advisories", "Show the warnings about an item."),
        "submit": ("rye.cli.publish.advisory:submit", "Publish a warning that the registry's owners signed."),
    },
)
