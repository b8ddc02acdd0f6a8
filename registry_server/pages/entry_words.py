"""One sentence that describes a log entry, for each kind of statement. Pure.

The sentence says what the statement claims. Clients decide who had to sign it and whether it counts
(:mod:`rye.registry.trust`); pages that report such a decision say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from rye.describing.right_words import noun
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import (
    Advisory,
    ClockStep,
    Deprecation,
    Description,
    FormerSnapshot,
    Keyset,
    Logged,
    OrganizationPolicy,
    OwnerProof,
    OwnerStatement,
    Release,
    Require,
    Root,
    Snapshot,
    Takedown,
    Yank,
)


class EntryWords(Struct, frozen=True, kw_only=True):
    """A statement in words."""

    type: str
    """``release``, ``yank``, ``unyank``, ``deprecation``, ``advisory``, ``takedown``, ``keyset``, ``recovery``,
    ``proof``, ``description``, ``root``, ``clock``, ``policy`` or ``snapshot``."""
    words: str
    """One sentence."""
    kind: str | None
    id: str | None
    """The id of the item that the statement is about."""
    version: str | None
    namespace: str | None
    keyset: int | None
    """The number of the keyset that it is signed under; for a keyset, its own. Null: signed by the registry's owners or
    log."""
    time: datetime
    """The signer's time."""


def entry_words(statement: Logged) -> EntryWords:
    """Return the description of a statement."""
    if isinstance(statement, Keyset):
        kind = "recovery" if statement.recovery is not None else "keyset"
        return EntryWords(
            type=kind,
            words=_keyset(statement),
            kind=None,
            id=None,
            version=None,
            namespace=statement.namespace,
            keyset=statement.number,
            time=statement.time,
        )
    if isinstance(statement, Root):
        return EntryWords(
            type="root",
            words=_root(statement),
            kind=None,
            id=None,
            version=None,
            namespace=None,
            keyset=None,
            time=statement.time,
        )
    if isinstance(statement, ClockStep):
        back = f"from {write_time(statement.before)} to {write_time(statement.time)}"
        return EntryWords(
            type="clock",
            words=f"The registry's owners set the log's time back {back}: {statement.reason}",
            kind=None,
            id=None,
            version=None,
            namespace=None,
            keyset=None,
            time=statement.time,
        )
    if isinstance(statement, OrganizationPolicy):
        until = f"until {write_time(statement.expires)}"
        return EntryWords(
            type="policy",
            words=f"The registry's owners published policy {statement.number} for everybody who joined them, {until}.",
            kind=None,
            id=None,
            version=None,
            namespace=None,
            keyset=None,
            time=statement.time,
        )
    if isinstance(statement, Snapshot | FormerSnapshot):
        words = f"The registry recorded a snapshot of all its names, under root {statement.root}."
        return EntryWords(
            type="snapshot",
            words=words,
            kind=None,
            id=None,
            version=None,
            namespace=None,
            keyset=None,
            time=statement.time,
        )
    if isinstance(statement, OwnerStatement):
        kind, words = _about_owners(statement)
        return EntryWords(
            type=kind,
            words=words,
            kind=None,
            id=None,
            version=None,
            namespace=statement.namespace,
            keyset=statement.keyset,
            time=statement.time,
        )
    kind, words = _about_item(statement)
    identity = statement.identity
    version = getattr(statement, "version", None)
    return EntryWords(
        type=kind,
        words=words,
        kind=identity.kind,
        id=identity.id,
        version=version,
        namespace=identity.namespace,
        keyset=statement.keyset,
        time=statement.time,
    )


def _about_item(statement: Release | Yank | Deprecation | Advisory | Takedown) -> tuple[str, str]:
    item = f"{noun(statement.identity.kind)} {statement.identity.id}"
    match statement:
        case Release():
            return "release", f"The {item} {statement.version} was released."
        case Yank(yanked=True):
            return "yank", f"Version {statement.version} of the {item} was yanked: {statement.reason}"
        case Yank():
            return "unyank", f"Version {statement.version} of the {item} is available again: {statement.reason}"
        case Deprecation(deprecated=True):
            instead = f" in favour of {statement.replacement}" if statement.replacement is not None else ""
            return "deprecation", f"The {item} was deprecated{instead}: {statement.reason}"
        case Deprecation():
            return "deprecation", f"The {item} is supported again: {statement.reason}"
        case Advisory():
            by = "the registry's owners" if statement.keyset is None else f"keyset {statement.keyset}"
            versions = "all versions" if statement.range == "*" else f"versions {statement.range}"
            about = f"Advisory {statement.number} ({statement.severity}) by {by} about {versions} of the {item}"
            return "advisory", f"{about}: {statement.title}"
        case Takedown():
            files = "1 file" if len(statement.files) == 1 else f"{len(statement.files)} files"
            return (
                "takedown",
                f"The registry's owners took down {files} of the {item} {statement.version}: {statement.reason}",
            )


def _about_owners(statement: OwnerStatement) -> tuple[str, str]:
    match statement:
        case Description():
            return "description", f"The owners of {statement.namespace} described it: {statement.about}"
        case OwnerProof(proved=False):
            return "proof", f"The owners of {statement.namespace} no longer claim {statement.place}."
        case OwnerProof():
            return "proof", f"The owners of {statement.namespace} proved that {statement.place} is theirs."


_REQUIRED: Mapping[Require | None, str] = {
    None: "",
    "hardware": ", and only security keys count",
    "hardware-verified": ", and only security keys with verification count",
}


def _keyset(statement: Keyset) -> str:
    keys = "1 key" if len(statement.keys) == 1 else f"{len(statement.keys)} keys"
    revoked = f"; {len(statement.revoked)} revoked" if statement.revoked else ""
    signs = f"{statement.release_threshold} must sign a release{_REQUIRED[statement.require]}"
    if statement.recovery is not None:
        return (
            f"The registry's owners give the namespace {statement.namespace} to {keys} with keyset {statement.number}, in effect "
            f"from {write_time(statement.recovery)} unless its current keys object{revoked}."
        )
    if statement.number == 1:
        return f"The namespace {statement.namespace} was claimed with {keys}; {signs}."
    return f"Keyset {statement.number} of the namespace {statement.namespace}: {keys}; {signs}{revoked}."


def _root(statement: Root) -> str:
    owners = "its 1 owner" if len(statement.owners) == 1 else f"{statement.threshold} of {len(statement.owners)} owners"
    logs = "1 log key" if len(statement.logs) == 1 else f"{len(statement.logs)} log keys"
    return f"Root {statement.number}: {owners} must sign, {logs}, valid until {write_time(statement.expires)}."
