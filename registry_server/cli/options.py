"""Options that all commands of ``rye-registry`` share, and how they print: results on stdout, messages on stderr, or
JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from registry_server.cli.screen import fitted
from rye import deprecations

DEFAULT_DATA = "rye-registry-data"


@dataclass(slots=True)
class Output:
    """Prints results and messages."""

    json: bool = False

    @property
    def can_ask(self) -> bool:
        """Whether a person sits at a terminal."""
        return not self.json and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def result(self, document: dict[str, object], text: str) -> None:
        """Print the command's result: the document with ``--json``, otherwise the text."""
        click.echo(json.dumps(document, ensure_ascii=False) if self.json else text)

    def say(self, text: str, *, wraps: bool = True) -> None:
        """Print a message for a person; nothing with ``--json``. ``wraps``: False for text whose lines mean something."""
        if not self.json:
            click.echo(fitted(text) if wraps else text, err=True)


pass_output = click.make_pass_decorator(Output, ensure=True)


def accept_clock_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--accept-clock``, by which an operator vouches for this machine's clock."""
    return click.option(
        "--accept-clock",
        is_flag=True,
        help="This machine's clock is right, although the newest head is older than 36 hours or in the future.",
    )(command)


def data_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--data``, the folder of the registry. If neither the option nor the variable names it, say which one is used."""

    def tell(context: click.Context, parameter: click.Parameter, value: Path) -> Path:
        if (
            context.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT
            and not context.resilient_parsing
        ):
            context.ensure_object(Output).say(f"The registry's folder: {value.absolute()} (--data names another).")
        for row in _deprecated(context, value) if deprecations.DEPRECATED else ():
            click.echo(fitted(f"warning: {row.message}\n  hint: {row.instead}"), err=True)
        return value

    return click.option(
        "--data",
        callback=tell,
        type=click.Path(path_type=Path, file_okay=False),
        envvar="RYE_REGISTRY_DATA",
        default=DEFAULT_DATA,
        show_default=True,
        help="The registry's folder.",
    )(command)


def _deprecated(context: click.Context, data: Path) -> Iterator[deprecations.Deprecation]:
    """The rows of the table of what is deprecated that this run uses."""

    def keys(_file: str) -> Mapping[str, object]:
        try:
            return tomllib.loads((data / "registry.toml").read_text("utf-8"))
        except (OSError, ValueError):  # the command says what is wrong with the file
            return {}

    return deprecations.used(deprecations.DEPRECATED, context.command_path, sys.argv[1:], os.environ, keys)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``, which works before and after the command's name."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value:
            context.ensure_object(Output).json = True

    return click.option(
        "--json", is_flag=True, expose_value=False, callback=remember, is_eager=True, help="Print one JSON document."
    )(command)


owner_keys_option = click.option(
    "--key",
    "key_files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="An owner's key file; repeatable.",
)
"""``--key``: key files of the registry's owners, for what they state in the log."""
draft_option = click.option(
    "--draft",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the unsigned statement to this file, for owners on other machines.",
)
"""``--draft``: for owners whose keys are on other machines."""
