"""Strings that a text puts together, in any language: ``"cu" + "rl"``, ``"po" .. "pen"``, ``concat!("cu", "rl")``.

Languages differ in the operator, the name of the function and the brackets of a list, and little else. So a line is read as its
strings and what stands between them: an operator that joins, or, where the line has a word that joins (``join``, ``concat``,
``append``), what separates the elements of a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rye.text.facts.spelled.words import LINE, LONGEST, NAME, lines_of, lines_with
from rye.text.facts.tables import triggers

STRING: Final = r"\"(?:[^\"\\\n]|\\.){0,400}\"|'(?:[^'\\\n]|\\.){0,400}'|`(?:[^`\\\n]|\\.){0,400}`"
_STRING: Final = re.compile(STRING)
OPERATOR: Final = r"(?:\+\+?|\.{1,2}|&|<>|~|\|\|)"
"""What joins two strings: C-like languages, Lua, PHP and Perl, Visual Basic, Elixir and Haskell, Raku and Twig, SQL."""
_PREFIX: Final = r"(?:[rbufRBUFLs@$]{1,2}(?=[\"'`]))?"
_BETWEEN: Final = re.compile(rf"\)?[ \t]{{0,40}}{OPERATOR}[ \t]{{0,40}}\(?{_PREFIX}")
_BLANK: Final = re.compile(rf"[ \t]{{1,40}}{_PREFIX}")
#: Elements of a list, and arguments of calls in a row: ``append("cu").append("rl")``.
_SEPARATES: Final = re.compile(
    r"[ \t]{0,40}(?:,|<<)?[ \t]{0,40}|"
    r"\)[ \t]{0,8};?[ \t]{0,8}[\w$]{0,40}(?:\.|->)(?:append|concat|push|push_str|add|write)\([ \t]{0,8}"
)
#: Where two strings can meet.
_MEETS: Final = re.compile(rf"[\"'`]\)?[ \t]{{0,40}}{OPERATOR}[ \t]{{0,40}}\(?{_PREFIX}[\"'`]")
_QUOTE: Final = "[\"'`]"
_BESIDE_QUOTE: Final = (
    rf"(?:(?=[ \t]{{0,40}}\(?[rbufRBUFLs@$]{{0,2}}{_QUOTE})|"
    rf"(?<={_QUOTE}.)|(?<={_QUOTE}[ \t].)|(?<={_QUOTE}..)|(?<={_QUOTE}[ \t]..))"
)
#: The same for each operator, found fast: what joins begins or ends with it. Three dots are an ellipsis.
_BESIDE_STRING: Final = tuple(
    (mark, re.compile(operator + _BESIDE_QUOTE))
    for mark, operator in (
        ("+", r"\+\+?"),
        ("&", r"&\+?"),
        ("~", r"~\+?"),
        ("<>", "<>"),
        ("||", r"\|\|"),
        (".", r"\.(?:(?<!\.\.)\.(?!\.)|(?<=[ \t\"'`]\.)(?=[ \t$\"'`]))"),
    )
)
#: A line that goes on with a string, and how the line before ends then; in languages in which strings that stand side by side are
#: one, no operator is needed.
_GOES_ON: Final = re.compile(
    rf"\n(?<=[\"'`+&~.|>\\ \t]\n)[ \t]{{0,80}}(?P<operator>[+&~<.|]{{1,2}}[ \t]{{0,40}})?[rbufRBUFLs@$]{{0,2}}{_QUOTE}"
)
_ENDS_BEFORE: Final = re.compile(rf"{_QUOTE}[ \t]{{0,40}}(?P<operator>[+&~.|>]{{1,2}}[ \t]{{0,40}})?\\?$")
_GOES_ON_BESIDE: Final = re.compile(
    r"\n(?<=[\"'+&\\ \t]\n)[ \t]{0,80}(?:[+&][ \t]{0,40})?[rbufRBUFLs@$]{0,2}[\"'](?![\"'])"
)
_ENDS_BEFORE_BESIDE: Final = re.compile(r"(?<![\"'])[\"'][ \t]{0,40}[+&]?[ \t]{0,40}\\?$")
_END: Final = 90
"""How many characters before the end of a line tell how it ends."""
_BELOW: Final = re.compile(
    rf"[ \t]{{0,80}}(?P<operator>{OPERATOR}[ \t]{{0,40}})?{_PREFIX}(?P<string>{STRING})(?P<rest>[^\n]*)"
)
_ENDS_WITH: Final = re.compile(rf"(?P<string>[\"'`])[ \t]{{0,40}}(?P<operator>{OPERATOR})?[ \t]{{0,40}}\\?$")
_SIDE_BY_SIDE: Final = (".py", ".pyi", ".c", ".h", ".cc", ".cpp", ".hpp", ".nim", ".zig", ".d", ".awk", ".dart")
"""Files in languages that join strings which stand side by side."""
#: Words with which a line joins the elements of a list. Folders and files are joined to paths elsewhere.
JOINS: Final = re.compile(
    r"(?:(?<![Pp]ath\.)(?<!posix\.)(?<!File\.)\b(?:j|J)oin(?:ed)?|\b[cC]oncat\w{0,6}|\bimplode|\.append|\bpaste0|\bstring-append|\bSprint|"
    r"\breduce|\bfold\w{0,4}|\bsprintf|\bformat|\bfmt\.|\|[ \t]?add)(?:!?\(|\b)"
)
_JOIN_MARKS_OF: Final = {
    "join": ("join(", "Join(", "join "),
    "joined": ("joined(",),
    **dict.fromkeys(("concat", "concatenate", "concat_ws"), ("oncat",)),
    "implode": ("implode(",),
    "append": (").append(", "string-append"),
    "paste0": ("paste0(",),
    **dict.fromkeys(("sprint", "sprintf", "sprintln"), ("Sprint", "sprintf(")),
    **dict.fromkeys(("reduce", "fold", "foldl", "foldr"), ("reduce(", "fold")),
    "format": ("format(", "format!("),
    "fmt": ("fmt.",),
    **dict.fromkeys(("jq", "yq", "gojq"), ("| add", "|add")),
    "__import__": ("__import__(",),
    "getattr": ("getattr(",),
    **dict.fromkeys(("python", "python3"), ("python -c", "python3 -c")),
}
"""What a line has that joins a list, or code of Python on a command line, by a word of the text."""
JOIN_WORDS: Final = triggers(_JOIN_MARKS_OF)
_JOIN_MARKS: Final = tuple(dict.fromkeys(mark for marks in _JOIN_MARKS_OF.values() for mark in marks))
#: What a join puts between two elements, if the line says it.
_GLUE: Final = re.compile(
    r"([\"'`])(?P<before>[^\"'`\n\w]{0,3})\1\.join\(|\b(?:[jJ]oin|implode)\(?[ \t]{0,8}([\"'`])(?P<first>[^\"'`\n\w]{0,3})\3|"
    r",[ \t]{0,8}([\"'`])(?P<last>[^\"'`\n\w]{0,3})\5[ \t]{0,8}\)"
)
#: Lists of words without quotes: Ruby's and Perl's.
_WORDS_IN_BRACKETS: Final = re.compile(r"(?:%[wW]|\bqw)[ \t]?[\[({</|]([\w \t.:/|&-]{1,300})[\])}>/|]")
_HOLE: Final = re.compile(r"%[sv]|%\d\$s|\{\d?\}")
#: fish's, which has no quotes around its list.
_CALL: Final = re.compile(r"\(string[ \t]+join[ \t]+(?:-n[ \t]+)?([\"'])([\w./: -]{2,300})\1[ \t]*\)")
#: Python's code on a line, whatever the file is.
_CODE_MARKS: Final = ("__import__(", "getattr(", "python -c", "python3 -c")
_TWO_STRINGS: Final = 4
"""How many quotes two strings have."""
_MOST_BELOW: Final = 24
"""How many lines of strings can be one string."""


def _sums_in(text: str) -> list[int]:
    """The numbers of the lines in which something that joins stands next to a string."""
    places = [match.start() for mark, beside in _BESIDE_STRING if mark in text for match in beside.finditer(text)]
    return lines_of(sorted(places), text)


def _breaks_in(text: str, beside: bool) -> list[int]:
    """The numbers of the lines that end with a string which the next line goes on."""
    if beside:
        places = [
            match.start()
            for match in _GOES_ON_BESIDE.finditer(text)
            if _ENDS_BEFORE_BESIDE.search(text, max(0, match.start() - _END), match.start()) is not None
        ]
        return lines_of(places, text)
    places = []
    for match in _GOES_ON.finditer(text):
        before = _ENDS_BEFORE.search(text, max(0, match.start() - _END), match.start())
        if before is not None and (before["operator"] or match["operator"]):
            places.append(match.start())
    return lines_of(places, text)


def with_joined(text: str, path: str, words: frozenset[bytes]) -> tuple[str, list[int]]:
    """The text with strings that an operator joins as one, also those in the lines below, and the lines that have an operator
    beside a string. No line is added or removed."""
    beside = path.lower().endswith(_SIDE_BY_SIDE)
    breaks = _breaks_in(text, beside)
    if breaks:
        text = _raised(text, breaks, beside)
    sums = _sums_in(text)
    numbers = set(sums)
    joining = words & JOIN_WORDS
    if joining:
        numbers.update(lines_with(text, sorted({mark for word in joining for mark in _JOIN_MARKS_OF[word.decode()]})))
    if beside:
        numbers.update(lines_of((match.start() for match in _BESIDE.finditer(text)), text))
    if not numbers:
        return text, sums
    lines = text.split("\n")
    for number in numbers:
        if len(lines[number]) <= LINE:
            lines[number] = joined_in_line(lines[number], beside=beside)
    return "\n".join(lines), sums


_BESIDE: Final = re.compile(rf"[\"'][ \t]{{1,4}}{_PREFIX}[\"']")


def joined_in_line(line: str, *, beside: bool = False, values: Mapping[str, object] | None = None) -> str:
    """A line with its strings joined. ``beside``: strings that stand side by side are one; ``values``: lists that names hold."""
    if line.count('"') + line.count("'") + line.count("`") < _TWO_STRINGS and not values:
        return line
    beside = beside or any(mark in line for mark in _CODE_MARKS)
    glue = ""
    lists: list[tuple[int, int]] = []
    if any(mark in line for mark in _JOIN_MARKS) and JOINS.search(line) is not None:
        found = _GLUE.search(line)
        if found is not None:
            glue = found["before"] or found["first"] or found["last"] or ""
        line = _WORDS_IN_BRACKETS.sub(lambda match: f"[{_quoted(match[1].split())}]", line)
        if values:
            line = _with_lists(line, values)
        lists = [_extent(line, match) for match in JOINS.finditer(line)]
    parts: list[str] = []
    held = ""  # the string that the next one may belong to, with its quotes
    done = 0
    for match in _STRING.finditer(line):
        between = line[done : match.start()]
        string = _inside(match[0], beside)
        if held and (_BETWEEN.fullmatch(between) is not None or (beside and _BLANK.fullmatch(between) is not None)):
            held = _together(held, string, "")
        elif held and _SEPARATES.fullmatch(between) is not None and _is_in(lists, done, match.end()):
            held = _filled(held, string) if _HOLE.search(held) is not None else _together(held, string, glue)
        else:
            parts += (held, between)
            held = string
        done = match.end()
    line = "".join((*parts, held, line[done:]))
    return _CALL.sub(r"\2", line) if "string join" in line else line


def _inside(string: str, beside: bool) -> str:
    """A string with the strings joined that are in it: code in a command."""
    inside = string[1:-1]
    if any(quote in inside for quote in "\"'`" if quote != string[0]) and (
        _MEETS.search(inside) is not None
        or (beside and _BESIDE.search(inside) is not None)
        or any(mark in inside for mark in _JOIN_MARKS)
    ):
        return string[0] + joined_in_line(inside, beside=beside) + string[-1]
    return string


def _with_lists(line: str, values: Mapping[str, object]) -> str:
    """The line with the elements of lists in the place of the names that hold them."""
    for match in reversed(list(_NAMED.finditer(line))):
        value = values.get(match[0])
        if isinstance(value, list):
            whole = _quoted(value) if "string join" in line else f"[{_quoted(value)}]"
            line = f"{line[: match.start()]}{whole}{line[match.end() :]}"
    return line


def _quoted(words: list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _extent(line: str, match: re.Match[str]) -> tuple[int, int]:
    """The part of a line that a joining word joins: the brackets before it, or what it is given."""
    if match[0].startswith(".append"):
        return match.start(), len(line)
    before = line[: match.start()].rstrip(" \t.-:>")
    if before[-1:] not in _CLOSING:
        return match.start(), len(line) if match[0][-1:] != "(" or match[0].startswith(".") else _end(line, match.end())
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        depth += (before[at] in _CLOSING) - (before[at] in _OPENING)
        if depth == 0:
            return at, len(before)
    return 0, len(before)


def _end(line: str, begin: int) -> int:
    depth = 1
    for at in range(begin, len(line)):
        depth += (line[at] in _OPENING) - (line[at] in _CLOSING)
        if depth == 0:
            return at
    return len(line)


_OPENING: Final = tuple("([{")
_CLOSING: Final = tuple(")]}")


def _is_in(lists: list[tuple[int, int]], begin: int, end: int) -> bool:
    return any(first <= begin and end <= last for first, last in lists)


def _filled(template: str, string: str) -> str:
    """A template with a string in its first hole."""
    return _HOLE.sub(lambda _: string[1:-1], template, count=1)


def _together(first: str, second: str, glue: str) -> str:
    if len(first) + len(second) > LINE:
        return first
    return f"{first[:-1]}{glue}{second[1:-1]}{first[-1]}"


def _raised(text: str, breaks: list[int], beside: bool) -> str:
    """The text with the strings of a sum in the line in which it begins. ``breaks``: the lines in which a string may go on."""
    lines = text.split("\n")
    done = -1
    for first in breaks:
        below = first + 1
        while done < first and below < len(lines) and below - first <= _MOST_BELOW and len(lines[first]) <= LINE:
            ends = _ENDS_WITH.search(lines[first][-LONGEST:])
            match = _BELOW.fullmatch(lines[below]) if ends is not None and len(lines[below]) <= LINE else None
            if ends is None or match is None or not (ends["operator"] or match["operator"] or beside):
                break
            line = lines[first].rstrip(" \t\\")
            line = line[: len(line) - len(ends["operator"] or "")].rstrip()
            lines[first], lines[below] = f"{line} + {match['string']}{match['rest']}", ""
            below += 1
        done = max(done, below - 1 if below > first + 1 else -1)
    return "\n".join(lines)


_NAMED: Final = re.compile(rf"(?<![\w.\"'`])[$@]?{NAME}(?![\w(\"'`])")
