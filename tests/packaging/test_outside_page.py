"""docs/reference/outside.md and the pins say the same of the programs that judge us. Needs none of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.outside.installing import PROGRAMS, PYTHON, ROOT, WITNESSES, Pinned
from tests.outside.judges import ELSEWHERE, HERE
from tests.outside.table import page

PAGE = (ROOT / "docs/reference/outside.md").read_text("utf-8")


def test_every_judge_has_a_row_with_the_pinned_version_and_a_test() -> None:
    rows = dict(re.findall(r"^\| ([^|]+) \| (\d[^|]*) \|", PAGE, re.MULTILINE))
    assert {judge.name: judge.version for judge in (*HERE.values(), *ELSEWHERE)}.items() <= rows.items()
    assert [
        each.played_by for each in (*HERE.values(), *ELSEWHERE) if not (ROOT / "tests" / each.played_by).is_file()
    ] == []


def test_a_judge_that_was_not_run_or_in_another_version_has_no_result() -> None:
    older = {"version": "0.0.1", "cases": 9, "passed": 9, "note": "", "not_applicable": {}}
    made = page("2026-01-02", lambda name: older if name == "zizmor" else {})
    (row,) = (line for line in made.splitlines() if line.startswith("| zizmor "))
    assert "| not run | not run |" in row
    assert "2026-01-02" not in row


@pytest.mark.parametrize("pinned", [PYTHON, WITNESSES])
def test_the_pins_of_python_programs_have_hashes_and_no_addresses(pinned: Pinned) -> None:
    text = pinned.pins.read_text("utf-8")
    rows = [part for part in re.split(r"\n(?=\S)", text) if "==" in part.partition(" ")[0]]
    assert rows
    assert all("--hash=sha256:" in row for row in rows)
    assert "://" not in text


@pytest.mark.parametrize("folder", [".", "oidc-provider", "renovate"])
def test_the_pins_of_npm_programs_have_hashes_and_no_addresses(folder: str) -> None:
    lock = (PROGRAMS.pins.parent / folder / "package-lock.json").read_text("utf-8")
    packages = json.loads(lock)["packages"]
    assert "://" not in lock
    assert all(row["integrity"].startswith("sha512-") for name, row in packages.items() if name)
    wanted = json.loads((PROGRAMS.pins.parent / folder / "package.json").read_text("utf-8"))["dependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in wanted} == wanted


def test_the_makefile_names_the_program_that_makes_the_page() -> None:
    assert "-m tests.outside.table docs/reference/outside.md" in Path(ROOT / "Makefile").read_text("utf-8")
