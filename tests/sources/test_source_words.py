"""Near misses that people write instead of a source: each error shows the correct form."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import UsageError
from rye.project.manifest import parse_manifest
from rye.workspace.installing.source_words import is_source_word, named, read_source


def test_a_file_address_is_answered_with_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "kit"
    for hint in (
        "Check the path.",
        f"Write {folder} for a folder of items, or git+file://{folder} for a checkout's commits.",
    ):
        assert is_source_word(f"file://{folder}")
        with pytest.raises(UsageError) as refused:
            read_source(f"file://{folder}")
        assert (refused.value.code, refused.value.details["what"], refused.value.hint) == (
            "bad-argument",
            "source",
            hint,
        )
        folder.mkdir(exist_ok=True)


def test_a_rev_after_an_at_sign_is_answered_with_one_after_a_hash() -> None:
    with pytest.raises(UsageError) as refused:
        named(read_source("git+https://git.example.org/team/kit@v2"), parse_manifest(""), None)
    assert (refused.value.hint or "").endswith("follows a '#': git+https://git.example.org/team/kit#v2")


@pytest.mark.parametrize(
    "word", ["acme/kit", "skill:acme/kit", "tool:acme/net/fetch@>=1.2.0 <2", "acme/kit@^1.2", "kit"]
)
def test_an_items_name_is_no_address(word: str) -> None:
    assert not is_source_word(word)


@pytest.mark.parametrize("word", [".", "..", "./kit", "../kit", "/srv/kit", ".claude/skills"])
def test_what_begins_with_a_dot_or_a_slash_is_a_folder(word: str) -> None:
    assert is_source_word(word)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("git+git.example.org:3000/kit.git", "no https://, ssh:// or file://"),
        ("git+git.example.org/kit.git", "no https://, ssh:// or file://"),
        ("git+git@git.example.org:team/kit.git", "write ssh://USER@HOST/PATH"),
    ],
)
def test_what_the_address_lacks_is_named(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_source(word)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://git.example.org/anthropics/skills", "anthropics"),
        ("https://git.example.org/Vercel-Labs/agent-skills.git", "vercel-labs"),
        ("https://git.example.org/group/sub/kit", "group"),
        ("https://git.example.org/~user/kit", "user"),
        ("https://git.example.org/scm/team/kit.git", "team"),
        ("https://git.example.org/git/kit.git", "kit"),
        ("https://git.example.org/kit.git", "kit"),
        ("file:///srv/git/team/kit.git", "kit"),
        ("ssh://git@git.example.org:2222/team/kit.git", "team"),
    ],
)
def test_a_repository_is_named_by_its_owner(url: str, name: str) -> None:
    assert named(read_source(f"git+{url}"), parse_manifest(""), None).name == name


def test_a_second_repository_of_one_owner_has_both_names() -> None:
    first = parse_manifest('[sources]\nteam = { git = "https://git.example.org/team/kit" }\n')
    assert named(read_source("git+https://git.example.org/team/more"), first, None).name == "team-more"
    assert named(read_source("git+https://git.example.org/team/kit"), first, None).name == "team"
    assert named(read_source("git+https://git.example.org/team/more"), first, "mine").name == "mine"
