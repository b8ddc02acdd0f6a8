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


@pytest.mark.parametrize("key", ["clean", "process"])
def test_a_filter_that_the_checkout_names_is_not_run(key: str, checkout: Path) -> None:
    """The control is git itself, which runs it."""
    git(checkout, "config", f"filter.evil.{key}", f"touch {checkout}/ran; cat")
    git(checkout, "config", "filter.evil.required", "true")
    (checkout / ".git/info").mkdir(exist_ok=True)
    (checkout / ".git/info/attributes").write_text("*.md filter=evil\n")
    (checkout / "a.md").write_text("b")
    assert uncommitted([checkout / "a.md"], checkout) == ["a.md"]
    assert not (checkout / "ran").exists()
    subprocess.run(["git", "-C", str(checkout), "status", "--porcelain"], check=False, capture_output=True)
    assert (checkout / "ran").exists()


def test_a_filter_that_cannot_be_turned_off_is_an_error(checkout: Path) -> None:
    git(checkout, "config", "filter.a=b.clean", f"touch {checkout}/ran; cat")
    with pytest.raises(RyeError, match="cannot be turned off"):
        uncommitted([checkout / "a.md"], checkout)


@pytest.mark.parametrize("place", [".ai/directives/work", "pkg", ""])
@pytest.mark.parametrize("objects", ["objects", "commondir"])
def test_a_folder_that_was_committed_as_a_repository_runs_nothing(checkout: Path, place: str, objects: str) -> None:
    """Its config names a filter, which `git status` would execute for the file next to it."""
    folder = checkout / "inner" / place
    files = folder / "work" if objects == "commondir" else folder
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", str(folder)], check=True, capture_output=True)
    ran = checkout / "ran"
    with (folder / "config").open("a") as stream:
        stream.write(f'[core]\n\tbare = false\n\tworktree = .\n[filter "x"]\n\tclean = touch {ran}; cat\n')
    files.mkdir(exist_ok=True)
    (folder / ".gitattributes").write_text("* filter=x\n")
    (files / "a.md").write_text("a")
    command = ["git", f"--git-dir={folder}", f"--work-tree={folder}", "add", str(files / "a.md")]
    subprocess.run(command, check=True, capture_output=True)
    assert ran.exists()  # the attack works
    ran.unlink()
    (files / "a.md").write_text("b")
    if objects == "commondir":
        (folder / "refs").rename(folder / "elsewhere")
        (folder / "objects").rename(folder / "elsewhere" / "objects")
        (folder / "commondir").write_text("elsewhere\n")
    with pytest.raises(RyeError) as error:
        uncommitted([files / "a.md"], files)
    assert error.value.code == "git-failed"
    assert "bare git repository" in error.value.message
    assert not ran.exists()


def test_a_checkout_inside_a_bare_repository_is_a_checkout(checkout: Path, tmp_path: Path) -> None:
    """People keep worktrees next to the bare repository that they belong to."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--bare", str(checkout), str(bare))
    git(bare, "worktree", "add", "main")
    assert uncommitted([bare / "main" / "a.md"], bare / "main") == []
    (bare / "main" / "a.md").write_text("changed")
    assert uncommitted([bare / "main" / "a.md"], bare / "main") == ["a.md"]
