"""Renders one item for one target: the part that all programs share (docs/how-to/agents.md has the table). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from msgspec.structs import replace

from rye.deployment.items import Argument, DeployableItem, ItemFile
from rye.deployment.names import names_for
from rye.deployment.rights import AgentRights, rights_of
from rye.deployment.targets.active_syntax import Active, ActiveSyntax, active_in, inert, named_files
from rye.deployment.targets.protocol import (
    AgentDraft,
    AgentText,
    OutFile,
    Places,
    Refusal,
    RenderedFiles,
    Server,
    SharedEdit,
    Target,
    TargetOptions,
    Widening,
    all_targets,
)
from rye.deployment.written_forms import MARK, frontmatter, one_line, sentences
from rye.items.agent.model import Agent
from rye.items.autorun import folded, obeyed
from rye.items.consented import Run
from rye.items.directive.model import Directive
from rye.items.formula.model import Formula
from rye.items.knowledge import Knowledge
from rye.items.role.model import Role
from rye.items.runs import inline_runs
from rye.items.skill.reader import Skill
from rye.limits import DEPLOY
from rye.text.frontmatter import has_frontmatter
from rye.text.yaml_error import YamlError
from rye.text.yaml_reading import json_safe, read_yaml

BINDING = "RYE_BINDING"
"""The variable from which `rye mcp serve` reads the binding (:mod:`rye.mcp.serving`)."""


def bound_server(name: str, identifier: str, version: str) -> Server:
    """Return the server entry for one directive. ``name``: the agent's name in the program.

    It says that the agent has no other tools: a program that cannot ensure that gets no bound agents.

    Each server has a unique name. With a shared name, another server of the session could take its place, and the agent would
    get that server's rights.
    """
    arguments = ("mcp", "serve", "--as", f"{identifier}@{version}")
    return Server(f"rye-{name}", "rye", arguments, {BINDING: "exclusive"})


_INVOKED = "When This Agent Is Invoked"


def slot(item: DeployableItem) -> str | None:
    """Return the target's folder for the item: ``skills``, ``agents`` or ``knowledge``; None if it is not deployed."""
    match item.value:
        case Skill() | Formula():
            return "skills"
        case Agent() | Role():
            return "agents"
        case Directive():
            return "agents" if item.executes else "skills"
        case Knowledge():
            return "knowledge"
    return None


def render(target: Target, item: DeployableItem, options: TargetOptions) -> RenderedFiles:
    """Return the files and edits for an item, the widenings they need, and refusals and notes."""
    rendered = _rendered(target, item, options)
    if options.name in own_names(target).get(slot(item) or "", ()):
        rendered = replace(rendered, widenings=(*rendered.widenings, _replaced(target, item, options.name)))
    if isinstance(item.value, Skill):
        return rendered  # its files have the names that were agreed to; overrides cannot add such names
    refusals = [refusal for file in rendered.files if (refusal := _obeyed(file.path)) is not None]
    return replace(rendered, refusals=(*rendered.refusals, *refusals))


def own_names(target: Target) -> dict[str, tuple[str, ...]]:
    """Return the names of what the program brings itself, by the target's folder."""
    return {"agents": target.own_agents, "skills": target.own_skills}


def _replaced(target: Target, item: DeployableItem, name: str) -> Widening:
    what = "skill" if slot(item) == "skills" else "agent"
    message = f"{target.title} {target.tried} has its own {what} {name!r}, and this one would take its place or stand beside it."
    other = names_for(item.identity.kind, item.identity.id)[-1]
    if other != name:
        message += f' prefix = "on-clash" in [deploy] calls it {other!r} instead.'
    return Widening("name", "deploy-widening", message, f"{what} {name}")


def _rendered(target: Target, item: DeployableItem, options: TargetOptions) -> RenderedFiles:
    places = target.places[options.scope]
    match item.value:
        case Skill():
            return _skill(item, item.value, places, options)
        case Agent():
            return _agent(target, item, _agent_draft(item, item.value, options), options)
        case Role():
            return _agent(target, item, _role_draft(item, item.value, options), options)
        case Directive():
            if item.executes:
                return _agent(target, item, _bound_draft(target, item, item.value, options), options)
            return _wrapper(item, places, options)
        case Formula():
            if not item.body:
                return RenderedFiles(notes=("this formula has no steps and is only part of other formulas",))
            return _wrapper(item, places, options)
        case Knowledge():
            return _knowledge(item, item.value, places)
    return RenderedFiles()


def mark(item: DeployableItem) -> str:
    """Return the text of the comment in a generated file."""
    customized = " with customizations" if item.is_customized else ""
    return f"{MARK} {item.label}@{item.version}{customized}"


# -- what programs act on ----------------------------------------------------------------------------------------------


def _obeyed(path: str) -> Refusal | None:
    """Refuse a file whose name, in lower case, some program reads as its instructions: many file systems ignore case."""
    name = path.rpartition("/")[2]
    row = obeyed(name, builds=False)
    if row is None:
        return None
    message = f"{path} would have a name that counts without being asked for: {name} is read by {row.obeyed_by}."
    return Refusal("name", "deploy-inexpressible", message)


def _acts_on(target: Target, field: str, found: Active) -> Refusal:
    message = f"{target.title} acts on {found.syntax.shown} in this text ({found.words!r}): it {found.syntax.does}."
    return Refusal(field, "deploy-inexpressible", message)


@cache
def _every_syntax() -> tuple[ActiveSyntax, ...]:
    """Return what any program acts on: ``AGENTS.md`` and its like are read by several, and imported by each other."""
    return tuple(dict.fromkeys(one for target in all_targets() for one in target.active))


# -- skills ------------------------------------------------------------------------------------------------------------

_RUNS = {
    "frontmatter-hook": ("hooks", "start a command when something happens"),
    "mcp-server": ("mcpServers", "starts a server"),
    "inline-command": ("inline commands", "run whenever the skill is loaded"),
}


def _skill(item: DeployableItem, skill: Skill, places: Places, options: TargetOptions) -> RenderedFiles:
    folder = f"{places.skills}/{options.name}"
    main, *attached = item.files
    own = OutFile(f"{folder}/{main.path}", _marked(item) if item.is_reworded else main.data)
    files = (own, *(OutFile(f"{folder}/{file.path}", file.data, file.executable) for file in attached))
    widenings = []
    if skill.allowed_tools:
        tools = " ".join(skill.allowed_tools)
        message = f"allowed-tools makes the agent program use {tools} without asking."
        widenings.append(Widening("allowed-tools", "deploy-widening", message, tools))
    widenings += _starts(item.metadata.runs)
    widenings += _named(item.text)
    widenings += _depended(attached) if places.skills == _SKILLS_OF_CODEX else ()
    return RenderedFiles(files, widenings=tuple(widenings))


_SKILLS_OF_CODEX = ".agents/skills"
_OF_CODEX = "agents/openai.yaml"


def _depended(files: Iterable[ItemFile]) -> list[Widening]:
    """Return the widening for the servers that a skill has Codex start: it writes them into its user's own settings, without a
    question where it may do everything, and otherwise asks by name alone. A file that cannot be read counts as it is."""
    for file in files:
        if folded(file.path) != _OF_CODEX:
            continue
        text = file.data.decode("utf-8", "replace")
        try:
            value = read_yaml(text).value
        except YamlError:
            value = {"dependencies": text}
        depends = value.get("dependencies") if isinstance(value, dict) else value
        if depends:
            written = json.dumps(json_safe(depends), ensure_ascii=False, sort_keys=True)
            message = f"{file.path} makes Codex install servers: {one_line(written, 400)}"
            return [Widening("dependencies", "deploy-widening", message, written)]
    return []


def _starts(runs: Sequence[Run]) -> list[Widening]:
    """Return the widenings for what an agent program starts by itself when it has the skill."""
    widenings = []
    for what, (field, says) in _RUNS.items():
        alike = [run for run in runs if run.what == what]
        if alike:
            shown = "; ".join(f"{run.where}: {one_line(run.action, 200)}" for run in alike)
            value = "\n".join(f"{run.where} {run.sha256}" for run in alike)
            widenings.append(Widening(field, "deploy-widening", f"{field} {says}: {shown}", value))
    return widenings


def _wrapper(item: DeployableItem, places: Places, options: TargetOptions) -> RenderedFiles:
    """Write a text as a skill. Programs execute the inline commands of every skill, whatever kind of item it was written as."""
    body = _with_inputs(item)
    description = one_line(item.metadata.description or options.name, DEPLOY.description_characters)
    text = frontmatter(mark(item), {"name": options.name, "description": description}, body)
    files = (OutFile(f"{places.skills}/{options.name}/SKILL.md", text),)
    widenings = (*_starts(inline_runs(text.decode(), "SKILL.md")), *_named(text.decode()))
    return RenderedFiles(files, widenings=widenings)


def _named(text: str) -> list[Widening]:
    """Return the widening for the files that a skill's text adds to the conversation. For every target: ``.agents/skills`` is
    read by programs that do so and by others."""
    paths = named_files(text)
    if not paths:
        return []
    shown = one_line(", ".join(f"@{path}" for path in paths), 400)
    message = f"Programs add the content of these files whenever the skill is loaded: {shown}"
    return [Widening("named files", "deploy-widening", message, "\n".join(paths))]


def _with_inputs(item: DeployableItem) -> str:
    """Return the body, followed by a list of the inputs that it refers to by name."""
    named = [argument for argument in item.arguments if f"<{argument.name}>" in item.body]
    return f"{item.body}\n\n{_inputs(named)}" if named else item.body


def _inputs(arguments: Sequence[Argument]) -> str:
    lines = [f"- `<{argument.name}>`: {one_line(argument.description, 300)}".rstrip(": ") for argument in arguments]
    return "\n".join(["## Inputs", "", "Take these from the request; ask for what is missing.", "", *lines])


# -- agents ------------------------------------------------------------------------------------------------------------


def _agent(target: Target, item: DeployableItem, draft: AgentDraft, options: TargetOptions) -> RenderedFiles:
    places = target.places[options.scope]
    made = target.agent(draft, options)
    refusals = [*made.refusals, *_acted_on(target, draft, made)]
    most = target.most_agent_characters
    if most is not None and len(draft.body) > most:
        message = f"Its text has {len(draft.body):,} characters; the limit of {target.title} is {most:,}."
        refusals.append(Refusal("body", "deploy-too-large", message))
    notes = list(made.notes)
    if draft.server is None and draft.rights.everything:
        notes.append(f"has all tools: it does not list any, so {target.title} gives it every tool")
    if isinstance(item.value, Agent) and item.metadata.runs:
        left = ", ".join(sorted({run.where for run in item.metadata.runs}))
        notes.append(f"{left} in its source were left out: agents are deployed without their hooks and servers")
    dropped = [*draft.limits]
    if draft.turns is not None and not (target.form.turns and draft.server is None):
        dropped.insert(0, f"maxIterations {draft.turns}")
    if draft.model is not None and (draft.model_of is None or draft.model_of != target.form.models_of):
        dropped.append(f"model {draft.model}")
    if dropped:
        what = "it" if len(dropped) == 1 else "them"
        notes.append(f"written without its {', '.join(dropped)}: {target.title} has no setting for {what}")
    files: tuple[OutFile, ...] = ()
    if made.data is not None:
        files = (OutFile(f"{places.agents}/{options.name}{places.agent_suffix}", made.data),)
    return RenderedFiles(files, made.edits, tuple(refusals), made.widenings, tuple(notes))


def _acted_on(target: Target, draft: AgentDraft, made: AgentText) -> Iterator[Refusal]:
    """Yield refusals for what the program would act on in the agent's text, and in what it reads as settings."""
    found = active_in(draft.body, target.active, "agent")
    if found is not None:
        yield _acts_on(target, "body", found)
    server = draft.server
    settings = [text for edit in made.edits for text in (*edit.key, edit.text)]
    settings += [server.name, server.command, *server.arguments, *server.environment.values()] if server else []
    found = active_in("\n".join(settings), target.active, "settings")
    if found is not None:
        yield _acts_on(target, "server", found)


def _agent_draft(item: DeployableItem, agent: Agent, options: TargetOptions) -> AgentDraft:
    limits = agent.limits or {}
    provider = agent.provider or {}
    turns = limits.get("maxIterations")
    model = provider.get("model")
    return AgentDraft(
        name=options.name,
        description=one_line(sentences(agent.when_to_use), DEPLOY.description_characters),
        body=item.body,
        mark=mark(item),
        rights=rights_of(item.metadata.agent_tools),
        turns=turns if isinstance(turns, int) else None,
        limits=tuple(f"{name} {limits[name]}" for name in ("timeout", "maxTokens") if name in limits),
        model=model if isinstance(model, str) else None,
        model_of=provider.get("name") if isinstance(provider.get("name"), str) else None,
    )


def _role_draft(item: DeployableItem, role: Role, options: TargetOptions) -> AgentDraft:
    invoked = role.section(_INVOKED)
    said = " ".join(part for part in (role.tagline or "", invoked.text if invoked is not None else "") if part)
    description = one_line(said or role.name, DEPLOY.description_characters)
    return AgentDraft(name=options.name, description=description, body=item.body, mark=mark(item), rights=AgentRights())


def _bound_draft(target: Target, item: DeployableItem, directive: Directive, options: TargetOptions) -> AgentDraft:
    limits = tuple(f"{name} {value}" for name, value in directive.limits.items())
    return AgentDraft(
        name=options.name,
        description=one_line(item.metadata.description or options.name, DEPLOY.description_characters),
        body=_with_inputs(item),
        mark=mark(item),
        rights=AgentRights(()),
        server=bound_server(options.name, item.identity.id, item.version),
        limits=limits,
        model=directive.model.tier if directive.model is not None else None,
    )


# -- knowledge ---------------------------------------------------------------------------------------------------------


def _knowledge(item: DeployableItem, knowledge: Knowledge, places: Places) -> RenderedFiles:
    path = f"{places.knowledge}/{item.identity.id}.md"
    data = _marked(item) if item.is_customized else item.files[0].data
    edits: tuple[SharedEdit, ...] = ()
    if places.index is not None:
        described = one_line(item.metadata.description, DEPLOY.listed_characters)
        title, said = inert(knowledge.title, _every_syntax()), inert(described, _every_syntax())
        line = f"- **{title}** (`{path}`){f': {said}' if said else ''}"
        edits = (SharedEdit((places.index,), "markdown", (item.identity.id,), line),)
    return RenderedFiles((OutFile(path, data),), edits)


def _marked(item: DeployableItem) -> bytes:
    """Return the effective text with the mark, placed so that the frontmatter stays valid."""
    if has_frontmatter(item.text):
        first, _, rest = item.text.partition("\n")
        return f"{first}\n# {mark(item)}\n{rest}".encode()
    return f"<!-- {mark(item)} -->\n{item.text}".encode()
