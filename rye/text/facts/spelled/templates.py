"""Holes of templates, the words of build tools, and letters that look like others."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from rye.text.facts.spelled.words import LINE
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


def _made(text: str) -> str:
    """A makefile as a shell would see its recipes: ``$@`` and ``$<``, ``$(NAME)``; what it includes, it runs."""
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
    if name.endswith((".yml", ".yaml")) and "get_url" in text:
        return _GET_URL.sub(_get_url, text)
    return text


def as_latin(text: str, lowered: bytes) -> str:
    """The text with letters that look like Latin ones as these. ``lowered``: its bytes."""
    if text.isascii() or not any(begin in lowered for begin in _BEGIN) or _LOOK_ALIKE.search(text) is None:
        return text
    return _LOOK_ALIKE_LINE.sub(_as_latin, text)
