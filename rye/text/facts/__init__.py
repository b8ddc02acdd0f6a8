"""What a text talks about: hosts, programs, what is fetched and run, what is read and what stays (DESIGN §7.2).

``find_facts`` lists, ``difference`` compares two lists, ``counts`` and ``as_json`` print them. Facts are not a verdict.
Adding a fact means one file with a ``find(source)`` of its own, its row in ``fact.FACTS`` and its place in ``finding.RULES``.

The rules are imported with the first use of ``find_facts``; the words of facts cost nothing.
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
