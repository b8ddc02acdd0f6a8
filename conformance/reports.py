"""Results as JSON and as JUnit's XML, and expected failures.

The file of expected failures has one case a line, ``#`` for comments. It is exact both ways: a case that fails and is not listed,
and one that is listed and does not fail, both make a run fail.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from conformance.running import Result

Outcome = str
"""``passed``, ``failed``, ``skipped``, ``expected failure`` or ``unexpected pass``."""


def read_expected(path: Path | None) -> frozenset[str]:
    """The ids of cases that are known to fail."""
    if path is None:
        return frozenset()
    lines = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line)


def outcome(result: Result, expected: frozenset[str]) -> Outcome:
    if result.skipped is not None:
        return "skipped"
    listed = result.case.id in expected
    if result.failure is None:
        return "unexpected pass" if listed else "passed"
    return "expected failure" if listed else "failed"


def unknown(expected: frozenset[str], results: Iterable[Result]) -> list[str]:
    """Expected failures of cases that were not there."""
    return sorted(expected - {result.case.id for result in results})


def is_good(results: Sequence[Result], expected: frozenset[str]) -> bool:
    """Whether nothing failed but what is expected to, and all of that did."""
    return all(outcome(result, expected) in ("passed", "skipped", "expected failure") for result in results)


def as_json(name: str, results: Sequence[Result], expected: frozenset[str]) -> str:
    cases = [
        {
            "id": result.case.id,
            "page": result.case.page,
            "quote": result.case.quote,
            "expected": result.case.expected,
            "actual": result.actual,
            "outcome": outcome(result, expected),
            "seconds": round(result.seconds, 3),
            **({"failure": result.failure} if result.failure is not None else {}),
            **({"needs": result.skipped} if result.skipped is not None else {}),
        }
        for result in results
    ]
    return json.dumps({"client": name, "counts": counts(results, expected), "cases": cases}, indent=1) + "\n"


def counts(results: Sequence[Result], expected: frozenset[str]) -> dict[Outcome, int]:
    names = ("passed", "failed", "skipped", "expected failure", "unexpected pass")
    found = [outcome(result, expected) for result in results]
    return {"cases": len(results), **{name: found.count(name) for name in names}}


def as_junit(name: str, results: Sequence[Result], expected: frozenset[str]) -> str:
    numbers = counts(results, expected)
    failed = numbers["failed"] + numbers["unexpected pass"]
    suite = ElementTree.Element(
        "testsuite",
        name=f"conformance of {name}",
        tests=str(len(results)),
        failures=str(failed),
        errors="0",
        skipped=str(numbers["skipped"] + numbers["expected failure"]),
        time=f"{sum(result.seconds for result in results):.3f}",
    )
    for result in results:
        subject, _, title = result.case.id.partition("/")
        case = ElementTree.SubElement(suite, "testcase", classname=subject, name=title, time=f"{result.seconds:.3f}")
        found = outcome(result, expected)
        if found in ("skipped", "expected failure"):
            ElementTree.SubElement(case, "skipped", message=result.skipped or f"expected: {result.failure}")
        elif found == "unexpected pass":
            ElementTree.SubElement(case, "failure", message="it is listed as an expected failure, and passed")
        elif result.failure is not None:
            shown = "".join(letter if letter.isprintable() else "?" for letter in result.failure)
            ElementTree.SubElement(case, "failure", message=shown).text = f"{result.case.page}: {result.case.quote}"
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, "unicode", xml_declaration=True) + "\n"
