"""Write an import into rye.toml: named sources, dependencies, and comments for what rye.toml cannot express. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from rye.importing.foreign import LeftOut, shown
from rye.items.identity import is_segment
from rye.project.declared_sources import Source
from rye.project.manifest_edit import add_dependencies, add_source
from rye.sources.finding import AGENTS

_HEAD = "# `rye import` left these out:"
_OTHERS = re.compile(r"[^a-z0-9_-]+")
_INNER = "/.apm/skills"
"""The folder of skills in a package. Every package has the same, so it is not used for names."""
_MOST = 48
"""The maximum length of a part of a source's name."""


def source_name(place: str, taken: Collection[str]) -> str:
    """A free name for the source at ``place`` (an address or a folder): its last part, else its last two, else with a number."""
    plain = re.sub(r"^[a-z]+://", "", place).removesuffix("/").removesuffix(_INNER).replace(".git/", "/")
    plain = plain.removesuffix(".git")
    parts = [part for part in (_segment(part) for part in plain.split("/")) if part]
    hidden = plain.rpartition("/")[0].rpartition("/")[2].startswith(".")
    wanted = ["-".join(parts[-2:])] if (hidden or parts[-1:] == [AGENTS]) and len(parts) > 1 else parts[-1:]
    wanted += ["-".join(parts[-2:]), "source"]
    for name in wanted:
        if is_segment(name) and name not in taken:
            return name
    base = next(name for name in wanted if is_segment(name))
    return next(name for number in range(2, len(taken) + 3) if (name := f"{base}-{number}") not in taken)


def _segment(text: str) -> str:
    return _OTHERS.sub("-", text.lower())[:_MOST].strip("-_")


class Writing(Struct, frozen=True):
    """The changes to write into rye.toml."""

    sources: Sequence[Source]
    """New sources."""
    dependencies: Mapping[str, Sequence[str]]
    """New ``kind:id`` by group."""
    left_out: Sequence[LeftOut]


def composed(text: str, writing: Writing) -> str:
    """The manifest with these changes. Comments that it already has are not repeated."""
    for source in writing.sources:
        text = add_source(text, source)
    for group in sorted(writing.dependencies, key=lambda name: (name != "main", name)):
        keys = sorted(writing.dependencies[group])
        if keys:
            text = add_dependencies(text, keys, "*", group)
    return _with_comments(text, writing.left_out)


def _with_comments(text: str, left_out: Iterable[LeftOut]) -> str:
    present = {line.rstrip() for line in text.split("\n")}
    lines = [line for line in dict.fromkeys(map(comment, left_out)) if line not in present]
    if not lines:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    head = [] if _HEAD in present else ["", _HEAD]
    joined = text if not text or text.endswith("\n") else text + end
    return joined + "".join(f"{line}{end}" for line in [*head, *lines])


def comment(one: LeftOut) -> str:
    """A comment of exactly one line, whatever text the foreign file contains."""
    return f"#   {shown(one.file, 60)}: {shown(one.what)}: {shown(one.reason, 240)}"
