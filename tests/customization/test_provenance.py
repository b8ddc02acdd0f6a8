"""Each line of a merged text knows the file and line where it was written (DECISIONS Directives 20)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rye.customization.merge import merge
from rye.customization.override_file import CLOSER, ESCAPED_CLOSER
from rye.customization.provenance import Origin, file_lines, merged_lines, origin_of

HEAD = "---\nagent: tea\nbase-version: 1\nlast-reviewed: 2026-01-01\n---\n\nWhy.\n\n"
BASE = """---
name: tea
# how
size: 1
list:
  - a
---

# Tea

Intro.

## Brew

Boil.

### Time

Five.

## Serve

Pour.
"""


def directive(operation: str, where: str, *content: str) -> str:
    field = "key" if operation.startswith("frontmatter") else "target"
    return "\n".join([f"<!-- DIRECTIVE: {operation}", f"{field}: {where}", "reason: r", "-->", *content, CLOSER, ""])


def check(base: str, overrides: str) -> None:
    """Every non-blank line is found at its origin, unchanged or spliced after a key."""
    result = merge(base, overrides, base_name="tea")
    assert result.output is not None
    merged = result.output.split("\n")
    if merged[-1] == "":
        merged.pop()
    assert len(merged) == len(result.origins)
    base_lines, overrides_lines = base.split("\n"), overrides.replace(ESCAPED_CLOSER, CLOSER).split("\n")
    for line, origin in zip(merged, result.origins, strict=True):
        written = (overrides_lines if origin.overrides else base_lines)[origin.line - 1]
        if line.strip() in ("", "---"):
            continue
        assert written.strip(), line
        assert line == written or line.endswith((written.strip(), ":")), line


CONTENTS = st.lists(
    st.sampled_from(["", "x", "## Brew", "### Time", "More.", "# Top", "  y", ESCAPED_CLOSER]), max_size=5
)
BODY = st.tuples(
    st.sampled_from(["replace", "append", "prepend", "insert-before", "insert-after"]),
    st.sampled_from(["# Tea", "## Brew", "### Time", "## Serve", "# Tea > ### Time"]),
    CONTENTS,
)
KEYS = st.tuples(
    st.just("frontmatter-set"),
    st.sampled_from(["size", "list", "new"]),
    st.sampled_from([["2"], ["", "- b", "- c"], ["|", "  text", "  more"], ["", "{a: 1}", ""]]),
)
NO_CONTENT: list[str] = []
DELETIONS = st.tuples(st.just("frontmatter-delete"), st.sampled_from(["size", "gone"]), st.just(NO_CONTENT))


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.one_of(BODY, KEYS, DELETIONS), max_size=6))
def test_every_line_of_a_merge_is_where_its_origin_says(
    parts: list[tuple[str, str, list[str]]],
) -> None:
    overrides = HEAD + "\n".join(directive(operation, where, *content) for operation, where, content in parts)
    check(BASE, overrides)
    check(BASE.split("---\n", 2)[2], overrides)


def test_two_merges_lead_back_to_three_files() -> None:
    first = HEAD + directive("append", "## Brew", "", "From the first.")
    one = merge(BASE, first, base_name="tea")
    origins = merged_lines(file_lines("base.md", BASE, BASE), "first.md", one.origins)
    second = HEAD + directive("append", "## Serve", "From the second.")
    two = merge(one.text(), second, base_name="tea")
    origins = merged_lines(origins, "second.md", two.origins)
    places = {
        text: origin_of(origins, number)
        for number, text in enumerate(two.text().split("\n"), 1)
        if text in ("Boil.", "From the first.", "From the second.", "Pour.")
    }
    assert places == {
        "Boil.": Origin("base.md", 15),
        "From the first.": Origin("first.md", 14),
        "From the second.": Origin("second.md", 13),
        "Pour.": Origin("base.md", 23),
    }


def test_a_line_taken_out_of_a_file_moves_the_rest() -> None:
    assert [one.line for one in file_lines("f", "a\nSIG\nb\nc", "a\nb\nc")] == [1, 3, 4]
    assert [one.line for one in file_lines("f", "SIG\na\n", "a\n")] == [2, 3]
    assert [one.line for one in file_lines("f", "a\nSIG", "a")] == [1]
    assert [one.line for one in file_lines("f", "a\nb", "a\nb")] == [1, 2]
