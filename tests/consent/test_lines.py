"""Approvals are stored in lines that no item's author can forge (DESIGN 6.1, Agreed here)."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from rye.consent.ask import Ask

TEXTS = st.text(st.sampled_from('ab: ".\\,[]\x7f\x00\n\u2028é\U0001f600\ud800')) | st.text()


@given(TEXTS, TEXTS)
@example("acme/a", 'x", "right", "rye.*')
@example("tool:acme/a", "rye.execute.*")
@example('"', "\\")
def test_a_line_is_the_json_of_its_three_texts(item: str, value: str) -> None:
    line = Ask(item, "right", value).line
    assert line == json.dumps([item, "right", value], ensure_ascii=True)
    assert "\n" not in line
    assert line.startswith(Ask(item, "right", "").start)
    assert not Ask(item, "right", value).line.startswith(Ask(f"{item}b", "right", "").start)
