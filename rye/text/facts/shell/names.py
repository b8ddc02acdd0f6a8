"""What a file's names mean: literal values of variables, aliases, and functions of one command."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from itertools import islice
from typing import Final, NamedTuple

from rye.limits import FACTS

_ASSIGNED = re.compile(
    r"(?:^|;|&&|[ \t]then|[ \t]do)[ \t$>@]*(?:(?:export|set|let|const|local|readonly|var|declare|"
    r"typeset)[ \t]+(?:-\w{1,3}[ \t]+)?)?"
    r"[\"$]?([A-Za-z_]\w{0,60})[ \t]?(?:(?P<more>\+)?=|<-|:=|\?=)[ \t]?"
    r"(?:\$\{\w{1,40}:?[-=][\"']?(?P<default>[^\"'{}\n$`]{1,200})[\"']?\}|\((?P<list>[^()`;|&<>\\]{0,400})\)|\"([^\"`;|&<>\\\n]{1,400})\"|'([^'`$;|&<>\\\n]{1,400})'|([^\s\"'`();|&<>]{1,2000}))"
    r"(?=[ \t\"]*(?:$|[;&#]))",
    re.MULTILINE,
)
#: One element of an array or a table: ``tool[get]=curl``.
_ELEMENT = re.compile(
    r"^[ \t]*([A-Za-z_]\w{0,60})\[[\"']?([\w.-]{1,40})[\"']?\]=(?:\"([^\"`;|&<>\\\n]{1,400})\"|'([^'`$;|&<>\\\n]{1,400})'|"
    r"([^\s\"'`();|&<>]{1,400}))",
    re.MULTILINE,
)
#: A default that is assigned where the variable is used: ``: "${GET:=curl -fsS}"``.
_DEFAULT = re.compile(r"\$\{([A-Za-z_]\w{0,60}):?=([^{}\n`]{1,200})\}")
#: Words that are read from a constant: ``read -r get run <<< "curl sh"``, ``IFS=, read …``.
_READ = re.compile(
    r"(?:\bIFS=\$?[\"']?(?P<by>[^\s\"'])[\"']?[ \t]+)?\bread[ \t]+(?:-[rsa]{1,3}[ \t]+){0,3}"
    r"(?P<names>(?:[A-Za-z_]\w{0,40}[ \t]+){1,12})<<<[ \t]*[\"']?(?P<words>[^\"'\n$`]{1,300})[\"']?"
)
#: fish and csh: ``set -l fetch curl``.
_SET = re.compile(
    r"^[ \t]*set[ \t]+(?:-\w{1,3}[ \t]+){0,3}([A-Za-z_]\w{0,60})[ \t]+(?![=(])([^\s=\"'`$;|&<>()][^\n\"'`$;|&<>()]{0,200})$",
    re.MULTILINE,
)
#: cmd: ``set "name=several words"``.
_QUOTED_SET = re.compile(r"\bset[ \t]+\"([A-Za-z_]\w{0,60})=([^\"\n%]{1,400})\"", re.IGNORECASE)
#: A variable that the format around the commands sets: ``env:`` of a workflow, a list in a compose file.
_MAPPED = re.compile(
    r"^[ \t]*(?:(?:-[ \t]+)?[\"']?([A-Za-z_]\w{0,60})[\"']?[ \t]?:[ \t]+|-[ \t]+[\"']?([A-Za-z_]\w{0,60})=)"
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([^\s\"'#\[{|>&*!][^\n#,\"']{0,400}?))[\"' \t]*,?[ \t]*(?:#[^\n]{0,200})?$",
    re.MULTILINE,
)
#: The same in braces: ``env: {GET: curl, RUN: sh}``.
_MAPPED_IN_LINE = re.compile(
    r"[{,][ \t]{0,8}[\"']?([A-Za-z_]\w{0,60})[\"']?[ \t]?:[ \t]{0,8}"
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([^\s,{}\"'][^,{}\n\"']{0,200}))(?=[ \t]{0,8}[,}])"
)
#: The same in one instruction with several: Dockerfiles and units of systemd.
_INSTRUCTION = re.compile(r"^[ \t]*(?:(?:ENV|ARG)[ \t]+|Environment=)((?:[^\n\\]|\\[^\n]|\\\n){1,2000})", re.MULTILINE)
_PAIR = re.compile(r"(?<![^\s\"'])([A-Za-z_]\w{0,60})=(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([^\s\"'\\]{1,400}))")
_ENV_WORDS = re.compile(r"([A-Za-z_]\w{0,60})[ \t]+([^=\n]{1,400})$")
_ALIAS = re.compile(
    r"\b(?:alias|set-alias|new-alias|sal|nal)[ \t]+(?:-\w{1,12}[ \t]+){0,3}([\w-]{1,40})(?:[ \t]*=[ \t]*|[ \t]+(?:-value[ \t]+)?)"
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|([\w./-]{1,100}))",
    re.IGNORECASE,
)
_FUNCTION = re.compile(
    r"[ \t]{0,40}(?:function[ \t]+)?([A-Za-z_][\w-]{0,40})[ \t]*\(\)[ \t]*\{\s{0,20}((?:[^{}\n;|&]|"
    r"\$\{\w{1,40}\}){1,400});?\n?[ \t]{0,20}\}"
)
#: ``printf -v name '%s %s' curl -s``
_PRINTED = re.compile(r"\bprintf[ \t]+-v[ \t]+([A-Za-z_]\w{0,60})[ \t]+[\"']([^\"'\n]{1,200})[\"']([^\n;|&]{0,300})")
#: A variable as shells use it: ``$x``, ``${x}``, ``${x[@]}``, ``${x//a/b}``, ``${x:2:3}``; in cmd ``%x%``, ``!x!``.
_VARIABLE = re.compile(
    r"(?P<sign>[$%!])(?:(?<=\$)(?:\{(?P<how>[!#])?(?P<a>[A-Za-z_]\w{0,60})(?P<expansion>[^{}\n\x1f]{0,80})\}|(?P<b>[A-Za-z_]\w{0,60}))"
    r"|(?<!\$)(?P<c>[A-Za-z_]\w{0,40})(?P<cut>:[^%!\n]{1,40})?(?P=sign))"
)
_SLICE = re.compile(r":\s?(-?\d{1,4})(?::(-?\d{1,4}))?|:~(-?\d{1,4})(?:,(-?\d{1,4}))?")
_INDEX = re.compile(r"\[(?:([@*])|[\"']?([\w.-]{1,40})[\"']?)\]")
_KEYED = re.compile(r"\[([\w.-]{1,40})\]=")
_HEAD_CHARACTERS: Final = 120
"""How many characters before its parentheses a function's name can start."""
_FEW: Final = 16
"""Up to this many variables are searched for individually before all assignments of the text are read."""
_ARGUMENTS = re.compile(r"[\"']?\$(?:([@*1-9])|\{([@*1-9])\})[\"']?")
_PARAMETERS = re.compile(r"[^\s;|&<>()`]{1,400}")
_NESTED: Final = 3
"""How often values are filled into values."""


#: A dollar that a format around the commands takes away: ``$$GET`` in a compose file or a makefile.
_DOUBLED = re.compile(r"\$\$(?=[A-Za-z_{])")


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
        if self.values and ("$" in text or "%" in text or "!" in text):
            if "$$" in text:
                text = _DOUBLED.sub("$", text)
            text = _filled(text, self.values, room)
        return _called(text, self.commands) if self.commands else text


def _filled(text: str, values: dict[str, str], room: int) -> str:
    left = FACTS.filled_in_characters

    def meaning(match: re.Match[str]) -> str:
        nonlocal left, room
        known = _expanded(match, values)
        size = len(known) if known is not None else 0
        if known is None or size > left or (size > FACTS.short_value_characters and size > room):
            return match[0]
        left -= size
        room -= size if size > FACTS.short_value_characters else 0
        return known

    return _VARIABLE.sub(meaning, text)


def _expanded(match: re.Match[str], values: dict[str, str]) -> str | None:
    """What a variable's expansion means, if its value is known: the value, an element, a part, or with something replaced."""
    known = values.get(match["a"] or match["b"] or match["c"])
    how = match["expansion"] or match["cut"] or ""
    if match["how"] == "!" and known is not None:
        return values.get(known)
    if known is None:
        plain_default = how.startswith((":-", ":=")) and ("$" not in how or how[2:].lstrip("\"'").startswith("$HOME/"))
        return how.lstrip(":-=\"'").rstrip("\"'") if plain_default else None
    if match["how"] == "#":
        return None
    return _altered(known, how) if how else known


def _altered(value: str, how: str) -> str | None:
    index = _INDEX.fullmatch(how)
    if index is not None:
        if index[1]:
            return _KEYED.sub("", value)
        parts = _KEYED.split(value) if "]=" in value else []
        if index[2] in parts[1::2]:
            return parts[parts.index(index[2], 1) + 1].strip()
        words = value.split()
        return words[int(index[2])] if index[2].isdigit() and int(index[2]) < len(words) else ""
    cut = _SLICE.fullmatch(how)
    if cut is not None:
        begin, size = int(cut[1] or cut[3]), cut[2] or cut[4]
        rest = value[begin:]
        return rest if size is None else rest[: int(size)]
    if how.startswith("/"):
        old, _, new = how.lstrip("/").partition("/")
        new = new.strip("\"'")
        return value.replace(old, new) if how.startswith("//") else value.replace(old, new, 1)
    if how.startswith(":") and "=" in how:
        old, _, new = how[1:].partition("=")
        return value.replace(old, new)
    if how.startswith(("#", "%")):
        return _cut(value, how)
    if how in ("^^", ",,", "^", ",", "@Q", "@L", "@U"):
        return value.lower()
    return value if how.startswith((":-", ":=", ":?", ":+", "-", "=", "?")) else None


@lru_cache(maxsize=1024)
def _cut(value: str, how: str) -> str:
    """What ``#``, ``##``, ``%`` or ``%%`` with a pattern leaves of a value."""
    part = how.lstrip("#%").strip("\"'")
    if len(value) > _CUT_CHARACTERS or not any(mark in part for mark in "*?["):
        return value.removeprefix(part) if how.startswith("#") else value.removesuffix(part)
    sizes = range(len(value) + 1)
    longest = how.startswith(("##", "%%"))
    for size in reversed(sizes) if longest else sizes:
        if how.startswith("#") and fnmatchcase(value[:size], part):
            return value[size:]
        if how.startswith("%") and fnmatchcase(value[len(value) - size :], part):
            return value[: len(value) - size]
    return value


_CUT_CHARACTERS: Final = 200
"""Patterns are tried on values up to this length."""


def _called(text: str, commands: dict[str, str]) -> str:
    """The text with calls of known aliases and functions expanded; a function's parameters are the words that follow the call."""
    left = FACTS.filled_in_characters
    parts, done = [], 0
    for match in _HEADS.finditer(text):
        known = commands.get(match["name"])
        if known is None or len(known) > left or match.start("name") < done:
            continue
        parts.append(text[done : match.start("name")])
        done = match.end("name")
        if _ARGUMENTS.search(known) is not None:
            stop = re.compile(r"[;|&()`\x1f\x1e]|$").search(text, done)
            end = stop.start() if stop is not None else len(text)
            words = _PARAMETERS.findall(text[done : min(end, done + 2000)])
            known = _ARGUMENTS.sub(partial(_parameter, words), known)[: FACTS.filled_in_characters]
            redirected = re.compile(r"[<>]").search(text, done, end)
            done = redirected.start() if redirected is not None else end
        left -= len(known)
        parts.append(known)
    return "".join((*parts, text[done:])) if parts else text


def _parameter(words: list[str], match: re.Match[str]) -> str:
    which = match[1] or match[2]
    if which in "@*":
        return " ".join(words)
    return words[int(which) - 1] if int(which) <= len(words) else ""


_HEADS: Final = re.compile(
    r"(?:^|[;|&({`\x1f])[ \t]{0,40}(?:(?:if|then|do|while|!)[ \t])?(?P<name>[A-Za-z_][\w-]{0,40})(?=[ \t;|&)\x1f]|$)"
)


def values_in(text: str) -> dict[str, str]:
    """Return the variables with a literal value, or one that is made of such variables; the last assignment counts."""
    values: dict[str, str] = {}
    for match in _ASSIGNED.finditer(text) if "=" in text or "<-" in text else ():
        value = match["list"] if match["list"] is not None else match["default"] or match[5] or match[6] or match[7]
        if match["list"] is not None:
            value = " ".join(value.replace('"', " ").replace("'", " ").split())
        if "$" in value or "%" in value:
            if "$(" in value:
                values.pop(match[1], None)
                continue
            for _ in range(_NESTED):
                filled = _filled(value, values, FACTS.filled_in_characters)
                if filled == value or len(filled) > _LONGEST:
                    break
                value = filled
        if match["more"]:
            before = values.get(match[1], "")
            value = f"{before} {value}" if match["list"] is not None else before + value
        if len(value) <= _LONGEST:
            values[match[1]] = value
    if "]=" in text:
        for match in _ELEMENT.finditer(text):
            element = f"[{match[2]}]={match[3] or match[4] or match[5]}"
            known = values.get(match[1], "")
            if f"[{match[2]}]=" not in known:
                values[match[1]] = f"{known} {element}".strip()[:_ELEMENTS]
    if "=" in text and "${" in text:
        for match in _DEFAULT.finditer(text):
            values.setdefault(match[1], match[2].strip("\"'"))
    if "<<<" in text and "read " in text:
        for match in _READ.finditer(text):
            names = match["names"].split()
            words = match["words"].split(match["by"] or None, len(names) - 1)
            values.update(zip(names, (word.strip() for word in words), strict=False))
    if "printf -v " in text:
        for match in _PRINTED.finditer(text):
            printed = match[2]
            for word in match[3].replace('"', "").replace("'", "").split():
                printed = printed.replace("%s", word, 1)
            values.setdefault(match[1], printed.replace("%s", ""))
    if "set " in text:
        for match in _SET.finditer(text):
            values.setdefault(match[1], match[2].strip())
    if 'set "' in text or 'SET "' in text:
        for match in _QUOTED_SET.finditer(text):
            values.setdefault(match[1], match[2])
    return values


_ELEMENTS: Final = 400
"""How long the elements of an array can be that are assigned one by one."""
_LONGEST: Final = 2_000
"""How long a value can be."""


def used_values_in(text: str) -> dict[str, str]:
    """Like ``values_in``, but empty if the text assigns none of the variables that it uses (``$x``, ``%x%``)."""
    if not ("$" in text or "%" in text or "!" in text) or not (
        "=" in text or ": " in text or "set " in text or "printf -v " in text or "read " in text
    ):
        return {}
    used = {match["a"] or match["b"] or match["c"] for match in _VARIABLE.finditer(text)}
    around = _around(text, used) if ": " in text or "=" in text else {}
    if len(used) <= _FEW and not any(
        f"{name}=" in text
        or f"{name} =" in text
        or f"{name}+=" in text
        or f"{name}:=" in text
        or f"{name} :=" in text
        or f" {name} " in text
        or f"{name}[" in text
        for name in used
    ):
        return around
    return {**around, **values_in(text)}


def _around(text: str, used: set[str]) -> dict[str, str]:
    """The variables of these names that the format around the commands sets: a mapping, or an instruction."""
    values: dict[str, str] = {}
    if len(used) > _FEW or any(f"{name}: " in text or f'{name}": ' in text or f"- {name}=" in text for name in used):
        for match in _MAPPED.finditer(text):
            name, value = match[1] or match[2], match[3] or match[4] or match[5]
            if name in used and "$(" not in value:
                values.setdefault(name, value)
        for match in _MAPPED_IN_LINE.finditer(text):
            value = match[2] or match[3] or match[4]
            if match[1] in used and "$(" not in value:
                values.setdefault(match[1], value)
    if "ENV " in text or "ARG " in text or "Environment=" in text:
        for instruction in _INSTRUCTION.finditer(text):
            words = _ENV_WORDS.fullmatch(instruction[1].strip())
            if words is not None:
                values.setdefault(words[1], words[2].strip("\"'"))
            for match in _PAIR.finditer(instruction[1]):
                value = match[2] or match[3] or match[4]
                if "$(" not in value:
                    values.setdefault(match[1], value)
    return values


def commands_in(text: str) -> dict[str, str]:
    """Return aliases, and functions of one command, with the words they expand to; at most ``FACTS.named_commands``."""
    commands: dict[str, str] = {}
    if "lias" in text or ("sal " in text and _SHORT_ALIAS.search(text) is not None):
        for match in islice(_ALIAS.finditer(text), FACTS.named_commands):
            commands[match[1]] = match[2] or match[3] or match[4]
    if any(mark in text for mark in _NAMES_PROGRAM):
        for match in islice(_NAMED_PROGRAM.finditer(text), FACTS.named_commands):
            program, name = next(
                (match[f"program{way}"], match[f"name{way}"]) for way in "abcd" if match[f"name{way}"] is not None
            )
            commands.setdefault(name, program.strip())
    for mark in ("() {", "(){") if "()" in text else ():
        at = text.find(mark)
        while at >= 0 and len(commands) < FACTS.named_commands:
            function = _FUNCTION.match(text, max(text.rfind("\n", 0, at), at - _HEAD_CHARACTERS) + 1)
            if function is not None:
                commands[function[1]] = function[2].strip()
            at = text.find(mark, text.find("\n", at) + 1 or len(text))
    for mark in ("$@", "$*", "${@") if "()" in text else ():
        at = text.find(mark)
        while at >= 0 and len(commands) < FACTS.named_commands:
            if _COMMAND_BEFORE.search(text, max(0, at - _FEW), at) and _COMMAND_AFTER.match(text, at + len(mark)):
                heads = list(_HEADER.finditer(text, max(0, at - _BODY_CHARACTERS), at))
                if heads and "\n}" not in text[heads[-1].end() : at]:
                    commands.setdefault(heads[-1][1], "command")
            at = text.find(mark, text.find("\n", at) + 1 or len(text))
    return commands


_NAMES_PROGRAM: Final = ("hash -p ", "BASH_ALIASES[", "doskey ", "ln -s")
#: Other names for programs: in bash's table, in its aliases, in cmd's, as a link.
_NAMED_PROGRAM = re.compile(
    r"\bhash[ \t]+-p[ \t]+(?P<programa>[\w./-]{2,80})[ \t]+(?P<namea>[\w-]{1,40})|"
    r"\bBASH_ALIASES\[[\"']?(?P<nameb>[\w-]{1,40})[\"']?\]=[\"']?(?P<programb>[^\"'\n;]{2,100})|"
    r"\bdoskey[ \t]+(?P<namec>[\w-]{1,40})=(?P<programc>[^\n&|$]{2,100})|"
    r"\bln[ \t]+-[a-z]*s[a-z]*[ \t]+[\"']?(?:\$\([ \t]*(?:which|command[ \t]+-v|type[ \t]+-[pP])[ \t]+)?"
    r"(?P<programd>(?:/[\w/]{1,20}bin/)?[\w-]{2,20})\)?[\"']?[ \t]+"
    r"[\"']?[\w./${}~-]{0,80}?/?(?P<named>[\w-]{1,40})[\"']?(?=[ \t]*(?:$|[;&|\n]))"
)
#: A function that runs its arguments as a command: ``step() { echo "$1"; shift; "$@"; }``.
_COMMAND_BEFORE = re.compile(
    r"(?:[;&|{(\n]|\b(?:then|do|else|if|while|until|!|exec|command|sudo|nohup|time|eval|env))[ \t]{0,16}(?:eval[ \t]+)?[\"']?$"
)
_COMMAND_AFTER = re.compile(r"(?::\d)?\}?[\"']?(?=[ \t]*(?:[;&|)}>\n]|\d?>|$))")
_SHORT_ALIAS = re.compile(r"(?:^|[;\n`])[ \t]*sal[ \t]")
_HEADER = re.compile(r"(?:function[ \t]+)?\b([A-Za-z_][\w-]{0,40})[ \t]*\(\)[ \t\n]*[{(]")
_BODY_CHARACTERS: Final = 600
