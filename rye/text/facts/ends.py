"""Both ends of ``pipe-to-shell`` and ``decode-and-run`` where nobody follows what lies between.

A file that receives text from elsewhere and, close to that, hands text to what runs it, is reported though the way from the one
to the other is not read: ``@exec`` above a function that fetches, ``reduce(…, (urlopen, …, exec))``, ``memfd_create`` and
``/proc/self/fd``, Perl's ``s/…/…/ees``. The table has ends that do nothing else than run what they are given, and that have no
argument which could be read. Where an end has one, :mod:`rye.text.facts.calls` and :mod:`rye.text.facts.computed_code` read it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from rye.limits import FACTS
from rye.text.facts import calls, fetchers, shell
from rye.text.facts.calls.resolved import resolved
from rye.text.facts.fact import CAUTION, DECODE_AND_RUN, PIPE_TO_SHELL
from rye.text.facts.source import RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_PYTHON: Final = word_set("py pyw ipynb python python3")
_RUBY: Final = word_set("rb ruby gemspec rake rakefile gemfile podfile fastfile brewfile vagrantfile")
_PERL: Final = word_set("pl pm perl t cgi")
_PHP: Final = word_set("php phtml inc php5 phar")
_SCRIPT: Final = word_set("js mjs cjs ts mts cts jsx tsx javascript typescript node vue svelte html htm")
_LISP: Final = word_set("el lisp lsp cl clj cljs cljc edn scm rkt ss fnl janet hy elisp clojure scheme racket")
_VIM: Final = word_set("vim vimrc")
_SHELL: Final = word_set("sh bash zsh ksh shell console bats")
_POWERSHELL: Final = word_set("ps1 psm1 powershell pwsh")
_EVALUATOR: Final = r"(?:builtins\.|Kernel\.|window\.|globalThis\.)?(?:exec|eval)"
#: What runs text or bytes that it is handed: the languages in which it does, words of which a line with it has one, and its form.
_ENDS: Final[tuple[tuple[frozenset[str], str, str], ...]] = (
    (_PYTHON, "exec eval", rf"(?m:^)[ \t]*@{_EVALUATOR}[ \t]*$"),
    (_PYTHON, "exec eval", rf"(?:(?<=[\[(,{{:=])|(?m:^))[ \t]*{_EVALUATOR}[ \t]*(?=[,\])}}]|$)"),
    (
        _PYTHON,
        "methodcaller cfunctype pyfunctype",
        r"\bmethodcaller\([ \t]*[\"'](?:exec|eval)|\b(?:ctypes\.)?(?:CFUNCTYPE|PYFUNCTYPE)\(",
    ),
    (
        _SCRIPT,
        "eval then map foreach function",
        r"(?<=[\[,{:=])[ \t]*eval[ \t]*(?=[,\]};]|$)|\.(?:then|map|forEach)\([ \t]*(?:eval|Function)[ \t]*\)",
    ),
    (_PYTHON, "get_data get_source get_code exec_module", r"\bdef[ \t]+(?:get_data|get_source|get_code|exec_module)\("),
    (
        _RUBY | _PHP | _PERL,
        "kernel",
        r"`[ \t]*(?:#\{[\w.@]{1,60}\}|\$\w{1,40})[ \t]*`|\bKernel\.(?:eval|load|system)[ \t]+[a-z@]",
    ),
    (
        _SHELL,
        "read",
        r"\bread[ \t]+(?:-\w{1,3}[ \t]+){0,4}(\w{1,40})\b[^\n]{0,120}\bdo[ \t]+(?:eval[ \t]+)?[\"']?\$\{?\1\b",
    ),
    (_POWERSHELL, "scriptblock invokescript", r"(?i:\[scriptblock\]::create\([ \t]*\$|\.InvokeScript\([ \t]*\$)"),
    (
        _SCRIPT,
        "text textcontent innerhtml innertext dlopen",
        r"\bscript\w{0,10}\.(?:text|textContent|innerHTML|innerText)[ \t]*=|\bprocess\.dlopen\(",
    ),
    (
        _RUBY,
        "send public_send __send__ method",
        (
            r"\b(?:public_|__)?send(?:__)?[( ][ \t]*[:\"'](?:(?:\w{0,10}eval|system|exec|spawn|load)(?![\w?!])|`)|"
            r"\bmethod\([ \t]*:(?:\w{0,10}eval|system|exec|load)(?![\w?!])"
        ),
    ),
    (
        _RUBY,
        "instance_eval class_eval module_eval instance_exec class_exec module_exec instructionsequence toplevel_binding",
        r"\.(?:instance|class|module)_(?:eval|exec)\b[( ][ \t]*(?=[a-z@$])|\bInstructionSequence\b|\bTOPLEVEL_BINDING\b",
    ),
    (
        _PERL,
        "do",
        (
            r"=~[ \t]*s([^\w\s]).{0,200}?[^\w\s][a-df-z]{0,4}e[a-df-z]{0,3}e\w{0,4}[ \t]*(?=[;)},]|$)|"
            r"\bdo[ \t]+\\|\bopen\b[^\n]{0,60}\\\$\w+[^\n]{0,40}\bdo\b"
        ),
    ),
    (
        _PHP,
        "preg_replace array_map call_user_func call_user_func_array usort array_filter register_shutdown_function",
        (
            r"\bpreg_replace\([ \t]*[\"'](.).{0,200}?\1\w{0,6}e\w{0,4}[\"']|"
            r"\b(?:array_map|call_user_func\w{0,6}|usort|array_filter|register_shutdown_function)\([ \t]*"
            r"[\"'](?:assert|system|exec|eval|passthru|shell_exec)[\"']"
        ),
    ),
    (
        word_set("lua"),
        "package nvim_exec nvim_exec2 vim loadfile",
        r"\bpackage\.loadlib[ \t]*\(|\bnvim_exec2?[ \t]*\(|\bvim\.cmd[ \t]*\([ \t]*(?=[a-z_])|\bloadfile[ \t]*\(",
    ),
    (
        _LISP,
        "eval string buffer region reader compile",
        r"\((?:eval|load-string|eval-buffer|eval-region|load-reader|eval-string|compile)[ \t]+(?=[(a-z*])|\(eval-buffer\)",
    ),
    (_VIM, "exe execute", r"\bexe(?:cute)?[ \t]+(?:system|join|readfile|[a-z]:)|\bcall[ \t]+execute\("),
    (word_set("r rmd rprofile"), "eval", r"\beval\([ \t]*(?:parse|str2lang|str2expression)\("),
    (word_set("jl julia"), "eval include_string", r"\beval\([ \t]*Meta\.parse|\binclude_string\("),
    (
        word_set("ex exs erl hrl elixir erlang"),
        "code erl_eval erl_scan",
        r"\bCode\.(?:eval|compile)_\w{4,8}|\berl_(?:eval|scan)\b|\bcode:load_binary\b",
    ),
    (word_set("tcl tk exp"), "uplevel subst eval", r"\b(?:uplevel|subst|eval)[ \t]+[^\n]{0,20}\$"),
    (word_set("applescript scpt"), "run do", r"\brun script\b|\bdo shell script[ \t]+[a-z(]"),
    (
        word_set("java kt kts groovy scala gradle"),
        "defineclass groovyshell getenginebyname urlclassloader evaluate",
        r"\bdefineClass\(|\bGroovyShell\(|\bgetEngineByName\(|\bURLClassLoader\b|\bevaluate\(",
    ),
    (
        word_set("cs csx vb fs fsx"),
        "csharpscript assembly dynamicmethod codedomprovider",
        r"\bCSharpScript\.\w{3,20}|\bAssembly\.Load\w{0,8}\(|\bDynamicMethod\(|\bCodeDomProvider\b",
    ),
    (
        word_set("vbs vba vbscript bas hta asp wsf"),
        "scriptcontrol addcode executestatement",
        r"\bScriptControl\b|\.(?:AddCode|ExecuteStatement)\b",
    ),
    (
        word_set("go golang"),
        "plugin interp goja otto starlark memfdcreate",
        r"\bplugin\.Open\(|\binterp\.New\(|\bgoja\.New\(|\botto\.New\(|\bstarlark\.ExecFile|\bMemfdCreate\b",
    ),
    (
        word_set("rs rust"),
        "libloading library rhai mlua memfd_create",
        r"\blibloading::|\bLibrary::new\(|\brhai::Engine|\bmlua::Lua|\bmemfd_create\b",
    ),
    (word_set("dart"), "spawnuri", r"\bspawnUri\("),
    (
        word_set("awk gawk mawk nawk"),
        "print printf system getline",
        r"\|&?[ \t]*(?:\"[ \t]*(?:/(?:usr/)?bin/)?(?:ba|z|da)?sh\b|ENVIRON\[\"SHELL\"\])|\bsystem\([ \t]*[a-z$]",
    ),
    (
        word_set("r rmd rprofile"),
        "eval",
        r"\b[ls]apply\([^\n]{0,200}\bparse\([ \t]*text[^\n]{0,200},[ \t]*eval\b|\bdo\.call\([ \t]*[\"']?eval\b",
    ),
    # what describes machines: the command of a provisioner, of a task, of a step
    (
        word_set("tf hcl tofu"),
        "command inline program user_data script",
        r"\b(?:command|inline|program|user_data|script)[ \t]*=[ \t]*[\[\"$ {]*(?:base64(?:decode|gunzip)\(|data\.http\.)",
    ),
    (
        word_set("yml yaml j2 jinja jinja2"),
        "shell command raw cmd script run b64decode lookup b64dec win_shell",
        (
            r"\b(?:shell|command|raw|cmd|script|run|args)[\"']?:[^\n]{0,200}\{\{[^{}\n]{0,200}"
            r"(?:\bb64dec(?:ode)?\b|\blookup\([ \t]*[\"'](?:ansible\.builtin\.)?url\b)"
        ),
    ),
)
_IN_ALL: Final = (
    frozenset[str](),
    triggers("memfd_create proc fexecve prot_exec page_execute_readwrite virtualalloc virtualallocex"),
    re.compile(
        r"\bmemfd_create\b|/proc/(?:self|\d{1,6}|\$\$)/fd/(?=[\"'{$%])|\bfexecve\(|\bPROT_EXEC\b|\bPAGE_EXECUTE_READWRITE\b|\bVirtualAlloc(?:Ex)?\("
    ),
)
"""The memory of a process, whatever language fills it."""
_PATTERNS: Final = tuple((languages, triggers(words), re.compile(pattern)) for languages, words, pattern in _ENDS)
#: A shell that gets nothing but one name: a command that somebody else wrote, if a connection brings messages close to it.
_OBEYS: Final = re.compile(
    r"(?:\bos\.(?:system|popen)|\bcreate_subprocess_shell|\bsubprocess\.(?:getoutput|getstatusoutput|run|call|Popen|check_output)|"
    r"\b(?:child_process|cp)\.exec(?:Sync)?|(?<![\w.>:$])(?:shell_exec|passthru|popen|system|execSync)|\bIO\.popen|\bio\.popen)\(\s*(?:await\s)?"
    r"\$?[A-Za-z_][\w.$]{0,60}(?:\[[\w\"': -]{1,20}\]){0,4}(?:(?:\.\w{1,20})?\((?:[\"'][\w-]{0,12}[\"'])?\)){0,3}\s*(?:,|\))"
)
_MESSAGES: Final = re.compile(
    r"\.recv\(|\bopen_connection\(|\bcreate_connection\(|\bwss?://|\bWebSocket\b|\bmqtt\b|\bTelegramClient\(|\bTeleBot\(|\bnew\s+TelegramBot\(|\bdiscord\.Client\(|\bTelegraf\(|"
    r"\.b[lr]pop\(|\bpubsub\(|\bbasic_consume\(|\bKafkaConsumer\(|\bimaplib\b|\bpoplib\b|\bTCPSocket\b|\bfsockopen\(|\bstream_socket_client\(|\bIO::Socket|"
    r"\bnet\.(?:connect|createConnection)\(|\bio(?:\.connect)?\(\s*[\"'`]https?:|\bresolveTxt\(|\bdns\.resolver\b|\bzmq\.|\bslack_bolt\b|\bnew\s+Pusher\("
)
#: A shell that gets what a request to the program brings.
_SERVES: Final = re.compile(
    r"(?:\bos\.(?:system|popen)|\bsubprocess\.(?:getoutput|getstatusoutput|run|call|Popen|check_output)|\bchild_process\.exec(?:Sync)?|"
    r"(?<![\w.>:$])(?:shell_exec|passthru|popen|system|execSync|exec|eval|assert))\(\s*"
    r"(?:\$_(?:GET|POST|REQUEST|COOKIE|SERVER)\b|(?:\w{1,10}\.)?request\.(?:args|form|json|data|values|get_json|query_params|GET|POST)\b|"
    r"\w{1,10}\.(?:query|body|params)[.\[])"
)
_REQUEST_MARKS: Final = ("$_", "request.", ".query", ".body", ".params")
_OBEY_WORDS: Final = triggers(
    "system popen create_subprocess_shell subprocess exec child_process shell_exec passthru execsync getoutput"
)
_SERVE_WORDS: Final = _OBEY_WORDS | triggers("eval assert")
#: Ends that have no word of their own: Perl's substitution that runs its right side, and a command that is a name.
_WITHOUT_WORDS: Final = (
    ("ee", re.compile(r"=~[ \t]*s[^\w\s][^\n]{0,400}ee")),
    ("`", re.compile(r"`[ \t]*(?:#\{|\$\w)")),
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every such end that has something which receives text close to it."""
    source = resolved(source)
    yield from _obeying(source)
    languages = {block[0] for block in source.blocks} if source.markdown else {source.language(0)}
    patterns = [row for row in _PATTERNS if not languages.isdisjoint(row[0])]
    numbers = set(source.lines_with(_IN_ALL[1].union(*(words for _, words, _ in patterns))))
    if patterns:
        for mark, pattern in _WITHOUT_WORDS:
            if mark in source.text:
                numbers.update(source.line_at(match.start()) for match in pattern.finditer(source.text))
    if not numbers:
        return
    near = Near(source)
    text, starts = source.text, source.text_starts
    for number in sorted(numbers):
        if number in source.run_lines or not source.is_code(number):
            continue
        language = source.language(number)
        for some, _, pattern in (*patterns, _IN_ALL):
            if some and language not in some:
                continue
            match = pattern.search(text, starts[number], starts[number + 1] - 1)
            if match is not None and "get_data" in match[0] and _LOADER.search(text) is None:
                continue  # an everyday name, unless the class is a loader of modules
            if match is not None and match[0].startswith("script") and _is_data_element(source, number, match[0]):
                continue
            if (
                match is not None
                and match[0][0] == "`"
                and _is_quoted(source.lines[number], match.start() - starts[number])
            ):
                continue  # a name in a message
            fact = near.fact(number, after=True) if match is not None else ""
            if fact and match is not None:
                value = shell.shown(shell.plain(source.lines[number].strip()))
                yield RuleMatch(fact, value, number, match.start() - starts[number])
                break


_LOADER = re.compile(
    r"\bclass[ \t]+\w{1,60}\([^)\n]{0,200}Loader\b|\bclass[ \t]+\w{0,60}Loader\b|\bmeta_path\b|\bspec_from_loader\b"
)


def _is_data_element(source: Source, number: int, assigned: str) -> bool:
    """Whether the script element whose text is assigned holds data: its type, set close to it, says so."""
    name = re.escape(assigned.partition(".")[0])
    near = "\n".join(source.lines[max(0, number - _BESIDE) : number + _BESIDE])
    return re.search(rf"\b{name}\.{_TYPED_AS_DATA}", near) is not None


_TYPED_AS_DATA: Final = (
    r"(?:type\s{0,3}=\s{0,3}|setAttribute\(\s{0,3}[\"']type[\"']\s?,\s?)[\"']application/(?:ld\+)?json"
)
_BESIDE: Final = 8


def _is_quoted(line: str, column: int) -> bool:
    """Whether a column of a line is inside a string in quotes, where backquotes run nothing."""
    return any(match.start() < column < match.end() for match in _QUOTED.finditer(line[: FACTS.piece_characters], 0))


_QUOTED: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def _obeying(source: Source) -> Iterator[RuleMatch]:
    """Yield every shell that runs whatever a connection brings: the command is a name, and messages arrive close to it."""
    if not source.has(_SERVE_WORDS):
        return
    text, starts = source.text, source.text_starts
    requests = any(mark in text for mark in _REQUEST_MARKS)
    messages: list[int] | None = None
    for number in source.lines_with(_SERVE_WORDS if requests else _OBEY_WORDS):
        begin, end = starts[number], starts[number + 1]
        obeys = list(_OBEYS.finditer(text, begin, end))
        served = list(_SERVES.finditer(text, begin, end)) if requests else []
        if not (obeys or served) or number in source.run_lines or not source.is_code(number):
            continue
        value = shell.shown(shell.plain(source.lines[number].strip()))
        if served:
            yield RuleMatch(PIPE_TO_SHELL, value, number, served[0].start() - begin, CAUTION)
        for match in obeys:
            if "subprocess." in match[0] and "shell=True" not in calls.window_of(text, match.start(0)):
                continue
            if source.markdown:  # a program on one line: what else a page holds is another one
                near = _MESSAGES.search(text, begin, end) is not None
            else:
                if messages is None:
                    messages = [source.line_at(found.start()) for found in _MESSAGES.finditer(text)]
                near = _any_between(messages, number - calls.NEAR_LINES, number + calls.NEAR_LINES)
            if near:
                yield RuleMatch(PIPE_TO_SHELL, value, number, match.start() - begin)


class Near:
    """The lines of a file that fetch or decode something, found once: many lines of one file can ask."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _calls(self) -> tuple[tuple[str, list[int]], ...]:
        line_at = self._source.line_at
        fetched = [line_at(at) for at in calls.sources_in(self._source, calls.FETCHED)]
        decoded = [line_at(at) for at in calls.sources_in(self._source, calls.DECODED)]
        return (PIPE_TO_SHELL, fetched), (DECODE_AND_RUN, [line for line in decoded if not self._is_dropped(line)])

    @cached_property
    def _commands(self) -> list[int]:
        source = self._source
        lines = [source.logical(source.line_at(match.start())) for match in _FETCHES.finditer(source.text)]
        return [
            line.first
            for line in dict.fromkeys(lines)
            if any(
                command.words and fetchers.fetcher_of(command) is not None
                for commands in source.commands(line)
                for command, _ in commands
            )
        ]

    def _closer(self, edge: int, number: int, step: int) -> int:
        """The line towards ``edge`` up to which there are ``_CHARACTERS`` from line ``number``, not counting what is encoded.

        Packed code has thousands of characters in a line.
        """
        left = _CHARACTERS
        while number != edge and left > 0:
            number += step
            left -= len(_ENCODED.sub("", self._source.lines[number]))
        return number if left > 0 else number - step

    def _ends_example(self, number: int) -> bool:
        """Whether an example of a page ends here, though its block goes on: two empty lines."""
        lines = self._source.lines
        return self._source.markdown and not (lines[number].strip() or lines[number - 1].strip())

    def _is_dropped(self, number: int) -> bool:
        """Whether a line does nothing but decode, and nothing takes the result: ``marshal.loads(data)`` in a list of calls."""
        source = self._source
        line = source.lines[number]
        match = _DROPS.fullmatch(line[: FACTS.piece_characters]) if len(line) < FACTS.piece_characters else None
        return match is not None and (number == 0 or _GOES_ON.search(source.lines[number - 1]) is None)

    def fact(self, number: int, *, after: bool = False) -> str:
        """The fact that a line amounts to where the same code fetches or decodes something not long before; empty if it does not.
        ``after``: or not long behind it.

        How the one comes to the other is not known. On the public collections, code that does both has so far meant it.
        """
        first = last = number
        while (
            first > 0
            and number - first < calls.NEAR_LINES
            and self._source.is_code(first - 1)
            and not self._ends_example(first - 1)
        ):
            first -= 1
        while (
            after
            and last < len(self._source.lines) - 1
            and last - number < calls.NEAR_LINES
            and self._source.is_code(last + 1)
            and not self._ends_example(last + 1)
        ):
            last += 1
        if self._source.text_starts[last] - self._source.text_starts[first] > _CHARACTERS:
            first, last = self._closer(first, number, -1), self._closer(last, number, 1)
        for fact, lines in self._calls:
            if _any_between(lines, first, last):
                return fact
        first = self._source.logical(first).first
        return PIPE_TO_SHELL if _any_between(self._commands, first, last) else ""


def _any_between(numbers: Sequence[int], first: int, last: int) -> bool:
    at = bisect_left(numbers, first)
    return at < len(numbers) and numbers[at] <= last


#: A call whose value nothing takes, and the end of a line that the next one belongs to.
_DROPS = re.compile(r"[ \t]*(?:\w{1,30}\.){1,3}\w{1,30}\([^()\n]{0,80}\);?[ \t]*(?:(?:#|//)[^\n]*)?")
_GOES_ON = re.compile(r"(?:[\[({,=+.?:&|>\\]|\breturn|\byield|\bawait)[ \t]*$")
_CHARACTERS: Final = 8_000
_ENCODED = re.compile(r"[A-Za-z0-9+/=\\_-]{120,}")
_FETCHES = re.compile(r"\b(?:curl|wget|iwr|irm|aria2c|nc|dig|ztcp|Invoke-\w{3,14})\b", re.IGNORECASE)
