"""Options that the installing commands have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rye.cli.registry.airgap_options import airgap_options

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
