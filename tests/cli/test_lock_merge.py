"""``rye lock --merge`` as git's merge driver, with the real git (docs/how-to/automation.md)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rye.project.lock import is_conflicted, parse_lock
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = [pytest.mark.processes, pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]
RYE = f"{sys.executable} -m rye"


@pytest.fixture(scope="module")
def team(registry: Registry) -> Person:
    """A checkout whose branches add one item each, and a third that changes what the first one added."""
    author = registry.owner("acme")
    for name in ("base", "left", "right"):
        author.release(f"work/{name}")
    author.release("work/left", "1.1.0")
    team = registry.user()
    (team.folder / ".gitignore").write_text(".ai/\n")
    git(team, "init", "--quiet", "--initial-branch=main")
    git(team, "config", "merge.rye.driver", f"{RYE} lock --merge %O %A %B")
    (team.folder / ".gitattributes").write_text("rye.lock merge=rye\n")
    team.ok("add", "acme/work/base", "--yes")
    commit(team, "base")
    for branch, item in (("left", "acme/work/left@1.0.0"), ("right", "acme/work/right")):
        git(team, "switch", "--quiet", "-c", branch, "main")
        team.ok("add", item, "--yes")
        commit(team, branch)
    git(team, "switch", "--quiet", "-c", "newer", "main")
    team.ok("add", "acme/work/left@1.1.0", "--yes")
    commit(team, "newer")
    return team


def git(team: Person, *words: str, fails: bool = False) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", *who, *words], cwd=team.folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout


def commit(team: Person, subject: str) -> None:
    git(team, "add", "--all")
    git(team, "commit", "--quiet", "-m", subject)


def lock(team: Person) -> str:
    return (team.folder / "rye.lock").read_text("utf-8")


def test_two_branches_that_add_items_merge_without_a_conflict_in_the_lock(team: Person) -> None:
    git(team, "switch", "--quiet", "-C", "both", "left")
    git(team, "merge", "--quiet", "right", fails=True)  # rye.toml: both added a line at the same place
    assert git(team, "diff", "--name-only", "--diff-filter=U").split() == ["rye.toml"]
    merged = parse_lock(lock(team))
    assert [item.id for item in merged.items] == ["acme/work/base", "acme/work/left", "acme/work/right"]
    text = (team.folder / "rye.toml").read_text("utf-8")
    kept = [line for line in text.split("\n") if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))]
    (team.folder / "rye.toml").write_text("\n".join(kept))
    assert team.ok("lock", "--check").stdout == "rye.lock matches rye.toml\n"
    before = lock(team)
    team.ok("install")
    assert lock(team) == before
    commit(team, "both")


def test_an_item_that_both_changed_stays_in_conflict_and_install_resolves_it(team: Person) -> None:
    git(team, "switch", "--quiet", "-C", "clash", "left")
    git(team, "merge", "--quiet", "newer", fails=True)
    assert is_conflicted(lock(team))
    git(team, "checkout", "--quiet", "--theirs", "rye.toml")
    team.ok("lock")
    assert [item.version for item in parse_lock(lock(team)).items if item.id == "acme/work/left"] == ["1.1.0"]
    git(team, "merge", "--abort")


@pytest.mark.parametrize("broken", [b"not a lock\n", b"version = 99\n"])
def test_a_side_that_is_no_lock_stays_whole_in_conflict(tmp_path: Path, broken: bytes) -> None:
    person = Person(tmp_path)
    for name, data in (("base", b""), ("ours", b"version = 1\n"), ("theirs", broken)):
        (person.folder / name).write_bytes(data)
    assert person.run("lock", "--merge", "base", "ours", "theirs").code == 1
    text = (person.folder / "ours").read_text()
    assert is_conflicted(text)
    assert "version = 1\n" in text
    assert broken.decode() in text


def test_what_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    person = Person(tmp_path)
    for name, data in (("base", b""), ("ours", b"version = 1\n"), ("theirs", b"\xff\n")):
        (person.folder / name).write_bytes(data)
    assert person.run("lock", "--merge", "base", "ours", "theirs", "--json").error["code"] == "unreadable"
    assert person.run("lock", "--merge", "base", "ours", "nothing", "--json").error["code"] == "unreadable"
    assert (person.folder / "ours").read_bytes() == b"version = 1\n"
    assert person.run("lock", "--merge", "base", "ours", "ours", "--check").code == 2
