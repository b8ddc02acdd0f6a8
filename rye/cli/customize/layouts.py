"""``--layout``, ``--town`` and ``--rig``: which folders hold overlays and role directives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rye.cli.options import Session
from rye.customization.places import Places
from rye.workspace.customizing.layouts import customization_places


def layout_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The three options; the command receives ``layout``, ``town`` and ``rig`` and passes them to :func:`places`."""
    for option in (
        click.option("--rig", metavar="NAME", help="The rig in the town (gastown)."),
        click.option("--town", metavar="DIR", help="The town's folder (gastown)."),
        click.option(
            "--layout",
            type=click.Choice(["rye", "gastown"]),
            default="rye",
            show_default=True,
            help="Which layout of folders to use.",
        ),
    ):
        function = option(function)
    return function


def places(session: Session, layout: str, town: str | None, rig: str | None) -> Places:
    """The folders that the options select. Raises UsageError if they contradict each other."""
    return customization_places(session, layout, session.path(town) if town is not None else None, rig)
