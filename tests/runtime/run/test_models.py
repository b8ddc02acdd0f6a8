"""The user's models, and which of them a directive gets (design: agents 3.3)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.directive.model import Model as DirectiveModel
from rye.runtime.run.models import candidates, parse_models, with_choices

HAIKU: dict[str, Any] = {
    "dialect": "anthropic",
    "url": "https://api.example.com/",
    "model": "claude-haiku",
    "key-env": "KEY",
    "input-price": 1,
    "output-price": 5.5,
}
FILE = Path("config.toml")
LOCAL: dict[str, Any] = {"dialect": "openai", "url": "http://127.0.0.1:8080", "model": "small"}


def test_a_table_is_read() -> None:
    models = parse_models({"haiku": HAIKU, "local": LOCAL}, "config.toml")
    haiku = models["haiku"]
    assert (haiku.url, haiku.model, haiku.key_env) == ("https://api.example.com", "claude-haiku", "KEY")
    assert haiku.cost(1_000_000, 2_000_000) == Decimal("12.0")
    assert not models["local"].priced
    assert models["local"].cost(1, 1) is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"url": "http://api.example.com"}, "http:// is only allowed for this machine"),
        ({"url": "http://127.0.0.1.example.com"}, "http:// is only allowed for this machine"),
        ({"url": "file:///etc/passwd"}, "https://"),
        ({"url": "https://"}, "https://"),
        ({"url": "https://[::1"}, "https://"),
        ({"url": "https://user:pass@api.example.com"}, "must not have a user"),
        ({"url": "https://api.example.com?key=1"}, "user, query or fragment"),
        ({"dialect": "gemini"}, "dialect"),
        ({"key": "sk-123"}, "key"),
        ({"input-price": -1}, "input-price"),
        ({"input-price": float("nan")}, "input-price"),
        ({"input-price": float("inf")}, "input-price"),
        ({"input-price": "1e999999"}, "input-price"),
        ({"output-price": "dear"}, "output-price"),
        ({"model": 5}, "model"),
    ],
)
def test_what_is_wrong_is_named(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(RyeError) as caught:
        parse_models({"haiku": HAIKU | changed}, "config.toml")
    assert caught.value.code == "bad-config"
    assert says in caught.value.message
    assert "sk-123" not in caught.value.message


def test_the_tier_comes_first_and_then_its_fallback() -> None:
    models = parse_models({"haiku": HAIKU, "local": LOCAL}, "config.toml")
    found = candidates(DirectiveModel("haiku", fallback="local"), models, FILE)
    assert [each.tier for each in found] == ["haiku", "local"]
    assert [each.tier for each in candidates(DirectiveModel("gone", fallback="local"), models, FILE)] == ["local"]
    assert len(candidates(DirectiveModel("haiku", fallback="haiku"), models, FILE)) == 1


def test_a_wish_for_a_model_counts_only_where_the_user_has_it() -> None:
    models = parse_models({"haiku": HAIKU, "local": LOCAL}, "config.toml")
    assert candidates(DirectiveModel("haiku", id="small"), models, FILE)[0] == models["local"]
    assert candidates(DirectiveModel("haiku", id="very-expensive"), models, FILE)[0].model == "claude-haiku"


def test_no_model_says_what_to_set_up() -> None:
    with pytest.raises(RyeError) as caught:
        candidates(DirectiveModel("opus", fallback="sonnet"), parse_models({"haiku": HAIKU}, "config.toml"), FILE)
    assert caught.value.code == "no-model"
    assert "'opus' or 'sonnet'" in caught.value.message
    assert "For example: [models.opus] with" in (caught.value.hint or "")


@pytest.mark.parametrize("tier", ["a]b", "", "x\ny", "é"])
def test_the_example_of_a_table_is_never_one_that_cannot_be_read(tier: str) -> None:
    """The name of a tier comes from a directive's author."""
    with pytest.raises(RyeError) as caught:
        candidates(DirectiveModel(tier), {}, FILE)
    assert "[models.haiku]" in (caught.value.hint or "")


def test_a_run_may_choose_another_model() -> None:
    models = parse_models({"haiku": HAIKU, "local": LOCAL}, "config.toml")
    assert with_choices(models, {"haiku": "local"}, FILE)["haiku"] == replace(models["local"], chosen=True)
    assert with_choices(models, {"opus": "local"}, FILE)["opus"] == replace(models["local"], chosen=True)
    other = with_choices(models, {"haiku": "claude-other"}, FILE)["haiku"]
    assert (other.model, other.url, other.priced) == ("claude-other", "https://api.example.com", False)
    with pytest.raises(RyeError) as caught:
        with_choices(models, {"opus": "nothing"}, FILE)
    assert caught.value.code == "no-model"


def test_a_directives_wish_does_not_undo_what_its_user_chose_for_the_run() -> None:
    """Someone who chose a local model did so to keep the prompt on the machine."""
    models = parse_models({"haiku": HAIKU, "local": LOCAL}, "config.toml")
    wish = DirectiveModel("haiku", id="claude-haiku")
    assert candidates(wish, models, FILE)[0].model == "claude-haiku"
    assert candidates(wish, with_choices(models, {"haiku": "local"}, FILE), FILE)[0].model == "small"
    assert candidates(wish, with_choices(models, {"haiku": "other"}, FILE), FILE)[0].model == "other"
