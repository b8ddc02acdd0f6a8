"""Another user's project is refused, and no project is made where it would include others' folders."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rye.errors import RyeError
from rye.project.layout import LOCK, MANIFEST, Project
from rye.project.ownership import MARKERS, refuse_foreign, refuse_wide_folder, safe_projects, trusted_owners
from tests.scenes.person import Person

MALLORY = 54_321


def owned(**owners: int) -> Any:
    """An ``os.stat`` by which the named files belong to others; ``NAME_target``: only what the link leads to."""

    def look(path: str, *, follow_symlinks: bool = True) -> Any:
        os.stat(path, follow_symlinks=follow_symlinks)
        name = os.path.basename(path).replace(".", "")
        owner = owners.get(name, owners.get(f"{name}_target") if follow_symlinks else None)
        return SimpleNamespace(st_uid=os.geteuid() if owner is None else owner)

    return look


@pytest.mark.parametrize("name", ["ryetoml", "ryelock", "ai", "ai_target"])
def test_each_file_that_makes_a_project_must_be_ones_own(tmp_path: Path, name: str) -> None:
    (tmp_path / "rye.toml").touch()
    (tmp_path / "rye.lock").touch()
    (tmp_path / ".ai").mkdir()
    refuse_foreign(tmp_path, owned())
    refuse_foreign(tmp_path, owned(**{name: 0}))
    with pytest.raises(RyeError) as raised:
        refuse_foreign(tmp_path, owned(**{name: MALLORY}))
    assert raised.value.code == "foreign-project"
    assert str(MALLORY) in raised.value.message
    assert f"RYE_SAFE_PROJECTS={tmp_path}`" in str(raised.value.hint)


def test_the_files_that_are_asked_about_are_those_that_a_project_consists_of() -> None:
    assert (MANIFEST, LOCK, Project(Path("x")).ai.name) == MARKERS


def test_only_the_listed_folder_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rye.toml").touch()
    look = owned(ryetoml=MALLORY)
    monkeypatch.setenv("RYE_SAFE_PROJECTS", f"/elsewhere{os.pathsep}{tmp_path}")
    refuse_foreign(tmp_path, look)
    for value in ("", "*", str(tmp_path.parent), f"{tmp_path}/x", "/"):
        monkeypatch.setenv("RYE_SAFE_PROJECTS", value)
        with pytest.raises(RyeError):
            refuse_foreign(tmp_path, look)


def test_a_slash_at_the_end_makes_no_difference_and_only_absolute_paths_are_safe_projects() -> None:
    value = os.pathsep.join(("", ".", "..", "srv", "~", "/srv/one", "/srv/two/", "/srv/three//", "/"))
    assert safe_projects({"RYE_SAFE_PROJECTS": value}) == {"/srv/one", "/srv/two", "/srv/three", "/"}
    assert safe_projects({}) == set()


@pytest.mark.processes
@pytest.mark.parametrize("name", ["a; touch pwned", "$(touch pwned)", "`touch pwned`", "a' b"])
def test_the_hint_can_be_pasted_even_if_the_other_user_chose_the_folders_name(tmp_path: Path, name: str) -> None:
    hint = hint_for(tmp_path / name)
    assert f"RYE_SAFE_PROJECTS={shlex.quote(str(tmp_path / name))}` allows it" in hint
    command = hint[hint.index("`export") + 1 : hint.rindex("` allows")]
    done = subprocess.run(
        ["sh", "-c", f'{command}; printf %s "$RYE_SAFE_PROJECTS"'], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == str(tmp_path / name)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", [f"x{os.pathsep}", "x\nexport A=b", "x\x1b[2J"])
def test_a_name_that_would_allow_a_second_folder_or_hide_a_command_is_in_no_hint(tmp_path: Path, name: str) -> None:
    assert "export" not in hint_for(tmp_path / name)


def hint_for(folder: Path) -> str:
    """The hint of the error for a planted project in the folder."""
    folder.mkdir()
    (folder / "rye.toml").touch()
    with pytest.raises(RyeError) as raised:
        refuse_foreign(folder, owned(ryetoml=MALLORY))
    return str(raised.value.hint)


def test_sudo_trusts_the_one_who_called_it_and_nobody_else_can_claim_to_be_called() -> None:
    assert trusted_owners(0, {"SUDO_UID": "1000"}) == {0, 1000}
    assert trusted_owners(1001, {"SUDO_UID": "1000"}) == {0, 1001}
    for claimed in ("", "-1", "1000 ", "١٢", "root"):
        assert trusted_owners(0, {"SUDO_UID": claimed}) == {0}


def test_init_makes_no_project_of_a_folder_that_holds_others(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    rye = Person(tmp_path / "homes")
    for folder in (shared, rye.home.parent, Path("/")):
        for command in (
            ("init", str(folder)),
            ("-C", str(folder), "install", "acme/work/x"),
            ("-C", str(folder), "import"),
        ):
            result = rye.run(*command, "--json")
            assert (result.code, result.error["code"]) == (1, "wide-folder"), (folder, command)
        assert not (folder / "rye.toml").exists()
    rye.ok("init", str(shared / "mine"))
    rye.ok("init", str(rye.home))


def test_a_user_without_a_home_folder_may_make_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    refuse_wide_folder(tmp_path)


@pytest.mark.parametrize(
    ("mode", "refused"), [(0o1777, True), (0o1773, True), (0o777, False), (0o1775, False), (0o755, False)]
)
def test_a_shared_folder_is_one_where_all_may_create_and_none_may_remove(
    tmp_path: Path, mode: int, refused: bool
) -> None:
    def look(_: Path) -> Any:
        return SimpleNamespace(st_mode=stat.S_IFDIR | mode)

    if not refused:
        refuse_wide_folder(tmp_path, look)
        return
    with pytest.raises(RyeError, match="shared by all users"):
        refuse_wide_folder(tmp_path, look)
