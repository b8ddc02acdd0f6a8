"""Stages: releases that a build server or a colleague uploaded, and that maintainers look at and sign.

What the registry says about a stage is only a claim. The bytes must have the hashes in the draft, the item's in-file
signature must be by a key of the namespace, and the draft must match the bytes. The same function checks this that
every client calls before it installs (:mod:`rye.registry.trust.file_acceptance`). The signature made here is the
author's; the registry adds none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.installation.comparing import Comparison, Version, compare
from rye.items.identity import parse_reference
from rye.items.reading import Metadata, ReadOptions, Run
from rye.items.runs import attached_runs
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Keyset, Release
from rye.registry.trust.file_acceptance import Accepted, Refusal, judge_release_file
from rye.registry.trust.records import latest_release
from rye.signing.keys import PublicKey
from rye.text.facts import Fact, find_facts
from rye.text.facts.decoding import readable_text
from rye.workspace.publishing.owner_statements import (
    keyset_in_force,
    one_line,
    owner_key,
    owner_signer,
    require_owner,
    statement_time,
)
from rye.workspace.registries.published_items import registry_of
from rye.workspace.registries.registry_access import configured, open_api, open_registry

if TYPE_CHECKING:
    from rye.registry.client import RegistryClient
    from rye.registry.transport.api import RegistryApi
    from rye.workspace.context import Context
    from rye.workspace.trusting.own_keys import OwnKeys

StageRow = wire.StageRow
_ID = re.compile(r"[0-9a-f]{16}")
_REUSED = timedelta(hours=20)
"""How old a note that others have signed may be to be signed, too: it must be in the log within a day of its time."""


class Staged(Struct, frozen=True):
    """A stage that was looked at: its bytes are what its draft says, and signed by a key of the namespace."""

    row: StageRow
    release: Release
    keyset: Keyset
    metadata: Metadata
    signer: PublicKey
    """Of the in-file signature."""
    text: str
    runs: tuple[Run, ...]
    facts: tuple[Fact, ...]
    before: str | None
    """The version that it is compared with: the latest published one."""
    comparison: Comparison | None


def list_stages(context: Context, *, everything: bool = False, namespace: str | None = None) -> list[StageRow]:
    """What waits in a registry, as far as this user's token may see it."""
    where = configured(context)
    address = where.of(namespace) if namespace is not None else where.main()
    with open_registry(context, address) as client:
        rows = open_api(context, client).stages(everything=everything).stages
    return [row for row in rows if namespace is None or row.namespace == namespace]


def look_at(context: Context, wanted: str) -> Staged:
    """A stage by its id or ``KIND:ID@VERSION``, with everything checked. Raises RyeError."""
    with open_registry(context, _address(context, wanted)) as client:
        api = open_api(context, client)
        return _look(context, client, api, _find(api, wanted))[0]


def approve(
    context: Context, keys: OwnKeys, wanted: str, key: str | None, agreed: Callable[[Staged], bool]
) -> StageRow:
    """Sign the release note of a stage; the last signature that is needed publishes it. ``agreed`` sees it before.

    Raises RyeError, among them ``declined``, ``not-an-owner``, ``stage-damaged``.
    """
    with open_registry(context, _address(context, wanted)) as client:
        api = open_api(context, client)
        staged, detail = _look(context, client, api, _find(api, wanted))
        if staged.row.state != "staged":
            raise RyeError(
                "stage-decided",
                f"{wanted} is {staged.row.state} already.",
                "`rye stage list --all` shows what became of it.",
            )
        require_owner(keys, staged.keyset, key)
        if not agreed(staged):
            raise RyeError("declined", "Nothing was signed.")
        private = owner_key(keys, staged.keyset, key)
        release = _to_sign(staged, detail, statement_time(context))
        namespace = release.identity.namespace
        note = notes.sign(release.text(), [owner_signer(client.origin, namespace, private)])
        row = api.approve_stage(staged.row.id, note.encode())
        if row.log is not None:
            _check_logged(client, staged.release)
    return row


def reject(context: Context, wanted: str, reason: str) -> StageRow:
    """End a stage; nobody will see it."""
    reason = one_line("--reason", reason)
    with open_registry(context, _address(context, wanted)) as client:
        api = open_api(context, client)
        return api.reject_stage(_find(api, wanted), reason)


# -- which ---------------------------------------------------------------------------------------------------------------


def _address(context: Context, wanted: str) -> str:
    return configured(context).main() if _ID.fullmatch(wanted) else registry_of(context, wanted)


def _find(api: RegistryApi, wanted: str) -> str:
    """The id of the stage that is meant. Raises RyeError ``unknown-stage`` and UsageError ``ambiguous``."""
    if _ID.fullmatch(wanted):
        return wanted
    name, _, version = wanted.rpartition("@")
    reference = parse_reference(name or wanted)
    found = [
        row
        for row in api.stages().stages
        if row.name == reference.id
        and (reference.kind is None or row.kind == reference.kind)
        and (not name or row.version == version)
    ]
    if not found:
        raise RyeError("unknown-stage", f"No stage of {wanted} waits.", "`rye stage list` shows what waits.")
    if len(found) > 1:
        listed = ", ".join(f"{row.id} ({row.kind}:{row.name}@{row.version})" for row in found)
        raise UsageError("ambiguous", f"{wanted} is {listed}.", f"Name one by its id: {found[0].id}.")
    return found[0].id


# -- looking -------------------------------------------------------------------------------------------------------------


def _look(
    context: Context, client: RegistryClient, api: RegistryApi, identifier: str
) -> tuple[Staged, wire.StageDetail]:
    detail = api.stage(identifier)
    row = detail.stage
    release = Release.parse(detail.draft)
    shown = (row.id, row.kind, row.name, row.version, row.sha256)
    said = (identifier, release.identity.kind, release.identity.id, release.version, release.file.sha256)
    if shown != said or release.origin != client.origin:
        raise _damaged(identifier, "the registry shows another release than its draft")
    keyset = keyset_in_force(context, client, release.identity.namespace)
    if row.state != "staged":
        raise RyeError(
            "stage-decided", f"The stage {identifier} is {row.state} already.", "`rye stage list --all` shows it."
        )
    data = _bytes(api, identifier, release.file.sha256, release.file.size)
    attached = {entry.path: _bytes(api, identifier, entry.sha256, entry.size) for entry in release.attached}
    owners = [PublicKey(raw) for raw in keyset.keys]
    judged = judge_release_file(release, data, owners, ReadOptions(publishing=True))
    if isinstance(judged, Refusal):
        raise _damaged(identifier, judged.reason.rstrip("."))
    text = data.decode("utf-8")
    files = {release.file.suffix: text, **{path: readable_text(raw) for path, raw in attached.items()}}
    entries = ((entry.path, entry.executable, entry.sha256, attached[entry.path]) for entry in release.attached)
    runs = tuple(sorted({*judged.metadata.runs, *attached_runs(entries)}))
    before, comparison = _compare(client, release, judged, text)
    staged = Staged(
        row, release, keyset, judged.metadata, judged.signer, text, runs, find_facts(files), before, comparison
    )
    return staged, detail


def _bytes(api: RegistryApi, identifier: str, wanted: str, size: int) -> bytes:
    data = api.stage_file(identifier, wanted)
    if len(data) != size or sha256(data).hexdigest() != wanted:
        raise _damaged(identifier, f"the file {wanted} is not what its draft says")
    return data


def _compare(
    client: RegistryClient, release: Release, judged: Accepted, text: str
) -> tuple[str | None, Comparison | None]:
    """What differs from the latest published version."""
    history = client.histories([release.identity]).get(release.identity)
    last = latest_release(history) if history is not None else None
    if last is None:
        return None, None
    (files,) = client.fetch_items([last])
    owners = [PublicKey(raw) for raw in last.link.keyset.keys]
    old = judge_release_file(last.release, files.file, owners)
    if isinstance(old, Refusal):
        return None, None
    sides = []
    for one, metadata, signer, words in (
        (last.release, old.metadata, old.signer, files.file.decode("utf-8")),
        (release, judged.metadata, judged.signer, text),
    ):
        attached = {entry.path: (entry.sha256, entry.executable) for entry in one.attached}
        sides.append(Version(f"{one.identity}@{one.version}", words, metadata, signer.fingerprint, attached))
    return last.version, compare(*sides)


def _damaged(identifier: str, reason: str) -> RyeError:
    return RyeError(
        "stage-damaged",
        f"The stage {identifier} must not be signed: {reason}.",
        f"Reject it, and stage it again: `rye stage reject {identifier} --reason TEXT`",
    )


# -- signing -------------------------------------------------------------------------------------------------------------


def _to_sign(staged: Staged, detail: wire.StageDetail, now: datetime) -> Release:
    """The note that others signed before, while it can still be published; else a new one with this moment's time."""
    if detail.note is not None:
        release = Release.parse(notes.parse(detail.note).text)
        same = replace(staged.release, time=release.time, keyset=release.keyset) == release
        if same and release.keyset == staged.keyset.number and now - _REUSED < release.time <= now:
            return release
    return replace(staged.release, time=now, keyset=staged.keyset.number)


def _check_logged(client: RegistryClient, release: Release) -> None:
    """Read it back, with the proof that it is in the log. Raises RyeError ``not-in-log``."""
    client.refresh()
    records = [
        record
        for record in client.releases([release.identity])[release.identity]
        if record.version == release.version and record.release.file == release.file
    ]
    if not records:
        raise RyeError(
            "not-in-log", "The registry answered, but its log does not show the release.", "Do not rely on it."
        )
    client.check_logged(records)
