"""Generates the pages of docs/reference/commands from the commands: ``make command-pages`` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from rye.cli.examples import EXAMPLES
from rye.cli.main import COMMANDS, Families, program
from rye.cli.options import Command, global_options

INDEX = "README"
_HEAD = "<!-- Made from the commands by `make command-pages`. Change them there. -->"
_GLOBAL = frozenset(str(option.name) for option in global_options())


def pages() -> Mapping[str, str]:
    """Name → text of each page: an index, and one page for each section of ``rye --help``."""
    root = program()
    context = click.Context(root, info_name="rye", **root.context_settings)
    sections: dict[str, list[str]] = {}
    for name, (_, section, _line) in COMMANDS.items():
        sections.setdefault(section, []).append(name)
    made = {section.lower(): _page(section, names, root, context) for section, names in sections.items()}
    return {INDEX: _index(sections, context), **made}


def _index(sections: Mapping[str, list[str]], context: click.Context) -> str:
    lines = ["# Commands", "", _HEAD, "", "`rye help COMMAND` prints the same on a terminal.", ""]
    for section, names in sections.items():
        lines += [f"## {section}", "", "| command | what it does |", "|---|---|"]
        lines += [f"| [`rye {name}`]({section.lower()}.md#rye-{name}) | {_cell(COMMANDS[name][2])} |" for name in names]
        lines.append("")
    lines += ["## Options of every command", "", "They may stand before or after the command's name.", ""]
    lines += _options(global_options(shown=None), context)
    return "\n".join(lines).rstrip("\n") + "\n"


def _page(section: str, names: list[str], root: Families, context: click.Context) -> str:
    lines = [f"# {section}", "", _HEAD]
    for name in names:
        found = root.get_command(context, name)
        assert found is not None
        lines += _command(found, click.Context(found, info_name=name, parent=context), "##")
    return "\n".join(lines) + "\n"


def _command(found: click.Command, context: click.Context, level: str) -> Iterator[str]:
    path = context.command_path
    yield ""
    yield f"{level} {path}"
    yield ""
    yield from _prose(found.help or "")
    if isinstance(found, Command) and found.listed[1]:
        yield from ("", f"{found.listed[0]}:", "", "| | |", "|---|---|")
        yield from (f"| `{term}` | {meaning} |" for term, meaning in found.listed[1])
    if not isinstance(found, Families):
        yield ""
        yield "```"
        yield " ".join([path, *found.collect_usage_pieces(context)])
        yield "```"
        own = [each for each in found.params if isinstance(each, click.Option) and each.name not in _GLOBAL]
        yield from _options(own, context)
    examples = EXAMPLES.get(path.partition(" ")[2], ())
    if examples:
        yield from ("", "Examples:", "", *(f"    {line}" for line in examples))
    if isinstance(found, Families):
        for name in found.table:
            below = found.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, info_name=name, parent=context), "###")


def _prose(text: str) -> Iterator[str]:
    """A command's help as Markdown: its paragraphs, with preformatted ones (click's backspace mark) unchanged."""
    for index, paragraph in enumerate(text.strip().split("\n\n")):
        if index:
            yield ""
        lines = paragraph.split("\n")
        if lines[0].strip() == "\b":
            yield from ("```", *(line.rstrip() for line in lines[1:]), "```")
        else:
            yield " ".join(line.strip() for line in lines)


def _options(options: list[click.Option], context: click.Context) -> Iterator[str]:
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    if records:
        yield from ("", "| option | what it does |", "|---|---|")
        yield from (f"| `{_cell(names)}` | {_cell(text)} |" for names, text in records)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(folder: str) -> None:
    """Write the pages, and remove those that no longer have a section."""
    place, made = Path(folder), pages()
    place.mkdir(parents=True, exist_ok=True)
    for old in place.glob("*.md"):
        if old.stem not in made:
            old.unlink()
    for name, text in made.items():
        (place / f"{name}.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
