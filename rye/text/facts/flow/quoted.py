"""When a command, a path or a substitution is only quoted, printed, named or explained, so that nothing is run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.file_names import PROGRAM_SUFFIXES, SCRIPT_SUFFIXES, file_name, is_data
from rye.text.facts.shell import BREAK
from rye.text.facts.source import Line, Source
from rye.text.facts.tables import word_set

#: Languages whose backquotes run nothing: a template, a name, an escape.
_PLAIN_BACKQUOTES: Final = word_set(
    "py python python3 js mjs cjs jsx javascript node ts mts cts tsx typescript json jsonc json5 toml css html htm xml svg "
    "go golang rs rust c h cc cpp hpp java kt kotlin swift scala cs csharp sql yar yara md markdown ps1 psm1 powershell pwsh"
)
_SHELL_LANGUAGES: Final = word_set("sh bash zsh ksh shell console")
#: A value in double quotes in which words stand before a substitution.
_QUOTED_VALUE = re.compile(r"[ \t]*(?:export[ \t]+|local[ \t]+)?\w{1,60}=\"[^\"$`\n]{1,80}\$\(")
#: What a line prints, up to the end of its first string: the bars of a table in it are no pipes.
_PRINTED_STRING = re.compile(
    r"[ \t]*(?:\[{1,2}[^\[\]\n]{1,80}\]{1,2}[ \t]*(?:&&|\|\|)[ \t]*)?(?:echo|printf)[ \t]+(?:-\w{1,3}[ \t]+)?"
    r"(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*')"
)
#: Another command, or a substitution.
_GOES_ON = re.compile(r"[|;&`(]")
#: Lines up to a mark are printed, and go nowhere else.
_PRINTS_LINES = re.compile(
    r"[ \t]*cat[ \t]+(?:>{1,2}[ \t]*(?P<into>\S{1,200})[ \t]+)?<<-?[ \t]*[\"']?(?P<end>\w{1,40})[\"']?[ \t]*"
    r"(?:>{1,2}[ \t]*(?P<behind>\S{1,200})[ \t]*)?"
)
_PRINTED_LINES: Final = 60
_MEDIA_TYPE = re.compile(r"(?:application|text|image|audio|video|multipart|font|model|message)/[\w.+-]{1,60}$")
#: Words of a sentence before a path: it only names the path (``cached at `/tmp/x` ``), unless one of them tells to start it.
_SENTENCE = re.compile(r"[A-Za-z]{2}[^\w\n&|;`]{1,4}`$")
_SENTENCE_END: Final = 8
"""Characters that it can match, with a line's end: searched from the start of a long text, it would take quadratic time."""
_EXPLAINED = re.compile(r"`[ \t]{0,3}[\u2013\u2014:-][ \t]")
#: Only English words tell whether a sentence has somebody start a file.
_FOREIGN_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_TOLD: Final = 80
"""How far before a path such a word can stand."""
#: What follows a program's name in the first line of its help: ``tool - what it does``.
_TITLE = re.compile(r"[-\u2013\u2014] [A-Z]")
_TELLS_TO_START = re.compile(
    r"\b(?:run|runs|running|execut\w*|launch(?:es|ed|ing)?|start\w*|open|opens|install\w*|use|invoke|call|usage|command|double-click|trigger)\b",
    re.IGNORECASE,
)
#: What a container sees of a machine's folder (``./data:/var/lib/x``), and a place on another machine (``host:/srv``).
_VOLUME = re.compile(r"(?:[.~/$][^:\s]{0,200}|[\w.-]{2,80}):/[^:\s/][^:\s]{0,200}(?::\w{1,8})?")
_SETTING = re.compile(r"[A-Za-z]\w{0,40}[.-][\w.-]{1,60}=")
_END_OF_TEST: Final = frozenset(("]", "]]"))
_ASKS: Final = frozenset(("-v", "-V"))
#: How a file is named in the head of a difference: ``--- a/hello``.
_HEADS_OF_DIFFERENCE: Final = frozenset(("---", "+++"))
#: The last element of a list in a string: ``X="[\"$a\",\"$b\"]"``.
_ENDS_LIST = re.compile(r"\$[\w{}]{1,80}\]")
_DRIVE = re.compile(r"[A-Za-z]:/")


def substitutes(source: Source, line: Line) -> bool:
    """Whether backquotes on this line run what they enclose."""
    return line.code and source.language(line.first) not in _PLAIN_BACKQUOTES


def is_quoted(source: Source, number: int) -> bool:
    """Whether the backquotes of line ``number`` (from 0) only quote what they enclose: in a comment of a script, escaped in a
    string, or beside other words in a block that names no language."""
    raw = source.lines[number].strip()
    if source.markdown and not source.language(number) and not (raw[:1] == raw[-1:] == "`"):
        return True
    return raw.startswith("#") or ("\\`" in raw and "`" not in raw.replace("\\`", ""))


def is_printed(source: Source, number: int, word: str) -> bool:
    """Whether a substitution (``$()``) or a variable on line ``number`` (from 0) is a part of a text: of a value in quotes
    (``X="Basic $(…)"``), behind a line end in a string (``X="a\\n$x"``), or in lines that ``cat <<EOF`` prints."""
    raw = source.lines[number]
    if source.markdown and source.language(number) not in _SHELL_LANGUAGES:
        return False
    if word == "$()" and _QUOTED_VALUE.match(raw) is not None:
        return True
    if word != "$()" and f"\\n{word}" in raw:
        return True
    printed = _PRINTED_STRING.match(raw)
    if printed is not None and _GOES_ON.search(raw, printed.end()) is None:
        return not any(map(interpreters.is_interpreter, raw.split()))
    return _stands_in_printed_lines(source.lines, number)


def _stands_in_printed_lines(lines: Sequence[str], number: int) -> bool:
    for above in range(number - 1, max(-1, number - _PRINTED_LINES), -1):
        begun = _PRINTS_LINES.fullmatch(lines[above]) if "<<" in lines[above] else None
        if begun is not None:
            into = begun["into"] or begun["behind"] or ""
            if into and not is_data(file_name(into)):
                return False  # what is printed into a script may run
            return begun["end"] not in (text.strip() for text in lines[above + 1 : number])
    return False


def is_given(source: Source, line: Line, command: shell.Command, word: shell.Word) -> bool:
    """Whether a word is what a command reads, or is given behind a string of several lines."""
    if line.text[: word.start].rstrip(" \t'\"").endswith("<<<"):
        return True
    above, cut, own = line.text[: command.words[0].start].rpartition(BREAK)
    return line.code and not own.strip() and source.begins_in_argument(line.first + above.count(BREAK) + len(cut))


def is_behind_code(source: Source, line: Line, word: shell.Word) -> bool:
    """Whether a word is an argument of code in quotes that ends in the word's line: ``' "$code"`` behind ``python3 -c '``."""
    above, cut, _ = line.text[: word.start].rpartition(BREAK)
    number = line.first + above.count(BREAK) + len(cut)
    if not cut or number >= len(source.lines):
        return False
    closes = source.lines[number].lstrip().startswith(("'", '"'))
    return closes and source.begins_in_argument(number)


def is_sentence(line: Line, command: shell.Command, at: int) -> bool:
    """Whether an interpreter's name is a part of a sentence: its first word (``Source``), or a dot that ends another one, since
    no path and no value follows (``[x](…). This means …``)."""
    name = command.words[at].text
    if name == "Source":
        return True
    if line.code or name != ".":
        return False
    following = command.words[at + 1 : at + 2]
    return not following or not (following[0].children or any(mark in following[0].text for mark in "/$.~"))


def is_named_only(line: Line, command: shell.Command) -> bool:
    """Whether a path is only named: alone in the cell of a table, as a place, or a type of content (``application/json``)."""
    if _MEDIA_TYPE.match(command.words[0].text) is not None:
        return True
    if line.code or len(command.words) != 1:
        return False
    if not command.words[0].text.startswith("./"):
        before = line.text[: command.words[0].start]
        after = line.text[command.end : command.end + _TOLD]
        if _EXPLAINED.match(after) is not None and not before.strip(" -*`\t"):
            return _TELLS_TO_START.search(after) is None
        if _SENTENCE.search(before[-_SENTENCE_END:]) is not None and _FOREIGN_LETTER.search(before) is None:
            return _TELLS_TO_START.search(before[-_TOLD:]) is None
    return line.text.lstrip().startswith("|")


def is_title(command: shell.Command, index: int) -> bool:
    """Whether a program's name begins its help: ``tool - What it does``."""
    return _TITLE.match(" ".join(command.texts()[index + 1 : index + 3])) is not None


def starts_nothing(source: Source, line: Line, command: shell.Command, index: int) -> bool:
    """Whether the word that a command seems to run is none: a volume, a setting, the rest of a test, a pattern, an address."""
    word = command.words[index]
    if _VOLUME.fullmatch(word.text) is not None or _is_explained(command, index):
        return True
    if not line.code and _is_place(source, line, command, index):
        return True
    if _SETTING.match(word.text) is not None or command.words[-1].text in _END_OF_TEST:
        return True  # ``input-file=PATH`` of a file of settings, or the rest of ``[[ a || "$b" -gt 1 ]]``
    before = command.texts()[:index]
    if word.text.startswith("$") and "command" in before and not _ASKS.isdisjoint(before):
        return True  # where it is, is only asked
    if "*" in word.text and source.markdown and not source.language(line.first):
        return True  # a pattern of paths, in a sentence
    if line.text[: word.start].strip() in _HEADS_OF_DIFFERENCE:
        return True
    return is_address(word.text) or _ENDS_LIST.fullmatch(word.text) is not None


def _is_explained(command: shell.Command, index: int) -> bool:
    """Whether a name is followed by words in parentheses, which no command is: ``- jq (reads JSON)``."""
    after = command.words[index + 1 : index + 2]
    return bool(after) and after[0].text == "$()" and [child.opened for child in after[0].children] == ["("]


def _is_place(source: Source, line: Line, command: shell.Command, index: int) -> bool:
    """Whether a path in a sentence is a place, not a program: neither its name nor words before say that it is run, and no
    option follows. The item's own files are what a sentence is about."""
    word = command.words[index]
    if _TELLS_TO_START.search(line.text[max(0, word.start - _TOLD) : word.start]) is not None:
        return False
    if "/" not in word.text or any(after.text[:1] == "-" for after in command.words[index + 1 :]):
        return False
    if word.text.removeprefix("./") in source.files:
        return True
    return not (word.text.startswith("./") or word.text.lower().endswith((*PROGRAM_SUFFIXES, *SCRIPT_SUFFIXES)))


def is_address(text: str) -> bool:
    """Whether a word is the address of a page, not a path with a drive: ``C:/…``."""
    return "://" in text and not _DRIVE.match(text)
