"""Agents: YAML frontmatter and a System Prompt section (SPEC-0006; DECISIONS Agents).

====  ==========================================================================================================
Code  Rule (the number of the decision)
====  ==========================================================================================================
A01   Frontmatter: ``---`` on line 1 and again at its end, a YAML 1.2 mapping without duplicate keys.
A02   ``name``: the pattern; lower case, at most 64 characters and equal to the file's stem when publishing.
A03   ``displayName`` defaults to the name; ``whenToUse`` is a non-blank string or a list of strings.
A04   Whole numbers from 1 to 2^53−1; a null section is absent with a warning, a null scalar is an error.
A05   Unknown keys are kept with a warning; near-misses of known ones are errors.
A06   The prompt: one section "System Prompt", or the text before the first H2; with ``prompt: body`` the whole text.
A07   Transition targets: strings here, agents of the set in a closed set; ``complete`` is reserved.
A08   Tools: known ones; an unknown one is a warning here, an error in a closed set.
A09   No two files have the same name.
A10   Other types of the schema, ``version`` and ``dependencies``.
====  ==========================================================================================================

:mod:`rye.items.agent.closed_set` has the rules of the set, :mod:`rye.items.agent.prompt` those of the prompt.
"""

from __future__ import annotations

import re
from typing import Any

from rye.items.agent.model import KNOWN_TOOLS, TERMINAL, TRANSITIONS, Agent, unknown_tool_hint
from rye.items.agent.prompt import extract_prompt, whole_prompt
from rye.items.agent_tools import AgentTools, agent_tools
from rye.items.declared import dependencies_of, version_of
from rye.items.identity import is_segment
from rye.items.named import handed_to
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.items.runs import FRONTMATTER_KEYS, frontmatter_runs
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.frontmatter import FrontmatterError, split
from rye.text.spelling import near_miss
from rye.text.yaml_reading import YamlError, YamlFindings, json_safe, read_yaml

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TOP = (
    "name", "displayName", "whenToUse", "tools", "transitions", "limits", "provider", "metadata", "version", "dependencies",
    "prompt",
)  # fmt: skip
_TOOLS = ("allowed", "blocked", "bashFilter")
_FILTER = ("allowedCommands", "blockedPatterns")
LIMITS = ("maxIterations", "timeout", "maxTokens")
_PROVIDER = ("name", "model")
PROVIDERS = ("claude", "copilot")
_LARGEST = 2**53 - 1


class _AgentChecks(YamlFindings):
    """The checks that agents' rules share."""

    def keys(self, value: dict[str, Any], known: tuple[str, ...], *path: str) -> dict[str, Any]:
        """Report unknown keys (A05) and return them."""
        extra = {key: part for key, part in value.items() if key not in known}
        for key in extra:
            shown = ".".join((*path, key))
            meant = near_miss(key, known)
            if key in FRONTMATTER_KEYS and not path:
                continue
            if meant is None:
                self.report("warning", "A05", f"{shown} is not a known key of an agent; it is kept.", *path, key)
            else:
                self.report("error", "A05", f"{shown} is not a known key.", *path, key, hint=f"Did you mean {meant}?")
        return extra

    def section(self, value: dict[str, Any], key: str, *path: str) -> dict[str, Any] | None:
        """Return an optional mapping. Null counts as absent, with a warning (A04)."""
        shown = ".".join((*path, key))
        if key not in value:
            return None
        if value[key] is None:
            self.report("warning", "A04", f"{shown} is empty; it counts as absent.", *path, key)
            return None
        if not isinstance(value[key], dict):
            self.report("error", "A10", f"{shown} must be a mapping, not {_kind(value[key])}.", *path, key)
            return None
        return dict(value[key])

    def text(self, value: dict[str, Any], key: str, *path: str, code: str = "A10") -> str | None:
        """Return an optional string. Null is an error (DECISIONS Agents 12)."""
        if key not in value:
            return None
        part = value[key]
        if isinstance(part, str) and part.strip():
            return part
        shown = ".".join((*path, key))
        what = "blank" if isinstance(part, str) else _kind(part)
        self.report("error", code, f"{shown} must be a string, not {what}.", *path, key, hint=_quote_hint(part))
        return None

    def texts(self, value: dict[str, Any], key: str, *path: str) -> list[str] | None:
        """Return an optional list of strings."""
        if key not in value:
            return None
        part, shown = value[key], ".".join((*path, key))
        if not isinstance(part, list):
            message = f"{shown} must be a list of strings, not {_kind(part)}."
            self.report("error", "A10", message, *path, key, hint=f"Write {key}: [one, two].")
            return None
        for index, entry in enumerate(part):
            if not isinstance(entry, str) or not entry.strip():
                what = "blank" if isinstance(entry, str) else _kind(entry)
                message = f"{shown}[{index}] must be a string, not {what}."
                self.report("error", "A10", message, *path, key, index, hint=_quote_hint(entry))
        return [entry for entry in part if isinstance(entry, str) and entry.strip()]


def read(source: Source, options: ReadOptions) -> Reading[Agent]:
    """Read an agent's file. ``value`` is None if a required part is missing or malformed."""
    try:
        parts = split(source.text)
        document = read_yaml(parts.yaml, first_line=parts.yaml_line)
    except FrontmatterError as error:
        return Reading(None, None, (Diagnostic("error", "A01", error.message, error.line),))
    except YamlError as error:
        message = f"The frontmatter is not valid YAML: {error.message}."
        return Reading(None, None, (Diagnostic("error", "A01", message, error.line, error.column, error.hint),))
    if not isinstance(document.value, dict):
        what = "empty" if document.value is None else _kind(document.value)
        message = f"The frontmatter must be a mapping, not {what}."
        return Reading(None, None, (Diagnostic("error", "A01", message, parts.yaml_line),))
    checks = _AgentChecks(document)
    data = document.value
    extra = checks.keys(data, _TOP)
    name = _name(data, source, options, checks)
    when = _when_to_use(data, checks)
    display = checks.text(data, "displayName", code="A03")
    tools = _tools(data, options, checks)
    transitions = _transitions(data, checks)
    limits = _limits(data, checks)
    provider = _provider(data, checks)
    metadata = _metadata(data, checks)
    if _is_body(data, checks):
        prompt, findings = whole_prompt(parts.body, parts.body_line)
    else:
        prompt, findings = extract_prompt(parts.body, parts.body_line)
    nested = metadata or {}
    where = ("metadata",) if nested.get("version") is not None else ()
    version = version_of(
        nested.get("version") if where else data.get("version"),
        "A10",
        ".".join((*where, "version")),
        document.line(*where, "version"),
        checks.found,
    )
    line_of = document.line
    dependencies = (
        *dependencies_of(nested.get("dependencies"), "A10", line_of, checks.found, "metadata", "dependencies"),
        *dependencies_of(data.get("dependencies"), "A10", line_of, checks.found, "dependencies"),
    )
    diagnostics = in_order((*checks.found, *findings))
    if name is None or when is None or transitions is None or prompt is None:
        return Reading(None, None, diagnostics)
    lines = {key: document.line("transitions", key) for key in transitions} | {"name": document.line("name")}
    allowed = (tools or {}).get("allowed")
    listed = allowed if isinstance(allowed, list) else []
    lines |= {f"tool:{tool}": document.line("tools", "allowed", index) for index, tool in enumerate(listed)}
    agent = Agent(
        name=name,
        display_name=display or name,
        when_to_use=when,
        transitions=transitions,
        system_prompt=prompt,
        tools=tools,
        limits=limits,
        provider=provider,
        metadata=metadata,
        version=version,
        extra=extra,
        lines=lines,
    )
    described = " ".join(when.split())
    known = Metadata(
        name=name,
        version=version,
        description=described,
        dependencies=dependencies,
        agent_tools=_restricted(tools),
        runs=frontmatter_runs(data),
        names=handed_to(
            "agent", ((name, lines.get(key)) for key, name in agent.targets.items() if name in agent.requires)
        ),
    )
    return Reading(agent, known, diagnostics)


def _is_body(data: dict[str, Any], checks: _AgentChecks) -> bool:
    """Whether the whole text is the prompt (DECISIONS Agents 13)."""
    if "prompt" in data and data["prompt"] != "body":
        checks.report("error", "A06", "prompt can only be `body`: the whole text is the prompt.", "prompt")
    return data.get("prompt") == "body"


def _name(data: dict[str, Any], source: Source, options: ReadOptions, checks: _AgentChecks) -> str | None:
    if "name" not in data:
        checks.report(
            "error", "A02", "name is missing.", hint="Add `name: my-agent`, matching the file's name without .md."
        )
        return None
    name = checks.text(data, "name", code="A02")
    if name is None:
        return None
    if not _NAME.fullmatch(name):
        message = f"name {name!r} must be a letter followed by letters, digits, '-' and '_' (ASCII)."
        checks.report("error", "A02", message, "name")
        return None
    if name.lower() == TERMINAL:
        message = f"An agent cannot be named {name!r}: that is the state that ends a run."
        checks.report("error", "A07", message, "name")
    severity: Severity = "error" if options.publishing else "warning"
    if name != name.lower():
        checks.report(
            severity, "A02", f"name {name!r} must be lower case to be published.", "name", hint=f"Use {name.lower()}."
        )
    elif len(name) <= 64 and not is_segment(name):
        checks.report(severity, "A02", f"name {name!r} is reserved on some systems and cannot be published.", "name")
    if len(name) > 64:
        checks.report(
            severity, "A02", f"name has {len(name)} characters; to be published, it can have at most 64.", "name"
        )
    if source.name is not None and name != source.name:
        message = f"name {name!r} does not match the file's name {source.name!r}."
        checks.report(severity, "A02", message, "name", hint=f"Rename the file to {name}.md, or change the name.")
    return name


def _when_to_use(data: dict[str, Any], checks: _AgentChecks) -> str | None:
    if "whenToUse" not in data:
        checks.report("error", "A03", "whenToUse is missing.", hint="Say when to choose this agent.")
        return None
    value = data["whenToUse"]
    if isinstance(value, list):
        wrong = [index for index, entry in enumerate(value) if not isinstance(entry, str)]
        for index in wrong:
            message = f"whenToUse[{index}] must be a string, not {_kind(value[index])}."
            checks.report("error", "A03", message, "whenToUse", index, hint=_quote_hint(value[index]))
        if wrong:
            return None
        value = "\n".join(value)
    if not isinstance(value, str) or not value.strip():
        what = "blank" if isinstance(value, str) else _kind(value)
        message = f"whenToUse must be a string or a list of strings, not {what}."
        checks.report("error", "A03", message, "whenToUse", hint=_quote_hint(value))
        return None
    return value


def _tools(data: dict[str, Any], options: ReadOptions, checks: _AgentChecks) -> dict[str, Any] | None:
    tools = checks.section(data, "tools")
    if tools is None:
        return None
    checks.keys(tools, _TOOLS, "tools")
    allowed, blocked = checks.texts(tools, "allowed", "tools"), checks.texts(tools, "blocked", "tools")
    known = {*KNOWN_TOOLS, *options.tools}
    for key, names in (("allowed", allowed), ("blocked", blocked)):
        for index, tool in enumerate(names or ()):
            if tool not in known:
                hint = unknown_tool_hint(tool, known)
                checks.report(
                    "warning", "A08", f"Unknown tool {tool!r} in tools.{key}.", "tools", key, index, hint=hint
                )
    for index, tool in enumerate(blocked or ()):
        if tool in (allowed or ()):
            message = f"{tool!r} is both allowed and blocked."
            checks.report("warning", "A08", message, "tools", "blocked", index)
    bash = checks.section(tools, "bashFilter", "tools")
    if bash is None:
        tools.pop("bashFilter", None)
    else:
        checks.keys(bash, _FILTER, "tools", "bashFilter")
        for key in _FILTER:
            checks.texts(bash, key, "tools", "bashFilter")
        if (allowed is not None and "Bash" not in allowed) or "Bash" in (blocked or ()):
            message = "tools.bashFilter has no effect: Bash is not allowed."
            checks.report("warning", "A08", message, "tools", "bashFilter")
    return tools


def _restricted(tools: dict[str, Any] | None) -> AgentTools:
    """The tools and their restrictions. The lists may be malformed; entries that are not strings are ignored."""
    section = tools or {}
    bash = section.get("bashFilter") or {}

    def texts(value: Any) -> list[str]:
        return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []

    allowed = section.get("allowed")
    return agent_tools(
        None if allowed is None else texts(allowed),
        texts(section.get("blocked")),
        texts(bash.get("allowedCommands")),
        texts(bash.get("blockedPatterns")),
    )


def _transitions(data: dict[str, Any], checks: _AgentChecks) -> dict[str, Any] | None:
    value = data.get("transitions")
    if not isinstance(value, dict):
        what = "is missing" if "transitions" not in data else f"must be a mapping, not {_kind(value)}"
        hint = f"Add `transitions:` with `onSuccess:`, the next agent's name or {TERMINAL!r}."
        checks.report("error", "A07", f"transitions {what}.", "transitions", hint=hint)
        return None
    checks.keys(value, TRANSITIONS, "transitions")
    ok = True
    if "onSuccess" not in value:
        hint = f"Set it to the next agent's name or {TERMINAL!r}."
        checks.report("error", "A07", "transitions.onSuccess is missing.", "transitions", hint=hint)
        ok = False
    for key in TRANSITIONS:
        ok &= key not in value or checks.text(value, key, "transitions", code="A07") is not None
    return dict(value) if ok else None


def _limits(data: dict[str, Any], checks: _AgentChecks) -> dict[str, Any] | None:
    limits = checks.section(data, "limits")
    if limits is None:
        return None
    checks.keys(limits, LIMITS, "limits")
    for key in LIMITS:
        if key not in limits:
            continue
        number = limits[key]
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _LARGEST:
            shown = limits[key] if isinstance(limits[key], int | float) else _kind(limits[key])
            message = f"limits.{key} must be a whole number from 1 to 2^53−1, not {str(shown).lower()}."
            checks.report("error", "A04", message, "limits", key)
        else:
            limits[key] = number
    return limits


def _provider(data: dict[str, Any], checks: _AgentChecks) -> dict[str, Any] | None:
    provider = checks.section(data, "provider")
    if provider is None:
        return None
    checks.keys(provider, _PROVIDER, "provider")
    checks.text(provider, "model", "provider")
    if "name" not in provider:
        checks.report("error", "A10", "provider.name is missing.", "provider", hint="Use claude or copilot.")
    elif provider["name"] not in PROVIDERS:
        message = "provider.name must be claude or copilot."
        checks.report("error", "A10", message, "provider", "name")
    return provider


def _metadata(data: dict[str, Any], checks: _AgentChecks) -> dict[str, Any] | None:
    metadata = checks.section(data, "metadata")
    if metadata is None:
        return None
    if "category" in metadata:
        checks.text(metadata, "category", "metadata")
    if "tags" in metadata:
        checks.texts(metadata, "tags", "metadata")
    priority = metadata.get("priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int | float):
        message = f"metadata.priority must be a number, not {_kind(priority)}."
        checks.report("error", "A10", message, "metadata", "priority")
    return metadata


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return {"str": "a string", "list": "a list", "dict": "a mapping"}.get(type(value).__name__, "something else")


def _quote_hint(value: Any) -> str | None:
    return "Put it in quotes to make it a string." if isinstance(value, int | float) else None


def as_json(agent: Agent) -> dict[str, object]:
    """Return the fields for ``rye show`` (DESIGN §9). Sections have the file's keys."""
    return {
        "name": agent.name,
        "display_name": agent.display_name,
        "when_to_use": agent.when_to_use,
        "tools": json_safe(agent.tools),
        "transitions": json_safe(agent.transitions),
        "requires": list(agent.requires),
        "limits": json_safe(agent.limits),
        "provider": json_safe(agent.provider),
        "metadata": json_safe(agent.metadata),
        "system_prompt": agent.system_prompt,
        "extra": json_safe(agent.extra),
    }


def prompt(agent: Agent, text: str) -> str:
    """Return the System Prompt section."""
    return agent.system_prompt


def template(name: str, category: str = "", author: str | None = None) -> str:
    """Return the file that ``rye new agent NAME`` writes: valid, ready to be filled in."""
    title = name.replace("-", " ").replace("_", " ").title()
    return f"""---
name: {name}
displayName: {title}

whenToUse: |
  Use this agent when:
  - the situation it is made for comes up

tools:
  allowed: [Read, Glob, Grep]

transitions:
  onSuccess: {TERMINAL}

limits:
  maxIterations: 10
  timeout: 60000

metadata:
  version: 0.1.0
---

# {title}

One sentence about what this agent is for.

## System Prompt

You are the {title}. Say what to do, in which order, and when the work is done.

### Constraints

- Say what must not happen.
"""
