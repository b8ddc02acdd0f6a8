"""What is in a place of secrets, followed on command lines until a command sends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.environment import VALUE as ENVIRONMENT
from rye.text.facts.environment import dumps, dumps_in
from rye.text.facts.exfiltration import readers, senders
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.flow import Flow, Outputs, child_origin
from rye.text.facts.secret_paths import holds_secrets, is_own_secret, is_store
from rye.text.facts.shell import shown
from rye.text.facts.source import Line, Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

#: What takes one setting out of a file of them, or looks for some.
_CUTS: Final = word_set("cut awk gawk head tail wc")
_SEARCHES: Final = word_set("grep egrep rg")
_SOCKET_WORDS: Final = triggers(("tcp", "udp"))
_CONNECTIONS: Final = ("/dev/tcp/", "/dev/udp/", "/inet/")
_LOCAL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?:[:/]|$)")
_OWN_HOSTS: Final = ("169.254.", "metadata.google.internal")
_GOES: Final = word_set("cd chdir pushd set-location push-location sl")
_LEAVES: Final = word_set("popd pop-location")
#: Code on a command line that sends what it is fed.
_SENDS_INPUT = re.compile(
    r"\s-[ce]\s.*(?:\bstdin\b|STDIN|\$<|readFileSync\(0)(?=.*(?:urlopen|requests\.p|fetch\(|https?\.request|Net::HTTP|socket))|"
    r"\s-[ce]\s.*(?:urlopen|requests\.p|fetch\(|https?\.request|Net::HTTP|socket).*(?:\bstdin\b|STDIN|\$<|readFileSync\(0)",
    re.DOTALL,
)
#: Programs that put what they are given as words into what they print.
_FORMATTERS: Final = word_set("jq jo yq envsubst sed awk perl")
_STAYS: Final = 12
"""How many lines a command can stand behind the one that went to a place of secrets, or behind the start of a transfer."""
_ADDS_ALL: Final = word_set(". -A --all -u * ./ :/")
_ELSEWHERE: Final = ("/", "~", "$", "%", "..")
"""How a path begins that lies outside of the folder that commands work in."""


def find(source: Source, places: set[int]) -> Iterator[RuleMatch]:
    """Yield every command that sends secrets, or the whole environment. ``places``: the lines that name a place of secrets."""
    words = dumps_in(source)
    if readers.PRINTER_SPELLINGS.marks_in(source.words, source.lowered):
        words |= readers.PRINTER_WORDS
    if (words or places) and (source.has(senders.WORDS) or any(mark in source.lowered for mark in senders.MARKS)):
        yield from Leak(source, SECRET_PATH, words | _SOCKET_WORDS, _opened).followed(places)


def _opened(command: shell.Command, folder: str) -> Origin | None:
    """What a command puts out of a place of secrets, or of the environment."""
    return dumps(command) or readers.opened(command, folder)


class Leak(Flow):
    """Follows what ``opened`` takes for a source until a command sends it.

    ``opened`` is given a command, and the place of secrets that it works in, if it works in one.
    """

    def __init__(
        self, source: Source, fact: str, words: frozenset[bytes], opened: Callable[[shell.Command, str], Origin | None]
    ) -> None:
        self.opened = opened
        self.folder, self.folder_line = "", 0
        """The place of secrets that commands work in, and the line of the command that went there."""
        self.goes_to = ""
        """The last folder that a command went to, whatever it is."""
        self.targets: dict[str, Origin] = {}
        """The files that hold secrets now, as the commands write them."""
        self.staged: Origin | None = None
        """What the next ``git push`` sends."""
        super().__init__(source, fact, words, self._opened)

    def followed(self, places: set[int]) -> list[RuleMatch]:
        """Return where it leaves. ``places``: the lines that name one."""
        self.sockets: set[str] = set()
        numbers = places | set(self.source.lines_with(self.words))
        if self.functions:
            numbers.update(self.source.lines_with(triggers(name.lower().rpartition("-")[2] for name in self.functions)))
        if numbers:
            self._pass(numbers)
            if self.files or self.names:
                self.folder = self.goes_to = ""
                self._pass(numbers)  # a function that sends can stand before the line that reads
        return self.found

    def _opened(self, command: shell.Command, _: str) -> Origin | None:
        return self.opened(command, self.folder)

    def _redirected(self, command: shell.Command, group: shell.Group, outputs: Outputs) -> Origin | None:
        known = super()._redirected(command, group, outputs)
        found = self._found_before(command, group, outputs) if command.writes else None
        if found is not None:
            for target in command.writes:
                self._save(target, found)
        for word in command.reads if known is None else ():
            if holds_secrets(readers.within(word.text, self.folder) if self.folder else word.text):
                return Origin(f"< {shown(word.text)}", 0, 0)
        return known

    def _found_before(self, command: shell.Command, group: shell.Group, outputs: Outputs) -> Origin | None:
        """What ``find … -exec cat {} \\;`` puts out: its semicolon is none of the shell."""
        at = group.commands.index(command)
        before = group.commands[max(0, at - 2) : at]
        for other in reversed(before):
            if other.words:
                texts = other.texts()
                return (
                    outputs.get(id(other))
                    if "find" in texts and any(text.startswith("-exec") for text in texts)
                    else None
                )
        return None

    def _matters(self, number: int) -> bool:
        if self.folder:
            if number - self.folder_line > _STAYS or (self.source.markdown and not self.source.is_code(number)):
                self.folder = ""
            else:
                return bool(self.source.lines[number].strip())
        if (self.targets or self.staged is not None) and self._is_of_repository(self.source.lines[number]):
            return True
        return super()._matters(number)

    def _is_of_repository(self, raw: str) -> bool:
        return ("git" in raw and ("add" in raw or "push" in raw)) or "cd " in raw

    def _incoming(self, command: shell.Command, group: shell.Group, outputs: Outputs, line: Line) -> Origin | None:
        incoming = super()._incoming(command, group, outputs, line)
        if incoming is None and command.before is None and line.text[: command.start].rstrip().endswith("|"):
            incoming = self._found_before(command, group, outputs)
        first = shell.head(command) if incoming is not None else -1
        if incoming is None or first < 0:
            return incoming
        name, after = shell.program(command.words[first].text), [word.text for word in command.words[first + 1 :]]
        counts = name == "wc" or (name in _SEARCHES and "-c" in after)
        takes_one = (name in _CUTS and not any("$0" in text for text in after)) or (
            name in _SEARCHES and any(text.startswith("^") for text in after)
        )
        return None if counts or (takes_one and not is_store(incoming.text)) else incoming

    def _origin(self, command: shell.Command, line: Line) -> Origin | None:
        own = super()._origin(command, line)
        if own is None and (self.files or self.names):
            first = shell.head(command)
            name = shell.program(command.words[first].text) if first >= 0 else ""
            if name in readers.READERS or name in readers.PACKERS:
                arguments = command.texts()[first + 1 :]
                for text in (*arguments, *(word.text for word in command.reads)):
                    known = self._saved(text) or self._named(text) or self._saved(text.rstrip("/\\*"))
                    if known is not None:
                        return known._replace(saves=readers.packed(name, arguments))
        return own

    def _handed_on(self, command: shell.Command, outputs: Outputs) -> Origin | None:
        handed = super()._handed_on(command, outputs)
        first = shell.head(command) if handed is None else -1
        if first >= 0 and shell.program(command.words[first].text) in _FORMATTERS:
            for word in command.words[first + 1 :]:
                handed = handed or _printed_by(word, outputs) or self._named(word.text)
        return handed

    def _loop(self, command: shell.Command) -> None:
        super()._loop(command)
        texts = command.texts()
        if len(texts) > 3 and texts[2] == "in":
            # the variable is the name of a file: only what opens it has its content
            origin = next((known for text in texts[3:] if (known := self._named(text)) is not None), None)
            if origin is None and any(map(holds_secrets, texts[3:])):
                origin = Origin(shown(" ".join(texts)), 0, 0)
            if origin is not None:
                self.files.setdefault(f"${texts[1]}", origin)

    def _assign(self, command: shell.Command, outputs: Outputs) -> None:
        last = {id(word): _printed_by(word, outputs) for word in command.words if word.children}
        if all(origin is not None for origin in last.values()):
            super()._assign(command, outputs)

    def _save(self, target: str, origin: Origin) -> None:
        super()._save(target, origin)
        if origin.text != ENVIRONMENT and is_own_secret(origin.text):
            self.targets.setdefault(target.strip("\"'").removeprefix("./"), origin)

    def _runs(self, command: shell.Command, line: Line, incoming: Origin | None, outputs: Outputs) -> None:
        texts = command.texts()
        if texts[0] == "exec" and any(target.startswith(_CONNECTIONS) for target in command.writes):
            self.sockets.add(f"&{texts[-1].strip('{}')}")
        if any(target.startswith(_CONNECTIONS) or target in self.sockets for target in command.writes):
            own = incoming or self._opened(command, line.text) or self._handed_on(command, outputs)
            self._leaves(own, command, line)
        first = shell.head(command)
        name = shell.program(texts[first]) if first >= 0 else ""
        if name in _GOES or name in _LEAVES:
            self._go(name, texts[first + 1 :], line)
        elif name == "git" and self.fact == SECRET_PATH:
            self._stage(texts[first + 1 :], command, line)
        elif name in senders.PUTS and self.fact == SECRET_PATH:
            self._put(command, first, line)
        elif self.folder and "http.server" in texts:
            self._leaves(Origin(f"cd {self.folder}", line.first, 0), command, line)
        if incoming is not None and name in interpreters.LANGUAGES and _SENDS_INPUT.search(line.text) is not None:
            self._leaves(incoming, command, line)
        for index in senders.senders(command):
            if self._is_command(command, index, line) and self._sends(command, index, line, incoming, outputs):
                return
        if name in senders.ALL and len(texts) > first + 1 and self._is_command(command, first, line):
            self._sends_environment(command, first, line, incoming, outputs)

    def _is_command(self, command: shell.Command, index: int, line: Line) -> bool:
        """Whether a word names a program. An everyday word of a sentence does only where a code span begins, or behind a pipe."""
        if self._substitutes(line) or shell.program(command.words[index].text) not in senders.EVERYDAY:
            return True
        before = line.text[: command.words[index].start].rstrip()
        return not before or before.endswith(("`", "|", ";", "&", "$(", '"', "'"))

    def _go(self, name: str, arguments: list[str], line: Line) -> None:
        """Keep the place of secrets that a command goes to."""
        target = next((text for text in arguments if not text.startswith("-")), "").rstrip("/") if name in _GOES else ""
        self.goes_to = target
        if target and self.folder and not target.startswith(_ELSEWHERE):
            target = f"{self.folder}/{target}"
        self.folder = target if target and holds_secrets(target) else ""
        self.folder_line = line.first

    def _stage(self, arguments: list[str], command: shell.Command, line: Line) -> None:
        """A repository that secrets were copied into: they leave with the next push."""
        if arguments[:1] == ["-C"]:
            arguments = arguments[2:]
        if arguments[:1] == ["add"]:
            for text in arguments[1:]:
                self.staged = self.staged or self._added(text, line)
        elif arguments[:1] == ["push"] and self.staged is not None and self._leaves(self.staged, command, line):
            self.staged = None

    def _added(self, text: str, line: Line) -> Origin | None:
        if is_store(text) or (self.folder and is_store(readers.within(text, self.folder))):
            return Origin(f"git add {shown(text)}", line.first, 0)
        path = text.strip("\"'").removeprefix("./").rstrip("/")
        for target, origin in self.targets.items():
            here = not target.startswith(_ELSEWHERE) or (self.goes_to and target.startswith(f"{self.goes_to}/"))
            if here and (
                text in _ADDS_ALL
                or target.rstrip("/") in (path, f"{self.goes_to}/{path}")
                or target.startswith(f"{path}/")
            ):
                return origin
        return None

    def _put(self, command: shell.Command, first: int, line: Line) -> None:
        """What is typed at the prompt of a program for transfers, which a line before starts."""
        before = [*self.source.lines[max(0, line.first - _STAYS) : line.first], line.text[: command.start]]
        after = self.source.lines[line.first + 1 : line.first + _STAYS]
        if any(senders.STARTS_FTP.search(raw) is not None for raw in before) or any(
            map(senders.RUNS_BATCH.search, after)
        ):
            for word in command.words[first + 1 :]:
                if is_store(word.text):
                    self._leaves(
                        Origin(shown(line.text[command.words[0].start : command.end]), line.first, 0), command, line
                    )
                    return
                self._leaves(self._saved(word.text), command, line)

    def _sends_environment(
        self, command: shell.Command, index: int, line: Line, incoming: Origin | None, outputs: Outputs
    ) -> None:
        """Whatever takes the whole environment to the network, in whatever form."""
        if not line.code and command.words[index].text[:1].isupper():
            return  # a sentence begins: ``Add these to the `env` section``
        found = incoming
        for word in command.words[index + 1 :]:
            quoted = bool(word.children) and all(child.opened == "`" for child in word.children)
            printed = None if quoted and not self._substitutes(line) else _printed_by(word, outputs)
            found = found or printed or self._named(word.text)
            found = found or self._saved(word.text.rpartition("@")[2])
        if found is not None and found.text == ENVIRONMENT:
            self._leaves(found, command, line)

    def _sends(self, command: shell.Command, index: int, line: Line, incoming: Origin | None, outputs: Outputs) -> bool:
        if not line.code and command.words[index].text[:1].isupper():
            return False  # a sentence begins: ``Curl it from inside.``
        texts = command.texts()
        addresses = [text for text in texts[index + 1 :] if "://" in text]
        if addresses and all(
            _LOCAL.match(text) or text.partition("://")[2].startswith(_OWN_HOSTS) for text in addresses
        ):
            return False
        sent = senders.sent(command, index)
        if sent is None:
            return False
        origin = incoming if sent.takes_input else None
        if sent.to_own and origin is not None and not is_own_secret(origin.text):
            origin = None
        for given in sent.given:
            found = self._given(given, command, line, outputs, is_own_secret if sent.to_own else holds_secrets)
            if found is not None and (
                is_store(found.text) or (not given.is_header and (not sent.to_own or is_own_secret(found.text)))
            ):
                origin = origin or found
        return self._leaves(origin, command, line)

    def _given(
        self,
        given: senders.Given,
        command: shell.Command,
        line: Line,
        outputs: Outputs,
        holds: Callable[[str], bool],
    ) -> Origin | None:
        """The content of a place of secrets that a word of a command has or names. ``holds``: which paths count."""
        word = given.word
        origin = _printed_by(word, outputs) or self._named(word.text)
        if origin is not None or not given.is_file:
            return origin
        path = word.text.rpartition("@")[2].removeprefix("<").partition(";")[0]
        origin = self._saved(path)
        if origin is not None or self.fact != SECRET_PATH:
            return origin
        before = command.before.texts() if command.before is not None else []
        names = (
            [*command.texts(), *before]
            if path == "{}"
            else [readers.within(path, self.folder) if self.folder else path]
        )
        if not any(map(holds, names)):
            return None
        said = line.text[command.words[0].start : command.end]
        if word.text not in said and command.before is not None:
            said = line.text[command.before.words[0].start : command.end]
        return Origin(shown(said), line.first, 0)

    def _leaves(self, origin: Origin | None, command: shell.Command, line: Line) -> bool:
        if origin is None:
            return False
        last = shown(line.text[command.words[0].start : command.end])
        value = last if origin.text in last else f"{origin.text} {'|' if command.before is not None else ';'} {last}"
        number, column = self.source.place(line, command.words[0].start, command.words[0].text)
        self.found.append(RuleMatch(self.fact, value, number, column, ALARM))
        return True


def _printed_by(word: shell.Word, outputs: Outputs) -> Origin | None:
    """What the substitutions of a word print: what the last command of each pipe does."""
    for child in word.children:
        read = {id(command.before) for command in child.commands}
        for command in child.commands:
            if id(command) not in read and outputs.get(id(command)) is not None:
                return outputs[id(command)]
    return child_origin(word, outputs) if any(len(child.commands) < 2 for child in word.children) else None
