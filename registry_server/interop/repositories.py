"""One git repository per namespace: its skills as a plugin marketplace for Claude Code, Codex and Copilot, in a single
commit.

The commit depends only on what is offered: the same releases give the same commit on every server, and its time is that
of the newest release. It has no parents, so no history contains anything withdrawn. An earlier commit can still be
fetched while everything in it is offered, so a clone that began before a new release does not fail.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from msgspec import Struct

from registry_server.interop.catalogue import Catalogue
from registry_server.interop.git_objects import RepositorySnapshot, snapshot
from registry_server.interop.offers import Offer
from registry_server.interop.skills import Folders
from registry_server.pages.lru_cache import LruCache
from registry_server.sequencer.ledger import Ledger
from registry_server.settings import Settings
from rye.errors import RyeError
from rye.registry.marketplaces import SharedSkill, claude_marketplace, codex_marketplace, shared_name

_GENERATIONS = 4
"""How many commits of a namespace's repository are cached, newest first."""


class Repository(Struct, frozen=True):
    """A repository and the offers that it was made from."""

    offers: tuple[Offer, ...]
    found: RepositorySnapshot


class Repositories:
    """The repositories of all namespaces, built on demand and cached. Thread-safe."""

    def __init__(self, catalogue: Catalogue, folders: Folders, settings: Settings) -> None:
        self._catalogue = catalogue
        self._folders = folders
        self._most = settings.repository_bytes
        self._room = settings.reader_bytes
        self._kept: LruCache[str, tuple[Repository, ...]] = LruCache(settings.reader_bytes)
        self._building = threading.Lock()

    def newest(self, ledger: Ledger, shown: int, namespace: str) -> RepositorySnapshot | None:
        """Return the current repository of a namespace; None if it never had a skill. Raises RyeError
        ``repository-too-large``."""
        offers = self._catalogue.listing(ledger, shown, namespace).offers
        if not offers and not self._catalogue.has_skills(ledger, namespace):
            return None
        repositories = self._kept.get(namespace) or ()
        if repositories and repositories[0].offers == offers:
            return repositories[0].found
        with self._building:
            repositories = self._kept.get(namespace) or ()
            if repositories and repositories[0].offers == offers:
                return repositories[0].found
            repository, is_complete = self._make(ledger.origin, namespace, offers)
            if is_complete:
                kept = self._fitting((repository, *repositories)[:_GENERATIONS])
                self._kept.put(namespace, kept, sum(len(each.found.pack) for each in kept) + 1)
        return repository.found

    def commit(self, ledger: Ledger, shown: int, namespace: str, name: str) -> RepositorySnapshot | None:
        """Return the commit with this hash; None if it does not exist or something in it is no longer offered."""
        newest = self.newest(ledger, shown, namespace)
        if newest is not None and newest.commit == name:
            return newest
        for repository in self._kept.get(namespace) or ():
            if repository.found.commit == name and self._catalogue.are_offered(ledger, shown, repository.offers):
                return repository.found
        return None

    def _fitting(self, repositories: tuple[Repository, ...]) -> tuple[Repository, ...]:
        """Return the newest and as many older ones as fit in half the cache."""
        while len(repositories) > 1 and sum(len(each.found.pack) for each in repositories) > self._room // 2:
            repositories = repositories[:-1]
        return repositories

    def _make(self, origin: str, namespace: str, offers: Sequence[Offer]) -> tuple[Repository, bool]:
        size = sum(offer.size for offer in offers)
        if size > self._most:
            raise RyeError(
                "repository-too-large",
                f"The skills of {namespace} have {size:,} bytes; the limit for a repository is {self._most:,}.",
                "Install them with `rye add`. The operator can raise `repository_bytes`.",
            )
        skills, used = [], []
        for offer in offers:
            files = self._folders.files(offer)
            if files is not None:
                skills.append(SharedSkill(namespace, offer.name, offer.version, offer.description, files))
                used.append(offer)
        name = shared_name(namespace, origin)
        export = claude_marketplace(name, skills) | codex_marketplace(name, skills)
        seconds = max((int(offer.time.timestamp()) for offer in used), default=0)
        message = f"The skills of {namespace}, as {origin} offers them"
        return Repository(tuple(used), snapshot(export, origin, seconds, message)), len(used) == len(offers)
