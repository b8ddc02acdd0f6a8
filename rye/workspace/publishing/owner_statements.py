"""Owners' statements about published items: check the signer, sign, send, and confirm that the log has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from rye.errors import RyeError, UsageError
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError, text_reader
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import MAX_REASON_CHARACTERS, Keyset, Statement, namespace_key_name
from rye.registry.trust.records import ItemHistory
from rye.workspace.registries.registry_access import open_api

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.registry.client import RegistryClient
    from rye.registry.trust.keysets import Link
    from rye.signing.signing_key import SigningKey
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


def statement_time(context: Context) -> datetime:
    """The current time for a statement: whole seconds, UTC."""
    return context.now().replace(microsecond=0)


def keyset_in_force(context: Context, client: RegistryClient, namespace: str) -> Keyset:
    """The keyset whose keys sign now. Raises RyeError ``namespace-unclaimed``."""
    return link_in_force(context, client, namespace).keyset


def link_in_force(context: Context, client: RegistryClient, namespace: str) -> Link:
    """Its place in the chain. Raises RyeError ``namespace-unclaimed``."""
    link = client.keysets([namespace])[namespace].current(context.now())
    if link is None:
        raise RyeError(
            "namespace-unclaimed",
            f"The namespace {namespace!r} has no owner in {client.origin}.",
            f"Claim it with `rye namespace claim {namespace}`.",
        )
    return link


def owner_key(keys: OwnKeys, keyset: Keyset, name: str | None) -> SigningKey:
    """The key called ``name`` (None: the default), if it is in the keyset. Raises RyeError ``not-an-owner``."""
    require_owner(keys, keyset, name)
    return keys.signing_key(name)


def require_owner(keys: OwnKeys, keyset: Keyset, name: str | None) -> None:
    """Require that the key called ``name`` is in the keyset, without unsealing it. Raises RyeError ``not-an-owner``."""
    public = keys.public(name)
    if public.raw in keyset.keys and public not in keyset.accepted_keys():
        raise RyeError(
            "not-an-owner",
            f"{keyset.namespace!r} requires a security key, and your key {public.fingerprint} is none.",
            "Choose one with --key; `rye keys add --agent` takes one from your ssh-agent.",
        )
    if public.raw not in keyset.keys:
        raise RyeError(
            "not-an-owner",
            f"Your key {public.fingerprint} is not a key of {keyset.namespace!r}.",
            f"Choose one of its keys with --key; `rye namespace show {keyset.namespace}` lists them.",
        )


def owner_signer(origin: str, namespace: str, signing_key: SigningKey) -> Signer:
    """The signer of notes for the registry ``origin`` with a namespace's key."""
    return Signer(VerifierKey(namespace_key_name(origin, namespace), signing_key.public.raw), signing_key.sign)


def one_line(option: str, text: str) -> str:
    """The text, if a statement can contain it. Raises UsageError ``bad-argument``."""
    try:
        return text_reader(MAX_REASON_CHARACTERS)(text)
    except StatementError as error:
        raise UsageError(
            "bad-argument",
            f"{option} cannot be published: {error.message.removeprefix('Malformed statement: ')}",
            f"Give one line of plain text, at most {MAX_REASON_CHARACTERS} characters.",
            what="text",
        ) from None


def send(
    context: Context,
    client: RegistryClient,
    identity: Identity,
    statement: Statement,
    signing_key: SigningKey,
    shows: Callable[[ItemHistory], bool],
) -> int:
    """Sign and publish a statement, then read it back from the log. Return its position. Raises RyeError ``not-in-log``."""
    note = notes.sign(statement.text(), [owner_signer(client.origin, identity.namespace, signing_key)])
    return send_note(context, client, identity, note.encode(), shows)


def send_note(
    context: Context, client: RegistryClient, identity: Identity, note: str, shows: Callable[[ItemHistory], bool]
) -> int:
    """Publish a signed note about an item and read it back. Return its log position."""

    def is_there() -> bool:
        history = client.histories([identity]).get(identity)
        return history is not None and shows(history)

    return log_note(context, client, note, "statement", is_there)


def log_note(context: Context, client: RegistryClient, note: str, what: str, is_there: Callable[[], bool]) -> int:
    """Publish a signed note, and look whether the log has what it says. Return its position. Raises RyeError ``not-in-log``."""
    answer = open_api(context, client).post_statements([note])
    client.refresh()
    if not is_there():
        raise RyeError(
            "not-in-log",
            f"The registry accepted the {what}, but it is not in the registry's log.",
            "Do not rely on it. `rye log verify` checks the registry.",
        )
    return answer.results[0].log
