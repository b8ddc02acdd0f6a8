"""The sources of one run, each opened once, on first use, in the state that the run needs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.reading import Metadata
from rye.items.runs import attached_runs
from rye.project.declared_sources import GitSource, Source
from rye.project.lock import LockedItem, LockedSource
from rye.project.manifest import parse_manifest
from rye.registry.protocol.derivation import derived_lines, note_description
from rye.registry.protocol.statements import AttachedFile, FileEntry, Release
from rye.sources.inventory.found import FoundItem
from rye.sources.item import Judged
from rye.sources.opening import Opener, OpenSource
from rye.sources.record import SourceHistory, SourceRecord
from rye.sources.refs import Target
from rye.sources.source_error import SilentSource, SourceError
from rye.text.spelling import close_words
from rye.text.tables import ManifestError

KindsOf = Callable[[list[str]], Mapping[str, tuple[str, ...]]]
"""Returns the kinds that the registries and the other sources have for each qualified id."""
_LISTED = 8
_State = tuple[str, bool, bool, str | None]
"""A source's name, whether it moves, whether its locked state is exact, and the locked commit."""
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)


class SourceBook:
    """``[sources]`` of a project. ``names`` are the namespaces that it serves."""

    def __init__(self, sources: Mapping[str, Source], opener: Opener, keys: str | None) -> None:
        """``keys``: identifies the keys that in-file signatures are checked against; None: nothing is remembered of them."""
        self._sources = sources
        self._opener = opener
        self.keys = keys
        self._locked: dict[str, LockedSource] = {}
        self._moving: frozenset[str] = frozenset()
        self._exact = False
        self._open: dict[_State, OpenSource | SourceError] = {}
        self._silent: dict[str, SilentSource] = {}
        self._records: dict[tuple[_State, str, str], SourceRecord] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of all sources."""
        return frozenset(self._sources)

    def answers_for(self, namespace: str) -> bool:
        """Whether the namespace is one of the sources."""
        return namespace in self._sources

    def use_locked(
        self,
        rows: Iterable[LockedItem],
        moving: Callable[[Identity], bool] = lambda identity: False,
        *,
        exact: bool = False,
    ) -> None:
        """Use the states that these rows lock. A source with a row that may move is opened in its current state. ``exact``: the
        others stay in theirs even if rye.toml asks for another rev by now."""
        rows = list(rows)
        self._locked = {row.identity.namespace: row.source for row in rows if row.source is not None}
        self._moving = frozenset(row.identity.namespace for row in rows if row.source and moving(row.identity))
        self._exact = exact

    def commits(self, name: str, digits: str) -> list[str]:
        """The commits of a source that begin with these digits, as far as they are in the cache; none of a folder."""
        source = self._sources[name]
        return self._opener.commits(source, digits) if isinstance(source, GitSource) else []

    def use_commit(self, name: str, at: Target) -> None:
        """Use a repository at this commit, whatever rye.toml asks for and rye.lock says."""
        source = self._sources[name]
        assert isinstance(source, GitSource)
        self._locked = self._locked | {name: LockedSource(place="", git=source.url, ref=at.ref, commit=at.commit)}
        self._moving -= {name}
        self._exact = True

    def _state(self, name: str) -> _State:
        locked = self._locked.get(name)
        return name, name in self._moving, self._exact, locked.commit if locked is not None else None

    def open(self, name: str) -> OpenSource:
        """Open a source, once per state: one that could not be opened is not tried again. Raises SourceError."""
        key = self._state(name)
        if key not in self._open:
            source, locked = self._sources[name], self._locked.get(name)
            try:
                self._open[key] = self._opener.open(source, locked, moves=key[1], exact=key[2])
            except SourceError as error:
                self._open[key] = error
                if isinstance(error, SilentSource):
                    self._silent[name] = error
        opened = self._open[key]
        if isinstance(opened, SourceError):
            raise opened.with_traceback(None)  # each raise adds to it, and keeps what its frames hold
        return opened

    def ask_together(self, names: Iterable[str], *, newer: bool = False) -> None:
        """Ask the servers that these sources need at once, so that those which are silent cost one time limit together.
        ``newer``: for :meth:`newer`, which needs each of them."""
        asked: list[Source] = []
        for name in names:
            source = self._sources.get(name)
            key = self._state(name)
            if source is None or (key in self._open and not newer):
                continue
            if newer or self._opener.needs_server(source, self._locked.get(name), moves=key[1], exact=key[2]):
                asked.append(source)
        self._opener.ask_together(asked)

    @property
    def silent(self) -> dict[str, SilentSource]:
        """Why repositories did not answer so far, by origin."""
        return {self._sources[name].origin: why for name, why in self._silent.items()}

    def silence(self, name: str) -> SilentSource | None:
        """Why a source cannot be opened in the state that this run needs, because its repository does not answer; None if it can.
        Raises SourceError for anything else."""
        try:
            self.open(name)
        except SilentSource as error:
            return error
        return None

    def newest(self, name: str) -> Target | None:
        """The newest state of a source's repository: that of the tag or commit that it could be moved to, or else of the rev in
        rye.toml. None for a folder. Raises SourceError."""
        source = self._sources[name]
        return self._opener.newest(source) if isinstance(source, GitSource) else None

    def newer(self, name: str, locked: LockedSource) -> str | None:
        """The tag or commit that a source which names one could be moved to; None if its repository does not answer, which
        :attr:`silent` says then. Raises SourceError."""
        if name in self._silent:
            return None
        try:
            return self._opener.newer(self._sources[name], locked)
        except SilentSource as error:
            self._silent[name] = error
            return None

    def kinds_of(self, identifier: str) -> tuple[str, ...]:
        """The kinds that a qualified id exists as, whether usable or not."""
        name, _, local_id = identifier.partition("/")
        return tuple(kind for kind, found in self.open(name).items if found == local_id)

    def ids(self, name: str) -> list[str]:
        """The qualified ids of a source's items."""
        return sorted({f"{name}/{item.local_id}" for item in self.open(name).inventory.items})

    def unknown_item(self, identifier: str) -> RyeError:
        """The error for an id that a source does not have."""
        name = identifier.partition("/")[0]
        ids = self.ids(name)
        near = close_words(identifier, ids, 3)
        more = ", …" if len(ids) > _LISTED else ""
        hint = (
            f"Did you mean {', '.join(near)}?" if near else f"It has: {', '.join(ids[:_LISTED]) or 'no items'}{more}."
        )
        return RyeError("no-such-item", f"The source {self._sources[name].origin} has no {identifier!r}.", hint)

    def histories(self, identities: Iterable[Identity], kinds_of: KindsOf) -> dict[Identity, SourceHistory]:
        """Return the items; those that their source does not have are left out. Raises SourceError ``source-item-unusable``."""
        by_identity: dict[Identity, SourceHistory] = {}
        groups: dict[str, list[Identity]] = {}
        for identity in identities:
            groups.setdefault(identity.namespace, []).append(identity)
        self.ask_together(groups)
        for name, group in groups.items():
            opened = self.open(name)
            there = {i: opened.items[(i.kind, i.local_id)] for i in group if (i.kind, i.local_id) in opened.items}
            opened.judge(there.values())
            for identity, item in there.items():
                by_identity[identity] = SourceHistory(identity, (self._record(name, opened, item, kinds_of),))
        return by_identity

    def has(self, origin: str, namespace: str) -> bool:
        """Whether rye.toml has the source of this name at this origin."""
        return namespace in self._sources and self._sources[namespace].origin == origin

    def _record(self, name: str, opened: OpenSource, found: FoundItem, kinds_of: KindsOf) -> SourceRecord:
        key = (self._state(name), found.kind, found.local_id)
        if key not in self._records:
            [judged] = opened.judge([found]).values()
            if isinstance(judged, str):
                raise unusable(opened, found, judged)
            self._records[key] = self._made(opened, found, judged, kinds_of)
        return self._records[key]

    def _made(self, opened: OpenSource, found: FoundItem, judged: Judged, kinds_of: KindsOf) -> SourceRecord:
        metadata = _with_own_names(judged.metadata, opened)

        def resolve(candidates: tuple[Identity, ...]) -> Identity | None:
            for one in candidates:
                if one.namespace == opened.source.name:
                    if (one.kind, one.local_id) in opened.items:
                        return one
                elif one.kind in kinds_of([one.id]).get(one.id, ()):
                    return one
            return None

        lines = derived_lines(judged.identity, metadata, resolve)
        release = Release(
            origin=opened.source.origin,
            identity=judged.identity,
            version=judged.version,
            keyset=0,
            time=_NO_TIME,
            description=note_description(metadata),
            file=FileEntry(found.suffix, len(judged.data), hashlib.sha256(judged.data).hexdigest()),
            attached=tuple(
                sorted(
                    (
                        AttachedFile(one.path, len(one.data), hashlib.sha256(one.data).hexdigest(), one.executable)
                        for one in judged.attached
                    ),
                    key=lambda one: one.write().encode(),
                )
            ),
            depends_on=lines.depends_on,
            requires=lines.requires,
            conflicts_with=lines.conflicts_with,
            capabilities=lines.capabilities,
            hooks=lines.hooks,
        )
        files = {one.path: one.data for one in judged.attached}
        attached = ((row.path, row.executable, row.sha256, files[row.path]) for row in release.attached)
        return SourceRecord(
            release=release,
            source=opened.place_of(found),
            metadata=metadata,
            data=judged.data,
            attached=files,
            runs=tuple(sorted({*metadata.runs, *attached_runs(attached, judged.data)})),
            signer=judged.signer,
        )


def unusable(opened: OpenSource, found: FoundItem, why: str) -> SourceError:
    """The error for an item that cannot be used."""
    return SourceError(
        "source-item-unusable",
        f"{found.kind}:{opened.source.name}/{found.local_id} cannot be used: {why}.",
        f"It is {opened.place_of(found).place} in {opened.source.origin}. Fix it there, or choose another item.",
    )


def _with_own_names(metadata: Metadata, opened: OpenSource) -> Metadata:
    """Rewrite references for this project: the source's own namespace becomes the source's name, and a reference without a range
    gets the range from the source's rye.toml."""
    if opened.manifest is None or not metadata.dependencies:
        return metadata
    try:
        manifest = parse_manifest(opened.manifest.decode("utf-8"), "the source's rye.toml")
    except (ManifestError, UnicodeDecodeError):
        return metadata
    ranges = {line.id: line.range for line in manifest.dependencies}
    locals_ = {local_id for _, local_id in opened.items}
    changed = []
    for one in metadata.dependencies:
        kind, colon, identifier = one.reference.rpartition(":")
        namespace, _, local_id = identifier.partition("/")
        if manifest.namespace is not None and namespace == manifest.namespace and local_id in locals_:
            one = replace(one, reference=f"{kind}{colon}{opened.source.name}/{local_id}")
        elif one.range is None and identifier in ranges:
            one = replace(one, range=ranges[identifier])
        changed.append(one)
    return replace(metadata, dependencies=tuple(changed))
