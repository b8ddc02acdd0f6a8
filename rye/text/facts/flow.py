"""Following what was fetched or decoded until something runs it, through pipes, substitutions, variables and saved files.

One pass over the logical lines that can matter: those in which a source stands, and after one of them, those that name what it
was saved as. ``pipe_to_shell`` and ``decode_and_run`` say what a source is; what runs it is the same for both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rye.text.facts import interpreters, shell
from rye.text.facts.source import Found, Line, Source, shown, word_set

_NAME = re.compile(r"\$(?:\{?(?:env:)?)([A-Za-z_]\w{0,80})")
_ASSIGNS = re.compile(r"(?:\$(?:env:)?)?([A-Za-z_]\w{0,80})\+?=")
_TOKENS = re.compile(r"[A-Za-z_0-9][\w.-]*")
_ECHO = word_set("echo printf cat print write-output type tee get-content gc tac less head tail")
_OPENERS = word_set("open start start-process xdg-open invoke-item ii chmod")
_MOVERS = word_set("mv cp install ln move copy move-item copy-item")
_UNPACKERS = word_set("tar unzip 7z 7za unrar bsdtar expand-archive gunzip unxz")
_BIN = re.compile(r"(?:^|/)s?bin/[^/]*$")
_IGNORED_FILES = frozenset(("-", "null", "stdin", "stdout", "stderr", ""))
_CLOSES = frozenset(("}", "done", "fi"))
_BODY = 32
"""Commands of a group that are looked at for what it brings."""
_UNPACKED_LINES = 10
"""A relative path that runs this soon after an unpacked archive is taken to come out of it."""

Sources = Callable[[shell.Command, str], "Origin | None"]


class Origin(NamedTuple):
    """Where something foreign came from: the text of the command that brought it, its place, and the files it saved."""

    text: str
    line: int
    column: int
    saves: tuple[str, ...] = ()


class Flow:
    """One rule's pass over one file."""

    def __init__(self, source: Source, fact: str, triggers: frozenset[bytes], find_source: Sources) -> None:
        self.source = source
        self.fact = fact
        self.triggers = triggers
        self.find_source = find_source
        self.files: dict[str, Origin] = {}
        self.names: dict[str, Origin] = {}
        self.ready: set[str] = set()
        self.unpacked: tuple[Origin, int] | None = None
        self.found: list[Found] = []

    def run(self) -> Iterator[Found]:
        """Every place where what the sources bring is run."""
        numbers = set(self.source.lines_with(self.triggers))
        if not numbers:
            return
        aliases = {name for name, value in self.source.values.items() if shell.program(value).encode() in self.triggers}
        seen = -1
        for number in range(min(numbers), len(self.source.lines)):
            raw = self.source.lines[number]
            if number not in numbers and not (
                (self.files or self.names or aliases or self.unpacked) and self._matters(raw, number, aliases)
            ):
                continue
            line = self.source.logical(number)
            if line.first > seen:
                seen = line.first
                self._line(line)
        yield from self.found

    def _matters(self, raw: str, number: int, aliases: set[str]) -> bool:
        if self.unpacked is not None and number - self.unpacked[1] <= _UNPACKED_LINES and ("/" in raw or "." in raw):
            return True
        for word in _TOKENS.findall(raw.replace('"', "").replace("'", "")):
            first = word.partition(".")[0]
            if word in self.files or first in self.names or first in aliases or word.rstrip(".") in self.files:
                return True
        return False

    def _line(self, line: Line) -> None:
        for text, offset in shell.pieces(line.text):
            outputs: dict[int, Origin | None] = {}
            for command, group in shell.walk(shell.read(text, offset)):
                if command.words:
                    outputs[id(command)] = self._command(command, group, line, outputs)

    def _command(
        self, command: shell.Command, group: shell.Group, line: Line, outputs: dict[int, Origin | None]
    ) -> Origin | None:
        incoming = outputs.get(id(command.before)) if command.before is not None else None
        first_text = command.words[0].text
        if group.opened in (">(", "(") and group.owner is not None and command is group.commands[0]:
            owner_before = group.owner.before
            incoming = outputs.get(id(owner_before)) if owner_before is not None else incoming
        if first_text in _CLOSES:
            incoming = incoming or self._closed(command, group, outputs)
        for word in command.reads:
            incoming = incoming or self._child(word, outputs) or self._saved(word.text)
        own = self._origin(command, line)
        self._runs(command, group, line, incoming, outputs)
        brought = own or incoming
        first = shell.head(command)
        name = shell.program(command.words[first].text) if first >= 0 else ""
        if name in _ECHO or first < 0 or command.here:
            for word in command.words:
                brought = brought or self._child(word, outputs) or self._named(word.text)
                if name != "echo" and name != "printf":
                    brought = brought or self._saved(word.text)
        elif command.words[first].children and len(command.words) == 1:
            brought = brought or self._child(command.words[first], outputs)
        self._remember(command, name, brought, own, line, outputs)
        return brought

    def _closed(self, command: shell.Command, group: shell.Group, outputs: dict[int, Origin | None]) -> Origin | None:
        """What the commands before a closing brace, ``done`` or ``fi`` bring: their output is its output."""
        origin = None
        for other in group.commands[-_BODY:]:
            if other is command:
                break
            origin = outputs.get(id(other)) or origin
        return origin

    def _origin(self, command: shell.Command, line: Line) -> Origin | None:
        origin = self.find_source(command, line.text)
        if origin is None:
            return None
        number, column = self.source.place(line, command.words[0].start, origin.text.split(" ", 1)[0])
        return origin._replace(line=number, column=column)

    def _child(self, word: shell.Word, outputs: dict[int, Origin | None]) -> Origin | None:
        """What a word's substitutions bring, however deep they stand."""
        pending = list(word.children)
        while pending:
            for command in pending.pop().commands:
                origin = outputs.get(id(command))
                if origin is not None:
                    return origin
                for inner in command.words:
                    pending.extend(inner.children)
        return None

    def _named(self, text: str) -> Origin | None:
        if "$" not in text or not self.names:
            return None
        for name in _NAME.findall(text):
            if name in self.names:
                return self.names[name]
        return None

    def _saved(self, text: str) -> Origin | None:
        return self.files.get(_file_name(text)) if self.files else None

    def _runs(
        self,
        command: shell.Command,
        group: shell.Group,
        line: Line,
        incoming: Origin | None,
        outputs: dict[int, Origin | None],
    ) -> None:
        at = interpreters.position(command)
        if at >= 0:
            if incoming is not None and interpreters.runs_stdin(command):
                self._report(incoming, command, line)
            words = interpreters.code_words(command)
            script = interpreters.script(command)
            if script is not None and (interpreters.is_interpreter(command.words[at].text)):
                children = [child for child in script.children if child.opened in ("<(", "$(", "`", "(")]
                if children and (line.code or children[0].opened != "`"):
                    words = [*words, script]
                self._report_file(script.text, command, line)
            elif interpreters.is_expression(command.words[at].text):
                for word in command.words[at + 1 :]:
                    self._report_file(word.text, command, line)
            if command.here:
                words = command.words[at + 1 :]
            for word in words:
                origin = self._child(word, outputs) or self._named(word.text)
                if origin is not None:
                    self._report(origin, command, line)
            if script is not None:
                self._report_unpacked(script.text, command, line)
            return
        index = shell.head(command)
        if index < 0:
            return
        word = command.words[index]
        opened = word.children[0].opened if word.children else ""
        if (opened == "$(" or (opened == "`" and line.code)) and word.text == "$()":
            origin = self._child(word, outputs)
            if origin is not None and line.code:
                self._report(origin, command, line)
            return
        name = shell.program(word.text)
        if name in _OPENERS and name != "chmod":
            for other in command.words[index + 1 :]:
                self._report_file(other.text, command, line)
        elif (
            "/" in word.text
            or word.text.endswith((".exe", ".bat", ".cmd", ".ps1"))
            or name in self.ready
            or (word.text.startswith("$") and line.code)
        ):
            self._report_file(word.text, command, line)
            if word.text.startswith("$"):
                origin = self._named(word.text)
                if origin is not None and line.code and len(command.words) >= 1:
                    self._report(origin, command, line)
            self._report_unpacked(word.text, command, line)
        elif name == "cmd" or word.text == "&":
            self._report_file(command.words[-1].text, command, line)

    def _remember(
        self,
        command: shell.Command,
        name: str,
        brought: Origin | None,
        own: Origin | None,
        line: Line,
        outputs: dict[int, Origin | None],
    ) -> None:
        words = command.texts()
        if brought is not None:
            for target in (*command.writes, *(own.saves if own else ())):
                self._save(target, brought)
            if name == "tee":
                for target in words[1:]:
                    self._save(target, brought)
            if name in ("while", "read") or "read" in words:
                for read in words[words.index("read") + 1 :] if "read" in words else ():
                    if read.isidentifier():
                        self.names[read] = brought
            if len(words) > 2 and words[1] == "=" and words[0].startswith("$"):
                self.names[words[0].lstrip("$").partition(":")[2] or words[0].lstrip("$")] = brought
        for word in command.words:
            match = _ASSIGNS.match(word.text)
            if match is not None and (word.children or "$" in word.text):
                origin = self._child(word, outputs) or self._named(word.text)
                if origin is not None:
                    self.names[match[1]] = origin
        first = shell.head(command)
        arguments = [text for text in words[first + 1 :] if not text.startswith("-")] if first >= 0 else []
        if name == "chmod" and self.files:
            self.ready.update(key for key in map(_file_name, arguments[1:]) if key in self.files)
        elif name in _MOVERS and len(arguments) >= 2 and self.files:
            for argument in arguments[:-1]:
                origin = self._saved(argument)
                if origin is not None:
                    target = arguments[-1]
                    self._save(target, origin)
                    if _BIN.search(target) or _file_name(argument) in self.ready:
                        self.ready.update((_file_name(target), _file_name(argument)))
        elif name in _UNPACKERS:
            origin = brought or next((found for found in map(self._saved, arguments) if found is not None), None)
            if origin is not None:
                self.unpacked = (origin, line.first + line.text.count("\x1f"))

    def _save(self, target: str, origin: Origin) -> None:
        key = _file_name(target)
        if key not in _IGNORED_FILES and not key.isdigit():
            self.files.setdefault(key, origin)
            if _BIN.search(target):
                self.ready.add(key)

    def _report_file(self, text: str, command: shell.Command, line: Line) -> None:
        origin = self._saved(text)
        if origin is not None and not (origin.line == line.first and origin.text == shown(_text(command, line))):
            self._report(origin, command, line)

    def _report_unpacked(self, text: str, command: shell.Command, line: Line) -> None:
        if self.unpacked is None or not line.code or line.first - self.unpacked[1] > _UNPACKED_LINES:
            return
        if text.startswith("./") or (
            "/" in text
            and not text.startswith(("/", "~", "http", "-"))
            and text.endswith((".sh", ".py", ".js", ".ps1", ".exe"))
        ):
            self._report(self.unpacked[0], command, line)

    def _report(self, origin: Origin, command: shell.Command, line: Line) -> None:
        last = shown(_text(command, line))
        value = (
            last
            if origin.text in last
            else f"{origin.text} | {last}"
            if command.before is not None
            else f"{origin.text} ; {last}"
        )
        self.found.append(Found(self.fact, value, origin.line, origin.column))


def _text(command: shell.Command, line: Line) -> str:
    return line.text[command.words[0].start : command.end]


def _file_name(text: str) -> str:
    return text.strip("\"'[]{}(),:").rstrip(".,;!?)").replace("\\", "/").rpartition("/")[2]
