"""The trusted state of each registry, kept between runs: ``<hash of the origin>/state.json`` in one of the user's
folders.

Rules:

* One file per origin, private to the user, replaced atomically under a lock. Concurrent programs never lose each
  other's updates.
* Saving merges with what another program saved in the meantime (:func:`merge`): the longer chain of roots, the larger
  checkpoint, the later keysets, all accepted recoveries. Two checkpoints were each proved against one that both
  programs shared; the caller proves the smaller against the larger before saving (:meth:`StateStore.save` calls back
  for that).
* A file that does not parse, or that other users can change, is an error and never an empty state: an empty state
  would mean a new first contact.

``head-tags.json`` next to the states has the tags of registry heads, to fetch a head only if it changed. No security
depends on a tag. It is sent only for the head it came with. A registry that answers "not changed" leaves the client
with that head, whose age is checked as usual. A file that is damaged, or that other users can change, costs one
download.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.registry.protocol import wire
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.notes import NoteError
from rye.registry.protocol.statements import Checkpoint, OrganizationPolicy
from rye.registry.protocol.wire import IndexLine, WireError
from rye.registry.store.pins import addresses_path, forget_memories, read_addresses, remember_removal, state_path
from rye.registry.trust.trusted import KeysetHead, TrustedState
from rye.storage import private_files
from rye.storage.private_files import Exposed, read_trusted
from rye.storage.safe_files import LockTimeout, file_lock
from rye.text.json_reading import UNDECODABLE

_VERSION = 2
"""Version 1 had heads of protocol 1."""
_LOCK_SECONDS = 60.0


class StateError(RyeError):
    """The trusted state cannot be read or saved.

    Codes: ``state-damaged``, ``in-use``, ``state-conflict``, ``state-unwritable``, ``state-exposed``.
    """


class _Keyset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: int
    sha256: str
    position: int


class _Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    log: int
    note: str
    size: int = 0


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    version: int
    origin: str
    roots: list[str]
    head: str | None
    keysets: dict[str, _Keyset]
    accepted_recoveries: list[str]
    in_force: dict[int, int] = {}
    cosigned: str | None = None
    policy: _Policy | None = None


class StateStore(Struct, frozen=True):
    """The states in a folder (:attr:`rye.storage.home.Home.registries`)."""

    folder: Path

    def load(self, origin: str) -> TrustedState | None:
        """Return the trusted state of a registry; None if it was never pinned.

        Raises StateError (``state-damaged``, ``state-exposed``).
        """
        path = self.path(origin)
        try:
            data = read_trusted(path)
        except FileNotFoundError:
            return None
        except Exposed as error:
            raise _exposed(error) from error
        except OSError as error:
            raise _damaged(path, str(error)) from error
        state = decode(data, path)
        if state.origin != origin:
            raise _damaged(path, f"it belongs to {state.origin}")
        return state

    def save(
        self, state: TrustedState, reconcile: Callable[[TrustedState, TrustedState], None] | None = None
    ) -> TrustedState:
        """Save a state, merged with the stored one; return the result.

        ``reconcile(smaller, larger)`` is called under the lock if another program has accepted another head meanwhile;
        it must raise unless the larger is proved to contain the smaller.
        """
        path = self.path(state.origin)
        with self._lock(path):
            present = self.load(state.origin)
            merged = state if present is None else merge(present, state, reconcile)
            if merged != present:
                private_files.write(path, encode(merged).decode())
        return merged

    def forget(self, origin: str) -> bool:
        """Unpin a registry: the next contact is a first contact, perhaps with another log under the same name, so what was seen
        of this one is forgotten, too. Returns whether it was pinned."""
        path = self.path(origin)
        with self._lock(path):
            existed = path.exists()
            forget_memories(self.folder, origin)
            path.unlink(missing_ok=True)
        return existed

    def forget_policy(self, origin: str) -> None:
        """Follow the policy of the registry's owners no longer."""
        path = self.path(origin)
        with self._lock(path):
            state = self.load(origin)
            if state is not None and state.policy is not None:
                private_files.write(path, encode(replace(state, policy=None, policy_size=0)).decode())

    def origin_at(self, address: str) -> str | None:
        """Return the origin of the registry that the user pinned at an address; None if there is none."""
        return self.addresses().get(address)

    def is_pinned(self, origin: str) -> bool:
        """Whether the user pinned this registry at any address. Its trusted state may be older than the pin, or outlive it."""
        return origin in self.addresses().values()

    def remember_address(self, address: str, origin: str) -> None:
        """Record that the user pinned this registry at this address: from now on any other one there is refused. What was
        verified under another pin of the address is forgotten."""
        if self.origin_at(address) == origin:
            return
        path = addresses_path(self.folder)
        with self._lock(path):
            addresses = self.addresses()
            before = addresses.get(address)
            if before not in (None, origin):
                remember_removal(self.folder, before)
            private_files.write(path, _listed({**addresses, address: origin}))

    def forget_address(self, address: str) -> bool:
        """Forget which registry the user expects at this address, and what was verified under that pin. Returns whether there
        was one."""
        path = addresses_path(self.folder)
        with self._lock(path):
            addresses = self.addresses()
            origin = addresses.pop(address, None)
            if origin is not None:
                remember_removal(self.folder, origin)
                private_files.write(path, _listed(addresses))
        return origin is not None

    def addresses(self) -> dict[str, str]:
        """Return address → origin of all pins. Raises StateError (``state-damaged``, ``state-exposed``)."""
        try:
            return read_addresses(self.folder)
        except Exposed as error:
            raise _exposed(error) from error
        except (OSError, *UNDECODABLE) as error:
            raise _damaged(addresses_path(self.folder), str(error)) from error

    def origins(self) -> list[str]:
        """Return the pinned registries, sorted."""
        names = []
        for path in sorted(self.folder.glob("*/state.json")):
            try:
                names.append(decode(read_trusted(path), path).origin)
            except Exposed as error:
                raise _exposed(error) from error
        return sorted(names)

    def path(self, origin: str) -> Path:
        """Return the file of a registry."""
        return state_path(self.folder, origin)

    @contextlib.contextmanager
    def _lock(self, path: Path) -> Iterator[None]:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with file_lock(path.parent / "lock", _LOCK_SECONDS):
                yield
        except LockTimeout as error:
            message = f"Another program has held {path.parent / 'lock'} for more than {_LOCK_SECONDS:g} seconds."
            raise StateError("in-use", message, "Wait for it to finish, or stop it.", what="trusted state") from error
        except OSError as error:
            message = f"The trusted state cannot be saved in {path.parent}: {error}."
            raise StateError("state-unwritable", message, "Make the folder writable, or set RYE_DATA_DIR.") from error


def merge(
    one: TrustedState, other: TrustedState, reconcile: Callable[[TrustedState, TrustedState], None] | None = None
) -> TrustedState:
    """Combine what two programs know. Raises StateError (``state-conflict``) if they contradict each other."""
    roots = max(one.roots, other.roots, key=len)
    shorter = min(one.roots, other.roots, key=len)
    if list(map(note_text, roots[: len(shorter)])) != list(map(note_text, shorter)):
        raise _conflict(one.origin, "root chains")
    keysets = dict(one.keysets)
    for namespace, head in other.keysets.items():
        before = keysets.get(namespace)
        if before is not None and before.number == head.number and before.sha256 != head.sha256:
            # Only an objection replaces a keyset of the same number; the later one in the log is the newer.
            head = max(before, head, key=lambda keyset: keyset.position)
        if before is None or head.number >= before.number:
            keysets[namespace] = head
    newer = max(other, one, key=_policy_place)
    return replace(
        one,
        roots=roots,
        head=_larger_head(one, other, reconcile),
        keysets=keysets,
        accepted_recoveries=one.accepted_recoveries | other.accepted_recoveries,
        in_force={
            number: min(each.in_force[number] for each in (one, other) if number in each.in_force)
            for number in sorted({*one.in_force, *other.in_force})
        },
        cosigned=max(other.cosigned, one.cosigned, key=_size_of),  # the later one, of two that are as large
        policy=newer.policy,
        policy_size=newer.policy_size,
    )


def _policy_place(state: TrustedState) -> tuple[int, int]:
    return (-1 if state.policy is None else state.policy.log, state.policy_size)


def encode(state: TrustedState) -> bytes:
    """Encode a state for its file."""
    keysets = {name: _Keyset(head.number, head.sha256, head.position) for name, head in sorted(state.keysets.items())}
    file = _File(
        version=_VERSION,
        origin=state.origin,
        roots=list(state.roots),
        head=state.head,
        keysets=keysets,
        accepted_recoveries=sorted(state.accepted_recoveries),
        in_force=dict(sorted(state.in_force.items())),
        cosigned=state.cosigned,
        policy=None if state.policy is None else _Policy(state.policy.log, state.policy.note, state.policy_size),
    )
    return msgspec.json.format(msgspec.json.encode(file), indent=1) + b"\n"


def decode(data: bytes, path: Path | None = None) -> TrustedState:
    """Read a state's file. Raises StateError (``state-damaged``)."""
    try:
        file = msgspec.json.decode(data, type=_File)
        if file.version != _VERSION:
            raise _damaged(path, f"it has the version {file.version}")
        keysets = {
            name: KeysetHead(keyset.number, keyset.sha256, keyset.position) for name, keyset in file.keysets.items()
        }
        state = TrustedState(
            origin=file.origin,
            roots=tuple(file.roots),
            head=file.head,
            keysets=keysets,
            accepted_recoveries=frozenset(file.accepted_recoveries),
            in_force=file.in_force,
            cosigned=file.cosigned,
            policy=None if file.policy is None else IndexLine(file.policy.log, file.policy.note),
            policy_size=0 if file.policy is None else file.policy.size,
        )
        if not state.roots or any(root.origin != state.origin for root in state.all_roots):
            raise _damaged(path, "its roots belong to another registry")
        checkpoint = state.checkpoint  # parses the head, so that a damaged one is found here
        if checkpoint is not None and state.head is not None:
            state = state.seen(state.root_hint(state.head.encode()), checkpoint.size)
        _size_of(state.cosigned)
        if state.policy is not None and OrganizationPolicy.parse(note_text(state.policy.note)).origin != state.origin:
            raise _damaged(path, "its policy belongs to another registry")
    except (NoteError, StatementError, WireError, *UNDECODABLE) as error:
        raise _damaged(path, str(error)) from error
    return state


def _larger_head(
    one: TrustedState, other: TrustedState, reconcile: Callable[[TrustedState, TrustedState], None] | None
) -> str | None:
    first, second = one.checkpoint, other.checkpoint
    if first is None or second is None or first == second:
        return other.head if first is None else one.head
    if first.size == second.size:
        raise _conflict(one.origin, "histories of the same size")
    smaller, larger = (one, other) if first.size < second.size else (other, one)
    if reconcile is not None:
        reconcile(smaller, larger)
    return larger.head


def _size_of(head: str | None) -> int:
    """The size of the tree of a stored head; -1 without one."""
    return -1 if head is None else Checkpoint.parse(note_text(wire.decode_head(head.encode()).checkpoint)).size


def _conflict(origin: str, what: str) -> StateError:
    return StateError(
        "state-conflict",
        f"Two programs on this machine were shown different {what} by {origin} at the same time: the registry forked.",
        "Do not install from it. `rye log verify` collects the evidence.",
    )


def _exposed(error: Exposed) -> StateError:
    return StateError(
        "state-exposed",
        f"{error}, so nothing in it can be trusted.",
        f"Run `{error.fix}`, then compare the fingerprint (`rye registry list`) with the one that the operator publishes.",
    )


def _damaged(path: Path | None, reason: str) -> StateError:
    return StateError(
        "state-damaged",
        f"The trusted state {path or ''} cannot be read: {reason:.300}.",
        "Restore the file from a backup. If you delete it instead, compare the registry's fingerprint at the next contact.",
    )


def _listed(addresses: object) -> str:
    return msgspec.json.format(msgspec.json.encode(addresses, order="sorted"), indent=1).decode() + "\n"


_FILE = "head-tags.json"
_MOST = 64
"""The most addresses in the file; a user reads few registries."""


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    head: str
    """SHA-256 of the head."""
    tag: str


class HeadTags(Struct, frozen=True):
    """The tags in the folder of the trusted states."""

    folder: Path

    def tag(self, address: str, head: str) -> str | None:
        """Return the tag that the server at an address gave this head; None if it gave none."""
        row = self._read().get(address)
        return row.tag if row is not None and row.head == _sha256(head) else None

    def remember(self, address: str, head: str, tag: str) -> None:
        """Store a tag. If the folder cannot be written, the next run downloads the head again."""
        rows = self._read()
        row = _Row(_sha256(head), tag)
        if rows.get(address) == row:
            return
        rows.pop(address, None)
        kept = dict([*rows.items(), (address, row)][-_MOST:])
        draft = self.folder / f"{_FILE}.{os.getpid()}-{os.urandom(8).hex()}.part"
        with suppress(OSError):
            try:
                descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
                draft.replace(self.folder / _FILE)
            finally:
                draft.unlink(missing_ok=True)

    def _read(self) -> dict[str, _Row]:
        try:
            return msgspec.json.decode(read_trusted(self.folder / _FILE), type=dict[str, _Row])
        except (OSError, *UNDECODABLE):
            return {}


def _sha256(head: str) -> str:
    return hashlib.sha256(head.encode()).hexdigest()
