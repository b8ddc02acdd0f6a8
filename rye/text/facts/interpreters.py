"""Which programs run what they are given, and how a command line gives it to them: as a script, as an argument, on stdin."""

from __future__ import annotations

import re
from typing import Final

from rye.text.facts import shell
from rye.text.facts.tables import word_set

SHELLS: Final = word_set(
    "sh bash zsh dash ksh ash fish csh tcsh rbash mksh pwsh powershell cmd iex invoke-expression $shell "
    "${shell} osascript"
)
LANGUAGES: Final = word_set(
    "python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua rscript tclsh groovy"
)
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|php|node|lua)\d*(?:\.\d+)*w?")
_EXPRESSION: Final = word_set("iex invoke-expression eval source . scriptblock")
#: Programs that hand their last words, or what they read, to another program.
_CARRIERS: Final = word_set("ssh docker podman kubectl su chroot nsenter xargs parallel lxc nerdctl oc tee sudo")
_STDIN: Final = word_set("- -s /dev/stdin /dev/fd/0 /proc/self/fd/0")
_READS_STDIN = re.compile(r"stdin|/dev/fd/0|readFileSync\(0|\$input|cat\b|<>|STDIN")
_EVALUATES = re.compile(r"\b(?:exec|eval|system|popen|subprocess|Function|iex|spawn)\b|\$\(cat", re.IGNORECASE)
_CODE_OPTION = re.compile(r"-[A-Za-z]{0,5}[ceErR]|--?(?:eval|execute|command|encodedcommand|code)", re.IGNORECASE)
_FILE = re.compile(r"[\w~$%{}./:@+-]*[./][\w$}]")


def is_interpreter(word: str) -> bool:
    """Whether the word names a program that runs text."""
    name = shell.program(word)
    return name in SHELLS or name in LANGUAGES or _VERSIONED.fullmatch(name) is not None


def is_expression(word: str) -> bool:
    """Whether the word runs its arguments as code in the shell it stands in: ``eval``, ``source``, ``.``, ``iex``."""
    return word in (".", "&.") or shell.program(word) in _EXPRESSION or "scriptblock]::create" in word.lower()


def position(command: shell.Command) -> int:
    """The index of the interpreter that this command starts, through ``sudo``, ``ssh host``, ``docker exec``; -1 for none."""
    index = shell.head(command)
    if index < 0:
        return -1
    texts = command.texts()
    if is_interpreter(texts[index]) or is_expression(texts[index]):
        return index
    if any(shell.program(text) in _CARRIERS for text in texts[: index + 1]):
        for at in range(index, len(texts)):
            if is_interpreter(texts[at]):
                return at
    return -1


def runs_stdin(command: shell.Command) -> bool:
    """Whether the command runs what comes through the pipe, rather than treat it as data."""
    at = position(command)
    if at < 0:
        return False
    texts = command.texts()
    name = shell.program(texts[at])
    if name in ("iex", "invoke-expression"):
        return True
    if is_expression(texts[at]):
        return any(text.startswith("/dev/") or "stdin" in text for text in texts[at + 1 :])
    rest = texts[at + 1 :]
    for index, text in enumerate(rest):
        if text in _STDIN or text.startswith(("-s", "/dev/stdin")):
            return True
        if text.startswith("-") and len(text) > 1:
            if (
                _CODE_OPTION.fullmatch(text)
                and not (text.lower() in ("-r",) and name in SHELLS)
                and text != "-e" * (name in SHELLS)
            ):
                code = " ".join(rest[index + 1 :])
                if code.strip(".,;)") in ("-", "") or code.startswith("- "):
                    return True
                xargs = any(shell.program(word) in ("xargs", "parallel") for word in texts[:at])
                return xargs or bool(_EVALUATES.search(code) and (_READS_STDIN.search(code) or "$(cat" in code))
            if text in ("-m", "--module", "-f", "-File"):
                return False
            continue
        if index and rest[index - 1] in (
            "-W",
            "-X",
            "-O",
            "-o",
            "+o",
            "--loader",
            "--require",
            "--rcfile",
            "-ExecutionPolicy",
        ):
            continue
        if name in ("deno", "bun") and text == "run":
            continue
        if _FILE.match(text) and not text.endswith((".", "。")):
            return False
    return True


def script(command: shell.Command) -> shell.Word | None:
    """The file that the command runs: an interpreter's first argument, or the command itself when it is a path."""
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
            skip = word.text in ("-W", "-X", "-O", "-o", "--loader", "--require", "--rcfile", "-ExecutionPolicy")
        elif word.text in ("run", "/c", "/k"):
            continue
        else:
            return word
    return None


def code_words(command: shell.Command) -> list[shell.Word]:
    """The words that the command runs as code: what follows ``-c``, ``-e``, ``eval``, ``iex``, ``source``."""
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
