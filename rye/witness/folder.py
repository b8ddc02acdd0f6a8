"""A witness's folder: its name and logs, its private keys, what it signed last, and evidence of forks.

::

    witness.json                 name, and each log with its keys
    ed25519.key, ml-dsa-44.key   the seeds (0600); neither, if the key is in an ssh-agent, which witness.json then names
    signed/<sha256 of origin>    the last checkpoint of a log, with the cosignatures, or words that say that there is none
    evidence/<hash>.json         two signed checkpoints that contradict each other

Rules:

* A checkpoint is durable (file and folder synced) before its cosignature leaves this module. Reading, deciding and writing
  are one step under the log's lock, also between processes.
* A log whose file in ``signed`` is missing or damaged is not signed: ``add-log --from NOTE`` restores it, and only
  ``--forget`` starts from nothing. Nothing ever starts from zero by itself, and ``--from`` never goes back behind a file
  that can be read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import MIB
from rye.registry.protocol import cosignatures, notes
from rye.registry.protocol.cosignatures import Cosigner, CosignerKey, TreeHead, split_vkey
from rye.registry.protocol.notes import ED25519, NoteError, VerifierKey
from rye.registry.protocol.witness_policy import LogKey
from rye.signing.keys import PrivateKey, PublicKey, read_public_line
from rye.signing.signing_key import SigningKey
from rye.storage import private_files
from rye.storage.safe_files import file_lock, read_bytes
from rye.text.json_reading import UNDECODABLE
from rye.text.lazy import lazy_module
from rye.witness.deciding import Declined, Log, log_lines

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import mldsa
else:
    mldsa = lazy_module("cryptography.hazmat.primitives.asymmetric.mldsa")

MOST_LOGS = 10_000
MOST_EVIDENCE = 1_000
_SETTINGS_BYTES = 32 * MIB
"""Enough for as many logs as there can be, each with a key of ML-DSA-44."""
_SETTINGS = "witness.json"
_SEEDS = {cosignatures.ED25519: "ed25519.key", cosignatures.ML_DSA_44: "ml-dsa-44.key"}
_LOCK_SECONDS = 10.0
_NOTHING = b"nothing was signed so far\n"
"""An empty file is one that was cut off, as by a full disk."""


class _Log(Struct, frozen=True, forbid_unknown_fields=True):
    origin: str
    keys: tuple[str, ...]


class _Settings(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    logs: tuple[_Log, ...] = ()
    agent_key: str | None = None
    """The OpenSSH line of the Ed25519 key, if an ssh-agent has its private half."""


class Kept(Struct, frozen=True):
    """A log with what is signed of it; ``problem``: why it cannot be signed."""

    origin: str
    keys: tuple[str, ...]
    size: int | None
    problem: str | None = None


class WitnessFolder(Struct, frozen=True):
    """The folder."""

    root: Path
    agent_key: Callable[[PublicKey], SigningKey] | None = None
    """Returns the key of the user's ssh-agent that has this public half. None: no agent can be asked."""

    # -- settings and keys --------------------------------------------------------------------------------------------

    def create(self, name: str, *, ed25519_only: bool = False) -> tuple[CosignerKey, ...]:
        """Create the folder with new keys. Raises RyeError ``already-exists``, ``note-key-invalid``."""
        if (self.root / _SETTINGS).exists():
            raise self._is_made()
        algorithms = (cosignatures.ED25519,) if ed25519_only else (cosignatures.ED25519, cosignatures.ML_DSA_44)
        seeds = {algorithm: os.urandom(32) for algorithm in algorithms}
        cosigners = tuple(_cosigner(name, algorithm, seed) for algorithm, seed in seeds.items())
        private_files.make_folder(self.root)
        for algorithm, seed in seeds.items():
            private_files.write_new(self.root / _SEEDS[algorithm], notes.encode_base64(seed) + "\n")
        self._write_settings(_Settings(name))
        return tuple(one.verifier for one in cosigners)

    def create_with_agent(self, name: str, key: PublicKey) -> tuple[CosignerKey, ...]:
        """Create the folder for a key whose private half is in an ssh-agent. Raises RyeError ``already-exists``,
        ``note-key-invalid``, ``bad-witness`` for a security key, which signs other bytes than those that readers verify.
        """
        if (self.root / _SETTINGS).exists():
            raise self._is_made()
        if key.hardware:
            raise _bad(
                "a security key (ed25519-sk) signs other bytes than those that readers of cosignatures verify",
                "Take an Ed25519 key of the agent: `ssh-keygen -t ed25519` makes one.",
            )
        made = CosignerKey(name, cosignatures.ED25519, key.raw)
        private_files.make_folder(self.root)
        self._write_settings(_Settings(name, (), key.ssh.line()))
        return (made,)

    def cosigners(self) -> tuple[Cosigner, ...]:
        """The keys. An agent is only asked when something is signed. Raises RyeError ``bad-witness``."""
        settings = self._settings()
        if settings.agent_key is not None:
            return (self._agent_cosigner(settings.name, settings.agent_key),)
        name, cosigners = settings.name, []
        for algorithm, file in _SEEDS.items():
            path = self.root / file
            if not path.exists() and algorithm == cosignatures.ML_DSA_44:
                continue
            try:
                seed = notes.decode_base64(private_files.read_secret(path).decode("ascii").removesuffix("\n"))
            except (OSError, UnicodeDecodeError, NoteError) as error:
                raise _bad(f"{path} cannot be read: {error}") from error
            cosigners.append(_cosigner(name, algorithm, seed))
        return tuple(cosigners)

    def add_log(self, keys: tuple[LogKey, ...], *, last: bytes | None = None, forget: bool = False) -> Log:
        """Add a log, or change its keys. ``last``: a checkpoint that this witness signed; ``forget``: start from nothing.

        Raises RyeError ``bad-witness`` if what was signed of the log is lost and neither is given, and if ``last`` would take
        back what is there, ``note-…`` for ``last``.
        """
        origin = keys[0].name
        log = Log(origin, keys, None if last is None else self._checked(origin, keys, last))
        with file_lock(self.root / "settings.lock", _LOCK_SECONDS):
            settings = self._settings()
            is_known = any(one.origin == origin for one in settings.logs)
            is_kept = last is None and not forget and (is_known or self._file(origin).exists())
            if is_kept:  # also where an older witness.json, without this log, was put back: what was signed counts
                self._read(origin, keys)  # raises if it is lost
            others = tuple(one for one in settings.logs if one.origin != origin)
            if len(others) >= MOST_LOGS:
                raise _bad(f"it has {MOST_LOGS} logs, the most that it can have")
            if not is_kept:
                with self._locked(origin):
                    if not forget:
                        self._refuse_older(log)
                    _write(self._file(origin), log.note.encode() if log.note is not None else _NOTHING)
            row = _Log(origin, tuple(key.vkey for key in keys))
            self._write_settings(replace(settings, logs=(*others, row)))
        return self.read(origin) or log

    def logs(self) -> list[Kept]:
        """Every log, by origin."""
        rows = []
        for one in sorted(self._settings().logs, key=lambda log: log.origin):
            try:
                log = self.read(one.origin)
                rows.append(Kept(one.origin, one.keys, log.head.size if log is not None else None))
            except RyeError as error:
                rows.append(Kept(one.origin, one.keys, None, error.message))
        return rows

    # -- what was signed ----------------------------------------------------------------------------------------------

    def read(self, origin: str) -> Log | None:
        """Return a log and what was signed of it; None if the operator did not add it. Raises RyeError ``bad-witness``."""
        row = next((one for one in self._settings().logs if one.origin == origin), None)
        return None if row is None else self._read(origin, tuple(map(log_key, row.keys)))

    def update(self, origin: str, change: Callable[[Log], tuple[str, bytes] | Declined]) -> bytes | Declined | None:
        """Decide on a log and keep the result, as one durable step. ``change`` returns the note to keep and the answer, or a
        refusal. None: the log was not added. Raises RyeError ``bad-witness``."""
        row = next((one for one in self._settings().logs if one.origin == origin), None)
        if row is None:
            return None
        with self._locked(origin):
            done = change(self._read(origin, tuple(map(log_key, row.keys))))
            if isinstance(done, Declined):
                return done
            _write(self._file(origin), done[0].encode())
            return done[1]

    def keep_evidence(self, log: Log, offered: str, reason: str) -> None:
        """Keep two signed checkpoints that contradict each other; at most :data:`MOST_EVIDENCE`."""
        folder = self.root / "evidence"
        private_files.make_folder(folder)
        document = {"origin": log.origin, "reason": reason, "signed": log.note or "", "offered": offered}
        data = msgspec.json.format(msgspec.json.encode(document), indent=1)
        path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.json"
        if not path.exists() and sum(1 for _ in folder.iterdir()) < MOST_EVIDENCE:
            private_files.write(path, data.decode() + "\n")

    def _is_made(self) -> RyeError:
        hint = "`rye witness list` prints its keys. `--data DIR` makes another one in a folder of its own."
        return RyeError("already-exists", f"{self.root} already has a witness.", hint, what="witness")

    def _agent_cosigner(self, name: str, line: str) -> Cosigner:
        public = read_public_line(line)
        if self.agent_key is None or public.hardware:
            raise _bad(f"the key that {self.root / _SETTINGS} names is not one that an ssh-agent can cosign with")
        return Cosigner(CosignerKey(name, cosignatures.ED25519, public.raw), self.agent_key(public).sign)

    def _read(self, origin: str, keys: tuple[LogKey, ...]) -> Log:
        path = self._file(origin)
        try:
            data = path.read_bytes()
            return Log(origin, keys, self._checked(origin, keys, data) if data != _NOTHING else None)
        except (OSError, RyeError) as error:
            raise _bad(
                f"what it signed of {origin} is lost or damaged ({str(error)[:200]})",
                "Give a checkpoint that it signed: `rye witness add-log VKEY --from NOTE`.",
            ) from error

    def _refuse_older(self, log: Log) -> None:
        """Raise RyeError ``bad-witness`` if the checkpoint takes back what was signed: the log's operator may have handed it
        over, and the witness would sign another continuation of it."""
        try:
            known = self._read(log.origin, log.keys).head
        except RyeError:  # lost or damaged, which is what a checkpoint is given for
            return
        if known.size > log.head.size or (known.size == log.head.size and known.root_hash != log.head.root_hash):
            raise _bad(
                f"it signed {known.size} entries of {log.origin}, and the checkpoint has {log.head.size}: "
                "it would take that back",
                "`rye witness add-log VKEY` without --from keeps what it signed last.",
            )

    def _checked(self, origin: str, keys: tuple[LogKey, ...], data: bytes) -> str:
        """A note that this witness signed before. Raises RyeError."""
        note = notes.parse(data)
        own = tuple(one.verifier for one in self.cosigners())
        if TreeHead.parse(note.text).origin != origin or not cosignatures.read_cosignatures(note, own):
            raise _bad("the checkpoint is not one that this witness signed of this log")
        log_lines(note, keys)
        return note.encode()

    def _file(self, origin: str) -> Path:
        return self.root / "signed" / hashlib.sha256(origin.encode()).hexdigest()

    def _locked(self, origin: str) -> AbstractContextManager[None]:
        private_files.make_folder(self.root / "signed")
        return file_lock(self._file(origin).with_suffix(".lock"), _LOCK_SECONDS)

    def _settings(self) -> _Settings:
        path = self.root / _SETTINGS
        try:
            return msgspec.json.decode(read_bytes(path, _SETTINGS_BYTES), type=_Settings)
        except (RyeError, *UNDECODABLE) as error:
            raise _bad(f"{path} cannot be read", "`rye witness init NAME` creates a witness.") from error

    def _write_settings(self, settings: _Settings) -> None:
        _write(self.root / _SETTINGS, msgspec.json.format(msgspec.json.encode(settings), indent=1) + b"\n")


def log_key(text: str) -> LogKey:
    """Read a log's vkey: Ed25519 or ML-DSA-44. Raises NoteError."""
    material = split_vkey(text)[2]
    return VerifierKey.from_vkey(text) if material[:1] == ED25519 else CosignerKey.from_vkey(text)


def _cosigner(name: str, algorithm: bytes, seed: bytes) -> Cosigner:
    if algorithm == cosignatures.ED25519:
        private = PrivateKey(seed)
        return Cosigner(CosignerKey(name, algorithm, private.public.raw), private.sign)
    try:
        key = mldsa.MLDSA44PrivateKey.from_seed_bytes(seed)
    except (
        Exception
    ) as error:  # the library raises its own error where it lacks the algorithm, and ImportError where it is old
        raise _bad("the installed cryptography library has no ML-DSA-44", "`--ed25519-only` does without.") from error
    return Cosigner(CosignerKey(name, algorithm, key.public_key().public_bytes_raw()), key.sign)


def _write(path: Path, data: bytes) -> None:
    """Replace a file, durable when it returns."""
    private_files.write(path, data.decode())
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _bad(what: str, hint: str | None = None) -> RyeError:
    return RyeError("bad-witness", f"The witness cannot be used: {what}.", hint)
