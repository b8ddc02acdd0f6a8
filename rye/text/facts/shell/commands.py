"""A logical line as commands: pipelines, substitutions, redirections. Not a shell's grammar, but enough of every shell's.

Text that is not shell code (prose around a command, a call in another language) passes through here as well and yields commands
that no rule knows. Every character is read once; nesting is capped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from rye.limits import FACTS
from rye.text.facts.shell.words import unmask
from rye.text.facts.tables import word_set

_TOKEN = re.compile(
    r"(?P<word>(?:[^\s|;&()<>`$\ue000-\ue007]|\$(?!\()|&(?![&>\s]|$)|[\ue000-\ue007])+)"
    r"|(?P<open>[$<>@]?\()|(?P<close>\))|(?P<tick>`(?!``))|(?P<here><<<)|(?P<heredoc><<-?)"
    r"|(?P<redirect>&?>>?\|?(?:&\d?-?)?|<)|(?P<pipe>\|&?(?!\|))|(?P<end>\|\||&&|[;&\x1e]|`{3,})"
)
_WRAPPERS: Final = word_set(
    "sudo doas env nohup time nice ionice exec command builtin timeout stdbuf setsid busybox xargs parallel unbuffer trap "
    "caffeinate arch xvfb-run rlwrap strace ltrace systemd-run unshare firejail bwrap wsl flock coproc torsocks proxychains"
)
#: Words before a command that are not programs: of a shell, a list, a prompt, a configuration.
_MARKS: Final = word_set(
    "proxycommand localcommand remotecommand knownhostscommand "
    "watch start then do else if while until ! { } run: run cmd entrypoint cmd: call & - * $ % > # ## ### #### // /* rem"
)
#: A test (``[ -z …``) runs nothing. ``[ ]`` is a box in a list, ``[ "a", …`` a list.
_TESTS: Final = ("[", "[[")
_TAKES_VALUE: Final = word_set("-u -n -g -c -I -P -L -s -k --user --group --signal -d -a")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,80}\+?=")
_NUMBERED = re.compile(r"\d{1,4}[.)]?|[\d.]+[smhd]|\[.?\]")
_KEPT_CHARACTERS: Final = 64
"""Words up to this length are cached with the program that they name; a text uses few different ones."""
_TRAILING: Final = ".,;:!?)]}*_~\u2026\u3002\u201d\u2019\u00bb"


class Word:
    """One word, and the substitutions that it contains."""

    __slots__ = ("children", "start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = start
        self.children: list[Group] = []


class Command:
    """Words up to an operator. ``before`` is the command whose output it reads through a pipe."""

    __slots__ = ("before", "end", "here", "reads", "start", "words", "writes")

    def __init__(self, start: int, before: Command | None) -> None:
        self.words: list[Word] = []
        self.writes: list[str] = []
        self.reads: list[Word] = []
        self.here = False
        self.before = before
        self.start = start
        self.end = start

    def texts(self) -> list[str]:
        """The texts of the words."""
        return [word.text for word in self.words]


class Group:
    """The commands of a line or of one substitution. ``opened`` is ``$(``, ``<(``, ``>(``, ``(``, `` ` `` or empty."""

    __slots__ = ("commands", "opened", "owner")

    def __init__(self, opened: str, owner: Command | None = None) -> None:
        self.opened = opened
        self.owner = owner
        self.commands: list[Command] = []


def read(text: str, offset: int = 0) -> Group:
    """Return the commands of a logical line; positions count from ``offset``."""
    reader = _CommandReader(offset)
    for match in _TOKEN.finditer(text):
        _STEPS[match.lastgroup or ""](reader, match[0], match.start() + offset, match.end() + offset)
    return reader.stack[0]


class _CommandReader:
    """The open groups, the current command, and the redirection that still expects its word."""

    __slots__ = ("command", "expect", "stack")

    def __init__(self, offset: int) -> None:
        self.stack = [Group("")]
        self.expect = ""
        self.command = self._begin(offset, None)

    def _begin(self, start: int, before: Command | None) -> Command:
        """Start a command in the current group."""
        self.command = Command(start, before)
        self.stack[-1].commands.append(self.command)
        return self.command

    def word(self, text: str, start: int, end: int) -> None:
        """Add a word to the current command, or use it as a redirection's target."""
        command = self.command
        if len(command.words) >= FACTS.command_words:
            command = self._begin(start, command)
        word = text if text.isascii() else unmask(text)
        expect, self.expect = self.expect, ""
        if expect == ">":
            command.writes.append(word)
        elif expect == "<":
            command.reads.append(Word(word, start))
        else:
            command.here = command.here or expect == "<<<"
            last = command.words[-1] if command.words else None
            if last is not None and command.end == start and last.children:
                last.text += word
            else:
                command.words.append(Word(word, start))
        command.end = end

    def opened(self, text: str, start: int, end: int) -> None:
        """Open a group: a substitution or a subshell."""
        if len(self.stack) > FACTS.nesting:
            self._begin(end, None)
            return
        command = self.command
        last = command.words[-1] if command.words else None
        if self.expect == "<":
            last = Word("$()", start)
            command.reads.append(last)
        elif last is None or command.end != start:
            last = Word("$()", start)
            command.words.append(last)
        command.here = command.here or self.expect == "<<<"
        self.expect = ""
        group = Group(text, command)
        last.children.append(group)
        self.stack.append(group)
        self._begin(end, None)

    def closed(self, _: str, __: int, end: int) -> None:
        """Close the current group."""
        if len(self.stack) > 1:
            owner = self.stack.pop().owner
            assert owner is not None
            self.command = owner
            owner.end = end

    def tick(self, text: str, start: int, end: int) -> None:
        """A backquote opens a substitution, or closes one."""
        step = self.closed if self.stack[-1].opened == "`" else self.opened
        step(text, start, end)

    def redirected(self, text: str, _: int, end: int) -> None:
        """A redirection: its target is the next word."""
        into_descriptor = text[-1:] in "&-0123456789"
        if text[-1:].isdigit() and text[-1] > "2":
            self.command.writes.append(f"&{text[-1]}")
        self.expect = text if text in ("<", "<<<") else "" if into_descriptor else ">"
        self.command.end = end

    def piped(self, _: str, __: int, end: int) -> None:
        """A pipe: the next command reads the output of this one."""
        self._begin(end, self.command if self.command.words else None)
        self.expect = ""

    def ended(self, _: str, __: int, end: int) -> None:
        """An operator that ends a command."""
        self._begin(end, None)
        self.expect = ""

    def skipped(self, _: str, __: int, ___: int) -> None:
        """A here-document's marker: its text follows on separate lines."""


_STEPS: Final[dict[str, Callable[[_CommandReader, str, int, int], None]]] = {
    "word": _CommandReader.word,
    "open": _CommandReader.opened,
    "close": _CommandReader.closed,
    "tick": _CommandReader.tick,
    "here": _CommandReader.redirected,
    "heredoc": _CommandReader.skipped,
    "redirect": _CommandReader.redirected,
    "pipe": _CommandReader.piped,
    "end": _CommandReader.ended,
}


def walk(group: Group) -> Iterator[tuple[Command, Group]]:
    """Yield every command with its group; substitutions come before the command that they belong to."""
    for command in group.commands:
        for word in (*command.words, *command.reads):
            for child in word.children:
                yield from walk(child)
        yield command, group


def pieces(text: str) -> Iterator[tuple[str, int]]:
    """Split a logical line into bounded pieces, each with its offset. The total cost is linear in the length."""
    if len(text) <= FACTS.piece_characters:
        yield text, 0
        return
    for start in range(0, len(text), FACTS.piece_characters):
        yield text[start : start + FACTS.piece_characters + FACTS.piece_overlap], start


def program(word: str) -> str:
    """The program that a word names: no folder, no ``.exe``, no surrounding punctuation, lower case."""
    return _known_program(word) if len(word) <= _KEPT_CHARACTERS else _program(word)


def _program(word: str) -> str:
    name = (
        word.strip("\"'[]{},:!*\u201c\u201e\u00ab\u2018")
        .rstrip(_TRAILING)
        .replace("\\", "/")
        .rpartition("/")[2]
        .lower()
    )
    if "]" in name or name.endswith(
        ".execute"
    ):  # the end of a list or a call around it: ``["sh", "-c", "… | sh"].execute()``
        name = name.partition("]")[0].removesuffix(".execute")
    if ":-" in name and word.rstrip("\"'").endswith("}"):  # a variable with a default: ``${SHELL:-sh}``
        name = name.rpartition(":-")[2]
    return name.removesuffix(".exe").lstrip("@-!")


_known_program = lru_cache(maxsize=4096)(_program)


def head(command: Command) -> int:
    """The index of the word that a command runs, after ``sudo``, ``env``, assignments and list markers; -1 if none."""
    words = command.words
    index = 0
    while index < len(words):
        text = words[index].text
        name = program(text)
        if name == "cmd" and (index + 1 == len(words) or words[index + 1].text.startswith("/")) and ":" not in text:
            return index
        if name == "exist" and index and index + 1 < len(words):  # ``if exist FILE command``
            index += 2
            continue
        if (
            text.startswith("$")
            and words[index + 1 : index + 2]
            and words[index + 1].text == "="
            and not words[index].children
        ):
            index += 2  # PowerShell: ``$x = command``
            continue
        if text == "." or (words[index].children and not text.endswith("=")):
            return index
        if text in _TESTS and index + 1 < len(words) and words[index + 1].text[:1] in ("-", "$", "!"):
            return index
        if text == "[[" and any(word.text == "]]" for word in words[index + 1 :]):
            return index
        if name in _WRAPPERS or text.lower() in _MARKS or (name in _MARKS and "/" not in text) or not name:
            index += 1
            while index < len(words) and words[index].text.startswith("-") and text not in ("-", "*"):
                index += 2 if words[index].text in _TAKES_VALUE and name not in ("env", "exec") else 1
        elif _ASSIGNMENT.match(text) or _NUMBERED.fullmatch(text):
            if text.endswith("=") and words[index].children:
                return index
            index += 1
        else:
            return index
    return -1
