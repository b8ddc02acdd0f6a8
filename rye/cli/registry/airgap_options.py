"""``--bundle`` and ``--bundle-as-of``, for the commands that install."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

import click

from rye.errors import UsageError

if TYPE_CHECKING:
    from rye.cli.options import Session
    from rye.workspace.registries.airgap_access import Airgap

_AS_OF = "rye.bundle-as-of"


def airgap_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: ``--bundle`` for a command that installs, and the one option that overrides its age limit."""
    return click.option("--bundle", metavar="FILE", help="Read everything from a bundle file, verified offline.")(
        click.option(
            "--bundle-as-of",
            metavar="DATE",
            expose_value=False,
            callback=_remember,
            help="Accept a bundle older than 7 days: measure its age as of this day.",
        )(function)
    )


def airgap_given(session: Session, file: str | None) -> Airgap | None:
    """The values of the two options. Raises UsageError ``no-bundle`` and ``bad-date``."""
    context = click.get_current_context(silent=True)
    as_of: str | None = context.meta.get(_AS_OF) if context is not None else None
    if file is None:
        if as_of is not None:
            raise UsageError("no-bundle", "--bundle-as-of needs --bundle.", "Also give --bundle FILE.")
        return None
    from rye.workspace.registries.airgap_access import Airgap

    return Airgap(session.path(file), file, _day(as_of) if as_of is not None else None)


def _remember(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_AS_OF] = value


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or f"{found:%Y-%m-%d}" != text:
        raise UsageError("bad-date", f"{text!r} is not a date.", "Write YYYY-MM-DD.")
    return found
