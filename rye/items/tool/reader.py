"""Tools: code or YAML that contains its own metadata (DESIGN §1). Never executed.

====  =========================================================================================================
Code  Rule
====  =========================================================================================================
T01   The code parses as far as reading its metadata requires; the file's suffix determines the language; Python is UTF-8.
T02   Metadata are strings, each set once; ``version`` is SemVer, ``dependencies`` a list of references.
T03   Version, category and description are present (warnings).
T04   Category and name match the file's path (warnings; errors when publishing).
T05   Everything in ``__needs__`` can be granted (:mod:`rye.items.needs`).
====  =========================================================================================================

Tools have no capabilities of their own; their callers decide what they can do.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from msgspec import Struct, field

from rye.items.declared import dependencies_of, version_of
from rye.items.identity import is_segment
from rye.items.needs import NOTHING, BadNeeds, Needs, parse_needs
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.items.runs import code_run, needs_runs
from rye.items.tool.metadata import CodeMetadata, ToolSyntaxError, from_python, from_script, from_shell
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.yaml_reading import YamlError, hidden_by_escape, json_safe, read_yaml

LANGUAGES = {".py": "python", ".js": "javascript", ".ts": "typescript", ".sh": "shell", ".yaml": "yaml"}
_SHEBANGS = (("python", "python"), ("node", "javascript"), ("deno", "typescript"), ("bash", "shell"), ("sh", "shell"))
_DESCRIPTION = ("tool_description", "description")


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. ``metadata`` has every constant or YAML key that was found, without surrounding underscores."""

    name: str
    language: str
    version: str | None
    category: str | None
    description: str
    metadata: dict[str, Any] = field(default_factory=dict)
    needs: Needs = NOTHING
    """``__needs__``: what it cannot work without. Only the operator can grant it."""


def read(source: Source, options: ReadOptions) -> Reading[Tool]:
    """Read a tool's file. ``value`` is None if the code does not parse."""
    language = _language(source)
    if language is None:
        hint = f"Tool files end in {', '.join(LANGUAGES)}."
        return Reading(None, None, (Diagnostic("error", "T01", "The language is unknown.", hint=hint),))
    try:
        found = _constants(source.text, language)
    except ToolSyntaxError as error:
        message = f"The metadata cannot be read, because the file is not valid {language}: {error.message}."
        return Reading(None, None, (Diagnostic("error", "T01", message, error.line),))
    except YamlError as error:
        message = f"The file is not valid YAML: {error.message}."
        return Reading(None, None, (Diagnostic("error", "T01", message, error.line, error.column, error.hint),))
    diagnostics = [Diagnostic("error", "T02", f"{name} is set twice.", line) for name, line in found.repeated]

    def written(key: str) -> str:
        return key if language == "yaml" else f"__{key}__"

    def line_of(*path: str | int) -> int | None:
        return found.lines.get(str(path[0]))

    def text(key: str) -> str | None:
        value = found.values.get(key)
        if isinstance(value, str) and (hidden := hidden_by_escape(value)):
            message = f"{written(key)} cannot be used: {hidden}."
            diagnostics.append(Diagnostic("error", "T02", message, found.lines[key]))
            return None
        if value is None and key not in found.lines:
            return None
        if not isinstance(value, str) or not value.strip():
            diagnostics.append(Diagnostic("error", "T02", f"{written(key)} must be a plain string.", found.lines[key]))
            return None
        return value.strip()

    raw_version = found.values.get("version")
    if "version" in found.lines and raw_version is None:
        message = f"{written('version')} must be a plain string."
        diagnostics.append(Diagnostic("error", "T02", message, found.lines["version"]))
    version = version_of(raw_version, "T02", written("version"), found.lines.get("version"), diagnostics)
    category = text("category")
    description = next((value for key in _DESCRIPTION if (value := text(key)) is not None), None)
    dependencies = dependencies_of(found.values.get("dependencies"), "T02", line_of, diagnostics, "dependencies")
    keys = {"version": version or raw_version, "category": category, "description": description}
    for key, value in keys.items():
        given = _DESCRIPTION if key == "description" else (key,)
        if value is None and not any(each in found.lines for each in given):
            named = written("tool_description" if key == "description" and language != "yaml" else key)
            diagnostics.append(Diagnostic("warning", "T03", f"{named} is missing."))
    name = source.name or PurePath(source.path).stem or "tool"
    diagnostics += _placed(source, options, name, category, found)
    needs = NOTHING
    if "needs" in found.lines:
        try:
            needs = parse_needs(found.values["needs"])
        except BadNeeds as error:
            message = f"{written('needs')} cannot be read: {error}."
            diagnostics.append(Diagnostic("error", "T05", message, found.lines["needs"]))
    metadata = {key: value for key, value in found.values.items() if value is not None}
    tool = Tool(
        name=name,
        language=language,
        version=version,
        category=category,
        description=description or "",
        metadata=metadata,
        needs=needs,
    )
    described = Metadata(
        name=name,
        version=version,
        description=" ".join((description or "").split()),
        category=category,
        dependencies=dependencies,
        runs=(code_run(source.text, f"{name}{PurePath(source.path).suffix}", language), *needs_runs(needs.lines())),
    )
    return Reading(tool, described, in_order(diagnostics))


def _language(source: Source) -> str | None:
    known = LANGUAGES.get(PurePath(source.path).suffix)
    if known or not source.text.startswith("#!"):
        return known
    first = source.text.split("\n", 1)[0]
    return next((language for word, language in _SHEBANGS if word in first), None)


def _constants(text: str, language: str) -> CodeMetadata:
    if language == "python":
        return from_python(text)
    if language == "shell":
        return from_shell(text)
    if language != "yaml":
        return from_script(text)
    document = read_yaml(text)
    if not isinstance(document.value, dict):
        raise YamlError("a tool must be a mapping", 1)
    found = CodeMetadata()
    for key, value in document.value.items():
        found.put(key, value, document.line(key))
    return found


def _placed(
    source: Source, options: ReadOptions, name: str, category: str | None, found: CodeMetadata
) -> list[Diagnostic]:
    severity: Severity = "error" if options.publishing else "warning"
    out: list[Diagnostic] = []
    if source.name is not None and not is_segment(name):
        message = f"The file's name {name!r} is not a valid item name: use a-z, 0-9, '-' and '_'."
        out.append(Diagnostic(severity, "T04", message))
    if category is not None and source.category is not None and category.strip("/") != source.category:
        message = f"The category is {category!r}, but the file is in {source.category!r}."
        out.append(
            Diagnostic(
                severity, "T04", message, found.lines.get("category"), hint="Move the file or change the category."
            )
        )
    identifier = found.values.get("tool_id")
    if isinstance(identifier, str) and source.name is not None and identifier.split("/")[-1] != source.name:
        message = f"tool_id {identifier!r} does not end with the file's name {source.name!r}."
        out.append(Diagnostic(severity, "T04", message, found.lines.get("tool_id")))
    return out


def as_json(tool: Tool) -> dict[str, object]:
    """Return the fields for ``rye show``."""
    return {
        "name": tool.name,
        "language": tool.language,
        "version": tool.version,
        "category": tool.category,
        "description": tool.description,
        "metadata": json_safe(tool.metadata),
        "needs": {"write": list(tool.needs.write), "network": list(tool.needs.network), "env": list(tool.needs.env)},
    }


def template(name: str, category: str = "tools", author: str | None = None) -> str:
    """Return the file that ``rye new tool NAME`` writes (Python)."""
    return f'''"""What the tool does."""

__version__ = "0.1.0"
__category__ = "{category}"
__tool_description__ = "What the tool does, in one sentence"


def execute(params: dict) -> dict:
    """Do it; ``params`` is what the caller passed as parameters."""
    return {{"ok": True, "params": params}}
'''
