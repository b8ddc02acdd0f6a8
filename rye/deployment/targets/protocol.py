"""What a target is: a table of places and one function, both pure. Everything that programs have in common is in
:mod:`rye.deployment.rendering`.

A new program is one module with ``TARGET`` and one row in :data:`rye.project.agent_programs.PROGRAMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Literal, cast

from msgspec import Struct

from rye.deployment.request import Scope
from rye.deployment.rights import Rights
from rye.errors import UsageError
from rye.project.agent_programs import PROGRAMS, program_names
from rye.text.spelling import close_words

Form = Literal["markdown", "json"]
"""How Rye keeps something in a file of somebody else's: a block between comments, or keys."""
Code = Literal[
    "deploy-conflict",
    "deploy-drift",
    "deploy-inexpressible",
    "deploy-widening",
    "deploy-name-clash",
    "deploy-too-large",
    "deploy-shadowed",
    "deploy-manual",
    "deploy-unknown-target",
    "deploy-outside",
]


class Places(Struct, frozen=True):
    """Where a program reads in one scope, relative to the project or the home folder."""

    detected_by: tuple[str, ...]
    """Files and folders that show that the program is used here."""
    skills: str
    agents: str
    agent_suffix: str
    knowledge: str = ".agents/knowledge"
    index: str | None = None
    """The file with text for every session, which gets the block about knowledge; None: the program has none here."""
    index_bytes: int | None = None
    """How much of that file the program reads; None: all of it."""
    settings: tuple[str, ...] = ()
    """The file that gets keys for servers; where the first is not there and another is, that one."""


class TargetOptions(Struct, frozen=True):
    """How one item is written for one target."""

    scope: Scope
    name: str
    """What the item is called there."""


class Server(Struct, frozen=True):
    """The server that a bound agent has for its only tools."""

    name: str
    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """Says the server whether the agent really has no other tools, so that each run's start can say it."""


class AgentDraft(Struct, frozen=True):
    """An agent that a program is told about; which kind of item it comes from makes no difference."""

    name: str
    description: str
    body: str
    mark: str
    """The text of the comment in a generated file."""
    rights: Rights
    server: Server | None = None
    """Set for a bound agent: its only tools. ``rights`` then says nothing."""
    turns: int | None = None
    limits: tuple[str, ...] = ()
    """Limits that no program takes, e.g. ``timeout 60000``."""
    model: str | None = None
    """The model that the item asks for, as it was written."""
    model_of: str | None = None
    """The program that the model's name belongs to."""


class Widening(Struct, frozen=True):
    """What a deploy would allow beyond what the item says, or beyond what was agreed to at install."""

    field: str
    code: Literal["deploy-widening", "deploy-inexpressible"]
    message: str
    value: str
    """What exactly is agreed to: with another value it is another question."""


class Refusal(Struct, frozen=True):
    """Why an item cannot be written for a target at all."""

    field: str
    code: Code
    message: str


class OutFile(Struct, frozen=True):
    """One whole file."""

    path: str
    data: bytes
    executable: bool = False


class SharedEdit(Struct, frozen=True):
    """Something of ours in a file of somebody else's."""

    paths: tuple[str, ...]
    """The file; the first of these that is there, else the first."""
    form: Form
    key: tuple[str, ...]
    """Of ``json``: the key. Of ``markdown``: what entries are sorted by."""
    text: str
    """Of ``json``: the value as JSON on one line. Of ``markdown``: the entry's line."""


class AgentText(Struct, frozen=True):
    """What one target makes of a draft."""

    data: bytes | None
    """None: it cannot be written."""
    widenings: tuple[Widening, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    edits: tuple[SharedEdit, ...] = ()


class Rendered(Struct, frozen=True):
    """What one target makes of one item."""

    files: tuple[OutFile, ...] = ()
    shared_edits: tuple[SharedEdit, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    widenings: tuple[Widening, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know: limits that are dropped, and that an agent inherits every tool."""


class Target(Struct, frozen=True):
    """One agent program."""

    name: str
    title: str
    """As its makers write it."""
    adapter: str
    """``NAME/N``; N grows when the same item is written in another way."""
    tried: str
    """The version of the program that the adapter was tried with."""
    places: Mapping[Scope, Places]
    agent: Callable[[AgentDraft, TargetOptions], AgentText]
    says_turns: bool = False
    """Whether it has a word for the most turns of an agent."""
    models_of: str | None = None
    """Whose models' names it takes."""
    most_agent_characters: int | None = None
    binding: Literal["exclusive", "advisory"] = "exclusive"
    """Whether a bound agent really has no other tools."""
    settings_hooks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where the program's own project settings name hooks: file and key."""
    settings_servers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where they name servers: file and key."""


def target(name: str) -> Target:
    """The target of that name. Raises UsageError ``deploy-unknown-target``."""
    row = next((program for program in PROGRAMS if program.name == name), None)
    if row is None:
        names = program_names()
        near = close_words(name, names)
        hint = f"Did you mean {near[0]!r}?" if near else f"Targets: {', '.join(names)}."
        raise UsageError("deploy-unknown-target", f"{name!r} is not a target.", hint)
    return cast("Target", import_module(row.module).TARGET)


def all_targets() -> list[Target]:
    """Every target, in the table's order."""
    return [target(name) for name in program_names()]
