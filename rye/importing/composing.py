"""What an import writes into rye.toml: named sources, dependencies, and comments for what rye.toml cannot express.
Pure."""

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
"""A package's own folder, which is called as every package's is."""
_MOST = 48
"""Characters of a source's name."""


def source_name(place: str, taken: Collection[str]) -> str:
    """A free name for a source. ``place``: an address or a folder. The last part of it, else the last two, else with a number."""
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
    """What is to be written into rye.toml."""

    sources: Sequence[Source]
    """New ones."""
    dependencies: Mapping[str, Sequence[str]]
    """New ``kind:id`` by group."""
    left_out: Sequence[LeftOut]


def composed(text: str, writing: Writing) -> str:
    """The manifest with all of it. A comment that is there already is not written again."""
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
    """One line: whatever stands in a foreign file, it ends nowhere but at the end of the line."""
    return f"#   {shown(one.file, 60)}: {shown(one.what)}: {shown(one.reason, 240)}"
