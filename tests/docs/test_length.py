"""Each page takes at most ten minutes to read, and ``docs/README.md`` lists it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
MOST_WORDS = 2_300
"""Ten minutes at 230 words a minute. Words are counted as ``wc -w`` does, code and tables included."""
LONGER = {
    "CHANGELOG.md": "a list by version, of which people read what is newer than theirs",
    "docs/design/rules.md": "a table for looking things up, made by `make rules-table`",
}
GENERATED = (DOCS / "reference" / "commands", DOCS / "reference" / "errors")
"""Reference pages that are generated from the source."""


def pages() -> list[Path]:
    """Every page that is not generated."""
    found = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    return sorted(page for page in found if not any(folder in page.parents for folder in GENERATED))


def test_no_page_takes_more_than_ten_minutes() -> None:
    words = {page.relative_to(ROOT).as_posix(): len(page.read_text("utf-8").split()) for page in pages()}
    assert len(words) > 40
    assert {page: count for page, count in words.items() if count > MOST_WORDS and page not in LONGER} == {}
    assert [page for page in LONGER if words[page] <= MOST_WORDS] == [], "no longer an exception"


def test_the_map_names_every_page() -> None:
    """The design has its own README, which names its pages."""
    linked = {
        (page.parent / target).resolve()
        for page in (DOCS / "README.md", DOCS / "design" / "README.md", DOCS / "design" / "decisions" / "README.md")
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8"))
    }
    missing = [page for page in pages() if DOCS in page.parents and page.name != "README.md" and page not in linked]
    assert [page.relative_to(ROOT).as_posix() for page in missing] == []
