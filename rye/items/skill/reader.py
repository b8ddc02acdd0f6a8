"""Skills: ``SKILL.md`` with YAML frontmatter; the other files of its folder are attached (Agent Skills; DECISIONS Skills).

====  =========================================================================================================
Code  Rule
====  =========================================================================================================
S01   Frontmatter as for agents, a mapping. Scalars are strings as written (``version: 1.10`` is "1.10"). Constructs that the
      reference validator refuses are errors: flow collections, anchors, aliases, duplicate keys, tags, merge keys (``<<``).
S02   ``name``: 1 to 64 lower-case letters, digits and single inner hyphens; matches the folder's name.
S03   ``description``: 1 to 1024 characters, not blank.
S04   ``compatibility`` 1 to 500 characters; ``license`` and ``allowed-tools`` strings; ``metadata`` a map of strings.
S05   Unknown keys are warnings. ``hooks`` and ``mcpServers`` are known: they say what the skill runs (DECISIONS Skills 5).
S06   ``metadata.version``: SemVer; ``1.0`` reads as 1.0.0; ``metadata.dependencies`` a list of references.
S07   A relative link to a file that is not attached: a warning, an error when publishing; one to another skill: a warning.
S08   More than 500 lines: information.
S09   An attached file that a program obeys, or that a text passes to an interpreter: information (``rye validate``).
====  =========================================================================================================

As in the reference, names can have letters of any script that has no case or is lower case. Such a skill is valid but cannot be
published, because registry names are ASCII. ``allowed-tools`` are shown as tools of the agent and never translated into rights.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct, field

from rye.items.agent_tools import agent_tools
from rye.items.declared import dependencies_of, version_of
from rye.items.identity import is_segment, nearest_segment
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.items.runs import FRONTMATTER_KEYS, frontmatter_runs, inline_runs
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.frontmatter import FrontmatterError, split
from rye.text.markdown_links import Link, links
from rye.text.markdown_outline import outline
from rye.text.spelling import near_miss
from rye.text.yaml_reading import YamlError, YamlFindings, read_yaml

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools", *FRONTMATTER_KEYS)
_MERGE = "<<"
"""YAML 1.1 puts the keys of this key's value in its place. A reader of YAML 1.2 sees one unknown key."""
_NAME_CHARACTERS, _DESCRIPTION_CHARACTERS, _COMPATIBILITY_CHARACTERS = 64, 1024, 500
_ADVISED_LINES = 500
_FOLDER_WORDS = ("{baseDir}", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}")
"""Placeholders that agent programs replace with the skill's folder."""
_MODEL_CHOICE = {"model": "id", "effort": "effort"}
"""Agent programs' own keys that choose the model, and what an agent's and a directive's choice calls the same."""
_REFUSED_TOOLS = "disallowed-tools"
_RESTRICTIONS = ("disable-model-invocation", _REFUSED_TOOLS, "context", "agent")
"""Agent programs' own keys that restrict: who starts the skill, with which tools, and which agent works on it apart."""
_UNRESTRICTED = ("", "false", "no", "off")
_TOOL = re.compile(r"(?:[^\s(),]|\([^()\n]*\))+")


class Skill(Struct, frozen=True, kw_only=True):
    """One skill's ``SKILL.md``."""

    name: str
    description: str
    body: str
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    version: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """The targets of relative links in the body, as paths from the skill's folder."""
    model_choice: dict[str, str] = field(default_factory=dict)
    """Which model an agent program takes, and its effort: by keys that the format does not have, and that programs obey."""
    restrictions: dict[str, frozenset[str]] = field(default_factory=dict)
    """What keeps an agent program from using it, or keeps it from using something, by key: likewise. The words of a value; more
    of them restrict more."""


class _SkillChecks(YamlFindings):
    def text(self, data: dict[str, Any], key: str, code: str, how: Severity) -> str | None:
        value = data.get(key)
        if key not in data or isinstance(value, str):
            return value
        self.report(how, code, f"{key} must be a string.", key)
        return None


def read(source: Source, options: ReadOptions) -> Reading[Skill]:
    """Read a ``SKILL.md``. ``value`` is None if the frontmatter, name or description is not usable."""
    try:
        parts = split(source.text)
        document = read_yaml(parts.yaml, first_line=parts.yaml_line, schema="strings")
    except FrontmatterError as error:
        return Reading(None, None, (Diagnostic("error", "S01", error.message, error.line),))
    except YamlError as error:
        message = f"The frontmatter is not valid YAML: {error.message}."
        return Reading(None, None, (Diagnostic("error", "S01", message, error.line, error.column, error.hint),))
    data = document.value
    if not isinstance(data, dict):
        return Reading(None, None, (Diagnostic("error", "S01", "The frontmatter must be a mapping.", parts.yaml_line),))
    checks = _SkillChecks(document)
    for feature, line in dict.fromkeys(document.features):
        is_flow = feature == "flow collection"
        message = f"A YAML {feature} is not allowed: the reference validator of skills refuses it."
        hint = "Write lists and maps as indented lines." if is_flow else "Write the value out."
        how: Severity = "warning" if is_flow and options.foreign else "error"
        checks.found.append(Diagnostic(how, "S01", message, line, hint=hint))
    for key in data:
        if key == _MERGE:
            message = (
                "A YAML merge key is not allowed: other readers of skills take what is below it for keys of the skill."
            )
            checks.report("error", "S01", message, key, hint="Write the keys out.")
        elif key not in _KEYS:
            meant = near_miss(key, _KEYS)
            hint = f"Did you mean {meant}?" if meant else "Move it under metadata."
            checks.report("warning", "S05", f"{key} is not a known key of a skill.", key, hint=hint)
    name = _name(data, source, options, checks)
    description = _description(data, options, checks)
    how_strict: Severity = "warning" if options.foreign else "error"
    compatibility = checks.text(data, "compatibility", "S04", how_strict)
    if compatibility is not None and not 1 <= len(compatibility) <= _COMPATIBILITY_CHARACTERS:
        message = f"compatibility has {len(compatibility)} characters; it must have 1 to {_COMPATIBILITY_CHARACTERS}."
        checks.report(how_strict, "S04", message, "compatibility")
    licence = checks.text(data, "license", "S04", how_strict)
    allowed = _allowed_tools(data, checks)
    metadata = _metadata(data, checks)
    at = ("metadata", "version")
    version = version_of(metadata.get("version"), "S06", ".".join(at), document.line(*at), checks.found)
    listed = metadata.get("dependencies")
    if isinstance(listed, str):
        listed = listed.split()
    line_of = document.line
    dependencies = dependencies_of(listed, "S06", line_of, checks.found, "metadata", "dependencies")
    wanted = _check_links(parts.body, parts.body_line, source, options, checks.found)
    count = source.text.removesuffix("\n").count("\n") + 1
    if count > _ADVISED_LINES:
        message = f"Agents load all {count} lines. Beyond {_ADVISED_LINES}, move reference material into other files."
        checks.found.append(Diagnostic("info", "S08", message))
    if name is None or description is None:
        return Reading(None, None, in_order(checks.found))
    skill = Skill(
        name=name,
        description=description,
        body=parts.body.strip(),
        license=licence,
        compatibility=compatibility,
        allowed_tools=allowed,
        version=version,
        metadata=metadata,
        links=tuple(wanted),
        model_choice={_MODEL_CHOICE[key]: _written(data[key]) for key in _MODEL_CHOICE if key in data},
        restrictions={
            key: _restricting(key, data[key])
            for key in _RESTRICTIONS
            if key in data and _written(data[key]).casefold() not in _UNRESTRICTED
        },
    )
    described = Metadata(
        name=name,
        version=version,
        description=" ".join(description.split()),
        dependencies=dependencies,
        agent_tools=agent_tools(allowed) if allowed else None,
        licence=(licence or "").strip() or None,
        # Some readers end the frontmatter at the first ``---`` anywhere, so the rest of it is body to them.
        runs=(*frontmatter_runs(data), *inline_runs(source.text, "SKILL.md")),
    )
    return Reading(skill, described, in_order(checks.found))


def _written(value: Any) -> str:
    """A frontmatter value of any form as one text, to compare."""
    return value.strip() if isinstance(value, str) else repr(value)


def _restricting(key: str, value: Any) -> frozenset[str]:
    """The words of a restriction: each tool of a list of tools, or else the value."""
    if key != _REFUSED_TOOLS:
        return frozenset((_written(value),))
    entries = value if isinstance(value, list) else [value]
    return frozenset(tool for entry in entries for tool in _TOOL.findall(_written(entry)))


def _name(data: dict[str, Any], source: Source, options: ReadOptions, checks: _SkillChecks) -> str | None:
    value = data.get("name")
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if "name" not in data else "must be a non-blank string"
        checks.report("error", "S02", f"name {what}.", "name", hint="Use the folder's name.")
        return None
    name = unicodedata.normalize("NFKC", value.strip())
    how: Severity = "warning" if options.foreign else "error"
    if len(name) > _NAME_CHARACTERS:
        checks.report(how, "S02", f"name has {len(name)} characters; at most {_NAME_CHARACTERS} are allowed.", "name")
    if name != name.lower():
        checks.report(how, "S02", f"name {name!r} must be lower case.", "name")
    if name.startswith("-") or name.endswith("-"):
        checks.report(how, "S02", "name must not start or end with a hyphen.", "name")
    if "--" in name:
        checks.report(how, "S02", "name must not have two hyphens in a row.", "name")
    if not all(character.isalnum() or character == "-" for character in name):
        checks.report(how, "S02", f"name {name!r} can have only letters, digits and hyphens.", "name")
    elif not is_segment(name) and name == name.lower() and len(name) <= _NAME_CHARACTERS and name[0] != "-":
        severity: Severity = "error" if options.publishing else "warning"
        hint = "Registry names consist of a-z, 0-9 and hyphens, and cannot be Windows device names."
        checks.report(severity, "S02", f"name {name!r} cannot be published.", "name", hint=hint)
    if options.foreign and source.name is not None and nearest_segment(name) in ("", source.name):
        return source.name
    if source.name is not None and unicodedata.normalize("NFKC", source.name) != name:
        message = f"name {name!r} does not match the folder's name {source.name!r}."
        checks.report("error", "S02", message, "name", hint=f"Rename the folder to {name}.")
    return name


def _description(data: dict[str, Any], options: ReadOptions, checks: _SkillChecks) -> str | None:
    value = data.get("description")
    if not isinstance(value, str) or not value.strip():
        what = "is missing" if "description" not in data else "must be a non-blank string"
        hint = "Say what the skill does and when to use it."
        checks.report("error", "S03", f"description {what}.", "description", hint=hint)
        return None
    if len(value) > _DESCRIPTION_CHARACTERS:
        message = f"description has {len(value)} characters; at most {_DESCRIPTION_CHARACTERS} are allowed."
        checks.report("warning" if options.foreign else "error", "S03", message, "description")
    return value.strip()


def _allowed_tools(data: dict[str, Any], checks: _SkillChecks) -> tuple[str, ...]:
    value = data.get("allowed-tools")
    if "allowed-tools" not in data:
        return ()
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        hint = "Write one line: allowed-tools: Read Bash(git:*)."
        checks.report("warning", "S04", "allowed-tools should be one string, not a list.", "allowed-tools", hint=hint)
        return tuple(dict.fromkeys(entry.strip() for entry in value if entry.strip()))
    if not isinstance(value, str):
        checks.report("error", "S04", "allowed-tools must be a string.", "allowed-tools")
        return ()
    return tuple(dict.fromkeys(_TOOL.findall(value)))


def _metadata(data: dict[str, Any], checks: _SkillChecks) -> dict[str, Any]:
    value = data.get("metadata")
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        checks.report("error", "S04", "metadata must be a map of strings.", "metadata")
        return {}
    for key, part in value.items():
        if not isinstance(part, str) and key != "dependencies":
            message = f"metadata.{key} should be a string: metadata is a map of strings."
            checks.report("warning", "S04", message, "metadata", key)
    return dict(value)


def _check_links(
    body: str, first_line: int, source: Source, options: ReadOptions, found: list[Diagnostic]
) -> list[str]:
    """Check S07. Return the targets of relative links. Links that leave the folder are always findings."""
    severity: Severity = "error" if options.publishing else "warning"
    wanted: dict[str, None] = {}
    for link in links(outline(body)):
        if not link.relative:
            continue
        path = inside(link)
        sibling = _sibling(link) if path is None else None
        if sibling is not None:
            message = (
                f"The link {link.destination!r} leads to another skill, which may not be installed next to this one."
            )
            hint = f"Depend on it: list skill:NAMESPACE/{sibling} under metadata.dependencies, and refer to it by name."
            found.append(Diagnostic("warning", "S07", message, link.line + first_line, link.column, hint))
        elif path is None:
            message = f"The link {link.destination!r} leaves the skill's folder."
            found.append(Diagnostic(severity, "S07", message, link.line + first_line, link.column))
        elif path:
            wanted[path] = None
            if source.attached is not None and not is_attached(path, source.attached):
                message = f"The link {link.destination!r} does not lead to an attached file."
                hint = "Add the file, or change the link; hidden and ignored files are not attached."
                found.append(Diagnostic(severity, "S07", message, link.line + first_line, link.column, hint))
    return list(wanted)


def inside(link: Link) -> str | None:
    """Return the target of a relative link as a path from the skill's folder; None if it is outside the folder."""
    parts: list[str] = []
    for part in _parts(link):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part == "/":
            return None
        else:
            parts.append(part)
    return "/".join(parts)


def _parts(link: Link) -> tuple[str, ...]:
    """The segments of the path, without a leading placeholder for the skill's folder (DECISIONS Skills 4)."""
    path = link.path.replace("\\", "/")
    for word in _FOLDER_WORDS:
        if path == word or path.startswith(f"{word}/"):
            path = path[len(word) :].lstrip("/")
    return PurePosixPath(path).parts


def _sibling(link: Link) -> str | None:
    """The skill in an adjacent folder that a link leads to, or None."""
    below: list[str] = [""]  # this skill's folder
    for part in _parts(link):
        if part != "..":
            below.append(part)
        elif not below:
            return None
        else:
            below.pop()
    return below[0] if below and below[0] and is_segment(below[0]) else None


def is_attached(path: str, attached: tuple[str, ...]) -> bool:
    """Whether the path is an attached file, ``SKILL.md`` itself, or a folder that contains one."""
    return path == "SKILL.md" or path in attached or any(name.startswith(path + "/") for name in attached)


def as_json(skill: Skill) -> dict[str, object]:
    """Return the fields for ``rye show``."""
    return {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "allowed_tools": list(skill.allowed_tools),
        "version": skill.version,
        "metadata": skill.metadata,
        "links": list(skill.links),
        "body": skill.body,
    }


def prompt(skill: Skill, text: str) -> str:
    """Return the Markdown below the frontmatter."""
    return skill.body.strip("\n")


def template(name: str, category: str = "", author: str | None = None) -> str:
    """Return the ``SKILL.md`` that ``rye new skill NAME`` writes in a folder of that name."""
    title = name.replace("-", " ").title()
    return f"""---
name: {name}
description: What the skill does, and when an agent should use it.
metadata:
  version: "0.1.0"
---

# {title}

1. Say what to do first.
"""
