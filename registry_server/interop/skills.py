"""``/.well-known/agent-skills``: the index of skills, and the files that it names (OpenCode, ``npx skills``).

The index of all namespaces leaves out a name that two of them have. Every file is one blob of the registry, every archive is made
of them; both are compared with the hashes in the log before they are handed out.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from registry_server.interop.offers import Offer
from registry_server.pages.kept import Kept
from registry_server.storage.objects import Objects
from rye.publishing.marketplaces import SharedFile, WellKnownSkill, archive, well_known_index
from rye.registry.protocol import wire

_log = logging.getLogger("rye.registry")
_DIGESTS = 50_000
"""Hashes of archives that are remembered."""


class Folders:
    """The bytes of offers. Safe to use from several threads."""

    def __init__(self, public: Objects, kept: Kept[str, bytes]) -> None:
        self._public = public
        self._kept = kept
        self._digests: Kept[str, tuple[str, int]] = Kept(_DIGESTS)

    def file(self, sha256_: str) -> bytes | None:
        """A file's bytes; None where the store has not exactly these."""
        return self._checked(sha256_, self._public.get(wire.blob_path(sha256_)))

    def files(self, offer: Offer) -> dict[str, SharedFile] | None:
        """All files of an offer by their paths; None where one is not there."""
        found: dict[str, SharedFile] = {}
        paths = [wire.blob_path(file.sha256) for file in offer.files]
        for file, data in zip(offer.files, self._public.get_all(paths), strict=True):
            content = self._checked(file.sha256, data)
            if content is None:
                return None
            found[file.path] = SharedFile(content, file.executable)
        return found

    def archive(self, offer: Offer) -> bytes | None:
        """All files of an offer as a ``.tar.gz``."""
        key = f"archive:{offer.content}"
        found = self._kept.get(key)
        if found is None:
            files = self.files(offer)
            if files is None:
                return None
            found = archive(files)
            self._kept.put(key, found, len(found))
        return found

    def archive_digest(self, offer: Offer) -> tuple[str, int] | None:
        """SHA-256 and size of the archive."""
        found = self._digests.get(offer.content)
        if found is None:
            data = self._kept.get(f"archive:{offer.content}")
            if data is None:
                files = self.files(offer)
                if files is None:
                    return None
                data = archive(files)
            found = (sha256(data).hexdigest(), len(data))
            self._digests.put(offer.content, found)
        return found

    @staticmethod
    def _checked(wanted: str, data: bytes | None) -> bytes | None:
        if data is not None and sha256(data).hexdigest() == wanted:
            return data
        _log.warning("the blob %s is %s: run rye-registry verify", wanted, "missing" if data is None else "damaged")
        return None


def row(offer: Offer, folders: Folders) -> WellKnownSkill | None:
    """An offer as the index has it; None where its files are not all there."""
    if len(offer.files) == 1:
        digest = offer.files[0].sha256
    else:
        found = folders.archive_digest(offer)
        if found is None:
            return None
        digest = found[0]
    paths = tuple(file.path for file in offer.files)
    return WellKnownSkill(offer.name, offer.version, offer.description, paths, digest)


def index(offers: Sequence[Offer], folders: Folders, namespace: str | None) -> tuple[bytes, bool]:
    """The index of these offers, of one namespace's or of all, and whether all of them are in it."""
    rows = [made for offer in sorted(offers, key=lambda one: one.name) if (made := row(offer, folders)) is not None]
    return well_known_index(rows, f"/{namespace}" if namespace is not None else ""), len(rows) == len(offers)


def in_all(offers: Iterable[Offer], may_read: Callable[[str], bool]) -> tuple[Offer, ...]:
    """What a reader finds in the index of all namespaces: of those that they may read, names that one of them alone has."""
    visible = [offer for offer in offers if may_read(offer.namespace)]
    counts = Counter(offer.name for offer in visible)
    return tuple(offer for offer in visible if counts[offer.name] == 1)
