"""What owners say about published items, from the command's words to the log: who signs, that it is allowed, that it is there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rye.cli.options import Session
from rye.cli.registry.registry_access import configured, open_api
from rye.errors import RyeError, UsageError

if TYPE_CHECKING:
    from rye.items.identity import Identity
    from rye.registry.client import RegistryClient
    from rye.registry.protocol.statements import Keyset, Statement
    from rye.registry.trust.records import ItemHistory, ReleaseRecord
    from rye.signing.keys import PrivateKey


def now() -> datetime:
    """The time that a statement gets: whole seconds, UTC."""
    return datetime.now(UTC).replace(microsecond=0)


def registry_of(session: Session, text: str) -> str:
    """The address of the registry that answers for ``[kind:]id[@version]``."""
    from rye.items.identity import parse_reference

    return configured(session).of(parse_reference(text).id.split("/", 1)[0])


def published(client: RegistryClient, text: str) -> tuple[Identity, str | None]:
    """The published item that ``[kind:]id[@version]`` names, and the version.

    Raises RyeError ``no-such-item`` and UsageError ``ambiguous``.
    """
    from rye.items.identity import Identity, parse_reference

    reference = parse_reference(text)
    kinds = client.kinds_of([reference.id])[reference.id]
    if reference.kind is not None:
        kinds = tuple(kind for kind in kinds if kind == reference.kind)
    if not kinds:
        raise RyeError(
            "no-such-item",
            f"{reference.id!r} is not published in {client.origin}.",
            f"`rye search {reference.id.rpartition('/')[2]}` finds what is.",
        )
    if len(kinds) > 1:
        listed = ", ".join(f"{kind}:{reference.id}" for kind in kinds)
        raise UsageError("ambiguous", f"{reference.id!r} is {listed}.", f"Name one: {kinds[0]}:{reference.id}.")
    return Identity(kinds[0], reference.id), reference.range


def published_release(client: RegistryClient, text: str) -> ReleaseRecord:
    """The release that ``[kind:]id@version`` names.

    Raises RyeError ``no-such-item`` and ``no-such-version``, UsageError ``ambiguous`` and ``no-version``.
    """
    identity, version = published(client, text)
    if version is None:
        raise UsageError("no-version", "Say which version.", f"Write {identity}@X.Y.Z.")
    record = next((r for r in client.releases([identity])[identity] if r.version == version), None)
    if record is None:
        raise RyeError("no-such-version", f"{identity} has no version {version}.", f"`rye info {identity}` lists them.")
    return record


def keyset_in_force(client: RegistryClient, namespace: str) -> Keyset:
    """The keyset whose keys sign now. Raises RyeError ``no-such-namespace``."""
    link = client.keysets([namespace])[namespace].current(datetime.now(UTC))
    if link is None:
        raise RyeError(
            "no-such-namespace",
            f"Nobody owns {namespace!r} in {client.origin}.",
            f"`rye namespace claim {namespace}` makes it yours.",
        )
    return link.keyset


def owner_key(session: Session, keyset: Keyset, name: str | None) -> PrivateKey:
    """The private key called ``name`` (None: the default one), one of the keyset's. Raises RyeError ``not-an-owner``."""
    from rye.cli.trust.key_access import key_store, signing_key

    public = key_store().get(name).public
    if public.raw not in keyset.keys:
        raise RyeError(
            "not-an-owner",
            f"Your key {public.fingerprint} is no key of {keyset.namespace!r}.",
            f"Choose one of its keys with --key; `rye namespace show {keyset.namespace}` lists them.",
        )
    return signing_key(session, name)


def one_line(option: str, text: str) -> str:
    """Text that can stand in a statement. Raises UsageError ``bad-text``."""
    from rye.registry.protocol.lines import StatementError, text_reader
    from rye.registry.protocol.statements import MAX_REASON_CHARACTERS

    try:
        return text_reader(MAX_REASON_CHARACTERS)(text)
    except StatementError as error:
        raise UsageError(
            "bad-text",
            f"{option} cannot be published: {error.message.removeprefix('Malformed statement: ')}",
            f"Give one line of plain text, at most {MAX_REASON_CHARACTERS} characters.",
        ) from None


def send(
    session: Session,
    client: RegistryClient,
    identity: Identity,
    statement: Statement,
    private: PrivateKey,
    shows: Callable[[ItemHistory], bool],
) -> int:
    """Sign, publish, and read it back from the log; its position there. Raises RyeError ``not-in-log``."""
    from rye.registry.protocol import notes
    from rye.registry.protocol.notes import Signer, VerifierKey
    from rye.registry.protocol.statements import namespace_key_name

    name = namespace_key_name(client.origin, identity.namespace)
    note = notes.sign(statement.text(), [Signer(VerifierKey(name, private.public.raw), private.sign)])
    return send_note(session, client, identity, note.encode(), shows)


def send_note(
    session: Session, client: RegistryClient, identity: Identity, note: str, shows: Callable[[ItemHistory], bool]
) -> int:
    """Publish a signed note about an item and read it back."""
    answer = open_api(session, client).post_statements([note])
    client.refresh()
    history = client.histories([identity]).get(identity)
    if history is None or not shows(history):
        raise RyeError(
            "not-in-log",
            "The registry answered, but its log does not show the statement.",
            "Do not rely on it; `rye log verify` checks the registry.",
        )
    return answer.results[0].log
