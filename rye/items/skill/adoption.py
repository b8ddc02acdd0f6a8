"""Adopt a skill from anywhere: what it contains, and what must change to publish it. Pure; the caller reads and writes.

The only changes offered automatically are ones that agents do not see: LF line endings, no byte order mark, and in ``metadata``
a version and where the skill comes from, if it does not say. Everything else, hidden characters above all, is reported for a
person to decide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from rye.items.attached import AttachedFile
from rye.items.reading import Metadata, ReadOptions, Source
from rye.items.skill.reader import inside, is_attached, read
from rye.limits import CONTENT
from rye.text import content
from rye.text.diagnostics import Diagnostic, has_errors, in_order
from rye.text.frontmatter import FrontmatterError, split
from rye.text.markdown_links import links
from rye.text.markdown_outline import outline
from rye.text.yaml_reading import YamlError, json_safe, read_yaml

_SCRIPTS_WORDS = (
    ".sh .bash .zsh .fish .ps1 .bat .cmd .py .pyw .js .mjs .cjs .ts .rb .pl .php .lua .exe .dll .so .dylib .jar .wasm"
)
_SCRIPTS = frozenset(_SCRIPTS_WORDS.split())
_TEXTS = frozenset([".md", ".txt", ".rst", ".json", ".yaml", ".yml", ".toml", ".csv", ".html", ".xml"]) | _SCRIPTS


class AdoptableFile(Struct, frozen=True):
    """An attached file with its first bytes, as far as the caller read them (None: not read)."""

    file: AttachedFile
    data: bytes | None = None


class Adoption(Struct, frozen=True, kw_only=True):
    """What is known about a skill before it is adopted."""

    name: str | None
    metadata: Metadata | None
    diagnostics: tuple[Diagnostic, ...]
    """Findings in ``SKILL.md`` under the rules for publishing."""
    hidden: tuple[tuple[str, Diagnostic], ...]
    """Characters that people do not see but agents read, by file, including ``SKILL.md``."""
    scripts: tuple[str, ...]
    """Attached files that can run: executable, by suffix, or by their first line."""
    dead_links: tuple[tuple[str, str, int], ...]
    """Broken links in ``SKILL.md`` and attached Markdown: file, destination, line."""
    fixed: bytes | None
    """``SKILL.md`` in publishable form, if it differs from the original."""
    changes: tuple[str, ...]
    """What ``fixed`` changes, in words."""
    without_version: bool = False
    """Whether it has no version, and none could be written without changing more."""

    @property
    def publishable(self) -> bool:
        """Whether nothing prevents publishing it."""
        return not has_errors(self.diagnostics) and not has_errors(d for _, d in self.hidden)


def analyze(
    data: bytes, folder_name: str, files: Iterable[AdoptableFile], added: Mapping[str, str] | None = None
) -> Adoption:
    """Analyze a skill, given the bytes of its ``SKILL.md``, its folder's name and its attached files. ``added``: what its
    ``metadata`` should have, a version above all; what it says itself stays."""
    listed = sorted(files, key=lambda entry: entry.file.path)
    attached = tuple(entry.file.path for entry in listed)
    decoded = content.decode(data)
    fixed = content.fixed(data)
    wanted = _missing(decoded.text, added or {}) if decoded.text is not None else {}
    stamped = with_metadata(decoded.text, wanted) if decoded.text is not None and wanted else None
    if stamped is not None:
        fixed = stamped.encode()
        decoded = replace(decoded, text=stamped)
    changes = [
        words
        for words, holds in (
            ("the byte order mark is removed", decoded.had_bom),
            ("line endings become LF", decoded.had_crlf),
            *((f"metadata.{key} is added: {value}", stamped is not None) for key, value in wanted.items()),
        )
        if holds
    ]
    hidden = [("SKILL.md", d) for d in decoded.diagnostics if d.severity in ("error", "warning")]
    dead: list[tuple[str, str, int]] = []
    diagnostics: tuple[Diagnostic, ...] = ()
    metadata, name = None, None
    if decoded.text is not None:
        source = Source(decoded.text, "SKILL.md", folder_name, "", attached)
        reading = read(source, ReadOptions(publishing=True))
        diagnostics, metadata = reading.diagnostics, reading.metadata
        name = reading.value.name if reading.value else None
        dead += _dead_links("SKILL.md", decoded.text, attached)
    for entry in listed:
        if entry.data is None or PurePosixPath(entry.file.path).suffix.lower() not in _TEXTS:
            continue
        # Attached files have their own size limits; the limit for items does not apply to them.
        part = content.decode(entry.data, replace(CONTENT, item_bytes=len(entry.data)))
        hidden += [(entry.file.path, d) for d in part.diagnostics if d.severity in ("error", "warning")]
        if part.text is not None and entry.file.path.lower().endswith(".md"):
            dead += _dead_links(entry.file.path, part.text, attached)
    return Adoption(
        name=name,
        metadata=metadata,
        diagnostics=in_order(diagnostics),
        hidden=tuple(hidden),
        scripts=tuple(entry.file.path for entry in listed if _is_script(entry)),
        dead_links=tuple(dead),
        fixed=fixed if fixed != data else None,
        changes=tuple(changes),
        without_version=metadata is not None and metadata.version is None,
    )


def _missing(text: str, added: Mapping[str, str]) -> dict[str, str]:
    """Return what the skill's ``metadata`` does not have. A signed skill with a version stays as it was signed."""
    try:
        value = read_yaml(split(text).yaml).value
    except (FrontmatterError, YamlError):
        return {}
    metadata = value.get("metadata") if isinstance(value, dict) else None
    known = metadata if isinstance(metadata, dict) else {}
    if known.get("version") is not None and _SIGNED.search(text) is not None:
        return {}
    return {key: value for key, value in added.items() if known.get(key) is None}


_SIGNED = re.compile(r"^<!-- rye(?:os)?:signed:|^# rye(?:os)?:signed:", re.MULTILINE)


def with_metadata(text: str, added: Mapping[str, str]) -> str | None:
    """Return the text with more keys in its frontmatter's ``metadata``, every other line untouched, or None if that cannot be
    done: the result is read back, and says the same otherwise. ``text``: with LF line ends."""
    try:
        parts = split(text)
        document = read_yaml(
            f"{parts.yaml}\n"
        )  # a block scalar at the end has its last line end, as for every other reader
    except (FrontmatterError, YamlError):
        return None
    if not isinstance(document.value, dict):
        return None
    lines = parts.yaml.removesuffix("\n").split("\n")
    old = document.value.get("metadata")
    if "metadata" not in document.value:
        at, indent, lines = len(lines) + 1, "  ", [*lines, "metadata:"]
    else:
        at = document.line("metadata")
        indent = re.match(" *", lines[at] if at < len(lines) else "")[0] or "  "  # type: ignore[index]
        if isinstance(old, dict) and lines[at - 1].rstrip().endswith("}"):
            lines[at - 1 : at] = ["metadata:", *(f"  {key}: {json.dumps(json_safe(old[key]))}" for key in old)]
    lines[at:at] = [f"{indent}{key}: {json.dumps(value)}" for key, value in added.items()]
    head = text.split("\n")[: parts.yaml_line - 1]
    result = "\n".join([*head, *lines, "---", parts.body])
    try:
        again = split(result)
        value = read_yaml(f"{again.yaml}\n").value
    except (FrontmatterError, YamlError):
        return None
    expected = {**document.value, "metadata": {**(old if isinstance(old, dict) else {}), **added}}
    same = isinstance(value, dict) and value == expected and again.body == parts.body
    return result if same and (old is None or isinstance(old, dict)) else None


def _is_script(entry: AdoptableFile) -> bool:
    suffix = PurePosixPath(entry.file.path).suffix.lower()
    return entry.file.executable or suffix in _SCRIPTS or (entry.data or b"").startswith((b"#!", b"\x7fELF", b"MZ"))


def _dead_links(path: str, text: str, attached: tuple[str, ...]) -> list[tuple[str, str, int]]:
    base = PurePosixPath(path).parent
    dead: list[tuple[str, str, int]] = []
    for link in links(outline(text)):
        if not link.relative:
            continue
        target = inside(replace(link, destination=str(base / link.destination)))
        if target is None or (target and not is_attached(target, attached)):
            dead.append((path, link.destination, link.line + 1))
    return dead
