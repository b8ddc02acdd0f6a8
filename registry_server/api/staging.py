"""Stage and approve: releases that stay hidden until enough maintainers have signed them (design/server.md 4).

====================================  =======================================================================================
``POST /api/v1/stages``                  stage releases whose bytes were uploaded: scope ``stage`` or ``publish``
``GET /api/v1/stages``                   the pending stages that this token may see
``GET /api/v1/stages/ID``                one stage: draft, signatures so far, files
``GET /api/v1/stages/ID/files/SHA256``   the bytes of a file of the stage
``POST /api/v1/stages/ID/approvals``     the note with a maintainer's signature: scope ``publish``; the last one publishes it
``POST /api/v1/stages/ID/rejection``     reject it: scope ``publish`` or ``admin``, or the token that staged it
====================================  =======================================================================================

A token with the scope ``stage`` sees only what it staged itself. A hidden stage looks like one that does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from registry_server.accounts import audit_events, stages
from registry_server.accounts.stage_signers import SIGNED, StageSigners, fingerprints, signers_of
from registry_server.accounts.stages import Stage
from registry_server.accounts.times import after, now_text
from registry_server.accounts.tokens import Account
from registry_server.api.examination import Examination, require_scope
from registry_server.sequencer.acceptance import check_read
from registry_server.sequencer.admission import BACKDATING
from registry_server.sequencer.clock import Clock
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.registry.protocol import notes, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import SignedNote
from rye.registry.protocol.statements import Release
from rye.registry.protocol.wire import index_name
from rye.registry.trust.keysets import Link

_LISTED = 500
_SWEEP_SECONDS = 600.0


class Staging:
    """The stages of a registry. Its calls block, so they run in threads."""

    def __init__(
        self,
        engine: sa.Engine,
        origin: str,
        public: Objects,
        staged: Objects,
        examination: Examination,
        settings: Settings,
        keep: Callable[[Account, str, bytes], object],
        let_go: Callable[[Account, Iterable[str]], None],
        clock: Callable[[], Clock],
        may_expire: Callable[[], bool],
    ) -> None:
        """``keep``: keeps a file as an account's upload, by its SHA-256. ``let_go``: told of files whose uploads an account needs
        no more. ``clock``: a stage and a note end by its latest time. ``may_expire``: whether it can be believed, so that what is
        over may go."""
        self._engine = engine
        self._origin = origin
        self._public = public
        self._staged = staged
        self._examination = examination
        self._settings = settings
        self._keep_upload = keep
        self._let_go = let_go
        self._clock = clock
        self._may_expire = may_expire
        self._swept = time.monotonic()

    def add(self, account: Account, texts: Sequence[str], address: str) -> list[wire.StageRow]:
        """Stage releases, all or none. Raises RyeError."""
        require_scope(account, "stage", "publish")
        self._sweep_sometimes()
        now = self._clock().now()
        drafts = [
            check_read(SignedNote(text, ()), self._origin, now, self._settings.clock_skew_seconds) for text in texts
        ]
        for draft in drafts:
            if not isinstance(draft.statement, Release):
                raise RyeError(
                    "statement-not-accepted",
                    "Only releases can be staged.",
                    "Send other statements to /api/v1/statements.",
                )
        self._examination.look_into(account, drafts, scopes=("stage", "publish"))
        releases = [draft.statement for draft in drafts if isinstance(draft.statement, Release)]
        with database.reader(self._engine) as connection:
            ledger = Ledger(connection)
            for release in releases:
                if ledger.release(index_name(release.identity), release.version) is not None:
                    raise RyeError(
                        "version-exists",
                        f"{release.identity} {release.version} is published; a version is never reused.",
                        "Raise the version, sign and stage again.",
                    )
                _refuse_taken_down(ledger, stages.files_of(release))
            self._check_shares(connection, account, releases)
        files = self._keep(releases)
        rows = []
        with database.change(self._engine) as connection:
            stages.hold(connection)
            self._check_shares(connection, account, releases)
            for release in releases:
                expires = after(write_time(self._clock().earliest()), self._settings.stage_days * 86_400)
                stage, is_new = stages.add(connection, release, account, address, self._now_text(), expires)
                if is_new:
                    detail = {"release": f"{release.identity}@{release.version}", "sha256": release.file.sha256}
                    self._record(connection, "stage.create", stage.id, account, address, detail)
                rows.append(self._row(connection, stage))
        self._let_go(account, files)
        return rows

    def listing(self, account: Account, *, everything: bool) -> list[wire.StageRow]:
        """Return the stages that this account may see: pending ones, or with ``everything`` also decided ones."""
        with database.reader(self._engine) as connection:
            rows = stages.listing(connection, account, self._now_text(), everything=everything, most=_LISTED)
            return [self._row(connection, stage) for stage in rows]

    def detail(self, account: Account, identifier: str) -> wire.StageDetail:
        """Return one stage. Raises RyeError ``no-such-entry``."""
        with database.reader(self._engine) as connection:
            stage = self._visible(connection, account, identifier)
            row = self._row(connection, stage)
        note = stage.note.encode() if stage.note is not None else None
        return wire.StageDetail(row, stage.draft.text(), note)

    def signers(self, account: Account, identifier: str) -> StageSigners | None:
        """Return who has signed a stage and who still can; None: nobody has claimed its namespace. Raises RyeError
        ``no-such-entry``."""
        now = self._clock().latest()
        with database.reader(self._engine) as connection:
            stage = self._visible(connection, account, identifier)
            link = Ledger(connection).chain(stage.namespace).current(now)
            if link is None:
                return None
            counts = stage.note is not None and self._is_fresh(stage.note, link, now)
            return signers_of(connection, stage, link, stage.note if counts else None)

    def file(self, account: Account, identifier: str, sha256: str) -> bytes:
        """Return a file of a pending stage. Raises RyeError ``no-such-entry``, ``not-found``."""
        with database.reader(self._engine) as connection:
            stage = self._visible(connection, account, identifier)
        if not stage.is_waiting(self._now_text()) or sha256 not in stages.files_of(stage.draft):
            raise RyeError(
                "not-found",
                "The stage does not have this file, or no longer has it.",
                "`rye stage show` lists its files.",
            )
        return self._bytes(sha256)

    def reject(self, account: Account, identifier: str, reason: str, address: str) -> wire.StageRow:
        """Reject a pending stage. Raises RyeError ``no-such-entry``, ``stage-decided``."""
        now = self._now_text()
        with database.change(self._engine) as connection:
            stage = self._visible(connection, account, identifier)
            if not stage.is_waiting(now) or not stages.decide(
                connection, stage.id, stages.REJECTED, now, reason=reason
            ):
                raise _decided(stage, now)
            self._record(connection, "stage.reject", stage.id, account, address, {"reason": reason})
            row = self._row(connection, stages.get(connection, stage.id))
        self._forget(stage)
        return row

    def sign(self, account: Account, identifier: str, text: str, address: str) -> tuple[Stage, SignedNote | None]:
        """Add a maintainer's signature. Return the stage, and its note if it has enough signatures and can be published: then its
        files are uploads of this account, like any others.

        Raises RyeError.
        """
        require_scope(account, "publish")
        note = notes.parse(text)
        clock = self._clock()
        release = check_read(note, self._origin, clock.now(), self._settings.clock_skew_seconds).statement
        now = clock.latest()
        with database.change(self._engine) as connection:
            stage = self._visible(connection, account, identifier, hold=True)
            if not stages.may_decide(account, stage):
                raise stages.unknown(identifier)
            if not stage.is_waiting(write_time(now)):
                raise _decided(stage, write_time(now))
            if not isinstance(release, Release) or not stages.same_release(stage.draft, release):
                raise RyeError(
                    "stage-differs", "The note is not the staged release.", "Sign what `rye stage show` shows."
                )
            link = self._in_force(connection, stage, now)
            if release.keyset != link.keyset.number or release.time < now - BACKDATING:
                raise RyeError(
                    "stage-note-old",
                    "The note is too old, or under an earlier keyset.",
                    "Run `rye stage approve` again.",
                )
            if stage.note is not None and stage.note.text != note.text and self._is_fresh(stage.note, link, now):
                raise RyeError(
                    "stage-signed-otherwise",
                    "Another maintainer has just signed this release with a different time.",
                    "Run `rye stage approve` again: it signs the same note.",
                )
            _check_lines(note, link)
            merged = stages.add_signatures(connection, stage, note)
            detail = {
                "signatures": len(merged.signatures),
                "needed": link.keyset.release_threshold,
                "keys": fingerprints(note, link),
            }
            self._record(connection, SIGNED, stage.id, account, address, detail)
        if len(notes.verify(merged, link.keys)) < link.keyset.release_threshold:
            return stage, None
        kept: list[str] = []
        try:
            for sha256 in stages.files_of(stage.draft):
                self._keep_upload(account, sha256, self._bytes(sha256))
                kept.append(sha256)
        except RyeError:
            self._let_go(account, kept)
            raise
        return stage, merged

    def approved(self, account: Account, identifier: str, position: int, address: str) -> None:
        """Record that a stage is in the log, and end other stages of the same version."""
        now = self._now_text()
        with database.change(self._engine) as connection:
            stage = stages.get(connection, identifier)
            stages.decide(connection, stage.id, stages.APPROVED, now, position=position)
            self._record(connection, "stage.approve", stage.id, account, address, {"log": position})
            name = index_name(stage.draft.identity)
            others = stages.find(connection, stage.namespace, name, stage.draft.version)
            for other in others:
                stages.decide(connection, other.id, stages.REJECTED, now, reason=f"Stage {stage.id} was approved.")
        for each in (stage, *others):
            self._forget(each)

    def row(self, identifier: str) -> wire.StageRow:
        """Return the summary of a stage. Raises RyeError ``no-such-entry``."""
        with database.reader(self._engine) as connection:
            return self._row(connection, stages.get(connection, identifier))

    def sweep(self) -> None:
        """Expire old stages, and delete files that no stage needs, or that were taken down. With a clock that another one
        contradicts, nothing is old."""
        may_expire = self._may_expire()
        with database.change(self._engine) as connection:
            if may_expire:
                stages.expire(connection, self._now_text())
            needed = stages.needed_files(connection)
            taken_down = frozenset(Ledger(connection).all_taken_down())
        limit = (self._clock().now() - timedelta(hours=1)).timestamp()
        for path, _, modified in list(self._staged.listing()):
            if path in taken_down or (may_expire and path not in needed and modified < limit):
                self._staged.delete(path)

    def _sweep_sometimes(self) -> None:
        """Delete the files of expired stages before new ones arrive, without waiting for the next start."""
        if time.monotonic() - self._swept > _SWEEP_SECONDS:
            self._swept = time.monotonic()
            self.sweep()

    # -- parts --------------------------------------------------------------------------------------------------------

    def _now_text(self) -> str:
        """The time by which a stage has ended."""
        return write_time(self._clock().latest())

    def _check_shares(self, connection: sa.Connection, account: Account, releases: Sequence[Release]) -> None:
        size, now = sum(sum(stages.files_of(release).values()) for release in releases), self._now_text()
        if stages.open_bytes(connection, now, account) + size > self._settings.account_stages_bytes:
            raise RyeError(
                "stages-full",
                "This account has too many bytes waiting for approval.",
                "Approve or reject pending stages: `rye stage list`. The operator can raise `account_stages_bytes`.",
            )
        if stages.open_bytes(connection, now) + size > self._settings.stages_bytes:
            raise RyeError(
                "stages-full",
                "The registry has too many bytes waiting for approval.",
                "Try again later. The operator can raise `stages_bytes`.",
            )

    def _keep(self, releases: Sequence[Release]) -> list[str]:
        """Copy the files to the store that only serves stages. Return their SHA-256."""
        files = sorted({sha256 for release in releases for sha256 in stages.files_of(release)})
        for sha256 in files:
            data = self._examination.read_blob(sha256)
            if data is None:
                raise RyeError("blob-missing", f"The blob {sha256} is gone.", "Upload it again.")
            self._staged.put(sha256, data)
        return files

    def _bytes(self, sha256: str) -> bytes:
        with database.reader(self._engine) as connection:
            _refuse_taken_down(Ledger(connection), [sha256])
        data = self._staged.get(sha256)
        if data is None:
            data = self._public.get(wire.blob_path(sha256))
        if data is None:
            raise RyeError("blob-missing", f"The staged file {sha256} is gone.", "Stage the release again.")
        return data

    def _forget(self, stage: Stage) -> None:
        files = sorted(stages.files_of(stage.draft))
        with database.reader(self._engine) as connection:
            needed = stages.needed_files(connection, files)
        self._staged.delete_all([sha256 for sha256 in files if sha256 not in needed])

    def _visible(self, connection: sa.Connection, account: Account, identifier: str, *, hold: bool = False) -> Stage:
        stage = stages.get(connection, identifier, hold=hold)
        if not stages.may_see(account, stage):
            raise stages.unknown(identifier)
        return stage

    def _in_force(self, connection: sa.Connection, stage: Stage, now: datetime) -> Link:
        link = Ledger(connection).chain(stage.namespace).current(now)
        if link is None:
            raise RyeError("namespace-unclaimed", f"No one has claimed {stage.namespace}.", None)
        return link

    def _is_fresh(self, note: SignedNote, link: Link, now: datetime) -> bool:
        """Whether a note that others have already signed can still be published."""
        release = Release.parse(note.text)
        try:
            notes.verify(note, link.keys)
        except RyeError:
            return False
        return release.keyset == link.keyset.number and release.time > now - BACKDATING + timedelta(hours=1)

    def _row(self, connection: sa.Connection, stage: Stage) -> wire.StageRow:
        now = self._clock().latest()
        link = Ledger(connection).chain(stage.namespace).current(now)
        signed = 0
        if stage.note is not None and link is not None and self._is_fresh(stage.note, link, now):
            signed = len({line.key_id for line in stage.note.signatures})
        draft = stage.draft
        return wire.StageRow(
            id=stage.id,
            kind=draft.identity.kind,
            name=draft.identity.id,
            version=draft.version,
            namespace=stage.namespace,
            description=draft.description,
            sha256=draft.file.sha256,
            size=stage.size,
            state=stage.state_at(write_time(now)),
            created=stage.created,
            expires=stage.expires,
            by=stage.token,
            account=stage.account,
            signatures=signed,
            needed=link.keyset.release_threshold if link is not None else 1,
            log=stage.position,
            reason=stage.reason,
        )

    @staticmethod
    def _record(
        connection: sa.Connection,
        action: str,
        stage: str,
        account: Account,
        address: str,
        detail: Mapping[str, object],
    ) -> None:
        actor = f"token:{account.token}" if account.token else f"account:{account.account}"
        audit_events.record(
            connection, now_text(), action, f"stage:{stage}", actor=actor, address=address, detail=detail
        )


def _refuse_taken_down(ledger: Ledger, files: Iterable[str]) -> None:
    """Raise RyeError ``taken-down`` for a file that the owners took down: what is staged is bytes of the registry, too."""
    for sha256, reason in ledger.taken_down(files).items():
        raise RyeError(
            "taken-down",
            f"The file {sha256} was taken down by the registry's owners: {reason}",
            "Stage another version without it, and reject this one: `rye stage reject`.",
        )


def _check_lines(note: SignedNote, link: Link) -> None:
    """Check that every signature is valid and by a key in force. Raises RyeError ``statement-signer``."""
    names = {(key.name, key.key_id) for key in link.keys}
    if not note.signatures or any((line.name, line.key_id) not in names for line in note.signatures):
        raise RyeError(
            "statement-signer",
            f"The note has a signature that is not by a key of {link.keyset.namespace}.",
            f"Sign it with one of its keys: `rye namespace show {link.keyset.namespace}` lists them.",
        )
    notes.verify(note, link.keys)


def _decided(stage: Stage, now: str) -> RyeError:
    return RyeError(
        "stage-decided",
        f"The stage {stage.id} is already {stage.state_at(now)}.",
        "`rye stage list --all` shows the outcome.",
    )
