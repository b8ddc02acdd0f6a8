"""Running a witness of logs: its folder, its logs, its server, and checking what witnesses have cosigned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from rye.errors import RyeError, UsageError
from rye.registry.protocol import notes
from rye.registry.protocol.cosignatures import CosignerKey, TreeHead, read_cosignatures
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.notes import MAX_NOTE_BYTES
from rye.registry.protocol.witness_policy import MAX_POLICY_BYTES, LogKey, read_policy, simple_policy
from rye.storage.home import Home
from rye.storage.safe_files import read_bytes
from rye.text.lazy import lazy_module
from rye.witness.folder import Kept, WitnessFolder, log_key
from rye.workspace.given_file import ReadStream, given_bytes
from rye.workspace.named_file import NamedFile
from rye.workspace.trusting.own_keys import OwnKeys

if TYPE_CHECKING:
    from rye.witness import serving
else:  # an HTTP server, which only one command needs
    serving = lazy_module("rye.witness.serving")


__all__ = ["WitnessFolder"]  # the command line passes one on


class WitnessKeys(Struct, frozen=True):
    """A witness's folder and verifier keys: pairs of an algorithm's name and a vkey."""

    folder: str
    keys: tuple[tuple[str, str], ...]


class CheckedNote(Struct, frozen=True, kw_only=True):
    """Who cosigned a checkpoint: name, algorithm and time of each. ``wanted``: the policy in words."""

    ok: bool
    origin: str
    size: int
    cosigned: tuple[tuple[str, str, str], ...]
    wanted: str


def witness_folder(home: Home, data: Path | None, keys: OwnKeys) -> WitnessFolder:
    """The witness in a folder, or in the user's data folder. ``keys``: their agent may have the witness's key."""
    return WitnessFolder(data if data is not None else home.registries.parent / "witness", keys.agent_signing_key)


def create_witness(folder: WitnessFolder, name: str, *, ed25519_only: bool) -> WitnessKeys:
    """Create a witness with new keys. Raises UsageError ``bad-argument``."""
    _require_plain(name)
    return _keys(folder, folder.create(name, ed25519_only=ed25519_only))


def create_witness_with_agent(folder: WitnessFolder, name: str, keys: OwnKeys, selector: str) -> WitnessKeys:
    """Create a witness with a key of the user's ssh-agent. ``selector``: its fingerprint or comment. Raises RyeError
    ``unknown-key``, ``ambiguous-key``, ``bad-witness``, ``ssh-agent-missing`` and others, UsageError ``bad-argument``."""
    _require_plain(name)
    return _keys(folder, folder.create_with_agent(name, keys.chosen_in_agent(selector)))


def _require_plain(name: str) -> None:
    """Refuse an address as a witness's name: the name is public, and an address can have a password inside."""
    if "://" in name or "@" in name:
        message = "A witness's name is no address: it is printed on everything that the witness signs."
        raise UsageError(
            "bad-argument", message, "Write it as witness.example/w1, without https:// and @.", what="key name"
        )


def add_log(folder: WitnessFolder, vkeys: Sequence[str], last: Path | None, *, forget: bool) -> tuple[str, int]:
    """Cosign a log from now on; return its origin and the size that was cosigned last. ``last``: a checkpoint to continue from.

    Raises RyeError ``several-logs``, ``bad-witness``, ``note-…`` for a key, UsageError ``usage``.
    """
    keys = tuple(map(_whole_key, vkeys))
    if len({key.name for key in keys}) > 1:
        shown = " and ".join(sorted({key.name for key in keys}))
        raise RyeError("several-logs", f"The keys belong to different logs: {shown}.", "Add them one after the other.")
    if last is not None and forget:
        raise UsageError("usage", "--from and --forget contradict each other.", "Give one of them.")
    note = None if last is None else read_bytes(last, MAX_NOTE_BYTES)
    log = folder.add_log(keys, last=note, forget=forget)
    return log.origin, log.head.size


def _whole_key(text: str) -> LogKey:
    try:
        return log_key(text)
    except RyeError as error:
        error.hint = "Copy all of the log's key. `rye-registry witness list` prints that of a Rye registry."
        raise


def list_witness(folder: WitnessFolder) -> tuple[WitnessKeys, list[Kept]]:
    """A witness's keys and logs."""
    return _keys(folder, [one.verifier for one in folder.cosigners()]), folder.logs()


def open_server(folder: WitnessFolder, listen: str) -> tuple[serving.WitnessServer, str, WitnessKeys]:
    """A server that is bound to an address and ready to serve, its URL, and its keys. Raises UsageError ``bad-argument``."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError("bad-argument", f"{listen!r} is not an address.", "Write 127.0.0.1:7380.", what="address")
    cosigners = folder.cosigners()
    try:
        server = serving.WitnessServer((host.strip("[]"), int(port)), serving.WitnessService(folder, cosigners))
    except OSError as error:
        why = error.strerror or str(error)
        raise UsageError(
            "bad-argument", f"Cannot listen on {listen}: {why}.", "Give another port.", what="address"
        ) from error
    return server, f"http://{host}:{server.server_address[1]}", _keys(folder, [one.verifier for one in cosigners])


def check_cosignatures(note: NamedFile, stream: ReadStream, vkeys: Sequence[str], policy: Path | None) -> CheckedNote:
    """Check the cosignatures of a checkpoint, offline. All ``vkeys`` must have cosigned, or the policy must be met."""
    parsed = notes.parse(given_bytes(note, stream, MAX_NOTE_BYTES))
    head = TreeHead.parse(parsed.text)
    keys = [CosignerKey.from_vkey(vkey) for vkey in vkeys]
    wanted = simple_policy(keys, len(keys)) if policy is None else read_policy(read_bytes(policy, MAX_POLICY_BYTES))
    signed = read_cosignatures(parsed, wanted.keys)
    return CheckedNote(
        ok=wanted.is_met({one.key for one in signed}),
        origin=head.origin,
        size=head.size,
        cosigned=tuple(
            (one.key.name, one.key.algorithm_name, write_time(datetime.fromtimestamp(min(one.time, 2**33), UTC)))
            for one in signed
        ),
        wanted=str(wanted),
    )


def _keys(folder: WitnessFolder, keys: Sequence[CosignerKey]) -> WitnessKeys:
    return WitnessKeys(str(folder.root), tuple((key.algorithm_name, key.vkey) for key in keys))
