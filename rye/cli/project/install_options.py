"""Options that the installing commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
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
    "dry_run": click.option("--dry-run", is_flag=True, help="Show what would change, and stop."),
    "trust_lock": click.option(
        "--trust-lock",
        is_flag=True,
        help="Trust the approvals in rye.lock for this run: anyone who can commit can give them.",
    ),
    "group": click.option("--group", default="main", show_default=True, help="Group of dependencies."),
    "without": click.option("--without", multiple=True, metavar="GROUP", help="Leave a group out."),
    "discard": click.option(
        "--discard-local-edits", is_flag=True, help="Restore files edited in .ai/packages as rye.lock has them."
    ),
    "airgap": airgap_options,
    "member": click.option(
        "-p",
        "--package",
        "member",
        metavar="MEMBER",
        help="A member of the workspace, by its folder or name; `.`: the root.",
    ),
}


def install_options(*names: str) -> Decorator:
    """Decorator: the named options, in this order."""

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
    """The command as it was given, without what agrees to something."""
    chosen = [] if group == "main" else ["--group", group]
    chosen += [] if member is None else ["-p", member]
    return shlex.join(["rye", verb, *items, *chosen, *(word for name in without for word in ("--without", name))])
