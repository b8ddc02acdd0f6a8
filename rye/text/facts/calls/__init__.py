"""Calls in programs that run text: ``exec(requests.get(…).text)``, ``eval(atob(…))``, ``subprocess.run(["sh", saved])``.

These rules use windows of text instead of parsers: there are many languages, and the attacker chooses. ``kinds`` defines sources,
``running`` the calls that run something, and ``following`` tracks the names and files in between. A report needs both a
source and a call that runs it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from typing import Final

from rye.text.facts import interpreters
from rye.text.facts.calls import arguments
from rye.text.facts.calls.following import NAMES, ContentOrigin, Followed, base, first_argument
from rye.text.facts.calls.kinds import DECODED, FETCHED, OWN_FILE, Kind
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.calls.running import (
    PASSED,
    TIMER,
    evaluating,
    is_wrapper,
    run_words,
    running_calls,
    started_window,
    window_of,
)
from rye.text.facts.calls.scopes import by_language
from rye.text.facts.fact import CAUTION
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import word_set

__all__ = [
    "DECODED",
    "FETCHED",
    "NEAR_LINES",
    "Kind",
    "evaluating",
    "find",
    "is_no_call",
    "sources_in",
    "starts",
    "window_of",
]

_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,300})[\"'`]")
_RECORDS: Final = word_set("json jsonl ndjson csv tsv")
_PASSED = re.compile(PASSED)
#: What a started program is fed.
_FEEDS = re.compile(
    r"\.stdin\.(?:write|end|send)\(|\.communicate\(|\.pipe\(\s*(?=[\w$.]{1,60}\.stdin\b|[\w$.]{1,40}\()|\.(?:sendline|puts|fputs|fwrite)\("
)
_MOST_STARTED: Final = 64
NEAR_LINES: Final = 40
"""How many lines can lie between something that runs a text and what brings it in. Farther off, the same name, or no name at all,
says little: programs that only happen to do both are long."""
_BEFORE_CALL: Final = 120
"""How far before a timer the function that it stands in can begin."""
_DEFINED: Final = ("def ", "function ", "async ", "sub ", "fn ")
_QUOTES: Final = ("'", '"', "f'", 'f"', "`")
_ADDRESSES: Final = ("'http", '"http', "`http")


def find(source: Source, kind: Kind, fact: str) -> Iterator[RuleMatch]:
    """Yield every call that runs what a source of this kind brings in."""
    saved, source = source.saved[fact], resolved(source)
    if not (kind.words_in(source.text, source.words) or any(mark in source.text for mark in kind.marks)):
        return
    evaluates, started = running_calls(source)
    scripts = "createElement" in source.text and _SCRIPT_ELEMENT.search(source.text) is not None
    if not evaluates and not started and not scripts and len(source.files) == 1:
        return  # another file may run what this one saves
    if not sources_in(source, kind) and not _takes_addresses(source, kind, evaluates):
        return
    before = dict(saved)
    parts = list(by_language(source))
    for part in parts:
        yield from _find(part, kind, fact, saved, scripts=scripts)
    files = {name: origin for name, origin in saved.items() if name not in before} if len(parts) > 1 else {}
    if files:  # what an example in one language saves, an example in another one can run
        yield from starts(source, fact, files)


def _takes_addresses(source: Source, kind: Kind, evaluates: list[re.Match[str]]) -> bool:
    """Whether a call that evaluates takes an address, so that nothing else has to fetch."""
    return kind is FETCHED and any(
        _is_address(source, match, window_of(source.text, match.end())) for match in evaluates
    )


def _find(source: Source, kind: Kind, fact: str, saved: dict[str, Origin], *, scripts: bool) -> Iterator[RuleMatch]:
    """The same for a file whose names mean the same in all of it. ``scripts``: it makes script elements."""
    evaluates, started = running_calls(source)
    sources = sources_in(source, kind)
    if not sources and not _takes_addresses(source, kind, evaluates):
        return
    followed = Followed(source, kind, sources, kind is FETCHED)
    for name, place in followed.files.items():
        if "." in name or "-" in name or "_" in name:
            saved.setdefault(name, Origin(place.text, source.line_at(place.offset), 0))
    reported: set[int] = set()
    for match in evaluates:
        if match.start() in reported or is_no_call(source, match):
            continue
        window = window_of(source.text, match.end())
        begin = match.end()
        whole = window
        if _TAKES_FIRST.search(match[0]) is not None:
            window = first_argument(window)
        if _PASSED.match(window):
            begin = source.text_starts[source.line_at(match.start())]
            window = whole = source.text[begin : match.end()] + window
        direct = _is_direct(kind, sources, begin, window) or (kind is FETCHED and _is_address(source, match, window))
        origin = None if direct else _in_scope(source, _evaluated(window, followed, match), match)
        if origin is not None and _is_parameter_of_example(source, origin, match, window):
            origin = None
        if direct or origin is not None:
            reported.add(match.start())
            yield _found(source, fact, match, whole, origin)
    for match in started:
        window = started_window(source.text, match)
        if _LOADS_PACKAGE.match(match[0] + window[:_LOOKED_AT]) is not None or _is_condition(match, window):
            continue
        origin = _in_scope(source, _started(window, followed, match.start()), match)
        if match.start() not in reported and (origin is not None or _starts_source(kind, window)):
            reported.add(match.start())
            yield _found(source, fact, match, window, origin)
    if any(arguments.starts_interpreter(window_of(source.text, match.end())) for match in started[:_MOST_STARTED]):
        yield from _fed(source, fact, followed, sources)
    yield from _imported(source, fact, followed)
    if scripts:
        yield from _scripts(source, fact, followed)


def _scripts(source: Source, fact: str, followed: Followed) -> Iterator[RuleMatch]:
    """A script element whose text is foreign: ``s = document.createElement("script"); s.textContent = code``."""
    made = {match[1] for match in _SCRIPT_ELEMENT.finditer(source.text)}
    for match in _ELEMENT_TEXT.finditer(source.text) if made else ():
        origin = followed.names.at(match[2], match.start())
        if match[1] in made and origin is not None:
            yield _found(source, fact, match, "", origin)


_SCRIPT_ELEMENT = re.compile(r"([A-Za-z_$][\w$]{0,60})\s*=\s*document\.createElement\(\s*[\"'`]script[\"'`]\s*\)")
_ELEMENT_TEXT = re.compile(
    r"([A-Za-z_$][\w$]{0,60})\.(?:textContent|text|innerHTML|innerText|src)\s*=\s*([A-Za-z_$][\w$]{0,60})"
)


def _fed(source: Source, fact: str, followed: Followed, sources: list[int]) -> Iterator[RuleMatch]:
    """What is written to the standard input of a shell or a language that the program started."""
    for match in _FEEDS.finditer(source.text):
        number = source.line_at(match.start())
        begin, end = source.text_starts[number], source.text_starts[number + 1]
        at = bisect_left(sources, begin)
        line = source.text[begin:end].strip()
        held = (followed.names.at(name, begin) for name in NAMES.findall(line))
        origin = next((known for known in held if known is not None), None)
        if origin is not None or (at < len(sources) and sources[at] < end):
            yield _found(source, fact, match, window_of(source.text, match.end()), origin)


def _imported(source: Source, fact: str, followed: Followed) -> Iterator[RuleMatch]:
    """A module that the program saved and then imports by its name."""
    for name, origin in followed.files.items():
        stem = name.removesuffix(".py")
        if stem != name and stem.isidentifier():
            match = re.compile(rf"^[ \t]*(?:import|from)[ \t]+{stem}\b[^\n]{{0,80}}", re.MULTILINE).search(
                source.text, origin.offset
            )
            if match is not None:
                yield _found(source, fact, match, "", origin)


def starts(source: Source, fact: str, files: Mapping[str, Origin]) -> Iterator[RuleMatch]:
    """Yield every call that starts one of ``files``, which another file of the item brought in."""
    source = resolved(source)
    if not source.has(run_words(source)):
        return
    names = _named_files(source, files)
    for match in running_calls(source)[1]:
        window = started_window(source.text, match)
        origin = next(
            (
                found
                for name, is_file in arguments.runs(window)
                if (found := files.get(base(name)) or (None if is_file else names.get(name))) is not None
            ),
            None,
        )
        if origin is not None:
            line = source.line_at(match.start())
            value = f"{shown(plain(origin.text))} ; {shown(plain(match[0].lstrip() + window))}"
            yield RuleMatch(fact, value, line, match.start() - source.text_starts[line], CAUTION if origin.weak else "")


def _named_files(source: Source, files: Mapping[str, Origin]) -> dict[str, Origin]:
    """The names that a program gives to the paths of these files: ``TOOL = Path(__file__).parent / "bin" / "tool"``."""
    names: dict[str, Origin] = {}
    for match in _PATH_ASSIGNED.finditer(source.text):
        texts = map(base, _STRING.findall(match[2]))
        origin = next((files[text] for text in texts if text in files), None)
        if origin is not None:
            names.setdefault(match[1], origin)
    return names


_PATH_ASSIGNED = re.compile(
    r"^[ \t]*(?:(?:const|let|var|val|static|final|auto|local|my|private|public)[ \t]+){0,3}"
    r"(?:self\.|this\.)?([A-Za-z_$][\w$]{0,60})"
    r"(?:[ \t]?:[ \t]?[\w.&\[\]]{1,40})?[ \t]?:?=(?![=>])([^\n]{0,400})",
    re.MULTILINE,
)


def sources_in(source: Source, kind: Kind) -> list[int]:
    """Offsets of the sources of this kind in the text, in order. Computed once."""
    key = "decoded" if kind is DECODED else "fetched"
    known: list[int] | None = source.kept.get(key)
    if known is None:
        lines = set(source.lines_with(kind.words_in(source.text, source.words)))
        for mark in kind.marks:
            if mark in source.text:
                lines.update(number for number, raw in enumerate(source.lines) if mark in raw)
        starts = source.text_starts
        known = source.kept[key] = [
            match.start()
            for number in sorted(lines)
            for match in kind.pattern.finditer(source.text, starts[number], starts[number + 1])
            if _INSTALLED.search(source.text, max(starts[number], match.start() - _BEFORE_CALL), match.start()) is None
        ]
    return known


#: A package that is installed is no call: ``pip install aiohttp``.
_INSTALLED = re.compile(
    r"\b(?:pip3?|uv|npm|yarn|pnpm|bun|poetry|conda|gem|cargo)[ \t]+(?:pip[ \t]+)?(?:install|add|i)[ \t][\w \t=.<>~@/-]*\Z"
)
#: A package by its name, where a file would need a folder or a suffix: ``require('path')`` in a file that has a name ``path``.
_LOADS_PACKAGE = re.compile(r"\s*(?:require|import)\s*\(\s*([\"'`])(?:node:)?[a-z][\w-]{0,60}\1\s*\)")
_LOOKED_AT: Final = 120


#: What a worker, ``eval`` and ``exec`` run is the first argument: the others are names, or a function behind the name of a queue.
_TAKES_FIRST = re.compile(r"(?:\bWorker|(?<![\w.])(?:exec|eval))\s*\($")
#: A condition that a contract requires: ``require(a < b, "…")``.
_CONDITION = re.compile(r"[^=!<>?|&]{1,120}(?:[<>]=?|[!=]==?)[^=>?|&]")
#: The end of a string that ends in the middle of a call, which nothing continues: a pattern (``"eval($_GET" nocase``).
_ENDS_QUOTE = re.compile(r"[^\"'`()+\n]{0,60}[\"'`](?:\s*[,\])}]|[ \t]+[a-z]{2,12}\b|[ \t]*\n)")
#: What stands before a command of a shell. Its own ``eval`` is a word of another program elsewhere.
#: A step of a search, which names what it computes: ``| eval x=if(…)``.
_COMPUTES = re.compile(r"\w{1,60}\s?=\s?\w{1,20}\(|\w{1,60}\s?=\s?[\w.\"]{1,60}\s?[-+*/.]")
_BEFORE_COMMAND = re.compile(
    r"(?:^|[;&|(){}`\"'!=$]|\b(?:then|do|else|if|elif|while|until|time|sudo|command|builtin|exec|return|unless|or|and|&&)|-\w{0,3}[ce]|>|\$|%)\s*$"
)


def is_no_call(source: Source, match: re.Match[str]) -> bool:
    """Whether what looks like a call that evaluates is a definition, a word in a list, or another program's word."""
    if _is_definition(source.text, match.start()) or _is_argument(source, match) or _is_searched(source, match):
        return True
    if "Function" in match[0] and source.language(source.line_at(match.start())) in _FUNCTION_IS_TYPE:
        return True
    return _is_word_of_list(source.text, match, source.text[match.end() : match.end() + _LOOKED_AT])


def _is_word_of_list(text: str, match: re.Match[str], window: str) -> bool:
    """Whether the beginning of a call is a whole string: ``["eval(", "exec("]``, ``"Function (" in text``."""
    at = match.start() + len(match[0]) - len(match[0].lstrip())
    if at == 0 or text[at - 1] not in "\"'`":
        return False
    if window[:1] == text[at - 1] == "`":
        return True
    cut = _ENDS_QUOTE.match(window)
    return cut is not None and text[at - 1] in cut[0]


def _is_argument(source: Source, match: re.Match[str]) -> bool:
    """Whether ``eval`` in a script is an argument of a program: ``browser eval "document.title"``."""
    if not match[0].rstrip().endswith("eval"):
        return False
    number = source.line_at(match.start())
    before = source.text[source.text_starts[number] : match.start()]
    if before.rstrip().endswith("|") and _COMPUTES.match(source.text, match.end()) is not None:
        return True
    language = source.language(number)
    if language not in _SHELL_LANGUAGES and (language or not match[0][-1].isspace()):
        return False
    return _BEFORE_COMMAND.search(source.text[source.text_starts[number] : match.start()]) is None


def _is_searched(source: Source, match: re.Match[str]) -> bool:
    """Whether ``eval(`` is in a pattern that a program searches for, or in an expression of a search (``sum(eval(if(…)))``)."""
    line = source.text[source.text_starts[source.line_at(match.start())] : match.start()][-_BEFORE_CALL:]
    if _SEARCHES.search(line) is not None:
        return True
    return _SUMS.search(line) is not None and _CONDITIONS.match(source.text, match.end()) is not None


_SEARCHES = re.compile(
    r"(?:^|[\s|;&(`$])(?:[ef]?grep|rg|ag|ack|sed|findstr|select-string|sls)[ \t][^\"'\n]{0,80}([\"'])(?:(?!\1).)*$",
    re.IGNORECASE,
)
_SUMS = re.compile(r"(?:count|sum|avg|dc|values|max|min|mean|median|list|first|last)\(\s?$")
_CONDITIONS = re.compile(r"(?:if|case|match|like|isnull|isnotnull|coalesce)\(|\w{1,60}\s?!?=\s?\\?[\"'\d]")
_FUNCTION_IS_TYPE: Final = word_set("dart flutter kt kotlin swift java cs csharp")
_SHELL_LANGUAGES: Final = word_set("sh bash zsh ksh shell console bats")


def _is_condition(match: re.Match[str], window: str) -> bool:
    return match[0].lstrip().startswith("require") and _CONDITION.match(first_argument(window)) is not None


def _is_definition(text: str, start: int) -> bool:
    return text[max(0, start - 12) : start].endswith(_DEFINED)


def _is_direct(kind: Kind, sources: list[int], start: int, window: str) -> bool:
    """Whether the call contains a source."""
    at = bisect_left(sources, start)
    inside = at < len(sources) and sources[at] < start + len(window)
    return inside or (kind is FETCHED and window.startswith(_ADDRESSES))


def _is_address(source: Source, match: re.Match[str], window: str) -> bool:
    """Whether a call that takes an address (``source(url(lib))``, ``import(base)``) gets a name whose value is one."""
    if not source.values or _TAKES_ADDRESS.search(match[0]) is None:
        return False
    names = NAMES.findall(window)[:_FIRST_NAMES]
    return any(source.values.get(name, "").startswith(("http://", "https://", "ftp://")) for name in names)


_TAKES_ADDRESS = re.compile(r"\b(?:source|import|importScripts|require|include|Worker)\s*\(")
_FIRST_NAMES: Final = 3
"""How many names of an argument can hold the address: ``source(paste0(base, "/a.R"))``."""


def _evaluated(window: str, followed: Followed, match: re.Match[str]) -> ContentOrigin | None:
    """The origin of what an evaluating call is given by name or through a file it opens."""
    own = _OWN_FILE.match(window)
    words = NAMES.findall(_SENTENCE.sub(_holes, window), own.end() if own is not None else 0)
    if TIMER.search(match[0]) is not None:  # its other arguments are numbers, and a function of the program is no text
        words = [name for name in words[:1] if name not in followed.functions]
    for name in words if followed.names else ():
        known = followed.names.at(name, match.start())
        if known is not None and not _is_parameter(name, match):
            return known
    for text in (*map(base, _STRING.findall(window)), *words) if followed.files else ():
        if text in followed.files:
            return followed.files[text]
    return None


#: A string of several words or a path, and the names that are put into it.
_SENTENCE = re.compile(r"[rRbBfFuU]{0,2}([\"'])(?=[^\"'\n]{1,100}[ /])(?:(?!\1)[^\n]){1,400}\1")
_HOLE = re.compile(r"[$#]?\{[^{}\n]{1,80}\}|\$[A-Za-z_]\w{0,60}")


def _holes(match: re.Match[str]) -> str:
    """What a string of words has that is no text: ``"curl {url} | sh"`` becomes ``{url}``."""
    return " ".join(_HOLE.findall(match[0])).ljust(len(match[0]))


_OWN_FILE = re.compile(rf"\s*new\s+URL\({OWN_FILE}")


def _is_parameter(name: str, match: re.Match[str]) -> bool:
    """Whether the function around a call has a parameter of that name: ``new Promise(r => setTimeout(r, 0))``."""
    before = match.string[max(0, match.start() - _BEFORE_CALL) : match.start()].rpartition("\n")[2]
    if "=>" not in before or not match[0].lstrip().startswith("set") or _HANDED_TEXT.search(before) is not None:
        return False
    return re.search(rf"(?<![\w$.]){re.escape(name)}(?:\s*,[^()=]{{0,60}})?\s*\)?\s*=>\s*\{{?\s*$", before) is not None


_HANDED_TEXT = re.compile(
    r"\.then\(\s{0,4}(?:async\s{1,4})?\(?\s{0,4}[A-Za-z_$][\w$]{0,60}\s{0,4}\)?\s{0,4}=>\s{0,4}\{?\s{0,4}$"
)
"""A function that is given what a promise brings, right before the call."""


def _in_scope(source: Source, origin: ContentOrigin | None, match: re.Match[str]) -> ContentOrigin | None:
    """The origin, unless the file is data and the name is of another record: code in one line of a table is not continued in the
    next one."""
    if origin is None or source.language(source.line_at(match.start())) not in _RECORDS:
        return origin
    return origin if source.line_at(origin.offset) == source.line_at(match.start()) else None


def _is_parameter_of_example(source: Source, origin: ContentOrigin, match: re.Match[str], window: str) -> bool:
    """Whether a page runs, in one of its examples, a parameter of a function there, and the origin is another example: the same
    name means something else. (The function's own calls are judged where they are.)"""
    name = NAMES.match(window.lstrip())
    if not source.markdown or name is None:
        return False
    at = bisect_right(source.blocks, source.line_at(match.start()), key=lambda block: block[1]) - 1
    begin = source.text_starts[source.blocks[at][1]] if at >= 0 else 0
    if at < 0 or origin.offset >= begin:
        return False
    before = source.text[max(begin, match.start() - _BEFORE_END) : match.start()]
    definition = re.search(_PARAMETER.format(re.escape(name[0])), before)
    return definition is not None and _AT_MARGIN.search(before, definition.end()) is None


_BEFORE_END: Final = 2_000
"""How far before a call the function that it stands in is looked for in an example."""
_AT_MARGIN = re.compile(r"\n\S")
"""A line that is not indented, behind which a function of the outermost level has ended."""
_PARAMETER: Final = r"\b(?:def|function)\b[^()\n]{{0,80}}\((?:[^()\n]{{0,120}}[\s,])?{}\b[^()\n]{{0,120}}\)"


def _started(window: str, followed: Followed, offset: int) -> ContentOrigin | None:
    """The origin of the first argument of a call that starts a program: a name, a file, or a script for an interpreter."""
    for name, is_file in arguments.runs(window):
        origin = (
            (None if is_file else followed.names.at(name, offset))
            or followed.files.get(base(name))
            or followed.files.get(f"{name}.py")
        )
        if is_file and "/" in name:
            origin = origin or next(
                (place for folder, place in followed.folders.items() if name.startswith(f"{folder}/")), None
            )
        if origin is not None:
            return origin
    return None


def _starts_source(kind: Kind, window: str) -> bool:
    """Whether the first argument contains a source. An address or option among the other arguments does not count."""
    if kind.pattern.match(window.lstrip(" \n\t[")):
        return True
    handed = _HANDED_CODE.search(window)
    if handed is not None and kind.pattern.search(window, handed.end(), handed.end() + _HANDED) is not None:
        words = arguments.program_of(window)
        if words and interpreters.is_interpreter(words):
            return True
    first = (window.split(",", 1)[0] if kind is FETCHED else window)[:300]
    return kind.pattern.search(first) is not None and not first.lstrip(" [\n\t").startswith(_QUOTES)


#: Code behind an option, or a program's input: ``["sh", "-c", …]``, ``input=…``.
_HANDED_CODE = re.compile(
    r"[\"'](?:-[A-Za-z]{0,3}[ce]|/[ckCK]|-[Cc]ommand|--eval)[\"']\s{0,8},\s{0,8}|\b(?:input|stdin)\s{0,3}[=:]\s{0,3}"
)
_HANDED: Final = 200


def _found(source: Source, fact: str, match: re.Match[str], window: str, origin: ContentOrigin | None) -> RuleMatch:
    """What a call runs. It is a caution where a program may well mean something else by the same name."""
    call = shown(plain(match[0].lstrip() + window))
    at = match.start() if origin is None else origin.offset
    line = source.line_at(at)
    value = call if origin is None else f"{shown(plain(origin.text))} ; {call}"
    level = CAUTION if _is_weak(source, match, window, origin) else ""
    return RuleMatch(fact, value + _payload(value, source.values), line, at - source.text_starts[line], level)


def _is_weak(source: Source, match: re.Match[str], window: str, origin: ContentOrigin | None) -> bool:
    """Whether the way from a source to what runs it is only likely: by a name from a distant part of the file or from another
    example of a page, or in a string for one of the program's own functions (``run(f"curl {url}")``)."""
    given = window.lstrip(" \n\t")
    if is_wrapper(source, match) and given.startswith(_QUOTES) and not given.startswith(_ADDRESSES):
        return True
    if origin is None:
        return False
    first, last = sorted((source.line_at(origin.offset), source.line_at(match.start())))
    return last - first > NEAR_LINES or source.block_at(first) != source.block_at(last)


def _payload(value: str, values: Mapping[str, str]) -> str:
    """The literal values of the names that the call uses, so that a different payload is a different fact."""
    used = [name for name in dict.fromkeys(NAMES.findall(value)) if name in values] if values else []
    return "".join(f" ; {name}={values[name]}" for name in used[:4])
