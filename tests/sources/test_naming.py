"""Names of sources: one function for `rye add` and `rye import`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.items.identity import is_segment
from rye.project.declared_sources import GitSource, PathSource
from rye.sources.naming import free_name, own_names


def source(place: str) -> GitSource | PathSource:
    url, _, path = place.partition("#")
    return GitSource("", url, None, path) if "://" in place else PathSource("", place)


@pytest.mark.parametrize(
    ("place", "taken", "name"),
    [
        ("https://github.com/acme/Agent-Skills.git", (), "acme"),
        ("https://github.com/acme/skills.git", ("acme",), "acme-skills"),
        ("https://github.com/acme/skills.git", ("acme", "acme-skills"), "acme-skills-2"),
        ("https://github.com/acme/mono.git#tools/sub", (), "acme"),
        ("https://github.com/acme/mono.git#tools/sub", ("acme", "acme-mono"), "acme-mono-sub"),
        ("https://git.example.org/kit.git", (), "kit"),
        (".claude/skills", (), "claude-skills"),
        ("tools/agents", (), "tools-agents"),
        ("../shared/pdf", (), "pdf"),
        ("../shared/pdf", ("pdf",), "shared-pdf"),
        ("..", (), "source"),
        ("ssh://git@git.example.org/con/con.git", (), "con-con"),
    ],
)
def test_a_source_is_called_as_its_place_is(place: str, taken: tuple[str, ...], name: str) -> None:
    assert free_name(source(place), taken) == name


@given(st.text(max_size=60), st.booleans(), st.sets(st.sampled_from(["source", "source-2", "a", "skills"])))
def test_whatever_the_place_the_name_is_one_and_free(place: str, git: bool, taken: set[str]) -> None:
    one = GitSource("", f"https://host/{place}", None, "") if git else PathSource("", place)
    name = free_name(one, taken)
    assert is_segment(name)
    assert name not in taken
    assert own_names(one)
