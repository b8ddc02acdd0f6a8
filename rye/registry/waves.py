"""A registry's files, from the cache or fetched in one wave.

Files that a hash or the log proves are checked before they are returned or cached.

Where only the caller knows what a file named by its hash must contain, the caller checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rye.registry.protocol import merkle, tiles, wire
from rye.registry.protocol.statements import Checkpoint
from rye.registry.protocol.tiles import Tile, TileError, VerifiedTiles
from rye.registry.store.cache import Cache
from rye.registry.transport.seam import Fetched, FetchError, NoAnswer, Request, Transport
from rye.registry.trust.trust_error import TrustError
from rye.registry.trust.trusted import check_blob


class Waves:
    """Fetches for one client. ``transport`` is replaced when the registry stops answering."""

    def __init__(self, transport: Transport, cache: Cache) -> None:
        self.transport = transport
        self.silence: NoAnswer | None = None
        """Why the first file that did not arrive did not, if nobody answered for it."""
        self._cache = cache

    def fetch(self, requests: Sequence[Request]) -> list[Fetched]:
        """Fetch files in one wave, past the cache (:class:`rye.registry.transport.seam.Transport`)."""
        found = self.transport.fetch_many(requests)
        if self.silence is None:
            self.silence = next((one for one in found if isinstance(one, NoAnswer)), None)
        return found

    def one(self, request: Request) -> bytes:
        """Return one small file, never from the cache."""
        return or_raise(self.fetch([request])[0])

    def blobs(self, blobs: Iterable[tuple[str, int]]) -> dict[str, bytes]:
        """Return content by (SHA-256, size), from the cache or in one wave, all verified. Raises the first error."""
        sizes = dict(blobs)
        contents: dict[str, bytes] = {}
        missing: list[str] = []
        for sha256, size in sizes.items():
            data = self._cache.get(sha256)
            if data is None:
                missing.append(sha256)
            else:
                contents[sha256] = check_blob(sha256, size, data)
        requests = [Request(wire.blob_path(sha256), sizes[sha256]) for sha256 in missing]
        for sha256, fetched in zip(missing, self.fetch(requests), strict=True):
            if isinstance(fetched, FetchError):
                if fetched.code == "fetch-not-found":
                    raise TrustError(
                        "blob-missing", f"The registry does not have the file {sha256}, which a release names."
                    )
                if fetched.code in ("fetch-too-large", "fetch-endless"):
                    message = f"The file {sha256} is larger than the {sizes[sha256]} bytes that its release states."
                    raise TrustError("blob-size", message, sha256=sha256)
                raise fetched
            contents[sha256] = check_blob(sha256, sizes[sha256], fetched)
            self._cache.put(fetched)
        return contents

    def addressed(self, requests: Mapping[str, Request], missing: str) -> dict[str, bytes]:
        """Return files by their hash, from the cache or in one wave. The caller checks what was fetched."""
        contents: dict[str, bytes] = {}
        for sha256 in requests:
            data = self._cache.get(sha256)
            if data is not None:
                contents[sha256] = data
        absent = [sha256 for sha256 in requests if sha256 not in contents]
        for sha256, fetched in zip(absent, self.fetch([requests[s] for s in absent]), strict=True):
            if isinstance(fetched, FetchError) and fetched.code == "fetch-not-found":
                raise TrustError(missing, f"The registry does not serve {requests[sha256].path}, which its head names.")
            contents[sha256] = or_raise(fetched)
        return contents

    def tiles(self, origin: str, needed: Sequence[Tile], size: int, root_hash: bytes) -> dict[Tile, bytes]:
        """Return tiles from the cache and in one wave, verified against a root hash before they are cached.

        Cached tiles that fail are dropped and fetched again: they are damaged, or from a registry that forked.
        """
        if not needed:
            return {}
        cached = {tile: data for tile in needed if (data := self._cache.get_tile(origin, tile)) is not None}
        for known in (cached, {}):
            found = dict(known)
            absent = [tile for tile in needed if tile not in found]
            found.update(self._download(absent))
            try:
                VerifiedTiles(found, size, root_hash)
            except TileError:
                if not known:
                    raise
                self._cache.drop_tiles(origin)
                continue
            for tile in absent:
                self._cache.put_tile(origin, tile, found[tile])
            return found
        raise AssertionError("the second round has no cached tiles")

    def check_continues(self, origin: str, old: Checkpoint, new: Checkpoint) -> None:
        """Prove with the tiles of ``new``'s tree that it continues the smaller tree of ``old`` (RFC 6962 §2.1.2).

        Raises ProofError if it does not, TileError and FetchError.
        """
        needed = tiles.consistency_tiles(old.size, new.size)
        read = VerifiedTiles(self.tiles(origin, needed, new.size, new.root_hash), new.size, new.root_hash)
        proof = merkle.consistency_proof(old.size, new.size, read)
        merkle.verify_consistency(old.size, new.size, old.root_hash, new.root_hash, proof)

    def _download(self, wanted: Sequence[Tile]) -> dict[Tile, bytes]:
        """Fetch one wave. A partial tile that the full one has replaced costs a second."""
        tiles_read: dict[Tile, bytes] = {}
        replaced: list[Tile] = []
        for tile, fetched in zip(wanted, self.fetch([Request(t.path, t.bytes) for t in wanted]), strict=True):
            if isinstance(fetched, FetchError) and fetched.code == "fetch-not-found" and tile != tile.full:
                replaced.append(tile)
            else:
                tiles_read[tile] = _tile_or_raise(tile, fetched)
        requests = [Request(tile.full.path, tile.full.bytes) for tile in replaced]
        for tile, fetched in zip(replaced, self.fetch(requests), strict=True):
            tiles_read[tile] = tiles.clip(tile, _tile_or_raise(tile, fetched))
        return tiles_read


def _tile_or_raise(tile: Tile, fetched: bytes | FetchError) -> bytes:
    if isinstance(fetched, FetchError) and fetched.code == "fetch-not-found":
        raise TrustError("tile-missing", f"The registry does not serve {tile.path}, which its log must have.")
    if isinstance(fetched, FetchError) and fetched.code in ("fetch-too-large", "fetch-endless"):
        raise TileError("tile-size", f"The tile {tile.path} is larger than {tile.bytes} bytes.")
    return or_raise(fetched)


def or_raise(fetched: bytes | FetchError) -> bytes:
    """Return what was fetched, or raise the error that was recorded instead."""
    if isinstance(fetched, FetchError):
        raise fetched
    return fetched
