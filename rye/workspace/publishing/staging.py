"""Stages: releases that a build server or a colleague uploaded for maintainers to review and sign.

What the registry says about a stage is only a claim. The bytes must have the hashes in the draft, the item's in-file
signature must be by a key of the namespace, and the draft must match the bytes. Every client runs the same check
before it installs (:mod:`rye.registry.trust.file_acceptance`). The maintainer signs here; the registry does not sign
releases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.items.consented import Run
from rye.items.identity import parse_reference
from rye.items.reading import Metadata, ReadOptions
from rye.items.runs import attached_runs
from rye.permissions.comparing import Comparison, Version, compare
from rye.registry.protocol import notes, wire
from rye.registry.protocol.statements import Keyset, Release
from rye.registry.trust.file_acceptance import Accepted, Refusal, judge_release_file
from rye.registry.trust.records import latest_release
from rye.signing.keys import PublicKey
from rye.text.facts import Fact, find_facts
from rye.text.facts.readable import readable_text
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
"""The greatest age of a note with signatures that gets another one: it must be logged within a day of its time."""


class StagedFile(Struct, frozen=True, kw_only=True):
    """An attached file of a checked stage, with the bytes that the draft names. The signature in the item does not cover it: the
    maintainer's signature is the only one that does."""

    path: str
    sha256: str
    executable: bool
    data: bytes
    before: bytes | None
    """The file with this path in the release that the stage is compared with."""


class Staged(Struct, frozen=True, kw_only=True):
    """A checked stage: its bytes match its draft and are signed by a key of the namespace."""

    row: StageRow
    release: Release
    draft: str
    """SHA-256 of the draft's text, which names every file's bytes: what is signed is this draft with another time."""
    keyset: Keyset
    metadata: Metadata
    signer: PublicKey
    """Of the in-file signature."""
    text: str
    files: tuple[StagedFile, ...]
    """The attached ones."""
    runs: tuple[Run, ...]
    facts: tuple[Fact, ...]
    before: str | None
    """The latest published version, with which it is compared."""
    comparison: Comparison | None

    def file(self, path: str) -> StagedFile:
        """Return an attached file. Raises RyeError ``no-such-entry`` (``file``)."""
        found = next((file for file in self.files if file.path == path), None)
        if found is None:
            raise RyeError(
                "no-such-entry",
                f"The stage {self.row.id} has no attached file {path[:200]!r}.",
                f"`rye stage show {self.row.id}` lists its files.",
                what="file",
            )
        return found


def list_stages(context: Context, *, everything: bool = False, namespace: str | None = None) -> list[StageRow]:
    """The stages in a registry that this user's token may see. ``everything``: decided ones also."""
    where = configured(context)
    address = where.of(namespace) if namespace is not None else where.main()
    with open_registry(context, address, writes=True) as client:
        rows = open_api(context, client).stages(everything=everything).stages
    return [row for row in rows if namespace is None or row.namespace == namespace]


def look_at(context: Context, wanted: str) -> Staged:
    """Find a stage by its id or ``KIND:ID@VERSION`` and check it. Raises RyeError."""
    with open_registry(context, _address(context, wanted), writes=True) as client:
        api = open_api(context, client)
        return _look(context, client, api, wanted)[0]


def approve(
    context: Context,
    keys: OwnKeys,
    wanted: str,
    key: str | None,
    agreed: Callable[[Staged], bool],
    draft: str | None = None,
) -> StageRow:
    """Sign a stage's release note, if ``agreed``. The last signature that is needed publishes it. ``draft``: the SHA-256 of the
    draft that was looked at before (:attr:`Staged.draft`); None: ``agreed`` looks at it.

    Raises RyeError, among them ``declined``, ``not-an-owner``, ``stage-damaged``, ``stage-differs``.
    """
    with open_registry(context, _address(context, wanted), writes=True) as client:
        api = open_api(context, client)
        staged, detail = _look(context, client, api, wanted)
        if staged.row.state != "staged":
            raise RyeError(
                "stage-decided",
                f"{wanted} is already {staged.row.state}.",
                "`rye stage list --all` shows decided stages.",
            )
        if draft is not None and draft != staged.draft:
            raise RyeError(
                "stage-differs",
                f"The draft of {wanted} has the SHA-256 {staged.draft}, not {draft[:80]}: it is not what you looked at.",
                f"Look at it again: `rye stage show {staged.row.id}`.",
            )
        require_owner(keys, staged.keyset, key)
        if not agreed(staged):
            raise RyeError("declined", "Nothing was signed.")
        signing_key = owner_key(keys, staged.keyset, key)
        release = _to_sign(staged, detail, statement_time(context))
        namespace = release.identity.namespace
        note = notes.sign(release.text(), [owner_signer(client.origin, namespace, signing_key)])
        row = api.approve_stage(staged.row.id, note.encode())
        if row.log is not None:
            _check_logged(client, staged.release)
    return row


def reject(context: Context, wanted: str, reason: str) -> StageRow:
    """Reject a stage, so that it is never published."""
    reason = one_line("--reason", reason)
    with open_registry(context, _address(context, wanted), writes=True) as client:
        api = open_api(context, client)
        return api.reject_stage(_find(api, wanted), reason)


# -- finding a stage ---------------------------------------------------------------------------------------------------


def _address(context: Context, wanted: str) -> str:
    return configured(context).main() if _ID.fullmatch(wanted) else registry_of(context, wanted)


def _find(api: RegistryApi, wanted: str) -> str:
    """The id of the stage that the reference names. Raises RyeError ``no-such-entry`` and UsageError ``ambiguous``."""
    if _ID.fullmatch(wanted):
        return wanted
    found = [row for row in api.stages().stages if _is_named(wanted, row.kind, row.name, row.version)]
    if not found:
        raise RyeError(
            "no-such-entry", f"No stage of {wanted} found.", "`rye stage list` lists stages to review.", what="stage"
        )
    if len(found) > 1:
        listed = ", ".join(f"{row.id} ({row.kind}:{row.name}@{row.version})" for row in found)
        raise UsageError(
            "ambiguous", f"{wanted} is ambiguous: {listed}.", f"Name one by its id, for example {found[0].id}."
        )
    return found[0].id


def _is_named(wanted: str, kind: str, name: str, version: str) -> bool:
    """Whether ``[KIND:]ID[@VERSION]`` names a release."""
    before, _, after = wanted.rpartition("@")
    reference = parse_reference(before or wanted)
    return name == reference.id and reference.kind in (None, kind) and (not before or version == after)


# -- checking a stage -------------------------------------------------------------------------------------------------


def _look(context: Context, client: RegistryClient, api: RegistryApi, wanted: str) -> tuple[Staged, wire.StageDetail]:
    identifier = _find(api, wanted)
    detail = api.stage(identifier)
    row = detail.stage
    release = Release.parse(detail.draft)
    shown = (row.id, row.kind, row.name, row.version, row.sha256)
    said = (identifier, release.identity.kind, release.identity.id, release.version, release.file.sha256)
    if shown != said or release.origin != client.origin:
        raise _damaged(identifier, "the registry shows a different release than the draft")
    if identifier != wanted and not _is_named(wanted, release.identity.kind, release.identity.id, release.version):
        raise _damaged(identifier, f"it is {release.identity}@{release.version}, not {wanted}")
    keyset = keyset_in_force(context, client, release.identity.namespace)
    if row.state != "staged":
        raise RyeError(
            "stage-decided", f"The stage {identifier} is already {row.state}.", "`rye stage list --all` shows it."
        )
    data = _bytes(api, identifier, release.file.sha256, release.file.size)
    attached = {entry.path: _bytes(api, identifier, entry.sha256, entry.size) for entry in release.attached}
    owners = keyset.accepted_keys()
    judged = judge_release_file(release, data, owners, ReadOptions(publishing=True))
    if isinstance(judged, Refusal):
        raise _damaged(identifier, judged.reason.rstrip("."))
    text = data.decode("utf-8")
    files = {release.file.suffix: text, **{path: readable_text(raw) for path, raw in attached.items()}}
    entries = ((entry.path, entry.executable, entry.sha256, attached[entry.path]) for entry in release.attached)
    runs = tuple(sorted({*judged.metadata.runs, *attached_runs(entries, data)}))
    before, old_files, comparison = _compare(client, release, judged, text)
    staged = Staged(
        row=row,
        release=release,
        draft=sha256(detail.draft.encode()).hexdigest(),
        keyset=keyset,
        metadata=judged.metadata,
        signer=judged.signer,
        text=text,
        files=tuple(
            StagedFile(
                path=entry.path,
                sha256=entry.sha256,
                executable=entry.executable,
                data=attached[entry.path],
                before=old_files.get(entry.path),
            )
            for entry in release.attached
        ),
        runs=runs,
        facts=find_facts(files),
        before=before,
        comparison=comparison,
    )
    return staged, detail


def _bytes(api: RegistryApi, identifier: str, wanted: str, size: int) -> bytes:
    data = api.stage_file(identifier, wanted)
    if len(data) != size or sha256(data).hexdigest() != wanted:
        raise _damaged(identifier, f"the file {wanted} does not match the draft")
    return data


def _compare(
    client: RegistryClient, release: Release, judged: Accepted, text: str
) -> tuple[str | None, Mapping[str, bytes], Comparison | None]:
    """The latest published version, its attached files and the differences from it; None, none, None if it does not exist or
    cannot be read."""
    history = client.histories([release.identity]).get(release.identity)
    last = latest_release(history) if history is not None else None
    if last is None:
        return None, {}, None
    (files,) = client.fetch_items([last])
    owners = last.link.keyset.accepted_keys()
    old = judge_release_file(last.release, files.file, owners)
    if isinstance(old, Refusal):
        return None, {}, None
    sides = []
    for one, metadata, signer, words in (
        (last.release, old.metadata, old.signer, files.file.decode("utf-8")),
        (release, judged.metadata, judged.signer, text),
    ):
        attached = {entry.path: (entry.sha256, entry.executable) for entry in one.attached}
        sides.append(Version(f"{one.identity}@{one.version}", words, metadata, signer.fingerprint, attached))
    return last.version, files.attached, compare(*sides)


def _damaged(identifier: str, reason: str) -> RyeError:
    return RyeError(
        "stage-damaged",
        f"The stage {identifier} is not safe to sign: {reason}.",
        f"Reject it with `rye stage reject {identifier} --reason TEXT`, then stage it again.",
    )


# -- signing -------------------------------------------------------------------------------------------------------------


def _to_sign(staged: Staged, detail: wire.StageDetail, now: datetime) -> Release:
    """The note that others already signed, if it can still be published; otherwise a new one with the current time."""
    if detail.note is not None:
        release = Release.parse(notes.parse(detail.note).text)
        same = replace(staged.release, time=release.time, keyset=release.keyset) == release
        if same and release.keyset == staged.keyset.number and now - _REUSED < release.time <= now:
            return release
    return replace(staged.release, time=now, keyset=staged.keyset.number)


def _check_logged(client: RegistryClient, release: Release) -> None:
    """Read the release back, with the proof that it is in the log. Raises RyeError ``not-in-log``."""
    client.refresh()
    records = [
        record
        for record in client.releases([release.identity])[release.identity]
        if record.version == release.version and record.release.file == release.file
    ]
    if not records:
        raise RyeError(
            "not-in-log",
            "The registry accepted the release, but it is not in the registry's log.",
            "Do not rely on it. `rye log verify` checks the registry.",
        )
    client.check_logged(records)
