"""Where customizations are looked for, and which files are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.customization.item_overrides import NamedFor, file_for, named_for, paths_for
from rye.customization.overlay_files import in_force
from rye.customization.overlays import read_overlay
from rye.customization.places import Folder, gastown_places, rye_places
from rye.customization.role_files import directives_of
from rye.errors import RyeError, UsageError
from rye.limits import OVERRIDES
from rye.project.layout import Project
from rye.storage.home import Home
from rye.storage.opened_folder import opened_folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "shop" / ".ai").mkdir(parents=True)
    return Project(tmp_path / "shop")


def test_the_user_s_space_comes_before_the_project_s(home: Home, project: Project, tmp_path: Path) -> None:
    places = rye_places(home, project)
    for folders, name in (
        (places.overrides, "overrides"),
        (places.overlays, "formula-overlays"),
        (places.role_directives, "role-directives"),
    ):
        assert [folder.path for folder in folders] == [tmp_path / "user" / name, project.ai / name]
    assert places.rig == "shop"
    assert [folder.level for folder in rye_places(home, None).overlays] == ["user"]


def test_a_gas_town_has_its_own_folders(tmp_path: Path) -> None:
    (tmp_path / "rig").mkdir()
    places = gastown_places(tmp_path, "rig")
    assert [folder.path for folder in places.overlays] == [
        tmp_path / "formula-overlays",
        tmp_path / "rig" / "formula-overlays",
    ]
    assert [folder.path for folder in places.role_directives] == [tmp_path / "directives", tmp_path / "rig/directives"]
    assert places.overrides == ()
    assert len(gastown_places(tmp_path, None).overlays) == 1


@pytest.mark.parametrize("rig", ["..", "../x", "a/b", "", ".", "RIG"])
def test_a_rig_is_an_item_name(tmp_path: Path, rig: str) -> None:
    with pytest.raises(UsageError):
        gastown_places(tmp_path, rig)


def test_a_rig_is_a_folder_that_is_there(tmp_path: Path) -> None:
    with pytest.raises(RyeError) as caught:
        gastown_places(tmp_path, "none")
    assert (caught.value.code, caught.value.exit_code) == ("no-such-folder", 1)


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", "x.toml", "X", "a\nb"])
def test_names_lead_nowhere_else(home: Home, project: Project, name: str) -> None:
    with pytest.raises(UsageError):
        in_force(rye_places(home, project), name)
    with pytest.raises(UsageError):
        directives_of(rye_places(home, project), name)


def test_files_that_are_none_or_too_large_are_refused(tmp_path: Path) -> None:
    folder = Folder("project", tmp_path, tmp_path, tmp_path)
    assert folder.read(tmp_path / "gone") is None
    (tmp_path / "large").write_bytes(b"x" * (OVERRIDES.file_bytes + 1))
    (tmp_path / "bytes").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("large", "pipe", "dangling"):
        with pytest.raises(RyeError):
            folder.read(tmp_path / name)
    with pytest.raises(RyeError):
        folder.text(tmp_path / "bytes")


def test_a_name_says_id_and_kind(tmp_path: Path) -> None:
    folder = Folder("project", tmp_path)
    for name, expected in {
        "deploy": NamedFor("deploy", None),
        "acme/workflows/deploy": NamedFor("acme/workflows/deploy", None),
        "acme/deploy.knowledge": NamedFor("acme/deploy", "knowledge"),
        "acme/deploy.tool": None,
        "acme/De ploy": None,
        "a.b.agent": None,
    }.items():
        assert named_for(folder, tmp_path / f"{name}.overrides.md") == expected
        if expected is not None:
            assert file_for(folder, expected.id, expected.kind) == tmp_path / f"{name}.overrides.md"


def test_ids_that_are_none_are_never_paths(tmp_path: Path) -> None:
    (tmp_path / "overrides").mkdir()
    (tmp_path / "x.overrides.md").write_text("x")
    folder = Folder("project", tmp_path / "overrides")
    assert paths_for(folder, "agent", ["../x", "", "/x", str(tmp_path / "x")]) == []


@pytest.mark.parametrize("character", ["\u200b", "\u202e", "\x1b", "\U000e0041"])
def test_hidden_text_never_gets_into_a_prompt(home: Home, project: Project, character: str) -> None:
    places = rye_places(home, project)
    project.role_directives.mkdir()
    (project.role_directives / "clerk.md").write_text(f"Be{character} kind.")
    with pytest.raises(RyeError) as raised:
        directives_of(places, "clerk")
    assert raised.value.code == "hidden-text"
    text = f'[[step-overrides]]\nstep_id = "a"\nmode = "append"\ndescription = "x{character}"\n'
    reading = read_overlay(text)
    assert reading.overlay is None
    assert reading.diagnostics[0].line == 4
    escaped = f"\\U{ord(character):08x}"
    assert read_overlay(text.replace(character, escaped)).overlay is None


@pytest.mark.parametrize("text", [".".join(["a"] * 250_000) + "=1", "x=" + "[" * 200_000, "x=" + "{a=" * 200_000])
def test_hostile_toml_is_refused_at_once(text: str) -> None:
    assert read_overlay(text).overlay is None


def test_of_two_runs_that_write_at_once_one_waits(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have read the same file. The second looks at it only after the first has written."""
    folder = Folder("project", project.overrides, project.root, project.root)
    path = project.overrides / "one.md"
    folder.write(path, b"read")
    with opened_folder(project.overrides) as held, held.alone(1):
        monkeypatch.setattr("rye.customization.places._LOCK_SECONDS", 0.01)
        assert not folder.replace(path, b"read", b"second")
    assert path.read_bytes() == b"read"
    assert folder.replace(path, b"read", b"first")
    assert not folder.replace(path, b"read", b"second")
    assert (path.read_bytes(), os.listdir(project.overrides)) == (b"first", ["one.md"])
