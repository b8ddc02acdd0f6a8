"""The parts of a role's file: title, tagline, H2 sections, and the coordinating ones' content (DEC-0010; DECISIONS Roles)."""

from __future__ import annotations

import re

from msgspec import Struct

from rye.text.markdown_outline import Heading, ListItem, Outline

NEXUS = "Nexus"
"""The human in charge: always a known hand-off target, never a role's file (DECISIONS Roles 5)."""
EVERYONE = frozenset(["all agents", "any agent", "every agent", "agents", "all", "all roles"])

ALWAYS_KNOWN = EVERYONE | {NEXUS.casefold()}
"""Who a hand-off can name without a role of that name, in small letters."""

_RECEIVES = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*You receive (?:work|signals?) from:?\*\*:?(.*)", re.IGNORECASE)
_HANDS_OFF = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*You hand off to:?\*\*:?(.*)", re.IGNORECASE)
_SPLIT = re.compile(r",|;|/|\bor\b|\band\b|&")
_INPUT = re.compile(
    r"[ \t]*[-*+][ \t]+\*{0,2}From (?:the |an? |any )?([^:*\n]{1,200}?):?\*{0,2}(?::|[ \t]*$|[ \t]*[—–-])"
)
_MOST_NAMES = 100
"""How many names are read from one hand-off line."""
_NOTHING = frozenset(["", "none", "nobody", "no one", "n/a", "—", "-"])


class RoleSection(Struct, frozen=True):
    """One H2 section. ``line`` is the heading's, from 1; ``text`` is trimmed."""

    name: str
    text: str
    line: int
    start: int
    """The first line of the content in the outline (from 0)."""
    end: int


class Mention(Struct, frozen=True):
    """A name in the hand-off lines or the input contract, with its line (from 1)."""

    name: str
    line: int


def sections_of(scan: Outline) -> list[RoleSection]:
    """Return every H2 section in order. A section ends at the next H2 (or H1)."""
    tops = [heading for heading in scan.headings if heading.level <= 2]
    sections: list[RoleSection] = []
    for index, heading in enumerate(tops):
        if heading.level != 2:
            continue
        end = tops[index + 1].line if index + 1 < len(tops) else len(scan.lines)
        text = scan.text(heading.line + 1, end).strip()
        sections.append(RoleSection(heading.text, text, heading.line + 1, heading.line + 1, end))
    return sections


def lines_of(scan: Outline, section: RoleSection) -> list[tuple[int, str]]:
    """Return the section's lines outside fences and comments, numbered from 1."""
    opaque = scan.opaque  # a property that computes its value: read once, or this is quadratic
    return [(n + 1, scan.lines[n]) for n in range(section.start, section.end) if n not in opaque]


def items_of(scan: Outline, section: RoleSection) -> list[ListItem]:
    """Return the list items in a section."""
    return [item for item in scan.items if section.start <= item.line < section.end]


def headings_of(scan: Outline, section: RoleSection, level: int) -> list[Heading]:
    """Return the headings of ``level`` in a section."""
    return [h for h in scan.headings if h.level == level and section.start <= h.line < section.end]


def slug(name: str) -> str:
    """``Release Manager`` → ``release-manager``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def tagline_of(scan: Outline, title_line: int) -> str | None:
    """The block quote between the title and the first section, its lines joined with spaces."""
    end = next((h.line for h in scan.headings if h.line > title_line), len(scan.lines))
    for first, last in scan.quotes:
        if title_line < first < end:
            stripped = (line.lstrip().removeprefix(">").strip() for line in scan.lines[first:last])
            return " ".join(line for line in stripped if line) or None
    return None


def handoffs_of(scan: Outline, section: RoleSection | None) -> tuple[tuple[Mention, ...], tuple[Mention, ...]]:
    """Return the names that the role receives work from, and those it hands off to."""
    receives: list[Mention] = []
    hands_off: list[Mention] = []
    for number, line in lines_of(scan, section) if section else ():
        for pattern, target in ((_RECEIVES, receives), (_HANDS_OFF, hands_off)):
            if match := pattern.match(line):
                target += [Mention(name, number) for name in _names(match[1])]
    return tuple(receives), tuple(hands_off)


def _names(text: str) -> list[str]:
    """``the Analyst (issues, or notes) or Nexus`` → Analyst, Nexus. Text in parentheses or after a dash is a remark."""
    plain, depth = [], 0
    for character in text:
        if character in "([":
            depth += 1
        elif character in ")]":
            depth = max(0, depth - 1)
        elif depth == 0:
            plain.append(character)
    names: dict[str, None] = {}
    for part in _SPLIT.split("".join(plain)):
        if len(names) == _MOST_NAMES:
            break
        name = re.split(r"\s[—–-]\s|→|:", part, maxsplit=1)[0].strip(" \t.*_`\"'")
        name = re.sub(r"^(?:either|then|the|an?)\s+", "", name, flags=re.IGNORECASE)
        if name.lower() not in _NOTHING:
            names[name] = None
    return list(names)


def inputs_of(scan: Outline, section: RoleSection | None) -> tuple[Mention, ...]:
    """Return the sources that the input contract names in bullets such as ``**From the Orchestrator:** …``."""
    lines = lines_of(scan, section) if section else ()
    found = ((number, _INPUT.match(line)) for number, line in lines)
    return tuple(Mention(match[1].strip(), number) for number, match in found if match)


def tables_of(scan: Outline, section: RoleSection) -> list[tuple[int, list[list[str]]]]:
    """Return the section's pipe tables: the header's line (from 1) and the rows of cells, without the delimiter row."""
    rows = [(number, _cells(line)) for number, line in lines_of(scan, section)]
    tables: list[tuple[int, list[list[str]]]] = []
    index = 0
    while index + 1 < len(rows):
        header, delimiter = rows[index][1], rows[index + 1][1]
        if header and delimiter and all(re.fullmatch(r":?-+:?", cell) for cell in delimiter):
            table, at = [header], index + 2
            while at < len(rows) and rows[at][1]:
                table.append(rows[at][1])
                at += 1
            tables.append((rows[index][0], table))
            index = at
        else:
            index += 1
    return tables


def _cells(line: str) -> list[str]:
    """The cells of a table row, without emphasis; empty if the line is not a row."""
    text = line.strip()
    if "|" not in text:
        return []
    text = text.replace("\\|", "\0").removeprefix("|").removesuffix("|")
    return [cell.replace("\0", "|").strip().strip("*_`").strip() for cell in text.split("|")]
