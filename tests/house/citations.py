"""What source and tests cite, and what can be cited: numbered paragraphs of ``docs/design``, and codes of findings. Pure.

A citation is a book, optionally a part of it, and numbers: ``DESIGN 6.1``, ``DESIGN §5 Content``, ``DECISIONS Overrides
11–14, 17``, ``house 2``, ``design/server.md 4``, or a code such as ``R07``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rye.explaining.table import load

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design"
BOOKS = {
    "DESIGN": ("design.md", "projects.md"),
    "house": ("house.md",),
    "agents": ("agents.md",),
    "server": ("server.md",),
    "sources": ("sources.md",),
}
"""Books with numbered headings, and their pages."""
PARTS = ("directives", "overrides", "overlays", "agents", "roles", "skills", "every-kind")
"""The pages of the decisions, one for each format."""
SHORT = {"Role directives": "Role directives and formula overlays", "Overlays": "Role directives and formula overlays"}
"""Other names of parts of the decisions."""


class Rule(NamedTuple):
    """The target of a citation: ``Rule("DESIGN", "6.1")``, ``Rule("DESIGN", "6.1 Complete")``, ``Rule("Overrides",
    "11")``, ``Rule("R", "R07")``. A part of the decisions as a whole has no number.
    """

    book: str
    number: str


# -- what can be cited -----------------------------------------------------------------------------------------------------


def rules() -> dict[Rule, str]:
    """Everything that can be cited, with a title, in the order of the pages."""
    found: dict[Rule, str] = {}
    for book, pages in BOOKS.items():
        for page in pages:
            found.update(headings(book, (DESIGN / page).read_text("utf-8")))
    found.update(decisions())
    found.update(completeness((DESIGN / "projects.md").read_text("utf-8")))
    found.update(codes(ROOT / "rye"))
    found.update(directive_codes())
    return found


def headings(book: str, page: str) -> Iterator[tuple[Rule, str]]:
    """Numbered headings, and the named paragraphs below each."""
    section = ""
    for line in page.splitlines():
        if heading := re.fullmatch(r"#{2,3} (\d+(?:\.\d+)?)\.? (.+)", line):
            section = heading[1]
            yield Rule(book, section), heading[2].replace("`", "")
        elif section and (name := re.match(r"(?:\* )?\*\*([A-Z][\w\- ,`]*?)\.?\*\*", line)):
            yield Rule(book, f"{section} {name[1]}"), name[1]


def decisions() -> Iterator[tuple[Rule, str]]:
    """The parts of the decisions and their numbers; the title is the bold beginning, or the first words if there is none."""
    part = ""
    for line in (line for name in PARTS for line in (DESIGN / f"decisions/{name}.md").read_text("utf-8").splitlines()):
        if line.startswith("# "):
            part = line.removeprefix("# ")
            yield Rule(part, ""), part
        elif item := re.match(r"(\d+)\. (?:\*\*(.+?)\*\*|(.{1,60}))", line):
            yield Rule(part, item[1]), (item[2] or item[3].rpartition(" ")[0] + " …").rstrip(".:")


def completeness(page: str) -> Iterator[tuple[Rule, str]]:
    """The six rules of a complete lock, which DESIGN 6.1 names."""
    for code, title in re.findall(r"\b(G\d): ([^.;]+)", one_line(page)):
        yield Rule("G", code), title


_CODE_ROW = re.compile(r"^(?P<code>[A-Z]\d{2,3})   +(?:(?:error|warning|info|notice) +)?(?P<title>\S.*)$", re.MULTILINE)


def codes(folder: Path) -> Iterator[tuple[Rule, str]]:
    """The codes of findings, from the tables in the readers' docstrings."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        for row in _CODE_ROW.finditer(text):
            title = re.split(r"(?<=[a-z\])`])\. ", row["title"].replace("``", "`"))[0].rstrip(".")
            yield Rule(row["code"][0], row["code"]), title


def directive_codes() -> Iterator[tuple[Rule, str]]:
    """The twelve rules of a directive and its other codes, from the table of error codes."""
    rows = next(area.codes for area in load() if area.name == "directives")
    for row in sorted(rows, key=lambda row: (row.code[0] != "R", row.code)):
        if re.fullmatch(r"[RD]\d+", row.code):
            yield Rule(row.code[0], row.code), row.title.rstrip(".")


# -- what is cited ---------------------------------------------------------------------------------------------------------

_NUMBER = r"§?(?:\d+(?:\.\d+)?)"
_NUMBERS = rf"{_NUMBER}(?:(?:, (?:and )?| and | to |–)(?=§?\d){_NUMBER})*"
_PART = r"Directives|Overrides|Role directives(?: and formula overlays)?|Overlays|Agents|Roles|Skills|Every kind"
_DECISION = re.compile(rf"(?:DECISIONS,? )?\"?\b(?P<part>{_PART})\"?,? (?P<numbers>{_NUMBERS})(?![\w.]*\w)")
_PARTS = re.compile(rf"DECISIONS,? \"?(?P<part>{_PART})\b")
_HEADING = re.compile(
    rf"(?P<book>DESIGN|\bhouse(?:\.md)?|design/\w+\.md|design: \w+) (?P<numbers>{_NUMBERS})(?!\d)"
    r"(?P<names>(?:,? \"?(?:and )?\"?[A-Z][a-z]+(?: [a-z]+)*\"?)*)"
)
_ANY = re.compile(r"\b(?:DESIGN|DECISIONS)\b")


def one_line(text: str) -> str:
    """The text without line breaks and comment markers, so that no citation is split."""
    return re.sub(r"\s*\n\s*(?:#:? )?", " ", text)


def cited(text: str, letters: Mapping[str, int]) -> Iterator[Rule]:
    """Every citation in a text. ``letters``: each code family's letter, and its number of digits."""
    text = one_line(text)
    for found in _HEADING.finditer(text):
        book = re.sub(r"design/|design: |\.md", "", found["book"])
        numbers = list(spelled_out(found["numbers"]))
        yield from (Rule(book, number) for number in numbers)
        for name in re.findall(r"[A-Z][a-z]+(?: (?!and\b)[a-z]+)*", found["names"]):
            yield Rule(book, f"{numbers[-1]} {name}")
    for found in _DECISION.finditer(text):
        part = SHORT.get(found["part"], found["part"])
        yield from (Rule(part, number) for number in spelled_out(found["numbers"]))
    for found in _PARTS.finditer(text):
        yield Rule(SHORT.get(found["part"], found["part"]), "")
    for code in re.findall(r"\b[A-Z]\d{1,3}\b", text):
        if letters.get(code[0]) == len(code) - 1:
            yield Rule(code[0], code)


def spelled_out(numbers: str) -> Iterator[str]:
    """``2–4, 9 and 11`` as 2, 3, 4, 9, 11."""
    for piece in re.split(r", (?:and )?| and ", numbers.replace("§", "")):
        first, _, last = piece.replace(" to ", "–").partition("–")
        yield from (str(number) for number in range(int(first), int(last) + 1)) if last else [first]


def dangling(text: str) -> list[str]:
    """Mentions of a book that start no citation, so there is nothing to look up."""
    if not _ANY.search(text):
        return []
    text = one_line(text)
    taken = {found.start() for pattern in (_HEADING, _DECISION, _PARTS) for found in pattern.finditer(text)}
    return [text[found.start() : found.start() + 60] for found in _ANY.finditer(text) if found.start() not in taken]


def families(known: Mapping[Rule, str]) -> dict[str, int]:
    """The letters of the codes, with their number of digits."""
    return {rule.book: len(rule.number) - 1 for rule in known if len(rule.book) == 1}


_NOT_OURS = frozenset(("programs", "node_modules", ".venv"))
"""Where ``make test-clients`` installs other people's programs."""


def files() -> list[Path]:
    """The files that cite: Python source of the project and its tests, and the documentation outside the design."""
    roots = [*(ROOT / name for name in ("rye", "registry_server", "tests", "benchmarks")), ROOT / "docs"]
    found = [
        path
        for root in roots
        for path in root.rglob("*")
        if path.suffix in (".py", ".md") and not _NOT_OURS.intersection(path.relative_to(ROOT).parts)
    ]
    mine = {ROOT / "tests" / "house" / name for name in ("citations.py", "test_citations.py", "rules_table.py")}
    return sorted(
        path for path in found if DESIGN not in path.parents and path not in mine and "vectors" not in path.parts
    )
