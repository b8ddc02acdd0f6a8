"""What every command of ``rye-registry`` takes and how it prints: data on stdout, words on stderr, ``--json`` one document."""

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
    """Where results go."""

    json: bool = False

    def result(self, document: dict[str, object], text: str) -> None:
        """What the command is asked for: the document with ``--json``, else the text."""
        click.echo(json.dumps(document, ensure_ascii=False) if self.json else text)

    def say(self, text: str) -> None:
        """Words for a person."""
        if not self.json:
            click.echo(text, err=True)


pass_output = click.make_pass_decorator(Output, ensure=True)


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--data``: which registry."""
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="RYE_REGISTRY_DATA",
        default=DEFAULT_DATA,
        show_default=True,
        help="The registry's folder.",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--json``, before or after the command's name."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(Output).json = True

    return click.option(
        "--json", is_flag=True, expose_value=False, callback=remember, is_eager=True, help="Print one JSON document."
    )(command)
