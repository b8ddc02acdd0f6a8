"""The user's models, from ``[models]`` in their config.toml, and which of them a directive gets.

::

    [models.haiku]
    dialect = "anthropic"                  # or "openai"
    url = "https://api.anthropic.com"      # the base; the dialect adds its path
    model = "claude-haiku"
    key-env = "ANTHROPIC_API_KEY"          # leave out if the endpoint needs no key
    input-price = 1.0                      # dollars per million tokens; leave out if unknown
    output-price = 5.0

A repository cannot set models: the key is sent to whatever address is set. The ``id`` in a directive's ``<model>`` is only a
preference: it applies if the user has a model of exactly that name, because only then its address and prices are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.directive.model import Model as DirectiveModel
from rye.limits import RUN
from rye.text.addresses import is_loopback

Dialect = Literal["anthropic", "openai"]
_MILLION = Decimal(1_000_000)


class _ModelRow(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """One table as written."""

    dialect: Dialect
    url: str
    model: str
    key_env: str | None = None
    input_price: float | int | str | None = None
    output_price: float | int | str | None = None


class Model(Struct, frozen=True, kw_only=True):
    """One model that the user configured."""

    tier: str
    """The name of its table."""
    dialect: Dialect
    url: str
    """The base address, without a trailing slash."""
    model: str
    """The provider's name for it."""
    key_env: str | None = None
    """The variable with the key; None: no key is sent."""
    input_price: Decimal | None = None
    """Dollars per million tokens; None: unknown."""
    output_price: Decimal | None = None
    chosen: bool = False
    """Whether ``--model`` selected it for this tier. That overrides the ``id`` in a directive."""

    @property
    def priced(self) -> bool:
        """Whether both prices are known."""
        return self.input_price is not None and self.output_price is not None

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        """Return the cost in dollars; None if a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        return (self.input_price * input_tokens + self.output_price * output_tokens) / _MILLION


def parse_models(table: object, where: str) -> dict[str, Model]:
    """Parse a ``[models]`` table into models by tier. ``where``: the file, for messages. Raises RyeError ``bad-config``."""
    if not isinstance(table, dict):
        raise RyeError("bad-config", f"{where}: [models] must be a table.", _example())
    return {tier: _model(tier, row, where) for tier, row in table.items()}


def _example(tier: str = "") -> str:
    """Return an example of a tier's table."""
    table = tier if tier.isascii() and tier.replace("-", "").replace("_", "").isalnum() else "haiku"
    return (
        f'For example: [models.{table}] with dialect = "anthropic", url = "https://api.anthropic.com", model = "…" and '
        'key-env = "ANTHROPIC_API_KEY".'
    )


def _model(tier: str, written: object, where: str) -> Model:
    try:
        row = msgspec.convert(written, _ModelRow, strict=True)
    except msgspec.ValidationError as error:
        raise RyeError("bad-config", f"{where}: [models.{tier}]: {error}.", _example(tier)) from None
    _check_address(tier, row.url, where)
    given = None if row.input_price is None else _price(tier, "input-price", row.input_price, where)
    made = None if row.output_price is None else _price(tier, "output-price", row.output_price, where)
    return Model(
        tier=tier,
        dialect=row.dialect,
        url=row.url.rstrip("/"),
        model=row.model,
        key_env=row.key_env,
        input_price=given,
        output_price=made,
    )


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
        problem = "http:// is only allowed for this machine: others could read the key and every prompt in transit"
    elif parts.username is not None or parts.query or parts.fragment:
        problem = "it must not have a user, query or fragment; set the key with key-env"
    if problem is not None:
        raise RyeError("bad-config", f"{where}: [models.{tier}] url: {problem}.", _example(tier))


def _price(tier: str, name: str, price: float | int | str, where: str) -> Decimal:
    try:
        found = Decimal(str(price))
    except ArithmeticError:
        found = Decimal(-1)
    if not found.is_finite() or not 0 <= found <= RUN.dollars:
        message = f"{where}: [models.{tier}] {name} must be dollars per million tokens, 0 to {RUN.dollars}."
        raise RyeError("bad-config", message, f"For example: {name} = 3.0")
    return found


def with_choices(models: Mapping[str, Model], choices: Mapping[str, str], file: Path) -> dict[str, Model]:
    """Apply a run's ``--model TIER=…`` options: each value is another tier, or the name of a model at the tier's address,
    whose prices are then unknown. ``file``: the settings, for the error. Raises RyeError ``no-model`` for an unknown tier."""
    chosen = dict(models)
    for tier, value in choices.items():
        if value in models:
            chosen[tier] = replace(models[value], chosen=True)
        elif tier in models:
            chosen[tier] = replace(models[tier], model=value, input_price=None, output_price=None, chosen=True)
        else:
            raise RyeError(
                "no-model",
                f"--model {tier}={value}: neither {tier!r} nor {value!r} is configured.",
                hint(models, file, tier),
            )
    return chosen


def candidates(wanted: DirectiveModel | None, models: Mapping[str, Model], file: Path) -> tuple[Model, ...]:
    """Return the models for a directive: that of its tier, then its fallback. ``file``: the settings, for the error.

    Raises RyeError ``no-model``.
    """
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
            "no-model",
            f"The directive asks for {tiers}, but no model is configured for that.",
            hint(models, file, wished),
        )
    return tuple(found)


def hint(models: Mapping[str, Any], file: Path, tier: str = "") -> str:
    """Return what to do about a missing model: an example of its table, and the file it belongs in."""
    known = f"Configured: {', '.join(sorted(models))}. " if models else ""
    return f"{known}Add a model to {file}. {_example(tier)}"
