"""``docs/reference/facts.md`` matches the rules: the examples in its tables are run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye.text.facts import FACTS, NOTE, find_facts

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "facts.md").read_text("utf-8")
ROWS = re.findall(r"^\| `(.+?)` \| (none|`[a-z-]+`) \|$", PAGE, re.MULTILINE)
LEVELS = dict(re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| (note|caution|alarm)", PAGE, re.MULTILINE))


def test_every_fact_is_listed_with_its_level() -> None:
    assert LEVELS == FACTS


def test_the_page_has_examples_of_every_caution_and_alarm() -> None:
    assert {fact.strip("`") for _, fact in ROWS} >= {fact for fact, level in FACTS.items() if level != NOTE}


@pytest.mark.parametrize(("text", "fact"), ROWS)
def test_an_example_gives_what_the_page_says(text: str, fact: str) -> None:
    written = text.replace("\\|", "|")
    prose = written[0].isupper()
    facts = find_facts({"SKILL.md": f"# T\n\n{written}\n" if prose else f"# T\n\n```sh\n{written}\n```\n"})
    found = {found.fact for found in facts if found.level != NOTE}
    assert found == (set() if fact == "none" else {fact.strip("`")})
