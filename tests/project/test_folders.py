"""The user's folders: variables first, then the platform's defaults. The fast path must agree with the library on those."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import platformdirs
import pytest

from rye.storage.folders import cache_dir, config_dir, data_dir
from rye.storage.places import place_of

HOMES = ("/home/user", "/home/user/", "/", "//odd", "relative", "", None)
PLACES = ("/srv/xdg", "/srv/xdg/", "relative", "~/x", "", " ", None)


def put(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, value)


@pytest.mark.skipif(sys.platform != "linux", reason="the quick way is for Linux")
@pytest.mark.parametrize(("home", "place"), list(itertools.product(HOMES, PLACES)))
def test_the_platforms_places_are_those_of_the_library(
    monkeypatch: pytest.MonkeyPatch, home: str | None, place: str | None
) -> None:
    put(monkeypatch, "HOME", home)
    for which in ("config", "data", "cache"):
        monkeypatch.delenv(f"RYE_{which.upper()}_DIR", raising=False)
        put(monkeypatch, f"XDG_{which.upper()}_HOME", place)
    dirs = platformdirs.PlatformDirs("rye", appauthor=False)
    wanted = {"config": dirs.user_config_dir, "data": dirs.user_data_dir, "cache": dirs.user_cache_dir}
    assert {which: place_of(which) for which in wanted} == wanted


def test_variables_go_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("RYE_CONFIG_DIR", "~/settings")
    monkeypatch.setenv("RYE_DATA_DIR", "data")
    monkeypatch.setenv("RYE_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/srv/cache")
    assert config_dir() == Path("/home/user/settings")
    assert data_dir() == tmp_path / "data"
    assert cache_dir() == Path(platformdirs.user_cache_dir("rye", appauthor=False))
