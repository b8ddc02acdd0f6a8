"""``unpinned-fetch`` without a command: what a manifest, a script's own header, a page or a module names and a program
fetches.

A dependency of ``package.json`` that is any version, a repository or an address; a dependency that the header of a script for
``uv`` names without a version (PEP 723); a script or a module that a page or a program takes from an address. An exact version
or a digest pins each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts.fact import UNPINNED_FETCH
from rye.text.facts.packages.python import is_pinned
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source

_GROUPS = re.compile(r"\"(?:dev|optional|peer)?[dD]ependencies\"\s{0,4}:\s{0,4}\{([^{}]{1,20000})\}")
_OPEN = re.compile(
    r"\"(@?[\w./-]{1,100})\"\s{0,4}:\s{0,4}\"(\*|latest|next|x|>=?\s?0(?:\.0\.0)?|(?:git(?:\+\w{2,5})?|github|gitlab|bitbucket|https?|ssh):[^\"\n]{3,300}|[\w.-]{1,60}/[\w.-]{1,100}(?:#[\w./-]{1,60})?)\""
)
_HEADER = re.compile(r"^# /// script\n((?:#[^\n]{0,300}\n){1,60}?)# ///", re.MULTILINE)
_DEPENDENCY = re.compile(r"[\"']([A-Za-z0-9][^\"'\n]{0,200})[\"']")
_DEPENDENCIES = re.compile(r"dependencies\s{0,4}=\s{0,4}\[([^\]]{0,4000})\]")
_SCRIPT = re.compile(
    r"<script\b[^<>\n]{0,300}?\bsrc\s?=\s?[\"']?(?:https?:)?//([^\s\"'<>]{3,300})[^<>\n]{0,300}>", re.IGNORECASE
)
_IMPORT = re.compile(
    r"(?:^|[;{\s])(?:import|export)\s(?:[\w${},*\s]{1,300}\sfrom\s)?\s{0,4}[\"']https?://([^\s\"'<>]{3,300})[\"']",
    re.MULTILINE,
)
_SCRIPT_ELEMENT = re.compile(r"\.src\s{0,4}=\s{0,4}[\"'`](?:https?:)?//([^\s\"'`<>]{3,300})[\"'`]")
_VERSIONED = re.compile(r"@v?\d+\.\d+\.\d+|/v?\d+\.\d+(?:\.\d+)?(?:/|$)|[-_]\d+\.\d+\.\d+|[0-9a-f]{40}")
_COMMIT = re.compile(r"#[0-9a-f]{40}\b")
_OWN: Final = ("localhost", "127.0.0.1", "0.0.0.0")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield what is fetched by a name that can mean something else tomorrow."""
    text = source.text
    if source.path.rpartition("/")[2] == "package.json":
        for group in _GROUPS.finditer(text):
            for match in _OPEN.finditer(text, group.start(1), group.end(1)):
                if _COMMIT.search(match[2]) is None:
                    yield _at(source, match.start(), f"dependency {match[1]} {match[2]}")
    if "# /// script" in text:
        for header in _HEADER.finditer(text):
            for listed in _DEPENDENCIES.finditer(text, header.start(1), header.end(1)):
                for match in _DEPENDENCY.finditer(text, listed.start(1), listed.end(1)):
                    if not is_pinned(match[1].split(";")[0].strip()):
                        yield _at(source, match.start(1), f"dependency {match[1]}")
    if "createElement" in text and "script" in text:
        for match in _SCRIPT_ELEMENT.finditer(text):
            if (
                _VERSIONED.search(match[1]) is None
                and not match[1].startswith(_OWN)
                and match[1].partition("?")[0].endswith(("js", "/"))
            ):
                yield _at(source, match.start(1), f"script {match[1]}")
    if "://" in text or "<script" in text:
        yield from _modules(source)


def _modules(source: Source) -> Iterator[RuleMatch]:
    """Scripts and modules from an address without a version or a digest."""
    text, starts = source.text, source.text_starts
    for number in source.lines_of_bytes(b"//"):
        raw = source.lines[number]
        what = "script" if "<script" in raw else "import" if "import" in raw or "export" in raw else ""
        pattern = _SCRIPT if what == "script" else _IMPORT
        for match in pattern.finditer(text, starts[number], starts[number + 1]) if what else ():
            pinned = _VERSIONED.search(match[1]) is not None or "integrity" in match[0]
            if not pinned and not match[1].startswith(_OWN) and source.is_code(source.line_at(match.start(1))):
                yield _at(source, match.start(1), f"{what} {match[1]}")


def _at(source: Source, offset: int, value: str) -> RuleMatch:
    line = source.line_at(offset)
    return RuleMatch(UNPINNED_FETCH, shown(value), line, offset - source.text_starts[line])
