"""The golden cases of tests/vectors/overrides, which other implementations can also use."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from rye.customization.merge import merge

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "overrides"
CASES = sorted(path.parent for path in VECTORS.glob("*/case.json"))


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def test_the_cases_are_there() -> None:
    assert len(CASES) == 8


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_vector(folder: Path) -> None:
    case = json.loads(_text(folder / "case.json"))
    today = date.fromisoformat(case["today"]) if case["today"] else None
    result = merge(_text(folder / "base.md"), _text(folder / "overrides.md"), base_name=case["base_name"], today=today)
    expected = folder / "expected.md"
    assert result.output == (_text(expected) if expected.exists() else None)
    assert result.exit_code == case["exit_code"]
    found = [{"severity": d.severity, "code": d.code, "line": d.line} for d in result.diagnostics]
    assert found == case["diagnostics"]
