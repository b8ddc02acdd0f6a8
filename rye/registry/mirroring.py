"""Copying a whole registry into a folder for mirrors, audits and air gaps. Everything is verified before it counts.

A mirror is a folder with the static files of docs/reference/protocol.md, served as ``file://`` or by any web server.
It holds no keys and need not be trusted: its readers verify it as they would verify the registry itself.

Rules:

1. The head comes from a client that verified it against the pinned root and the largest head seen. Only that head is
   trusted.
2. Every entry of the log is checked against the head's root hash, through tiles, before it is written. Then the whole
   log is audited (:mod:`rye.registry.trust.auditing`). The name map and the index files must be exactly those that the
   entries produce.
3. Every blob that a release names, and that the owners did not take down, is there with its size and hash. Files
   already in the folder are verified like fetched ones, and damaged ones are fetched again.
4. The folder's previous head must be a prefix of the new log (``mirror-fork``).
5. ``checkpoint`` and ``head`` are written last, so readers see either the old state or the new one. An interrupted run
   resumes where it stopped.
6. A folder with other content is never written to (``wrong-folder``).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import CONTENT, MIRROR, REGISTRY, MirrorLimits, RegistryLimits
from rye.registry.protocol import merkle, name_map, notes, tiles, wire
from rye.registry.protocol.name_map import MapEntry
from rye.registry.protocol.note_text import note_text
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.tiles import WIDTH, Tile, TileError, VerifiedTiles
from rye.registry.transport.seam import FetchError, Request, Transport
from rye.registry.trust.auditing import Audit, Auditor, raise_first
from rye.registry.trust.head_times import CLOCK, encode_steps
from rye.registry.trust.namespace_proofs import FOLDER, owners_path
from rye.registry.trust.policies import POLICY, encode_newest
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import TrustedState, check_blob
from rye.storage.atomic import replace_file
from rye.storage.opened_folder import OpenedFolder, opened_folder
from rye.storage.safe_files import LockTimeout, file_lock, first_link

_T = TypeVar("_T")
Advance = Callable[[int], None]
_ELSEWHERE = "The source is damaged or forged. Use the registry's own address, or tell its operator."
_MARK = ".rye-mirror"
"""The first file in a mirror's folder: it names the registry."""
_LOCK = ".rye-mirror.lock"
_FOLDERS = ("index", "map", "tile", "blobs", "root", FOLDER)


class Mirrored(Struct, frozen=True):
    """The result of one run."""

    audit: Audit
    fetched: int
    """Files that were missing from the folder or damaged."""
    bytes: int
    """Total size of those files."""
    before: int | None
    """Log entries of the folder's previous head; None: it had no head."""


def steps(state: TrustedState) -> int:
    """Return how often ``advance`` is called with 1 for the log: once per bundle of entries.

    Each fetched blob is one more.
    """
    checkpoint = _checkpoint(state)
    return -(-checkpoint.size // WIDTH)


def entries(
    transport: Transport,
    checkpoint: Checkpoint,
    folder: MirrorFolder | None = None,
    advance: Advance = lambda amount: None,
    limits: MirrorLimits = MIRROR,
    first: int = 0,
) -> Iterator[bytes]:
    """Yield every entry of the log in order, each proved to be in the tree of ``checkpoint``.

    ``folder``: where to store them. ``first``: begin with the bundle of 256 entries that has this position.

    Raises FetchError, TileError (``tile-…``, ``bundle-malformed``) and RyeError ``entry-mismatch``.
    """
    files = folder or MirrorFolder(None)
    size = checkpoint.size
    count = -(-size // WIDTH)
    for start in range(first // WIDTH, count, limits.entry_bundles_at_once):
        level0 = [
            tiles.tile_at(0, index, size) for index in range(start, min(start + limits.entry_bundles_at_once, count))
        ]
        hashes = proved_tiles(transport, level0, checkpoint, files)
        for tile, bundle in zip(level0, _entry_bundles(transport, level0, hashes, files), strict=True):
            files.write(tile.entries_path, tiles.encode_bundle(bundle))
            yield from bundle
            advance(1)


def mirror(
    transport: Transport,
    state: TrustedState,
    target: Path,
    advance: Advance = lambda amount: None,
    limits: MirrorLimits = MIRROR,
) -> Mirrored:
    """Bring ``target`` to the head of ``state``, which a client accepted.

    After a RyeError the folder still has its old head.
    """
    checkpoint = _checkpoint(state)
    folder = MirrorFolder(target)
    with folder.locked(state):
        before = folder.checkpoint(state)
        if before is not None and before.size > checkpoint.size:
            raise RyeError(
                "mirror-newer",
                f"{target} has {before.size} log entries, but the registry shows only {checkpoint.size}.",
                "Mirror from the registry's own address; `rye log verify` checks it.",
            )
        auditor = Auditor(state.fingerprint)
        for entry in entries(transport, checkpoint, folder, advance, limits):
            auditor.add(entry)
            if before is not None and auditor.size == before.size and auditor.root_hash != before.root_hash:
                raise _forked(target, before, state)
        audit = auditor.finish()
        _check_audit(audit, state)
        _index(transport, audit, folder, limits)
        _blobs(transport, audit.blobs, folder, advance, limits)
        wanted = folder.finish(state, checkpoint, audit)
        folder.remove(map(wire.blob_path, audit.taken_down))
        folder.prune(wanted, limits.stale_seconds)
    return Mirrored(audit, folder.fetched, folder.fetched_bytes, before.size if before else None)


class MirrorFolder:
    """The files of a mirror. Without a folder nothing is found and nothing is stored, for an audit only."""

    def __init__(self, root: Path | None):
        self._root = root
        self.fetched = 0
        self.fetched_bytes = 0

    def read(self, path: str) -> bytes | None:
        """Return a file of the mirror. The caller verifies it."""
        if self._root is None:
            return None
        place = self._root / path
        try:
            return place.read_bytes() if place.is_file() and not place.is_symlink() else None
        except OSError:
            return None

    def write(self, path: str, data: bytes) -> None:
        """Write a verified file atomically, unless it is there with the same content."""
        if self._root is None or self.read(path) == data:
            return
        with self._folder_of(path, make=True) as (folder, name):
            temporary = f".{name}.{secrets.token_hex(6)}.tmp"
            try:
                with folder.create(temporary) as stream:
                    stream.write(data)
                folder.move(temporary, folder, name)
            finally:
                with suppress(FileNotFoundError):
                    folder.unlink(temporary)

    def _delete(self, path: str, limit: float | None = None) -> None:
        """Delete a file, if it is there. ``limit``: only if it was written before that time."""
        with suppress(FileNotFoundError, NotADirectoryError), self._folder_of(path, make=False) as (folder, name):
            found = folder.status(name)
            if found is not None and (limit is None or found.st_mtime < limit):
                folder.unlink(name)

    @contextmanager
    def _folder_of(self, path: str, *, make: bool) -> Iterator[tuple[OpenedFolder, str]]:
        """Yield the folder that a path is in, and the path's name there. A mirror can be committed, and so can a link in it:
        nothing is written or deleted through one, even if it appears only now. Raises RyeError ``wrong-folder``."""
        assert self._root is not None
        try:
            with opened_folder(self._root) as opened, opened.around(path, make=make) as found:
                yield found
        except RyeError:
            _refuse_link(self._root, path.rpartition("/")[0])
            raise

    def count(self, data: bytes) -> None:
        """Count a fetched file."""
        self.fetched += 1
        self.fetched_bytes += len(data)

    def locked(self, state: TrustedState) -> _Locked:
        """Lock the folder for this program. Raises RyeError ``wrong-folder``, ``in-use``."""
        assert self._root is not None
        return _Locked(self._root, f"{state.origin} {state.fingerprint}\n")

    def checkpoint(self, state: TrustedState) -> Checkpoint | None:
        """Return the checkpoint of the folder's head; None if it has no head yet."""
        data = self.read("head")
        if data is None:
            return None
        try:
            found = Checkpoint.parse(notes.parse(wire.decode_head(data).checkpoint).text)
        except RyeError as error:
            message = f"{self._root}/head is damaged: {error.message}"
            raise RyeError(
                "mirror-damaged", message, "Delete this file and run the command again; all other files are kept."
            ) from error
        if found.origin != state.origin:
            raise _not_a_mirror(self._root, f"it is a mirror of {found.origin}")
        return found

    def finish(self, state: TrustedState, checkpoint: Checkpoint, audit: Audit) -> set[str]:
        """Write roots, config, then checkpoint and head; return the paths of everything that the head leads to."""
        head = (state.head or "").encode()
        last = {
            **{f"root/{number}": note.encode() for number, note in enumerate(state.roots, 1)},
            "config.json": wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, state.origin, None)),
            **({CLOCK: encode_steps(audit.steps)} if audit.steps else {}),
            **({POLICY: encode_newest(audit.policy)} if audit.policy else {}),
            **{owners_path(namespace): wire.encode_index(lines) for namespace, lines in audit.owners.items()},
        }
        for path, data in last.items():
            self.write(path, data)
        if hasattr(os, "sync"):
            os.sync()  # the head must not reach the disk before the files that it names
        assert self._root is not None
        for path, data in (("checkpoint", wire.decode_head(head).checkpoint.encode()), ("head", head)):
            if self.read(path) != data:
                replace_file(self._root / path, data)
        log = tiles.all_tiles(checkpoint.size)
        return {
            *last,
            "checkpoint",
            "head",
            *(tile.path for tile in log),
            *(tile.entries_path for tile in log if tile.level == 0),
            *map(name_map.node_path, audit.nodes),
            *(f"index/{entry.sha256}" for entry in audit.index.values()),
            *map(wire.blob_path, audit.blobs),
        }

    def remove(self, paths: Iterable[str]) -> None:
        """Delete files that were taken down, immediately."""
        for path in paths:
            self._delete(path)

    def prune(self, wanted: set[str], stale_seconds: float) -> None:
        """Delete files that only older heads need and leftovers of killed runs, once no reader can need them any
        more.
        """
        assert self._root is not None
        limit = time.time() - stale_seconds
        for top in _FOLDERS:
            _refuse_link(self._root, top)
            for place, _, names in os.walk(self._root / top):
                for name in names:
                    relative = Path(place, name).relative_to(self._root).as_posix()
                    replaceable = top in ("index", "map") or (top == "tile" and ".p/" in relative)
                    if name.startswith(".") or (replaceable and relative not in wanted):
                        self._delete(relative, limit)


class _Locked:
    """A folder's lock and its mark."""

    def __init__(self, root: Path, mark: str):
        self._root, self._mark = root, mark
        self._lock = file_lock(root / _LOCK, 0)

    def __enter__(self) -> None:
        mark = self._root / _MARK
        for name in (_MARK, _LOCK, *_FOLDERS):
            _refuse_link(self._root, name)
        if self._root.exists() and not self._root.is_dir():
            raise _not_a_mirror(self._root, "it is not a folder")
        present = mark.read_text("utf-8", "replace") if mark.is_file() else None
        if present is None and self._root.is_dir() and any(self._root.iterdir()) and not self._is_copy():
            raise _not_a_mirror(self._root, "it contains other files")
        if present is not None and present != self._mark:
            raise _not_a_mirror(self._root, f"it is a mirror of {present.split(' ')[0][:128]!r}, or of another root")
        self._root.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.__enter__()
        except LockTimeout:
            raise RyeError(
                "in-use",
                f"Another program is writing to {self._root}.",
                "Wait for it to finish, or stop it.",
                what="mirror",
            ) from None
        replace_file(mark, self._mark.encode())  # not through a link that another program put there meanwhile

    def __exit__(self, *_: object) -> None:
        self._lock.__exit__(None, None, None)

    def _is_copy(self) -> bool:
        """Whether ``rye-registry export`` made the folder; never true for the folder of a registry with an API."""
        try:
            config = wire.decode_config((self._root / "config.json").read_bytes())
        except (OSError, RyeError):
            return False
        return config.api is None and (self._root / "head").is_file()


def proved_tiles(
    transport: Transport, wanted: list[Tile], checkpoint: Checkpoint, folder: MirrorFolder | None = None
) -> Mapping[Tile, bytes]:
    """Return these tiles with all that prove them, verified. Tiles in the folder that fail are fetched again.

    Raises FetchError, TileError.
    """
    files = folder or MirrorFolder(None)
    needed = tiles.with_parents(wanted, checkpoint.size)
    known = {tile: data for tile in needed if (data := files.read(tile.path)) is not None and len(data) == tile.bytes}
    for cached in (known, {}):
        found = dict(cached)
        absent = [tile for tile in needed if tile not in found]
        requests = [(tile.path, tile.full.path, tile.bytes, tile.full.bytes) for tile in absent]
        for tile, data in zip(absent, _with_full(transport, requests), strict=True):
            found[tile] = tiles.clip(tile, data)
        try:
            VerifiedTiles(found, checkpoint.size, checkpoint.root_hash)
        except TileError as error:
            if not cached:
                raise TileError(error.code, error.message, _ELSEWHERE) from error
            continue
        for tile in absent:
            files.count(found[tile])
            files.write(tile.path, found[tile])
        return found
    raise AssertionError("the second round has no tiles of the folder")


def _entry_bundles(
    transport: Transport, wanted: list[Tile], hashes: Mapping[Tile, bytes], files: MirrorFolder
) -> list[list[bytes]]:
    """Return the entries for these tiles of level 0, each checked against its hash in the tile."""
    bundles: dict[Tile, list[bytes]] = {}
    for tile in wanted:
        data = files.read(tile.entries_path)
        if data is not None:
            try:
                bundles[tile] = check_entry_bundle(tile, tiles.decode_bundle(data, tile.width), hashes[tile])
            except RyeError:
                continue  # damaged: fetched again
    absent = [tile for tile in wanted if tile not in bundles]
    most = 2 + tiles.MAX_ENTRY_BYTES
    requests = [
        (tile.entries_path, tile.full.entries_path, tile.width * most, tile.full.width * most) for tile in absent
    ]
    for tile, data in zip(absent, _with_full(transport, requests), strict=True):
        files.count(data)
        try:
            bundle = tiles.decode_bundle(data, tile.width)
        except TileError:
            if tile == tile.full:
                raise TileError(
                    "bundle-malformed", f"{tile.entries_path} is not a bundle of entries.", _ELSEWHERE
                ) from None
            bundle = tiles.decode_bundle(data, WIDTH)[: tile.width]
        bundles[tile] = check_entry_bundle(tile, bundle, hashes[tile])
    return [bundles[tile] for tile in wanted]


def check_entry_bundle(tile: Tile, bundle: list[bytes], hashes: bytes) -> list[bytes]:
    """Return the entries of a bundle, each checked against its hash in the tile. Raises RyeError ``entry-mismatch``."""
    for offset, entry in enumerate(bundle):
        if merkle.leaf_hash(entry) != hashes[offset * 32 : offset * 32 + 32]:
            position = tile.index * WIDTH + offset
            raise RyeError(
                "entry-mismatch",
                f"Entry {position} does not match the signed checkpoint.",
                _ELSEWHERE,
            )
    return bundle


def _with_full(transport: Transport, wanted: list[tuple[str, str, int, int]]) -> list[bytes]:
    """Fetch files in one wave. A partial tile that the full one has replaced costs a second wave."""
    fetched = transport.fetch_many([Request(path, size) for path, _, size, _ in wanted])
    again = [
        (number, Request(full, full_size))
        for number, (path, full, _, full_size) in enumerate(wanted)
        if path != full and _is_missing(fetched[number])
    ]
    for (number, _), data in zip(again, transport.fetch_many([request for _, request in again]), strict=True):
        fetched[number] = data
    return [_or_raise(data, "tile-missing") for data in fetched]


def _index(transport: Transport, audit: Audit, folder: MirrorFolder, limits: MirrorLimits) -> None:
    """Write the name map as computed, and fetch index files by their computed hashes."""
    for sha256, node in audit.nodes.items():
        folder.write(name_map.node_path(sha256), name_map.encode_node(node))
    absent = [entry for entry in audit.index.values() if not _is_index(entry, folder.read(f"index/{entry.sha256}"))]
    for group in _groups(absent, limits.files_at_once):
        requests = [Request(f"index/{entry.sha256}", entry.size) for entry in group]
        for entry, fetched in zip(group, transport.fetch_many(requests), strict=True):
            data = _or_raise(fetched, "index-missing")
            if not _is_index(entry, data):
                raise RyeError(
                    "index-hash",
                    f"The index file of {entry.name} does not match the log.",
                    _ELSEWHERE,
                )
            folder.count(data)
            folder.write(f"index/{entry.sha256}", data)


def _is_index(entry: MapEntry, data: bytes | None) -> bool:
    return data is not None and len(data) == entry.size and hashlib.sha256(data).hexdigest() == entry.sha256


def _blobs(
    transport: Transport, blobs: Mapping[str, int], folder: MirrorFolder, advance: Advance, limits: MirrorLimits
) -> None:
    most = max(REGISTRY.item_bytes, CONTENT.attached_bytes)
    absent = []
    for sha256, size in blobs.items():
        if size > most:
            message = f"A release names a file of {size:,} bytes; the limit is {most:,}."
            raise RyeError("release-oversized", message, "Ask the registry's operator.")
        data = folder.read(wire.blob_path(sha256))
        if data is None or len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
            absent.append(sha256)
    for group in _groups(absent, limits.files_at_once):
        requests = [Request(wire.blob_path(sha256), blobs[sha256]) for sha256 in group]
        for sha256, fetched in zip(group, transport.fetch_many(requests), strict=True):
            data = check_blob(sha256, blobs[sha256], _or_raise(fetched, "blob-missing"))
            folder.count(data)
            folder.write(wire.blob_path(sha256), data)
            advance(1)


def _check_audit(audit: Audit, state: TrustedState) -> None:
    """Check that the audit found nothing, and that its result is what the accepted head says."""
    raise_first(audit)
    head = wire.decode_head((state.head or "").encode())
    checkpoint = _checkpoint(state)
    if (audit.size, audit.root_hash) != (checkpoint.size, checkpoint.root_hash) or audit.map != head.map:
        raise RyeError(
            "audit-failed",
            "The entries of the log do not match the head that the registry shows.",
            "Do not copy it; `rye log verify` shows details.",
        )
    if tuple(map(note_text, audit.roots)) != tuple(map(note_text, state.roots)):
        raise RyeError(
            "audit-failed",
            "The roots in the log differ from those that the registry serves.",
            "Report it to the registry's operator.",
        )


def _checkpoint(state: TrustedState) -> Checkpoint:
    checkpoint = state.checkpoint
    if checkpoint is None:
        raise ValueError("the state has no head")
    return checkpoint


def _groups(values: Iterable[_T], count: int) -> Iterator[list[_T]]:
    group: list[_T] = []
    for value in values:
        group.append(value)
        if len(group) == count:
            yield group
            group = []
    if group:
        yield group


def _is_missing(fetched: bytes | FetchError) -> bool:
    return isinstance(fetched, FetchError) and fetched.code == "fetch-not-found"


def _or_raise(fetched: bytes | FetchError, missing: str) -> bytes:
    if isinstance(fetched, FetchError):
        if fetched.code == "fetch-not-found":
            raise TrustError(missing, fetched.message) from fetched
        raise fetched
    return fetched


def _forked(target: Path, before: Checkpoint, state: TrustedState) -> RyeError:
    head = wire.decode_head((state.head or "").encode())
    copied = (target / "checkpoint").read_text("utf-8", "replace")
    return RyeError(
        "mirror-fork",
        f"The registry's log does not contain the {before.size} entries in {target}: it has shown two histories.",
        "Keep both signed checkpoints: `--json` shows them, and they prove it. Tell the operator.",
        details={"evidence": {"trusted": copied, "offered": head.checkpoint}},
    )


def _refuse_link(root: Path, path: str) -> None:
    link = first_link(root, root / path)
    if link is not None:
        raise _not_a_mirror(root, f"{link.relative_to(root).as_posix()} in it is a symbolic link")


def _not_a_mirror(root: Path | None, reason: str) -> RyeError:
    return RyeError(
        "wrong-folder",
        f"{root} cannot be used for this mirror: {reason}.",
        "Give an empty or new folder.",
        what="mirror",
    )


def transport_limits(limits: MirrorLimits = MIRROR) -> RegistryLimits:
    """Return the client's limits with the time limit of a whole copy."""
    return replace(REGISTRY, total_seconds=limits.total_seconds)
