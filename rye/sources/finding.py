"""Which items a source holds, found from the list of its files. Pure.

Four layouts, in this order. If several items have the same identity, the first that can be used counts and the others are
reported:

1. a Rye project: ``.ai/<kind folder>/…`` (:mod:`rye.items.location`), without what it installed;
2. a plugin marketplace: ``.claude-plugin/marketplace.json`` and the plugins in the repository; a plugin: the folder of a
   ``.claude-plugin/plugin.json``. Its skills and agents are in ``skills`` and ``agents``, and where the two files say;
3. agent programs' folders: ``.claude/skills``, ``.agents/skills``; agents where a program reads them, at most eight folders deep
   (:mod:`rye.items.agent.program_forms`); Markdown files with a name and a description anywhere below a folder that is called
   ``agents``, which collections have for people to copy; those of a source's own folder that is called so;
4. folders of skills: every ``SKILL.md`` at most eight folders deep, hidden folders included. The source's own folder may be one
   skill.

Within one of these, what is deeper counts less, and what lies in a folder of copies, translations or examples
(:data:`_SET_ASIDE`) or is a link counts least.

A skill is called what its ``SKILL.md`` says, whatever its folder is called: programs go by the declared name, too. Characters
that ids do not have are replaced in both kinds. A name of which nothing is left, a link that leads to no file of the source, a
submodule or an unsafe path makes that item unusable, with a reason. The other items are not affected. What Rye has no kind for,
such as prompts and hooks, is counted in a note.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TypeAlias

import msgspec
from msgspec import Struct

from rye.items.agent.conversion import agent_id
from rye.items.agent.program_forms import BY_PROGRAM, program_of
from rye.items.attached import IGNORE_FILE, is_safe_path
from rye.items.identity import is_id, is_segment, nearest_segment
from rye.items.ignore_patterns import IgnorePatterns, parse_ignore
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.limits import CONTENT, SOURCES
from rye.project.declared_sources import BadSource, inner_path
from rye.sources.listing import Listing, TreeEntry
from rye.sources.source_error import shown
from rye.text.json_reading import UNDECODABLE

_PLAIN = "claude"
"""The program whose form an agent has that lies where no program reads it."""
MARKETPLACE = ".claude-plugin/marketplace.json"
MANIFEST = "rye.toml"
PLUGIN = ".claude-plugin/plugin.json"
AGENTS = "agents"
"""The name of a folder with one Markdown file per agent, in a plugin or as a whole source."""
_MAIN = "SKILL.md"
_OTHERS = {
    ("chat mode", "chat modes"): re.compile(r"\.chatmode\.md$"),
    ("prompt or command", "prompts and commands"): re.compile(
        r"\.prompt\.md$|(?:^|/)commands/(?:[^/]+/)*[^/]+\.(?:md|toml)$"
    ),
    ("file of instructions", "files of instructions"): re.compile(r"\.instructions\.md$|(?:^|/)\.cursor/rules/[^/]+$"),
    ("file of hooks", "files of hooks"): re.compile(
        r"(?:^|/)hooks/(?:[^/]+/)?hooks\.json$|(?:^|/)\.github/hooks/[^/]+\.json$"
    ),
    ("file of MCP servers", "files of MCP servers"): re.compile(r"(?:^|/)(?:\.mcp|\.?vscode/mcp|\.cursor/mcp)\.json$"),
}
"""What programs read, by the words for one and for several: the files that are counted."""
_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^name:[ \t]+(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\"'#\n]+?))[ \t]*(?:[ \t]#.*)?$", re.MULTILINE)
_TOML_NAME = re.compile(r"^name[ \t]*=[ \t]*(?:\"([^\"\\\n]*)\"|'([^'\n]*)')[ \t]*$", re.MULTILINE)
_OF_AGENT = (re.compile(r"^name:[ \t]*\S", re.MULTILINE), re.compile(r"^description:[ \t]*\S", re.MULTILINE))
_SKILLS = (".claude/skills", ".agents/skills")
_README = "readme.md"
_SET_ASIDE = re.compile(
    r"(?:^|/)(?:backups?|archived?|archives|deprecated|legacy|old|docs?|i18n|translations?|locales?|templates?|examples?|fixtures|tests?)/",
    re.IGNORECASE,
)
"""Folders whose items count only if no other has their name."""
_ONE_BY_ONE = 3
"""The most notes of one sort that are written out; more are counted, with one as an example."""


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
    """What was skipped, and why; of a sort that is long, the number and one as an example."""
    details: tuple[str, ...] = ()
    """The same one by one."""


def manifests(files: Listing) -> list[str]:
    """Return the files to read first: the marketplace, the manifest and the plugins' own files, which say where items are."""
    plugins = sorted(filter(_is_plugin, files), key=rank)[: SOURCES.plugins]
    return [path for path in (MARKETPLACE, MANIFEST, *plugins) if path in files and files[path].is_file]


def naming_files(files: Listing, own_name: str, texts: Mapping[str, bytes]) -> list[str]:
    """Return the files to read before finding items: the skills' and agents' own files, which declare their names, and the
    skills' ignore files. ``own_name``: the name of the source's own folder; ``texts``: the bytes of :func:`manifests`."""
    wanted: list[str] = []
    for folder in _skill_folders(files)[: 2 * SOURCES.items]:
        wanted += (f"{folder}/{name}".removeprefix("/") for name in (IGNORE_FILE, _MAIN))
    places = {place for plugin in _plugins(texts)[0] for place in plugin.agents}
    folders = tuple(f"{place}/" for place in places if place)
    agents = (path for path in files if path in places or path.startswith(folders) or _is_named_agent(path, own_name))
    wanted += sorted(filter(_is_text_of_agent, agents), key=rank)[: SOURCES.items]
    return [path for path in wanted if path in files and files[path].is_file]


def find_items(
    files: Listing,
    own_name: str,
    texts: Mapping[str, bytes],
    within: str = "",
    problems: Problems = lambda _items: {},
) -> Inventory:
    """Find the items in a list of files. ``own_name``: the name of the source's own folder; ``texts``: the bytes of
    :func:`manifests` and :func:`naming_files`; ``within``: the source's own folder, from the repository's root;
    ``problems``: asked about items whose name several have."""
    search = _Search(files, texts)
    search.project()
    search.plugins()
    search.programs()
    search.skills(own_name)
    search.agents_of_programs(within, own_name)
    found = search.settle(problems)
    search.others()
    items = sorted(found, key=lambda item: (item.kind, item.local_id))
    if len(items) > SOURCES.items:
        search.notes.append(f"only the first {SOURCES.items:,} of {len(items):,} items are used")
    details = (*search.notes, *search.renamed, *search.doubles)
    return Inventory(tuple(items[: SOURCES.items]), (*search.notes, *search.summaries()), details)


Problems: TypeAlias = Callable[[Sequence[FoundItem]], Mapping[str, str]]
"""Returns, by their places, why some of these items cannot be used, as the end of a sentence."""


class _Contender(Struct, frozen=True):
    """One of the files that would have the same name."""

    place: str
    program: str | None
    is_copy: bool
    """Whether it is the same object as the first."""
    order: int
    """How many were found before it, of any name."""

    @property
    def folder(self) -> str:
        return self.place.rpartition("/")[0]


class _Plugin(Struct):
    """A plugin of the repository: its folder, and the places of its skills and agents, from the source's own folder."""

    folder: str
    skills: list[str]
    """Skills' folders, and folders of such folders."""
    agents: list[str]
    """Agents' files, and folders of them."""


def _plugins(texts: Mapping[str, bytes]) -> tuple[list[_Plugin], list[str]]:
    """Return the plugins that the marketplace and the plugins' own files tell of, and notes about what is wrong there."""
    by_folder: dict[str, _Plugin] = {}
    notes: list[str] = []

    def add(folder: str, declared: Mapping[str, object]) -> None:
        place = f"{folder}/".removeprefix("/")
        plugin = by_folder.setdefault(folder, _Plugin(folder, [f"{place}skills"], [f"{place}{AGENTS}"]))
        plugin.skills += _places(folder, declared.get("skills"))
        plugin.agents += _places(folder, declared.get("agents"))

    if MARKETPLACE in texts:
        try:
            listed = msgspec.json.decode(texts[MARKETPLACE])
            rows = listed["plugins"][: SOURCES.plugins]
            root = str((listed.get("metadata") or {}).get("pluginRoot", ""))
        except (KeyError, TypeError, AttributeError, *UNDECODABLE):
            notes.append(f"{MARKETPLACE} is not a list of plugins")
            rows = []
        for row in rows:
            if isinstance(row, dict):
                source = row.get("source")
                folder = _inner(f"{root.rstrip('/')}/{source}" if root and isinstance(source, str) else source)
                if folder is None:
                    name = shown(str(row.get("name", "?")), 60)
                    notes.append(f"the plugin {name} is outside this repository; add the repository that has it")
                else:
                    add(folder, row)
    for path in sorted(filter(_is_plugin, texts), key=rank):
        folder = path.removesuffix(PLUGIN).rstrip("/")
        if folder in by_folder or not any(part.startswith(".") for part in folder.split("/")):
            try:
                declared = msgspec.json.decode(texts[path])
            except UNDECODABLE:
                declared = None
            if not isinstance(declared, dict):
                notes.append(f"{shown(path, 200)} is not a plugin's file")
            add(folder, declared if isinstance(declared, dict) else {})
    return list(by_folder.values()), notes


def _places(folder: str, declared: object) -> list[str]:
    """Return the paths in ``folder`` that a plugin's key names: one or a list. What leads out of the plugin is left out."""
    given = declared[: SOURCES.items] if isinstance(declared, list) else [declared]
    return [f"{folder}/{inner}".strip("/") for inner in map(_inner, given) if inner is not None]


class _Search:
    def __init__(self, files: Listing, texts: Mapping[str, bytes]) -> None:
        self.files = files
        self.texts = texts
        self.found: dict[tuple[str, str], list[_Contender]] = {}
        """By kind and id, in the order in which they were found."""
        self.places: set[str] = set()
        self.notes: list[str] = []
        self.renamed: list[str] = []
        self.doubles: list[str] = []
        self.for_others: list[str] = []
        """Agents that were found in another program's form."""
        self.by_folder = _by_folder(files)
        self.skill_folders = _skill_folders(files)
        self.skill_set = frozenset(self.skill_folders)
        self.patterns: dict[str, IgnorePatterns] = {}
        """What skills ignore, by the beginning of their files' paths."""
        self.withheld: dict[str, str] = {}
        """Links that skills leave out: what they lead to, by their paths."""

    def project(self) -> None:
        for path in sorted(self.files):
            if path.startswith(".ai/"):
                location = locate(PurePosixPath(path))
                if location is None or location.namespace is not None:
                    continue
                kind = KINDS[location.kind]
                if path.split("/")[1] == kind.folder:
                    self.add(location.kind, location.local_id, path)

    def plugins(self) -> None:
        plugins, notes = _plugins(self.texts)
        self.notes += notes
        for plugin in plugins:
            folders = set(plugin.skills)
            for skill in self.skill_folders:
                if skill in folders or skill.rpartition("/")[0] in folders:
                    self.skill(skill)
            for place in plugin.agents:
                self.agents(place)
                if place in self.files:
                    self.agent(place)

    def programs(self) -> None:
        for skill in self.skill_folders:
            if skill.rpartition("/")[0] in _SKILLS:
                self.skill(skill)

    def agents_of_programs(self, within: str, own_name: str) -> None:
        """Take the agents that programs would read, and those that people would copy there, but not those in a skill, which are
        its files."""
        if within.rpartition("/")[2] == AGENTS:
            self.agents("")
        inside = self.inside_skills()
        ranked = []
        no_agents = []
        for path in self.files:
            if path.count("/") <= SOURCES.skill_depth and not path.startswith((".ai/", *inside)):
                program = program_of(f"{within}/{path}")
                if program is not None:
                    ranked.append((list(BY_PROGRAM).index(program), rank(path), path, program))
                elif _is_below_agents(f"{own_name}/{path}") and path not in self.places:
                    if self.describes_agent(path):
                        ranked.append((len(BY_PROGRAM), rank(path), path, _PLAIN))
                    elif AGENTS in path.split("/"):
                        no_agents.append(path)
        for _, _, path, program in sorted(ranked):
            self.agent(path, program)
        if no_agents:
            self.notes.append(
                f"{len(no_agents)} Markdown files in folders of agents have no name and description, so they are no agents: "
                f"{shown(min(no_agents, key=rank), 200)}, for example"
                if len(no_agents) > 1
                else f"{shown(no_agents[0], 200)} has no name and description, so it is no agent"
            )

    def describes_agent(self, path: str) -> bool:
        """Whether a Markdown file has a name and a description in its frontmatter."""
        opened = _FRONTMATTER.match(_head(self.texts.get(path, b"")))
        return opened is not None and all(key.search(opened[1]) for key in _OF_AGENT)

    def inside_skills(self) -> tuple[str, ...]:
        folders = (_by_preference(key, some)[0].folder for key, some in self.found.items() if key[0] == "skill")
        return tuple(f"{folder}/" for folder in folders if folder)

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
        if self.withheld:
            path, target = min(self.withheld.items())
            more = len(self.withheld) - 1
            others = f", and {more} other link{'s' * (more > 1)}" if more else ""
            self.notes.append(
                f"{shown(path, 200)} is left out{others}: it is a link to {shown(target, 200)}, "
                f"which the {IGNORE_FILE} of its skill leaves out"
            )
        if any(counts.values()):
            listed = ", ".join(f"{count} {what[count > 1]}" for what, count in counts.items() if count)
            self.notes.append(f"not installed, since Rye has no kind for them: {listed}")

    def summaries(self) -> list[str]:
        """Return the notes that there can be one of for each item, or how many there are."""
        notes = list(self.renamed) if len(self.renamed) <= _ONE_BY_ONE else []
        if not notes and self.renamed:
            what = f"{len(self.renamed)} skills are called what their {_MAIN} says, not what their folders are called"
            notes.append(f"{what}: {self.renamed[0]}, for example (--list names all)")
        if len(self.doubles) <= _ONE_BY_ONE:
            return [*notes, *self.doubles]
        what = f"{len(self.doubles)} files are left out, since another item has their name"
        return [*notes, f"{what}: {self.doubles[0]}, for example (--list names all)"]

    def skill(self, folder: str, own_name: str = "") -> None:
        place = f"{folder}/{_MAIN}".removeprefix("/")
        name = folder.rpartition("/")[2] or own_name
        declared = declared_name(self.texts.get(place, b""))
        if declared is not None and declared != name and place not in self.places:
            self.renamed.append(f"the skill in {shown(folder or '.', 200)} is called {declared}, as its {_MAIN} says")
        self.add("skill", declared or name, place)

    def agents(self, folder: str) -> None:
        """Take all Markdown files of a folder, and those below a folder of the source that say they are agents."""
        for path in self.by_folder.get(folder, ()):
            self.agent(path)
        skills = self.skill_set
        for path in sorted(self.below(folder), key=rank) if folder else ():
            inside = any(path[:cut] in skills for cut, letter in enumerate(path) if letter == "/")
            if path not in self.places and not inside and _is_text_of_agent(path) and self.describes_agent(path):
                self.agent(path)

    def agent(self, path: str, program: str = _PLAIN) -> None:
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
        some = self.found.setdefault((kind, local_id), [])
        is_copy = bool(some) and self.is_copy(some[0].place, place)
        some.append(_Contender(place, program, is_copy, len(self.places)))
        self.places.add(place)

    def settle(self, problems: Problems) -> list[FoundItem]:
        """Return the item of each name: the first that can be used, or the first if none of the first few can. Say which are left
        out, and why those that come before it are."""
        waiting = {key: _by_preference(key, some) for key, some in self.found.items()}
        items: dict[tuple[str, str], FoundItem] = {}
        passed: dict[tuple[str, str], list[tuple[_Contender, FoundItem, str]]] = {}
        while waiting:
            tried = {key: self.item(*key, some[0]) for key, some in waiting.items()}
            contested = [key for key, some in waiting.items() if len(some) > 1 or key in passed]
            asked = [tried[key] for key in contested if tried[key].problem is None]
            found = problems(asked) if asked else {}
            for key in list(waiting):
                item = tried[key]
                problem = (item.problem or found.get(item.place)) if key in contested else None
                if problem is None:
                    items[key] = item
                    del waiting[key]
                    continue
                passed.setdefault(key, []).append((waiting[key][0], item, problem))
                waiting[key] = waiting[key][1:]
                if not waiting[key] or len(passed[key]) == SOURCES.contenders:
                    items[key] = passed.pop(key)[0][1]
                    del waiting[key]
        self.report(items, {place.place: why for some in passed.values() for place, _, why in some})
        return list(items.values())

    def report(self, items: Mapping[tuple[str, str], FoundItem], passed: Mapping[str, str]) -> None:
        """Note what is left out. ``passed``: why those cannot be used, by their places, that come before the one that is used."""
        left = [
            (other, key)
            for key, some in self.found.items()
            for other in some
            if other.place != items[key].place and (other.place in passed or not other.is_copy)
        ]
        for other, key in sorted(left, key=lambda entry: entry[0].order):
            used = items[key]
            what = f"{shown(other.place)} is another {key[0]} named {shown(key[1], 80)}"
            if other.place in passed:
                self.doubles.append(
                    f"{what}, which cannot be used ({passed[other.place]}); {used.place} is used instead"
                )
            elif other.program is not None and used.program not in (None, other.program):
                self.for_others.append(other.place)
            elif not self.is_copy(used.place, other.place):
                self.doubles.append(f"{what}; {used.place} is used instead")

    def item(self, kind: str, local_id: str, one: _Contender) -> FoundItem:
        row, place, program = KINDS[kind], one.place, one.program
        suffix = row.main_file or next((end for end in row.suffixes if place.endswith(end) or program is not None), "")
        entry = self.files[place]
        problem = None
        if not is_id(local_id) or not all(map(is_segment, local_id.split("/"))):
            problem = f"{shown(local_id, 80)!r} is not a valid item name (a-z, 0-9, '-' and '_')"
        elif not entry.is_file:
            problem = f"its file is {_what(entry)}"
        elif self.is_withheld(place):
            problem = (
                f"its file is a link to {shown(entry.target, 80)}, which the {IGNORE_FILE} of its skill leaves out"
            )
        elif (named := _unlockable(place)) is not None:
            problem = named
        elif not suffix or suffix not in row.endings:
            problem = f"this type of file cannot be a {kind}"
        attached: tuple[str, ...] = ()
        if row.main_file is not None and problem is None:
            attached, problem = self.attached(place.rpartition("/")[0])
        return FoundItem(
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
        first, second = self.files[one], self.files[other]
        same_bytes = bool(first.blob) and first.blob == second.blob
        return same_bytes or (first.target or one) == (second.target or other)

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
            if self.is_withheld(path):
                self.withheld[path] = entry.target
                continue
            if not entry.is_file:
                return (), f"{shown(relative, 80)!r} is {_what(entry)}"
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

    def is_withheld(self, path: str) -> bool:
        """Whether it is a link to a file that the ignore file of the skill around it leaves out: under another name nobody would
        know."""
        target = self.files[path].target
        if not target:
            return False
        above = ("", *(target[:cut] for cut, letter in enumerate(target) if letter == "/"))
        prefixes = [f"{folder}/" if folder else "" for folder in above if folder in self.skill_set]
        return bool(prefixes) and _is_ignored(target.removeprefix(prefixes[-1]), self.ignored(prefixes[-1]))

    def ignored(self, prefix: str) -> IgnorePatterns:
        if prefix not in self.patterns:
            data = self.texts.get(f"{prefix}{IGNORE_FILE}", b"")
            self.patterns[prefix] = parse_ignore(data[: CONTENT.ignore_file_bytes].decode("utf-8", "replace"))
        return self.patterns[prefix]

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
    """Return the part of an id for the name that a skill's or an agent's frontmatter declares, if anything is left of it. It is
    compared with the whole file before the item is used (:func:`rye.sources.item.judge`)."""
    head = _head(data)
    opened = _FRONTMATTER.match(head)
    named = _NAME.search(opened[1]) if opened is not None else _TOML_NAME.search(head)
    word = nearest_segment(next(filter(None, named.groups()), "")) if named is not None else ""
    return word if is_segment(word) else None


def _head(data: bytes) -> str:
    return data[: SOURCES.name_bytes].decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")


def _skill_folders(files: Listing) -> list[str]:
    """Return the folders with a SKILL.md, those first that count if several have a name."""
    mains = [path for path in files if path.rpartition("/")[2] == _MAIN]
    return [path.rpartition("/")[0] for path in sorted(mains, key=lambda path: (bool(files[path].target), rank(path)))]


def _by_preference(key: tuple[str, str], some: Sequence[_Contender]) -> list[_Contender]:
    """Return those of a name in the order in which they count: as they were found, but of skills that lie equally deep, one that
    is in a folder of the name first."""
    if key[0] != "skill" or len(some) < 2:
        return list(some)
    ranks = [rank(one.place)[:2] for one in some]
    first = {found: at for at, found in reversed(list(enumerate(ranks)))}
    order = sorted(
        range(len(some)),
        key=lambda at: (first[ranks[at]], some[at].folder.rpartition("/")[2] != key[1], at),
    )
    return [some[at] for at in order]


def rank(path: str) -> tuple[bool, int, str]:
    """Return the order in which files count that would have the same name, for ``rye adopt`` as well."""
    return _SET_ASIDE.search(path) is not None, path.count("/"), path


def _is_plugin(path: str) -> bool:
    return path == PLUGIN or path.endswith(f"/{PLUGIN}")


def _is_text_of_agent(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith((".md", ".toml")) and name != _MAIN and name.lower() != _README


def _is_below_agents(path: str) -> bool:
    """Whether it is a Markdown file of no hidden folder below one that is called ``agents``."""
    folders = path.split("/")[:-1]
    return (
        AGENTS in folders
        and path.endswith(".md")
        and _is_text_of_agent(path)
        and not any(folder.startswith(".") for folder in folders[folders.index(AGENTS) :])
    )


def _is_named_agent(path: str, own_name: str) -> bool:
    """Whether it can be an agent that is called what its file says."""
    if not _is_text_of_agent(path):
        return False
    if "/" not in path or _is_below_agents(f"{own_name}/{path}"):
        return True
    program = program_of(path)
    return program is not None and BY_PROGRAM[program].named_by == "name"


def _what(entry: TreeEntry) -> str:
    return "a link that leads to no file of this source" if entry.what == "link" else f"a {entry.what}"


def _unlockable(place: str) -> str | None:
    """Why rye.lock cannot name a file, or None."""
    try:
        inner_path(place)
    except BadSource as error:
        return shown(str(error), 200)
    return None


def _is_left_out(relative: str, ignored: IgnorePatterns) -> bool:
    """Whether a path is hidden or ignored by the skill, itself or through a parent folder."""
    return any(part.startswith(".") for part in relative.split("/")) or _is_ignored(relative, ignored)


def _is_ignored(relative: str, ignored: IgnorePatterns) -> bool:
    """Whether a path is ignored by the skill, itself or through a parent folder."""
    parts = relative.split("/")
    return any(
        ignored.ignores("/".join(parts[:count]), folder=count < len(parts)) for count in range(1, len(parts) + 1)
    )


def _inner(path: object) -> str | None:
    """Normalize a path in the repository such as ``./plugins/x``; None for anything else."""
    if not isinstance(path, str) or re.search(r"[\\:]|//", path) or path.startswith("/"):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return None if ".." in parts else "/".join(parts)
