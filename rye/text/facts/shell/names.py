"""What a file's names mean: literal values of variables, aliases, and functions of one command."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from rye.limits import FACTS

_ASSIGNED = re.compile(
    r"(?:^|;|&&)[ \t$>]*(?:export |set |let |const |local |readonly |var )?\$?([A-Za-z_]\w{0,60})[ \t]?=[ \t]?"
    r"(?:\"([^\"`$;|&<>\\\n]{1,400})\"|'([^'`$;|&<>\\\n]{1,400})'|([^\s\"'`$();|&<>]{1,2000}))(?=[ \t]*(?:$|[;&]))",
    re.MULTILINE,
)
_ALIAS = re.compile(
    r"\b(?:alias|set-alias)[ \t]+(?:-\w{1,12}[ \t]+){0,3}([\w-]{1,40})(?:[ \t]*=[ \t]*|[ \t]+(?:-value[ \t]+)?)"
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([\w./-]{1,100}))",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"[ \t]{0,40}(?:function[ \t]+)?([A-Za-z_][\w-]{0,40})[ \t]*\(\)[ \t]*\{\s{0,20}([^{}\n;|&]{1,400});?\n?[ \t]{0,20}\}"
)
_VARIABLE = re.compile(r"(?P<before>)\$(?:\{(?P<a>[A-Za-z_]\w{0,60})\}|(?P<b>[A-Za-z_]\w{0,60}))")
_HEAD_CHARACTERS: Final = 120
"""How many characters before its parentheses a function's name can start."""
_FEW: Final = 16
"""Up to this many variables are searched for individually before all assignments of the text are read."""
_ARGUMENTS = re.compile(r"[\"']?\$(?:[@*1]|\{[@*1]\})[\"']?")


class Names(NamedTuple):
    """What a file assigns to names, as literal text only; nothing is evaluated."""

    values: dict[str, str]
    """Variables: ``U=https://…``, ``const u = "…"``."""
    commands: dict[str, str]
    """Aliases and functions of one command, each with the words that it expands to."""

    def filled_in(self, text: str, room: int) -> str:
        """Return ``text`` with known variables and commands expanded.

        Short values are always expanded, up to the limit for a line; long ones only while they fit into ``room``.
        """
        if self.values and "$" in text:
            text = _filled(text, _VARIABLE, self.values, room)
        return _filled(text, _HEADS, self.commands, room) if self.commands else text


def _filled(text: str, pattern: re.Pattern[str], meanings: dict[str, str], room: int) -> str:
    left = FACTS.filled_in_characters

    def meaning(match: re.Match[str]) -> str:
        nonlocal left, room
        known = meanings.get(match["a"] or match["b"])
        size = len(known) if known is not None else 0
        if known is None or size > left or (size > FACTS.short_value_characters and size > room):
            return match[0]
        left -= size
        room -= size if size > FACTS.short_value_characters else 0
        return (match["before"] or "") + known

    return pattern.sub(meaning, text)


_HEADS: Final = re.compile(r"(?P<before>(?:^|[;|&({`\x1f])[ \t]{0,40})(?P<a>(?P<b>[A-Za-z_])[\w-]{0,40})(?=[ \t])")


def values_in(text: str) -> dict[str, str]:
    """Return the variables with a literal value; the last assignment counts."""
    return {match[1]: match[2] or match[3] or match[4] for match in _ASSIGNED.finditer(text)} if "=" in text else {}


def used_values_in(text: str) -> dict[str, str]:
    """Like ``values_in``, but empty if the text assigns none of the variables that it uses (``$x``)."""
    if "$" not in text or "=" not in text:
        return {}
    used = {match["a"] or match["b"] for match in _VARIABLE.finditer(text)}
    if len(used) <= _FEW and not any(f"{name}=" in text or f"{name} =" in text for name in used):
        return {}
    return values_in(text)


def commands_in(text: str) -> dict[str, str]:
    """Return aliases, and functions of one command, with the words they expand to; at most ``FACTS.named_commands``."""
    commands: dict[str, str] = {}
    if "lias" in text:
        for match in islice(_ALIAS.finditer(text), FACTS.named_commands):
            commands[match[1]] = match[2] or match[3] or match[4]
    for mark in ("() {", "(){") if "()" in text else ():
        at = text.find(mark)
        while at >= 0 and len(commands) < FACTS.named_commands:
            function = _FUNCTION.match(text, max(text.rfind("\n", 0, at), at - _HEAD_CHARACTERS) + 1)
            if function is not None:
                commands[function[1]] = _ARGUMENTS.sub("", function[2]).strip()
            at = text.find(mark, text.find("\n", at) + 1 or len(text))
    return commands
