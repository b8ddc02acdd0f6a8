"""What an import writes into rye.toml: names of sources, and comments that cannot turn into anything else."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from rye.importing.foreign import LeftOut
from rye.project.declared_sources import GitSource
from rye.workspace.installing.importing import Writing, composed


@given(st.text(), st.text(), st.text())
def test_comments_change_nothing_of_what_the_manifest_says(file: str, what: str, reason: str) -> None:
    text = '[project]\nname = "shop"\n'
    source = GitSource("team", "https://git.example.org/x.git")
    plain = Writing([source], {"main": ["skill:team/pdf"]}, [])
    said = Writing([source], {"main": ["skill:team/pdf"]}, [LeftOut(file, what, reason)])
    assert tomllib.loads(composed(text, said)) == tomllib.loads(composed(text, plain))


def test_line_ends_stay_and_nothing_is_said_twice() -> None:
    text = '[project]\r\nname = "shop"\r\n'
    writing = Writing([], {}, [LeftOut("a", "b", "c"), LeftOut("a", "b", "c")])
    once = composed(text, writing)
    assert once.count("\r\n") == once.count("\n") == 5
    assert composed(once, writing) == once
