"""Knowledge: Markdown with its metadata in a leading ``yaml`` fence or in frontmatter (DESIGN §1).

====  =========================================================================================================
Code  Rule
====  =========================================================================================================
K01   Metadata: frontmatter from line 1, or a ``yaml`` fence as the first thing after the signature line.
K02   Types: ``name`` is required, ``tags`` and ``references`` are lists of strings, ``version`` is SemVer.
K03   Title, entry type, category and version are present (warnings); near-misses of known keys are warnings.
K04   Name and category match the file's path (warnings; errors when publishing).
K05   There is text below the metadata.
K06   In a folder: a reference by bare name that matches none of its items (notice: the item may be elsewhere).
====  =========================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from rye.items.declared import dependencies_of, version_of
from rye.items.identity import is_segment, lookup_key
from rye.items.reading import Metadata, Reading, ReadOptions, Source
from rye.text.diagnostics import Diagnostic, Severity, in_order
from rye.text.frontmatter import Frontmatter, FrontmatterError, has_frontmatter, split
from rye.text.markdown_opening import leading_fence
from rye.text.spelling import near_miss
from rye.text.yaml_reading import YamlDocument, YamlError, json_safe, read_yaml

_KEYS = (
    "name", "title", "entry_type", "category", "version", "author", "created_at", "tags", "references", "description",
    "dependencies", "extends", "updated_at",
)  # fmt: skip
_EXPECTED = ("title", "entry_type", "category", "version")


class Knowledge(Struct, frozen=True, kw_only=True):
    """One entry. ``references`` are ids, names or paths as written. Callers that know what exists check them."""

    name: str
    title: str
    entry_type: str | None
    category: str | None
    version: str | None
    author: str | None
    created_at: str | None
    description: str
    tags: tuple[str, ...]
    references: tuple[str, ...]
    body: str
    extra: dict[str, Any] = field(default_factory=dict)
    reference_lines: tuple[int, ...] = ()


def read(source: Source, options: ReadOptions) -> Reading[Knowledge]:
    """Read an entry. ``value`` is None without metadata or without a name."""
    try:
        parts = _parts(source.text)
        document = read_yaml(parts.yaml, first_line=parts.yaml_line)
    except FrontmatterError as error:
        hint = "Start the file with a ```yaml fence, or with frontmatter between --- lines."
        return Reading(None, None, (Diagnostic("error", "K01", error.message, error.line, hint=hint),))
    except YamlError as error:
        message = f"The metadata is not valid YAML: {error.message}."
        return Reading(None, None, (Diagnostic("error", "K01", message, error.line, error.column, error.hint),))
    data = document.value
    if not isinstance(data, dict):
        return Reading(None, None, (Diagnostic("error", "K01", "The metadata must be a mapping.", parts.yaml_line),))
    diagnostics: list[Diagnostic] = []
    texts = {
        key: _text(data, key, document, diagnostics) for key in ("name", "title", "entry_type", "category", "author")
    }
    texts |= {key: _text(data, key, document, diagnostics) for key in ("created_at", "description")}
    lists = {key: _texts(data, key, document, diagnostics) for key in ("tags", "references")}
    version = version_of(data.get("version"), "K02", "version", document.line("version"), diagnostics)
    dependencies = dependencies_of(data.get("dependencies"), "K02", document.line, diagnostics, "dependencies")
    for key in data:
        if key not in _KEYS and (meant := near_miss(key, _KEYS)):
            message = f"The key {key} is unknown and has no effect."
            diagnostics.append(Diagnostic("warning", "K03", message, document.line(key), hint=f"Did you mean {meant}?"))
    for key in _EXPECTED:
        if key not in data:
            diagnostics.append(Diagnostic("warning", "K03", f"{key} is missing.", parts.yaml_line))
    if not parts.body.strip():
        diagnostics.append(Diagnostic("warning", "K05", "There is no text below the metadata.", parts.body_line))
    name = texts["name"]
    if name is None:
        if "name" not in data:
            diagnostics.append(Diagnostic("error", "K02", "name is missing.", parts.yaml_line))
        return Reading(None, None, in_order(diagnostics))
    diagnostics += _placed(source, options, name, texts["category"], document)
    entry = Knowledge(
        name=name,
        title=texts["title"] or name,
        entry_type=texts["entry_type"],
        category=texts["category"],
        version=version,
        author=texts["author"],
        created_at=texts["created_at"],
        description=texts["description"] or "",
        tags=lists["tags"],
        references=lists["references"],
        body=parts.body.strip(),
        extra={key: value for key, value in data.items() if key not in _KEYS[:11]},
        reference_lines=tuple(document.line("references", index) for index in range(len(lists["references"]))),
    )
    described = " ".join((texts["description"] or texts["title"] or "").split())
    metadata = Metadata(
        name=name, version=version, description=described, category=texts["category"], dependencies=dependencies
    )
    return Reading(entry, metadata, in_order(diagnostics))


def _parts(text: str) -> Frontmatter:
    """Split off the metadata block. Raises FrontmatterError if there is none."""
    if has_frontmatter(text):
        return split(text)
    fence, line = leading_fence(text, "yaml")
    if fence is None or fence.word not in ("yaml", "yml"):
        raise FrontmatterError("There is no metadata: the file has neither frontmatter nor a leading yaml fence.", line)
    if not fence.closed:
        raise FrontmatterError("The yaml fence is not closed.", line)
    return Frontmatter(fence.text, fence.line + 1, text[fence.end :], fence.end_line + 1)


def _text(data: dict[str, Any], key: str, document: YamlDocument, found: list[Diagnostic]) -> str | None:
    value = data.get(key)
    if key not in data or (isinstance(value, str) and value.strip()):
        return value.strip() if isinstance(value, str) else None
    found.append(Diagnostic("error", "K02", f"{key} must be a string.", document.line(key), hint="Put it in quotes."))
    return None


def _texts(data: dict[str, Any], key: str, document: YamlDocument, found: list[Diagnostic]) -> tuple[str, ...]:
    value = data.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry.strip() for entry in value):
        found.append(Diagnostic("error", "K02", f"{key} must be a list of strings.", document.line(key)))
        return ()
    return tuple(value)


def _placed(
    source: Source, options: ReadOptions, name: str, category: str | None, document: YamlDocument
) -> list[Diagnostic]:
    severity: Severity = "error" if options.publishing else "warning"
    out: list[Diagnostic] = []
    if not is_segment(name):
        message = f"name {name!r} is not a valid item name: use a-z, 0-9, '-' and '_', at most 64 characters."
        out.append(Diagnostic(severity, "K04", message, document.line("name")))
    elif source.name is not None and name != source.name:
        message = f"The name {name!r} does not match the file's name {source.name!r}."
        out.append(Diagnostic(severity, "K04", message, document.line("name"), hint=f"Rename the file to {name}.md."))
    if category is not None and source.category is not None and category.strip("/") != source.category:
        message = f"The category is {category!r}, but the file is in {source.category!r}."
        out.append(
            Diagnostic(
                severity, "K04", message, document.line("category"), hint="Move the file or change the category."
            )
        )
    return out


def check_set(
    readings: Mapping[str, Reading[Knowledge]], options: ReadOptions | None = None
) -> dict[str, tuple[Diagnostic, ...]]:
    """Report K06 by path, in path order. References with a slash or dot are paths or ids elsewhere and are not checked."""
    names = {lookup_key(reading.value.name) for reading in readings.values() if reading.value is not None}
    diagnostics: dict[str, tuple[Diagnostic, ...]] = {}
    for path in sorted(readings):
        entry = readings[path].value
        if entry is None:
            continue
        here = tuple(
            Diagnostic("notice", "K06", f"No entry in this folder is named {reference!r}.", line)
            for reference, line in zip(entry.references, entry.reference_lines, strict=False)
            if "/" not in reference and "." not in reference and lookup_key(reference) not in names
        )
        if here:
            diagnostics[path] = here
    return diagnostics


def as_json(entry: Knowledge) -> dict[str, object]:
    """Return the fields for ``rye show``."""
    return {
        "name": entry.name,
        "title": entry.title,
        "entry_type": entry.entry_type,
        "category": entry.category,
        "version": entry.version,
        "author": entry.author,
        "created_at": entry.created_at,
        "description": entry.description,
        "tags": list(entry.tags),
        "references": list(entry.references),
        "body": entry.body,
        "extra": json_safe(entry.extra),
    }


def prompt(entry: Knowledge, text: str) -> str:
    """Return the Markdown below the metadata."""
    return entry.body.strip("\n")


def template(name: str, category: str = "notes", author: str | None = None) -> str:
    """Return the file that ``rye new knowledge NAME`` writes."""
    title = name.replace("-", " ").replace("_", " ").title()
    return f"""```yaml
name: {name}
title: "{title}"
entry_type: reference
category: {category}
version: "0.1.0"
tags:
  - example
```

# {title}

What an agent should know.
"""
