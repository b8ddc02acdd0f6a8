"""What an import writes into rye.toml: names of sources, and comments that cannot turn into anything else."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.importing.composing import Writing, composed, source_name
from rye.importing.foreign import LeftOut
from rye.items.identity import is_segment
from rye.project.declared_sources import GitSource


@pytest.mark.parametrize(
    ("place", "taken", "name"),
    [
        ("https://github.com/acme/Agent-Skills.git", (), "agent-skills"),
        ("https://github.com/acme/skills.git", ("skills",), "acme-skills"),
        ("https://github.com/acme/skills.git", ("skills", "acme-skills"), "source"),
        ("https://github.com/acme/skills.git", ("skills", "acme-skills", "source"), "skills-2"),
        ("https://github.com/acme/mono.git/tools/sub", (), "sub"),
        (".claude/skills", (), "claude-skills"),
        ("../shared/pdf", (), "pdf"),
        ("packages/kit/.apm/skills", ("kit",), "packages-kit"),
        ("ssh://git@git.example.org/team/con.git", (), "team-con"),
    ],
)
def test_a_source_is_called_as_its_place_is(place: str, taken: tuple[str, ...], name: str) -> None:
    assert source_name(place, taken) == name


@given(st.text(max_size=60), st.sets(st.sampled_from(["source", "source-2", "a", "skills"])))
def test_whatever_the_place_the_name_is_one_and_free(place: str, taken: set[str]) -> None:
    name = source_name(place, taken)
    assert is_segment(name)
    assert name not in taken


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
