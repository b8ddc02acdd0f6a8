"""The table of commands that completion reads, built from the commands themselves; ``make completion-table`` writes it.

Loading every command takes a second, so the table is stored. ``tests/cli/test_completing.py`` checks that it is current.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from rye.cli.kind_choice import KindChoice
from rye.items.kinds import KINDS
from rye.workspace.project_checks import NAMES

_BY_METAVAR = {
    "[KIND:]ID": "item",
    "ID": "item",
    "FILE|ID": "item-or-file",
    "PATH…|ID": "item-or-file",
    "FILE": "file",
    "PATH…": "file",
    "FILE…": "file",
    "FILE.yaml…": "file",
    "DIR": "folder",
    "[DIR]": "folder",
    "FOLDER": "folder",
    "[FOLDER]": "folder",
    "TARGET": "target",
    "GROUP": "group",
    "KIND": "kind",
    "ROLE": "item role",
    "FORMULA": "item formula",
    "[FORMULA]…": "item formula",
    "[ID]…": "item",
    "OLD": "item-or-file",
    "NEW": "item-or-file",
}
_BY_NAME = {
    "key": "key",
    "key_names": "key",
    "namespace": "namespace",
    "address": "registry",
    "registry": "registry",
    "group": "group",
    "folder": "folder",
    "output": "file",
    "out": "file",
}
_BY_COMMAND = {
    ("add", "items"): "published",
    ("info", "item"): "published",
    ("deprecate", "item"): "published",
    ("remove", "items"): "locked",
    ("update", "items"): "locked",
    ("why", "item"): "locked",
    ("hooks approve", "target"): "locked",
    ("override new", "item"): "locked",
    ("override edit", "item"): "locked",
    ("keys default", "name"): "key",
    ("keys export", "name"): "key",
    ("keys seal", "name"): "key",
    ("help", "words"): "command",
    ("mcp serve", "as_"): "item directive",
    ("mcp token", "as_"): "item directive",
    ("run", "target"): "item directive",
    ("keys passphrase", "name"): "key",
    ("keys move", "old"): "key",
    ("keys remove", "name"): "key",
    ("schema", "name"): "schema",
    ("explain", "code"): "code",
    ("config get", "name"): "setting",
    ("config set", "name"): "setting",
    ("config unset", "name"): "setting",
    ("merge", "files"): "file",
    ("overlay apply", "overlay"): "file",
    ("runs show", "run"): "run",
    ("runs verify", "run"): "run",
    ("approve", "run"): "run",
    ("namespace keys add", "file"): "file",
    ("check", "only"): "=" + "|".join(NAMES),
}
"""The kinds of value that neither the metavar nor the name reveals."""


def table(program: click.Group) -> dict[str, Any]:
    """The rows of all commands, keyed by their words."""
    rows: dict[str, Any] = {}
    context = click.Context(program, info_name="rye", resilient_parsing=True)
    shared = frozenset(name for parameter in program.params for name in parameter.opts)
    _add(rows, program, context, ("", ""), shared)
    return rows


def as_text(rows: dict[str, Any]) -> str:
    """The stored form: one command per line, so that two branches merge cleanly."""
    lines = [f"{json.dumps(path)}: {json.dumps(rows[path], ensure_ascii=False)}" for path in sorted(rows)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _add(
    rows: dict[str, Any], command: click.Command, context: click.Context, named: tuple[str, str], shared: frozenset[str]
) -> None:
    """Add the rows of a command and of the commands below it. ``named``: its words, and its line of help."""
    path, help_line = named
    options: dict[str, str | None] = {} if path else {"--help": None, "-h": None}
    arguments, more = [], False
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            arguments.append(_kind(parameter, path))
            more = more or parameter.nargs == -1
        elif isinstance(parameter, click.Option):
            flag = parameter.is_flag or parameter.count
            for name in (*parameter.opts, *parameter.secondary_opts):
                if not path or name not in shared:  # the global options are only in the program's own row
                    options[name] = None if flag else _kind(parameter, path)
    row: dict[str, Any] = {"help": help_line, "options": options, "arguments": arguments, "more": more}
    rows[path] = row
    if isinstance(command, click.Group):
        row["commands"] = command.list_commands(context)
        for name in row["commands"]:
            below = command.get_command(context, name)
            assert below is not None
            inner = click.Context(below, parent=context, info_name=name, resilient_parsing=True)
            line = _help_of(command, name) or below.get_short_help_str(200)
            _add(rows, below, inner, (f"{path} {name}".strip(), line), shared)


def _help_of(group: click.Group, name: str) -> str:
    rows = getattr(group, "table", {})
    return str(rows[name][2]) if name in rows else ""


def _kind(parameter: click.Parameter, path: str) -> str:
    name = parameter.name or ""
    if (path, name) in _BY_COMMAND:
        return _BY_COMMAND[path, name]
    if isinstance(parameter.type, click.Choice):
        return "=" + "|".join(map(str, parameter.type.choices))
    if isinstance(parameter.type, KindChoice):
        return "=" + "|".join(KINDS)
    if isinstance(parameter.type, click.Path):
        return "file"
    metavar = (parameter.metavar or "").split(" ")[0].split("@")[0].removesuffix("[").removesuffix("…")
    for spelling in (parameter.metavar or "", metavar, metavar + "…"):
        if spelling in _BY_METAVAR:
            return _BY_METAVAR[spelling]
    return _BY_NAME.get(name, "")


if __name__ == "__main__":
    from rye.cli.main import program  # loads the whole command line, which only this needs

    sys.stdout.write(as_text(table(program())))
