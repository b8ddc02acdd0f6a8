"""The type of arguments and options that name a kind of item. An unknown kind is an error that suggests the nearest one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rye.errors import UsageError
from rye.items.kinds import KINDS

if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:
    _ParamType = click.ParamType  # older click has no type argument


class KindChoice(_ParamType):
    """A click type that accepts the name of any kind."""

    name = "kind"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """``value`` as a kind's name. Raises UsageError ``unknown-name``."""
        if value in KINDS:
            return str(value)
        import difflib  # only an unknown kind needs it

        near = difflib.get_close_matches(str(value), list(KINDS), n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"Kinds: {', '.join(KINDS)}."
        raise UsageError("unknown-name", f"{value!r} is not a kind of item.", hint, what="kind")


def kind_option(
    purpose: str = "Read the files as items of this kind.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--kind``, the same for every command that reads items."""
    return click.option("--kind", type=KindChoice(), metavar="KIND", help=f"{purpose} ({', '.join(KINDS)})")
