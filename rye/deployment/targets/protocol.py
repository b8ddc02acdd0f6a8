"""The interface of a target: a table of places and one function, both pure. Everything that programs have in common is in
:mod:`rye.deployment.rendering`.

A new program is one module with ``TARGET`` and one row in :data:`rye.project.agent_programs.PROGRAMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Literal, cast

from msgspec import Struct

from rye.deployment.request import Scope
from rye.deployment.rights import AgentRights
from rye.deployment.targets.active_syntax import ActiveSyntax
from rye.errors import UsageError
from rye.items.agent.program_forms import ProgramForm
from rye.project.agent_programs import PROGRAMS, program_names
from rye.text.spelling import close_words

Form = Literal["markdown", "json"]
"""How Rye keeps an entry in a shared file: as a block between comments, or as keys."""
Code = Literal[
    "deploy-conflict",
    "deploy-drift",
    "deploy-inexpressible",
    "deploy-widening",
    "deploy-name-clash",
    "deploy-too-large",
    "deploy-shadowed",
    "deploy-manual",
    "deploy-outside",
]


class Places(Struct, frozen=True, kw_only=True):
    """Where a program reads files in one scope, relative to the project or the home folder."""

    detected_by: tuple[str, ...]
    """Files and folders whose presence means that the program is used here."""
    skills: str
    agents: str
    agent_suffix: str
    knowledge: str = ".agents/knowledge"
    index: str | None = None
    """The instructions file for every session, which gets the block about knowledge; None: the program has none here."""
    index_bytes: int | None = None
    """How many bytes of that file the program reads; None: all."""
    settings: tuple[str, ...] = ()
    """The possible files for the servers' keys: the first that exists, otherwise the first."""


class TargetOptions(Struct, frozen=True):
    """The options for writing one item for one target."""

    scope: Scope
    name: str
    """The item's name in the program."""


class Server(Struct, frozen=True):
    """The server that provides a bound agent's only tools."""

    name: str
    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """Tells the server whether the agent really has no other tools, so that each run can report it."""


class AgentDraft(Struct, frozen=True, kw_only=True):
    """An agent to write for a program, independent of the kind of item that it comes from."""

    name: str
    description: str
    body: str
    mark: str
    """The text of the comment in a generated file."""
    rights: AgentRights
    server: Server | None = None
    """For a bound agent: the server with its only tools. ``rights`` is unused then."""
    turns: int | None = None
    limits: tuple[str, ...] = ()
    """Limits that no program supports, such as ``timeout 60000``."""
    model: str | None = None
    """The model that the item asks for, as written."""
    model_of: str | None = None
    """The program that the model's name belongs to."""


class Widening(Struct, frozen=True):
    """What a deploy would allow beyond what the item says, or what was agreed to at install."""

    field: str
    code: Literal["deploy-widening", "deploy-inexpressible"]
    message: str
    value: str
    """What exactly is agreed to: a different value needs a new agreement."""


class Refusal(Struct, frozen=True):
    """Why an item cannot be written for a target."""

    field: str
    code: Code
    message: str


class OutFile(Struct, frozen=True):
    """One whole file."""

    path: str
    data: bytes
    executable: bool = False


class SharedEdit(Struct, frozen=True):
    """An entry of ours in a shared file."""

    paths: tuple[str, ...]
    """The possible files: the first that exists, otherwise the first."""
    form: Form
    key: tuple[str, ...]
    """For ``json``: the key. For ``markdown``: the sort key of the entry."""
    text: str
    """For ``json``: the value as JSON on one line. For ``markdown``: the entry's line."""


class AgentText(Struct, frozen=True):
    """What a target writes for a draft."""

    data: bytes | None
    """None: it cannot be written."""
    widenings: tuple[Widening, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    edits: tuple[SharedEdit, ...] = ()


class RenderedFiles(Struct, frozen=True):
    """What a target writes for an item."""

    files: tuple[OutFile, ...] = ()
    shared_edits: tuple[SharedEdit, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    widenings: tuple[Widening, ...] = ()
    notes: tuple[str, ...] = ()
    """What a person should know, such as limits that were left out."""


class Target(Struct, frozen=True, kw_only=True):
    """One agent program."""

    form: ProgramForm
    """Its words for an agent, which reading its agents uses, too."""
    adapter: str
    """``NAME/N``; N increases when the same item is written differently."""
    tried: str
    """The version of the program that the adapter was tested with."""
    places: Mapping[Scope, Places]
    agent: Callable[[AgentDraft, TargetOptions], AgentText]
    most_agent_characters: int | None = None
    own_agents: tuple[str, ...] = ()
    """The names of the agents that the program brings, in the version that it was tried with, in lower case."""
    own_skills: tuple[str, ...] = ()
    """The same of skills."""
    active: tuple[ActiveSyntax, ...] = ()
    """What the program acts on in the texts that it reads."""
    settings_hooks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where the program's project settings list hooks: file and key."""
    settings_servers: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Where they list servers: file and key."""

    @property
    def name(self) -> str:
        """The name in ``--target`` and ``[deploy]``."""
        return self.form.program

    @property
    def title(self) -> str:
        """The program's name as its makers write it."""
        return self.form.title


def target(name: str) -> Target:
    """Return the target with this name. Raises UsageError ``unknown-name``."""
    row = next((program for program in PROGRAMS if program.name == name), None)
    if row is None:
        names = program_names()
        near = close_words(name, names)
        hint = f"Did you mean {near[0]!r}?" if near else f"Targets: {', '.join(names)}."
        if "," in name and set(listed := name.split(",")) <= set(names):
            hint = f"Name each by itself: {' '.join(f'--target {each}' for each in listed)}."
        raise UsageError("unknown-name", f"{name!r} is not a target.", hint, what="target")
    return cast("Target", import_module(row.module).TARGET)


def all_targets() -> list[Target]:
    """Return all targets, in the order of the table."""
    return [target(name) for name in program_names()]
