"""Calls in programs that run text: ``exec(requests.get(…).text)``, ``eval(atob(…))``, ``subprocess.run(["sh", saved])``.

These rules use windows of text instead of parsers: there are many languages, and the attacker chooses. ``kinds`` defines sources,
 ``following`` tracks the names and files in between. A report needs both a source and something
that runs it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from rye.limits import FACTS
from rye.text.facts.calls import arguments
from rye.text.facts.calls.following import DEFINITION, NAMES, ContentOrigin, Followed, base, defined
from rye.text.facts.calls.kinds import DECODED, FETCHED, Kind
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

#: Calls that run their text argument. An attribute (``pattern.exec(text)``, ``model.eval()``) counts only with these owners.
EVALUATES: Final = re.compile(
    r"(?<![\w.$])(?:await\s+)?(?:(?:builtins|__builtins__|window|globalThis|global|self|this|vm|Kernel|binding|"
    r"instance|top)(?:\.|\[[\"']))?"
    r"(?:exec|eval|execfile|runInThisContext|runInNewContext|runInContext|compileFunction|instance_eval|"
    r"class_eval|assert|create_function)"
    r"(?:[\"']\])?\s*(?:\?\.)?\(|"
    r"(?:\beval|\bFunction)\.(?:call|apply)\s*\(|\bReflect\.(?:apply|construct)\(\s*(?=(?:eval|Function)\b)|\.(?:runsource|runcode|exec_module)\s*\(|"
    r"(?<![\w.$])(?:new\s+)?(?:Async|Generator)Function\s*\(|(?<![\w.$])importScripts\s*\(|\bnew\s+Worker\s*\(|"
    r"(?<![\w.$:])(?:loadstring|dofile)\s*\(|\bcall_user_func(?:_array)?\(\s*(?=[\"'](?:eval|assert|system|exec))|\bAssembly\]?(?:::|\.)Load\s*\(|"
    r"\byaml\.unsafe_load(?:_all)?\s*\(|\bjsonpickle\.decode\s*\(|(?<![\w.$])include\s*\(\s*(?=[A-Z])|"
    r"\bnew\s+URLClassLoader\s*\(|\b(?:engine|scriptEngine|jsEngine)\.eval\s*\(|\binclude_string\s*\(|\bCode\.(?:eval_string|compile_string)\s*\(|\.InvokeScript\s*\(|\bplugin\.Open\s*\(|"
    r"(?:\.then|\.forEach|(?<![\w.])map|\.map|\.call_soon\w{0,12}|\.submit|setTimeout|partial|starmap)\(\s*(?=(?:\(\s?0\s?,\s?)?(?:eval|exec|Function)\s*[,)])|"
    r"\btarget\s*=\s*(?=(?:eval|exec)\s*[,)])|"
    r"(?<![\w.$])(?:new\s+)?Function\s*\(|(?<![\w.$])eval\s+(?=[A-Za-z$\"'])|\bnew\s+vm\.Script\s*\(|importlib[\w.]*\(|"
    r"getattr\(\s*(?:builtins|__builtins__|__import__\([\"']builtins[\"']\))\s*,(?:[^()\n]{1,80}|\([^()\n]{0,80}\)){1,6}\)\s*\(|"
    r"\(\s*(?:\d{1,3}|void 0|null|[A-Za-z_$][\w$]{0,40})\s*,\s*(?:(?:window|globalThis|global)\.)?(?:eval|Function)\s*\)\s*\(|"
    r"__import__\([\"']builtins[\"']\)\.(?:exec|eval)\s*\(|"
    r"\b(?:pickle|cPickle|dill|cloudpickle)\.loads\s*\(|"
    r"(?<![\w.$])Execute(?:Global)?\s+(?=[A-Za-z\"])|\.constructor\s*\(|_compile\s*\(|FunctionType\s*\(|(?<![\w.$])(?:setTimeout|"
    r"setInterval)\s*\(\s*(?=[a-z_]\w*\s*[,(.])|"
    r"(?<![\w.$])source\(\s*(?=[\"']https?:|url\(|[A-Za-z_])|(?<![\w.$:])load\s*\(\s*(?=[A-Za-z_])|(?<![\w.$])(?:import|require|include|include_once)\s*\(\s*(?=[\"']https?:)|"
    r"(?<![\w.$])(?:require|include)(?:_once)?\s+(?=[\"']https?:)|(?<![\w.$])import\s*\(\s*(?=[\"'`]data:)"
)
STARTS: Final = re.compile(
    r"(?:\bos\.(?:system|popen|startfile|exec[lv]p?e?|spawn[lv]p?e?|posix_spawn|execute)|\bsubprocess\.\w+|\bpty\.spawn|"
    r"\bcreate_subprocess_(?:exec|shell)|\bDeno\.(?:run|Command)|\bBun\.spawn(?:Sync)?|(?<![\w.$])execa\w{0,10}|\bgetRuntime\(\)\.exec|\bProcessBuilder|"
    r"\bexec\.Command|\bCommand::new|\bIO\.popen|\bOpen3\.\w{4,12}|\bio\.popen|\bProcess\.(?:Start|spawn)|\bKernel\.(?:system|spawn|load)|"
    r"(?<![\w.$:])(?:Popen|check_output|check_call|"
    r"execSync|execFileSync|execFile|spawnSync|spawn|system|popen|shell_exec|passthru|proc_open|fork)|"
    r"(?:\bcp|child_process[\"']?\)?|\bchild|\bshell)\.(?:exec|spawn|fork)\w*|\brunpy\.run_\w{4,6}|\bSourceFileLoader|\bzipimporter|\bimport_module|"
    r"\bctypes\.CDLL|\bspec_from_file_location)\s*\(|(?<![\w.$])(?:require|import)\s*\(\s*(?=[A-Za-z_$.\"'`])"
)
_RUN_WORDS = triggers(
    "exec eval execfile runinthiscontext runinnewcontext runincontext compilefunction instance_eval "
    "class_eval create_function vm importlib _compile functiontype settimeout setinterval system popen "
    "startfile subprocess execsync execfilesync execfile spawnsync spawn shell_exec passthru proc_open runpy "
    "builtins __builtins__ pickle cpickle dill cloudpickle "
    "unsafe_load unsafe_load_all jsonpickle urlclassloader include_string eval_string compile_string "
    "invokescript runsource runcode exec_module importscripts loadstring dofile call_user_func "
    "sourcefileloader zipimporter import_module "
    "create_subprocess_exec create_subprocess_shell execa getruntime processbuilder open3 asyncfunction "
    "child_process execv execvp execl execlp check_output check_call posix_spawn spec_from_file_location cdll"
)
#: Very common words; they count only in the one spelling that runs something.
#: Very common words; each counts only if the file has one of the spellings in which it runs something.
_RARE_SPELLINGS: Final = {
    b"function": ("Function(", "Function (", "= Function", "=Function", "Function."),
    b"constructor": (".constructor(",),
    b"assert": ("assert($", "assert(base64", "assert(gz"),
    b"import": ("import(",),
    b"require": ("require(", "require 'http", 'require "http', "require_once"),
    b"include": (
        "include(D",
        "include(d",
        "include 'http",
        'include "http',
        "include('http",
        'include("http',
        "include ('http",
        "include(`http",
    ),
    b"include_once": ("include_once",),
    b"source": ("source(",),
    b"load": ("load(",),
    b"fork": ("fork(",),
    b"worker": ("new Worker",),
    b"execute": ("Execute ",),
    b"executeglobal": ("Execute",),
    b"command": ("Command(", "Command::new"),
    b"engine": ("engine.eval",),
    b"scriptengine": ("Engine.eval",),
    b"jsengine": ("Engine.eval",),
    b"plugin": ("plugin.Open",),
    b"assembly": ("Assembly]::Load", "Assembly.Load"),
    b"deno": ("Deno.",),
    b"bun": ("Bun.",),
    b"pty": ("pty.spawn",),
    b"reflect": ("Reflect.",),
    b"execacommand": ("execa",),
    b"execacommandsync": ("execa",),
    b"execanode": ("execa",),
}
_RARE_WORDS: Final = frozenset(_RARE_SPELLINGS)


def run_words(source: Source) -> frozenset[bytes]:
    """The words of the file that occur in calls that run something; empty if there is no such call. Computed once."""
    known: frozenset[bytes] | None = source.kept.get("run words")
    if known is None:
        rare = _RARE_WORDS & source.words
        text = source.text
        known = (_RUN_WORDS & source.words).union(
            word for word in rare if any(spelling in text for spelling in _RARE_SPELLINGS[word])
        )
        source.kept["run words"] = known
    return known


__all__ = ["DECODED", "FETCHED", "Kind", "evaluating", "find", "starts", "window_of"]

_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,300})[\"'`]")
#: Languages that call ``eval`` without parentheses, and programs whose code stands on a command line.
_WORD_LANGUAGES: Final = word_set("pl pm perl rb ruby php sh bash zsh ksh tcl fish shell console")
_EVALUATES_WORDS = re.compile(r"\b(?:perl|ruby|php)\b")
_RECORDS: Final = word_set("json jsonl ndjson csv tsv")
#: An evaluating function that is handed to another one, which calls it with what it has: ``.then(eval)``, ``target=exec``.
_PASSED = re.compile(r"(?:\(\s?0\s?,\s?)?(?:eval|exec|Function)\s*[,)]")
#: What a started program is fed.
_FEEDS = re.compile(
    r"\.stdin\.(?:write|end|send)\(|\.communicate\(|\.pipe\(\s*(?=[\w$.]{1,60}\.stdin\b|[\w$.]{1,40}\()|\.(?:sendline|puts|fputs|fwrite)\("
)
_TIMER = re.compile(r"\bset(?:Timeout|Interval)\s*\($")
_MOST_STARTED: Final = 64
_BEFORE_CALL: Final = 120
"""How far before a timer the function that it stands in can begin."""
_CALL_MARKS: Final = ("(", "eval", "=", "include", "require", "Execute")
_PARENTHESES = re.compile(r"[()]")
_DEFINED: Final = ("def ", "function ", "async ", "sub ", "fn ")
_QUOTES: Final = ("'", '"', "f'", 'f"', "`")
_ADDRESSES: Final = ("'http", '"http', "`http")


def find(source: Source, kind: Kind, fact: str) -> Iterator[RuleMatch]:
    """Yield every call that runs what a source of this kind brings in."""
    saved, source = source.saved[fact], resolved(source)
    if not (source.has(kind.words) or any(mark in source.text for mark in kind.marks)):
        return
    evaluates, started = _calls(source)
    scripts = "createElement" in source.text and _SCRIPT_ELEMENT.search(source.text) is not None
    if (
        not evaluates and not started and not scripts and len(source.files) == 1
    ):  # another file may run what this one saves
        return
    sources = _sources(source, kind)
    if not sources and not (
        kind is FETCHED and any(_is_address(source, match, window_of(source.text, match.end())) for match in evaluates)
    ):
        return
    followed = Followed(source, kind, sources, kind is FETCHED)
    for name, place in followed.files.items():
        if "." in name or "-" in name or "_" in name:
            saved.setdefault(name, Origin(place.text, source.line_at(place.offset), 0))
    reported: set[int] = set()
    for match in evaluates:
        if match.start() in reported or _is_definition(source.text, match.start()):
            continue
        window = window_of(source.text, match.end())
        begin = match.end()
        if _PASSED.match(window):
            begin = source.text_starts[source.line_at(match.start())]
            window = source.text[begin : match.end()] + window
        direct = _is_direct(kind, sources, begin, window) or (kind is FETCHED and _is_address(source, match, window))
        origin = None if direct else _in_scope(source, _evaluated(window, followed, match), match)
        if direct or origin is not None:
            reported.add(match.start())
            yield _found(source, fact, match, window, origin)
    for match in started:
        window = window_of(source.text, match.end())
        origin = _in_scope(source, _started(window, followed), match)
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
        origin = followed.names.get(match[2])
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
        origin = next((followed.names[name] for name in NAMES.findall(line) if name in followed.names), None)
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
    for match in _calls(source)[1]:
        window = window_of(source.text, match.end())
        origin = next((files[base(name)] for name, _ in arguments.runs(window) if base(name) in files), None)
        if origin is not None:
            line = source.line_at(match.start())
            value = f"{shown(plain(origin.text))} ; {shown(plain(match[0].lstrip() + window))}"
            yield RuleMatch(fact, value, line, match.start() - source.text_starts[line])


def evaluating(source: Source) -> tuple[Source, list[re.Match[str]]]:
    """The file with its names resolved, and its calls that evaluate text."""
    source = resolved(source)
    return source, _calls(source)[0] if source.has(run_words(source)) else []


def _calls(source: Source) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The calls of the file that evaluate text, and those that start a program. Computed once for all kinds."""
    known: tuple[list[re.Match[str]], list[re.Match[str]]] | None = source.kept.get("calls")
    if known is not None:
        return known
    evaluates: list[re.Match[str]] = []
    starts: list[re.Match[str]] = []
    for number in source.lines_with(run_words(source)):
        begin, end = source.text_starts[number], source.text_starts[number + 1]
        if not any(source.text.find(mark, begin, end) >= 0 for mark in _CALL_MARKS):
            continue  # "the system", "run the exec": words of prose
        bare = _may_evaluate_words(source, number)
        evaluates.extend(
            match
            for match in EVALUATES.finditer(source.text, begin, end)
            if (bare or not (match[0][-1].isspace() and match[0].lstrip().startswith("eval")))
            and (match[0][0] not in "slEi" or _belongs(source, match, number))
        )
        starts.extend(STARTS.finditer(source.text, begin, end))
    runners = _runners(source, [*evaluates, *starts]) if evaluates or starts else []
    if runners:
        calls = re.compile(rf"(?<![\w.$])(?:{'|'.join(map(re.escape, runners))})\s*\(")
        known_at = {match.end() for match in evaluates}
        evaluates.extend(match for match in calls.finditer(source.text) if match.end() not in known_at)
    source.kept["calls"] = (evaluates, starts)
    return evaluates, starts


def _runners(source: Source, calls: list[re.Match[str]]) -> list[str]:
    """The program's own functions that run one of their parameters: ``def load(code): exec(code)``."""
    runners: list[str] = []
    text = source.text
    calls = sorted(calls, key=re.Match.start)
    offsets = [call.start() for call in calls]
    for match in islice(DEFINITION.finditer(text), _MOST_DEFINITIONS) if any(mark in text for mark in _DEFINES) else ():
        name, parameters = defined(match)
        first = bisect_left(offsets, match.end())
        for call in calls[first : first + _MOST_RUNNERS]:
            if call.start() >= match.end() + _BODY_CHARACTERS or name in _NO_RUNNERS:
                break
            if _TIMER.search(call[0]) is not None:
                continue
            if not set(parameters).isdisjoint(_given(text, call)):
                runners.append(name)
                break
        if len(runners) >= _MOST_RUNNERS:
            break
    return runners


def _given(text: str, call: re.Match[str]) -> list[str]:
    """The names that a call runs, as far as it says."""
    window = window_of(text, call.end())
    if STARTS.match(call[0].lstrip()) is None:
        return NAMES.findall(window)
    return [name for name, is_file in arguments.runs(window) if not is_file]


_MOST_DEFINITIONS: Final = 256
_NO_RUNNERS: Final = word_set("constructor main if for while switch catch")
_DEFINES: Final = ("def ", "function", "=>", "lambda ")
_BODY_CHARACTERS: Final = 1_500
_MOST_RUNNERS: Final = 16


def _belongs(source: Source, match: re.Match[str], number: int) -> bool:
    """Whether a name that only one language evaluates with is in that language, or takes an address itself."""
    languages = _LANGUAGE_OF.get(match[0].rstrip("( \t").lower())
    return (
        languages is None
        or source.language(number) in languages
        or source.text[match.end() : match.end() + 1] in ("'", '"')
    )


#: Languages in which these names run text; everywhere else they are names of functions like others.
_LANGUAGE_OF: Final = {
    "load": word_set("lua"),
    "source": word_set("r rmd rscript rprofile"),
    "include": word_set("jl julia"),
    "execute": word_set("vbs vba vbscript hta asp bas"),
    "executeglobal": word_set("vbs vba vbscript hta asp bas html htm"),
}


def _may_evaluate_words(source: Source, number: int) -> bool:
    """Whether ``eval`` without parentheses is a call on this line. In prose and most languages it is a word."""
    if _EVALUATES_WORDS.search(source.lines[number][: FACTS.piece_characters]):
        return True
    language = source.language(number)
    return language in _WORD_LANGUAGES or (not language and source.is_code(number))


def _sources(source: Source, kind: Kind) -> list[int]:
    """Offsets of the sources of this kind in the text, in order."""
    lines = set(source.lines_with(kind.words))
    for mark in kind.marks:
        if mark in source.text:
            lines.update(number for number, raw in enumerate(source.lines) if mark in raw)
    starts = source.text_starts
    return [
        match.start()
        for number in sorted(lines)
        for match in kind.pattern.finditer(source.text, starts[number], starts[number + 1])
    ]


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
    name = _FIRST_NAME.match(window)
    return name is not None and source.values.get(name[1], "").startswith(("http://", "https://", "ftp://"))


_TAKES_ADDRESS = re.compile(r"\b(?:source|import|importScripts|require|include|Worker)\s*\(")
_FIRST_NAME = re.compile(r"\s*(?:url\(\s*)?([A-Za-z_$][\w$]{0,60})\b")


def _evaluated(window: str, followed: Followed, match: re.Match[str]) -> ContentOrigin | None:
    """The origin of what an evaluating call is given by name or through a file it opens."""
    words = NAMES.findall(window)
    if _TIMER.search(match[0]) is not None:  # its other arguments are numbers, and a function of the program is no text
        words = [name for name in words[:1] if name not in followed.functions]
    for name in words if followed.names else ():
        known = followed.names.get(name)
        if known is not None and known.holds_at(match.start()) and not _is_parameter(name, match):
            return known
    for text in (*map(base, _STRING.findall(window)), *words) if followed.files else ():
        if text in followed.files:
            return followed.files[text]
    return None


def _is_parameter(name: str, match: re.Match[str]) -> bool:
    """Whether the function around a call has a parameter of that name: ``new Promise(r => setTimeout(r, 0))``."""
    before = match.string[max(0, match.start() - _BEFORE_CALL) : match.start()].rpartition("\n")[2]
    if "=>" not in before or not match[0].lstrip().startswith("set"):
        return False
    return re.search(rf"(?<![\w$.]){re.escape(name)}(?:\s*,[^()=]{{0,60}})?\s*\)?\s*=>\s*\{{?\s*$", before) is not None


def _in_scope(source: Source, origin: ContentOrigin | None, match: re.Match[str]) -> ContentOrigin | None:
    """The origin, unless the file is data and the name is of another record: code in one line of a table is not continued in the
    next one."""
    if origin is None or source.language(source.line_at(match.start())) not in _RECORDS:
        return origin
    return origin if source.line_at(origin.offset) == source.line_at(match.start()) else None


def _started(window: str, followed: Followed) -> ContentOrigin | None:
    """The origin of the first argument of a call that starts a program: a name, a file, or a script for an interpreter."""
    for name, is_file in arguments.runs(window):
        origin = (
            (None if is_file else followed.names.get(name))
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
    first = (window.split(",", 1)[0] if kind is FETCHED else window)[:300]
    return kind.pattern.search(first) is not None and not first.lstrip(" [\n\t").startswith(_QUOTES)


def _found(source: Source, fact: str, match: re.Match[str], window: str, origin: ContentOrigin | None) -> RuleMatch:
    call = shown(plain(match[0].lstrip() + window))
    at = match.start() if origin is None else origin.offset
    line = source.line_at(at)
    value = call if origin is None else f"{shown(plain(origin.text))} ; {call}"
    return RuleMatch(fact, value + _payload(value, source.values), line, at - source.text_starts[line])


def _payload(value: str, values: Mapping[str, str]) -> str:
    """The literal values of the names that the call uses, so that a different payload is a different fact."""
    used = [name for name in dict.fromkeys(NAMES.findall(value)) if name in values] if values else []
    return "".join(f" ; {name}={values[name]}" for name in used[:4])


def window_of(text: str, start: int) -> str:
    """The text after a call's opening parenthesis, up to its end or the end of what a rule examines."""
    piece = text[start : start + FACTS.window_characters]
    depth = 1
    for match in _PARENTHESES.finditer(piece):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return piece[: match.end()]
    return piece
