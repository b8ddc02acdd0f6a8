"""Strings that a program puts together, and names that hold literal ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

from rye.text.facts.source import Source
from rye.text.facts.spelled.words import (
    INSTALL_WORDS,
    LINE,
    LONGEST,
    MOST_VALUES,
    NAME,
    STRING,
    WORDS,
    lines_of,
    lines_with,
    may_matter,
    named,
)
from rye.text.facts.tables import triggers

_JOINED = re.compile(r"[\"'`](?:[ \t]?\+[ \t]?(?:[rbuf](?=[\"']))?[\"'`]|(?<=\w[\"'])[ \t]?\.[ \t]?[\"'](?=\w))")
#: Python and C join strings that stand side by side.
_SIDE_BY_SIDE = re.compile(r"(?<=[\w .:/|-])([\"'])[ \t]{1,2}\1(?=[\w .:/|-])")
_ESCAPED = re.compile(r"\\x([2-7][0-9A-Fa-f])|\\u00([2-7][0-9A-Fa-f])|\\u\{0{0,4}([2-7][0-9A-Fa-f])\}")
_CODES = re.compile(
    r"(?:String\.fromCharCode|bytes|bytearray)\(\s*\[?((?:\s?(?:0x[0-9a-fA-F]{1,2}|\d{1,3})\s?,?){2,200})\]?\s*\)(?:\.decode\(\))?"
)
_CHARACTERS = re.compile(r"chr\(\s*(0x[0-9a-fA-F]{1,2}|\d{1,3})\s*\)(?:[ \t]?[+.][ \t]?(?=(?:chr\(|[\"'])))?")
_PYTHON_JOIN = re.compile(
    r"[\"'](?P<between>[./:_-]?)[\"']\.join\(\s*[\[(]((?:\s?[\"'][^\"'\n,]{0,40}[\"']\s?,?){1,60})[\])]\s*\)"
)
_SCRIPT_JOIN = re.compile(r"\[((?:\s?[\"'`][^\"'`\n]{0,40}[\"'`]\s?,?){1,60})\]\.join\(\s*(?:[\"'`]{2})\s*\)")
_REVERSED = re.compile(
    r"[\"']([\w.:/ -]{2,200})[\"'](?:\[::-1\]|\.split\([\"']{2}\)\.reverse\(\)\.join\([\"']{2}\)|\.reverse(?:\(\))?(?=[\s,)]))|"
    r"\[\.\.\.[\"']([\w.:/ -]{2,200})[\"']\]\.reverse\(\)\.join\([\"']{2}\)"
)
#: A plus next to a string, and PHP's and Perl's dot between two.
_PLUS = re.compile(r"\+(?:(?=[ \t]?[\"'`])|(?<=[\"'`]\+)|(?<=[\"'`][ \t]\+))")
_DOTS: Final = ('" . "', "' . '", '"."', "'.'")


def with_neighbours(source: Source) -> str:
    """The text with Python's strings that stand side by side as one. To a shell they are two words."""
    text = source.text
    if source.path.endswith(".py"):
        return _SIDE_BY_SIDE.sub("", text)
    if "__import__(" not in text and "getattr(" not in text:
        return text
    return _CALL_OF_STRINGS.sub(lambda match: _SIDE_BY_SIDE.sub("", match[0]), text)


_CALL_OF_STRINGS = re.compile(r"^[^\n]{0,400}?(?:__import__|getattr)\([^\n]{0,800}", re.MULTILINE)


def with_whole_strings(text: str) -> str:
    """The text with strings that are put together of characters or pieces as one, as far as they are names."""
    if "\\x" in text or "\\u" in text:
        text = _ESCAPED.sub(lambda match: _letter(match[1] or match[2] or match[3], match[0]), text)
    for mark, pattern, make in _STRINGS:
        if mark in text:
            text = pattern.sub(make, text)
    return text


def _letter(digits: str, written: str) -> str:
    character = chr(int(digits, 16))
    return written if character in "\"'`\\\x7f" else character


def _codes(match: re.Match[str]) -> str:
    return named(
        match, "".join(chr(int(number, 0) % 128) for number in re.findall(r"0x[0-9a-fA-F]+|[1-9]\d*", match[1]))
    )


def _character(match: re.Match[str]) -> str:
    character = chr(int(match[1], 0) % 128)
    joined = "+" if match[0].rstrip()[-1:] in "+." else ""
    return f"'{character}'{joined}" if character.isalnum() or character in "._/: -" else match[0]


def _words(match: re.Match[str]) -> str:
    between = match["between"] if "between" in match.re.groupindex else ""
    return named(match, between.join(WORDS.findall(match[match.re.groups])))


def _backwards(match: re.Match[str]) -> str:
    return named(match, (match[1] or match[2])[::-1])


_STRINGS: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("fromCharCode", _CODES, _codes),
    ("bytes([", _CODES, _codes),
    ("chr(", _CHARACTERS, _character),
    (".join(", _PYTHON_JOIN, _words),
    (".join(", _SCRIPT_JOIN, _words),
    ("[::-1]", _REVERSED, _backwards),
    ("reverse", _REVERSED, _backwards),
)

_AFTER = re.compile(rf"(?P<quote>[\"'`])[ \t]?\+[ \t]?(?P<name>{NAME})(?![\w(.\[$])")
_BEFORE = re.compile(rf"(?<![\w.)\]\"'`$])(?P<name>{NAME})[ \t]?\+[ \t]?(?P<quote>[\"'`])")
_BOTH = re.compile(rf"(?<![\w.)\]\"'`$+])(?:{NAME})(?:[ \t]?\+[ \t]?{NAME}){{1,12}}(?![\w(.\[$])")
_FORMATTED = re.compile(r"\b[rR]?[fF](?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')|`[^`\n]{0,400}`")
_IN_FORMATTED = re.compile(rf"\$?\{{\s?({NAME})(?:![rsa])?\s?\}}")
_ELEMENT = re.compile(
    rf"(?<![\w$.])(?P<name>{NAME})(?:\[(?:(?P<number>\d{{1,3}})|[\"'`](?P<key>[\w-]{{1,40}})[\"'`])\]|\.(?P<attribute>[A-Za-z_]\w{{0,40}})(?!\w|\s?\())(?!\s{{0,4}}=[^=])"
)
_JOINED_BY_NAME = re.compile(
    rf"[\"'](?P<between>[^\"'\n]{{0,3}})[\"']\.join\(\s*(?P<a>{NAME})\s*\)|(?<![\w$.])(?P<b>{NAME})\.join\(\s*[\"'`](?P<other>[^\"'`\n]{{0,3}})[\"'`]\s*\)"
)
_ARGUMENT = re.compile(rf"(?<=[\[(,])([ \t]?)({NAME})(?=[ \t]?[,\])])")
_CALLS: Final = re.compile(
    r"\b(?:subprocess\.\w{2,12}|spawn(?:Sync)?|exec(?:File)?(?:Sync)?|Popen|system|popen|run|call|check_call|check_output|exec\.Command|Command::new)\([^\n]{0,400}"
)
#: What stands behind a name and an equals sign: a string, a list of strings, a table of them.
_VALUE = re.compile(
    rf"[rbu]?(?P<quote>[\"'`])(?P<string>[^\"'`\n\\]{{1,200}})(?P=quote)\s{{0,4}}(?=[;,)\n]|$)|"
    rf"[\[(](?P<list>(?:\s{{0,8}}{STRING}\s{{0,4}},?){{1,60}})\s{{0,8}}[\])]|"
    rf"\{{(?P<table>(?:\s{{0,8}}[\"'`]?[\w-]{{1,40}}[\"'`]?\s{{0,4}}:\s{{0,4}}{STRING}\s{{0,4}},?){{1,40}})\s{{0,8}}\}}"
)
_SEVERAL = re.compile(
    rf"[ \t]*(?:const |let |var )?"
    rf"[\[(]?({NAME}(?:,[ \t]?{NAME}){{1,8}})[\])]?[ \t]?=[ \t]?[\[(]?({STRING}(?:,[ \t]?{STRING}){{1,8}})[\])]?;?[ \t]*(?=\n|$)"
)
_ENTRY = re.compile(rf"[\"'`]?([\w-]{{1,40}})[\"'`]?\s{{0,4}}:\s{{0,4}}({STRING})")
#: What a line has in which a name can be a part of a string, an element or an argument of a call that starts a program.
_FORMATS: Final = ('f"', "f'")
_ELEMENTS: Final = ("[0]", "[1]", "[2]", "[3]", "[_")
_CALL_PARTS: Final = ("subprocess.", "spawn", "execFile", "Popen(", "exec.Command(", "Command::new(", "system(")
_CALL_WORDS: Final = triggers("subprocess spawn spawnsync execfile execfilesync popen exec command system")
_Value = str | list[str] | dict[str, str]


#: Words of files in which a name can be a part of something that runs, of a path, or of a package.
_USES: Final = triggers(
    "exec eval popen subprocess spawn spawnsync execsync execfile execfilesync child_process getattr __import__ "
    "import_module importlib builtins "
    "globalthis runtime expanduser homedir vars check_call check_output getbuiltinmodule"
)
_USING: Final = (
    '://" +',
    "://' +",
    "://{",
    "PROMPT",
    "prompt =",
    "instructions =",
    "home()",
    "system(",
    "require(",
    "exec.Command",
    "Command::new",
    "writeFile",
    "urlopen(",
    "fetch(",
)
_USED = re.compile(r"\b(?:eval|exec\w{0,12}|system|popen|spawn\w{0,4}|child_process|builtins)\b")


def with_values(text: str, words: frozenset[bytes]) -> str:
    """The text with strings that are put together as one, and with names that hold literal strings, where they are parts of
    longer ones, elements of lists or arguments."""
    parts: list[str] = []
    if " . " in text or "'.'" in text or '"."' in text:
        parts += _DOTS
    numbers = lines_of((match.start() for match in _PLUS.finditer(text)), text) if "+" in text else []
    joined = sorted({*numbers, *lines_with(text, parts)}) if parts else numbers
    lines = text.split("\n") if joined else []
    if joined:
        for number in joined:
            lines[number] = _JOINED.sub("", lines[number])
        text = "\n".join(lines)
    if (
        _USES.isdisjoint(words)
        and not any(mark in text for mark in _USING)
        and not any(_USED.search(lines[number]) for number in joined)
    ):
        return text
    parts = [mark for mark in (".join(", ".format(") if mark in text]
    if "{" in text:
        parts += _FORMATS
    if not _CALL_WORDS.isdisjoint(words):
        parts += _CALL_PARTS
    if ("[0]" in text or "[1]" in text or "[_" in text or _TABLE_USED.search(text) is not None) and _LISTS.search(text):
        parts += (*_ELEMENTS, "[") if _TABLE_USED.search(text) is not None else _ELEMENTS
    values = _literals(text, not INSTALL_WORDS.isdisjoint(words)) if numbers or parts else {}
    if not values:
        return text
    numbers = sorted({*numbers, *lines_with(text, parts)})
    lines = text.split("\n")
    for number in numbers:
        if len(lines[number]) <= LINE:
            lines[number] = _line_with_values(lines[number], values)
    return "\n".join(lines)


_LISTS = re.compile(r"=[ \t]?[\[({]")
_TABLE_USED = re.compile(rf"\[\s?{NAME}(?:\.{NAME}|\[[\"'`\d])")


_ASSIGNS = re.compile(r"=[ \t]?(?=[rbu]?[\"'`\[({])")
_NAMED = re.compile(rf"({NAME})(?:\s?:\s?[\w\[\], .]{{1,40}})?\s?:?$")


def _literals(text: str, every: bool) -> dict[str, _Value]:
    """The names to which a text assigns a literal string, a list of strings or a table of them; the first assignment counts.
    ``every``: also those whose value names nothing that a rule looks for."""
    values: dict[str, _Value] = {}
    for opening in islice(_ASSIGNS.finditer(text), MOST_VALUES):
        at = opening.start()
        match = _VALUE.match(text, opening.end())
        begin = text.rfind("\n", max(0, at - LINE), at) + 1
        several = _SEVERAL.match(text, begin) if text.find(",", begin, at) >= 0 else None
        if several is not None:
            for name, value in zip(re.findall(NAME, several[1]), WORDS.findall(several[2]), strict=False):
                values.setdefault(name, value)
        elif match is not None and (every or len(match[0]) <= _FRAGMENT or may_matter(match[0])):
            named = _NAMED.search(text[max(begin, at - _HEAD) : at])
            if named is not None:
                values.setdefault(named[1], _value(match))
    return values


_FRAGMENT: Final = 8
"""A literal up to this length, with its quotes, can be a part of any word."""


_HEAD: Final = 100


def _value(match: re.Match[str]) -> _Value:
    if match["string"] is not None:
        return match["string"]
    if match["list"] is not None:
        return WORDS.findall(match["list"])
    return {key: value[1:-1] for key, value in _ENTRY.findall(match["table"])}


def _line_with_values(line: str, values: Mapping[str, _Value]) -> str:
    def string(name: str) -> str | None:
        value = values.get(name)
        return value if isinstance(value, str) else None

    def after(match: re.Match[str]) -> str:
        value = string(match["name"])
        return match[0] if value is None else value + match["quote"]

    def before(match: re.Match[str]) -> str:
        value = string(match["name"])
        return match[0] if value is None else match["quote"] + value

    def both(match: re.Match[str]) -> str:
        known = [string(name) for name in re.findall(NAME, match[0])]
        return match[0] if None in known else "'" + "".join(value or "" for value in known) + "'"

    def inserted(match: re.Match[str]) -> str:
        return _IN_FORMATTED.sub(lambda inner: string(inner[1]) or inner[0], match[0])

    def argument(match: re.Match[str]) -> str:
        value = string(match[2])
        return match[0] if value is None else f'{match[1]}"{value}"'

    if ".join(" in line:
        line = _JOINED_BY_NAME.sub(lambda match: _joined(match, values), line)
    if ".format(" in line:
        line = _FORMAT_CALL.sub(lambda match: _inserted_in_order(match, string), line)
    line = _ELEMENT.sub(lambda match: _element(match, values), line)
    if "+" in line:
        line = _AFTER.sub(after, _BEFORE.sub(before, _BOTH.sub(both, line)))
    if "{" in line:
        line = _FORMATTED.sub(inserted, line)
    line = _CALLS.sub(lambda match: _ARGUMENT.sub(argument, match[0]), line)
    return _JOINED.sub("", line) if "+" in line else line


_FORMAT_CALL = re.compile(r"([\"'])([^\"'\n]{0,200}\{\d?\}[^\"'\n]{0,200})\1\.format\(([^()\n]{1,200})\)")


def _inserted_in_order(match: re.Match[str], string: Callable[[str], str | None]) -> str:
    """``"{} {}".format(a, "b")`` with the arguments whose values are known in their places."""
    arguments = [part.strip() for part in match[3].split(",")]
    text = match[2]
    for argument in arguments:
        value = argument[1:-1] if argument[:1] in ("'", '"') and argument[-1:] == argument[:1] else string(argument)
        text = re.sub(r"\{\d?\}", lambda _, value=value: "?" if value is None else value, text, count=1)
    return f"{match[1]}{text}{match[1]}"


def _joined(match: re.Match[str], values: Mapping[str, _Value]) -> str:
    items = values.get(match["a"] or match["b"])
    value = (match["between"] or match["other"] or "").join(items) if isinstance(items, list) else ""
    return f"'{value}'" if value and len(value) <= LONGEST else match[0]


def _element(match: re.Match[str], values: Mapping[str, _Value]) -> str:
    items = values.get(match["name"])
    value: str | None = None
    if isinstance(items, list) and match["number"] is not None:
        number = int(match["number"])
        value = items[number] if number < len(items) else None
    elif isinstance(items, dict):
        value = items.get(match["key"] or match["attribute"])
    return match[0] if value is None else f"'{value}'"
