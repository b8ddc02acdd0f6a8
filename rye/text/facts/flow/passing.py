"""What a command reads, what it brings in itself, and what it passes on to the next one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Final

from rye.limits import FACTS
from rye.text.facts import shell
from rye.text.facts.flow.blocks import LOOPS, printed_by_block
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.source import Origin, Sources
from rye.text.facts.tables import word_set

_PRINTS_WORDS: Final = word_set("echo printf")
#: Programs that print their words, or the files that these name.
_PRINTS: Final = _PRINTS_WORDS | word_set("cat print write-output type tee get-content gc tac less head tail")
_CONFIGURED_OUTPUT = re.compile(r"^[ \t]*-{0,2}o(?:utput)?[ \t]*[=: ][ \t]*[\"']?([^\s\"']{1,200})", re.MULTILINE)


def redirected(step: FlowStep) -> Origin | None:
    """What a redirection without a command puts out: ``$(< file)``."""
    return next((origin for word in step.command.reads if (origin := step.kept.saved(word.text)) is not None), None)


def incoming(step: FlowStep, find_source: Sources) -> Origin | None:
    """The foreign content that a command reads: through a pipe, of the block that it ends, or of a file."""
    command, group, outputs = step.command, step.group, step.outputs
    origin = outputs.get(id(command.before)) if command.before is not None else None
    if command is group.commands[0] and _reads_owners_input(group):
        assert group.owner is not None
        before = group.owner.before
        origin = outputs.get(id(before)) if before is not None else origin
        if origin is None and group.opened == ">(":
            origin = find_source(group.owner, "")  # its own output or file: ``curl … > >(sh)``
    origin = origin or printed_by_block(step)
    for word in command.reads:
        origin = origin or step.printed_in(word) or step.kept.saved(word.text)
    return origin


def _reads_owners_input(group: shell.Group) -> bool:
    """Whether a group's first command reads the pipe of the command that contains the group: ``| (sh)``, ``>(sh)``."""
    if group.owner is None or group.opened not in (">(", "("):
        return False
    first = group.owner.words[0] if group.owner.words else None
    return group.opened == ">(" or (first is not None and first.text == "$()" and group in first.children)


def brought_in(step: FlowStep, find_source: Sources) -> Origin | None:
    """What a command brings in itself, with its place, and with the files that it saves."""
    origin = find_source(step.command, step.line.text)
    if origin is None:
        return None
    number, column = step.place(origin.text.split(" ", 1)[0])
    saves = origin.saves
    if "-K" in origin.text or "--config" in origin.text:
        saves += tuple(_configured(step))
    return origin._replace(line=number, column=column, saves=saves)


def _configured(step: FlowStep) -> Iterator[str]:
    """Where curl saves what it fetches, if a file of the item says it (``curl --config FILE``)."""
    for option, after in pairwise([*step.command.texts(), ""]):
        if option in ("-K", "--config"):
            named = after
        else:
            named = option.removeprefix("--config=").removeprefix("-K")
            if named == option:
                continue
        text = step.source.files.get(named.removeprefix("./"))
        if text is not None:
            yield from (match[1] for match in islice(_CONFIGURED_OUTPUT.finditer(text), FACTS.saved_files))


def handed_on(step: FlowStep) -> Origin | None:
    """The foreign content that a command prints: ``echo "$x"``, ``cat saved``, the words of a here-string."""
    kept, words, first = step.kept, step.command.words, step.first
    if first >= 0 and words[first].children and len(words) > first + 1 and words[first + 1].text.startswith(("-", ".")):
        return step.printed_in(words[first])  # PowerShell: an expression, ``(irm …) -join ''``
    if words[0].text in LOOPS and len(words) > 3:
        return _first_printed(step, words[3:])
    if step.program in _PRINTS or first < 0 or step.command.here:
        for word in words:
            origin = step.printed_in(word) or kept.value_in(word.text)
            if origin is None and step.program not in _PRINTS_WORDS:
                origin = kept.saved(word.text)
            if origin is not None:
                return origin
    elif words[first].children and len(words) == 1:
        return step.printed_in(words[first])
    elif len(words) == 1 and words[first].text.startswith("$"):
        return kept.value_in(words[first].text)
    elif len(words) > 2 and words[1].text == "in" and words[0].text.startswith("$"):
        return kept.value_in(words[2].text)
    elif len(words) > 2 and words[1].text == "=":
        return _first_printed(step, words[2:])
    return None


def _first_printed(step: FlowStep, words: list[shell.Word]) -> Origin | None:
    return next((origin for word in words if (origin := step.printed_in(word)) is not None), None)
