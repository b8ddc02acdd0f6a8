"""docs/reference/kinds.md: every kind has a section and a complete example that passes the kind's rules for publishing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rye.items.kinds import KINDS
from rye.items.reading import ReadOptions, Source

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "kinds.md").read_text(encoding="utf-8")
EXAMPLES = {
    match["kind"]: match
    for match in re.finditer(
        r"^<!-- example: (?P<kind>\w+) (?P<place>\S+) -->\n(?P<fence>`{3,})\w+\n(?P<text>.*?\n)(?P=fence)$",
        TEXT,
        re.M | re.S,
    )
}


def test_every_kind_has_one_section_and_one_example() -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$", "", TEXT, flags=re.M | re.S)
    assert sorted(re.findall(r"^## (\w+)$", prose.lower(), re.M)) == sorted(KINDS)
    assert sorted(EXAMPLES) == sorted(KINDS)
    assert TEXT.count("<!-- example:") == len(KINDS)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_example_is_valid_for_publishing(kind: str) -> None:
    example = EXAMPLES[kind]
    category, _, file_name = example["place"].rpartition("/")
    suffix = next((s for s in KINDS[kind].suffixes if file_name.endswith(s)), "")
    source = Source(example["text"], file_name, file_name.removesuffix(suffix), category, attached=())
    reading = KINDS[kind].load().read(source, ReadOptions(publishing=True))
    assert [d for d in reading.diagnostics if d.severity in ("error", "warning")] == []
    assert reading.value is not None
    assert KINDS[kind].load().as_json(reading.value)


@pytest.mark.parametrize("kind", ["agent", "role"])
def test_the_example_is_a_closed_set_by_itself(kind: str) -> None:
    rules = KINDS[kind].load_set_rules()
    assert rules is not None
    reading = KINDS[kind].load().read(Source(EXAMPLES[kind]["text"]), ReadOptions())
    assert rules.check_set({"example": reading}, ReadOptions()) == {}


def test_the_table_has_every_folder() -> None:
    assert all(f"`{row.folder}/" in TEXT for row in KINDS.values())
