"""What the names of a file stand for: literal values of variables, aliases, and functions of one command."""

from __future__ import annotations

import re
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
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w{0,60})\}|([A-Za-z_]\w{0,60}))")
_ARGUMENTS = re.compile(r"[\"']?\$(?:[@*1]|\{[@*1]\})[\"']?")


class Names(NamedTuple):
    """What a file gives to names, by literal text alone; nothing is evaluated."""

    values: dict[str, str]
    """Variables: ``U=https://…``, ``const u = "…"``."""
    commands: dict[str, str]
    """Aliases and functions of one command, as the words that stand for them."""

    def filled_in(self, text: str) -> str:
        """``text`` with known variables and commands in place of their names; it grows by a capped number of characters."""
        if self.values and "$" in text:
            text = self._with_values(text)
        return self._with_commands(text) if self.commands else text

    def _with_values(self, text: str) -> str:
        room = FACTS.filled_in_characters

        def value(match: re.Match[str]) -> str:
            nonlocal room
            known = self.values.get(match[1] or match[2])
            if known is None or len(known) > room:
                return match[0]
            room -= len(known)
            return known

        return _VARIABLE.sub(value, text)

    def _with_commands(self, text: str) -> str:
        room = FACTS.filled_in_characters

        def command(match: re.Match[str]) -> str:
            nonlocal room
            known = self.commands.get(match[2])
            if known is None or len(known) > room:
                return match[0]
            room -= len(known)
            return match[1] + known

        return _HEADS.sub(command, text)


_HEADS: Final = re.compile(r"((?:^|[;|&({`\x1f])[ \t]*)([A-Za-z_][\w-]{0,40})(?=[ \t])")


def values_in(text: str) -> dict[str, str]:
    """Variables with a literal value; the last one given to a name counts."""
    return {match[1]: match[2] or match[3] or match[4] for match in _ASSIGNED.finditer(text)} if "=" in text else {}


def used_values_in(text: str) -> dict[str, str]:
    """``values_in``, or nothing at all where no variable that the text uses (``$x``) is given a value in it."""
    if "$" not in text or "=" not in text:
        return {}
    used = {match[1] or match[2] for match in _VARIABLE.finditer(text)}
    return values_in(text) if any(f"{name}=" in text or f"{name} =" in text for name in used) else {}


def commands_in(text: str) -> dict[str, str]:
    """Aliases, and functions of one command, with the words that they stand for."""
    found = {}
    if "alias" in text or "Alias" in text:
        found = {match[1]: match[2] or match[3] or match[4] for match in _ALIAS.finditer(text)}
    for mark in ("() {", "(){"):
        at = text.find(mark)
        while at >= 0:
            match = _FUNCTION.match(text, text.rfind("\n", 0, at) + 1)
            if match is not None:
                found[match[1]] = _ARGUMENTS.sub("", match[2]).strip()
            at = text.find(mark, text.find("\n", at) + 1 or len(text))
    return found
