"""Only the Markdown scanner decides what a text opens with, so all readers see the same file."""

from __future__ import annotations

import pytest

from rye.text.markdown_opening import leading_fence, title


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Witness\n", "Witness"),
        ("   # Witness ##\n", "Witness"),
        ("prose\n\n# Witness\n\n```sh\nx\n```\n", "Witness"),
        ("prose with `<!--` in code\n\n# Witness\n", "Witness"),
        ("<!-- a\n# Other\n-->\n# Witness\n", "Witness"),
        ("> # Other\n\n# Witness\n", "Witness"),
        ("- # Other\n\n# Witness\n", "Witness"),
        ("    # Other\n\n# Witness\n", "Witness"),
        ("## Other\n# Witness\n", "Witness"),
        ("Other\n=====\n\n# Witness\n", "Witness"),
        ("```\n# Other\n```\n# Witness\n", None),
        ("~~~~\n~~~\n# Witness\n~~~~\n", None),
        ("<!-- never closed\n\n# Witness\n", None),
        ("#Witness\n", None),
        ("", None),
    ],
)
def test_a_title_is_the_first_heading_of_level_1_that_no_fence_precedes(text: str, found: str | None) -> None:
    assert title(text) == found


@pytest.mark.parametrize(
    ("text", "line", "content"),
    [
        ("```yaml\na: 1\n```\n", 1, "a: 1"),
        ("\n<!-- a\nb -->\n\n~~~yaml\na: 1\n~~~\n", 5, "a: 1"),
        ("<!-- a -->\n -->\n```yaml\n```\n", 3, ""),
        ("````yaml\n```\n````\n", 1, "```"),
        ("```yml\na: 1\n```\n\n```yaml\nb: 2\n```\n", 1, "a: 1"),
    ],
)
def test_a_fence_may_stand_below_blank_lines_and_comments(text: str, line: int, content: str) -> None:
    fence, at = leading_fence(text, "yaml")
    assert fence is not None
    assert (fence.line, at, fence.text) == (line, line, content)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("prose\n```yaml\na: 1\n```\n", 1),
        ("<!-- ```yaml -->\nprose\n\n```yaml\n```\n", 2),
        ("> ```yaml\n> a: 1\n> ```\n\n```yaml\n```\n", 1),
        ("    ```yaml\n    ```\n\n```yaml\n```\n", 1),
        ("<!-- never closed\n```yaml\n```\n", 4),
        ("", 1),
    ],
)
def test_anything_else_above_means_that_there_is_none(text: str, line: int) -> None:
    """Text that only looks like a fence, or is inside a comment, a quote or indented code, is not a fence."""
    fence, at = leading_fence(text, "yaml")
    assert fence is None
    assert at == line
