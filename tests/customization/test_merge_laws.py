"""Laws of merging, and its cost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.customization.heading_path import Selector
from rye.customization.legacy import migrate_legacy
from rye.customization.merge import merge
from rye.customization.override_file import OPERATIONS, read_overrides
from rye.text.markdown_grammar import heading_of
from rye.text.markdown_sections import sections
from tests.customization.override_text import HEAD, directive, overrides
from tests.scenes.effort import FUZZ, tries

pytestmark = pytest.mark.slow

EXAMPLES = tries(80, 5_000)
SCALE = tries(1, 4)
"""The hostile shapes."""
LAW = settings(max_examples=EXAMPLES, deadline=None)

LINES = st.sampled_from(
    [
        *("", "", " ", "text", "# A", "# B", "## A", "## B", "### C", "## A ##", "\t## A"),
        *("```", "~~~", "  ```", "- ```", "<!-- x", "-->", "---", "===", "> q"),
    ]
)
BASES = st.lists(LINES, max_size=25).map("\n".join)
TARGETS = st.sampled_from(["# A", "# B", "## A", "## B", "### C", "# A > ## B", "# B > ### C", "## X"])
CONTENTS = st.lists(LINES, max_size=6).map("\n".join)
VALUES = st.sampled_from(["1", "- a", "[", "a: b"])
DIRECTIVES = st.one_of(
    st.builds(directive, st.sampled_from(OPERATIONS[:5]), TARGETS, CONTENTS),
    st.builds(lambda key, value: directive("frontmatter-set", key=key, content=value), st.sampled_from("kl"), VALUES),
    st.builds(lambda key: directive("frontmatter-delete", key=key), st.sampled_from("kl")),
)


@LAW
@given(BASES, st.lists(DIRECTIVES, max_size=6))
def test_merging_is_deterministic_and_never_fails(base: str, directives: list[str]) -> None:
    first = merge(base, overrides(*directives), base_name="sage")
    assert first == merge(base, overrides(*directives), base_name="sage")
    assert first.exit_code in (0, 1) or first.output is None
    applied = [step for step in first.steps if step.outcome == "applied"]
    if not applied and first.output is not None:
        assert first.output == base


@LAW
@given(BASES, TARGETS)
def test_a_directive_that_does_nothing_changes_nothing(base: str, target: str) -> None:
    for operation in ("append", "prepend", "insert-before", "insert-after"):
        assert merge(base, overrides(directive(operation, target, "\n \n")), base_name="sage").output == base
    level, text = heading_of(target.rpartition(" > ")[2]) or (0, "")
    lines = base.split("\n")
    blocks = sections(lines).blocks
    index = next((i for i, block in enumerate(blocks) if Selector(block.level, block.text) == (level, text)), None)
    if index is not None and " > " not in target:
        end = next((block.start for block in blocks[index + 1 :] if block.level <= level), len(lines))
        same = directive("replace", target, "\n".join(lines[blocks[index].start : end]))
        if "\n---\n" not in f"\n{base}\n":
            assert merge(base, overrides(same), base_name="sage").output == base


@LAW
@given(BASES, st.sampled_from(OPERATIONS[:5]), st.sampled_from(["# A", "## A", "## B", "### C"]))
def test_text_outside_the_touched_section_is_identical(base: str, operation: str, target: str) -> None:
    result = merge(base, overrides(directive(operation, target, "INSERTED")), base_name="sage")
    assert result.output is not None
    if "INSERTED" not in result.output:
        assert result.output == base
        return
    before, _, after = result.output.partition("INSERTED")
    assert base.startswith(before.rstrip(" \t\n"))
    assert base.rstrip(" \t\n").endswith(after.strip(" \t\n"))
    if operation != "replace":
        assert (before.rstrip() + after.rstrip()).replace("\n", "").replace(" ", "") == base.replace("\n", "").replace(
            " ", ""
        )


@LAW
@given(st.text(max_size=300), st.text(max_size=200))
def test_any_text_is_read_without_failing(text: str, base: str) -> None:
    read_overrides(text)
    merge(base, HEAD + text, base_name="sage")
    migrate_legacy(text, agent="sage")


@LAW
@given(st.lists(LINES, max_size=20).map("\n".join))
def test_a_migrated_file_reads_without_errors(body: str) -> None:
    migration = migrate_legacy(body, agent="sage")
    if migration.output is not None:
        reading = read_overrides(migration.output)
        assert reading.file is not None
        assert [d for d in reading.diagnostics if d.severity == "error"] == []
        assert tuple(d.target for d in reading.file.directives) == migration.replaced


def _seconds(base: str, text: str) -> float:
    started = time.process_time()
    merge(base, text, base_name="sage")
    return time.process_time() - started


def test_500_directives_on_5000_sections_take_no_quadratic_time() -> None:
    base = "".join(f"## Section {i}\n\nSome text.\n\n- an item\n- another\n\n" for i in range(5000))
    some = [OPERATIONS[i % 5] for i in range(500)]
    for operations in [some, *([one] * 500 for one in OPERATIONS[:5] if FUZZ)]:
        many = overrides(
            *(
                directive(operation, f"## Section {i * 10}", f"## Section {i * 10}\n\nNew.")
                for i, operation in enumerate(operations)
            )
        )
        assert _seconds(base, many) < 10
    keys = overrides(*(directive("frontmatter-set", key=f"k{i}", content='"v"') for i in range(500)))
    assert _seconds(base, keys) < 8


@pytest.mark.thorough
def test_hostile_shapes_stay_near_linear() -> None:
    hashes = "# a\n" * 7_500 * SCALE
    assert _seconds(hashes, overrides(*(directive("append", "# a", "x") for _ in range(750 * SCALE)))) < 8 * SCALE
    assert (
        _seconds(hashes, overrides(*(directive("replace", "# a", "# a\n# a") for _ in range(750 * SCALE)))) < 8 * SCALE
    )
    chain = [directive("replace", f"# {i}", f"# {i}x\n# {i + 1}") for i in range(625 * SCALE)]
    assert _seconds("# 0\n", overrides(*chain)) < 8 * SCALE
    lookalikes = overrides(*(directive("insert-before", "# a", "---\n---") for _ in range(750 * SCALE)))
    assert _seconds(hashes, lookalikes) < 8 * SCALE
    for line in (
        "- " * 25_000 * SCALE,
        "#" * 50_000 * SCALE,
        "# a" + " " * 50_000 * SCALE + "b",
        "`" * 50_000 * SCALE,
        "1. " * 15_000 * SCALE,
        "<!--" * 12_500 * SCALE,
    ):
        assert _seconds(line + "\n## A\n", overrides(directive("append", "## A", line))) < 8 * SCALE
    assert _seconds("## A\n", overrides("<!-- DIRECTIVE: replace\n" * 2_250 * SCALE)) < 8 * SCALE
