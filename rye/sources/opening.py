"""Opening a source in one state: a commit of a repository, or a folder as it is now (shell).

The commit is the one in rye.lock, as long as rye.toml still asks for the same and no update was requested. Otherwise
it is the commit that the rev means now, from the server's list. A commit in the cache needs no network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import CONTENT, SOURCES
from rye.project.declared_sources import HEAD, GitSource, PathSource, Source, is_commit
from rye.project.lock import LockedSource
from rye.sources import folder
from rye.sources.commit import read_blobs, read_snapshot
from rye.sources.git_cache import GitCache, Objects
from rye.sources.inventory.found import FoundItem, Inventory
from rye.sources.inventory.layouts import MANIFEST, find_items, manifests, naming_files
from rye.sources.item import Judged, Keys, SourceFile, commit_build, folder_build, judge
from rye.sources.listing import Listing
from rye.sources.refs import Target, newer, require_unmoved, target, vanished
from rye.sources.source_error import SourceError


class Files(Protocol):
    """Reads files by path, relative to the source's own folder."""

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        """Return sizes in bytes; missing files are left out."""

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes, checked. Raises SourceError."""


class OpenSource:
    """A source in one state: its items and their bytes."""

    def __init__(self, source: Source, state: LockedSource, files: Listing, reader: Files, keys: Keys) -> None:
        """``state``: with an empty place."""
        self._reader = reader
        self.source = source
        self.state = state
        self._files = files
        self._keys = keys
        self._judged: dict[tuple[str, str], Judged | str] = {}
        texts = self._small(manifests(files))
        texts |= self._small(naming_files(files, _own_name(source), texts))
        self.manifest = texts.get(MANIFEST)
        """The repository's own rye.toml, as bytes."""
        self.inventory: Inventory = find_items(files, _own_name(source), texts, source.path, self._problems)
        self.items = {(item.kind, item.local_id): item for item in self.inventory.items}

    def _small(self, wanted: Sequence[str]) -> dict[str, bytes]:
        known = self._reader.sizes(wanted)
        return self._reader.read([path for path in wanted if known.get(path, 0) <= SOURCES.marketplace_bytes])

    def place_of(self, found: FoundItem) -> LockedSource:
        """Return the item's source as the lock records it."""
        base = self.source.path if isinstance(self.source, GitSource) else ""
        return LockedSource(
            place=f"{base}/{found.place}".removeprefix("/"),
            git=self.state.git,
            ref=self.state.ref,
            commit=self.state.commit,
            tree=self.state.tree,
            path=self.state.path,
            editable=self.state.editable,
        )

    def judge(self, wanted: Iterable[FoundItem]) -> dict[tuple[str, str], Judged | str]:
        """Return each item, or why it cannot be used. Reads all files in two batches."""
        keys = [(found.kind, found.local_id) for found in wanted]
        open_ones = [self.items[key] for key in dict.fromkeys(keys) if key not in self._judged]
        if not open_ones:  # asking git for nothing would start it
            return {key: self._judged[key] for key in keys}
        fitting = []
        sizes = self._reader.sizes([path for found in open_ones if found.problem is None for path in _paths(found)])
        for found in open_ones:
            problem = found.problem or _too_large(found, sizes)
            if problem is None:
                fitting.append(found)
            else:
                self._judged[(found.kind, found.local_id)] = problem
        data = self._reader.read([path for found in fitting for path in _paths(found)])
        for found in fitting:
            attached = [
                SourceFile(path, data[found.path_of(path)], self._files[found.path_of(path)].what == "executable")
                for path in found.attached
            ]
            self._judged[(found.kind, found.local_id)] = self._judge(found, data[found.place], attached)
        return {key: self._judged[key] for key in keys}

    def _problems(self, wanted: Sequence[FoundItem]) -> dict[str, str]:
        """Return, by their places, why some of these items cannot be used, as :meth:`judge` would. It is the files' sizes and the
        items' own files that say so: nothing else is read."""
        sizes = self._reader.sizes([path for found in wanted for path in _paths(found)])
        problems = {found.place: why for found in wanted if (why := _too_large(found, sizes)) is not None}
        fitting = [found for found in wanted if found.place not in problems]
        data = self._reader.read([found.place for found in fitting]) if fitting else {}
        for found in fitting:
            unread = [SourceFile(path, b"", executable=False) for path in found.attached]
            judged = self._judge(found, data[found.place], unread)
            if isinstance(judged, str):
                problems[found.place] = judged
        return problems

    def _judge(self, found: FoundItem, data: bytes, attached: Sequence[SourceFile]) -> Judged | str:
        return judge(
            self.source.name,
            found,
            data,
            attached,
            self._keys,
            self._build(data, attached),
            in_place=self.state.editable,
        )

    def _build(self, data: bytes, attached: Sequence[SourceFile]) -> str:
        if self.state.commit is not None:
            return commit_build(self.state.commit)
        files = {"": data, **{file.path: file.data for file in attached}}
        return folder_build(files, frozenset(file.path for file in attached if file.executable))


class _CommitFiles:
    """Reads files of a commit by their paths in a listing."""

    def __init__(self, objects: Objects, files: Listing) -> None:
        self._objects = objects
        self._files = files

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        known = self._objects.sizes(self._files[path].blob for path in paths)
        return {path: known[self._files[path].blob] for path in paths if self._files[path].blob in known}

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        blobs = read_blobs(self._objects, (self._files[path].blob for path in paths), CONTENT.attached_bytes)
        return {path: blobs[self._files[path].blob] for path in paths}


class _FolderFiles:
    """Reads files below a folder by their paths in a listing."""

    def __init__(self, root: Path, files: Listing) -> None:
        self._root = root
        self._files = files

    def sizes(self, paths: Sequence[str]) -> dict[str, int]:
        known = folder.sizes(self._root, dict.fromkeys(map(self._own, paths)))
        return {path: known[self._own(path)] for path in paths if self._own(path) in known}

    def read(self, paths: Sequence[str]) -> dict[str, bytes]:
        data = folder.read_files(self._root, dict.fromkeys(map(self._own, paths)), CONTENT.attached_bytes)
        return {path: data[self._own(path)] for path in paths}

    def _own(self, path: str) -> str:
        """Return the path of the file that a path stands for."""
        return self._files[path].target or path


class Opener:
    """Opens the sources of one project. ``keys``: the keys whose in-file signatures count."""

    def __init__(self, project: Path, cache: GitCache, keys: Keys) -> None:
        self._project = project
        self._cache = cache
        self._keys = keys

    def open(
        self, source: Source, locked: LockedSource | None, *, moves: bool = False, exact: bool = False
    ) -> OpenSource:
        """Open the source as locked, or, if ``locked`` is None or for another address, or with ``moves``, in its current state.

        ``exact``: as locked even if rye.toml asks for another rev by now. Raises SourceError.
        """
        if isinstance(source, PathSource):
            root = folder.source_folder(self._project, source)
            state = LockedSource(place="", path=source.path, editable=source.editable)
            keys = (
                Keys() if source.editable else self._keys
            )  # a signature proves nothing about files that can change at any time
            files = folder.read_folder(root, links=not source.editable)
            return OpenSource(source, state, files, _FolderFiles(root, files), keys)
        same = _locked_for(source, locked, moves=moves, exact=exact)
        before = locked if locked is not None and locked.git == source.url else None
        if same is not None:
            found = Target(same.ref or "", same.commit or "")
            self._fetch_locked(source, same)
        else:
            found = self.now(source)
            if before is not None:
                require_unmoved(source.name, before, found)
            if not self._cache.has(source.url, found.commit):
                self._cache.fetch(source.url, found.commit, found.ref if not is_commit(found.ref) else None)
        objects = self._cache.objects(source.url, found.commit)
        with objects.together():
            snapshot = read_snapshot(objects, found.commit, source.path)
            state = LockedSource(place="", git=source.url, ref=found.ref, commit=found.commit, tree=snapshot.tree)
            return OpenSource(source, state, snapshot.files, _CommitFiles(objects, snapshot.files), self._keys)

    def needs_server(
        self, source: Source, locked: LockedSource | None, *, moves: bool = False, exact: bool = False
    ) -> bool:
        """Whether :meth:`open` would have to contact a server."""
        if isinstance(source, PathSource):
            return False
        same = _locked_for(source, locked, moves=moves, exact=exact)
        commit = same.commit or "" if same is not None else source.rev
        return commit is None or not is_commit(commit) or not self._cache.has(source.url, commit)

    def ask_together(self, sources: Iterable[Source]) -> None:
        """Ask the servers of these sources at once for their branches and tags (:meth:`GitCache.ask_together`)."""
        self._cache.ask_together(source.url for source in sources if isinstance(source, GitSource))

    def refs(self, source: GitSource) -> dict[str, str]:
        """Return the server's branches and tags, by full name. Raises SourceError."""
        return self._cache.refs(source.url)

    def commits(self, source: GitSource, digits: str) -> list[str]:
        """The commits that begin with these digits: the whole name of one, or those in the cache."""
        return [digits] if is_commit(digits) else self._cache.commits(source.url, digits)

    def now(self, source: GitSource) -> Target:
        """Return the commit that the source's rev means now. A full commit hash needs no request."""
        if source.rev is not None and is_commit(source.rev):
            return Target(source.rev, source.rev)
        return target(source, self._cache.refs(source.url))

    def newest(self, source: GitSource) -> Target:
        """Return the state of the tag or commit that the source could be moved to, or else of its rev. Raises SourceError."""
        now = self.now(source)
        state = LockedSource(place="", git=source.url, ref=now.ref, commit=now.commit)
        name = self.newer(source, state)
        if name is None:
            return now
        return self.now(replace(source, rev=name if is_commit(name) else f"refs/tags/{name}"))

    def newer(self, source: Source, locked: LockedSource) -> str | None:
        """Return the tag or commit that a source which names one could be moved to. Raises SourceError."""
        return None if isinstance(source, PathSource) else newer(source, locked, self._cache.refs(source.url))

    def _fetch_locked(self, source: GitSource, locked: LockedSource) -> None:
        """Fetch the locked commit, wherever its ref is now. Raises SourceError ``commit-vanished``."""
        commit, ref = locked.commit or "", locked.ref or ""
        if self._cache.has(source.url, commit):
            return
        try:
            self._cache.fetch(source.url, commit, None if is_commit(ref) else ref)
        except SourceError as error:
            if error.code != "commit-missing":
                raise
            try:
                now: Target | None = self.now(source)
            except RyeError:
                now = None
            raise vanished(locked, now) from error


def _locked_for(source: GitSource, locked: LockedSource | None, *, moves: bool, exact: bool) -> LockedSource | None:
    """The locked state in which a source is opened; None if it is opened in its current one."""
    same = locked is not None and locked.git == source.url and not moves and (exact or _asks_for(source, locked))
    return locked if same else None


def _asks_for(source: GitSource, locked: LockedSource) -> bool:
    """Whether rye.toml still asks for the ref that was locked."""
    rev = source.rev or HEAD
    return locked.ref in (rev, f"refs/tags/{rev}", f"refs/heads/{rev}")


def _own_name(source: Source) -> str:
    """Return the name of the source's own folder, for a source that is itself a skill."""
    path = source.path if not isinstance(source, GitSource) or source.path else source.url
    return path.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")


def _paths(found: FoundItem) -> list[str]:
    return [found.place, *map(found.path_of, found.attached)]


def _too_large(found: FoundItem, sizes: Mapping[str, int]) -> str | None:
    """Return why an item cannot be used, judging by file sizes alone, or None."""
    if found.place not in sizes or any(found.path_of(path) not in sizes for path in found.attached):
        return "one of its files is not in the repository"
    if sizes[found.place] > CONTENT.item_bytes:
        return f"its file has more than {CONTENT.item_bytes:,} bytes"
    if sum(sizes[found.path_of(path)] for path in found.attached) > CONTENT.attached_bytes:
        return f"its attached files have more than {CONTENT.attached_bytes:,} bytes"
    return None
