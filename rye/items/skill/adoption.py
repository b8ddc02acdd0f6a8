"""Adopt a skill from anywhere: what it contains, and what must change to publish it. Pure; the caller reads and writes.

The only change offered automatically is one that agents do not see: LF line endings, no byte order mark. Everything else, hidden
characters above all, is reported for a person to decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from rye.items.attached import AttachedFile
from rye.items.reading import Metadata, ReadOptions, Source
from rye.items.skill.reader import inside, is_attached, read
from rye.limits import CONTENT
from rye.text import content
from rye.text.diagnostics import Diagnostic, has_errors, in_order
from rye.text.markdown_links import links
from rye.text.markdown_outline import outline

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

    @property
    def publishable(self) -> bool:
        """Whether nothing prevents publishing it."""
        return not has_errors(self.diagnostics) and not has_errors(d for _, d in self.hidden)


def analyze(data: bytes, folder_name: str, files: Iterable[AdoptableFile]) -> Adoption:
    """Analyze a skill, given the bytes of its ``SKILL.md``, its folder's name and its attached files."""
    listed = sorted(files, key=lambda entry: entry.file.path)
    attached = tuple(entry.file.path for entry in listed)
    decoded = content.decode(data)
    fixed = content.fixed(data)
    changes = [
        words
        for words, holds in (
            ("the byte order mark is removed", decoded.had_bom),
            ("line endings become LF", decoded.had_crlf),
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
    )


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
