"""The ``--today`` option: a date in place of the clock's."""

from __future__ import annotations

from datetime import date

import click

from rye.errors import UsageError


def parse_date(_ctx: click.Context, _param: click.Parameter, value: str | None) -> date | None:
    """The value of a ``--today`` option. Raises UsageError unless it is YYYY-MM-DD."""
    if value is None:
        return None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or found.isoformat() != value:
        raise UsageError("bad-date", f"{value!r} is not a date.", "Write it as YYYY-MM-DD.")
    return found
