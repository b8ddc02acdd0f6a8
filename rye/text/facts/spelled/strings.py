"""Strings that a program puts together, and names that hold literal ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

from rye.text.facts.spelled.joined import joined_in_line
from rye.text.facts.spelled.words import (
    FRAGMENTS,
    INSTALL_WORDS,
    LINE,
    LONGEST,
    MOST_TABLES,
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

_ESCAPED = re.compile(r"\\x([2-7][0-9A-Fa-f])|\\u00([2-7][0-9A-Fa-f])|\\u\{0{0,4}([2-7][0-9A-Fa-f])\}")
_CODES = re.compile(
    r"(?:String\.fromCharCode|bytes|bytearray)\(\s*\[?((?:\s?(?:0x[0-9a-fA-F]{1,2}|\d{1,3})\s?,?){2,200})\]?\s*\)(?:\.decode\(\))?"
)
_CHARACTERS = re.compile(r"chr\(\s*(0x[0-9a-fA-F]{1,2}|\d{1,3})\s*\)(?:[ \t]?[+.][ \t]?(?=(?:chr\(|[\"'])))?")
_REVERSED = re.compile(
    r"[\"']([\w.:/ -]{2,200})[\"'](?:\[::-1\]|\.split\([\"']{2}\)\.reverse\(\)\.join\([\"']{2}\)|\.reverse(?:\(\))?(?=[\s,)]))|"
    r"\[\.\.\.[\"']([\w.:/ -]{2,200})[\"']\]\.reverse\(\)\.join\([\"']{2}\)"
)


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


def _backwards(match: re.Match[str]) -> str:
    return named(match, (match[1] or match[2])[::-1])


_STRINGS: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("fromCharCode", _CODES, _codes),
    ("bytes([", _CODES, _codes),
    ("chr(", _CHARACTERS, _character),
    ("[::-1]", _REVERSED, _backwards),
    ("reverse", _REVERSED, _backwards),
)

_OPERATOR: Final = r"(?:[ \t]?(?:\+\+?|&|<>|~|\.\.)[ \t]?|[ \t]\.[ \t]|\.(?=\$))"
"""What joins a string and a name, or two names. A dot alone leads to an attribute."""
_OPERATORS: Final = ("+", "..", "&", "<>", "~", " . ", ".$")
_AFTER = re.compile(rf"(?P<quote>[\"'`]){_OPERATOR}(?P<name>{NAME})(?![\w(\[$]|\.\w)")
_BEFORE = re.compile(rf"(?<![\w.)\]\"'`$])(?P<name>{NAME}){_OPERATOR}(?P<quote>[\"'`])")
_BOTH = re.compile(rf"(?<![\w.)\]\"'`$+])(?:{NAME})(?:{_OPERATOR}{NAME}){{1,12}}(?![\w(\[$]|\.\w)")
_FORMATTED = re.compile(
    r"\b[rR]?[fF](?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')|`[^`\n]{0,400}`|\"[^\"\n#$]{0,200}[#$][^\"\n]{0,400}\""
)
_IN_FORMATTED = re.compile(rf"[#$]?\{{\s?({NAME})(?:![rsa])?\s?\}}|(\$[A-Za-z_]\w{{0,60}})")
_ELEMENT = re.compile(
    rf"(?<![\w$.])(?P<name>{NAME})(?:\[(?:(?P<number>\d{{1,3}})|[\"'`](?P<key>[\w-]{{1,40}})[\"'`])\]|\.(?P<attribute>[A-Za-z_]\w{{0,40}})(?!\w|\s?\())(?!\s{{0,4}}=[^=])"
)
_ARGUMENT = re.compile(rf"(?<=[\[(,])([ \t]?)({NAME})(?=[ \t]?[,\])])")
_CALLS: Final = re.compile(
    r"\b(?:subprocess\.\w{2,12}|spawn(?:Sync)?|exec(?:File)?(?:Sync)?|Popen|system|popen|run|call|check_call|check_output|exec\.Command|Command::new)\([^\n]{0,400}"
)
#: What stands behind a name and an equals sign: a string, a list of strings, a table of them.
_LIST_BEGINS: Final = r"(?:\[\d{0,3}\]string|new\s\w{1,20}\s?\[\]|vec!|&|@|\w{0,12}(?:Of|\.of|asList)(?=\())?\s?[\[({]"
_VALUE = re.compile(
    rf"[rbu]?(?P<quote>[\"'`])(?P<string>[^\"'`\n\\]{{1,200}})(?P=quote)\s{{0,4}}(?=[;,)\n]|$|--|#)|"
    rf"{_LIST_BEGINS}(?P<list>(?:\s{{0,8}}{STRING}\s{{0,4}},?){{1,60}})\s{{0,8}}[\])}}]|"
    r"(?:%[wWi]|\bqw)[ \t]?[\[({</|](?P<words>[\w \t\n.:/|&-]{1,300})[\])}>/|]|"
    rf"\{{(?P<table>(?:\s{{0,8}}[\"'`]?[\w-]{{1,40}}[\"'`]?\s{{0,4}}[:=]\s{{0,4}}{STRING}\s{{0,4}},?){{1,40}})\s{{0,8}}\}}"
)
_SEVERAL = re.compile(
    rf"[ \t]*(?:const |let |var )?"
    rf"[\[(]?({NAME}(?:,[ \t]?{NAME}){{1,8}})[\])]?[ \t]?=[ \t]?[\[(]?({STRING}(?:,[ \t]?{STRING}){{1,8}})[\])]?;?[ \t]*(?=\n|$)"
)
_ENTRY = re.compile(rf"[\"'`]?([\w-]{{1,40}})[\"'`]?\s{{0,4}}[:=]\s{{0,4}}({STRING})")
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
    "globalthis runtime "
    "expanduser homedir vars check_call check_output getbuiltinmodule"
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
_SHORT: Final = 7
"""How long a string can be that is a part of a word."""
_WORD_LISTS: Final = (("%", ("%w", "%W")), ("qw", ("qw(", "qw/", "qw{")), ("string join", ("string join",)))
"""What the text has if strings stand in it without quotes, each behind what is found faster."""
_LETTERS: Final = 3
"""How many strings of one letter make a word."""


def _has_fragments(text: str) -> bool:
    """Whether a string of the text is a part of a word that matters, and not the whole."""
    if any(mark in text and any(opens in text for opens in opening) for mark, opening in _WORD_LISTS):
        return True
    parts = text.replace("'", '"').replace("`", '"').split('"')[1:-1]
    return _make_words({part.strip(_AROUND) for part in parts if len(part) <= _SHORT}) and _make_words(_strings(parts))


_AROUND: Final = " |./-"
"""What can stand around a part of a word in its string."""


def _make_words(parts: set[str]) -> bool:
    found = parts & FRAGMENTS
    return any(len(part) > 1 for part in found) or len(found) >= _LETTERS


def _strings(parts: list[str]) -> set[str]:
    """Those of the parts between quotes that are short strings, and not what stands between two of them."""
    strings = set()
    inside = True
    for part in parts:
        inside = not (inside and 0 < len(part) <= _SHORT and "\n" not in part)
        if not inside:
            strings.add(part.strip(_AROUND))
    return strings


def with_values(text: str, sums: list[int], path: str, words: frozenset[bytes]) -> str:
    """The text with names that hold literal strings as these strings, where they are parts of longer ones, elements of lists or
    arguments. ``sums``: the lines with an operator beside a string."""
    values: dict[str, _Value] = {}
    several: Mapping[str, _Value] = {}
    if _has_fragments(text):
        values = _literals(text, path, not INSTALL_WORDS.isdisjoint(words))
        several = {name: value for name, value in values.items() if _is_fragment(value)}
    if not several and _USES.isdisjoint(words) and not any(mark in text for mark in _USING):
        return text
    parts = [mark for mark in (".join(", ".format(") if mark in text]
    if "{" in text:
        parts += _FORMATS
    if not _CALL_WORDS.isdisjoint(words):
        parts += _CALL_PARTS
    if ("[0]" in text or "[1]" in text or "[_" in text or _TABLE_USED.search(text) is not None) and _LISTS.search(text):
        parts += (*_ELEMENTS, "[") if _TABLE_USED.search(text) is not None else _ELEMENTS
    if not values and (sums or parts):
        values = _literals(text, path, not INSTALL_WORDS.isdisjoint(words))
    if not values:
        return text
    used = set(lines_with(text, parts)).union(sums)
    if several:
        names = "|".join(map(re.escape, sorted(several)[:MOST_TABLES]))
        used.update(lines_of((match.start() for match in re.finditer(rf"(?<!\w)(?:{names})(?!\w)", text)), text))
    lines = text.split("\n")
    for number in sorted(used):
        if len(lines[number]) <= LINE:
            lines[number] = _line_with_values(lines[number], values)
    return "\n".join(lines)


def _is_fragment(value: _Value) -> bool:
    """Whether a value, or an element of it, is a part of a word that matters, and not the whole."""
    parts = [value] if isinstance(value, str) else value if isinstance(value, list) else list(value.values())
    return any(part.strip(_AROUND) in FRAGMENTS for part in parts)


_LISTS = re.compile(r"=[ \t]?[\[({]")
_TABLE_USED = re.compile(rf"\[\s?{NAME}(?:\.{NAME}|\[[\"'`\d])")


_ASSIGNS = re.compile(r"=[ \t]?(?=[\"'`\[({&@%rbuvnqaALl])")
_ADDS: Final = ("+", "..", ".", "<<", "&", "~")
"""What stands before the equals sign where a value is added to the one before."""
_NAMED = re.compile(rf"({NAME})(?:\s?:\s?&?[\w\[\], .]{{1,40}}|\s?\[\])?\s?:?$")
#: fish: ``set -l parts cu rl``.
_SET = re.compile(
    r"^[ \t]*set[ \t]+(?:-\w{1,3}[ \t]+){0,3}([A-Za-z_]\w{0,60})((?:[ \t]+[\w./:-]{1,80}){2,20})[ \t]*$", re.MULTILINE
)


def _literals(text: str, path: str, every: bool) -> dict[str, _Value]:
    """The names to which a text assigns a literal string, a list of strings or a table of them; the first assignment counts, and
    what is added to it. ``every``: also those whose value names nothing that a rule looks for."""
    values: dict[str, _Value] = {}
    for opening in islice(_ASSIGNS.finditer(text), MOST_VALUES):
        at = opening.start()
        match = _VALUE.match(text, opening.end())
        begin = text.rfind("\n", max(0, at - LINE), at) + 1
        several = _SEVERAL.match(text, begin) if text.find(",", begin, at) >= 0 else None
        if several is not None:
            for name, value in zip(re.findall(NAME, several[1]), WORDS.findall(several[2]), strict=False):
                values.setdefault(name, value)
        elif match is not None and (
            every or len(match[0]) <= _FRAGMENT or may_matter(match[0]) or match["list"] or match["words"]
        ):
            before = text[max(begin, at - _HEAD) : at]
            adds = before.endswith(_ADDS)
            named = _NAMED.search(before.rstrip("+.<&~ ") if adds else before)
            if named is None:
                continue
            known, value = values.get(named[1]), _value(match)
            if adds and isinstance(known, str) and isinstance(value, str) and len(known) < LONGEST:
                values[named[1]] = known + value
            else:
                values.setdefault(named[1], value)
    if "string join" in text:
        for match in islice(_SET.finditer(text), MOST_TABLES):
            values.setdefault(f"${match[1]}", match[2].split())
    return values


_FRAGMENT: Final = 8
"""A literal up to this length, with its quotes, can be a part of any word."""


_HEAD: Final = 100


def _value(match: re.Match[str]) -> _Value:
    if match["string"] is not None:
        return match["string"]
    if match["list"] is not None:
        return WORDS.findall(match["list"])
    if match["words"] is not None:
        return match["words"].split()
    return {key: value[1:-1] for key, value in _ENTRY.findall(match["table"])}


def _line_with_values(line: str, values: Mapping[str, _Value]) -> str:
    def string(name: str) -> str | None:
        value = values.get(name, values.get(name.lstrip("$")))
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
        return _IN_FORMATTED.sub(lambda inner: string(inner[1] or inner[2]) or inner[0], match[0])

    def argument(match: re.Match[str]) -> str:
        value = string(match[2])
        return match[0] if value is None else f'{match[1]}"{value}"'

    if ".format(" in line:
        line = _FORMAT_CALL.sub(lambda match: _inserted_in_order(match, string), line)
    line = _ELEMENT.sub(lambda match: _element(match, values), line)
    if any(operator in line for operator in _OPERATORS):
        line = _AFTER.sub(after, _BEFORE.sub(before, _BOTH.sub(both, line)))
    if "{" in line or "$" in line:
        line = _FORMATTED.sub(inserted, line)
    line = _CALLS.sub(lambda match: _ARGUMENT.sub(argument, match[0]), line)
    return joined_in_line(line, values=values)


_FORMAT_CALL = re.compile(r"([\"'])([^\"'\n]{0,200}\{\d?\}[^\"'\n]{0,200})\1\.format\(([^()\n]{1,200})\)")


def _inserted_in_order(match: re.Match[str], string: Callable[[str], str | None]) -> str:
    """``"{} {}".format(a, "b")`` with the arguments whose values are known in their places."""
    arguments = [part.strip() for part in match[3].split(",")]
    text = match[2]
    for argument in arguments:
        value = argument[1:-1] if argument[:1] in ("'", '"') and argument[-1:] == argument[:1] else string(argument)
        text = re.sub(r"\{\d?\}", lambda _, value=value: "?" if value is None else value, text, count=1)
    return f"{match[1]}{text}{match[1]}"


def _element(match: re.Match[str], values: Mapping[str, _Value]) -> str:
    items = values.get(match["name"])
    value: str | None = None
    if isinstance(items, list) and match["number"] is not None:
        number = int(match["number"])
        value = items[number] if number < len(items) else None
    elif isinstance(items, dict):
        value = items.get(match["key"] or match["attribute"])
    return match[0] if value is None else f"'{value}'"
