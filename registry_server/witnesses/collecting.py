"""The thread that gets cosignatures. No publish waits for it, and nothing that a witness answers can stop it.

A round:

1. The head that the store shows now, and the witnesses, are read. A witness is due if it has not cosigned this head, or so long
   ago that the cosignature will soon be too old, and if its pause after failures is over.
2. All that are due are asked at the same time, with a consistency proof from the size that each cosigned last. One that names
   another size (409) is asked once more from there.
3. Only lines of the keys configured for that address count, and only if they verify; everything else is a failure that is
   recorded. A witness that has seen more entries than the store shows is a failure, too: somebody else signs this log.
4. If those who cosigned this head are enough, it becomes the registry's cosigned head, and is shown.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa
from msgspec import Struct

from registry_server.sequencer.cosigned_head import keep_cosigned, read_cosigned
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import Settings
from registry_server.storage import database
from registry_server.storage.objects import Objects
from registry_server.witnesses import asking, records
from registry_server.witnesses.quorum import quorum_of
from registry_server.witnesses.records import MOST_WITNESSES, WitnessRow
from rye.errors import RyeError
from rye.registry.protocol import add_checkpoint, merkle, notes, tiles, wire
from rye.registry.protocol.add_checkpoint import AddCheckpoint
from rye.registry.protocol.cosignatures import Cosignature, CosignerKey, lines_of, read_cosignatures
from rye.registry.protocol.notes import NoteSignature, SignedNote
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.tiles import Tile, VerifiedTiles
from rye.registry.protocol.wire import Head

_log = logging.getLogger("rye.registry")
TICK_SECONDS = 1.0
"""How often the thread looks whether the head has changed."""
PAUSES = (1, 2, 5, 15, 60, 300)
"""Seconds before a witness is asked again, after one, two… failures in a row; the last one is repeated."""


class Due(Struct, frozen=True):
    """One address to ask, with the keys that answer there."""

    url: str
    witnesses: tuple[WitnessRow, ...]

    @property
    def keys(self) -> tuple[CosignerKey, ...]:
        """The keys that must sign."""
        return tuple(witness.key for witness in self.witnesses)

    @property
    def size(self) -> int:
        """The size that all of them cosigned."""
        return min(witness.size for witness in self.witnesses)


class Collector:
    """Asks the witnesses, and tells ``learn`` the newest cosigned head."""

    def __init__(
        self,
        engine: sa.Engine,
        public: Objects,
        settings: Settings,
        learn: Callable[[bytes | None], None],
        ask: asking.Ask = asking.ask,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._engine = engine
        self._public = public
        self._settings = settings
        self._learn = learn
        self._ask = ask
        self._clock = clock
        self._lines: dict[str, dict[CosignerKey, tuple[NoteSignature, int]]] = {}
        """Text of the head → what its witnesses signed, for the newest head only."""
        self._taken: bytes | None = None
        """The cosigned head whose lines are among these."""
        self._paused: dict[str, float] = {}
        self._told = ""
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="witnesses", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. What a witness answers after that is asked for again."""
        self._ending.set()

    def load(self) -> None:
        """Learn the cosigned head that the database has."""
        with database.reader(self._engine) as connection:
            self._learn(read_cosigned(connection))

    def round(self) -> int:
        """Do one round and return the number of addresses asked. Raises RyeError if the database or the store does not answer."""
        with database.reader(self._engine) as connection:
            witnesses = records.listing(connection)
            origin = Ledger(connection).origin
            known = read_cosigned(connection)
        self._learn(known)
        if not witnesses:
            return 0
        data = self._public.get("head")
        if data is None:
            return 0
        head = _without_cosignatures(wire.decode_head(data).alone)
        note = notes.parse(head.checkpoint)
        checkpoint = Checkpoint.parse(note.text)
        if checkpoint.origin != origin:
            return 0
        self._keep_lines(note.text, witnesses, known)
        due = self._due(witnesses, checkpoint, note.text)
        if due:
            with ThreadPoolExecutor(MOST_WITNESSES, "witness") as pool:
                list(pool.map(lambda one: self._get(one, head, note, checkpoint), due))
        self._settle(witnesses, head, note, known)
        return len(due)

    def _due(self, witnesses: Sequence[WitnessRow], checkpoint: Checkpoint, text: str) -> list[Due]:
        now, signed = self._clock(), self._lines.get(text, {})
        urls: dict[str, list[WitnessRow]] = {}
        for witness in witnesses:
            urls.setdefault(witness.url, []).append(witness)
        due = []
        for url, group in urls.items():
            oldest = min((signed[one.key][1] if one.key in signed else 0) for one in group)
            if oldest >= now - self._settings.witness_refresh_seconds or self._paused.get(url, 0) > now:
                continue
            due.append(Due(url, tuple(group)))
        return due

    def _get(self, due: Due, head: Head, note: SignedNote, checkpoint: Checkpoint) -> None:
        """Ask one address, and record what came of it."""
        vkeys = [witness.vkey for witness in due.witnesses]
        try:
            found = self._cosignatures(due, note, checkpoint)
        except RyeError as error:
            failures = 1 + max(witness.failures for witness in due.witnesses)
            self._paused[due.url] = self._clock() + PAUSES[min(failures, len(PAUSES)) - 1]
            _log.warning("the witness at %s did not cosign: %s", due.url, error.message)
            with database.change(self._engine) as connection:
                records.note_failure(connection, vkeys, error.message)
            return
        signed = self._lines.setdefault(note.text, {})
        for one, line in found:
            signed[one.key] = (line, one.time)
        self._paused.pop(due.url, None)
        with database.change(self._engine) as connection:
            for one, _ in found:
                records.note_success(connection, [one.key.vkey], checkpoint.size, one.time)

    def _cosignatures(
        self, due: Due, note: SignedNote, checkpoint: Checkpoint
    ) -> list[tuple[Cosignature, NoteSignature]]:
        """The cosignatures of one address, verified. Raises RyeError."""
        old = min(due.size, checkpoint.size)
        for again in (True, False):
            body = AddCheckpoint(old, self._proof(old, checkpoint), note.encode()).encode()
            answer = self._ask(due.url, body, self._settings.witness_seconds)
            size = add_checkpoint.read_known_size(answer.body) if answer.status == 409 else None
            if size is None or not again:
                break
            if size > checkpoint.size:
                raise RyeError(
                    "witness-ahead",
                    f"It has cosigned {size} entries of this log, and the registry shows {checkpoint.size}.",
                    "An older database was restored, or somebody else has the log's key.",
                )
            old = size
        if answer.status != 200:
            said = answer.body[:100].decode("utf-8", "replace").strip()
            raise RyeError("witness-refused", f"It answered {answer.status}{f': {said}' if said else ''}.", None)
        lines = add_checkpoint.read_answer(answer.body)
        signed = SignedNote(note.text, lines_of(SignedNote(note.text, lines), due.keys))
        found = read_cosignatures(signed, due.keys)
        latest = self._clock() + self._settings.clock_skew_seconds
        missing = set(due.keys) - {one.key for one in found if 0 < one.time <= latest}
        if missing:
            names = ", ".join(sorted(f"{key.name} ({key.algorithm_name})" for key in missing))
            raise RyeError("witness-refused", f"Its answer has no valid cosignature of {names} with a time.", None)
        by_key = {(line.name, line.key_id): line for line in signed.signatures}
        return [(one, by_key[one.key.name, one.key.key_id]) for one in found]

    def _proof(self, old: int, checkpoint: Checkpoint) -> tuple[bytes, ...]:
        """The consistency proof from ``old`` entries, from tiles of the store."""
        if old in (0, checkpoint.size):
            return ()
        needed = tiles.consistency_tiles(old, checkpoint.size)
        found = {tile: self._tile(tile) for tile in needed}
        read = VerifiedTiles(found, checkpoint.size, checkpoint.root_hash)
        return tuple(merkle.consistency_proof(old, checkpoint.size, read))

    def _tile(self, tile: Tile) -> bytes:
        data = self._public.get(tile.path)
        if data is None:
            data = self._public.get(tile.full.path)
        if data is None:
            raise RyeError("store-unavailable", f"The store does not have {tile.path}.", "rye-registry rebuild")
        return tiles.clip(tile, data)

    def _keep_lines(self, text: str, witnesses: Sequence[WitnessRow], known: bytes | None) -> None:
        """Forget what was signed under earlier heads, and take what the cosigned head says about the newest: after a start, and
        where another server got it. Of one witness's lines both keep the newest, or they would replace each other's forever."""
        signed = self._lines.get(text, {})
        self._lines = {text: signed}
        if known is None or known == self._taken:
            return
        note = notes.parse(wire.decode_head(known).checkpoint)
        if note.text == text:
            by_key = {(line.name, line.key_id): line for line in note.signatures}
            for one in read_cosignatures(note, [witness.key for witness in witnesses]):
                if one.key not in signed or one.time >= signed[one.key][1]:
                    signed[one.key] = (by_key[one.key.name, one.key.key_id], one.time)
            self._taken = known

    def _settle(self, witnesses: Sequence[WitnessRow], head: Head, note: SignedNote, known: bytes | None) -> None:
        """Rule 4."""
        signed = self._lines.get(note.text, {})
        quorum = quorum_of(self._settings, witnesses)
        if not quorum.is_met(set(signed)):
            return
        added = tuple(signed[witness.key][0] for witness in witnesses if witness.key in signed)
        checkpoint = SignedNote(note.text, (*note.signatures, *added)).encode()
        document = wire.encode_head(wire.Head(checkpoint, head.snapshot, head.proof, head.map))
        if document == known:
            return
        with database.change(self._engine) as connection:
            if not records.listing(connection) or not keep_cosigned(connection, document):
                return  # all were removed meanwhile, or another server was faster
        self._learn(document)

    def _run(self) -> None:
        while not self._ending.wait(TICK_SECONDS):
            try:
                self.round()
                self._told = ""
            except RyeError as error:
                if error.message != self._told:
                    _log.warning("no cosignatures were collected: %s", error)
                self._told = error.message
            except Exception:  # the thread asks all witnesses, so a bug in one answer must be logged and not end it
                _log.exception("no cosignatures were collected")


def _without_cosignatures(head: Head) -> Head:
    """The head with the log's own signature lines only."""
    note = notes.parse(head.checkpoint)
    origin = note.text.partition("\n")[0]
    own = tuple(line for line in note.signatures if line.name == origin and len(line.signature) == 64)
    return wire.Head(SignedNote(note.text, own).encode(), head.snapshot, head.proof, head.map)
