"""How each agent program writes an agent: one table for both directions, deploying and reading. Pure.

``rye deploy`` writes these words (:mod:`rye.deployment.targets`); an agent that a source has in a program's own form is read by
the same ones (:mod:`rye.items.agent.conversion`). A new program is a row here, besides those of its adapter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

READ_ONLY = frozenset(("Read", "Glob", "Grep"))
ALL_FILES = READ_ONLY | {"Write", "Edit", "Bash"}


class ProgramForm(Struct, frozen=True, kw_only=True):
    """One program's form of an agent."""

    program: str
    title: str
    """The program's name as its makers write it."""
    places: str
    """A regular expression: its agents' files, from some folder of a repository."""
    endings: tuple[str, ...] = (".md",)
    """What follows the agent's name in its file's name."""
    named_by: Literal["name", "file"] = "name"
    """Whether the program goes by the name in the file, or by the file's."""
    tools: Mapping[str, tuple[str, ...]] = {}
    """Its words for tools of the agent format; none: it uses the format's."""
    sandboxes: Mapping[str, frozenset[str] | None] = {}
    """Where an agent has a sandbox instead: its words, and the tools that fit into it; None: all."""
    turns: str = ""
    """Its key for the maximum number of turns, if it has one."""
    models_of: str | None = None
    """The provider whose model names it accepts."""


_MARKDOWN = r"(?:[^/]+/)*[^/]+\.md"

FORMS: tuple[ProgramForm, ...] = (
    ProgramForm(
        program="claude",
        title="Claude Code",
        places=rf"\.claude/agents/{_MARKDOWN}",
        turns="maxTurns",
        models_of="claude",
    ),
    ProgramForm(
        program="copilot",
        title="Copilot",
        places=r"[^/]+\.agent\.md|\.github/agents/[^/]+\.md",
        endings=(".agent.md", ".md"),
        named_by="file",
        tools={
            "read": ("Read",),
            "edit": ("Write", "Edit"),
            "search": ("Glob", "Grep"),
            "execute": ("Bash",),
            "web": ("WebFetch", "WebSearch"),
        },
        models_of="copilot",
    ),
    ProgramForm(
        program="opencode",
        title="OpenCode",
        places=rf"\.opencode/agents?/{_MARKDOWN}",
        named_by="file",
        tools={
            "read": ("Read",),
            "edit": ("Write", "Edit"),
            "glob": ("Glob",),
            "grep": ("Grep",),
            "bash": ("Bash",),
            "webfetch": ("WebFetch",),
            "websearch": ("WebSearch",),
        },
        turns="steps",
    ),
    ProgramForm(
        program="gemini",
        title="Gemini CLI",
        places=r"\.gemini/agents/[^/]+\.md",
        tools={
            "read_file": ("Read",),
            "write_file": ("Write",),
            "replace": ("Edit",),
            "glob": ("Glob",),
            "grep_search": ("Grep",),
            "run_shell_command": ("Bash",),
            "web_fetch": ("WebFetch",),
            "google_web_search": ("WebSearch",),
        },
        turns="max_turns",
    ),
    ProgramForm(
        program="codex",
        title="Codex",
        places=r"\.codex/agents/[^/]+\.toml",
        endings=(".toml",),
        sandboxes={"read-only": READ_ONLY, "workspace-write": ALL_FILES, "danger-full-access": None},
    ),
    ProgramForm(
        program="cursor",
        title="Cursor",
        places=r"\.cursor/agents/[^/]+\.md",
        sandboxes={"true": READ_ONLY, "false": None},
    ),
)
"""In the order in which a source's agents count, if it has one for several programs."""


BY_PROGRAM: Mapping[str, ProgramForm] = {form.program: form for form in FORMS}


def program_of(path: str) -> str | None:
    """Return the program that reads an agent at this path of a repository, or None."""
    return next((form.program for form in FORMS if _pattern(form.places).search(path) is not None), None)


@cache
def _pattern(places: str) -> re.Pattern[str]:
    return re.compile(f"(?:^|/)(?:{places})$")
