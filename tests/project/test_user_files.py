"""The user's own files: what is no regular file is an error, at once (a pipe would wait for its writer without end)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.project.user_config import policy_contents, read_models, read_other_policies, read_settings, stored_credentials
from rye.project.user_config_writing import set_setting
from rye.storage.home import Home

READERS: dict[str, list[Callable[[Home], object]]] = {
    "config.toml": [read_settings, read_models, lambda home: set_setting(home, "offline", "true")],
    "credentials.toml": [stored_credentials],
    "policy.toml": [read_other_policies],
}


def linked_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to("pipe")


PLACES: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to a pipe": linked_pipe,
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home.from_environment({"RYE_CONFIG_DIR": str(tmp_path), "RYE_DATA_DIR": str(tmp_path / "data")})
    assert made.policy_file.parent == tmp_path
    return made


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_regular_file_is_an_error_of_every_reader(home: Home, name: str, place: str) -> None:
    PLACES[place](home.config / name)
    for read in READERS[name]:
        with pytest.raises(RyeError) as raised:
            read(home)
        assert raised.value.code == "bad-config"
        assert name in raised.value.message


def test_a_policy_that_is_a_pipe_has_no_content_to_hash(home: Home) -> None:
    os.mkfifo(home.policy_file)
    assert policy_contents(home)[0] is None


def test_a_link_to_a_regular_file_is_read(home: Home, tmp_path: Path) -> None:
    (tmp_path / "kept.toml").write_text("offline = true\n")
    home.settings_file.symlink_to("kept.toml")
    assert read_settings(home) == {"offline": True}
