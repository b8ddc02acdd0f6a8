"""What a command runs of what is foreign: its input, words that are code, a script, a file that it loads or starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.flow import loading, quoted
from rye.text.facts.flow.blocks import run_in_loop
from rye.text.facts.flow.meant import files_of_folder, saved_file, unpacked_file
from rye.text.facts.flow.starting import starts
from rye.text.facts.flow.step import FlowStep, Outputs, child_origin
from rye.text.facts.source import Origin
from rye.text.facts.tables import triggers, word_set

_RUNS_ITS_WORD: Final = word_set("iex invoke-expression")
_EXPRESSION_WORDS: Final = triggers("iex expression")
_EVALUATOR = re.compile(r"(?:^|\W)(?:exec\w{0,4}|eval|compile|Function|loadstring|\w{3,9}_eval|iex)(?:\$\(\))?$")
_OWN_INPUT: Final = ("/dev/fd/", "/proc/self/fd/")
_SCRIPTS_OF_GROUPS: Final = ("<(", "$(", "`", "(")


def run_by(step: FlowStep, incoming: Origin | None) -> Iterator[Origin]:
    """Yield what a command runs of what is foreign; weak where it may well run something else. ``incoming`` is what it reads."""
    return (origin for origin in _run_by(step, incoming) if origin is not None)


def _run_by(step: FlowStep, incoming: Origin | None) -> Iterator[Origin | None]:
    for index, value in loading.variables(step.command):
        yield from _loaded_by_variable(step, index, value)
    yield run_in_loop(step)
    if step.first >= 0 and step.kept.files:
        for text in loading.by_option(step.command, step.first, code=step.line.code):
            yield saved_file(step, text)
    at = interpreters.position(step.command)
    if at >= 0:
        yield from _interpreted(step, at, incoming)
        return
    yield from _expressions(step)
    if incoming is not None and interpreters.runs_stdin(step.command):
        yield incoming
    yield from starts(step)


def _loaded_by_variable(step: FlowStep, index: int, value: str) -> Iterator[Origin | None]:
    """A word that sets a variable which a program runs or loads: its value, and the files in it."""
    yield step.printed_in(step.command.words[index]) or step.kept.value_in(value)
    for text in loading.files_in_value(step.command, index, value) if step.kept.files else ():
        yield saved_file(step, text)


def _expressions(step: FlowStep) -> Iterator[Origin | None]:
    """PowerShell's command that runs the text it is given, wherever it stands."""
    if not step.line.code or _EXPRESSION_WORDS.isdisjoint(step.source.words):
        return  # in a string: ``c = "powershell -c iex(irm …)"``
    words = step.command.words
    for word, following in pairwise((*words[1:], *words[-1:])):
        if shell.program(word.text) in _RUNS_ITS_WORD:
            yield step.printed_in(word) or step.printed_in(following)


def _interpreted(step: FlowStep, at: int, incoming: Origin | None) -> Iterator[Origin | None]:
    """What a shell, a language, ``eval`` or ``source`` runs, whose word has index ``at``: its input, code, or a file."""
    command, kept = step.command, step.kept
    if quoted.is_sentence(step.line, command, at):
        return
    if incoming is not None and interpreters.runs_stdin(command):
        yield incoming
    words = interpreters.code_words(command)
    script = interpreters.script(command)
    if any(word.text.startswith("{}") for word in command.words[at:]):
        yield files_of_folder(step)
    if script is not None and incoming is not None and script.text.startswith(_OWN_INPUT):
        yield incoming
    if script is not None and interpreters.is_interpreter(command.words[at].text):
        children = [child for child in script.children if child.opened in _SCRIPTS_OF_GROUPS]
        if children and (quoted.substitutes(step.source, step.line) or children[0].opened != "`"):
            words = [*words, script]
        yield saved_file(step, script.text)
        folder, _, name = script.text.rpartition("/")
        if "*" in name:
            yield kept.filled_folders.get(folder)
    elif interpreters.is_expression(command.words[at].text):
        yield from _files_of_expression(step, at)
    is_language = shell.program(command.words[at].text) in interpreters.LANGUAGES
    for word in command.words[at + 1 :] if command.here else words:
        if not command.here and quoted.is_behind_code(step.source, step.line, word):
            break
        printed = _evaluated(word, step.outputs) if is_language else step.printed_in(word)
        yield printed or kept.value_in(word.text)
    if script is not None:
        yield unpacked_file(step, script.text)


def _files_of_expression(step: FlowStep, at: int) -> Iterator[Origin | None]:
    """The files that ``source``, ``.`` or ``eval`` is given."""
    name = shell.program(step.command.words[at].text)
    only = name == "source"  # its other words are arguments, or a sentence
    for before, word in pairwise(step.command.words[at : at + 2 if only else None]):
        if name != "eval" or before is step.command.words[at] or interpreters.is_interpreter(before.text):
            yield saved_file(step, word.text)


def _evaluated(word: shell.Word, outputs: Outputs) -> Origin | None:
    """The foreign output that code of a language evaluates: a shell's substitutions, and the arguments of ``exec`` or ``eval``.
    Other functions get data (``json.loads(b64decode(x))``)."""
    for group in word.children:
        if group.opened != "(" or _EVALUATOR.search(word.text) is not None:
            return child_origin(word, outputs)
        for command in group.commands:
            for inner in command.words:
                origin = _evaluated(inner, outputs)
                if origin is not None:
                    return origin
    return None
