"""Owners' statements about releases: yank a version or make it available again, deprecate an item or undo that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.items.identity import Identity
from rye.registry.protocol.statements import Deprecation, Yank
from rye.workspace.confirmation import confirm
from rye.workspace.publishing.owner_statements import keyset_in_force, one_line, owner_key, send, statement_time
from rye.workspace.registries.published_items import published, published_release, registry_of
from rye.workspace.registries.registry_access import open_registry

if TYPE_CHECKING:
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys

_AVAILABLE_AGAIN = "available again"


class YankRequest(Struct, frozen=True):
    """``reference``: ``[kind:]id@version``; ``reason``: None only when a yank is undone."""

    reference: str
    yanked: bool
    reason: str | None = None
    key: str | None = None
    """The name of the key that signs; None: the default one."""


class YankOutcome(Struct, frozen=True):
    """A version's status after the statement."""

    identity: Identity
    version: str
    reason: str
    log: int | None
    """The statement's position; None: the log already says this, and nothing was sent."""


def set_yanked(context: Context, keys: OwnKeys, request: YankRequest) -> YankOutcome:
    """Yank a version, or make it available again. A yank asks first.

    Raises RyeError, among them ``not-an-owner``, ``declined``, ``confirmation-needed``.
    """
    why = one_line("--reason", request.reason if request.reason is not None else _AVAILABLE_AGAIN)
    with open_registry(context, registry_of(context, request.reference), writes=True) as client:
        record = published_release(client, request.reference)
        identity, version = record.identity, record.version
        said = record.yank.reason if record.yank is not None else None
        if said == (why if request.yanked else None):
            return YankOutcome(identity, version, why, None)
        keyset = keyset_in_force(context, client, identity.namespace)
        signing_key = owner_key(keys, keyset, request.key)
        if request.yanked:
            confirm(context, f"Yank {identity} {version} for everyone?", "nothing was yanked.")
        statement = Yank(
            origin=client.origin,
            identity=identity,
            version=version,
            yanked=request.yanked,
            keyset=keyset.number,
            time=statement_time(context),
            reason=why,
        )
        shown = statement if request.yanked else None
        position = send(
            context,
            client,
            identity,
            statement,
            signing_key,
            lambda history: any(r.version == version and r.yank == shown for r in history.records),
        )
    return YankOutcome(identity, version, why, position)


class DeprecationRequest(Struct, frozen=True):
    """``reference``: ``[kind:]id``; ``undo``: it is supported again."""

    reference: str
    reason: str
    replacement: str | None = None
    undo: bool = False
    key: str | None = None


class DeprecationOutcome(Struct, frozen=True):
    """An item's status after the statement."""

    identity: Identity
    replacement: Identity | None
    reason: str
    log: int


def deprecate(context: Context, keys: OwnKeys, request: DeprecationRequest) -> DeprecationOutcome:
    """Say that an item should no longer be used, or that it is supported again. Raises RyeError."""
    why = one_line("--reason", request.reason)
    with open_registry(context, registry_of(context, request.reference), writes=True) as client:
        identity, version = published(client, request.reference)
        if version is not None:
            raise UsageError(
                "no-version-here",
                "Only a whole item can be deprecated, not one version.",
                f"Omit @{version}. To take back one version: `rye yank {identity}@{version}`.",
            )
        instead = published(client, request.replacement)[0] if request.replacement else None
        if request.undo and client.histories([identity])[identity].deprecation is None:
            raise RyeError("nothing-to-do", f"{identity} is not deprecated.", f"`rye info {identity}` shows its state.")
        keyset = keyset_in_force(context, client, identity.namespace)
        signing_key = owner_key(keys, keyset, request.key)
        statement = Deprecation(
            origin=client.origin,
            identity=identity,
            deprecated=not request.undo,
            replacement=instead,
            keyset=keyset.number,
            time=statement_time(context),
            reason=why,
        )
        shown = None if request.undo else statement
        position = send(context, client, identity, statement, signing_key, lambda history: history.deprecation == shown)
    return DeprecationOutcome(identity, instead, why, position)
