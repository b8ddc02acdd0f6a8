"""A file's text with its constants written out, line for line: ``"cu" + "rl"``, ``$'\\x63url'``, ``[char]105``, ``{{ name }}``.

A command, a path or an order can be spelled in ways that its reader undoes without any secret: strings that are put together,
numbers of characters, names with a literal value, elements of a list or a table, escapes of a shell or of JSON, patterns that
only one program matches, holes of a template, make's own variables, and markup inside words. Here each of them becomes what it
stands for. Nothing is evaluated, every repetition is capped, and no line is added or removed. The rules read the file as it is,
and as it is spelled out if that differs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from rye.text.facts import decoders, fetchers, interpreters
from rye.text.facts.markup import referred, without_unseen
from rye.text.facts.source import Source
from rye.text.facts.tables import triggers, word_set

MODULES: Final = (
    r"(?:node:)?(?:os|subprocess|child_process|builtins|importlib(?:\.util)?|runpy|marshal|pickle|types|code|vm|socket|net|tls|"
    r"requests|httpx|urllib3?(?:\.request)?|urllib2|aiohttp|http|https|http\.client|axios|got|node-fetch|undici|needle|superagent|"
    r"base64|binascii|codecs|zlib|gzip|bz2|lzma|worker_threads|module)"
)
"""Modules whose functions fetch, decode or run; without ``node:``."""
PROPERTIES: Final = (
    r"(?:eval|exec|execSync|execFile|execFileSync|spawn|spawnSync|system|popen|Popen|check_output|run|call|Function|constructor|"
    r"compile|get|post|request|fetch|urlopen|atob|b64decode|decompress|loads|child_process|runInThisContext|runInNewContext|"
    r"require|_load|text|content|read|decode)"
)
"""Names of functions and attributes that matter."""
_RECORDS: Final = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".log", ".svg", ".gif", ".png", ".pdf")
_LARGEST_RECORDS: Final = 64_000
"""Larger files of records and pictures spell nothing that runs."""
_NAME: Final = r"[A-Za-z_$][\w$]{0,60}"
_STRING: Final = r"[\"'`][^\"'`\n]{0,80}[\"'`]"
_MOST_TABLES: Final = 64
_LONGEST: Final = 200
"""How long a value can be that takes the place of its name."""

_JOINED = re.compile(
    r"[\"'`](?:[ \t]?\+[ \t]?(?:[rbuf](?=[\"']))?[\"'`]|(?<=\w[\"'])[ \t]?\.[ \t]?[\"'](?=\w))"
)
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
_WORDS = re.compile(r"[\"'`]([^\"'`\n]{0,80})[\"'`]")
#: A plus next to a string, and PHP's and Perl's dot between two.
_PLUS = re.compile(r"\+(?:(?=[ \t]?[\"'`])|(?<=[\"'`]\+)|(?<=[\"'`][ \t]\+))")
_DOTS: Final = ('" . "', "' . '", '"."', "'.'")


def spelled(source: Source) -> Source:
    """Return the file with its constants written out; the file itself if that changes nothing. Computed once."""
    known: Source | None = source.kept.get("spelled")
    if known is None:
        text = _spelled(source)
        known = source if text == source.text else Source(source.path, text, source.files)
        known.run_lines, known.saved = source.run_lines, source.saved
        source.kept["spelled"] = known.kept["spelled"] = known
    return known


def filled(source: Source) -> Source:
    """Return the file with the known values of its shell variables in their places, where paths and switches are put together."""
    source = spelled(source)
    known: Source | None = source.kept.get("filled")
    if known is None:
        names = source.names
        known = source
        numbers = {source.line_at(at) for at in source.uses(names.values)} if names.values else set()
        if numbers:
            lines = list(source.lines)
            for number in numbers:
                lines[number] = names.filled_in(lines[number], 0)
            text = _where_it_matters(source, "\n".join(lines))
            known = source if text == source.text else Source(source.path, text, source.files)
        source.kept["filled"] = known.kept["filled"] = known
    return known


def _spelled(source: Source) -> str:
    text = source.text
    if len(text) > _LARGEST_RECORDS and source.path.lower().endswith(_RECORDS):
        return text
    text = _with_neighbours(source)
    text = _with_values(_with_whole_strings(text), source.words)
    if "$'" in text:
        text = _ANSI.sub(_ansi, text)
    if "/" in text and _HAS_PATTERN.search(text) is not None:
        text = _PATTERN_PATH.sub(_program, text)
    if "$(" in text and not _FILTERS.isdisjoint(source.words):
        text = _PIPED_WORD.sub(_filtered, text)
    if "set -- " in text:
        text = _positional(text)
    if source.path.lower().endswith((".ps1", ".psm1")) or not _POWERSHELL_WORDS.isdisjoint(source.words):
        text = _powershell(text)
    text = _in_lines(text, _REPLACES, _with_replaced)
    name = source.path.rpartition("/")[2].lower()
    if not source.markdown and "{{" in text:
        text = _HOLE.sub(r"$\1", text)
    if name in _MAKE_FILES or name.endswith((".mk", ".just")):
        return _QUIET.sub("", _made(text))
    if name == "cmakelists.txt" or name.endswith(".cmake"):
        text = _CMAKE_PIPED.sub(" | ", _CMAKE_COMMAND.sub("; ", _CMAKE_DOWNLOAD.sub(r"curl -o \2 \1 ;", text)))
    if name.endswith((".yml", ".yaml")) and "get_url" in text:
        text = _GET_URL.sub(_get_url, text)
    if text != source.text:
        text = _where_it_matters(source, text)
    if not text.isascii() and _LOOK_ALIKE.search(text) is not None:
        text = _LOOK_ALIKE_LINE.sub(_as_latin, text)
    if source.marked:
        lines = text.split("\n")
        for number in source.marked:
            if not source.is_code(number):
                lines[number] = without_unseen(referred(lines[number]))
        text = "\n".join(lines)
    return text


def _where_it_matters(source: Source, text: str) -> str:
    """The text with those lines spelled out that then name something a rule looks for; the other lines as they are."""
    old, new = source.lines, text.split("\n")
    if len(old) != len(new):
        return source.text
    for number, line in enumerate(new):
        if line != old[number]:
            words = _WORDS_OF_LINE.findall(line.lower())
            before = _WORDS_OF_LINE.findall(old[number].lower())
            if (
                _INSTALL.isdisjoint(before)
                and not any(word in _MATTERS and words.count(word) > before.count(word) for word in words[:_MOST_VALUES])
                and not _HOLE.search(old[number])
            ):
                new[number] = old[number]
    return "\n".join(new)


_INSTALL: Final = word_set("npx uvx bunx pnpx pipx pip pip3 npm pnpm yarn dlx")
"""In a line with one of these, any name can be the one of a package."""
_INSTALL_WORDS: Final = triggers(_INSTALL)
_WORDS_OF_LINE = re.compile(r"[a-z_][a-z0-9_]+")
_MATTERS: Final = (
    fetchers.PROGRAMS
    | decoders.PROGRAMS
    | interpreters.SHELLS
    | interpreters.LANGUAGES
    | frozenset(re.findall(r"[a-z_]{3,}", f"{PROPERTIES} {MODULES}".lower()))
    | word_set(
        "http https ftp iex irm iwr icm invoke expression restmethod webrequest command start process npx uvx bunx pnpx pipx pip npm pnpm yarn "
        "docker install git clone gh kubectl helm cargo go gem brew crontab systemctl launchctl schtasks reg builtins __builtins__ __import__ "
        "import_module importlib urllib request base64_decode gzinflate assert passthru shell_exec proc_open constructor function "
        "ssh aws credentials gnupg kube docker netrc npmrc pypirc env id_rsa id_ed25519 id_dsa id_ecdsa login keychain keychains wallet wallets "
        "gcloud azure bashrc bash_profile profile zshrc zshenv zprofile bash_login config claude codex gemini cursor agents settings launchagents "
        "launchdaemons systemd autostart hooks memory soul tcp udp environ metadata cookies logins key4 dangerously yolo skip permissions verify "
        "insecure sudo chmod quarantine rimraf rm"
    )
) - word_set("at command call run")


# Strings of programs.


def _with_neighbours(source: Source) -> str:
    """The text with Python's strings that stand side by side as one. To a shell they are two words."""
    text = source.text
    if source.path.endswith(".py"):
        return _SIDE_BY_SIDE.sub("", text)
    if "__import__(" not in text and "getattr(" not in text:
        return text
    return _CALL_OF_STRINGS.sub(lambda match: _SIDE_BY_SIDE.sub("", match[0]), text)


_CALL_OF_STRINGS = re.compile(r"^[^\n]{0,400}?(?:__import__|getattr)\([^\n]{0,800}", re.MULTILINE)

def _with_whole_strings(text: str) -> str:
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
    return _name(
        match, "".join(chr(int(number, 0) % 128) for number in re.findall(r"0x[0-9a-fA-F]+|[1-9]\d*", match[1]))
    )


def _character(match: re.Match[str]) -> str:
    character = chr(int(match[1], 0) % 128)
    joined = "+" if match[0].rstrip()[-1:] in "+." else ""
    return f"'{character}'{joined}" if character.isalnum() or character in "._/: -" else match[0]


def _words(match: re.Match[str]) -> str:
    between = match["between"] if "between" in match.re.groupindex else ""
    return _name(match, between.join(_WORDS.findall(match[match.re.groups])))


def _backwards(match: re.Match[str]) -> str:
    return _name(match, (match[1] or match[2])[::-1])


def _name(match: re.Match[str], value: str) -> str:
    """The name that is spelled in another way. Longer text stays: that it is encoded is what matters about it."""
    return f"'{value}'{_breaks(match)}" if _SPELLED.fullmatch(value) is not None else match[0]


def _breaks(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


_SPELLED = re.compile(
    rf"{PROPERTIES}|{MODULES}|base64_decode|assert|[0-9.]{{7,15}}|https?://[\w.:/-]{{3,60}}|(?:[~.]?[\w-]{{0,20}}/){{1,4}}[\w.-]{{1,40}}|"
    r"urllib|request|curl|wget|(?:ba|z|da|k)?sh|python3?|powershell|pwsh|iex|irm|iwr|Invoke-\w{2,20}|Start-Process|"
    r"\.[a-z]\w{2,20}(?:/\w{2,20}){0,2}|id_\w{2,8}|credentials|Login Data|__\w{3,20}__"
)
_STRINGS: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    ("fromCharCode", _CODES, _codes),
    ("bytes([", _CODES, _codes),
    ("chr(", _CHARACTERS, _character),
    (".join(", _PYTHON_JOIN, _words),
    (".join(", _SCRIPT_JOIN, _words),
    ("[::-1]", _REVERSED, _backwards),
    ("reverse", _REVERSED, _backwards),
)

# Names with a literal value.

_AFTER = re.compile(rf"(?P<quote>[\"'`])[ \t]?\+[ \t]?(?P<name>{_NAME})(?![\w(.\[$])")
_BEFORE = re.compile(rf"(?<![\w.)\]\"'`$])(?P<name>{_NAME})[ \t]?\+[ \t]?(?P<quote>[\"'`])")
_BOTH = re.compile(rf"(?<![\w.)\]\"'`$+])(?:{_NAME})(?:[ \t]?\+[ \t]?{_NAME}){{1,12}}(?![\w(.\[$])")
_FORMATTED = re.compile(r"\b[rR]?[fF](?:\"[^\"\n]{0,400}\"|'[^'\n]{0,400}')|`[^`\n]{0,400}`")
_IN_FORMATTED = re.compile(rf"\$?\{{\s?({_NAME})(?:![rsa])?\s?\}}")
_ELEMENT = re.compile(
    rf"(?<![\w$.])(?P<name>{_NAME})(?:\[(?:(?P<number>\d{{1,3}})|[\"'`](?P<key>[\w-]{{1,40}})[\"'`])\]|\.(?P<attribute>[A-Za-z_]\w{{0,40}})(?!\w|\s?\())(?!\s{{0,4}}=[^=])"
)
_JOINED_BY_NAME = re.compile(
    rf"[\"'](?P<between>[^\"'\n]{{0,3}})[\"']\.join\(\s*(?P<a>{_NAME})\s*\)|(?<![\w$.])(?P<b>{_NAME})\.join\(\s*[\"'`](?P<other>[^\"'`\n]{{0,3}})[\"'`]\s*\)"
)
_ARGUMENT = re.compile(rf"(?<=[\[(,])([ \t]?)({_NAME})(?=[ \t]?[,\])])")
_CALLS: Final = re.compile(
    r"\b(?:subprocess\.\w{2,12}|spawn(?:Sync)?|exec(?:File)?(?:Sync)?|Popen|system|popen|run|call|check_call|check_output|exec\.Command|Command::new)\([^\n]{0,400}"
)
#: What stands behind a name and an equals sign: a string, a list of strings, a table of them.
_VALUE = re.compile(
    rf"[rbu]?(?P<quote>[\"'`])(?P<string>[^\"'`\n\\]{{1,200}})(?P=quote)\s{{0,4}}(?=[;,)\n]|$)|"
    rf"[\[(](?P<list>(?:\s{{0,8}}{_STRING}\s{{0,4}},?){{1,60}})\s{{0,8}}[\])]|"
    rf"\{{(?P<table>(?:\s{{0,8}}[\"'`]?[\w-]{{1,40}}[\"'`]?\s{{0,4}}:\s{{0,4}}{_STRING}\s{{0,4}},?){{1,40}})\s{{0,8}}\}}"
)
_SEVERAL = re.compile(
    rf"[ \t]*(?:const |let |var )?[\[(]?({_NAME}(?:,[ \t]?{_NAME}){{1,8}})[\])]?[ \t]?=[ \t]?[\[(]?({_STRING}(?:,[ \t]?{_STRING}){{1,8}})[\])]?;?[ \t]*(?=\n|$)"
)
_ENTRY = re.compile(rf"[\"'`]?([\w-]{{1,40}})[\"'`]?\s{{0,4}}:\s{{0,4}}({_STRING})")
#: What a line has in which a name can be a part of a string, an element or an argument of a call that starts a program.
_FORMATS: Final = ('f"', "f'")
_ELEMENTS: Final = ("[0]", "[1]", "[2]", "[3]", "[_")
_CALL_PARTS: Final = ("subprocess.", "spawn", "execFile", "Popen(", "exec.Command(", "Command::new(", "system(")
_CALL_WORDS: Final = triggers("subprocess spawn spawnsync execfile execfilesync popen exec command system")
_MOST_LINES: Final = 256
_LINE: Final = 2_000
_Value = str | list[str] | dict[str, str]


def _with_values(text: str, words: frozenset[bytes]) -> str:
    """The text with strings that are put together as one, and with names that hold literal strings, where they are parts of
    longer ones, elements of lists or arguments."""
    parts: list[str] = []
    if '"." ' in text or "'.'" in text or " . " in text:
        parts += _DOTS
    numbers = _lines_of((match.start() for match in _PLUS.finditer(text)), text) if "+" in text else []
    joined = sorted({*numbers, *_lines_with(text, parts)}) if parts else numbers
    if joined:
        lines = text.split("\n")
        for number in joined:
            lines[number] = _JOINED.sub("", lines[number])
        text = "\n".join(lines)
    parts = [mark for mark in (".join(", ".format(") if mark in text]
    if "{" in text:
        parts += _FORMATS
    if not _CALL_WORDS.isdisjoint(words):
        parts += _CALL_PARTS
    if ("[0]" in text or "[1]" in text or "[_" in text or _TABLE_USED.search(text) is not None) and _LISTS.search(text):
        parts += (*_ELEMENTS, "[") if _TABLE_USED.search(text) is not None else _ELEMENTS
    values = _literals(text, not _INSTALL_WORDS.isdisjoint(words)) if numbers or parts else {}
    if not values:
        return text
    numbers = sorted({*numbers, *_lines_with(text, parts)})
    lines = text.split("\n")
    for number in numbers:
        if len(lines[number]) <= _LINE:
            lines[number] = _line_with_values(lines[number], values)
    return "\n".join(lines)


_LISTS = re.compile(r"=[ \t]?[\[({]")
_TABLE_USED = re.compile(rf"\[\s?{_NAME}(?:\.{_NAME}|\[[\"'`\d])")


def _lines_with(text: str, marks: Sequence[str]) -> list[int]:
    """The numbers of the lines that have one of these marks, in order; at most ``_MOST_LINES``."""
    places: list[int] = []
    for mark in marks:
        at = text.find(mark)
        while at >= 0 and len(places) < _MOST_LINES:
            places.append(at)
            end = text.find("\n", at)
            at = text.find(mark, end) if end >= 0 else -1
    return _lines_of(sorted(places), text)


def _lines_of(places: Iterable[int], text: str) -> list[int]:
    """The numbers of the lines of these offsets, which are in order; at most ``_MOST_LINES``."""
    numbers: list[int] = []
    number = last = 0
    for place in islice(places, _MOST_LINES):
        number += text.count("\n", last, place)
        last = place
        if not numbers or numbers[-1] != number:
            numbers.append(number)
    return numbers


def _in_lines(text: str, marks: Sequence[str], change: Callable[[str], str]) -> str:
    """The text with the lines changed that have one of these marks."""
    numbers = _lines_with(text, marks)
    if not numbers:
        return text
    lines = text.split("\n")
    for number in numbers:
        if len(lines[number]) <= _LINE:
            lines[number] = change(lines[number])
    return "\n".join(lines)


_ASSIGNS = re.compile(r"=[ \t]?(?=[rbu]?[\"'`\[({])")
_NAMED = re.compile(rf"({_NAME})(?:\s?:\s?[\w\[\], .]{{1,40}})?\s?:?$")
_MOST_VALUES: Final = 256


def _literals(text: str, every: bool) -> dict[str, _Value]:
    """The names to which a text assigns a literal string, a list of strings or a table of them; the first assignment counts.
    ``every``: also those whose value names nothing that a rule looks for."""
    values: dict[str, _Value] = {}
    for opening in islice(_ASSIGNS.finditer(text), _MOST_VALUES):
        at = opening.start()
        match = _VALUE.match(text, opening.end())
        begin = text.rfind("\n", max(0, at - _LINE), at) + 1
        several = _SEVERAL.match(text, begin) if text.find(",", begin, at) >= 0 else None
        if several is not None:
            for name, value in zip(re.findall(_NAME, several[1]), _WORDS.findall(several[2]), strict=False):
                values.setdefault(name, value)
        elif match is not None and (every or len(match[0]) <= _FRAGMENT or _may_matter(match[0])):
            named = _NAMED.search(text[max(begin, at - _HEAD) : at])
            if named is not None:
                values.setdefault(named[1], _value(match))
    return values


def _may_matter(value: str) -> bool:
    return any(word in _MATTERS for word in _WORDS_OF_LINE.findall(value.lower()))


_FRAGMENT: Final = 8
"""A literal up to this length, with its quotes, can be a part of any word."""


_HEAD: Final = 100


def _value(match: re.Match[str]) -> _Value:
    if match["string"] is not None:
        return match["string"]
    if match["list"] is not None:
        return _WORDS.findall(match["list"])
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
        known = [string(name) for name in re.findall(_NAME, match[0])]
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
    return f"'{value}'" if value and len(value) <= _LONGEST else match[0]


def _element(match: re.Match[str], values: Mapping[str, _Value]) -> str:
    items = values.get(match["name"])
    value: str | None = None
    if isinstance(items, list) and match["number"] is not None:
        number = int(match["number"])
        value = items[number] if number < len(items) else None
    elif isinstance(items, dict):
        value = items.get(match["key"] or match["attribute"])
    return match[0] if value is None else f"'{value}'"


# Shells.

_ANSI = re.compile(r"(?<![\w$\"'\\])\$'((?:[^'\\\n]|\\[^\n]){1,400})'")
_ANSI_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{2,4})|([0-3]?[0-7]{2})|(.))")
_PATTERN_PATH = re.compile(r"(?<![\w.?*\]\[/-])((?:/[\w?*\[\]]{1,12}){1,3})/([\w?*\[\]]{2,12})(?=[\s|;&)\"'`]|$)", re.MULTILINE)
_HAS_PATTERN = re.compile(r"/[\w*]{0,10}[?\[][\w*?\[\]]{0,10}")
_FILTERS: Final = triggers("rev tr sed")
_BY_PATTERN: Final = ("curl", "wget", "bash", "sh", "dash", "zsh", "python3", "perl", "base64", "xxd", "nc", "node")
_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin", "/sbin")
_PIPED_WORD = re.compile(
    r"\$\(\s{0,4}(?:(?:echo|printf)\s+(?:-n\s+|[\"']?%s[\"']?\s+)?(?P<quote>[\"']?)(?P<text>[^\"'`|$\n()]{1,80})(?P=quote)\s{0,4}\|\s{0,4}(?P<filter>rev|tr\s[^|()\n]{1,80}|sed\s[^|()\n]{1,80})|"
    r"(?P<other>rev|tr\s[^|()<\n]{1,80}|sed\s[^|()<\n]{1,80})\s{0,4}<<<\s{0,4}(?P<mark>[\"']?)(?P<words>[^\"'`|$\n()]{1,80})(?P=mark))\s{0,4}\)"
)
_SUBSTITUTES = re.compile(r"s(?P<by>[^\w\s\\])(?P<old>[^\n]{1,20}?)(?P=by)(?P<new>[^\n]{0,20}?)(?P=by)g?$")
_SET = re.compile(r"^[ \t]*set[ \t]+--[ \t]+([^\n;&|<>()`]{1,400})$", re.MULTILINE)
_POSITIONAL = re.compile(r"\"?\$(?:([1-9@*])|\{([1-9@*])\})\"?")
_HEADS_FUNCTION = re.compile(r"\b[\w-]+[ \t]*\(\)[ \t]*\{|\bfunction[ \t]+\w")


def _ansi(match: re.Match[str]) -> str:
    """bash's ``$'\\x63url'`` and ``$'\\143url'`` as the string that it is."""
    return "'" + _ANSI_ESCAPE.sub(_ansi_character, match[1]) + "'"


def _ansi_character(match: re.Match[str]) -> str:
    if match[4]:
        return {"n": " ", "t": " ", "\\": "\\"}.get(match[4], match[0] if match[4] in "'\"" else match[4])
    character = chr(int(match[1] or match[2], 16) if match[1] or match[2] else int(match[3], 8) % 256)
    return character if character.isprintable() and character not in "'\"`\\" else " "


def _program(match: re.Match[str]) -> str:
    """``/usr/bin/c?rl`` as the program that it means."""
    folder, name = match[1], match[2]
    if not any(mark in folder + name for mark in "?["):
        return match[0]
    if not any(fnmatchcase(known, folder) for known in _FOLDERS):
        return match[0]
    found = next((known for known in _BY_PATTERN if fnmatchcase(known, name)), None)
    return match[0] if found is None else f"/usr/bin/{found}"


def _filtered(match: re.Match[str]) -> str:
    """``$(echo lruc | rev)`` and ``$(tr x u <<< cxrl)`` as the word that it makes."""
    words = (match["text"] or match["words"]).strip()
    name, _, rest = (match["filter"] or match["other"]).strip().partition(" ")
    arguments = rest.replace('"', " ").replace("'", " ").split()
    made = words[::-1] if name == "rev" else _translated(words, arguments) if name == "tr" else _replaced(words, rest)
    made = made.strip()
    return made + _breaks(match) if made and re.fullmatch(r"[\w./:~-]{2,80}(?: [\w./:~-]{1,80}){0,6}", made) else match[0]


def _translated(text: str, arguments: list[str]) -> str:
    if len(arguments) == 2 and arguments[0].startswith("-") and "d" in arguments[0]:
        return "".join(character for character in text if character not in _set(arguments[1]))
    if len(arguments) != 2:
        return ""
    old, new = _set(arguments[0]), _set(arguments[1])
    new += new[-1:] * (len(old) - len(new))
    return text.translate({ord(a): b for a, b in zip(old, new, strict=False)})


def _set(words: str) -> str:
    words = words.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9")

    def between(match: re.Match[str]) -> str:
        return "".join(map(chr, range(ord(match[1]), min(ord(match[2]), ord(match[1]) + 127) + 1)))

    return re.sub(r"([ -~])-([ -~])", between, words)


def _replaced(text: str, command: str) -> str:
    match = _SUBSTITUTES.search(command.strip().removeprefix("-E ").strip("\"' "))
    return text.replace(match["old"], match["new"]) if match is not None else ""


def _positional(text: str) -> str:
    """What ``set --`` gives to ``"$@"`` and ``$1``, up to the next one or a function, whose parameters are its own."""
    parts, done = [], 0
    for match in islice(_SET.finditer(text), _MOST_TABLES):
        words = match[1].split()
        follows = _SET.search(text, match.end())
        heads = _HEADS_FUNCTION.search(text, match.end())
        end = min(follows.start() if follows else len(text), heads.start() if heads else len(text))
        if match.start() < done:
            continue

        def meaning(used: re.Match[str], words: list[str] = words) -> str:
            which = used[1] or used[2]
            if which in "@*":
                return " ".join(words)
            return words[int(which) - 1] if int(which) <= len(words) else used[0]

        parts += [text[done : match.end()], _POSITIONAL.sub(meaning, text[match.end() : end])]
        done = end
    return "".join((*parts, text[done:]))


# PowerShell.

_COMMANDS: Final = (
    *("Invoke-Expression", "Invoke-RestMethod", "Invoke-WebRequest", "Invoke-Command", "Start-Process", "Start-BitsTransfer"),
    *("Invoke-Item", "New-Object", "Get-Content", "iex", "irm", "iwr", "icm", "saps", "curl", "wget", "IEX"),
)
_NUMBERS: Final = r"(?:0x[0-9a-fA-F]{2}|\d{2,3})(?:\s{0,4},\s{0,4}(?:0x[0-9a-fA-F]{2}|\d{2,3})){1,200}"
_CHAR_ARRAY = re.compile(
    rf"(?:-join\s{{0,4}})?\(?\s{{0,4}}(?:-join\s{{0,4}}\(?\s{{0,4}})?\[char\[\]\]\s{{0,4}}\(?\s{{0,4}}({_NUMBERS})\s{{0,4}}\)?\s{{0,4}}\)?(?:\s{{0,4}}-join\s{{0,4}}(?:''|\"\"))?"
    rf"|\(?\s{{0,4}}({_NUMBERS})\s{{0,4}}\)?\s{{0,4}}\|\s{{0,4}}(?:%|foreach(?:-object)?)\s{{0,4}}\{{\s{{0,4}}\[char\]\s{{0,4}}\$_\s{{0,4}}\}}\s{{0,4}}\)?(?:\s{{0,4}}-join\s{{0,4}}(?:''|\"\"))?",
    re.IGNORECASE,
)
_CHARS = re.compile(r"(?:\[char\]\s{0,4}\(?\s{0,4}(?:0x[0-9a-fA-F]{2}|\d{2,3})\s{0,4}\)?\s{0,4}\+?\s{0,4}){2,200}", re.IGNORECASE)
_NUMBER = re.compile(r"0x[0-9a-fA-F]{2}|\d{2,3}")
_STRINGS_JOINED = re.compile(
    r"(?:-join\s{0,4})\(\s{0,4}((?:[\"'][^\"'\n]{0,40}[\"']\s{0,4},?\s{0,4}){2,60})\)|\(\s{0,4}((?:[\"'][^\"'\n]{0,40}[\"']\s{0,4},?\s{0,4}){2,60})\)\s{0,4}-join\s{0,4}(?:''|\"\")",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"\(?\s{0,4}[\"']((?:\{\d{1,2}\}|[\w.:/-]){2,200})[\"']\s{0,4}-f\s{0,4}((?:[\"'][^\"'\n]{0,60}[\"']\s{0,4},?\s{0,4}){1,40})\)?",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:-join\s{0,4}\(?\s{0,4})?[\"']([\w:/. -]{2,60})[\"']\s{0,4}\[\s{0,4}-1\s{0,4}\.\.\s{0,4}-\d{1,3}\s{0,4}\]\s{0,4}\)?(?:\s{0,4}-join\s{0,4}(?:''|\"\"))?",
    re.IGNORECASE,
)
_REPLACED = re.compile(
    r"[\"']([^\"'\n]{2,100})[\"']\s{0,2}(?:\.replace(?:All)?\(\s?[\"']([^\"'\n]{1,10})[\"']\s?,\s?[\"']([^\"'\n]{0,10})[\"']\s?\)|-c?replace\s{1,4}[\"']([^\"'\n]{1,10})[\"']\s?,\s?[\"']([^\"'\n]{0,10})[\"'])",
    re.IGNORECASE,
)
_FROM_SETTINGS = re.compile(
    r"\(?\s{0,4}(?:\$env:(?:ComSpec|PSModulePath|Public)|\$PSHome|\$ShellId|\$VerbosePreference(?:\.ToString\(\))?)\s{0,4}\[[\d,\s-]{1,20}\](?:\s{0,4}\+\s{0,4}(?:\$\w{2,12}\[\d{1,2}\]|[\"']x[\"'])){0,3}(?:\s{0,4}-join\s{0,4}(?:''|\"\"))?\s{0,4}\)?",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"\(?\s{0,4}\b(?:get-command|gcm|get-alias|gal)\s+(?:-\w{2,12}\s+)?[\"']?([\w-]{0,30}[*?\[][\w*?\[\]-]{0,30})[\"']?\s{0,4}\)?(?:\.(?:Name|Definition))?",
    re.IGNORECASE,
)
_CALLED = re.compile(
    r"(?:(?<=[\s;|({=])|^)[&.][ \t]{0,4}\(?[ \t]{0,4}[\"']([A-Za-z][\w-]{1,30})[\"'][ \t]{0,4}\)?", re.MULTILINE
)


_POWERSHELL_WORDS: Final = triggers("powershell pwsh ps1 iex irm iwr invoke comspec")
_MARKS: Final = (
    *("[char", "[Char", "[CHAR", "-join", "-Join", "-f '", '-f "', "-f'", "..-", "ComSpec", "comspec", "PSHome", "PSHOME", "pshome"),
    *("et-Command", "et-command", "gcm ", "GCM ", "et-Alias", "gal ", "& '", '& "', "&'", "& (", "&(", ".('", ". ('", ".(\"", "ShellId"),
    *("VerbosePreference", "@{", ".'"),
)
_REPLACES: Final = (".replace(", ".Replace(", "-replace", ".replaceAll(")


def _powershell(text: str) -> str:
    """The text with what PowerShell puts together."""
    if "@{" in text:
        text = _hashed(text)
    return _in_lines(text, _MARKS, _powershell_line)


def _powershell_line(text: str) -> str:
    for pattern, make in (
        (_CHAR_ARRAY, lambda match: _command(match, _numbers(match[1] or match[2]))),
        (_CHARS, lambda match: _command(match, _numbers(match[0]), " " if match[0][-1:].isspace() else "")),
        (_STRINGS_JOINED, lambda match: _command(match, "".join(_WORDS.findall(match[1] or match[2])))),
        (_FORMAT, lambda match: _command(match, _formatted(match[1], _WORDS.findall(match[2])))),
        (_BACK, lambda match: _command(match, match[1][::-1])),
        (_FROM_SETTINGS, lambda match: f"'iex'{_breaks(match)}"),
        (_FOUND, lambda match: _command(match, _matching(match[1]))),
    ):
        text = pattern.sub(make, text)
    return _CALLED.sub(lambda match: f" {match[1]} ", text)


_HASH = re.compile(r"\$(\w{1,40})[ \t]{0,4}=[ \t]{0,4}@\{([^{}\n]{1,400})\}")
_PAIR = re.compile(r"[\"']?(\w{1,40})[\"']?[ \t]{0,4}=[ \t]{0,4}[\"']([^\"'\n]{1,80})[\"']")
_OF_HASH = re.compile(r"\$(\w{1,40})(?:\.(\w{1,40})|\[[ \t]?[\"'](\w{1,40})[\"'][ \t]?\])")


def _hashed(text: str) -> str:
    """PowerShell's tables: ``$t = @{ run = "iex" }`` and ``$t.run``."""
    tables = {match[1]: dict(_PAIR.findall(match[2])) for match in islice(_HASH.finditer(text), _MOST_TABLES)}

    def meaning(match: re.Match[str]) -> str:
        return tables.get(match[1], {}).get(match[2] or match[3], match[0])

    return _OF_HASH.sub(meaning, text) if tables else text


def _with_replaced(text: str) -> str:
    return _REPLACED.sub(
        lambda match: _command(match, match[1].replace(match[2] or match[4], match[3] or match[5] or "")), text
    )


def _numbers(text: str) -> str:
    return "".join(chr(int(number, 0) % 128) for number in (part.lstrip("0") if part[:2] not in ("0x", "0X") else part for part in _NUMBER.findall(text)) if number)


def _formatted(text: str, words: list[str]) -> str:
    return re.sub(r"\{(\d{1,2})\}", lambda match: words[int(match[1])] if int(match[1]) < len(words) else "", text)


def _matching(pattern: str) -> str:
    return next((name for name in _COMMANDS if fnmatchcase(name.lower(), pattern.lower())), "")


def _command(match: re.Match[str], value: str, more: str = "") -> str:
    """The name of a command, a program or an address that is spelled in another way; other text stays."""
    known = value.lower() in _COMMANDS_LOWERED or _SPELLED.fullmatch(value) is not None
    return f"'{value}'{more}{_breaks(match)}" if known else match[0]


_COMMANDS_LOWERED: Final = frozenset(name.lower() for name in _COMMANDS)

# Templates and make.

_HOLE = re.compile(r"\$?\{\{-?\s{0,4}\.?(?:(?:env|vars?|inputs?)\.)?([A-Za-z_]\w{0,60})\s{0,4}-?\}\}")
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
_LOOK_ALIKE = re.compile("[\uff01-\uff5e\U0001d400-\U0001d7ff\u2100-\u214f]|[A-Za-z][\u0370-\u04ff]|[\u0370-\u04ff][A-Za-z]")
_LOOK_ALIKE_LINE = re.compile(f"^[^\n]{{0,{_LINE}}}(?:{_LOOK_ALIKE.pattern})[^\n]{{0,{_LINE}}}", re.MULTILINE)
_LATIN: Final = str.maketrans("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u03bf\u03b1\u03b5\u03b9\u03bd\u03c1\u03c5", "aeopcyxijsdhABEKMHOPCTXoaeivpu")


def _as_latin(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFKC", match[0]).translate(_LATIN)


def _made(text: str) -> str:
    """A makefile as a shell would see its recipes: ``$@`` and ``$<``, ``$(NAME)``; what it includes, it runs."""
    lines = text.split("\n")
    target = first = ""
    for number, line in enumerate(lines):
        if line.startswith("\t"):
            lines[number] = (
                line.replace("$@", target).replace("$(@)", target).replace("$<", first).replace("$^", first).replace("$$", "$")
            )
            continue
        rule = _RULE.match(line)
        if rule is not None:
            target = rule[1].split()[0] if rule[1].split() else ""
            first = rule[2].split()[0] if rule[2].split() else ""
    return _INCLUDES.sub("make -f ", _MAKE_NAME.sub(r"$\1", "\n".join(lines)))
