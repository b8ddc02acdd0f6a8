"""``/.well-known/agent-skills``: the index of skills, and the files that it lists (OpenCode, ``npx skills``).

The index of all namespaces omits names that two of them have. Every file is a blob of the registry, and archives are
made of blobs. Blobs are checked against the hashes in the log before they are served.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from registry_server.interop.offers import Offer
from registry_server.pages.lru_cache import LruCache
from registry_server.storage.objects import Objects
from rye.registry.marketplaces import SharedFile, WellKnownSkill, archive, well_known_index
from rye.registry.protocol import wire

_log = logging.getLogger("rye.registry")
_DIGESTS = 50_000
"""Archive hashes in the cache."""


class Folders:
    """The bytes of offers, checked and cached. Thread-safe."""

    def __init__(self, public: Objects, kept: LruCache[str, bytes]) -> None:
        self._public = public
        self._kept = kept
        self._digests: LruCache[str, tuple[str, int]] = LruCache(_DIGESTS)

    def file(self, sha256_: str) -> bytes | None:
        """Return a file's bytes; None if the store does not have them or has other bytes."""
        return self._checked(sha256_, self._public.get(wire.blob_path(sha256_)))

    def files(self, offer: Offer) -> dict[str, SharedFile] | None:
        """Return all files of an offer by path; None: one is missing or damaged."""
        contents: dict[str, SharedFile] = {}
        paths = [wire.blob_path(file.sha256) for file in offer.files]
        for file, data in zip(offer.files, self._public.get_all(paths), strict=True):
            content = self._checked(file.sha256, data)
            if content is None:
                return None
            contents[file.path] = SharedFile(content, file.executable)
        return contents

    def archive(self, offer: Offer) -> bytes | None:
        """Return all files of an offer as a ``.tar.gz``; None: one is missing or damaged."""
        key = f"archive:{offer.content}"
        kept = self._kept.get(key)
        if kept is None:
            files = self.files(offer)
            if files is None:
                return None
            kept = archive(files)
            self._kept.put(key, kept, len(kept))
        return kept

    def archive_digest(self, offer: Offer) -> tuple[str, int] | None:
        """Return the SHA-256 and size of an offer's archive; None: a file is missing or damaged."""
        digest = self._digests.get(offer.content)
        if digest is None:
            data = self._kept.get(f"archive:{offer.content}")
            if data is None:
                files = self.files(offer)
                if files is None:
                    return None
                data = archive(files)
            digest = (sha256(data).hexdigest(), len(data))
            self._digests.put(offer.content, digest)
        return digest

    @staticmethod
    def _checked(wanted: str, data: bytes | None) -> bytes | None:
        if data is not None and sha256(data).hexdigest() == wanted:
            return data
        _log.warning("the blob %s is %s: run `rye-registry verify`", wanted, "missing" if data is None else "damaged")
        return None


def row(offer: Offer, folders: Folders) -> WellKnownSkill | None:
    """Return an offer's entry in the index; None: a file is missing or damaged."""
    if len(offer.files) == 1:
        digest = offer.files[0].sha256
    else:
        archive = folders.archive_digest(offer)
        if archive is None:
            return None
        digest = archive[0]
    paths = tuple(file.path for file in offer.files)
    return WellKnownSkill(offer.name, offer.version, offer.description, paths, digest)


def index(offers: Sequence[Offer], folders: Folders, namespace: str | None) -> tuple[bytes, bool]:
    """Return the index of these offers and whether it has all of them. ``namespace`` None: the index of all
    namespaces."""
    rows = [entry for offer in sorted(offers, key=lambda one: one.name) if (entry := row(offer, folders)) is not None]
    return well_known_index(rows, f"/{namespace}" if namespace is not None else ""), len(rows) == len(offers)


def in_all(visible: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the offers for the index of all namespaces that the reader may read: the names that only one of these has."""
    counts = Counter(offer.name for offer in visible)
    return tuple(offer for offer in visible if counts[offer.name] == 1)
