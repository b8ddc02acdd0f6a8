"""What a file's path and its first lines say: whether it may be an agent's, and what it is called."""

from __future__ import annotations

import re

from rye.items.agent.program_forms import BY_PROGRAM, program_of
from rye.items.identity import is_segment, nearest_segment
from rye.limits import SOURCES
from rye.sources.inventory.skill_folders import MAIN

AGENTS = "agents"
"""The name of a folder with one Markdown file per agent, in a plugin or as a whole source."""
README = "readme.md"


def is_text_of_agent(path: str) -> bool:
    """Whether it is text that is neither a skill nor about the folder it is in."""
    name = path.rpartition("/")[2]
    return name.endswith((".md", ".toml")) and name != MAIN and name.lower() != README


def is_below_agents(path: str) -> bool:
    """Whether it is a Markdown file of no hidden folder below one that is called ``agents``."""
    folders = path.split("/")[:-1]
    return (
        AGENTS in folders
        and path.endswith(".md")
        and is_text_of_agent(path)
        and not any(folder.startswith(".") for folder in folders[folders.index(AGENTS) :])
    )


def is_named_agent(path: str, own_name: str) -> bool:
    """Whether it can be an agent that is called what its file says."""
    if not is_text_of_agent(path):
        return False
    if "/" not in path or is_below_agents(f"{own_name}/{path}"):
        return True
    program = program_of(path)
    return program is not None and BY_PROGRAM[program].named_by == "name"


_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^name:[ \t]+(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\"'#\n]+?))[ \t]*(?:[ \t]#.*)?$", re.MULTILINE)
_TOML_NAME = re.compile(r"^name[ \t]*=[ \t]*(?:\"([^\"\\\n]*)\"|'([^'\n]*)')[ \t]*$", re.MULTILINE)
_OF_AGENT = (re.compile(r"^name:[ \t]*\S", re.MULTILINE), re.compile(r"^description:[ \t]*\S", re.MULTILINE))


def declared_name(data: bytes) -> str | None:
    """Return the part of an id for the name that a skill's or an agent's frontmatter declares, if anything is left of it. It is
    compared with the whole file before the item is used (:func:`rye.sources.item.judge`)."""
    head = _head(data)
    opened = _FRONTMATTER.match(head)
    named = _NAME.search(opened[1]) if opened is not None else _TOML_NAME.search(head)
    word = nearest_segment(next(filter(None, named.groups()), "")) if named is not None else ""
    return word if is_segment(word) else None


def describes_agent(data: bytes) -> bool:
    """Whether a Markdown file has a name and a description in its frontmatter."""
    opened = _FRONTMATTER.match(_head(data))
    return opened is not None and all(key.search(opened[1]) for key in _OF_AGENT)


def _head(data: bytes) -> str:
    return data[: SOURCES.name_bytes].decode("utf-8", "replace").replace("\r\n", "\n").removeprefix("\ufeff")
