"""What a text talks about: hosts, programs, what it fetches and runs, what it reads, what it leaves behind (DESIGN §7.2).

``find_facts`` lists facts, ``difference`` compares two lists, ``counts`` and ``as_json`` print them. Facts are not a verdict.
To add a fact, write one file with a ``find(source)`` of its own, and add a row to ``fact.FACTS`` and an entry to
``finding.RULES``.

The rules are imported on the first use of ``find_facts``; the table of facts alone is cheap to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rye.text.facts.fact import ALARM, CAUTION, FACTS, LEVELS, NOTE, Fact, as_json, counts, difference, severity

if TYPE_CHECKING:
    from rye.text.facts.finding import find_facts

__all__ = [
    "ALARM",
    "CAUTION",
    "FACTS",
    "LEVELS",
    "NOTE",
    "Fact",
    "as_json",
    "counts",
    "difference",
    "find_facts",
    "severity",
]


def __getattr__(name: str) -> Any:
    if name == "find_facts":
        from rye.text.facts.finding import find_facts

        return find_facts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
