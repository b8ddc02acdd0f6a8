"""Options that the installing commands have in common, and the text of such a command for messages that say what to run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """The values of the two options. Raises UsageError ``missing-argument`` and ``bad-date``."""
    context = click.get_current_context(silent=True)
    as_of: str | None = context.meta.get(_AS_OF) if context is not None else None
    if file is None:
        if as_of is not None:
            raise UsageError(
                "missing-argument", "--bundle-as-of needs --bundle.", "Also give --bundle FILE.", what="bundle"
            )
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


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_OPTIONS: dict[str, Decorator] = {
    "approve": click.option(
        "--approve",
        "approved",
        multiple=True,
        metavar="ID@VERSION",
        help="Approve this item's rights, hooks and signer.",
    ),
    "dry_run": click.option("--dry-run", is_flag=True, help="Show what would change; write nothing."),
    "trust_lock": click.option(
        "--trust-lock",
        is_flag=True,
        help="Trust the approvals in rye.lock for this run. Anyone who can commit can write them.",
    ),
    "group": click.option("--group", default="main", show_default=True, help="Use this group of dependencies."),
    "without": click.option("--without", multiple=True, metavar="GROUP", help="Leave out a group of dependencies."),
    "discard": click.option(
        "--discard-local-edits", is_flag=True, help="Restore files that were edited in .ai/packages."
    ),
    "airgap": airgap_options,
    "member": click.option(
        "-p",
        "--package",
        "member",
        metavar="MEMBER",
        help="Work on this member of the workspace: its folder or name, or `.` for the root.",
    ),
}


def install_options(*names: str) -> Decorator:
    """Decorator that adds the named options, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _OPTIONS[name](function)
        return function

    return decorate


def command_text(
    verb: str,
    items: Sequence[str] = (),
    group: str = "main",
    without: Sequence[str] = (),
    member: str | None = None,
) -> str:
    """The command as given, without the options that agree to something."""
    chosen = [] if group == "main" else ["--group", group]
    chosen += [] if member is None else ["-p", member]
    given = [*items, *chosen, *(word for name in without for word in ("--without", name))]
    if not given:
        return f"rye {verb}"
    import shlex  # not needed for a command without words

    return f"rye {verb} {shlex.join(given)}"
