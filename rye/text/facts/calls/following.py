"""Track forward, line by line, the names and files of a program that hold what a source brought in."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.calls.kinds import Kind
from rye.text.facts.source import Source
from rye.text.facts.tables import triggers, word_set

NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
NAMES: Final = re.compile(rf"(?<![\w$.]){NAME}")
_NAME: Final = NAME
_ASSIGNED = re.compile(
    rf"(?:^|[;{{(,\s])({_NAME})(?:\s*:\s*[\w.\[\]]{{1,40}})?\s*(?:\+|:|\|\|)?=(?![=>])\s*|\bas\s+({_NAME})\s*:|\bimport\s+[\w.]{{1,60}}\s+as\s+({_NAME})"
    rf"|[(,=]\s*(?:async\s*)?\(?\s*({_NAME})\s*\)?\s*=>|\bfunction\s*\w{{0,40}}\(\s*({_NAME})"
    rf"|[(,=]\s*\(?\s*\{{\s*(?:\w{{1,40}}\s*:\s*)?({_NAME})\s*\}}\s*\)?\s*=>|\{{\s*(?:\w{{1,40}}\s*:\s*)?({_NAME})\s*\}}\s*=(?![=>])"
)
_WRITES = re.compile(
    rf"\bopen\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))\s*,\s*[\"'][wax]|"
    rf"write(?:File)?Sync\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"({_NAME})\.write_(?:bytes|text)\(|Path\(\s*[\"']([^\"'\n]{{1,300}})[\"']\s*\)\.write_(?:bytes|text)\(|"
    rf"writeFile\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"file_put_contents\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"urlretrieve\([^,\n]{{1,400}},\s*(?:filename\s*=\s*)?(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))|"
    rf"download\.file\([^,\n]{{1,400}},\s*[\"']([^\"'\n]{{1,300}})"
)
_HANDLES = re.compile(
    rf"(?:open\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME}))\s*,\s*[\"'][wax]b?[\"'][^)\n]{{0,80}}\)\s*as\s+({_NAME})|"
    rf"({_NAME})\s*=\s*(?:fs\.)?createWriteStream\(\s*(?:[\"']([^\"'\n]{{1,300}})[\"']|({_NAME})))"
)
_COMMON: Final = word_set("self this e err error i timeout headers params method")
_SOCKET: Final = triggers(("recv_into",))
_MOST_HANDLES: Final = 64


class ContentOrigin(NamedTuple):
    """Where foreign content came from: its text, and the line."""

    offset: int
    text: str


class Followed:
    """The names and files in which a program keeps what its sources bring in."""

    def __init__(self, source: Source, kind: Kind, sources: list[int], fetched: bool) -> None:
        self.kind = kind
        self.names: dict[str, ContentOrigin] = {}
        self.files: dict[str, ContentOrigin] = {}
        self._handles: dict[str, str] = {}
        if fetched and source.has(_SOCKET):
            self.names["__socket__"] = ContentOrigin(0, "")
        for raw, offset in zip(source.lines, source.text_starts, strict=False):
            at = bisect_left(sources, offset)
            here = at < len(sources) and sources[at] <= offset + len(raw)
            if here or self.names or self._handles:
                self._read(raw[: FACTS.piece_characters], offset, here)
        self._name_files(source.values)

    def _read(self, line: str, offset: int, here: bool) -> None:
        found = self.kind.pattern.search(line) if here else None
        origin = ContentOrigin(offset + found.start(), line.strip()[:300]) if found is not None else self._carried(line)
        if origin is not None:
            self._assign(line, origin, found)
            self._write(line, origin)
        if len(self._handles) < _MOST_HANDLES and ("open" in line or "createWriteStream" in line):
            for match in _HANDLES.finditer(line):
                path = base(match[1] or match[5] or "") or match[2] or match[6] or ""
                self._handles[match[3] or match[4]] = path

    def _carried(self, line: str) -> ContentOrigin | None:
        if not self.names:
            return None
        return next((self.names[name] for name in NAMES.findall(line) if name in self.names), None)

    def _assign(self, line: str, origin: ContentOrigin, found: re.Match[str] | None) -> None:
        for match in _ASSIGNED.finditer(line):
            name = next((group for group in match.groups() if group), "")
            behind = found is not None and found.start() < match.start() and match[1] is not None
            if name and not behind and name not in _COMMON:
                self.names.setdefault(name, origin)

    def _write(self, line: str, origin: ContentOrigin) -> None:
        for match in _WRITES.finditer(line):
            for group in match.groups():
                if group:
                    self.files.setdefault(base(group) if "/" in group or "." in group else group, origin)
        for name, path in self._handles.items():
            if name in line and re.search(rf"(?<![\w.]){re.escape(name)}\b", line):
                self.files.setdefault(path, origin)

    def _name_files(self, values: dict[str, str]) -> None:
        """If a name holds a file's path, track both."""
        for name, value in values.items() if self.files else ():
            if name in self.files:
                self.files.setdefault(base(value), self.files[name])
            elif base(value) in self.files:
                self.files.setdefault(name, self.files[base(value)])


def base(path: str) -> str:
    """The last component of a path."""
    return path.replace("\\", "/").rpartition("/")[2]
