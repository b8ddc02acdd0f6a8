"""What a rollback says it brought back, and what it did not."""

from __future__ import annotations

import shutil

from rye.installation.rollback import kept_sha256
from rye.installation.transaction import Change
from tests.cli.test_silent_registries import TOP, Scene, scene

__all__ = ["scene"]
FILE = ".claude/skills/top/SKILL.md"


def test_files_for_a_program_that_rye_toml_does_not_name_are_not_back_and_it_says_so(scene: Scene) -> None:
    user = scene.user
    user.ok("deploy", "--target", "claude", "--once")
    user.ok("remove", TOP.id)
    assert not user.path(FILE).exists()
    done = user.ok("rollback", "--yes")
    assert not user.path(FILE).exists()
    assert f"claude had files of {TOP}, which are not back: rye.toml does not name claude as a target." in done.stderr
    assert "`rye deploy --target claude` writes them." in done.stderr
    user.ok("deploy", "--target", "claude", "--once")
    assert user.path(FILE).exists()


def test_nothing_is_missing_where_rye_toml_names_the_program_or_the_files_are_there(scene: Scene) -> None:
    user = scene.user
    user.ok("deploy", "--target", "claude", "--once")
    scene.news()
    user.ok("update", TOP.id)
    assert "not back" not in user.ok("rollback", "--yes").stderr
    user.write("rye.toml", f'{user.path("rye.toml").read_text()}\n[deploy]\ntargets = ["claude"]\n')
    user.ok("install")
    user.ok("remove", TOP.id)
    assert "not back" not in user.ok("rollback", "--yes").stderr
    assert user.path(FILE).exists()


def test_back_to_a_lock_without_items_is_not_everything_installed(scene: Scene) -> None:
    user = scene.user
    text = user.path("rye.toml").read_text().split("[dependencies]")[0]
    shutil.rmtree(user.path(".ai"))
    user.path("rye.lock").unlink()
    user.write("rye.toml", text)
    user.ok("lock")
    done = user.ok("rollback", "--yes")
    assert done.stdout == "rye.toml and rye.lock are as before their last change, which moved no item\n"
    assert "Run `rye rollback` again to undo this" in done.stderr


def test_a_state_that_an_earlier_version_saved_is_still_this_users() -> None:
    """It had no record of deployed files, and its hash did not cover one."""
    before = [Change(f".ai/.rye/previous/{name}", b"x") for name in ("rye.lock", "rye.toml")]
    absent, present = (Change(".ai/.rye/previous/deploy.lock", data) for data in (None, b"x"))
    assert kept_sha256([*before, absent]) == kept_sha256(before) != kept_sha256([*before, present])
