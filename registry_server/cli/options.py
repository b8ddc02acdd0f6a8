"""Options that all commands of ``rye-registry`` share, and how they print: results on stdout, messages on stderr, or
JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

DEFAULT_DATA = "rye-registry-data"


@dataclass(slots=True)
class Output:
    """Prints results and messages."""

    json: bool = False

    def result(self, document: dict[str, object], text: str) -> None:
        """Print the command's result: the document with ``--json``, otherwise the text."""
        click.echo(json.dumps(document, ensure_ascii=False) if self.json else text)

    def say(self, text: str) -> None:
        """Print a message for a person; nothing with ``--json``."""
        if not self.json:
            click.echo(text, err=True)


pass_output = click.make_pass_decorator(Output, ensure=True)


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--data``, the folder of the registry."""
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="RYE_REGISTRY_DATA",
        default=DEFAULT_DATA,
        show_default=True,
        help="The registry's folder.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, which works before and after the command's name."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(Output).json = True

    return click.option(
        "--json", is_flag=True, expose_value=False, callback=remember, is_eager=True, help="Print one JSON document."
    )(command)
