"""Time to merge 500 directives into 5,000 sections, compared in the same run with work that no merge can avoid.

Bounds: splitting the target into lines and joining them again (nothing is cheaper), and parsing it once with a Markdown
parser (what a merge on a syntax tree would have to do before its first directive). Run: ``python benchmarks/merge.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rye.customization.merge import merge

SECTIONS = 5_000
DIRECTIVES = 500
ROUNDS = 5
OPERATIONS = ("replace", "append", "prepend", "insert-before", "insert-after")

_HEAD = '---\nagent: sage\nbase-version: "1.0"\nlast-reviewed: "2026-01-01"\n---\n\n'


def target() -> str:
    """A target of ``SECTIONS`` sections in chapters of fifty, with prose, a list and a fence in each."""
    parts = ['---\nname: sage\nversion: "1.0"\n---\n\n']
    for number in range(SECTIONS):
        if number % 50 == 0:
            parts.append(f"# Chapter {number // 50}\n\nWhat this chapter is about.\n\n")
        parts.append(
            f"## Section {number}\n\nA line of prose.\nAnother one.\n\n- one\n- two\n\n```sh\n# no heading\n```\n\n"
        )
    return "".join(parts)


def overrides() -> str:
    """``DIRECTIVES`` directives spread over the target, with an equal number of each operation."""
    parts = [_HEAD]
    for number in range(DIRECTIVES):
        operation = OPERATIONS[number % len(OPERATIONS)]
        section = number * (SECTIONS // DIRECTIVES)
        content = f"## Section {section}\n\nNew.\n" if operation == "replace" else "New text.\n"
        parts.append(
            f"<!-- DIRECTIVE: {operation}\ntarget: # Chapter {section // 50} > ## Section {section}\nreason: measuring\n-->\n"
            f"{content}<!-- END DIRECTIVE -->\n\n"
        )
    return "".join(parts)


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the fastest of ``ROUNDS`` runs."""
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    from markdown_it import MarkdownIt

    base, changes = target(), overrides()
    result = merge(base, changes)
    if result.exit_code or [step for step in result.steps if step.outcome != "applied"]:
        raise SystemExit("the benchmark's own merge went wrong")
    parser = MarkdownIt()
    merging = fastest(lambda: merge(base, changes))
    lines = fastest(lambda: "\n".join(base.split("\n")))
    tree = fastest(lambda: parser.parse(base))
    print(f"{SECTIONS} sections ({len(base) // 1024} KiB), {DIRECTIVES} directives, best of {ROUNDS}")
    print(f"merge                      {merging * 1000:8.1f} ms")
    print(f"split and join lines       {lines * 1000:8.1f} ms   merge is {merging / lines:7.1f} times that")
    print(f"parse once, markdown-it-py {tree * 1000:8.1f} ms   merge is {merging / tree:7.2f} times that")


if __name__ == "__main__":
    main()
