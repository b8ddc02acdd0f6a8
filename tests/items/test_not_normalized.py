"""Text that is not NFC is reported as such, wherever it appears (DECISIONS Directives 13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person


@pytest.mark.parametrize("written", ["e\u0301", "e\\u0301"])
def test_in_double_quotes(tmp_path: Path, written: str) -> None:
    """The message was once "an escape writes The text is not in normalization form C", with or without an escape."""
    rye = Person(tmp_path)
    rye.write(
        ".ai/agents/tea.md",
        f'---\nname: tea\nwhenToUse: "caf{written}"\n---\n\n## System Prompt\n\nYou make tea.\n',
    )
    result = rye.run("validate", ".ai/agents/tea.md", "--json")
    assert result.code == 1
    messages = " ".join(one["message"] for one in result.json["results"][0]["diagnostics"])
    assert "not in normalization form C" in messages
    assert "escape" not in messages
    assert "The text is not in normalization form C, which" not in messages
