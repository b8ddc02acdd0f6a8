"""The pages of docs/reference/errors, made from the table and its examples; ``make error-pages`` writes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rye.explaining.example import Example, code_of, examples
from rye.explaining.table import Area, Code, load

INDEX = "README"
_HEAD = "<!-- Generated from rye/explaining by `make error-pages`. Edit it there. -->"
_INTRODUCTION = """\
Every error and finding of Rye has a code, which does not change between versions. Findings show it in brackets; in `--json` it is
`code`. `rye explain CODE` prints the content of these pages. **Exit** is the exit status of the command that ends with the code:
0 for findings that are never more than a warning, 1 for a failure, 2 for a command that cannot be carried out as typed. Where
several things share a code, `what` in `--json` names the thing; a registry's HTTP API leaves that to the message. New versions
add codes; they do not rename or remove any, and a code keeps its exit status."""


def pages() -> Mapping[str, str]:
    """Return the text of each page by its name."""
    areas = load()
    return {INDEX: _index(areas), **{area.name: _page(area, examples(area.name)) for area in areas}}


def _index(areas: tuple[Area, ...]) -> str:
    lines = ["# Error codes", "", _HEAD, "", _INTRODUCTION, "", "| about | codes |", "|---|---|"]
    lines += [f"| [{area.title}]({area.name}.md) | {len(area.codes)} |" for area in areas]
    lines += ["", "## All codes", ""]
    known = sorted((row for area in areas for row in area.codes), key=lambda row: row.code.lower())
    by_letter: dict[str, list[Code]] = {}
    for row in known:
        by_letter.setdefault(row.code[0].upper(), []).append(row)
    for rows in by_letter.values():
        lines += [" · ".join(f"[`{row.code}`]({row.area}.md)" for row in rows), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _page(area: Area, shown: Mapping[str, Example]) -> str:
    lines = [f"# {area.title}", "", _HEAD, "", "| code | exit | what it means | what to do |", "|---|---|---|---|"]
    with_examples: dict[str, str] = {}
    for heading in shown:
        with_examples.setdefault(code_of(heading), heading)
    for row in area.codes:
        name = f"`{row.code}`"
        if row.code in with_examples:
            name = f"[{name}](#{with_examples[row.code].lower().replace(' ', '-')})"
        lines.append(f"| {name} | {row.exit} | {_cell(row.title)} | {_cell(_advice(row))} |")
    read = sorted({row.page for row in area.codes})
    links = ", ".join(f"[{page}](../../../{page})" for page in read)
    lines += ["", f"Read more: {links}."]
    for row in area.codes:
        for heading, example in shown.items():
            if code_of(heading) == row.code:
                lines += ["", *_section(heading, row, example)]
    return "\n".join(lines) + "\n"


def _section(heading: str, row: Code, example: Example) -> Iterator[str]:
    yield f"## {heading}"
    yield ""
    yield row.title
    for head, lines in example.shown:
        yield ""
        yield head
        yield ""
        yield "````text"
        yield from lines
        yield "````"


def _advice(row: Code) -> str:
    return f"{row.text} `what`: {', '.join(row.what)}." if row.what else row.text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.md").write_text(text, "utf-8")
