"""The user's models: ``[models]`` of their config.toml, and which of them a directive gets.

::

    [models.haiku]
    dialect = "anthropic"                  # or "openai"
    url = "https://api.anthropic.com"      # the base; the dialect adds its path
    model = "claude-haiku"
    key-env = "ANTHROPIC_API_KEY"          # left out: the endpoint wants no key
    input-price = 1.0                      # dollars per million tokens; left out: unknown
    output-price = 5.0

A repository has no say here: whoever sets an address gets the key. The ``id`` of a directive's ``<model>`` is a wish, too: it
counts where the user has a model of exactly that name, since only then its address and its prices are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.directive.model import Model as DirectiveModel
from rye.limits import RUN
from rye.project.user_config import config_path
from rye.text.loopback import is_loopback

Dialect = Literal["anthropic", "openai"]
_MILLION = Decimal(1_000_000)


class _Row(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One table as written."""

    dialect: Dialect
    url: str
    model: str
    key_env: str | None = None
    input_price: float | int | str | None = None
    output_price: float | int | str | None = None


class Model(Struct, frozen=True):
    """One model that the user set up."""

    tier: str
    """The name of its table."""
    dialect: Dialect
    url: str
    """The base address, without a slash at its end."""
    model: str
    """What the provider calls it."""
    key_env: str | None = None
    """The variable that holds the key; None: none is sent."""
    input_price: Decimal | None = None
    """Dollars for a million tokens; None: unknown."""
    output_price: Decimal | None = None
    chosen: bool = False
    """Whether ``--model`` put it in its tier's place: then no directive's wish for another counts."""

    @property
    def priced(self) -> bool:
        return self.input_price is not None and self.output_price is not None

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Dollars; None where a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        return (self.input_price * input_tokens + self.output_price * output_tokens) / _MILLION


def parse_models(table: object, where: str) -> dict[str, Model]:
    """The models of one ``[models]`` table by tier. Raises RyeError ``bad-config``; ``where`` is the file, for its message."""
    if not isinstance(table, dict):
        raise RyeError("bad-config", f"{where}: [models] must be a table.", _example())
    return {tier: _model(tier, row, where) for tier, row in table.items()}


def _example(tier: str = "") -> str:
    """How a table for a tier reads."""
    table = tier if tier.isascii() and tier.replace("-", "").replace("_", "").isalnum() else "haiku"
    return (
        f'Write e.g. [models.{table}] with dialect = "anthropic", url = "https://api.anthropic.com", model = "…" and '
        'key-env = "ANTHROPIC_API_KEY".'
    )


def _model(tier: str, written: object, where: str) -> Model:
    try:
        row = msgspec.convert(written, _Row, strict=True)
    except msgspec.ValidationError as error:
        raise RyeError("bad-config", f"{where}: [models.{tier}]: {error}.", _example(tier)) from None
    _check_address(tier, row.url, where)
    given = None if row.input_price is None else _price(tier, "input-price", row.input_price, where)
    made = None if row.output_price is None else _price(tier, "output-price", row.output_price, where)
    return Model(tier, row.dialect, row.url.rstrip("/"), row.model, row.key_env, given, made)


def _check_address(tier: str, url: str, where: str) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    problem = None
    if parts.scheme not in ("https", "http") or not host:
        problem = "it must begin with https://"
    elif parts.scheme == "http" and not is_loopback(host):
        problem = "http:// is for this machine only: the key and every prompt would be readable on the way"
    elif parts.username is not None or parts.query or parts.fragment:
        problem = "it must have no user, no query and no fragment; the key comes from key-env"
    if problem is not None:
        raise RyeError("bad-config", f"{where}: [models.{tier}] url: {problem}.", _example(tier))


def _price(tier: str, name: str, price: float | int | str, where: str) -> Decimal:
    try:
        found = Decimal(str(price))
    except ArithmeticError:
        found = Decimal(-1)
    if not found.is_finite() or not 0 <= found <= RUN.dollars:
        message = f"{where}: [models.{tier}] {name} must be dollars for a million tokens, 0 to {RUN.dollars}."
        raise RyeError("bad-config", message, f"Write e.g. {name} = 3.0.")
    return found


def with_choices(models: Mapping[str, Model], choices: Mapping[str, str]) -> dict[str, Model]:
    """The models with a run's own ``--model TIER=…``: another tier's model, or else another model at the tier's address, whose
    prices are then unknown. Raises UsageError ``no-model`` for a tier that is not set up."""
    chosen = dict(models)
    for tier, value in choices.items():
        if value in models:
            chosen[tier] = replace(models[value], chosen=True)
        elif tier in models:
            chosen[tier] = replace(models[tier], model=value, input_price=None, output_price=None, chosen=True)
        else:
            raise RyeError(
                "no-model", f"--model {tier}={value}: no model is set up as {tier!r} or {value!r}.", hint(models, tier)
            )
    return chosen


def candidates(wanted: DirectiveModel | None, models: Mapping[str, Model]) -> tuple[Model, ...]:
    """The models that a directive may get: that of its tier, then its fallback. Raises RyeError ``no-model``."""
    pairs = [(wanted.tier, wanted.id), (wanted.fallback, wanted.fallback_id)] if wanted is not None else []
    found: list[Model] = []
    for tier, name in pairs:
        model = models.get(tier) if tier is not None else None
        if name is not None and (model is None or not model.chosen):
            model = next((each for each in models.values() if each.model == name), model)
        if model is not None and model not in found:
            found.append(model)
    if not found:
        wished = next((tier for tier, _ in pairs if tier is not None), "")
        tiers = " or ".join(repr(tier) for tier, _ in pairs if tier is not None) or "no tier"
        raise RyeError(
            "no-model", f"The directive asks for {tiers}, and no model is set up for that.", hint(models, wished)
        )
    return tuple(found)


def hint(models: Mapping[str, Any], tier: str = "") -> str:
    """What to do about a model that is not there: how a table for its tier reads, and in which file."""
    known = f"Set up: {', '.join(sorted(models))}. " if models else ""
    return f"{known}{_example(tier)} It goes into {config_path()}."
