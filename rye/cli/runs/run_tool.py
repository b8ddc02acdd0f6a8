"""``rye run tool:ID``: call a tool once by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rye.cli.console import one_line, printable
from rye.errors import RyeError
from rye.runtime.trying import Tried, try_tool

if TYPE_CHECKING:
    from threading import Event

    from rye.cli.options import Session


def run_tool(
    session: Session,
    target: str,
    texts: Mapping[str, str],
    values: Callable[[], Mapping[str, Any]],
    cancel: Event,
) -> int:
    """Run a tool; show what it returned, wrote and was refused; return the exit code. ``texts`` override ``values``."""
    tried = try_tool(session, target, {**values(), **texts}, cancel)
    if session.json:
        session.console.document(tried.as_json())
        return 0 if tried.result.error is None else 1
    _show(session, tried)
    failed = tried.result.error
    if failed is not None:
        session.console.error(RyeError(failed.code, failed.message, failed.hint))
        return 1
    session.console.data(printable(json.dumps(tried.result.output, ensure_ascii=False, indent=2)))
    return 0


def _show(session: Session, tried: Tried) -> None:
    """Print everything but the result, on stderr."""
    for line in tried.result.stderr.split("\n"):
        if line:
            session.console.say(f"  {one_line(line)}", "dim")
    granted = ", ".join(f"{key} {value}" for key, value in tried.grants.lines()) or "nothing beyond its work folder"
    session.console.say(f"{tried.item.label}: {tried.result.seconds:.2f} s; granted {granted}")
    for what in tried.result.refused:
        key, _, value = what.partition(" ")
        session.console.warn(
            f"Refused: {key} {one_line(value)}", f'`[sandbox."tool:{tried.item.id}"]` in rye.toml grants {key}.'
        )
