"""What is in a place of secrets, followed on command lines until a command sends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Final

from rye.text.facts import interpreters, shell
from rye.text.facts.environment import VALUE as ENVIRONMENT
from rye.text.facts.environment import dumps, dumps_in
from rye.text.facts.exfiltration import readers, senders
from rye.text.facts.fact import ALARM, SECRET_PATH
from rye.text.facts.flow.functions import extents_in
from rye.text.facts.flow.kept import KeptContent
from rye.text.facts.flow.passes import Flow, passed_to
from rye.text.facts.flow.quoted import substitutes
from rye.text.facts.flow.step import FlowStep
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


class KeptSecrets(KeptContent):
    """What is kept of secrets, and which files hold them."""

    def __init__(self, functions: Collection[tuple[int, int]]) -> None:
        super().__init__(functions=functions)
        self.targets: dict[str, Origin] = {}
        """The files that hold secrets now, as the commands write them."""

    def save(self, target: str, origin: Origin) -> None:
        """The same, also for the files that hold secrets."""
        super().save(target, origin)
        if origin.text != ENVIRONMENT and is_own_secret(origin.text):
            self.targets.setdefault(target.strip("\"'").removeprefix("./"), origin)


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
        self.secrets = KeptSecrets(extents_in(source).values())
        self.staged: Origin | None = None
        """What the next ``git push`` sends."""
        super().__init__(source, fact, words, self._opened, self.secrets)

    def followed(self, places: set[int]) -> list[RuleMatch]:
        """Return where it leaves. ``places``: the lines that name one."""
        self.sockets: set[str] = set()
        numbers = places | set(self.source.lines_with(self.words))
        if self.functions:
            numbers.update(self.source.lines_with(triggers(name.lower().rpartition("-")[2] for name in self.functions)))
        if numbers:
            self.read(numbers)
            if self.kept.files or self.kept.values:
                self.folder = self.goes_to = ""
                self.read(numbers)  # a function that sends can stand before the line that reads
        return self.found

    def _opened(self, command: shell.Command, _: str) -> Origin | None:
        return self.opened(command, self.folder)

    def redirected(self, step: FlowStep) -> Origin | None:
        """The same, and what it reads out of a place of secrets."""
        known = super().redirected(step)
        found = _found_before(step) if step.command.writes else None
        if found is not None:
            for target in step.command.writes:
                self.kept.save(target, found)
        for word in step.command.reads if known is None else ():
            if holds_secrets(readers.within(word.text, self.folder) if self.folder else word.text):
                return Origin(f"< {shown(word.text)}", 0, 0)
        return known

    def matters(self, number: int) -> bool:
        """The same, and every line of commands that work in a place of secrets."""
        if self.folder:
            if number - self.folder_line > _STAYS or (self.source.markdown and not self.source.is_code(number)):
                self.folder = ""
            else:
                return bool(self.source.lines[number].strip())
        if (self.secrets.targets or self.staged is not None) and _is_of_repository(self.source.lines[number]):
            return True
        return super().matters(number)

    def incoming(self, step: FlowStep) -> Origin | None:
        """The same, but for a command that only counts, or takes one setting out of many."""
        command = step.command
        incoming = super().incoming(step)
        if incoming is None and command.before is None and step.line.text[: command.start].rstrip().endswith("|"):
            incoming = _found_before(step)
        if incoming is None or step.first < 0:
            return incoming
        name, after = step.program, [word.text for word in command.words[step.first + 1 :]]
        counts = name == "wc" or (name in _SEARCHES and "-c" in after)
        takes_one = (name in _CUTS and not any("$0" in text for text in after)) or (
            name in _SEARCHES and any(text.startswith("^") for text in after)
        )
        return None if counts or (takes_one and not is_store(incoming.text)) else incoming

    def brought_in(self, step: FlowStep) -> Origin | None:
        """The same, and the secrets in what the command reads or packs."""
        own, kept = super().brought_in(step), self.kept
        reads = step.program in readers.READERS or step.program in readers.PACKERS
        if own is None and reads and (kept.files or kept.values):
            arguments = step.command.texts()[step.first + 1 :]
            for text in (*arguments, *(word.text for word in step.command.reads)):
                known = kept.saved(text) or kept.value_in(text) or kept.saved(text.rstrip("/\\*"))
                if known is not None:
                    return known._replace(saves=readers.packed(step.program, arguments))
        return own

    def handed_on(self, step: FlowStep) -> Origin | None:
        """The same, and what a program puts into what it prints."""
        handed = super().handed_on(step)
        if handed is None and step.program in _FORMATTERS:
            for word in step.command.words[step.first + 1 :]:
                handed = handed or _printed_by(step, word) or self.kept.value_in(word.text)
        return handed

    def keep_variable(self, step: FlowStep) -> None:
        """The same, and that a variable is the name of a file: only what opens it has its content."""
        super().keep_variable(step)
        texts = step.command.texts()
        if len(texts) > 3 and texts[2] == "in":
            origin = next((known for text in texts[3:] if (known := self.kept.value_in(text)) is not None), None)
            if origin is None and any(map(holds_secrets, texts[3:])):
                origin = Origin(shown(" ".join(texts)), 0, 0)
            if origin is not None:
                self.kept.add_file(f"${texts[1]}", origin)

    def assign(self, step: FlowStep) -> None:
        """The same, unless a variable gets what a substitution prints at its end, which holds no secrets any more."""
        if all(_printed_by(step, word) is not None for word in step.command.words if word.children):
            super().assign(step)

    def judge(self, step: FlowStep, incoming: Origin | None) -> None:
        """Report a command that sends secrets."""
        command, first, name, texts = step.command, step.first, step.program, step.command.texts()
        if texts[0] == "exec" and any(target.startswith(_CONNECTIONS) for target in command.writes):
            self.sockets.add(f"&{texts[-1].strip('{}')}")
        if any(target.startswith(_CONNECTIONS) or target in self.sockets for target in command.writes):
            self._leaves(incoming or self._opened(command, step.line.text) or self.handed_on(step), step)
        if name in _GOES or name in _LEAVES:
            self._go(name, texts[first + 1 :], step.line)
        elif name == "git" and self.fact == SECRET_PATH:
            self._stage(texts[first + 1 :], step)
        elif name in senders.PUTS and self.fact == SECRET_PATH:
            self._put(step)
        elif self.folder and "http.server" in texts:
            self._leaves(Origin(f"cd {self.folder}", step.line.first, 0), step)
        if incoming is not None and name in interpreters.LANGUAGES and _SENDS_INPUT.search(step.line.text) is not None:
            self._leaves(incoming, step)
        for index in senders.senders(command):
            if _is_command(step, index) and self._sends(step, index, incoming):
                return
        if name in senders.ALL and len(texts) > first + 1 and _is_command(step, first):
            self._sends_environment(step, incoming)

    def _go(self, name: str, arguments: list[str], line: Line) -> None:
        """Keep the place of secrets that a command goes to."""
        target = next((text for text in arguments if not text.startswith("-")), "").rstrip("/") if name in _GOES else ""
        self.goes_to = target
        if target and self.folder and not target.startswith(_ELSEWHERE):
            target = f"{self.folder}/{target}"
        self.folder = target if target and holds_secrets(target) else ""
        self.folder_line = line.first

    def _stage(self, arguments: list[str], step: FlowStep) -> None:
        """A repository that secrets were copied into: they leave with the next push."""
        if arguments[:1] == ["-C"]:
            arguments = arguments[2:]
        if arguments[:1] == ["add"]:
            for text in arguments[1:]:
                self.staged = self.staged or self._added(text, step.line)
        elif arguments[:1] == ["push"] and self.staged is not None and self._leaves(self.staged, step):
            self.staged = None

    def _added(self, text: str, line: Line) -> Origin | None:
        if is_store(text) or (self.folder and is_store(readers.within(text, self.folder))):
            return Origin(f"git add {shown(text)}", line.first, 0)
        path = text.strip("\"'").removeprefix("./").rstrip("/")
        for target, origin in self.secrets.targets.items():
            here = not target.startswith(_ELSEWHERE) or (self.goes_to and target.startswith(f"{self.goes_to}/"))
            if here and (
                text in _ADDS_ALL
                or target.rstrip("/") in (path, f"{self.goes_to}/{path}")
                or target.startswith(f"{path}/")
            ):
                return origin
        return None

    def _put(self, step: FlowStep) -> None:
        """What is typed at the prompt of a program for transfers, which a line before starts."""
        line, lines = step.line, self.source.lines
        before = [*lines[max(0, line.first - _STAYS) : line.first], line.text[: step.command.start]]
        after = lines[line.first + 1 : line.first + _STAYS]
        if any(senders.STARTS_FTP.search(raw) is not None for raw in before) or any(
            map(senders.RUNS_BATCH.search, after)
        ):
            for word in step.command.words[step.first + 1 :]:
                if is_store(word.text):
                    self._leaves(Origin(shown(step.text), line.first, 0), step)
                    return
                self._leaves(self.kept.saved(word.text), step)

    def _sends_environment(self, step: FlowStep, incoming: Origin | None) -> None:
        """Whatever takes the whole environment to the network, in whatever form."""
        words, index = step.command.words, step.first
        if not step.line.code and words[index].text[:1].isupper():
            return  # a sentence begins: ``Add these to the `env` section``
        found = incoming
        for word in words[index + 1 :]:
            quoted = bool(word.children) and all(child.opened == "`" for child in word.children)
            printed = None if quoted and not substitutes(step.source, step.line) else _printed_by(step, word)
            found = found or printed or self.kept.value_in(word.text)
            found = found or self.kept.saved(word.text.rpartition("@")[2])
        if found is not None and found.text == ENVIRONMENT:
            self._leaves(found, step)

    def _sends(self, step: FlowStep, index: int, incoming: Origin | None) -> bool:
        if not step.line.code and step.command.words[index].text[:1].isupper():
            return False  # a sentence begins: ``Curl it from inside.``
        texts = step.command.texts()
        addresses = [text for text in texts[index + 1 :] if "://" in text]
        if addresses and all(
            _LOCAL.match(text) or text.partition("://")[2].startswith(_OWN_HOSTS) for text in addresses
        ):
            return False
        sent = senders.sent(step.command, index)
        if sent is None:
            return False
        origin = incoming if sent.takes_input else None
        if sent.to_own and origin is not None and not is_own_secret(origin.text):
            origin = None
        for given in sent.given:
            found = self._given(given, step, is_own_secret if sent.to_own else holds_secrets)
            if found is not None and (
                is_store(found.text) or (not given.is_header and (not sent.to_own or is_own_secret(found.text)))
            ):
                origin = origin or found
        return self._leaves(origin, step)

    def _given(self, given: senders.Given, step: FlowStep, holds: Callable[[str], bool]) -> Origin | None:
        """The content of a place of secrets that a word of a command has or names. ``holds``: which paths count."""
        word, command = given.word, step.command
        origin = _printed_by(step, word) or self.kept.value_in(word.text)
        if origin is not None or not given.is_file:
            return origin
        path = word.text.rpartition("@")[2].removeprefix("<").partition(";")[0]
        origin = self.kept.saved(path)
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
        said = step.text
        if word.text not in said and command.before is not None:
            said = step.line.text[command.before.words[0].start : command.end]
        return Origin(shown(said), step.line.first, 0)

    def _leaves(self, origin: Origin | None, step: FlowStep) -> bool:
        if origin is None:
            return False
        number, column = step.place(step.command.words[0].text)
        self.found.append(RuleMatch(self.fact, passed_to(origin, step), number, column, ALARM))
        return True


def _is_of_repository(raw: str) -> bool:
    return ("git" in raw and ("add" in raw or "push" in raw)) or "cd " in raw


def _is_command(step: FlowStep, index: int) -> bool:
    """Whether a word names a program. An everyday word of a sentence does only where a code span begins, or behind a pipe."""
    word = step.command.words[index]
    if substitutes(step.source, step.line) or shell.program(word.text) not in senders.EVERYDAY:
        return True
    before = step.line.text[: word.start].rstrip()
    return not before or before.endswith(("`", "|", ";", "&", "$(", '"', "'"))


def _found_before(step: FlowStep) -> Origin | None:
    """What ``find … -exec cat {} \\;`` puts out: its semicolon is none of the shell."""
    commands = step.group.commands
    at = commands.index(step.command)
    for other in reversed(commands[max(0, at - 2) : at]):
        if other.words:
            texts = other.texts()
            finds = "find" in texts and any(text.startswith("-exec") for text in texts)
            return step.outputs.get(id(other)) if finds else None
    return None


def _printed_by(step: FlowStep, word: shell.Word) -> Origin | None:
    """What the substitutions of a word print: what the last command of each pipe does."""
    outputs = step.outputs
    for child in word.children:
        read = {id(command.before) for command in child.commands}
        for command in child.commands:
            if id(command) not in read and outputs.get(id(command)) is not None:
                return outputs[id(command)]
    return step.printed_in(word) if any(len(child.commands) < 2 for child in word.children) else None
