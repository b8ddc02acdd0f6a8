"""A bundle file: everything needed to install a lock, in one file, for machines without a network
(docs/how-to/mirrors.md).

::

    rye.bundle-file/v1
    <path> <size>                 for each file, sorted by path: this line, then its bytes, then LF
    …
    end <sha256 of everything above, in hex>

``registries.json`` lists the registries: ``[{"address": …, "origin": …}]``. ``rye.lock`` is the lock that the bundle
was made for. It is used only to report what is missing; nothing is installed from it. ``<n>/…`` are the files of
registry *n* (from 0) under the paths in docs/reference/protocol.md: head, roots, all tiles of the log's hashes, and
the name map nodes, index files and blobs that the lock needs.

Rules:

1. A bundle is another implementation of :class:`rye.registry.transport.seam.Transport`. The same client verifies it by
   the same rules, so the bundle needs no signature and no trust. The last line only tells accidental damage from
   forgery.
2. The reader accepts only the paths above, each once, in order and within the limits. The file must end after the last
   line.
3. All tiles are included, so that a client that saw an older head can prove that the bundle's head contains it.
4. A bundle's head ages. After 7 days it is refused like any other head, unless the person names the day to check it
   against (``as_of``). Only the head's age is then measured from that day; a root that has expired by the real clock
   stays expired.
5. The same content always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.limits import MIRROR, REGISTRY, MirrorLimits
from rye.registry.client import RegistryClient
from rye.registry.first_contact import AcceptRoot
from rye.registry.protocol import lines, notes, tiles, wire
from rye.registry.protocol.lines import write_time
from rye.registry.protocol.statements import Snapshot
from rye.registry.store.cache import Cache
from rye.registry.store.state import StateStore
from rye.registry.store.witness_demands import read_demand
from rye.registry.transport.seam import Fetched, FetchError, Request, Transport, not_found, too_large
from rye.registry.trust.head_times import CLOCK
from rye.registry.trust.policies import POLICY
from rye.registry.trust.trust_error import TrustError
from rye.storage.atomic import replace_file
from rye.storage.safe_files import read_bytes
from rye.text.json_reading import UNDECODABLE
from rye.text.lazy import lazy_pattern

if TYPE_CHECKING:
    from rye.registry.trust.cosigned import WitnessDemand
    from rye.registry.trust.records import ReleaseRecord

TITLE = "rye.bundle-file/v1"
_REGISTRIES = "registries.json"
_LOCK = "rye.lock"
_MAX_REGISTRIES = 16
_MAX_LINE = 256
_FILE = lazy_pattern(
    r"(?P<registry>0|[1-9][0-9]?)/(?P<path>config\.json|clock|policy|head|root/[1-9][0-9]{0,5}|map/[0-9a-f]{64}|index/[0-9a-f]{64}|"
    r"blobs/sha256/(?P<two>[0-9a-f]{2})/(?P=two)[0-9a-f]{62}|tile/[0-9]{1,2}/[0-9x/]{3,40}(?:\.p/[0-9]{1,3})?)"
)
_SIZE = lazy_pattern(r"0|[1-9][0-9]{0,11}")


class AirgapError(RyeError):
    """A bundle file that cannot be used.

    Codes: ``airgap-malformed``, ``bundle-damaged``, ``bundle-too-large``, ``bundle-other-registry``, ``bundle-other-lock``,
    ``bundle-outdated``, ``bundle-old``.
    """


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    address: str
    origin: str


class AirgapFile(Struct, frozen=True):
    """A bundle file as read: well formed, but not verified."""

    registries: tuple[tuple[str, str], ...]
    """Address and origin of each registry."""
    lock: bytes
    """The lock that the bundle was made for."""
    files: Mapping[str, bytes]

    def transport(self, origin: str) -> AirgapTransport:
        """Return a transport over the files of one registry. Raises AirgapError ``bundle-other-registry``."""
        for number, (_, found) in enumerate(self.registries):
            if found == origin:
                return AirgapTransport(self.files, f"{number}/")
        listed = ", ".join(found for _, found in self.registries)
        raise AirgapError(
            "bundle-other-registry",
            f"The bundle contains nothing from the registry {origin}; it contains {listed}.",
            "Create one for this lock on a machine with a network: `rye mirror --bundle FILE`.",
        )

    def origin_at(self, address: str) -> str | None:
        """Return the origin of the registry at an address. If the bundle has only one registry, return that one."""
        found = dict(self.registries).get(address)
        return self.registries[0][1] if found is None and len(self.registries) == 1 else found


class AirgapTransport(Struct, frozen=True):
    """The files of one registry in a bundle (:class:`rye.registry.transport.seam.Transport`)."""

    files: Mapping[str, bytes]
    prefix: str

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        """Look the files up in the bundle."""
        return [self._fetch(request) for request in requests]

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _fetch(self, request: Request) -> Fetched:
        data = self.files.get(self.prefix + request.path)
        if data is None:
            return not_found(request.path)
        return data if len(data) <= request.max_bytes else too_large(request)


# -- reading ----------------------------------------------------------------------------------------------------


def open_airgap(path: Path, limits: MirrorLimits = MIRROR) -> AirgapFile:
    """Read a bundle file. Raises AirgapError and RyeError ``no-such-file``."""

    data = read_bytes(path, limits.airgap_bytes)
    if len(data) > limits.airgap_bytes:
        raise AirgapError("bundle-too-large", f"{path} is larger than the limit of {limits.airgap_bytes:,} bytes.")
    return decode_airgap(data, str(path), limits)


def decode_airgap(data: bytes, shown: str = "The bundle", limits: MirrorLimits = MIRROR) -> AirgapFile:
    """Read a bundle's bytes. Raises AirgapError."""
    files: dict[str, bytes] = {}
    line, at = _line(data, 0, shown)
    if line != TITLE:
        raise _malformed(shown, f"its first line is not {TITLE!r}")
    before = ""
    while True:
        start = at
        line, at = _line(data, at, shown)
        name, _, rest = line.partition(" ")
        if name == "end":
            if rest != hashlib.sha256(data[:start]).hexdigest():
                message = f"{shown} was damaged in transit: its content does not match the hash in its last line."
                raise AirgapError("bundle-damaged", message, "Copy it again.")
            if at != len(data):
                raise _malformed(shown, "there is data after its last line")
            break
        if name not in (_REGISTRIES, _LOCK) and _FILE.fullmatch(name) is None:
            raise _malformed(shown, f"{name[:80]!r} is not a file of a bundle")
        if name <= before or len(files) >= limits.airgap_files:
            raise _malformed(shown, f"its files are not sorted, or there are too many, at {name[:80]!r}")
        if _SIZE.fullmatch(rest) is None or at + int(rest) + 1 > len(data) or data[at + int(rest)] != 0x0A:
            raise _malformed(shown, f"the size of the file {name[:80]!r} is not the stated one")
        files[name] = data[at : at + int(rest)]
        before, at = name, at + int(rest) + 1
    return _understood(files, shown)


def _line(data: bytes, at: int, shown: str) -> tuple[str, int]:
    end = data.find(b"\n", at, at + _MAX_LINE)
    if end < 0:
        raise _malformed(shown, "it is truncated, or has a line that is too long")
    try:
        return data[at:end].decode("ascii"), end + 1
    except UnicodeDecodeError:
        raise _malformed(shown, "it has a line that is not ASCII") from None


def _understood(files: dict[str, bytes], shown: str) -> AirgapFile:
    lock, listing = files.pop(_LOCK, None), files.pop(_REGISTRIES, b"")
    try:
        listed = msgspec.json.decode(listing, type=list[_Listed])
        registries = tuple((entry.address, lines.read_origin(entry.origin)) for entry in listed)
    except (RyeError, *UNDECODABLE) as error:
        raise _malformed(shown, f"its list of registries cannot be read ({str(error)[:100]})") from error
    origins = {origin for _, origin in registries}
    if lock is None or not 1 <= len(registries) <= _MAX_REGISTRIES or len(origins) != len(registries):
        raise _malformed(shown, "it has no lock, no registry, or a duplicate registry")
    if any(int(name.split("/", 1)[0]) >= len(registries) for name in files):
        raise _malformed(shown, "it has files of a registry that it does not list")
    return AirgapFile(registries, lock, files)


def _malformed(shown: str, reason: str) -> AirgapError:
    return AirgapError(
        "airgap-malformed",
        f"{shown} is not a bundle file: {reason}.",
        "Create it again on a machine with a network: `rye mirror --bundle FILE`.",
    )


# -- using ----------------------------------------------------------------------------------------------------


def open_client(
    airgap: AirgapFile,
    address: str,
    store: StateStore,
    cache: Cache,
    *,
    accept_root: AcceptRoot = None,
    as_of: date | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    witnesses: WitnessDemand | None = None,
) -> RegistryClient:
    """Return a client of the registry at ``address`` that reads the bundle instead, with a verified head.

    Raises AirgapError (``bundle-outdated`` if this machine has seen a larger head, ``bundle-old`` if the head's age
    needs ``as_of``), TrustError and RyeError ``registry-unpinned``.
    """
    origin = store.origin_at(address.rstrip("/")) or airgap.origin_at(address.rstrip("/"))
    if origin is None:
        raise AirgapError(
            "bundle-other-registry",
            f"The bundle contains nothing from the registry at {address}; it contains "
            f"{', '.join(a for a, _ in airgap.registries)}.",
            "Create one for this lock on a machine with a network: `rye mirror --bundle FILE`.",
        )
    client = RegistryClient(
        address, airgap.transport(origin), store, cache, now=_clock(as_of, now), is_carried=True, witnesses=witnesses
    )
    try:
        client.refresh(accept_root, origin)
        _check_root(client, now())
    except TrustError as error:
        client.close()
        raise _explained(error, airgap, origin, as_of) from error
    except BaseException:
        client.close()
        raise
    return client


def _clock(as_of: date | None, now: Callable[[], datetime]) -> Callable[[], datetime]:
    """The time against which a head's age is measured: the end of the stated day, never later than now."""
    if as_of is None:
        return now
    end = datetime.combine(as_of, time(), UTC) + timedelta(days=1)
    return lambda: min(end, now())


def _check_root(client: RegistryClient, now: datetime) -> None:
    root = client.state.root
    if now >= root.expires:
        raise TrustError("root-expired", f"Root {root.number} of {root.origin} expired at {write_time(root.expires)}.")


def _explained(error: TrustError, airgap: AirgapFile, origin: str, as_of: date | None) -> RyeError:
    """Return the same refusal, worded for someone who holds a file, if the rule is about age."""
    if error.code == "head-rollback":
        return AirgapError(
            "bundle-outdated",
            "This machine has seen a newer state of the registry than the one in the bundle.",
            "Create a new bundle: `rye mirror --bundle FILE`.",
        )
    if error.code in ("head-stale", "head-frozen"):
        day = _snapshot_day(airgap, origin)
        return AirgapError(
            "bundle-old",
            f"The bundle shows the registry as of {day}, more than 7 days ago. Later yanks and revocations are unknown.",
            f"Create a new bundle: `rye mirror --bundle FILE`. To use this one anyway, add --bundle-as-of {day}.",
        )
    if error.code == "snapshot-future" and as_of is not None:
        return AirgapError(
            "bundle-old",
            f"The bundle shows the registry as of {_snapshot_day(airgap, origin)}, which is after {as_of}.",
            f"Use --bundle-as-of {_snapshot_day(airgap, origin)}.",
        )
    return error


def _snapshot_day(airgap: AirgapFile, origin: str) -> str:

    fetched = airgap.transport(origin).fetch_many([Request("head", wire.MAX_HEAD_BYTES)])[0]
    assert isinstance(fetched, bytes)
    return f"{Snapshot.parse(notes.parse(wire.decode_head(fetched).snapshot).text).time:%Y-%m-%d}"


# -- writing ----------------------------------------------------------------------------------------------------


class WantedPart(Struct, frozen=True):
    """One registry's part of a bundle: the releases that the lock names."""

    address: str
    origin: str
    releases: tuple[tuple[Identity, str], ...]
    """Identities and versions."""


def write_airgap(
    path: Path,
    lock: bytes,
    wanted: Sequence[WantedPart],
    open_transport: Callable[[str], Transport],
    store: StateStore,
    advance: Callable[[int], None] = lambda amount: None,
) -> int:
    """Create a bundle: run a client over each registry with an empty cache, and keep every file that it asked for.

    Returns its size.

    The client verified everything in the bundle. The registries must be pinned in ``store``, which is only read. Raises
    RyeError ``no-such-version`` for a release that its registry does not have.
    """
    files = {_LOCK: lock}
    listed = []
    for number, part in enumerate(sorted(wanted, key=lambda one: one.origin)):
        listed.append(_Listed(part.address, part.origin))
        recorder = _Recorder(open_transport(part.address))
        try:
            _collect(part, recorder, store)
        finally:
            recorder.close()
        files.update({f"{number}/{name}": data for name, data in recorder.files.items()})
        advance(1)
    files[_REGISTRIES] = msgspec.json.encode(listed)
    data = encode_airgap(files)
    path.parent.mkdir(parents=True, exist_ok=True)

    replace_file(path, data)
    return len(data)


def encode_airgap(files: Mapping[str, bytes]) -> bytes:
    """Encode a bundle with these files; the same files always give the same bytes."""
    parts = [f"{TITLE}\n".encode()]
    for name in sorted(files):
        parts += [f"{name} {len(files[name])}\n".encode("ascii"), files[name], b"\n"]
    body = b"".join(parts)
    return body + f"end {hashlib.sha256(body).hexdigest()}\n".encode("ascii")


class _Recorder:
    """A transport that records the files that it delivered."""

    def __init__(self, inner: Transport):
        self._inner = inner
        self.files: dict[str, bytes] = {}

    def fetch_many(self, requests: Sequence[Request]) -> list[Fetched]:
        fetched = self._inner.fetch_many(requests)
        for request, data in zip(requests, fetched, strict=True):
            if not isinstance(data, FetchError):
                self.files[request.path] = data
        return fetched

    def close(self) -> None:
        self._inner.close()


def _collect(part: WantedPart, recorder: _Recorder, store: StateStore) -> None:
    state = store.load(part.origin)
    if state is None:
        raise RyeError(
            "registry-unpinned",
            f"The registry {part.origin} is not pinned.",
            f"`rye registry add {part.address}` pins it.",
        )
    with tempfile.TemporaryDirectory(prefix="rye-bundle-") as folder:
        # A separate state with the user's pin, and no cache, so that the client asks for everything that a new machine would.
        own = StateStore(Path(folder, "state"))
        demand = read_demand(store.folder, part.origin)
        client = RegistryClient(part.address, recorder, own, Cache(Path(folder, "cache")), witnesses=demand)
        client.refresh(state.fingerprint, part.origin)
        for recovery in sorted(state.accepted_recoveries):
            client.accept_recovery(recovery)
        identities = [identity for identity, _ in part.releases]
        client.kinds_of(identity.id for identity in identities)
        found = {
            (identity, record.version): record
            for identity, records in client.releases(identities).items()
            for record in records
        }
        records: list[ReleaseRecord] = []
        for identity, version in part.releases:
            record = found.get((identity, version))
            if record is None:
                raise RyeError(
                    "no-such-version",
                    f"{part.origin} has no {identity} {version}, which rye.lock names.",
                    "Run `rye lock`, then try again.",
                )
            records.append(record)
        client.owners({identity.namespace for identity in identities})
        client.fetch_items(records)
        client.prove(records)
        _complete(client, recorder)


def _complete(client: RegistryClient, recorder: _Recorder) -> None:
    """Add what another machine may also need: every root, and every tile, to prove consistency with any older head."""
    size, root_hash = client.head.checkpoint.size, client.head.checkpoint.root_hash
    recorder.files["head"] = (client.as_copied.head or "").encode()
    for number, note in enumerate(client.state.roots, 1):
        recorder.files[f"root/{number}"] = note.encode()
    recorder.fetch_many(
        [Request(path, REGISTRY.index_bytes) for path in (CLOCK, POLICY)]
    )  # which most registries do not have
    wanted = tiles.all_tiles(size)
    fetched = recorder.fetch_many([Request(tile.path, tile.bytes) for tile in wanted])
    missing = {}
    for tile, data in zip(wanted, fetched, strict=True):
        if isinstance(data, FetchError) and data.code == "fetch-not-found" and tile != tile.full:
            full = recorder.fetch_many([Request(tile.full.path, tile.full.bytes)])[0]
            recorder.files.pop(tile.full.path, None)
            data = tiles.clip(tile, full) if isinstance(full, bytes) else full
        if isinstance(data, FetchError):
            raise data
        missing[tile] = data
    tiles.VerifiedTiles(missing, size, root_hash)
    recorder.files.update({tile.path: data for tile, data in missing.items()})
    # Drop tiles that were fetched for other sizes of the log.
    exact = {tile.path for tile in wanted}
    for name in [name for name in recorder.files if name.startswith("tile/") and name not in exact]:
        del recorder.files[name]
