"""Checklists: YAML frontmatter with a list of tasks, and Markdown that says what they are for."""

from __future__ import annotations

from msgspec import Struct

from rye.items.declared import dependencies_of, version_of
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic, in_order
from rye.text.frontmatter import FrontmatterError, split
from rye.text.yaml_reading import YamlError, read_yaml


class Checklist(Struct, frozen=True):
    """What to tick off before something is done."""

    name: str
    tasks: tuple[str, ...]
    body: str


def read(source: Source, options: ReadOptions) -> Reading[Checklist]:
    """Read a checklist, or report what is wrong with it."""
    try:
        parts = split(source.text)
        document = read_yaml(parts.yaml, first_line=parts.yaml_line)
    except (FrontmatterError, YamlError) as error:
        return Reading(None, None, (Diagnostic("error", "X01", error.message, error.line),))
    data, found = document.value, list[Diagnostic]()
    tasks = data.get("tasks") if isinstance(data, dict) else None
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, str) for task in tasks):
        found.append(Diagnostic("error", "X02", "tasks must be a list of strings.", document.line("tasks")))
        return Reading(None, None, tuple(found))
    name = str(data.get("name"))
    if source.name is not None and name != source.name:
        found.append(Diagnostic("error", "X03", f"name {name!r} is not the file's.", document.line("name")))
    version = version_of(data.get("version"), "X04", "version", document.line("version"), found)
    dependencies = dependencies_of(data.get("dependencies"), "X05", document.line, found, "dependencies")
    metadata = Metadata(
        name=name, version=version, description=str(data.get("description", "")), dependencies=dependencies
    )
    return Reading(Checklist(name, tuple(tasks), parts.body.strip()), metadata, in_order(found))


def as_json(checklist: Checklist) -> dict[str, object]:
    """What `rye show --json` prints."""
    return {"name": checklist.name, "tasks": list(checklist.tasks), "body": checklist.body}


def prompt(checklist: Checklist, text: str) -> str:
    """What an agent gets."""
    return "\n".join((checklist.body, "", *(f"[ ] {task}" for task in checklist.tasks)))


def template(name: str, category: str = "", author: str | None = None) -> str:
    """What `rye new` writes."""
    return f"""---
name: {name}
version: 0.1.0
description: What the list is for
tasks:
  - Say what has to be done
---

Tick off every task.
"""
