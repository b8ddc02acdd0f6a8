"""Settings: flag over environment over file over default; misspelt names are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from registry_server.settings import load
from rye.errors import RyeError


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "registry.toml").write_text('port = 1000\nhost = "10.0.0.1"\nrequest_seconds = 5\n')
    return tmp_path


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(data: Path) -> None:
    settings = load(data, {"port": 3000, "host": None}, {"RYE_REGISTRY_PORT": "2000", "RYE_REGISTRY_METRICS": "off"})
    assert (settings.port, settings.host, settings.metrics) == (3000, "10.0.0.1", "off")
    assert settings.request_seconds == 5.0
    assert settings.search_results == 100
    assert load(data, {}, {"RYE_REGISTRY_PORT": "2000"}).port == 2000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("prot = 1", "unknown-name"),
        ("port = 65536", "bad-setting"),
        ('metrics = "everybody"', "bad-setting"),
        ("metrics = true", "bad-setting"),
        ('port = "8000"', "bad-setting"),
        ("port = -1", "bad-setting"),
        ("port = true", "bad-setting"),
        ("port = ", "bad-config"),
        ('data = "/elsewhere"', "unknown-name"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_setting(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "registry.toml").write_text(text)
    with pytest.raises(RyeError) as caught:
        load(tmp_path, {}, {})
    assert caught.value.code == code
    if code == "unknown-name" and "prot" in text:
        assert caught.value.hint == "Did you mean port?"


def test_a_wrong_environment_variable_is_named(data: Path) -> None:
    with pytest.raises(RyeError, match="RYE_REGISTRY_PORT"):
        load(data, {}, {"RYE_REGISTRY_PORT": "http"})


def test_a_folder_without_a_registry_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(RyeError) as caught:
        load(tmp_path, {}, {})
    assert caught.value.code == "no-registry"
    assert "rye-registry init" in (caught.value.hint or "")


def test_every_setting_is_on_the_page_of_settings() -> None:
    from registry_server.settings import _TYPES

    page = (Path(__file__).parents[2] / "docs" / "reference" / "registry-settings.md").read_text("utf-8")
    assert [name for name in _TYPES if f"`{name}`" not in page] == []
