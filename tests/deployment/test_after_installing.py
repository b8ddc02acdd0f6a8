"""An installation ends with a deploy, in the same transaction (docs/how-to/agents.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.installation.transaction import exclusive
from rye.project.layout import Project
from tests.deployment.test_attacks import Stopped, killed_at
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PLAN = ".claude/skills/plan/SKILL.md"
STATE = ".ai/deploy.lock"


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/plan", text="Plan the first time.")
    author.release("work/plan", "1.1.0", text="Plan the second time.")
    author.release("work/other")
    return author


def targets(user: Person, text: str = 'targets = ["claude"]') -> None:
    path = user.path("rye.toml")
    path.write_text(f"{path.read_text()}\n[deploy]\n{text}\n")


def test_add_update_rollback_and_remove_deploy(user: Person) -> None:
    targets(user)
    added = user.ok("add", "acme/work/plan@=1.0.0", "-y", "--json").json
    assert [row["path"] for row in added["deploy"]["changes"]] == [PLAN]
    assert "the first time" in user.path(PLAN).read_text()
    manifest = user.path("rye.toml")
    manifest.write_text(manifest.read_text().replace("=1.0.0", "^1"))
    user.ok("update", "-y")
    assert "the second time" in user.path(PLAN).read_text()
    assert user.ok("install").stdout.splitlines()[0] == "everything is installed"
    user.ok("rollback", "-y")
    assert "the first time" in user.path(PLAN).read_text()
    user.ok("remove", "acme/work/plan")
    assert not user.path(".claude").exists()
    assert not user.path(STATE).exists()


def test_nothing_is_deployed_without_targets_or_where_rye_toml_says_so(user: Person) -> None:
    user.path(".claude").mkdir()
    user.ok("add", "acme/work/plan", "-y")
    assert not user.path(PLAN).exists()
    targets(user, 'targets = ["claude"]\nafter-install = false')
    user.ok("install")
    user.ok("add", "acme/work/other", "-y")
    assert not user.path(PLAN).exists()
    user.ok("deploy")
    assert user.path(PLAN).exists()


def test_what_was_deployed_by_hand_goes_with_its_item(user: Person) -> None:
    """Otherwise the agent goes on reading an item that the project no longer has."""
    user.path(".claude").mkdir()
    user.ok("add", "acme/work/plan", "-y")
    assert "Next: `rye deploy` writes it" in user.terminal("add", "acme/work/other", "-y")
    user.ok("deploy", "--target", "claude", "--once")
    assert PLAN in user.terminal("remove", "acme/work/plan")
    assert not user.path(PLAN).exists()
    assert user.path(".claude/skills/other").exists()


def test_what_is_refused_is_said_and_the_rest_is_installed(user: Person) -> None:
    targets(user)
    user.write(PLAN, "mine")
    result = user.run("add", "acme/work/plan", "acme/work/other", "-y", "--json")
    assert result.code == 1
    assert [row["code"] for row in result.json["deploy"]["refused"]] == ["deploy-conflict"]
    assert user.path(PLAN).read_text() == "mine"
    assert user.path(".claude/skills/other/SKILL.md").exists()
    assert user.path(".ai/packages/acme/directives/work/plan.md").exists()


def test_a_dry_run_deploys_nothing(user: Person) -> None:
    targets(user)
    user.ok("add", "acme/work/plan", "-y", "--dry-run")
    assert not user.path(".claude").exists()


def everything(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and ".rye" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_killed_in_the_middle_neither_the_items_nor_what_is_deployed_changed(
    user: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first deployed file on, what was installed before it is also rolled back."""
    targets(user)
    user.ok("add", "acme/work/other", "-y")
    before = everything(user.folder)
    steps = 0
    for number in (3, 6, 9, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30):
        with monkeypatch.context() as patch:
            seen = killed_at(patch, number)
            try:
                user.run("add", "acme/work/plan", "-y")
                break
            except Stopped:
                steps = len(seen)
        with exclusive(Project(user.folder)):
            pass
        after = everything(user.folder)
        if "commit" in seen:
            assert PLAN in after
            break
        assert after == before, seen
    assert steps >= 12
