"""``rye.lock``: the same content always gives the same bytes, and the reader rejects everything unknown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.items.consented import HookAction
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedFile, LockedItem, LockError, lock_text, parse_lock

ITEM = LockedItem(
    kind="directive",
    id="acme/workflows/deploy",
    version="1.2.0",
    size=10,
    sha256="ab" * 32,
    suffix=".md",
    registry="registry.example",
    log=12,
    keyset=1,
    signer="SHA256:abc",
    dependencies=("tool:acme/shell/docker",),
    capabilities=("rye.execute.tool.acme.shell.docker", "rye.search.*"),
    hooks=(HookAction('error.type == "x"', "directive", "acme/on_error", (("a", "${error.type}"),)),),
    approved=approving(right=("rye.search.*",)),
)
SKILL = LockedItem(
    kind="skill",
    id="acme/pdf",
    version="1.0.0",
    size=3,
    sha256="cd" * 32,
    suffix="SKILL.md",
    registry="registry.example",
    log=9,
    keyset=1,
    signer="SHA256:abc",
    attached=(LockedFile("scripts/run.py", 4, "ef" * 32, executable=True), LockedFile("a.md", 1, "01" * 32)),
    agent_tools=("Bash(git:*)", "Read"),
    groups=("dev", "main"),
)


def test_a_lock_comes_back_as_it_was_written() -> None:
    lock = Lock({"acme/workflows/deploy": "^1"}, (ITEM, replace(SKILL, attached=tuple(sorted(SKILL.attached)))))
    assert parse_lock(lock_text(lock)) == lock
    assert lock.find(Identity("skill", "acme/pdf")) is not None
    assert lock.find(Identity("tool", "acme/pdf")) is None


def test_the_text_does_not_depend_on_the_order() -> None:
    one = Lock({"b": "*", "a": "*"}, (ITEM, SKILL))
    other = Lock({"a": "*", "b": "*"}, (SKILL, replace(ITEM, capabilities=ITEM.capabilities[::-1])))
    assert lock_text(one) == lock_text(other)


def test_one_value_a_line_so_that_branches_merge() -> None:
    lines = lock_text(Lock({}, (ITEM,))).splitlines()
    assert '  "rye.search.*",' in lines
    assert max(len(line) for line in lines) < 140


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_survives_and_is_printable(when: str, value: str) -> None:
    item = replace(ITEM, hooks=(HookAction(when, "tool", "a/b", (("k", value),)),))
    try:
        text = lock_text(Lock({}, (item,)))
        assert all(character.isprintable() for character in text.replace("\n", ""))
        assert parse_lock(text).items == (item,)
    except LockError:  # TOML has no lone surrogates
        assert any(0xD800 <= ord(c) <= 0xDFFF for c in when + value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('kind = "directive"', 'kind = "prompt"'),
        ('id = "acme/workflows/deploy"', 'id = "acme/../../etc"'),
        ('id = "acme/workflows/deploy"', 'id = "acme"'),
        ('suffix = ".md"', 'suffix = "/../../x"'),
        ("abab", "ABab"),
        ("size = 10", 'size = "10"'),
        ("size = 10", "size = true"),
        ("version = 1\n", "version = 2\n"),
        ("log = 12", "log = 12\nextra = 1"),
        ("size = 10\n", ""),
        ("[[item]]", "<<<<<<< HEAD\n[[item]]"),
        ("[[item]]", "[other]\n[[item]]"),
    ],
)
def test_a_lock_that_says_something_else_is_refused(before: str, after: str) -> None:
    text = lock_text(Lock({"acme/workflows/deploy": "^1"}, (ITEM,)))
    assert before in text
    with pytest.raises(LockError):
        parse_lock(text.replace(before, after, 1))


def test_the_same_item_twice_is_refused() -> None:
    with pytest.raises(LockError, match="duplicate items"):
        parse_lock(lock_text(Lock({}, (ITEM, ITEM))))


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", ".hidden", "a/../b", "A.md"])
def test_an_attached_path_that_is_unsafe_or_stands_twice_is_refused(path: str) -> None:
    item = replace(SKILL, attached=(LockedFile("a.md", 1, "01" * 32), LockedFile(path, 1, "01" * 32)))
    with pytest.raises(LockError):
        parse_lock(lock_text(Lock({}, (item,))))
