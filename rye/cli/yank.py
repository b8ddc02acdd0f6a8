"""``rye yank``, ``unyank``, ``deprecate``: owner-signed statements about what is published already."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from rye.cli.options import Session, command
from rye.cli.registry_access import configured, open_api, open_registry, show_document
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.registry.client import RegistryClient
    from rye.registry.statements import Statement


def _identity(client: RegistryClient, text: str) -> tuple[Identity, str | None]:
    """The published item that ``[kind:]id[@version]`` names, and the version."""
    from rye.items.identity import Identity, parse_reference

    reference = parse_reference(text)
    kinds = client.kinds_of([reference.id])[reference.id]
    if reference.kind is not None:
        kinds = tuple(kind for kind in kinds if kind == reference.kind)
    if not kinds:
        raise RyeError("no-such-item", f"{reference.id!r} is not published.", "`rye search` finds what is.")
    if len(kinds) > 1:
        listed = ", ".join(f"{kind}:{reference.id}" for kind in kinds)
        raise UsageError("ambiguous", f"{reference.id!r} is {listed}.", f"Name one: {kinds[0]}:{reference.id}.")
    return Identity(kinds[0], reference.id), reference.range


def _address(session: Session, text: str) -> str:
    from rye.items.identity import parse_reference

    return configured(session).of(parse_reference(text).id.split("/", 1)[0])


def _send(session: Session, client: RegistryClient, namespace: str, statement: Statement, key: str | None) -> int:
    from rye.cli.key_access import signing_key
    from rye.registry import notes
    from rye.registry.notes import Signer, VerifierKey
    from rye.registry.statements import namespace_key_name

    private = signing_key(session, key)
    name = namespace_key_name(client.origin, namespace)
    note = notes.sign(statement.text(), [Signer(VerifierKey(name, private.public.raw), private.sign)])
    answer = open_api(session, client).post_statements([note.encode()])
    client.refresh()
    return answer.results[0].log


def _keyset_number(client: RegistryClient, namespace: str) -> int:
    link = client.keysets([namespace])[namespace].current(datetime.now(UTC))
    if link is None:
        raise RyeError("no-such-namespace", f"Nobody owns {namespace!r}.")
    return link.keyset.number


def _set_yanked(session: Session, release: str, reason: str, key: str | None, yanked: bool) -> None:
    from rye.registry.statements import Yank

    with open_registry(session, _address(session, release)) as client:
        identity, version = _identity(client, release)
        if version is None:
            raise UsageError("no-version", "Say which version.", f"Write {identity}@X.Y.Z.")
        record = next((r for r in client.releases([identity])[identity] if r.version == version), None)
        if record is None:
            raise RyeError(
                "no-such-version", f"{identity} has no version {version}.", f"`rye info {identity}` lists them."
            )
        if (record.yank is not None) == yanked:
            raise RyeError("nothing-to-do", f"{identity} {version} is {'yanked already' if yanked else 'not yanked'}.")
        statement = Yank(
            origin=client.origin,
            identity=identity,
            version=version,
            yanked=yanked,
            keyset=_keyset_number(client, identity.namespace),
            time=datetime.now(UTC).replace(microsecond=0),
            reason=reason,
        )
        position = _send(session, client, identity.namespace, statement, key)
    what = "yanked" if yanked else "unyanked"
    document = {"id": identity.id, "kind": identity.kind, "version": version, "state": what, "log": position}
    show_document(session, document, f"{what} {identity} {version} (log {position})")


@command("yank")
@click.argument("release", metavar="[KIND:]ID@VERSION")
@click.option("--reason", required=True, help="Why, in a line; everybody sees it.")
@click.option("--key", metavar="NAME", help="Sign with this key.")
@click.pass_obj
def yank(session: Session, release: str, reason: str, key: str | None) -> None:
    """Take a version back: new resolutions avoid it, locked installs go on with a warning. Nothing is deleted."""
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
    from rye.registry.statements import Deprecation

    with open_registry(session, _address(session, item)) as client:
        identity, _ = _identity(client, item)
        instead = _identity(client, replacement)[0] if replacement else None
        statement = Deprecation(
            origin=client.origin,
            identity=identity,
            deprecated=not undo,
            replacement=instead,
            keyset=_keyset_number(client, identity.namespace),
            time=datetime.now(UTC).replace(microsecond=0),
            reason=reason,
        )
        position = _send(session, client, identity.namespace, statement, key)
    what = "supported again" if undo else "deprecated"
    document = {"id": identity.id, "kind": identity.kind, "state": what, "log": position}
    show_document(session, document, f"{identity} is {what} (log {position})")
