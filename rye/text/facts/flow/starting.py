"""Which foreign file a command starts: by its path, through a variable, by ``start`` or ``open``, as a package, by PowerShell's
``&``; and what a substitution in the place of a program puts out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.file_names import PROGRAM_SUFFIXES, file_name, is_data
from rye.text.facts.flow import loading, quoted
from rye.text.facts.flow.meant import files_of_folder, saved_file, started_file, unpacked_file
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.source import Origin
from rye.text.facts.tables import word_set

_OPENERS: Final = word_set("open start start-process xdg-open invoke-item ii")
_FINDERS: Final = word_set("find fd")
_POWERSHELL: Final = word_set("ps1 psm1 powershell pwsh")
_WINDOWS: Final = _POWERSHELL | word_set("bat cmd batch")
_COMPARES: Final = word_set("!= == = =~ -eq -ne -lt -gt -le -ge < >")


def starts(step: FlowStep) -> Iterator[Origin | None]:
    """Yield what the program is that a command starts, where it is foreign."""
    if step.first < 0:
        return
    source, line, command = step.source, step.line, step.command
    word = command.words[step.first]
    in_text = interpreters.stands_in_text(step.group)
    if in_text and source.language(line.first) not in _WINDOWS:
        return
    if line.text.endswith("((", 0, command.start) and word.text.startswith("$"):
        return  # arithmetic: its value is a number
    if quoted.is_given(source, line, command, word):
        return
    opened = word.children[0].opened if word.children else ""
    ticks = opened == "`"
    if word.text != "$()" or not (opened == "$(" or (ticks and quoted.substitutes(source, line))):
        if not quoted.starts_nothing(source, line, command, step.first):
            yield from _started(step, word, in_text=in_text)
    elif (
        line.code
        and not quoted.is_printed(source, line.first, word.text)
        and not (ticks and quoted.is_quoted(source, line.first))
    ):
        yield step.printed_in(word)


def _started(step: FlowStep, word: shell.Word, *, in_text: bool) -> Iterator[Origin | None]:
    source, line, command, name = step.source, step.line, step.command, step.program
    if name == "run-parts":
        yield files_of_folder(step)
    elif name in _FINDERS:
        if any(option.startswith("-exec") and target.startswith("{}") for option, target in pairwise(command.texts())):
            yield files_of_folder(step)
    elif any(_opens(step, other.text) for other in command.words[: step.first + 1]):
        yield from _opened(step)
    elif quoted.is_named_only(line, command) or quoted.is_title(command, step.first):
        return
    elif _is_variable(step, word, in_text=in_text):
        if not quoted.is_printed(source, line.first, word.text):
            yield from _by_variable(step, word)
    elif "/" in word.text or word.text.lower().endswith(PROGRAM_SUFFIXES) or name in step.kept.executable:
        yield from _by_path(step, word)
    elif name in loading.INSTALLERS:
        yield from _installed(step)
    elif name == "cmd" or word.text == "&":
        yield started_file(step, command.words[-1].text)


def _is_variable(step: FlowStep, word: shell.Word, *, in_text: bool) -> bool:
    """Whether a program is named by a variable, which PowerShell only prints."""
    return (
        word.text.startswith("$")
        and step.line.code
        and not in_text
        and step.source.language(step.line.first) not in _POWERSHELL
    )


def _by_variable(step: FlowStep, word: shell.Word) -> Iterator[Origin | None]:
    """A variable in the place of a program: the file that it names, or its value, which may also be the name of a program."""
    following = step.command.words[step.first + 1 : step.first + 2]
    if not (following and following[0].text in _COMPARES):
        value = step.kept.value_in(word.text)
        yield value._replace(weak=True) if value is not None else None
    yield from _by_path(step, word)


def _by_path(step: FlowStep, word: shell.Word) -> Iterator[Origin | None]:
    yield started_file(step, word.text)
    yield unpacked_file(step, word.text)
    if step.program in loading.INSTALLERS:
        yield from _installed(step)


def _installed(step: FlowStep) -> Iterator[Origin | None]:
    for text in loading.installed(step.command, step.first):
        yield saved_file(step, text)


def _opens(step: FlowStep, text: str) -> bool:
    """Whether a word is a program that starts the next one. With a capital letter it is the first word of a sentence."""
    if shell.program(text) not in _OPENERS:
        return False
    return text[:1].islower() or "-" in text or step.source.language(step.line.first) in _WINDOWS


def _opened(step: FlowStep) -> Iterator[Origin | None]:
    """What a program like ``start`` or ``open`` is given, but pages."""
    for word in step.command.words[step.first :]:
        if quoted.is_address(word.text):
            continue
        yield started_file(step, word.text)
        if "/" in word.text and not is_data(file_name(word.text)):
            yield step.kept.in_folder(word.text)
