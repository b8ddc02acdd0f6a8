"""Cautions about what runs: an interpreter gets text that is not written there, whatever makes it.

``pipe_to_shell`` and ``decode_and_run`` know where the text comes from, and raise an alarm. This rule knows only the sink:
``sed -n '/^#x/,$p' SKILL.md | sh``, ``eval "$BOOT"``, ``exec(decrypt(x))``. A constant (``echo 'make all' | sh``) is none,
nor is a file that is run as a whole (``cat setup.sh | sh`` is ``sh setup.sh``), nor a script that reads data from a pipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import calls, fetchers, interpreters, shell
from rye.text.facts.commands import KNOWN
from rye.text.facts.ends import Near
from rye.text.facts.fact import CAUTION, DECODE_AND_RUN, PIPE_TO_SHELL
from rye.text.facts.shell import shown
from rye.text.facts.source import Line, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

_TRIGGERS = triggers(
    (interpreters.SHELLS | interpreters.LANGUAGES | word_set("eval source"))
    - word_set("$shell ${shell} go deno bun groovy cmd powershell pwsh")
)
_MARKS: Final = ("|", "$", "<(", "`", "<<<")
_PRINTS: Final = word_set("echo printf write-output")
_PRINTERS: Final = word_set(
    "tail head tr rev printf pbpaste xclip dd strings cut openssl perl tac nl fold paste od hexdump"
)
_WHOLE_FILE: Final = word_set("cat type get-content gc")
#: Programs that print settings of the shell, and the words with which others do.
_SETTINGS_PROGRAMS: Final = word_set(
    "ssh-agent gpg-agent lesspipe path_helper dircolors resize register-python-argcomplete direnv fnm brew"
)
_SETTINGS_WORDS: Final = word_set(
    "completion completions init hook shellenv env activate shell.bash shell.zsh shell-init hook-env shell setup docker-env "
    "generate-shell-completion export-credentials bash zsh fish"
)
_LOOKED_AT: Final = 4
"""How many words after a program can say that it prints settings."""
_STORES: Final = word_set("sqlite3 duckdb gdbmtool lmdb_dump mdb_dump tdbdump plutil defaults reg")
"""Programs that print what a file holds which nobody reads."""
_NOT_AS_CODE: Final = word_set("xargs parallel source .")
"""With these, what comes through the pipe becomes arguments, or nothing."""
_MOST_STAGES: Final = 12
"""How many commands of a pipeline are examined."""
_WHOLE_VARIABLE = re.compile(r"\$(?:[@*]|\{?[A-Za-z_]\w{0,80}|\{[@*])")
#: ``exec`` runs code in Python; elsewhere it starts a program. The others run code wherever they are.
_EVALUATES = re.compile(r"(?:eval|execfile|create_function|runIn\w{3,20}|vm\.Script)[\"')\]\s]{0,8}\($")
_BY_NAME = re.compile(r"^\s*getattr\(.*\($", re.DOTALL)
_CONSTRUCTS = re.compile(r"\bFunction\($")
_EXECUTES = re.compile(r"\bexec[\"')\]\s]{0,8}\($")
_POWERSHELL: Final = word_set("iex invoke-expression")
_PYTHON: Final = word_set("py python python3 pyw ipynb")
#: Languages whose strings hold commands that they may never run.
_PROGRAMS: Final = _PYTHON | word_set(
    "js mjs cjs jsx javascript node ts mts cts tsx typescript json jsonc json5 go golang rs rust java kt kotlin swift cs csharp "
    "c cc cpp scala dart sql html htm css"
)
_ONE_VARIABLE = re.compile(r"\$(?:[@*]|\{?\w{1,80}(?:\[[@*\w]{1,20}\])?(?:[/#%:^,][^{}]{0,80})?\}?)")
#: An argument that is nothing but a name: what it holds is anybody's guess.
_ONE_NAME = re.compile(r"\s{0,8}[\w$.]{1,80}\s{0,8}[,)]")
_LITERAL = re.compile(r"\s*[rRbBuU]{0,2}(?:'[^'\\\n]{0,2000}'|\"[^\"\\\n]{0,2000}\"|`[^`$\\]{0,2000}`)\s*[,)]")
_NOTHING = re.compile(r"\s*[).…]")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where text that is not a constant reaches an interpreter, if no alarm says so already."""
    if source.has(_TRIGGERS) and any(mark in source.text for mark in _MARKS):
        before = Near(source)
        for line in source.logical_lines(_TRIGGERS):
            if any(mark in line.text for mark in _MARKS):
                yield from _in_commands(source, line, before)
    yield from _in_calls(source)


def _in_commands(source: Source, line: Line, before: Near) -> Iterator[RuleMatch]:
    for commands in source.commands(line):
        for command, _ in commands:
            at = interpreters.position(command) if command.words else -1
            if at < 0 or (
                command.words[at].text[:1].isupper() and shell.program(command.words[at].text) not in _POWERSHELL
            ):
                continue
            start = (
                _first(command) if _pipes_in(command, line) else command if _takes(command, at, line, source) else None
            )
            if start is None:
                continue
            number, column = source.place(line, start.words[0].start, shell.program(start.words[0].text))
            if number not in source.run_lines:
                value = shown(line.text[start.words[0].start : command.end])
                fact = _near(before, source, command, number) or (PIPE_TO_SHELL if _names_address(command) else "")
                kind = (
                    DECODE_AND_RUN
                    if shell.program(start.words[max(0, shell.head(start))].text) in _STORES
                    else PIPE_TO_SHELL
                )
                level = "" if fact and not _is_one_variable(command) else CAUTION
                yield RuleMatch(fact or kind, value, number, column, level)


def _is_one_variable(command: shell.Command) -> bool:
    """Whether an interpreter runs nothing but a variable and options, which is followed from what it is assigned."""
    at = interpreters.position(command)
    words = interpreters.code_words(command)
    code = words[1:] if interpreters.is_expression(command.words[at].text) else words
    if command.before is not None or not code or any(word.children for word in code):
        return False
    return _ONE_VARIABLE.fullmatch(code[0].text) is not None


def _near(before: Near, source: Source, command: shell.Command, number: int) -> str:
    """The fact that a command amounts to with what is near it. A comment runs nothing, and in a program a command is one string
    among others (an example, a pattern, a message), so that only its own pipeline says where its text comes from."""
    if source.lines[number].lstrip().startswith("#"):
        return ""
    if source.language(number) not in _PROGRAMS or _fetches(command):
        return before.fact(number)
    return ""


def _fetches(command: shell.Command) -> bool:
    """Whether a command of the pipeline before an interpreter fetches something."""
    stage = command.before
    for _ in range(_MOST_STAGES):
        if stage is None or not stage.words:
            break
        if fetchers.fetcher_of(stage) is not None:
            return True
        stage = stage.before
    return False


def _pipes_in(command: shell.Command, line: Line) -> bool:
    """Whether the pipe before an interpreter brings text that is not a constant, and the interpreter runs it."""
    before = command.before
    if before is None or not before.words or not interpreters.runs_stdin(command):
        return False
    if any(interpreters.takes_code(word.text) for word in command.words):
        return False
    if any(word.text == "-n" or shell.program(word.text) in _NOT_AS_CODE for word in command.words):
        return False
    stages: list[shell.Command] = []
    while before is not None and len(stages) < _MOST_STAGES:
        stages.append(before)
        before = before.before
    if not any(_is_command(stage, line) for stage in stages):
        return False
    return not all(map(_is_constant, stages))


def _names_address(command: shell.Command) -> bool:
    """Whether a command of the pipeline before an interpreter is given an address: whatever the program is, it fetches."""
    for word in command.words:
        for group in word.children:
            if any(_gets_address(inner) for inner in group.commands):
                return True
    before = command.before
    for _ in range(_MOST_STAGES):
        if before is None or not before.words:
            break
        if _gets_address(before):
            return True
        before = before.before
    return False


def _gets_address(command: shell.Command) -> bool:
    """Whether a command is given an address and does more than print it."""
    if not command.words:
        return False
    name = shell.program(command.words[max(0, shell.head(command))].text)
    if name in _SERVICES and not _READS.isdisjoint(command.texts()):
        return True
    return name not in _PRINTS_WORDS and any(
        "://" in word.text and "file://" not in word.text for word in command.words[1:]
    )


_SERVICES: Final = word_set("gh glab")
"""Programs that print what anybody can write at a service, if they are told to show it."""
_READS: Final = word_set("view list get")


_PRINTS_WORDS: Final = _PRINTS | word_set("grep sed awk jq sort tr cut head tail tee cat")


def _is_command(command: shell.Command, line: Line) -> bool:
    """Whether words before a pipe are a command, not a cell or a pattern: in prose, a known program with something behind it."""
    index = shell.head(command)
    if index < 0:
        return command.here
    word, more = command.words[index].text, index < len(command.words) - 1
    known = shell.program(word) in KNOWN | _PRINTERS and word == word.lower()
    return (known and more) or (line.code and (more or "/" in word or shell.program(word) in _PRINTERS or command.here))


def _is_constant(command: shell.Command) -> bool:
    """Whether a command passes on what is written in it, or the whole of files."""
    index = shell.head(command)
    if index < 0 or command.here:
        return False
    name = shell.program(command.words[index].text)
    rest = command.words[index + 1 :]
    if name in _PRINTS:
        return not any(word.children or "$" in word.text for word in rest)
    return name in _WHOLE_FILE or (name == "tee")


def _takes(command: shell.Command, at: int, line: Line, source: Source) -> bool:
    """Whether an interpreter gets its code from a substitution or a variable: ``eval "$X"``, ``sh -c "$(…)"``, ``sh <(…)``."""
    words = interpreters.code_words(command)
    expression = interpreters.is_expression(command.words[at].text)
    script = interpreters.script(command)
    if command.here:
        return any(word.children or "$" in word.text for word in command.words[at + 1 :])
    if any(word.children and not _prints_settings(word) for word in command.reads):
        return interpreters.runs_stdin(command)
    if script is not None and script.children and script.children[0].opened == "<(":
        return not _prints_settings(script)
    code = words[1:] if expression else words
    if not code or (not line.code and "`" not in "".join(source.lines[line.first : line.first + 1])):
        return False
    first = code[0]
    if shell.program(command.words[at].text) in ("source", ".") or command.words[at].text == ".":
        return False
    if first.children and first.children[0].opened == "(" and shell.program(command.words[at].text) in _POWERSHELL:
        return line.code
    if first.children and first.text.startswith("$(") and first.children[0].opened in ("$(", "`"):
        return not _prints_settings(first)
    return _WHOLE_VARIABLE.match(first.text) is not None


def _prints_settings(word: shell.Word) -> bool:
    """Whether a substitution asks an installed program for settings of the shell: ``$(brew shellenv)``."""
    for group in word.children:
        commands = [command for command in group.commands if command.words]
        if len(commands) != 1:
            return False
        texts = commands[0].texts()
        index = shell.head(commands[0])
        if index < 0 or "$" in texts[index].rpartition("/")[2] or interpreters.is_interpreter(texts[index]):
            return False
        named = shell.program(texts[index]) in _SETTINGS_PROGRAMS
        words = [text.lstrip("-") for text in texts[index + 1 : index + 1 + _LOOKED_AT]]
        if not named and _SETTINGS_WORDS.isdisjoint(words) and not any(word.endswith("-init") for word in words):
            return False
    return bool(word.children)


def _first(command: shell.Command) -> shell.Command:
    """The first command of a pipeline."""
    for _ in range(_MOST_STAGES):
        if command.before is None or not command.before.words:
            break
        command = command.before
    return command


def _in_calls(source: Source) -> Iterator[RuleMatch]:
    """``exec(decrypt(x))``: code that a program computes."""
    source, evaluates = calls.evaluating(source)
    before = Near(source)
    for match in evaluates:
        number = source.line_at(match.start())
        if number in source.run_lines or not source.is_code(number) or calls.is_no_call(source, match):
            continue
        only = _EXECUTES if source.language(number) in _PYTHON else _CONSTRUCTS
        if not (_EVALUATES.search(match[0]) or only.search(match[0]) or _BY_NAME.match(match[0])):
            continue
        window = calls.window_of(source.text, match.end())
        if not window.strip() or _LITERAL.match(window) or _NOTHING.match(window):
            continue
        value = shown(shell.plain(match[0].lstrip() + window))
        fact = before.fact(number)
        level = "" if fact and _ONE_NAME.match(window) is None else CAUTION
        yield RuleMatch(fact or DECODE_AND_RUN, value, number, match.start() - source.text_starts[number], level)
