"""Signed warnings about faulty versions, from an item's owners or from the registry's owners."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.registry.protocol.statements import Advisory
from rye.registry.trust.records import NO_VERSION, is_about_nothing
from rye.resolution.ranges import Range
from rye.storage.safe_files import read_bytes
from rye.workspace.confirmation import confirm_on_terminal
from rye.workspace.publishing.owner_statements import (
    keyset_in_force,
    one_line,
    owner_key,
    send,
    send_note,
    statement_time,
)
from rye.workspace.registries.published_items import published, registry_of
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys


class AdvisoryRequest(Struct, frozen=True):
    """``reference``: ``[kind:]id``; ``affected``: the range of faulty versions."""

    reference: str
    number: str
    affected: str
    severity: str
    title: str
    key: str | None = None


class AdvisoryOutcome(Struct, frozen=True):
    """An advisory and its position in the log."""

    advisory: Advisory
    log: int

    @property
    def withdraws(self) -> bool:
        """Whether it takes an earlier one back."""
        return is_about_nothing(self.advisory)


def publish_advisory(context: Context, keys: OwnKeys, request: AdvisoryRequest) -> AdvisoryOutcome:
    """Publish an advisory about versions of an item. It replaces an earlier one with the same number. Asks on a terminal.

    Raises RyeError, among them ``declined``.
    """
    title = one_line("--title", request.title)
    Range.parse(request.affected)
    with open_registry(context, registry_of(context, request.reference), writes=True) as client:
        identity, _ = published(client, request.reference)
        keyset = keyset_in_force(context, client, identity.namespace)
        advisory = _advisory(context, client.origin, identity, request, title, keyset.number)
        signing_key = owner_key(keys, keyset, request.key)
        what = (
            f"Withdraw {advisory.number} about {identity}"
            if is_about_nothing(advisory)
            else f"Warn everybody who has {identity} {advisory.range}: {advisory.severity}, {title!r}"
        )
        question = f"{what}? The log keeps it for good."
        confirm_on_terminal(context, question, "nothing was published.")
        position = send(
            context, client, identity, advisory, signing_key, lambda history: advisory in history.advisories
        )
    return AdvisoryOutcome(advisory, position)


def draft_advisory(context: Context, request: AdvisoryRequest) -> str:
    """The text of an advisory for the registry's owners to sign. Raises RyeError."""
    title = one_line("--title", request.title)
    Range.parse(request.affected)
    with open_registry(context, registry_of(context, request.reference), writes=True) as client:
        identity, _ = published(client, request.reference)
        keyset_in_force(context, client, identity.namespace)
        return _advisory(context, client.origin, identity, request, title, None).text()


def withdraw_advisory(context: Context, keys: OwnKeys, reference: str, number: str, key: str | None) -> AdvisoryOutcome:
    """Withdraw an advisory of the namespace: publish it again with a range that matches no version.

    Raises RyeError ``no-such-entry``, and ``not-an-owner`` for one of the registry's owners, who alone can withdraw it.
    """
    with open_registry(context, registry_of(context, reference), writes=True) as client:
        identity, _ = published(client, reference)
        in_force = [one for one in client.histories([identity])[identity].advisories if not is_about_nothing(one)]
    known = {advisory.number: advisory for advisory in in_force if advisory.keyset is not None}
    if number not in known and any(advisory.number == number for advisory in in_force):
        raise RyeError(
            "not-an-owner",
            f"The registry's owners stated the advisory {number} about {identity}: only they can withdraw it.",
            f"Ask them to sign one with an empty range: `rye advisory publish {identity} --number {number} "
            f"--range '{NO_VERSION}' … --draft-for-registry-owners FILE`.",
        )
    if number not in known:
        raise RyeError(
            "no-such-entry",
            f"{identity} has no advisory {number}.",
            f"`rye advisory list {identity}` lists its advisories.",
            what="advisory",
        )
    found = known[number]
    return publish_advisory(
        context, keys, AdvisoryRequest(str(identity), number, NO_VERSION, found.severity, found.title, key)
    )


def submit_advisory(context: Context, file: Path) -> AdvisoryOutcome:
    """Publish an advisory that the registry's owners signed. Raises RyeError ``other-registry``."""
    note = notes.parse(read_bytes(file, MAX_NOTE_BYTES))
    advisory = Advisory.parse(note.text)
    with open_registry(context, registry_of(context, advisory.identity.id), writes=True) as client:
        if client.origin != advisory.origin:
            raise RyeError(
                "other-registry",
                f"The advisory is for the registry {advisory.origin}, but {client.address} is {client.origin}.",
                "Name the right registry with --registry.",
            )
        position = send_note(
            context, client, advisory.identity, note.encode(), lambda history: advisory in history.advisories
        )
    return AdvisoryOutcome(advisory, position)


def advisories_of(context: Context, reference: str) -> tuple[Identity, tuple[Advisory, ...]]:
    """The advisories in force about an item."""
    with open_registry(context, registry_of(context, reference), writes=True) as client:
        identity, _ = published(client, reference)
        found = client.histories([identity])[identity].advisories
    return identity, tuple(advisory for advisory in found if not is_about_nothing(advisory))


def _advisory(
    context: Context, origin: str, identity: Identity, request: AdvisoryRequest, title: str, keyset: int | None
) -> Advisory:
    advisory = Advisory(
        origin=origin,
        identity=identity,
        number=request.number,
        range=request.affected,
        severity=request.severity,
        keyset=keyset,
        time=statement_time(context),
        title=title,
    )
    try:
        advisory.text()
    except StatementError as error:
        raise UsageError(
            "bad-argument",
            error.message,
            "The number consists of A-Z, 0-9 and -. Write the range as for `rye add`.",
            what="advisory",
        ) from None
    return advisory
