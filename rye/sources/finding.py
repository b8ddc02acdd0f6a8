"""Which items a source holds, found from the list of its files. Pure.

Four layouts, in this order. If two items have the same identity, the first counts and the other is reported:

1. a Rye project: ``.ai/<kind folder>/…`` (:mod:`rye.items.location`), without what it installed;
2. a plugin marketplace: ``.claude-plugin/marketplace.json`` and the skills and agents of the plugins in the repository;
   a plugin: the agents next to its ``.claude-plugin/plugin.json``;
3. agent programs' folders: ``.claude/skills``, ``.agents/skills``; agents where a program reads them, at most eight folders deep
   (:mod:`rye.items.agent.program_forms`), and those of a source's own folder that is called ``agents``;
4. folders of skills: every ``SKILL.md`` at most eight folders deep, hidden folders included. The source's own folder may be one
   skill.

A skill is called what its ``SKILL.md`` says, whatever its folder is called: programs go by the declared name, too. A name that is
invalid in an id, a link, a submodule or an unsafe path makes that item unusable, with a reason. The other items are not affected.
An agent is called what its program calls it, with other characters than ids have replaced. What Rye has no kind for, such as
prompts and hooks, is counted in a note.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import msgspec
from msgspec import Struct

from rye.items.agent.conversion import agent_id
from rye.items.agent.program_forms import BY_PROGRAM, program_of
from rye.items.attached import IGNORE_FILE, is_safe_path
from rye.items.identity import is_id, is_segment
from rye.items.ignore_patterns import IgnorePatterns, parse_ignore
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.limits import CONTENT, SOURCES
from rye.project.declared_sources import BadSource, inner_path
from rye.sources.listing import Listing
from rye.sources.source_error import shown
from rye.text.json_reading import UNDECODABLE

MARKETPLACE = ".claude-plugin/marketplace.json"
MANIFEST = "rye.toml"
PLUGIN = ".claude-plugin/plugin.json"
AGENTS = "agents"
"""The name of a folder with one Markdown file per agent, in a plugin or as a whole source."""
_MAIN = "SKILL.md"
_OTHERS = {
    "chat modes": re.compile(r"\.chatmode\.md$"),
    "prompts and commands": re.compile(r"\.prompt\.md$|(?:^|/)commands/(?:[^/]+/)*[^/]+\.(?:md|toml)$"),
    "instructions": re.compile(r"\.instructions\.md$|(?:^|/)\.cursor/rules/[^/]+$"),
    "settings of hooks": re.compile(r"(?:^|/)hooks/(?:[^/]+/)?hooks\.json$|(?:^|/)\.github/hooks/[^/]+\.json$"),
    "settings of MCP servers": re.compile(r"(?:^|/)(?:\.mcp|\.?vscode/mcp|\.cursor/mcp)\.json$"),
}
"""What programs read, by the words for it: the files that are counted."""
_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^name:[ \t]+[\"']?([a-z0-9][a-z0-9-]{0,63})[\"']?[ \t]*$", re.MULTILINE)
_TOML_NAME = re.compile(r"^name[ \t]*=[ \t]*[\"']([a-z0-9][a-z0-9-]{0,63})[\"'][ \t]*$", re.MULTILINE)
_SKILLS = (".claude/skills", ".agents/skills")
_README = "readme.md"


class FoundItem(Struct, frozen=True, kw_only=True):
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
    program: str | None = None
    """Of an agent: the program whose form its file may have."""

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
    """Return the files to read before finding items: the marketplace, the manifest, the skills' and agents' own files, which
    declare their names, and the skills' ignore files."""
    skills = {path.rpartition("/")[0] for path in files if path.rpartition("/")[2] == _MAIN}
    wanted = [MARKETPLACE, MANIFEST]
    for folder in sorted(skills, key=lambda folder: (folder.count("/"), folder))[: 2 * SOURCES.items]:
        wanted += (f"{folder}/{name}".removeprefix("/") for name in (IGNORE_FILE, _MAIN))
    wanted += [path for path in files if _is_named_agent(path)][: SOURCES.items]
    return [path for path in wanted if path in files and files[path].is_file]


def find_items(files: Listing, own_name: str, texts: Mapping[str, bytes], within: str = "") -> Inventory:
    """Find the items in a list of files. ``own_name``: the name of the source's own folder; ``texts``: the bytes of
    :func:`small_files`; ``within``: the source's own folder, from the repository's root."""
    search = _Search(files, texts)
    search.project()
    search.marketplace()
    search.plugins()
    search.programs()
    search.skills(own_name)
    search.agents_of_programs(within)
    search.others()
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
        self.for_others: list[str] = []
        """Agents that were found in another program's form."""
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
        except (KeyError, TypeError, AttributeError, *UNDECODABLE):
            self.notes.append(f"{MARKETPLACE} is not a list of plugins")
            return
        for plugin in plugins:
            if isinstance(plugin, dict):
                self.plugin(plugin, root)

    def plugin(self, plugin: Mapping[str, object], root: str) -> None:
        name, source = shown(str(plugin.get("name", "?")), 60), plugin.get("source")
        joined = f"{root.rstrip('/')}/{source}" if root and isinstance(source, str) else source
        folder = _inner(joined)
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

    def agents_of_programs(self, within: str) -> None:
        """Take the agents that programs would read, but not those in a skill, which are its files."""
        inside = self.inside_skills()
        ranked = []
        for path in self.files:
            if path.count("/") <= SOURCES.skill_depth and not path.startswith((".ai/", *inside)):
                program = program_of(f"{within}/{path}")
                if program is not None:
                    ranked.append((list(BY_PROGRAM).index(program), path, program))
        for _, path, program in sorted(ranked):
            self.agent(path, program)
        if within.rpartition("/")[2] == AGENTS:
            self.agents("")

    def inside_skills(self) -> tuple[str, ...]:
        return tuple(f"{item.folder}/" for item in self.found.values() if item.kind == "skill" and item.folder)

    def skills(self, own_name: str) -> None:
        taken: list[str] = []
        for folder in self.skill_folders:
            parts = folder.split("/") if folder else []
            if len(parts) > SOURCES.skill_depth or parts[:1] == [".ai"]:
                continue
            if any(not above or folder.startswith(f"{above}/") for above in taken):
                continue  # attached to the skill around it
            taken.append(folder)
            self.skill(folder, own_name)

    def others(self) -> None:
        """Say what else agent programs would read of this source, and Rye does not."""
        inside = self.inside_skills()
        left = [path for path in self.files if path not in self.places and not path.startswith(inside)]
        counts = {what: sum(pattern.search(path) is not None for path in left) for what, pattern in _OTHERS.items()}
        if self.for_others:
            self.notes.append(
                f"{len(self.for_others)} agents are here for several programs, and taken once: "
                f"{shown(self.for_others[0])} is left out, for example"
            )
        if any(counts.values()):
            listed = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
            self.notes.append(f"not installed, since Rye has no kind for them: {listed}")

    def skill(self, folder: str, own_name: str = "") -> None:
        place = f"{folder}/{_MAIN}".removeprefix("/")
        name = folder.rpartition("/")[2] or own_name
        declared = declared_name(self.texts.get(place, b""))
        if declared is not None and declared != name and place not in self.places:
            self.notes.append(f"the skill in {shown(folder or '.', 200)} is called {declared}, as its {_MAIN} says")
        self.add("skill", declared or name, place)

    def agents(self, folder: str) -> None:
        for path in self.by_folder.get(folder, ()):
            self.agent(path)

    def agent(self, path: str, program: str = "claude") -> None:
        """Take an agent's file. Plugins' agents are Claude Code's."""
        name = path.rpartition("/")[2]
        form = BY_PROGRAM[program]
        ending = next((ending for ending in form.endings if name.endswith(ending)), None)
        if ending is None or name.lower() == _README:
            return
        declared = declared_name(self.texts.get(path, b"")) if form.named_by == "name" else None
        self.add(
            "agent",
            declared if declared == agent_id(declared or "") else agent_id(name.removesuffix(ending)),
            path,
            program,
        )

    def add(self, kind: str, local_id: str, place: str, program: str | None = None) -> None:
        if place in self.places:
            return
        self.places.add(place)
        key = (kind, local_id)
        if key in self.found:
            if self.is_copy(self.found[key].place, place):
                return
            if program is not None and self.found[key].program not in (None, program):
                self.for_others.append(place)
                return
            note = (
                f"{shown(place)} is another {kind} named {shown(local_id, 80)}; {self.found[key].place} is used instead"
            )
            self.notes.append(note)
            return
        row = KINDS[kind]
        suffix = row.main_file or next((end for end in row.suffixes if place.endswith(end) or program is not None), "")
        entry = self.files[place]
        problem = None
        if not is_id(local_id) or not all(map(is_segment, local_id.split("/"))):
            problem = f"{shown(local_id, 80)!r} is not a valid item name (a-z, 0-9, '-' and '_')"
        elif not entry.is_file:
            problem = f"its file is a {entry.what}"
        elif (named := _unlockable(place)) is not None:
            problem = named
        elif not suffix or suffix not in row.endings:
            problem = f"this type of file cannot be a {kind}"
        attached: tuple[str, ...] = ()
        if row.main_file is not None and problem is None:
            attached, problem = self.attached(place.rpartition("/")[0])
        self.found[key] = FoundItem(
            kind=kind,
            local_id=local_id,
            suffix=suffix,
            place=place,
            attached=attached,
            problem=problem,
            program=program,
        )

    def is_copy(self, one: str, other: str) -> bool:
        """Whether both are the same object of the repository: collections keep a skill for each program."""
        return bool(self.files[one].blob) and self.files[one].blob == self.files[other].blob

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


def declared_name(data: bytes) -> str | None:
    """Return the name that a skill's or an agent's frontmatter declares, if it is valid in an id. It is compared with the whole
    file before the item is used (:func:`rye.sources.item.judge`)."""
    head = data[: SOURCES.name_bytes].decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
    opened = _FRONTMATTER.match(head)
    named = _NAME.search(opened[1]) if opened is not None else _TOML_NAME.search(head)
    return named[1] if named is not None and is_segment(named[1]) else None


def _is_named_agent(path: str) -> bool:
    """Whether it can be an agent that is called what its file says."""
    folder, _, name = path.rpartition("/")
    if not name.endswith((".md", ".toml")) or name.lower() == _README:
        return False
    if folder.rpartition("/")[2] in ("", AGENTS):
        return True
    program = program_of(path)
    return program is not None and BY_PROGRAM[program].named_by == "name"


def _unlockable(place: str) -> str | None:
    """Why rye.lock cannot name a file, or None."""
    try:
        inner_path(place)
    except BadSource as error:
        return shown(str(error), 200)
    return None


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
