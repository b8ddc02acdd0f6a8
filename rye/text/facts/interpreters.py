"""Programs that run their input, and how a command line supplies it: as a script, as an argument, on stdin."""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts import shell
from rye.text.facts.tables import word_set

SHELLS: Final = word_set(
    "sh bash zsh dash ksh ash fish csh tcsh rbash mksh pwsh powershell cmd iex invoke-expression $shell "
    "${shell} ${shell $bash ${bash $0 osascript"
)
LANGUAGES: Final = word_set(
    "make gmake uv python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua rscript tclsh groovy "
    "ipython ipython3 irb julia elixir swift expect jshell xonsh nu wish pythonw wscript cscript tsx ts-node"
)
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|php|node|lua)\d*(?:\.\d+)*w?")
_EXPRESSION: Final = word_set("iex invoke-expression eval source . scriptblock add-type invoke-command start-job")
_BUILTINS: Final = word_set("eval source")
"""Of these, commands of the shell itself, which have no path."""
_CALLS: Final = ("scriptblock]::create", "assembly]::load")
#: Programs that pass their last words, or their input, to another program.
_CARRIERS: Final = word_set(
    "ssh docker podman kubectl su chroot nsenter xargs parallel lxc nerdctl oc tee sudo find fd "
    "runuser unshare flock watch entr script tmux screen wsl firejail bwrap forfiles conhost start wmic "
    "caffeinate ld ld-linux toolbox distrobox command"
)
#: Programs that run a file of commands, but standard input only if it is named.
_EXPLICIT: Final = word_set("make gmake uv")
_STDIN: Final = word_set("- -s /dev/stdin /dev/fd/0 /proc/self/fd/0")
_READS_STDIN = re.compile(r"stdin|/dev/fd/0|readFileSync\(0|\$input|cat\b|<>|STDIN|\$_\b|\bgets\b|ARGF|\binput\(")
_EVALUATES = re.compile(r"\b(?:exec|eval|system|popen|subprocess|Function|iex|spawn)\b|\$\(cat", re.IGNORECASE)
_CODE_OPTION = re.compile(r"-[A-Za-z]{0,5}[ceErR]|--?(?:eval|execute|command|encodedcommand|code)", re.IGNORECASE)
#: Options that a program follows, and options that take a value.
_TAKES_PROGRAM: Final = word_set("-m --module -f -File")
_TAKES_VALUE: Final = word_set("-W -X -O -o +o --loader --require --rcfile -ExecutionPolicy")
#: Programs that run a part of their input if their own words say so, and what says it.
_ON_REQUEST: Final = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), re.compile(r"system\s?\([^)]{0,200}\$")),
    **dict.fromkeys(
        ("sed", "gsed"), re.compile(r"(?:^| )[\"']?(?:\d*|\$)?(?:s(\W).*\1[gpIi\d]*e[gp]*|e)[\"']?(?:$| )")
    ),
    "at": re.compile(r"^(?:-\w \S+ )*(?:now|midnight|noon|teatime|tomorrow|\d)"),
    "batch": re.compile(r"^$"),
    "crontab": re.compile(r"^(?:-u \w+ )?-$"),
    **dict.fromkeys(("docker", "podman", "buildah"), re.compile(r"^(?:buildx )?(?:build|bud)\b.* -(?: |$)")),
}
#: Functions that run what they are given, by the last part of their name.
_RUNS_ARGUMENTS = re.compile(
    r"(?:system|popen\d?|exec\w*|eval|run|call|spawn\w*|check_\w{4,6}|source|shell_exec|passthru|startfile|load|include|require|"
    r"import\w*|command|start|sh|bash|shell|launch|invoke\w*)$",
    re.IGNORECASE,
)
_SENTENCE: Final = ".,;:!?)*_\u2026\u3002\u201d\u00bb"
_FILE = re.compile(r"[\w~$%{}./:@+-]*[./][\w$}]")


_ASKED: Final = frozenset(("-v", "-V"))


def is_interpreter(word: str) -> bool:
    """Whether the word names a program that runs text."""
    name = shell.program(word)
    return name in SHELLS or name in LANGUAGES or _VERSIONED.fullmatch(name) is not None


def is_expression(word: str) -> bool:
    """Whether the word runs its arguments as code in the current shell: ``eval``, ``source``, ``.``, ``iex``."""
    return not word.endswith(":") and _is_expression(word)


def _is_expression(word: str) -> bool:
    name = shell.program(word)
    if "/" in word and name in _BUILTINS:
        return False
    return word in (".", "&.") or name in _EXPRESSION or any(call in word.lower() for call in _CALLS)


def position(command: shell.Command) -> int:
    """The index of the interpreter that this command starts, through ``sudo``, ``ssh host``, ``docker exec``; -1 if none."""
    index = shell.head(command)
    if index < 0:
        return -1
    texts = command.texts()
    if index > 0 and texts[index - 1] in _ASKED and "command" in texts[:index]:
        return -1  # ``command -v python3`` only says where it is
    if shell.program(texts[index]) == "eval" and _computes(command.words[index + 1 : index + 2]):
        return -1  # a step of a search, which names what it computes: ``| eval x=if(…)``
    if is_interpreter(texts[index]) or is_expression(texts[index]):
        return index
    if any(shell.program(text) in _CARRIERS for text in texts[: index + 1]):
        for at in range(index, len(texts)):
            if is_interpreter(texts[at]):
                return at
    return -1


def _computes(words: list[shell.Word]) -> bool:
    """Whether a word is a name that gets the value of a function (``x=if(…)``), which no shell has."""
    return any(
        _COMPUTES.fullmatch(word.text) is not None and [child.opened for child in word.children] == ["("]
        for word in words
    )


_COMPUTES: Final = re.compile(r"\w{1,60}=[A-Za-z_]\w{0,40}")


def runs_stdin(command: shell.Command) -> bool:
    """Whether the command runs what comes through the pipe instead of treating it as data."""
    at = position(command)
    if at < 0:
        return _runs_on_request(command)
    texts = command.texts()
    name, rest = shell.program(texts[at]), texts[at + 1 :]
    if name in ("iex", "invoke-expression"):
        return True
    if name in _EXPLICIT:
        return any(text.rstrip(_SENTENCE) in _STDIN and text != "-s" for text in rest)
    if is_expression(texts[at]):
        return (name == "source" and not rest) or any(text.startswith("/dev/") or "stdin" in text for text in rest)
    before = ""
    for index, text in enumerate(rest):
        if text in _STDIN or text.startswith(("-s", "/dev/stdin")):
            return True
        if text.startswith("-") and len(text) > 1:
            if _takes_code(text, name):
                by_hand = any(shell.program(word) in ("xargs", "parallel") for word in texts[:at])
                return (by_hand and _runs_arguments(rest[index + 1 :])) or _code_reads_stdin(rest[index + 1 :])
            if text in _TAKES_PROGRAM:
                return False
        elif before not in _TAKES_VALUE and not (name in ("deno", "bun") and text == "run") and _is_file(text):
            return False
        before = text
    return True


def _runs_on_request(command: shell.Command) -> bool:
    """Whether a program that usually reads data is told to run it: ``awk '{ system($0) }'``, ``sed 's/x/y/e'``, ``at now``."""
    index = shell.head(command)
    texts = command.texts()
    if index < 0 and texts and shell.program(texts[0]) == "parallel":
        return True  # without a command, its input is commands
    asked = _ON_REQUEST.get(shell.program(texts[index])) if index >= 0 else None
    if asked is None:
        return False
    rest = [inner for word in command.words[index + 1 :] for inner in (word.text, *_inner(word))]
    return asked.search(" ".join(rest)) is not None


def _inner(word: shell.Word) -> list[str]:
    """The words in a word's parentheses, with these."""
    return [f"({' '.join(text for command in child.commands for text in command.texts())})" for child in word.children]


def takes_code(option: str) -> bool:
    """Whether a word is an option after which code stands, so that standard input is data: ``-c``, ``--eval``."""
    return option.startswith("-") and _CODE_OPTION.fullmatch(option) is not None


def _takes_code(option: str, name: str) -> bool:
    """Whether the next words are code: ``-c``, ``-e``. A shell's own ``-e`` and ``-r`` mean something else."""
    if name in SHELLS and (option == "-e" or option.lower() == "-r"):
        return False
    return _CODE_OPTION.fullmatch(option) is not None


def _runs_arguments(code: list[str]) -> bool:
    """Whether code that gets a line of the input as an argument runs it: it is missing, begins with it, or has it put in."""
    return len(code) <= 1 or code[0].startswith("$") or any("{}" in word or word == "eval" for word in code)


def _code_reads_stdin(words: list[str]) -> bool:
    """Whether code on the command line runs what it reads. A lone ``-`` is standard input itself."""
    code = " ".join(words)
    if code.strip(".,;)") == "-" or code.startswith("- "):
        return True
    return _EVALUATES.search(code) is not None and (_READS_STDIN.search(code) is not None or "$(cat" in code)


def _is_file(text: str) -> bool:
    return _FILE.match(text.rstrip(_SENTENCE)) is not None


def script(command: shell.Command) -> shell.Word | None:
    """The file that the command runs: an interpreter's first argument, or the command itself if it is a path."""
    at = position(command)
    index = shell.head(command)
    if at < 0:
        return command.words[index] if index >= 0 else None
    skip = False
    for word in command.words[at + 1 :]:
        if skip:
            skip = False
        elif word.text.lower() in ("-file", "-f") and shell.program(command.words[at].text) in ("pwsh", "powershell"):
            continue
        elif word.text.startswith(("-", "+")) and len(word.text) > 1:
            if (_CODE_OPTION.fullmatch(word.text) and word.text != "-e") or word.text == "-m":
                return None
            skip = word.text in _TAKES_VALUE and word.text != "+o"
        elif word.text in ("run", "/c", "/k"):
            continue
        else:
            return word
    return None


def code_words(command: shell.Command) -> list[shell.Word]:
    """The words that the command runs as code: those after ``-c``, ``-e``, ``eval``, ``iex``, ``source``."""
    at = position(command)
    if at < 0:
        return []
    words = command.words
    if is_expression(words[at].text):
        return words[at:]
    for index in range(at + 1, len(words)):
        text = words[index].text
        if text.startswith("-") and _CODE_OPTION.fullmatch(text):
            return words[index + 1 :]
    return []


def stands_in_text(group: shell.Group) -> bool:
    """Whether parentheses begin no command: they stand behind words, or hold the arguments of a function that runs none of them
    (``open('/tmp/x')``)."""
    if group.opened != "(" or group.owner is None or not group.owner.words:
        return False
    first = group.owner.words[0]
    if first.children[-1:] != [group]:
        return True
    return first.text[:1].isalpha() and _RUNS_ARGUMENTS.search(first.text.removesuffix("$()")) is None
