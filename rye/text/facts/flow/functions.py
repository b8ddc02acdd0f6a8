"""A script's own functions of several commands: what they print, what they run of their input and their parameters, and so what
a call of one brings in, runs and saves.

``get() { local u="$1"; curl -fsSL "$u"; }`` prints what it fetches, and ``run() { cat > "$T"; bash "$T"; }`` runs its input, so
``get https://… | run`` is as much as ``curl https://… | bash``. Functions of one command are expanded where they are called
(:mod:`rye.text.facts.shell.names`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts import interpreters, shell
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.shell import shown
from rye.text.facts.source import Origin, Source, Sources
from rye.text.facts.tables import word_set

_BEGINS = re.compile(
    r"^[ \t]{0,40}(?:(?:function|filter)[ \t]+([A-Za-z_][\w-]{0,60})[ \t]{0,8}(?:\([^()\n]{0,200}\))?|"
    r"([A-Za-z_][\w-]{0,60})[ \t]{0,8}\(\))[ \t\n]{0,8}[{(]?",
    re.MULTILINE,
)
_PARAMETER = re.compile(r"\$(?:\{?[1-9@*]\}?|args\b|argv\b|\{?input\b)")
_TAKEN = re.compile(
    r"(?:local|declare|set|\$)?[ \t]*-?\w{0,2}[ \t]*\$?([A-Za-z_]\w{0,60})[ \t]*=[ \t]*[\"']?\$\{?([1-9@*]|args\b)"
)
_PARAMETER_NUMBER = re.compile(r"\$\{?([1-9])\}?$")
_PARAMETERS = re.compile(r"\bparam\s?\(([^()\n]{1,300})\)|^[^\n]{0,120}?\(([^()\n]{1,200})\)\s?\{")
_NAME = re.compile(r"\$([A-Za-z_]\w{0,60})")
_MOST_LINES: Final = 60
_ENDS: Final = word_set("} end )")
_READERS: Final = word_set("mapfile readarray")


class Function(NamedTuple):
    """What is known about a function, and its lines."""

    first: int
    last: int
    prints: Origin | None
    runs_input: bool
    runs_parameters: bool
    saves: tuple[int, ...]
    """The parameters (from 1) that name a file which it writes what it brings in to."""


def functions_in(source: Source, find_source: Sources) -> dict[str, Function]:
    """The file's functions that print what they bring in, or run what they are given; at most ``FACTS.named_commands``."""
    found: dict[str, Function] = {}
    for name, (first, last) in extents_in(source).items():
        function = _read(source, first, last, find_source)
        if function.prints is not None or function.runs_input or function.runs_parameters or function.saves:
            found[name] = function
    return found


def extents_in(source: Source) -> dict[str, tuple[int, int]]:
    """The first line of each function, and the line after its last one. Computed once."""
    extents: dict[str, tuple[int, int]] | None = source.kept.get("functions")
    if extents is None:
        extents = source.kept["functions"] = _extents(source)
    return extents


def _extents(source: Source) -> dict[str, tuple[int, int]]:
    extents: dict[str, tuple[int, int]] = {}
    text = source.text
    if "()" not in text and "function " not in text:
        return extents
    for match in _BEGINS.finditer(text):
        first = source.line_at(match.start())
        if not source.is_code(first) or len(extents) >= FACTS.named_commands:
            continue
        if "}" in source.lines[first]:
            extents[match[1] or match[2]] = (first, first + 1)
            continue
        indent = len(source.lines[first]) - len(source.lines[first].lstrip())
        for number in range(first + 1, min(first + _MOST_LINES, len(source.lines))):
            raw = source.lines[number]
            if raw.strip()[:3] in _ENDS and len(raw) - len(raw.lstrip()) <= indent:
                extents[match[1] or match[2]] = (first, number + 1)
                break
    return extents


def _read(source: Source, first: int, last: int, find_source: Sources) -> Function:
    prints: Origin | None = None
    runs_input = runs_parameters = False
    saves: set[int] = set()
    body = "\n".join(source.lines[first:last])
    numbered = {match[1]: int(match[2]) for match in _TAKEN.finditer(body) if match[2].isdigit()}
    taken = {match[1] for match in _TAKEN.finditer(body)}
    for match in _PARAMETERS.finditer(body):
        taken.update(_NAME.findall(match[1] or match[2]))
    kept: set[str] = set()
    number = first
    while number < last:
        line = source.logical(number)
        opened = line.text.find("{") if line.first <= first else -1
        body_of_line = [list(shell.walk(shell.read(line.text[opened + 1 :])))] if opened >= 0 else source.commands(line)
        for commands in body_of_line:
            for command, group in commands:
                if not command.words or source.lines[line.first].lstrip().startswith("#"):
                    continue
                here, command.here = (
                    command.here,
                    command.here or command.before is None,
                )  # it reads what the function is fed
                origin = find_source(command, line.text)
                command.here = here
                if origin is not None and not origin.saves and not command.writes:
                    prints = prints or origin
                for target in (*origin.saves, *command.writes) if origin is not None else ():
                    number_of = _PARAMETER_NUMBER.match(target)
                    saves.update(
                        [int(number_of[1])]
                        if number_of is not None
                        else [numbered[name] for name in _NAME.findall(target.replace("{", "")) if name in numbered]
                    )
                runs_input = runs_input or _runs_input(command, kept)
                closes = not line.text[: command.words[0].start].strip() and source.begins_in_argument(line.first)
                if not closes and not interpreters.stands_in_text(group):
                    runs_parameters = runs_parameters or _runs_parameter(command, taken)
        number = max(number, line.first + line.text.count(shell.BREAK)) + 1
    return Function(first, last, prints, runs_input, runs_parameters, tuple(sorted(saves)))


def _runs_input(command: shell.Command, kept: set[str]) -> bool:
    """Whether a command of a function's body runs what the function is fed: itself, through ``cat``, or from a file."""
    texts = command.texts()
    index = shell.head(command)
    if index < 0:
        return False
    name = shell.program(texts[index])
    if (
        name in ("cat", "tee")
        and command.before is None
        and not [text for text in texts[index + 1 :] if name == "cat" and text != "-"]
    ):
        kept.update(command.writes if name == "cat" else texts[index + 1 :])
        return False
    script = interpreters.script(command)
    if script is not None and script.text in kept:
        return True
    if interpreters.position(command) < 0:
        return False
    before = command.before
    fed = before is None or (
        shell.program(before.texts()[0]) in ("cat", "tee", "tr", "sed")
        and before.before is None
        and len(before.words) < 5
    )
    return fed and not command.reads and not command.here and interpreters.runs_stdin(command)


def _runs_parameter(command: shell.Command, taken: set[str]) -> bool:
    """Whether a command of a function's body runs one of its parameters: as code, as a script, or as a program."""
    at = interpreters.position(command)
    script = interpreters.script(command)
    words = interpreters.code_words(command) if at >= 0 else []
    for word in (*words, *([script] if script is not None else ())):
        if _PARAMETER.search(word.text) is not None or not taken.isdisjoint(_NAME.findall(word.text)):
            return True
    return False


def called(step: FlowStep, functions: Mapping[str, Function]) -> Function | None:
    """The function that a command calls, unless it stands in that function itself."""
    function = functions.get(step.command.words[step.first].text) if step.first >= 0 else None
    return None if function is None or function.first <= step.line.first < function.last else function


def run_by_call(step: FlowStep, function: Function, incoming: Origin | None) -> Iterator[Origin]:
    """Yield what a call of a function runs of what it reads (``incoming``) and of what it is given."""
    if function.runs_input and incoming is not None:
        yield incoming
    for word in step.command.words[step.first + 1 :] if function.runs_parameters else ():
        given = step.printed_in(word) or step.kept.value_in(word.text) or step.kept.saved(word.text)
        if given is not None:
            yield given._replace(weak=True)


def run_by_callback(step: FlowStep, functions: Mapping[str, Function]) -> bool:
    """Whether a command gives each line of its input to a function that runs its parameters: ``mapfile -C name``."""
    texts = step.command.texts()
    if shell.program(texts[0]) not in _READERS or "-C" not in texts[:-1]:
        return False
    function = functions.get(texts[texts.index("-C") + 1])
    return function is not None and function.runs_parameters


def save_by_call(step: FlowStep, function: Function) -> None:
    """Keep the files that a call has a function write."""
    for parameter in function.saves:
        if step.first + parameter < len(step.command.words):
            origin = Origin(shown(step.text), *step.place(step.command.words[step.first].text))
            step.kept.save(step.command.words[step.first + parameter].text, origin)


def printed_by_call(step: FlowStep, function: Function) -> Origin | None:
    """What a call of a function prints that the function brings in."""
    if function.prints is None:
        return None
    number, column = step.place(step.command.words[step.first].text)
    text = f"{shown(step.text)} {{ {function.prints.text} }}"
    return function.prints._replace(text=text, line=number, column=column, saves=())
