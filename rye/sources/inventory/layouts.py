"""The layouts that a source may have, one after another (:mod:`rye.sources.inventory`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from rye.items.agent.conversion import agent_id
from rye.items.agent.program_forms import BY_PROGRAM, program_of
from rye.items.attached import IGNORE_FILE
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.limits import SOURCES
from rye.sources.inventory.found import Inventory
from rye.sources.inventory.names import Names, Problems
from rye.sources.inventory.order import rank
from rye.sources.inventory.plugins import MARKETPLACE, is_plugin, read_plugins
from rye.sources.inventory.signs import (
    AGENTS,
    README,
    declared_name,
    describes_agent,
    is_below_agents,
    is_named_agent,
    is_text_of_agent,
)
from rye.sources.inventory.skill_folders import MAIN, SkillFolders, skill_folders
from rye.sources.listing import Listing
from rye.sources.source_error import shown

MANIFEST = "rye.toml"
_PLAIN = "claude"
"""The program whose form an agent has that lies where no program reads it."""
_SKILLS = (".claude/skills", ".agents/skills")
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
"""What programs read and Rye has no kind for, by the words for one and for several: the files that are counted."""
_ONE_BY_ONE = 3
"""The most notes of one sort that are written out; more are counted, with one as an example."""


def manifests(files: Listing) -> list[str]:
    """Return the files to read first: the marketplace, the manifest and the plugins' own files, which say where items are."""
    plugins = sorted(filter(is_plugin, files), key=rank)[: SOURCES.plugins]
    return [path for path in (MARKETPLACE, MANIFEST, *plugins) if path in files and files[path].is_file]


def naming_files(files: Listing, own_name: str, texts: Mapping[str, bytes]) -> list[str]:
    """Return the files to read before finding items: the skills' and agents' own files, which declare their names, and the
    skills' ignore files. ``own_name``: the name of the source's own folder; ``texts``: the bytes of :func:`manifests`."""
    wanted: list[str] = []
    for folder in skill_folders(files)[: 2 * SOURCES.items]:
        wanted += (f"{folder}/{name}".removeprefix("/") for name in (IGNORE_FILE, MAIN))
    places = {place for plugin in read_plugins(texts)[0] for place in plugin.agents}
    folders = tuple(f"{place}/" for place in places if place)
    agents = (path for path in files if path in places or path.startswith(folders) or is_named_agent(path, own_name))
    wanted += sorted(filter(is_text_of_agent, agents), key=rank)[: SOURCES.items]
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
    search.folders_of_skills(own_name)
    search.agents_of_programs(within, own_name)
    items = sorted(search.names.settle(problems), key=lambda item: (item.kind, item.local_id))
    search.tell_of_others()
    if len(items) > SOURCES.items:
        search.notes.append(f"only the first {SOURCES.items:,} of {len(items):,} items are used")
    doubles = search.names.doubles
    details = (*search.notes, *search.renamed, *doubles)
    return Inventory(tuple(items[: SOURCES.items]), (*search.notes, *_summaries(search.renamed, doubles)), details)


class _Search:
    """The names found so far, and what there is to say. Each layout adds to them."""

    def __init__(self, files: Listing, texts: Mapping[str, bytes]) -> None:
        self.skills = SkillFolders(files, texts)
        self.names = Names(files, self.skills)
        self.notes: list[str] = []
        self.renamed: list[str] = []
        """Notes about skills that are not called what their folders are."""
        self._files = files
        self._texts = texts

    def project(self) -> None:
        """Take the items of a Rye project."""
        for path in sorted(self._files):
            if path.startswith(".ai/"):
                location = locate(PurePosixPath(path))
                if location is None or location.namespace is not None:
                    continue
                kind = KINDS[location.kind]
                if path.split("/")[1] == kind.folder:
                    self.names.add(location.kind, location.local_id, path)

    def plugins(self) -> None:
        """Take the skills and agents of plugins."""
        plugins, notes = read_plugins(self._texts)
        self.notes += notes
        for plugin in plugins:
            folders = set(plugin.skills)
            for skill in self.skills.ordered:
                if skill in folders or skill.rpartition("/")[0] in folders:
                    self._skill(skill)
            for place in plugin.agents:
                self._agents(place)
                if place in self._files:
                    self._agent(place)

    def programs(self) -> None:
        """Take the skills in agent programs' folders."""
        for skill in self.skills.ordered:
            if skill.rpartition("/")[0] in _SKILLS:
                self._skill(skill)

    def folders_of_skills(self, own_name: str) -> None:
        """Take all other skills, but for those in another one."""
        taken: list[str] = []
        for folder in self.skills.ordered:
            parts = folder.split("/") if folder else []
            if len(parts) > SOURCES.skill_depth or parts[:1] == [".ai"]:
                continue
            if any(not above or folder.startswith(f"{above}/") for above in taken):
                continue  # attached to the skill around it
            taken.append(folder)
            self._skill(folder, own_name)

    def agents_of_programs(self, within: str, own_name: str) -> None:
        """Take the agents that programs would read, and those that people would copy there, but not those in a skill, which are
        its files."""
        if within.rpartition("/")[2] == AGENTS:
            self._agents("")
        inside = self.names.inside_skills()
        ranked = []
        no_agents = []
        for path in self._files:
            if path.count("/") <= SOURCES.skill_depth and not path.startswith((".ai/", *inside)):
                program = program_of(f"{within}/{path}")
                if program is not None:
                    ranked.append((list(BY_PROGRAM).index(program), rank(path), path, program))
                elif is_below_agents(f"{own_name}/{path}") and path not in self.names.places:
                    if describes_agent(self._texts.get(path, b"")):
                        ranked.append((len(BY_PROGRAM), rank(path), path, _PLAIN))
                    elif AGENTS in path.split("/"):
                        no_agents.append(path)
        for _, _, path, program in sorted(ranked):
            self._agent(path, program)
        if no_agents:
            self.notes.append(
                f"{len(no_agents)} Markdown files in folders of agents have no name and description, so they are no agents: "
                f"{shown(min(no_agents, key=rank), 200)}, for example"
                if len(no_agents) > 1
                else f"{shown(no_agents[0], 200)} has no name and description, so it is no agent"
            )

    def tell_of_others(self) -> None:
        """Note what else agent programs would read of this source, and Rye does not."""
        for_others = self.names.for_others
        if for_others:
            self.notes.append(
                f"{len(for_others)} agents are here for several programs, and taken once: "
                f"{shown(for_others[0])} is left out, for example"
            )
        if self.skills.withheld:
            path, target = min(self.skills.withheld.items())
            more = len(self.skills.withheld) - 1
            others = f", and {more} other link{'s' * (more > 1)}" if more else ""
            self.notes.append(
                f"{shown(path, 200)} is left out{others}: it is a link to {shown(target, 200)}, "
                f"which the {IGNORE_FILE} of its skill leaves out"
            )
        inside = self.names.inside_skills()
        left = [path for path in self._files if path not in self.names.places and not path.startswith(inside)]
        counted = _count_others(left)
        if counted is not None:
            self.notes.append(counted)

    def _skill(self, folder: str, own_name: str = "") -> None:
        place = f"{folder}/{MAIN}".removeprefix("/")
        name = folder.rpartition("/")[2] or own_name
        declared = declared_name(self._texts.get(place, b""))
        if declared is not None and declared != name and place not in self.names.places:
            self.renamed.append(f"the skill in {shown(folder or '.', 200)} is called {declared}, as its {MAIN} says")
        self.names.add("skill", declared or name, place)

    def _agents(self, folder: str) -> None:
        """Take all Markdown files of a folder, and those below a folder of the source that say they are agents."""
        for path in self.skills.directly_in(folder):
            self._agent(path)
        for path in sorted(self.skills.below(folder), key=rank) if folder else ():
            is_free = path not in self.names.places and not self.skills.hold(path)
            if is_free and is_text_of_agent(path) and describes_agent(self._texts.get(path, b"")):
                self._agent(path)

    def _agent(self, path: str, program: str = _PLAIN) -> None:
        """Take an agent's file. Plugins' agents are Claude Code's."""
        name = path.rpartition("/")[2]
        form = BY_PROGRAM[program]
        ending = next((ending for ending in form.endings if name.endswith(ending)), None)
        if ending is None or name.lower() == README:
            return
        declared = declared_name(self._texts.get(path, b"")) if form.named_by == "name" else None
        self.names.add(
            "agent",
            declared if declared == agent_id(declared or "") else agent_id(name.removesuffix(ending)),
            path,
            program,
        )


def _summaries(renamed: list[str], doubles: list[str]) -> list[str]:
    """Return the notes that there can be one of for each item, or how many there are."""
    notes = list(renamed) if len(renamed) <= _ONE_BY_ONE else []
    if not notes and renamed:
        what = f"{len(renamed)} skills are called what their {MAIN} says, not what their folders are called"
        notes.append(f"{what}: {renamed[0]}, for example (--list names all)")
    if len(doubles) <= _ONE_BY_ONE:
        return [*notes, *doubles]
    what = f"{len(doubles)} files are left out, since another item has their name"
    return [*notes, f"{what}: {doubles[0]}, for example (--list names all)"]


def _count_others(paths: Sequence[str]) -> str | None:
    """Return a note that counts those of the files, or None. ``paths``: the files that belong to no item."""
    counts = {what: sum(pattern.search(path) is not None for path in paths) for what, pattern in _OTHERS.items()}
    listed = ", ".join(f"{count} {what[count > 1]}" for what, count in counts.items() if count)
    return f"not installed, since Rye has no kind for them: {listed}" if listed else None
