"""The agent programs that ``rye deploy`` supports, one row each (docs/how-to/extending.md says how to add one).

A row lists the places in a project, or in a home folder, for files that Rye writes for the program. Packages
lower than :mod:`rye.deployment` need only this: rye.toml can name these programs, and the record of an interrupted run can
name these places. The row's module knows what a program reads and how to write an item for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

STATE = ".ai/deploy.lock"
"""The record of deployed files (:mod:`rye.deployment.state`)."""


ATTRIBUTES = ".gitattributes"
"""In ``.ai`` and in the folders that items are deployed to, Rye has a block in it (:mod:`rye.installation.git_attributes`)."""


class AgentProgram(Struct, frozen=True):
    """One row. Paths are relative to the project or the home folder, with ``/``."""

    name: str
    """The name in ``--target`` and ``[deploy]``."""
    module: str
    """Its adapter module, which defines ``TARGET`` (:class:`rye.deployment.targets.protocol.Target`)."""
    folders: tuple[str, ...]
    """Folders in which Rye creates files."""
    files: tuple[str, ...] = ()
    """Files in which Rye owns one block or key."""


_SHARED = (".agents/skills", ".agents/knowledge")

PROGRAMS: tuple[AgentProgram, ...] = (
    AgentProgram(
        "claude",
        "rye.deployment.targets.claude",
        (".claude/skills", ".claude/agents", ".agents/knowledge"),
        ("CLAUDE.md", ".claude/CLAUDE.md"),
    ),
    AgentProgram(
        "codex", "rye.deployment.targets.codex", (*_SHARED, ".codex/agents"), ("AGENTS.md", ".codex/AGENTS.md")
    ),
    AgentProgram(
        "copilot", "rye.deployment.targets.copilot", (*_SHARED, ".github/agents", ".copilot/agents"), ("AGENTS.md",)
    ),
    AgentProgram("cursor", "rye.deployment.targets.cursor", (*_SHARED, ".cursor/agents"), ("AGENTS.md",)),
    AgentProgram(
        "gemini", "rye.deployment.targets.gemini", (*_SHARED, ".gemini/agents"), ("GEMINI.md", ".gemini/GEMINI.md")
    ),
    AgentProgram(
        "opencode",
        "rye.deployment.targets.opencode",
        (*_SHARED, ".opencode/agents", ".config/opencode/agents"),
        (
            "AGENTS.md",
            ".config/opencode/AGENTS.md",
            "opencode.json",
            "opencode.jsonc",
            ".config/opencode/opencode.json",
            ".config/opencode/opencode.jsonc",
        ),
    ),
)
"""In display order. A file that several programs read belongs to the first one that uses it."""

SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
"""One part of the path of a file that Rye writes: not hidden, no characters that are special to a file system."""


def program_names() -> tuple[str, ...]:
    """The names of all programs."""
    return tuple(program.name for program in PROGRAMS)


def is_deploy_place(path: str) -> bool:
    """Whether a deploy may write the file. The adapter decides which of these a row of the state file may name."""
    return _pattern(PROGRAMS).fullmatch(path) is not None


def attribute_folders() -> list[str]:
    """The folders at the root of a project in which the files of a deploy are."""
    return sorted({folder.partition("/")[0] for program in PROGRAMS for folder in program.folders})


def is_attributes_file(path: str) -> bool:
    """Whether it is a ``.gitattributes`` in which Rye can have a block."""
    folder, _, name = path.rpartition("/")
    return name == ATTRIBUTES and (folder == ".ai" or folder in attribute_folders())


def is_shared_file(path: str) -> bool:
    """Whether the file belongs to someone else and Rye only adds an entry to it."""
    return any(path in program.files for program in PROGRAMS)


def is_made_place(path: str) -> bool:
    """Whether a deploy can have created it, and may remove it once it is empty: a folder (``.claude/``), a file, or an object in
    a file (``opencode.json#/mcp``)."""
    if not path.endswith("/"):
        return is_shared_file(path.partition("#")[0])
    if any(folder.startswith(path) for program in PROGRAMS for folder in (*program.folders, *program.files)):
        return True
    return path.rstrip("/") == path[:-1] and is_deploy_place(f"{path}x")


@lru_cache(maxsize=8)
def _pattern(programs: Iterable[AgentProgram]) -> re.Pattern[str]:
    folders = sorted({re.escape(folder) for program in programs for folder in program.folders})
    files = sorted({re.escape(file) for program in programs for file in program.files})
    return re.compile(rf"(?:{'|'.join(folders)})(?:/{SEGMENT})+|{'|'.join((re.escape(STATE), *files))}")
