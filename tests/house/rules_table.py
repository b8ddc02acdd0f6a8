"""``make rules-table``: ``docs/design/rules.md``, every rule and tests that cite it. Generated from pages, source and tests."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.house.citations import DESIGN, ROOT, Rule, cited, families, files, rules

PAGE = DESIGN / "rules.md"
_SHOWN = 3
"""Test files named for a rule at most; to find the others, search for the rule's number."""
_HEAD = """# Rules and their tests

Made by `make rules-table`; do not edit. For each rule of the [decisions](decisions/README.md), each section of the design
and each code of a finding: what it is about, and test files that cite it, three at most. To find all of them, search `tests/` for
the citation. A rule without a file is played by tests that do not name it, or by none.
"""
_TITLES = {
    "DESIGN": "DESIGN",
    "house": "house",
    "agents": "agents (design/agents.md)",
    "server": "server (design/server.md)",
    "sources": "sources (design/sources.md)",
    "A": "Agents: codes",
    "B": "Bundles: codes",
    "C": "Characters and size: codes",
    "D": "Directives: codes beyond the twelve rules",
    "F": "Formulas: codes",
    "G": "Completeness of a lock: rules",
    "K": "Knowledge: codes",
    "N": "Roles: codes",
    "R": "Directives: the twelve rules",
    "S": "Skills: codes",
    "T": "Tools: codes",
}


def tests_by_rule(known: Mapping[Rule, str], citations: Iterable[tuple[str, Iterable[Rule]]]) -> dict[Rule, list[str]]:
    """The test files that cite each rule, sorted. ``citations``: the path of each test file, and what it cites."""
    found: dict[Rule, list[str]] = {rule: [] for rule in known}
    for path, rules_here in sorted(citations):
        for rule in found.keys() & set(rules_here):
            found[rule].append(path)
    return found


def table(known: Mapping[Rule, str], tests: Mapping[Rule, list[str]]) -> str:
    """The page."""
    lines = [_HEAD]
    book = None
    for rule, title in known.items():
        if rule.book != book:
            book = rule.book
            heading = _TITLES.get(book, f"DECISIONS {book}")
            lines += [f"\n## {heading}\n", "| rule | about | tests |", "|---|---|---|"]
        paths = tests[rule]
        if not rule.number or " " in rule.number:
            continue
        named = ", ".join(f"`{path.removeprefix('tests/')}`" for path in paths[:_SHOWN])
        more = ", …" if len(paths) > _SHOWN else ""
        lines.append(f"| {rule.number} | {title.replace('|', chr(92) + '|')} | {named}{more} |")
    return "\n".join(lines).replace("\n\n\n", "\n\n") + "\n"


def made() -> str:
    """The page for the current tree."""
    known = rules()
    tests = [path for path in files() if path.is_relative_to(ROOT / "tests") and path.suffix == ".py"]
    letters = families(known)
    citations = [(path.relative_to(ROOT).as_posix(), cited(path.read_text("utf-8"), letters)) for path in tests]
    return table(known, tests_by_rule(known, citations))


if __name__ == "__main__":
    (Path(sys.argv[1]) if sys.argv[1:] else PAGE).write_text(made(), "utf-8")
