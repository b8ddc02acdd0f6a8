"""Loops and blocks: what their commands print together, and what a loop's variables stand for."""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts import interpreters
from rye.text.facts.flow.kept import BODY
from rye.text.facts.flow.step import FlowStep
from rye.text.facts.source import Origin
from rye.text.facts.tables import word_set

CLOSES: Final = frozenset(("}", "done", "fi"))
LOOPS: Final = word_set("for while until")
_OPENS = re.compile(r"[{(][ \t]*$|\b(?:do|then)[ \t]*$|^[ \t]*(?:for|while|until|if|case)\b")
_AFTER_SUBSHELL = re.compile(r"[ \t]*\)[ \t]*\|&?[ \t]*")
_LOOP_VARIABLE = re.compile(r"%{1,2}~?[A-Za-z]{1,6}")
_CALLERS: Final = word_set("call start")


def printed_by_block(step: FlowStep) -> Origin | None:
    """What the commands of a block or a subshell print that ends in front of this command, or with it."""
    if step.command.words[0].text in CLOSES:
        return _closed(step) or _printed_above(step)
    if (
        step.command.before is None
        and _AFTER_SUBSHELL.fullmatch(step.line.text, 0, step.command.words[0].start) is not None
    ):
        return _printed_above(step)
    return None


def _closed(step: FlowStep) -> Origin | None:
    """The foreign output of the commands before a closing brace, ``done`` or ``fi``, which is the output of the whole."""
    origin = None
    for other in step.group.commands[-BODY:]:
        if other is step.command:
            break
        origin = step.outputs.get(id(other)) or origin
    return origin


def _printed_above(step: FlowStep) -> Origin | None:
    """What the commands of a block print whose end is in this line, up to the line with the same indent that opens it."""
    lines, first = step.source.lines, step.line.first
    indent = len(step.raw) - len(step.raw.lstrip())
    for number in range(first - 1, max(-1, first - BODY), -1):
        above = lines[number]
        if above.strip() and len(above) - len(above.lstrip()) <= indent and _OPENS.search(above) is not None:
            return next((origin for at, origin in step.kept.blocks if number <= at < first), None)
    return None


def is_loop(step: FlowStep) -> bool:
    """Whether a command begins a loop, of a shell or of cmd."""
    words = step.command.words
    return words[0].text in LOOPS or (words[0].text.lstrip("@").lower() == "for" and len(words) > 3)


def keep_variable(step: FlowStep) -> None:
    """Keep what a loop's variable stands for: a file of an unpacked folder, or what ``read`` gets."""
    kept, words = step.kept, step.command.texts()
    if "read" in words:
        kept.loop_variables = [*kept.loop_variables[-BODY:], words[-1]]
    if len(words) > 3 and words[2] == "in":
        for text in words[3:]:
            origin = kept.saved(text) or kept.in_folder(text)
            if origin is None and text.endswith(("/*", "/*.sh", "/*.py")):
                origin = kept.filled_folders.get(text.rpartition("/")[0])
            if origin is not None:
                kept.add_file(f"${words[1]}", origin)


def keep_lines(step: FlowStep) -> Origin | None:
    """cmd: keep what ``for /f %i in ('command') do …`` goes through. Return it if the same command runs each line (``do %i``)."""
    words = step.command.texts()
    variable = next((text for text in words if text.startswith("%")), "")
    if not variable or "do" not in words:
        return None
    origin = next((found for word in step.command.words if (found := step.printed_in(word)) is not None), None)
    if origin is not None:
        step.kept.looped = (origin, step.line.first)
    after = words[words.index("do") + 1 :]
    runs = after and (after[0].lstrip("@") == variable or (interpreters.is_interpreter(after[0]) and variable in after))
    return origin if runs else None


def run_in_loop(step: FlowStep) -> Origin | None:
    """cmd: what a loop goes through, if this command runs the loop's variable as a program, or hands it to one that runs it."""
    looped = step.kept.looped
    if looped is None or not 0 <= step.line.first - looped[1] <= BODY:
        return None
    words = step.command.texts()
    words = [word.lstrip("@") for word in words[words.index("do") + 1 if "do" in words else 0 :]]
    runs = bool(words) and (interpreters.is_interpreter(words[0]) or words[0].lower() in _CALLERS)
    given = next((word for word in words[runs:] if not word.startswith(("/", "-", "$()"))), "")
    return looped[0] if _LOOP_VARIABLE.fullmatch(given) is not None else None
