"""Uncommitted changes are never published unnoticed. When git cannot tell, that is an error."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.publishing.working_tree import uncommitted

pytestmark = pytest.mark.processes


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b [x].md").write_text("b")
    (tmp_path / ".gitignore").write_text("ignored.md\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "x")
    return tmp_path


def test_committed_files_are_clean(checkout: Path) -> None:
    assert uncommitted([checkout / "a.md", checkout / "b [x].md"], checkout) == []


def test_changed_new_staged_and_ignored_files_are_not(checkout: Path) -> None:
    (checkout / "b [x].md").write_text("changed")
    (checkout / "new.md").write_text("new")
    (checkout / "staged.md").write_text("staged")
    (checkout / "ignored.md").write_text("ignored")
    git(checkout, "add", "staged.md")
    names = ["a.md", "b [x].md", "new.md", "staged.md", "ignored.md"]
    assert sorted(uncommitted([checkout / name for name in names], checkout)) == sorted(names[1:])


def test_other_files_may_be_dirty(checkout: Path) -> None:
    (checkout / "new.md").write_text("new")
    assert uncommitted([checkout / "a.md"], checkout) == []


def test_relative_paths_start_here(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / "sub").mkdir()
    (checkout / "sub" / "new.md").write_text("new")
    monkeypatch.chdir(checkout)
    assert uncommitted([Path("sub/new.md")], Path("sub")) == ["sub/new.md"]


def test_outside_a_checkout_there_is_nothing_to_say(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    assert uncommitted([tmp_path / "a.md"], tmp_path) == []


def test_a_broken_checkout_is_an_error(checkout: Path) -> None:
    (checkout / ".git" / "index").write_bytes(b"broken")
    with pytest.raises(RyeError) as error:
        uncommitted([checkout / "a.md"], checkout)
    assert error.value.code == "git-failed"
    assert "--allow-uncommitted" in (error.value.hint or "")


def test_without_git_there_is_nothing_to_say(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert uncommitted([checkout / "new.md"], checkout) == []


def test_a_program_that_the_checkout_names_is_not_run(checkout: Path) -> None:
    git(checkout, "config", "core.fsmonitor", f"touch {checkout / 'ran'}")
    uncommitted([checkout / "a.md"], checkout)
    assert not (checkout / "ran").exists()
