"""The user's folders: variables first, then the platform's defaults. Nothing but the given variables counts."""

from __future__ import annotations

import itertools
import os
import pwd
import sys
from pathlib import Path

import platformdirs
import pytest

from rye.storage.home import ORGANIZATION_POLICY, SYSTEM_SPACE, Home
from rye.storage.places import home_folder, place_of

HOMES = ("/home/user", "/home/user/", "/", "//odd")
PLACES = ("/srv/xdg", "/srv/xdg/", "relative", "~/x", "", " ", None)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, the library decides")


@on_linux
@pytest.mark.parametrize(("folder", "place"), list(itertools.product(HOMES, PLACES)))
def test_the_platforms_places_are_those_of_the_library(
    monkeypatch: pytest.MonkeyPatch, folder: str, place: str | None
) -> None:
    names = [f"XDG_{which}_HOME" for which in ("CONFIG", "DATA", "CACHE")]
    environment = {"HOME": folder} | ({} if place is None else dict.fromkeys(names, place))
    for name in ("HOME", *names):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    wanted = {"config": dirs.user_config_dir, "data": dirs.user_data_dir, "cache": dirs.user_cache_dir}
    assert {which: place_of(which, environment) for which in wanted} == wanted


@on_linux
@pytest.mark.parametrize("environment", [{}, {"HOME": ""}, {"HOME": "relative"}, {"HOME": "~"}])
def test_a_home_that_is_no_absolute_path_is_the_system_s(environment: dict[str, str]) -> None:
    """A relative one would be a folder of the project, which anyone who can commit may fill."""
    own = pwd.getpwuid(os.getuid()).pw_dir
    home = Home.from_environment(environment)
    assert home.config == Path(own, ".config/rye")
    assert home.user_space == Path(own, ".ai")


@on_linux
def test_a_user_without_any_home_has_the_root_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(user: int) -> object:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert home_folder({}) == "/"


def test_variables_go_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"CONFIG_DIR": "~/settings", "DATA_DIR": "data", "USER_SPACE": "mine", "SYSTEM_SPACE": "/srv/ai"}
    home = Home.from_environment(
        {"HOME": "/home/user", "RYE_POLICY": "rules.toml", "RYE_CACHE_DIR": "", "XDG_CACHE_HOME": "/srv/cache"}
        | {f"RYE_{name}": value for name, value in given.items()}
    )
    assert (home.config, home.data) == (Path("/home/user/settings"), tmp_path / "data")
    assert home.cache == Path("/srv/cache/rye") if sys.platform == "linux" else home.cache.is_absolute()
    assert (home.user_space, home.system_space) == (tmp_path / "mine", Path("/srv/ai"))
    assert home.organization_policy == home.named_policy == tmp_path / "rules.toml"


def test_a_home_of_three_folders_looks_nowhere_else_of_the_user_s(tmp_path: Path) -> None:
    home = Home(tmp_path / "config", tmp_path / "data", tmp_path / "cache")
    assert home.user_space == tmp_path / "data" / "items"
    assert (home.system_space, home.organization_policy, home.named_policy) == (SYSTEM_SPACE, ORGANIZATION_POLICY, None)


def test_relative_folders_do_not_move_with_the_current_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    home = Home(Path("config"), Path("data"), Path("cache"), own_items=Path("ai"))
    monkeypatch.chdir("/")
    assert (home.config, home.user_space) == (tmp_path / "config", tmp_path / "ai")


def test_the_environment_of_the_process_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"HOME": "/home/user", "RYE_DATA_DIR": "/srv/data", "RYE_CONFIG_DIR": "~"}
    before = Home.from_environment(environment)
    for name in ("HOME", "RYE_CONFIG_DIR", "RYE_DATA_DIR", "RYE_CACHE_DIR", "RYE_USER_SPACE", "RYE_POLICY"):
        monkeypatch.setenv(name, "/elsewhere")
    assert Home.from_environment(environment) == before
    assert (before.data, before.config) == (Path("/srv/data"), Path("/home/user"))
