"""Finds commands in hints and parses them with the real command lines, so that every hint can be followed.

A command is recognized between backticks, at the end of a text after a colon, and as a whole line of a text that does
not end like a sentence. Placeholders are in capitals (``ID``, ``[KIND:]ID@VERSION``, ``PATH``) or an ellipsis, and
parse like any word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache, lru_cache

import click

from registry_server.cli.program import cli as registry_program
from rye.cli.kind_choice import KindChoice
from rye.cli.main import program
from rye.errors import RyeError
from rye.items.kinds import KINDS

_QUOTED = re.compile(r"`((?:rye|rye-registry) [^`\n]+)`")
_LAST = re.compile(r": ((?:rye|rye-registry) [a-z-]+(?: [^`]+)?)\.?$")
_LINE = re.compile(r"^((rye|rye-registry) ([a-z-]+)(?: [^`\n]*)?)(?<![.?!:])$", re.MULTILINE)
_PROSE = re.compile(r"\s(?:and|or|with|where|then|which|to|for)\s")
"""Words of sentences that merely begin like a command."""
_NAMED = re.compile(r"(?<![\w`/.:-])rye-registry [a-z-]+")


def commands_in(text: str) -> Iterator[str]:
    """Every command that a text tells the reader to run."""
    if "rye" not in text:
        return
    yield from (found.strip() for found in _QUOTED.findall(text))
    for line, name, command in _LINE.findall(text):
        if command in _names(name) and not _PROSE.search(line):
            yield line.strip()
    last = _LAST.search(text)
    if last is not None and not _PROSE.search(last[1]):
        yield last[1].rstrip(".")


def unrecognized(text: str) -> list[str]:
    """The ``rye-registry`` commands in a text that :func:`commands_in` does not find."""
    found = list(commands_in(text))
    return [each for each in _NAMED.findall(text) if not any(each in command for command in found)]


@cache
def _programs() -> dict[str, click.Command]:
    return {"rye": program(), "rye-registry": registry_program}


@cache
def _names(name: str) -> frozenset[str]:
    found = _programs()[name]
    assert isinstance(found, click.Group)
    return frozenset(found.list_commands(click.Context(found)))


@lru_cache(maxsize=4096)
def problem(command: str, *, whole: bool = False) -> str | None:
    """Why a command cannot be run as written; None if it can, provided that what it names exists.

    ``whole``: no argument may be missing, and a group needs a command.
    """
    try:
        words = shlex.split(command.replace("…", " "))
    except ValueError as error:
        return str(error)
    found: click.Command = _programs()[words[0]]
    context = click.Context(found, info_name=words[0], **found.context_settings)
    rest = words[1:]
    while isinstance(found, click.Group):
        rest, wrong = _options_before(found, context, rest)
        if wrong is not None:
            return wrong
        if not rest:
            return f"{context.command_path} needs a command" if whole and not found.invoke_without_command else None
        if rest[0].isupper():  # `rye COMMAND --help`
            return None
        try:
            below = found.get_command(context, rest[0])
        except RyeError as error:
            return error.message
        if below is None:
            return f"{context.command_path} has no command {rest[0]!r}"
        context = click.Context(below, info_name=rest[0], parent=context)
        found, rest = below, rest[1:]
    return _leaf(found, context, rest, whole)


def _options_before(group: click.Group, context: click.Context, words: list[str]) -> tuple[list[str], str | None]:
    """The words after the options of a group, which precede its command."""
    if not words or not words[0].startswith("-"):
        return words, None
    parser = group.make_parser(context)
    parser.allow_interspersed_args = False
    try:
        _, left, _ = parser.parse_args(words)
    except click.UsageError as error:
        return [], error.format_message()
    return left, None


def _leaf(command: click.Command, context: click.Context, words: list[str], whole: bool) -> str | None:
    try:
        given, left, _ = command.make_parser(context).parse_args(words)
    except click.MissingParameter:
        return None
    except click.UsageError as error:
        return error.format_message()
    for parameter in command.params:
        value = given.get(parameter.name or "")
        if (
            whole
            and isinstance(parameter, click.Argument)
            and parameter.required
            and not isinstance(value, (str, tuple))
        ):
            return f"{context.command_path} needs {parameter.human_readable_name}"
        choices = KINDS if isinstance(parameter.type, KindChoice) else getattr(parameter.type, "choices", None)
        for word in value if isinstance(value, (list, tuple)) else [value]:
            if choices and isinstance(word, str) and not word.isupper() and word not in choices:
                return f"{context.command_path} accepts no {word!r} for {parameter.name}"
    takes_all = any(isinstance(one, click.Argument) and one.nargs == -1 for one in command.params)
    optional = [word for word in left if not word.startswith("[")]
    return f"{context.command_path} takes no {optional[0]!r}" if optional and not takes_all else None
