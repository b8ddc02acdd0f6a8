"""Calls that run something, in any language: how they are spelled, and where a file has them.

Two tables say it, by language: calls that run text, and calls that start a program. A file's own functions that run one of their
parameters count as well. What the calls are given is judged in :mod:`rye.text.facts.calls`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice
from typing import Final

from rye.limits import FACTS
from rye.text.facts.calls import arguments
from rye.text.facts.calls.following import DEFINITION, NAMES, defined
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.source import Source
from rye.text.facts.tables import triggers, word_set

#: What may stand before a function that runs text. Other attributes (``pattern.exec(text)``, ``model.eval()``) do not count.
_OWNERS: Final = (
    *("builtins", "__builtins__"),  # Python
    *("window", "globalThis", "global", "self", "this", "top", "vm"),  # JavaScript
    *("Kernel", "binding", "instance"),  # Ruby
)
_FUNCTIONS: Final = (
    *("exec", "eval", "execfile"),  # Python, and ``eval`` nearly everywhere
    *("runInThisContext", "runInNewContext", "runInContext", "compileFunction"),  # JavaScript
    *("instance_eval", "class_eval"),  # Ruby
    *("assert", "create_function"),  # PHP
)
PASSED: Final = r"(?:\(\s?0\s?,\s?)?(?:eval|exec|Function)\s*[,)]"
"""An evaluating function that is handed to another one, which calls it with what it has: ``.then(eval)``, ``target=exec``."""
_BUILTINS: Final = r"__import__\([\"']builtins[\"']\)"
_ADDRESS: Final = r"(?=[\"'](?:https?:|data:|php://(?!std|memory|temp|output)|phar:|expect:))"
#: In a statement of PHP: a sentence that says ``include 'https://…'`` goes on without a semicolon.
_INCLUDED: Final = r"(?=[\"'](?:https?:|data:|php://(?!std|memory|temp|output)|phar:|expect:)[^\"'\n]{0,400}[\"']?\s*(?:[;)]|\?>|\.\s*[$\"']|\n|$))"
_EVALUATES: Final = (
    # in several languages
    rf"(?<![\w.$])(?:await\s+)?(?:(?:{'|'.join(_OWNERS)})(?:\.|\[[\"']))?(?:{'|'.join(_FUNCTIONS)})(?:[\"']\])?\s*(?:\?\.)?\(",
    r"(?<![\w.$])eval\s+(?=[A-Za-z$\"'])",
    rf"(?:\.then|\.forEach|(?<![\w.])map|\.map|\.call_soon\w{{0,12}}|\.submit|setTimeout|partial|starmap)\(\s*(?={PASSED})",
    rf"(?<![\w.$])(?:import|require|include|include_once)\s*\(\s*{_ADDRESS}",
    # Python
    r"\btarget\s*=\s*(?=(?:eval|exec)\s*[,)])",
    r"\.(?:runsource|runcode|exec_module)\s*\(",
    r"importlib[\w.]*\(",
    rf"getattr\(\s*(?:builtins|__builtins__|{_BUILTINS})\s*,(?:[^()\n]{{1,80}}|\([^()\n]{{0,80}}\)){{1,6}}\)\s*\(",
    rf"{_BUILTINS}\.(?:exec|eval)\s*\(",
    r"_compile\s*\(",
    r"FunctionType\s*\(",
    r"\b(?:pickle|cPickle|dill|cloudpickle)\.loads\s*\(",
    r"\bjsonpickle\.decode\s*\(",
    r"\b(?:joblib\.load|(?:pd|pandas)\.read_pickle)\s*\(",
    r"\byaml\.unsafe_load(?:_all)?\s*\(",
    # JavaScript
    r"(?<![\w.$])(?:new\s+)?Function\s*\(",
    r"(?<![\w.$])(?:new\s+)?(?:Async|Generator)Function\s*\(",
    r"(?:\beval|\bFunction)\.(?:call|apply)\s*\(",
    r"\bFunction\.constructor\s*\)?\s*\(",
    r"\bReflect\.(?:apply|construct)\(\s*(?=(?:eval|Function)\b)",
    r"\(\s*(?:\d{1,3}|void 0|null|[A-Za-z_$][\w$]{0,40})\s*,\s*(?:(?:window|globalThis|global)\.)?(?:eval|Function)\s*\)\s*\(",
    r"\.constructor\s*\(",
    r"\bnew\s+vm\.Script\s*\(",
    r"(?<![\w.$])importScripts\s*\(",
    r"\bnew\s+Worker\s*\(",
    r"(?<![\w.$])(?:setTimeout|setInterval)\s*\(\s*(?!(?:async|function)\b)(?=[a-z_]\w*\s*[,(.])",
    r"(?<![\w.$])import\s*\(\s*(?=[\"'`]data:)",
    # PHP, and Ruby's ``require``
    r"\bcall_user_func(?:_array)?\(\s*(?=[\"'](?:eval|assert|system|exec))",
    rf"(?<![\w.$])(?:require|include)(?:_once)?\s*\(?\s*{_INCLUDED}",
    # Lua
    r"(?<![\w.$:])(?:loadstring|dofile)\s*\(",
    r"(?<![\w.$:])load\s*\(\s*(?=[A-Za-z_])",
    # R
    r"(?<![\w.$])source\(\s*(?=[\"']|url\(|[A-Za-z_])",
    # Julia
    r"(?<![\w.$])include\s*\(\s*(?=[A-Z])",
    r"\binclude_string\s*\(",
    # Java and Groovy
    r"\bnew\s+URLClassLoader\s*\(",
    r"\b(?:engine|scriptEngine|jsEngine)\.eval\s*\(",
    # Elixir
    r"\bCode\.(?:eval_string|compile_string)\s*\(",
    # Go
    r"\bplugin\.Open\s*\(",
    # PowerShell and .NET
    r"\bAssembly\]?(?:::|\.)Load\s*\(",
    r"\.InvokeScript\s*\(",
    # Visual Basic
    r"(?<![\w.$])Execute(?:Global)?\s+(?=[A-Za-z\"])",
)
EVALUATES: Final = re.compile("|".join(_EVALUATES))
"""Calls that run their text argument."""
_STARTS: Final = (
    # Python
    r"\bos\.(?:system|popen|startfile|exec[lv]p?e?|spawn[lv]p?e?|posix_spawn|execute)",  # ``os.execute`` is Lua's
    r"\bsubprocess\.\w+",
    r"(?<![\w.$:])(?:Popen|check_output|check_call)",
    r"\bpty\.spawn",
    r"\bcreate_subprocess_(?:exec|shell)",
    r"\brunpy\.run_\w{4,6}",
    r"\bSourceFileLoader",
    r"\bzipimporter",
    r"\bimport_module",
    r"\bspec_from_file_location",
    r"\bctypes\.CDLL",
    # OCaml, Elixir and Erlang
    r"(?:Sys\.command|Unix\.(?:system|execv[pe]{0,2}|open_process_in)|System\.cmd|os:cmd)",
    # JavaScript
    r"(?<![\w.$:])(?:execSync|execFileSync|execFile|spawnSync|spawn|fork)",
    r"(?:\bcp|child_process[\"']?\)?|\bchild|\bshell)\.(?:exec|spawn|fork)\w*",
    r"(?<![\w.$])execa\w{0,10}",
    r"\bDeno\.(?:run|Command)",
    r"\bBun\.spawn(?:Sync)?",
    # PHP and Perl, ``system`` and ``popen`` in other languages, too; C and Windows; Nim and D
    (
        r"(?<![\w.$:])(?:system|popen|shell_exec|passthru|proc_open|execl[pe]?|execv[pe]{0,2}|_w?system|WinExec|ShellExecute(?:Ex)?[AW]?|"
        r"CreateProcess[AW]?|startProcess|execCmd(?:Ex)?|execProcess|execShellCmd|spawnProcess|spawnShell|executeShell)"
    ),
    # Ruby
    r"\bKernel\.(?:system|spawn|load)",
    r"\bIO\.popen",
    r"\bOpen3\.\w{4,12}",
    # Lua
    r"\bio\.popen",
    # Java
    r"\bgetRuntime\(\)\.exec",
    r"\bProcessBuilder",
    # Go
    r"\b(?:exec\.Command|syscall\.Exec)",
    # Rust
    r"\bCommand::new",
    r"include!",
    # Bazel
    r"ctx\.execute",
    # .NET, Dart and Crystal
    r"\bProcess\.(?:[sS]tart|spawn|run(?:Sync)?)",
    r"ProcessStartInfo",
)
STARTS: Final = re.compile(
    rf"(?:{'|'.join(_STARTS)})\s*\(|(?<![\w.$])(?:require|import)\s*\(\s*(?=[A-Za-z_$.\"'`])|"
    r"(?<![\w.$>-])(?:load|require_relative|require|require_once|include|include_once|dofile|do|commandLine|"
    r"executable)[ \t]+(?=[\"'][\w./~-]{1,200}[\"']|\$\w)|"
    # without parentheses: Perl and Ruby, Haskell, Tcl; what Swift's and Objective-C's processes are given; Julia's commands
    r"(?<![\w.$>-])(?:system|exec|spawn|callCommand|callProcess)[ \t]+(?=\$\w|[a-z_]\w{0,40}[ \t]*;?[ \t]*$)|"
    r"executableURL\s*=\s*(?:URL\(\s*(?:fileURLWithPath|filePath):\s*|(?=[a-z]))|(?:launchPath|FileName)\s*=\s*(?=[\w\"'])|"
    r"(?<![\w.])run\(\s*(?=`)|"
    # Scala's processes
    r"Seq\s*\((?=[^\n()]{1,200}\)\s*\.!)|"
    # the shell's objects of Windows
    r"(?:[\"']W?[sS]cript\.Shell[\"']\s*\)|[sS]h(?:ell)?)\.(?:Run|Exec|ShellExecute)[ \t]*[;(]?[ \t]*(?=[\"'A-Za-z])"
)
"""Calls that start a program or load a module."""
#: Words of these calls. A file without any of them has no such call.
_RUN_WORDS = triggers(
    "exec eval execfile runinthiscontext runinnewcontext runincontext compilefunction instance_eval "
    "class_eval create_function vm importlib _compile functiontype settimeout setinterval system popen "
    "startfile subprocess execsync execfilesync execfile spawnsync spawn shell_exec passthru proc_open runpy "
    "builtins __builtins__ pickle cpickle dill cloudpickle "
    "unsafe_load unsafe_load_all jsonpickle joblib read_pickle urlclassloader include_string eval_string compile_string "
    "invokescript runsource runcode exec_module importscripts loadstring dofile call_user_func "
    "sourcefileloader zipimporter import_module "
    "create_subprocess_exec create_subprocess_shell execa getruntime processbuilder open3 asyncfunction "
    "child_process execv execvp execl execlp check_output check_call posix_spawn spec_from_file_location cdll "
    "execle execve execvpe _system _wsystem winexec shellexecute shellexecutea shellexecutew shellexecuteex shellexecuteexw "
    "createprocess createprocessa createprocessw startprocess execcmd execcmdex execprocess execshellcmd spawnprocess "
    "spawnshell executeshell open_process_in processstartinfo executableurl launchpath callcommand callprocess"
)
#: Very common words; each counts only if the file has one of the spellings in which it runs something.
_RARE_SPELLINGS: Final = {
    b"function": ("Function(", "Function (", "= Function", "=Function", "Function.", "(Function"),
    b"constructor": (".constructor(",),
    b"assert": ("assert($", "assert(base64", "assert(gz"),
    b"import": ("import(",),
    b"require": ("require(", 'require "', "require '", "require $", "require 'http", 'require "http', "require_once"),
    b"include": (
        "include(D",
        "include(d",
        "include '",
        'include "',
        "include $",
        "include 'http",
        'include "http',
        "include('http",
        'include("http',
        "include ('http",
        "include(`http",
        "include!(",
    ),
    b"include_once": ("include_once",),
    b"source": ("source(",),
    b"load": ("load(", 'load "', "load '", "load $"),
    b"do": ('do "', "do '", "do $"),
    b"require_relative": ("require_relative",),
    b"require_once": ("require_once",),
    b"commandline": ("commandLine",),
    b"fork": ("fork(",),
    b"worker": ("new Worker",),
    b"execute": ("Execute ",),
    b"executeglobal": ("Execute",),
    b"command": ("Command(", "Command::new", "Sys.command"),
    b"process": ("Process.",),
    b"filename": ("FileName =", "FileName="),
    b"cmd": ("System.cmd(", "os:cmd("),
    b"run": ("run(`", ".Run"),
    b"seq": ("Seq(",),
    b"ctx": ("ctx.execute(",),
    b"rctx": ("rctx.execute(",),
    b"repository_ctx": ("_ctx.execute(",),
    b"unix": ("Unix.exec", "Unix.system", "Unix.open_process"),
    b"syscall": ("syscall.Exec(",),
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


#: Languages that call ``eval`` without parentheses, and programs whose code stands on a command line.
_WORD_LANGUAGES: Final = word_set("pl pm perl rb ruby php sh bash zsh ksh tcl fish shell console")
_EVALUATES_WORDS = re.compile(r"\b(?:perl|ruby|php)\b")
TIMER = re.compile(r"\bset(?:Timeout|Interval)\s*\($")
_CALL_MARKS: Final = (
    *("(", "eval", "=", "include", "require", "Execute", "load ", "commandLine", 'do "', "do $", "do '"),
    *("system $", "exec $", "callCommand ", "callProcess "),
)
_CALL_MARKS_IN_RUBY: Final = (*_CALL_MARKS, "system ", "exec ", "spawn ")
_RUBY_FILES: Final = (".rb", ".gemspec", ".rake", "Rakefile", "Gemfile", "Podfile", "Fastfile")
#: A call without parentheses, where the language has parentheses: words of a sentence.
_BARE_START = re.compile(
    r"(?:system|exec|spawn|load|require|require_relative|require_once|include|include_once|dofile|do)[ \t]+"
)
_HAS_PARENTHESES: Final = word_set(
    "py pyw python python3 js mjs cjs jsx javascript ts mts cts tsx typescript node go rs java cs"
)
_PARENTHESES = re.compile(r"[()]")


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


def evaluating(source: Source) -> tuple[Source, list[re.Match[str]]]:
    """The file with its names resolved, and its calls that evaluate text."""
    source = resolved(source)
    return source, running_calls(source)[0] if source.has(run_words(source)) else []


def running_calls(source: Source) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """The calls of the file that evaluate text, and those that start a program. Computed once for all kinds."""
    known: tuple[list[re.Match[str]], list[re.Match[str]]] | None = source.kept.get("calls")
    if known is not None:
        return known
    evaluates: list[re.Match[str]] = []
    starts: list[re.Match[str]] = []
    marks = _CALL_MARKS_IN_RUBY if source.path.endswith(_RUBY_FILES) else _CALL_MARKS
    for number in source.lines_with(run_words(source)):
        begin, end = source.text_starts[number], source.text_starts[number + 1]
        if not any(source.text.find(mark, begin, end) >= 0 for mark in marks):
            continue  # "the system", "run the exec": words of prose
        bare = _may_evaluate_words(source, number)
        evaluates.extend(
            match
            for match in EVALUATES.finditer(source.text, begin, end)
            if (bare or not (match[0][-1].isspace() and match[0].lstrip().startswith("eval")))
            and (match[0][0] not in "slEi" or _belongs(source, match, number))
        )
        starts.extend(
            match
            for match in STARTS.finditer(source.text, begin, end)
            if source.language(number) not in _HAS_PARENTHESES or _BARE_START.fullmatch(match[0]) is None
        )
    runners = _runners(source, [*evaluates, *starts]) if evaluates or starts else []
    if runners:
        calls = re.compile(rf"(?<![\w.$])(?:{'|'.join(map(re.escape, runners))})\s*\(")
        known_at = {match.end() for match in evaluates}
        source.kept["wrapped"] = wrapped = set[int]()
        for match in calls.finditer(source.text):
            if match.end() not in known_at:  # a list is a program and its arguments, not code
                (starts if _LIST.match(source.text, match.end()) is not None else evaluates).append(match)
                wrapped.add(match.end())
    source.kept["calls"] = (evaluates, starts)
    return evaluates, starts


def is_wrapper(source: Source, match: re.Match[str]) -> bool:
    """Whether a call is one of the program's own functions, which run one of their parameters."""
    wrapped: set[int] = source.kept.get("wrapped", set())
    return match.end() in wrapped


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
            if TIMER.search(call[0]) is not None:
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


_LIST = re.compile(r"\s{0,40}\[\s{0,40}[rbfu]?[\"']")
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
        or ("lua" in languages and "lua " in source.lines[number][: FACTS.piece_characters])
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


def started_window(text: str, match: re.Match[str]) -> str:
    """The text that a call which starts a program is given: its arguments, and those that ``.arg(…)`` adds; without parentheses,
    the rest of the line."""
    if not match[0].rstrip().endswith("("):
        return text[match.end() : match.end() + FACTS.window_characters].partition("\n")[0]
    window = window_of(text, match.end())
    end = match.end() + len(window)
    for _ in range(_MOST_ADDED):
        added = _ADDED.match(text, end)
        if added is None:
            break
        more = window_of(text, added.end())
        window = f"{window.rstrip(')')}, {more}"
        end = added.end() + len(more)
    return window


_ADDED = re.compile(r"\s{0,40}\.args?\(\s*&?(?=[^)])")
_MOST_ADDED: Final = 8


def window_of(text: str, start: int) -> str:
    """The text after a call's opening parenthesis, up to its end or the end of what a rule examines."""
    piece = text[start : start + FACTS.window_characters]
    depth = 1
    for match in _PARENTHESES.finditer(piece):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return piece[: match.end()]
    return piece
