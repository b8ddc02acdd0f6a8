"""Holes of templates, the words of build tools, and letters that look like others."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import Final

from rye.limits import FACTS
from rye.text.facts.spelled.words import LINE, MOST_TABLES
from rye.text.facts.tables import word_set

HOLE = re.compile(r"\$?\{\{-?\s{0,4}\.?(?:(?:env|vars?|inputs?)\.)?([A-Za-z_]\w{0,60})\s{0,4}-?\}\}")
_MAKE_FILES: Final = word_set("makefile gnumakefile justfile .justfile")
#: A recipe's line that is not printed, or may fail: ``@curl``, ``-curl``.
_QUIET = re.compile(r"(?:(?<=^\t)|(?<=^    )|(?<=^  ))[@-]{1,2}(?=[$\w./\"'])", re.MULTILINE)
_MAKE_NAME = re.compile(r"\$[({]([A-Za-z_]\w{0,60})[)}]")
_INCLUDES = re.compile(r"^(?:-|s)?include[ \t]+", re.MULTILINE)
_RULE = re.compile(r"^([^\s:=#][^:=#\n]{0,200}?)[ \t]*::?(?!=)[ \t]*([^=\n;]{0,400})$")


_CMAKE_DOWNLOAD = re.compile(r"\bfile[ \t]*\([ \t]*DOWNLOAD[ \t]+(\S{3,300})[ \t]+([^\s)]{1,200})")
_CMAKE_COMMAND = re.compile(r"(?<=\()[ \t]*COMMAND\b|^[ \t]+COMMAND\b", re.MULTILINE)
_CMAKE_PIPED = re.compile(r"[ \t]COMMAND[ \t]")
_GET_URL = re.compile(
    r"\bget_url:(?:[ \t]*\n(?P<block>(?:[ \t]+[\w-]+:[^\n]*(?:\n|$)){1,10})|[ \t]+(?=[^\n]*url=)(?P<line>[^\n]{1,400}))"
)


def _get_url(match: re.Match[str]) -> str:
    """Ansible's module that saves an address, as a command. Its lines stay."""
    words = match["block"] or match["line"]
    url = re.search(r"\burl[:=][ \t]*[\"']?([^\s\"']{3,300})", words)
    target = re.search(r"\bdest[:=][ \t]*[\"']?([^\s\"']{1,200})", words)
    if url is None or target is None:
        return match[0]
    return f"curl -o {target[1]} {url[1]}" + "\n" * match[0].count("\n")


#: Letters that look like others: full width, mathematical, and Cyrillic or Greek ones in a word that has Latin ones.
_LOOK_ALIKE = re.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff]|[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z]")
#: How these letters begin in UTF-8.
_BEGIN: Final = (b"\xef\xbc", b"\xef\xbd", b"\xf0\x9d", *(bytes((byte,)) for byte in range(0xCD, 0xD4)))
_LOOK_ALIKE_LINE = re.compile(f"^[^\n]{{0,{LINE}}}(?:{_LOOK_ALIKE.pattern})[^\n]{{0,{LINE}}}", re.MULTILINE)
_LATIN: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u03bf\u03b1\u03b5\u03b9\u03bd\u03c1\u03c5",
    "aeopcyxijsdhABEKMHOPCTXoaeivpu",
)


def _as_latin(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0]).translate(_LATIN)


#: A variable of make without a value, which splits words.
_EMPTY = re.compile(r"^([A-Za-z_]\w{0,40})[ \t]*:{0,2}=[ \t]*$", re.MULTILINE)
_MOST_EMPTY: Final = 16
#: A variable of make with a value of several words, which has no quotes.
_ASSIGNED = re.compile(
    r"^(?:(?:export|override)[ \t]+){0,2}([A-Za-z_]\w{0,60})[ \t]*(?:(\+)|:{0,3}|\?)=[ \t]*"
    r"([^\s\"'`#][^\"'`#\n]{0,400}?)[ \t]*(?:#[^\n]*)?$",
    re.MULTILINE,
)


def _made(text: str) -> str:
    """A makefile as a shell would see its recipes: ``$@`` and ``$<``, ``$(NAME)``; what it includes, it runs."""
    text = _ASSIGNED.sub(r'\1\2="\3"', text)
    for empty in _EMPTY.findall(text)[:_MOST_EMPTY]:
        text = text.replace(f"$({empty})", "").replace(f"${{{empty}}}", "")
    lines = text.split("\n")
    target = first = ""
    for number, line in enumerate(lines):
        if line.startswith("\t"):
            lines[number] = (
                line.replace("$@", target)
                .replace("$(@)", target)
                .replace("$<", first)
                .replace("$^", first)
                .replace("$$", "$")
            )
            continue
        rule = _RULE.match(line)
        if rule is not None:
            target = rule[1].split()[0] if rule[1].split() else ""
            first = rule[2].split()[0] if rule[2].split() else ""
    return _INCLUDES.sub("make -f ", _MAKE_NAME.sub(r"$\1", "\n".join(lines)))


def is_makefile(name: str) -> bool:
    """Whether a file of this name, in lower case, has rules of make or just."""
    return name in _MAKE_FILES or name.endswith((".mk", ".just"))


def recipes(text: str) -> str:
    """A makefile's text as a shell would see it."""
    return _QUIET.sub("", _made(text))


def in_templates(name: str, text: str) -> str:
    """The text with what CMake and Ansible fetch and run as commands. ``name`` is the file's, in lower case."""
    if name == "cmakelists.txt" or name.endswith(".cmake"):
        return _CMAKE_PIPED.sub(" | ", _CMAKE_COMMAND.sub("; ", _CMAKE_DOWNLOAD.sub(r"curl -o \2 \1 ;", text)))
    if name.endswith((".yml", ".yaml")):
        if ">\n" in text or ">-\n" in text or ">+\n" in text:
            text = _unfolded(text)
        return _GET_URL.sub(_get_url, text) if "get_url" in text else text
    if name.endswith(".ipynb") and '"source"' in text:
        return _SOURCE.sub(_whole_lines, text)
    if name.endswith(_TEX) and any(mark in text for mark in _TEX_STARTS):
        return _with_macros(text)
    return text


_VISUAL_BASIC: Final = (".vbs", ".vbe", ".vba", ".bas", ".hta", ".wsf", ".asp", ".html", ".htm")
#: What Visual Basic starts without parentheses is a command of its own.
_VB_RUNS = re.compile(r"(\.(?:Run|Exec))[ \t]+(?=\"[a-z]|[A-Za-z]\w{0,40}[ \t]*(?:,|$))", re.IGNORECASE | re.MULTILINE)


def with_commands(name: str, text: str) -> str:
    """The text with what TeX and Visual Basic start as commands of their own. ``name`` is the file's, in lower case."""
    if name.endswith(_VISUAL_BASIC) and (".run " in text.lower() or ".exec " in text.lower()):
        return _VB_RUNS.sub(r"\1 ; ", text)
    if name.endswith(_TEX) and any(mark in text for mark in _TEX_STARTS):
        return _TEX_STARTED.sub(" ; ", text)
    return text


_TEX: Final = (".tex", ".sty", ".cls", ".ltx", ".dtx")
#: Where a folded block of YAML begins: its lines are one.
_FOLDS = re.compile(r"(?P<key>(?:-[ \t]+)*(?:[\w.\"'-]{1,60}:)?[ \t]*)>[-+]?$")


def _unfolded(text: str) -> str:
    """YAML's folded blocks as one line each, in the place of the one in which they begin; the others stay empty."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = _FOLDS.match(line.strip()) if len(line) <= LINE and line.rstrip().endswith((">", ">-", ">+")) else None
        if match is None or not match["key"]:
            continue
        indent, end = _indent(line), number + 1
        most = min(len(lines), number + FACTS.continued_lines)
        while end < most and (not lines[end].strip() or _indent(lines[end]) > indent):
            end += 1
        block = " ".join(part.strip() for part in lines[number + 1 : end] if part.strip())
        if len(block) <= LINE:
            lines[number] = f"{line[:indent]}{match['key']}{block}"
            lines[number + 1 : end] = [""] * (end - number - 1)
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_SOURCE = re.compile(
    r"\"source\"\s{0,8}:\s{0,8}\[\s{0,80}\"(?:[^\"\\\n]|\\.){0,2000}\""
    r"(?:\s{0,80},\s{0,80}\"(?:[^\"\\\n]|\\.){0,2000}\"){1,400}\s{0,80}\]"
)
_ELEMENT = re.compile(r"\"((?:[^\"\\\n]|\\.){0,2000})\"")


def _whole_lines(match: re.Match[str]) -> str:
    """The source of a notebook's cell with each line in one string, whatever its elements cut."""
    begin = match[0].index("[")
    body = match[0][begin:]
    parts: list[str] = []
    held, done = "", 0
    for element in _ELEMENT.finditer(body):
        between = body[done : element.start()]
        held_on = bool(held) and not held.endswith("\\n")
        if held_on:
            held += element[1]
            parts.append(between.replace(",", "") if "\n" in between else "")
        else:
            parts += [f'"{held}"' if held else "", between]
            held = element[1]
        done = element.end()
    return match[0][:begin] + "".join((*parts, f'"{held}"', body[done:]))


_MACRO = re.compile(
    r"\\(?:[egx]?def|(?:re)?newcommand\*?|providecommand\*?)[ \t]*\{?\\([A-Za-z@]{1,40})\}?[ \t]*\{([^{}\n]{0,200})\}"
)


def _with_macros(text: str) -> str:
    """TeX's macros of literal text in their places, in the lines that start a program."""
    macros = {match[1]: match[2] for match in islice(_MACRO.finditer(text), MOST_TABLES)} | {"space": " "}

    def meaning(match: re.Match[str]) -> str:
        return macros.get(match[1], match[0])

    lines = text.split("\n")
    for number, line in enumerate(lines):
        if any(mark in line for mark in _TEX_STARTS):
            for _ in range(_NESTED):
                line = _MACRO_USED.sub(meaning, line[:LINE])
            lines[number] = line
    return "\n".join(lines)


_TEX_STARTS: Final = ("write18", "ShellEscape", "\\input|", "\\input{|")
_TEX_STARTED = re.compile(r"(?:\\immediate)?\\write18[ \t]*\{|\\ShellEscape[ \t]*\{|\\input[ \t]*\{?[ \t]*\|[ \t]*\"?")
_MACRO_USED = re.compile(r"\\([A-Za-z@]{1,40})(?![A-Za-z@])[ \t]?")
_NESTED: Final = 3
"""How often macros are filled into macros."""


def as_latin(text: str, lowered: bytes) -> str:
    """The text with letters that look like Latin ones as these. ``lowered``: its bytes."""
    if text.isascii() or not any(begin in lowered for begin in _BEGIN) or _LOOK_ALIKE.search(text) is None:
        return text
    return _LOOK_ALIKE_LINE.sub(_as_latin, text)
