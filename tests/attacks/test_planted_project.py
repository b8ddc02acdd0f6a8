"""Mallory, another user of the machine, writes a project into a shared folder. The victim works in a folder below it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.project.layout import find_project
from rye.workspace.completion.names import names
from tests.scenes.person import Person

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
MALLORY = 54_321


@pytest.mark.parametrize("planted", ["rye.toml", "rye.lock", ".ai"])
def test_a_planted_project_is_refused_by_every_command(tmp_path: Path, planted: str) -> None:
    rye = Person(tmp_path)
    rye.ok("init")
    rye.ok("new", "directive", "work/ship")
    rye.path("below/deep").mkdir(parents=True)
    rye.ok("lock")
    os.chown(rye.path(planted), MALLORY, MALLORY)
    for command in (
        ("list",),
        ("validate",),
        ("new", "directive", "work/more"),
        ("lock", "--check"),
        ("render", "ship"),
    ):
        result = rye.run("-C", "below/deep", *command, "--json")
        assert (result.code, result.error["code"]) == (1, "foreign-project"), command
    assert not rye.path(".ai/directives/work/more.md").exists()
    rye.ok("-C", "below/deep", "list", env={"RYE_SAFE_PROJECTS": str(rye.folder)})


def test_a_planted_ai_folder_is_not_used_from_below(tmp_path: Path) -> None:
    (tmp_path / "shared/.ai").mkdir(parents=True)
    (tmp_path / "shared/mine").mkdir()
    os.chown(tmp_path / "shared/.ai", MALLORY, MALLORY)
    with pytest.raises(RyeError, match="belongs to another user"):
        find_project(tmp_path / "shared/mine")


def test_a_link_of_another_user_to_ones_own_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own/.ai").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/.ai").symlink_to(tmp_path / "own/.ai")
    os.chown(tmp_path / "shared/.ai", MALLORY, MALLORY, follow_symlinks=False)
    with pytest.raises(RyeError, match="belongs to another user"):
        find_project(tmp_path / "shared")


def test_a_clone_s_ai_that_leads_to_another_project_is_refused(tmp_path: Path) -> None:
    """``version bump`` rewrote the victim's items, and ``deploy`` would have written them into the clone."""
    rye = Person(tmp_path)
    rye.ok("init")
    rye.ok("keys", "generate")
    path = rye.path(rye.directive("work/one"))
    before = path.read_bytes()
    evil = rye.elsewhere(tmp_path / "evil")
    evil.write("rye.toml", '[project]\nname = "evil"\n')
    evil.path(".ai").symlink_to("../project/.ai")
    for command in ("list", "version bump patch", "sign --force", "render work/one", "deploy", "validate", "audit"):
        result = evil.run(*command.split(), "--yes", "--json")
        assert (result.code, result.error["code"]) == (1, "linked-outside"), command
    assert path.read_bytes() == before
    assert names("item", str(evil.folder), evil.environment) == []
    allowed = {"RYE_SAFE_PROJECTS": str(evil.folder)}
    assert "work/one" in evil.ok("list", env=allowed).stdout


def test_a_nested_project_s_ai_that_leads_to_another_project_is_refused(tmp_path: Path) -> None:
    """Nobody looks for the project of a path, so what was decided for a project's own folder did not count for it."""
    rye = Person(tmp_path)
    rye.ok("init")
    rye.ok("keys", "generate")
    path = rye.path(rye.directive("work/one"))
    before = path.read_bytes()
    outer = rye.elsewhere(tmp_path / "outer")
    outer.write("rye.toml", '[project]\nname = "outer"\n')
    outer.write("vendor/evil/rye.toml", '[project]\nname = "evil"\n')
    outer.path("vendor/evil/.ai").symlink_to("../../../project/.ai")
    named = "vendor/evil/.ai/directives/work/one.md"
    for command in (
        f"version bump patch {named}",
        f"sign --force {named}",
        "sign --force vendor/evil/.ai",
        f"render {named}",
    ):
        result = outer.run(*command.split(), "--yes", "--json")
        assert (result.code, result.error["code"]) == (1, "linked-outside"), command
    assert path.read_bytes() == before
    outer.ok("sign", "--force", named, env={"RYE_SAFE_PROJECTS": str(outer.path("vendor/evil"))})


def test_an_ai_that_leads_to_another_folder_of_the_project_is_used(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init")
    rye.directive("work/one", signed=False)
    rye.path(".ai").rename(rye.path("store"))
    for target in ("store", str(rye.path("store"))):
        rye.path(".ai").symlink_to(target)
        assert "work/one" in rye.ok("list").stdout
        rye.path(".ai").unlink()
    for target in (".", "..", "../project-2", "/", "missing/../../elsewhere"):
        rye.path(".ai").symlink_to(target)
        assert rye.run("list", "--json").error["code"] == "linked-outside", target
        rye.path(".ai").unlink()


def test_a_planted_journal_is_not_replayed(tmp_path: Path) -> None:
    """Before any command, an interrupted installation is undone: that must not happen for another user's journal."""
    rye = Person(tmp_path)
    journal = rye.write(".ai/.rye/journal", "{}")
    rye.path("mine").mkdir()
    os.chown(rye.path(".ai"), MALLORY, MALLORY)
    result = rye.run("-C", "mine", "explain", "no-project")
    assert (result.code, journal.read_text()) == (0, "{}")
    assert "belongs to another user" in result.stderr


def test_a_planted_project_completes_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rye = Person(tmp_path)
    rye.ok("init")
    rye.ok("new", "directive", "work/ship")
    rye.path("mine").mkdir()
    assert names("item", str(rye.path("mine")), rye.environment) == ["work/ship"]
    os.chown(rye.path(".ai"), MALLORY, MALLORY)
    assert names("item", str(rye.path("mine")), rye.environment) == []
    monkeypatch.setenv("RYE_SAFE_PROJECTS", str(rye.folder))
    assert names("item", str(rye.path("mine")), rye.environment) == ["work/ship"]
