"""Which items a source holds, found from the list of its files. Pure.

Four layouts, in this order. If two items have the same identity, the first counts and the other is reported:

1. a Rye project: ``.ai/<kind folder>/…`` (:mod:`rye.items.location`), without what it installed;
2. a plugin marketplace: ``.claude-plugin/marketplace.json`` and the skills and agents of the plugins in the repository;
   a plugin: the agents next to its ``.claude-plugin/plugin.json``;
3. agent programs' folders: ``.claude/skills``, ``.agents/skills``, ``.claude/agents``; a source's own folder that is called
   ``agents``;
4. folders of skills: every ``SKILL.md`` at most six folders deep. The source's own folder may be one skill.

A name that is invalid in an id, a link, a submodule or an unsafe path makes that item unusable, with a reason. The
other items are not affected.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from rye.items.attached import IGNORE_FILE, is_safe_path
from rye.items.identity import is_id, is_segment
from rye.items.ignore_patterns import IgnorePatterns, parse_ignore
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.limits import CONTENT, SOURCES
from rye.sources.listing import Listing
from rye.sources.source_error import shown

MARKETPLACE = ".claude-plugin/marketplace.json"
MANIFEST = "rye.toml"
PLUGIN = ".claude-plugin/plugin.json"
AGENTS = "agents"
"""The name of a folder with one Markdown file per agent, in a plugin or as a whole source."""
_MAIN = "SKILL.md"
_SKILLS = (".claude/skills", ".agents/skills")
_AGENTS = ".claude/agents"


class FoundItem(Struct, frozen=True):
    """One item of a source. Paths are relative to the source's own folder."""

    kind: str
    local_id: str
    suffix: str
    """As :attr:`rye.project.lock.LockedItem.suffix`."""
    place: str
    """The item's own file."""
    attached: tuple[str, ...] = ()
    """Paths relative to the item's folder."""
    problem: str | None = None
    """Why it cannot be used, as the end of a sentence."""

    @property
    def folder(self) -> str:
        """The folder of the item's own file, relative to the source's folder."""
        return self.place.rpartition("/")[0]

    def path_of(self, attached: str) -> str:
        """Return an attached file's path relative to the source's folder."""
        return f"{self.folder}/{attached}".removeprefix("/")


class Inventory(Struct, frozen=True):
    """The items of a source."""

    items: tuple[FoundItem, ...]
    """By kind and id."""
    notes: tuple[str, ...] = ()
    """What was skipped, and why."""


def small_files(files: Listing) -> list[str]:
    """Return the files to read before finding items: the marketplace, the manifest and the skills' ignore files."""
    skills = {path.rpartition("/")[0] for path in files if path.rpartition("/")[2] == _MAIN}
    wanted = [MARKETPLACE, MANIFEST, *(f"{folder}/{IGNORE_FILE}".removeprefix("/") for folder in sorted(skills))]
    return [path for path in wanted if path in files and files[path].is_file]


def find_items(files: Listing, own_name: str, texts: Mapping[str, bytes], *, of_agents: bool = False) -> Inventory:
    """Find the items in a list of files. ``own_name``: the name of the source's own folder; ``texts``: the bytes of
    :func:`small_files`; ``of_agents``: whether the folder contains agents."""
    search = _Search(files, texts)
    search.project()
    search.marketplace()
    search.plugins()
    search.programs()
    if of_agents:
        search.agents("")
    search.skills(own_name)
    items = sorted(search.found.values(), key=lambda item: (item.kind, item.local_id))
    if len(items) > SOURCES.items:
        search.notes.append(f"only the first {SOURCES.items:,} of {len(items):,} items are used")
    return Inventory(tuple(items[: SOURCES.items]), tuple(search.notes))


class _Search:
    def __init__(self, files: Listing, texts: Mapping[str, bytes]) -> None:
        self.files = files
        self.texts = texts
        self.found: dict[tuple[str, str], FoundItem] = {}
        self.places: set[str] = set()
        self.notes: list[str] = []
        self.by_folder = _by_folder(files)
        self.skill_folders = sorted(
            (path.rpartition("/")[0] for path in files if path.rpartition("/")[2] == _MAIN),
            key=lambda folder: (folder.count("/") if folder else -1, folder),
        )

    def project(self) -> None:
        for path in sorted(self.files):
            if path.startswith(".ai/"):
                location = locate(PurePosixPath(path))
                if location is None or location.namespace is not None:
                    continue
                kind = KINDS[location.kind]
                if path.split("/")[1] == kind.folder:
                    self.add(location.kind, location.local_id, path)

    def marketplace(self) -> None:
        data = self.texts.get(MARKETPLACE)
        if data is None:
            return
        try:
            listed = msgspec.json.decode(data)
            plugins = listed["plugins"][: SOURCES.plugins]
            root = str((listed.get("metadata") or {}).get("pluginRoot", ""))
        except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, RecursionError):
            self.notes.append(f"{MARKETPLACE} is not a list of plugins")
            return
        for plugin in plugins:
            if isinstance(plugin, dict):
                self.plugin(plugin, root)

    def plugin(self, plugin: Mapping[str, object], root: str) -> None:
        name, source = shown(str(plugin.get("name", "?")), 60), plugin.get("source")
        folder = _inner(f"{root}/{source}" if root and isinstance(source, str) else source)
        if folder is None:
            self.notes.append(f"the plugin {name} is outside this repository; add the repository that has it")
            return
        named = plugin.get("skills")
        folders = [f"{folder}/skills".removeprefix("/")]
        if isinstance(named, list):
            folders += [f"{folder}/{inner}".strip("/") for inner in map(_inner, named[: SOURCES.items]) if inner]
        for skill in self.skill_folders:
            if skill in folders or skill.rpartition("/")[0] in folders:
                self.skill(skill)
        self.agents(f"{folder}/{AGENTS}".removeprefix("/"))
        given = plugin.get("agents")
        for inner in map(_inner, given[: SOURCES.items] if isinstance(given, list) else [given]):
            if inner is not None:
                place = f"{folder}/{inner}".strip("/")
                self.agents(place)
                if place in self.files:
                    self.agent(place)

    def plugins(self) -> None:
        for path in sorted(self.files):
            if path == PLUGIN or path.endswith(f"/{PLUGIN}"):
                folder = path.removesuffix(PLUGIN).rstrip("/")
                if not any(part.startswith(".") for part in folder.split("/")):
                    self.agents(f"{folder}/{AGENTS}".removeprefix("/"))

    def programs(self) -> None:
        for skill in self.skill_folders:
            if skill.rpartition("/")[0] in _SKILLS:
                self.skill(skill)
        self.agents(_AGENTS)

    def skills(self, own_name: str) -> None:
        taken: list[str] = []
        for folder in self.skill_folders:
            parts = folder.split("/") if folder else []
            if len(parts) > SOURCES.skill_depth or any(part.startswith(".") for part in parts):
                continue
            if any(not above or folder.startswith(f"{above}/") for above in taken):
                continue  # attached to the skill around it
            taken.append(folder)
            self.skill(folder, own_name)

    def skill(self, folder: str, own_name: str = "") -> None:
        self.add("skill", folder.rpartition("/")[2] or own_name, f"{folder}/{_MAIN}".removeprefix("/"))

    def agents(self, folder: str) -> None:
        for path in self.by_folder.get(folder, ()):
            self.agent(path)

    def agent(self, path: str) -> None:
        if path.endswith(".md"):
            self.add("agent", path.rpartition("/")[2].removesuffix(".md"), path)

    def add(self, kind: str, local_id: str, place: str) -> None:
        if place in self.places:
            return
        self.places.add(place)
        key = (kind, local_id)
        if key in self.found:
            note = (
                f"{shown(place)} is another {kind} named {shown(local_id, 80)}; {self.found[key].place} is used instead"
            )
            self.notes.append(note)
            return
        row = KINDS[kind]
        suffix = row.main_file or next((end for end in row.suffixes if place.endswith(end)), "")
        entry = self.files[place]
        problem = None
        if not is_id(local_id) or not all(map(is_segment, local_id.split("/"))):
            problem = f"{shown(local_id, 80)!r} is not a valid item name (a-z, 0-9, '-' and '_')"
        elif not entry.is_file:
            problem = f"its file is a {entry.what}"
        elif not suffix or suffix not in row.endings:
            problem = f"this type of file cannot be a {kind}"
        attached: tuple[str, ...] = ()
        if row.main_file is not None and problem is None:
            attached, problem = self.attached(place.rpartition("/")[0])
        self.found[key] = FoundItem(kind, local_id, suffix, place, attached, problem)

    def attached(self, folder: str) -> tuple[tuple[str, ...], str | None]:
        """Return the files attached to a skill, by the rules of :func:`rye.items.attached.attached_files`, or a problem."""
        prefix = f"{folder}/" if folder else ""
        ignored = self.ignored(prefix)
        paths: list[str] = []
        folded = {_MAIN.lower()}
        for path in self.below(folder):
            relative = path.removeprefix(prefix)
            if relative == _MAIN or _is_left_out(relative, ignored):
                continue
            entry = self.files[path]
            if not entry.is_file:
                return (), f"{shown(relative, 80)!r} is a {entry.what}"
            if not is_safe_path(relative):
                return (), f"{shown(relative, 80)!r} is not a name that works on every system"
            key = unicodedata.normalize("NFC", relative).lower()
            above = {key[:cut] for cut, letter in enumerate(key) if letter == "/"}
            if key in folded or above & folded:
                return (), f"{shown(relative, 80)!r} and another of its files have the same name on some systems"
            folded.add(key)
            paths.append(relative)
            if len(paths) > CONTENT.attached_files:
                return (), f"it has more than {CONTENT.attached_files} attached files"
        return tuple(sorted(paths)), None

    def ignored(self, prefix: str) -> IgnorePatterns:
        data = self.texts.get(f"{prefix}{IGNORE_FILE}", b"")
        return parse_ignore(data[: CONTENT.ignore_file_bytes].decode("utf-8", "replace"))

    def below(self, folder: str) -> Iterator[str]:
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            yield from self.by_folder.get(here, ())
            waiting.extend(self.by_folder.folders.get(here, ()))


class _Folders(dict[str, list[str]]):
    """Files by folder; :attr:`folders`: folders by parent folder."""

    folders: dict[str, list[str]]


def _by_folder(files: Iterable[str]) -> _Folders:
    found = _Folders()
    found.folders = {}
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        found.setdefault(folder, []).append(path)
    for folder in list(found):
        here = folder
        while here:
            above = here.rpartition("/")[0]
            rows = found.folders.setdefault(above, [])
            if here in rows:
                break
            rows.append(here)
            here = above
    return found


def _is_left_out(relative: str, ignored: IgnorePatterns) -> bool:
    """Whether a path is hidden or ignored by the skill, itself or through a parent folder."""
    parts = relative.split("/")
    if any(part.startswith(".") for part in parts):
        return True
    return any(
        ignored.ignores("/".join(parts[:count]), folder=count < len(parts)) for count in range(1, len(parts) + 1)
    )


def _inner(path: object) -> str | None:
    """Normalize a path in the repository such as ``./plugins/x``; None for anything else."""
    if not isinstance(path, str) or re.search(r"[\\:]|//", path) or path.startswith("/"):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
