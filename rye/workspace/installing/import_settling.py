"""Resolving each entry of an import to its commit, folder and items, and comparing every digest (shell)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.importing.digests import folder_digest
from rye.importing.foreign import Digest, FolderPlace, ForeignEntry, GitPlace, LeftOut, shown
from rye.project.declared_sources import GitSource, PathSource, Source, is_commit
from rye.project.lock import LockedSource
from rye.project.manifest import Manifest
from rye.sources.git_cache import GitCache
from rye.sources.inventory.found import FoundItem
from rye.sources.inventory.signs import AGENTS
from rye.sources.naming import free_name
from rye.sources.opening import Opener, OpenSource
from rye.sources.refs import target
from rye.sources.source_error import SilentSource, SourceError
from rye.sources.whole_folder import WholeFolder, commit_folder, disk_folder

_LISTED = 10
"""Where apm's packages keep their skills."""


class Settled(Struct, frozen=True, kw_only=True):
    """One item that will be imported."""

    source: Source
    state: LockedSource
    """With the item's place."""
    kind: str
    local_id: str
    suffix: str
    group: str
    entry: ForeignEntry

    @property
    def key(self) -> str:
        """Its key in rye.toml."""
        return f"{self.kind}:{self.source.name}/{self.local_id}"


class _At(Struct, frozen=True):
    """A repository in one state."""

    url: str
    rev: str | None
    ref: str
    commit: str


class Settling:
    """One run, with the named sources, the entries left out, and notes."""

    def __init__(
        self,
        project: Path,
        manifest: Manifest,
        locked: Sequence[LockedSource],
        taken: Iterable[str],
        cache: GitCache,
        opener: Opener,
    ) -> None:
        """``locked``: the states of rye.toml's sources in rye.lock's rows. ``taken``: names that new sources must not have,
        besides those in the manifest."""
        self._project = project
        self._cache = cache
        self._opener = opener
        self._known = dict(manifest.sources)
        self._locked = {one.origin: one for one in locked}
        asked = {line.id.partition("/")[0] for line in manifest.dependencies}
        self._taken = {*manifest.sources, *manifest.registries, *asked, manifest.namespace or "", *taken}
        self._named: dict[tuple[object, str], Source] = {}
        self._open: dict[str, OpenSource] = {}
        self._wrong: list[str] = []
        self.new: list[Source] = []
        self.left_out: list[LeftOut] = []
        self.notes: list[str] = []

    def settle(self, entries: Iterable[ForeignEntry]) -> list[Settled]:
        """The items of each entry. Raises SourceError, and RyeError ``digest-does-not-hold`` with every wrong digest."""
        settled: dict[str, Settled] = {}
        for entry in entries:
            try:
                rows = self._git(entry) if isinstance(entry.place, GitPlace) else self._folder(entry)
            except _Unusable as error:
                self.left_out.append(LeftOut(entry.file, shown(entry.name), str(error)))
                continue
            except SilentSource as error:
                hint = f"`{_leaving_out(entry.name)}` imports the rest. {error.hint or ''}".rstrip()
                message = f"{entry.file}: {shown(entry.name)}: {error.message}"
                raise SilentSource(error.code, message, hint, details=error.details) from error
            if rows and entry.note:
                self.notes.append(f"{entry.file}: {shown(entry.name)}: {entry.note}")
            for row in rows:
                present = settled.get(row.key)
                if present is None or (present.group, row.group) == ("dev", "main"):
                    settled[row.key] = row
        if self._wrong:
            raise _does_not_hold(self._wrong)
        used = {row.source.name for row in settled.values()}
        self.new = [source for source in self.new if source.name in used]
        return list(settled.values())

    # -- repositories --------------------------------------------------------------------------------------------------------

    def _git(self, entry: ForeignEntry) -> list[Settled]:
        assert isinstance(entry.place, GitPlace)
        at = self._at(entry, entry.place)
        base = self._opened(self._source(at, ""), at)
        folder = entry.place.folder
        if entry.is_one and not folder:
            folder = _folder_of_skill(base, entry)
        self._compare(entry, lambda files: self._commit_folder(at, folder, files), f"{at.url} at {at.commit}")
        if entry.is_one or _has_skill(base, folder):
            return [self._one(entry, at, base, folder)]
        rows = [*self._many(entry, base, folder), *self._agents(entry, at, base, folder, folder)]
        return _some(rows, told=_has_any(base, folder))

    def _agents(
        self, entry: ForeignEntry, at: _At | None, opened: OpenSource, inner: str, folder: str
    ) -> list[Settled]:
        """A plugin's agents, if its folder does not say that it is a plugin. ``inner``: the plugin's folder in the source;
        ``folder``: in the repository or the project."""
        place = f"{inner}/{AGENTS}/".removeprefix("/")
        if not entry.is_plugin or any(one.place.startswith(place) for one in opened.inventory.items):
            return []
        try:
            source = self._source(at, f"{folder}/{AGENTS}".removeprefix("/"))
            return self._many(entry, self._opened(source, at), "")
        except SourceError as error:
            if error.code != "no-such-folder":
                raise
        return []

    def _at(self, entry: ForeignEntry, place: GitPlace) -> _At:
        """The state to use: the foreign lock's commit, or else the ref's current commit."""
        if place.ref is not None and is_commit(place.ref):
            return self._fetched(_At(place.url, place.ref, place.ref, place.ref))
        wanted = GitSource("x", place.url, place.ref)
        if place.commit is None:
            now = target(wanted, self._cache.refs(place.url))
            return self._fetched(_At(place.url, place.ref, now.ref, now.commit))
        try:
            now = target(wanted, self._cache.refs(place.url))
        except SourceError as error:
            if error.code not in ("no-such-rev", "ambiguous-rev", "source-offline"):
                raise
            self.notes.append(
                f"{entry.file}: {shown(entry.name)}: {error.message} The locked commit is used without it."
            )
            return self._fetched(_At(place.url, place.commit, place.commit, place.commit))
        if now.commit != place.commit and now.ref.startswith("refs/tags/"):
            self.notes.append(
                f"{entry.file}: {shown(entry.name)}: the tag {place.ref} of {place.url} is now {now.commit}; the lock's "
                f"{place.commit} is used."
            )
        return self._fetched(_At(place.url, place.ref, now.ref, place.commit))

    def _fetched(self, at: _At) -> _At:
        if not self._cache.has(at.url, at.commit):
            self._cache.fetch(at.url, at.commit, None if is_commit(at.ref) else at.ref)
        return at

    def _commit_folder(self, at: _At, folder: str, with_files: bool) -> WholeFolder:
        objects = self._cache.objects(at.url, at.commit)
        with objects.together():
            return commit_folder(objects, at.commit, folder, with_files=with_files)

    def _one(self, entry: ForeignEntry, at: _At, base: OpenSource, folder: str) -> Settled:
        """The skill in a folder, from the whole repository if found there, or else from a separate source."""
        place = f"{folder}/SKILL.md".removeprefix("/")
        found = next((one for one in base.inventory.items if one.place == place), None)
        why = _problem(base, found) if found is not None else "it is not in a folder that Rye searches"
        if found is not None and why is None:
            return self._settled(entry, base, found)
        if folder:
            alone = self._opened(self._source(at, folder), at)
            found = next((one for one in alone.inventory.items if one.place == "SKILL.md"), None)
            why = _problem(alone, found) if found is not None else "its folder has no SKILL.md"
            if found is not None and why is None:
                return self._settled(entry, alone, found)
        raise _Unusable(why or "its folder has no SKILL.md")

    # -- folders -------------------------------------------------------------------------------------------------------------

    def _folder(self, entry: ForeignEntry) -> list[Settled]:
        assert isinstance(entry.place, FolderPlace)
        place = entry.place.folder
        try:
            opened = self._opened(self._source(None, place), None)
        except SourceError as error:
            if error.code != "no-such-folder":
                raise
            raise _Unusable(error.message.rstrip(".")) from None
        self._compare(entry, lambda files: disk_folder(self._project / place), f"the folder {place}")
        rows = [*self._many(entry, opened, ""), *self._agents(entry, None, opened, "", place)]
        return _some(rows, told=_has_any(opened, ""))

    # -- both ----------------------------------------------------------------------------------------------------------------

    def _many(self, entry: ForeignEntry, opened: OpenSource, folder: str) -> list[Settled]:
        """The items below a folder: the wanted ones, or all usable ones."""
        there = [one for one in opened.inventory.items if not folder or one.place.startswith(f"{folder}/")]
        only = set(entry.only) if not entry.is_one else set()
        named = {one.local_id for one in there}
        if isinstance(
            entry.place, FolderPlace
        ):  # its folders and files are listed, whatever the items in them are called
            called: dict[str, set[str]] = {}
            for one in there:
                called.setdefault(_listed_as(one), set()).add(one.local_id)
            only = set().union(*({name} if name in named else called.get(name, {name}) for name in only))
        wanted = [one for one in there if not only or one.local_id in only]
        for name in sorted(only - named):
            self.left_out.append(LeftOut(entry.file, f"{shown(entry.name)}: {shown(name)}", "this item does not exist"))
        rows = []
        for one in wanted:
            why = _problem(opened, one)
            if why is None:
                rows.append(self._settled(entry, opened, one))
            else:
                self.left_out.append(LeftOut(entry.file, f"{shown(entry.name)}: {one.kind}:{shown(one.local_id)}", why))
        return rows

    def _settled(self, entry: ForeignEntry, opened: OpenSource, found: FoundItem) -> Settled:
        if opened.source not in self.new and opened.source.name not in self._known:
            self.new.append(opened.source)
        place = opened.place_of(found)
        return Settled(
            source=opened.source,
            state=place,
            kind=found.kind,
            local_id=found.local_id,
            suffix=found.suffix,
            group=entry.group,
            entry=entry,
        )

    def _source(self, at: _At | None, path: str) -> Source:
        """The source for a repository in one state and a folder of it, or for a folder: one of rye.toml, or a new one."""
        key = (at, path)
        if key not in self._named:
            same = next((one for one in self._known.values() if self._is_same(one, at, path)), None)
            if same is None:
                unnamed = PathSource("", path) if at is None else GitSource("", at.url, at.rev, path)
                same = replace(unnamed, name=free_name(unnamed, self._taken))
                self._taken.add(same.name)
            self._named[key] = same
        return self._named[key]

    def _is_same(self, source: Source, at: _At | None, path: str) -> bool:
        if isinstance(source, PathSource) or at is None:
            return isinstance(source, PathSource) and at is None and source.path == path
        locked = self._locked.get(source.origin)
        return (source.url, source.rev, source.path) == (at.url, at.rev, path) and (
            locked is None or locked.commit == at.commit
        )

    def _opened(self, source: Source, at: _At | None) -> OpenSource:
        if source.name not in self._open:
            locked = LockedSource(place="", git=at.url, ref=at.ref, commit=at.commit) if at is not None else None
            self._open[source.name] = self._opener.open(source, locked)
        return self._open[source.name]

    def _compare(self, entry: ForeignEntry, read: Callable[[bool], WholeFolder], where: str) -> None:
        """Compare each digest of the foreign lock with the folder's, and record those that differ."""
        if not entry.digests:
            return
        try:
            folder = read(any(digest.sort != "git-tree" for digest in entry.digests))
        except SourceError as error:
            if error.code != "no-such-folder":
                raise
            self._wrong.append(f"{entry.file}: {shown(entry.name)}: {error.message}")
            return
        for digest in entry.digests:
            found = _digest(digest, folder)
            if found != digest.value:
                self._wrong.append(
                    f"{entry.file}: {shown(entry.name)}: the lock says {digest.value}, but {where} has {found or 'none'}"
                )


class _Unusable(ValueError):
    """The reason why an entry is left out, as the end of a sentence."""


def _leaving_out(name: str) -> str:
    """The import without an entry, as a person types it."""
    return shlex.join(["rye", "import", "--without", shown(name)])


def _digest(digest: Digest, folder: WholeFolder) -> str | None:
    return folder.tree if digest.sort == "git-tree" else folder_digest(digest.sort, folder.files)


def _problem(opened: OpenSource, found: FoundItem) -> str | None:
    judged = opened.judge([found])[(found.kind, found.local_id)]
    return judged.rstrip(".") if isinstance(judged, str) else None


def _some(rows: list[Settled], *, told: bool) -> list[Settled]:
    """Return the rows. Raises _Unusable if there are none. ``told``: whether the reason was already reported."""
    if not rows and not told:
        raise _Unusable("it has no skill or agent that Rye can use")
    return rows


def _listed_as(found: FoundItem) -> str:
    """What a folder calls the item: a skill by its own folder, anything else by its file."""
    if found.place.endswith("/SKILL.md"):
        return found.folder.rpartition("/")[2]
    return found.place.rpartition("/")[2].partition(".")[0]


def _has_any(opened: OpenSource, folder: str) -> bool:
    return any(not folder or one.place.startswith(f"{folder}/") for one in opened.inventory.items)


def _has_skill(opened: OpenSource, folder: str) -> bool:
    place = f"{folder}/SKILL.md".removeprefix("/")
    return bool(folder) and any(one.place == place for one in opened.inventory.items)


def _folder_of_skill(opened: OpenSource, entry: ForeignEntry) -> str:
    """The folder of a skill, given only its name."""
    named = [one for one in opened.inventory.items if one.kind == "skill" and one.local_id in entry.only]
    if named:
        return named[0].folder
    if any(one.place == "SKILL.md" for one in opened.inventory.items):
        return ""
    raise _Unusable("its folder in the repository is unknown")


def _does_not_hold(wrong: Sequence[str]) -> RyeError:
    more = f"\n  and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
    listed = "\n".join(f"  {line}" for line in wrong[:_LISTED])
    return RyeError(
        "digest-does-not-hold",
        f"The sources do not match the other tool's lock, so nothing was written:\n{listed}{more}",
        "The repository may have changed. Update the lock with its own tool and review the changes, "
        "or leave an entry out with --without NAME.",
        details={"digests": list(wrong)},
    )
