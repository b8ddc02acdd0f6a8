"""What rights of many items cost: what the user agreed to is read once, however many items ask."""

from __future__ import annotations

import json

import pytest

from rye.consent import agreement
from rye.consent.agreement import Agreement
from rye.consent.ask import Ask


def right(number: int, text: str) -> Ask:
    return Ask(f"directive:acme/work/d{number}", "right", text)


@pytest.mark.parametrize("items", [3, 12])
def test_each_line_is_read_once(items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    class Counted:
        @staticmethod
        def loads(line: str) -> object:
            read.append(line)
            return json.loads(line)

    monkeypatch.setattr(agreement, "json", Counted)
    agreed = Agreement(frozenset(right(each, "rye.execute.tool.*").line for each in range(items)))
    wanted = [right(each, name) for each in range(items) for name in ("rye.execute.tool.shell", "rye.search.*")]
    missing = agreed.missing(wanted)
    assert missing == tuple(sorted(right(each, "rye.search.*") for each in range(items)))
    assert len(read) == items
