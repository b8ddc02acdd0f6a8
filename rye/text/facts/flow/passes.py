"""One rule's passes over one file: which lines are read, and what is done with each command, in which order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from rye.text.facts import shell
from rye.text.facts.fact import CAUTION
from rye.text.facts.flow import blocks, functions, keeping, passing
from rye.text.facts.flow.functions import Function, extents_in, functions_in
from rye.text.facts.flow.kept import KeptContent
from rye.text.facts.flow.running import run_by
from rye.text.facts.flow.step import FlowStep, Outputs
from rye.text.facts.shell import shown
from rye.text.facts.source import Line, Origin, RuleMatch, Source, Sources
from rye.text.facts.tables import triggers, word_set

#: Languages in which a function that runs a file can stand before the line that fetches it.
_HAS_FUNCTIONS: Final = word_set(
    "sh bash zsh ksh fish bats ps1 psm1 bat cmd py js mjs cjs ts mts cts jsx tsx rb pl php lua go rs java kt kts cs vbs groovy "
    "swift dart"
)
#: What is written later in a text and read earlier: a pipe with a name, a loop's input, a trap.
_BACKWARDS = re.compile(
    r"\bmk(?:fifo|nod)\b|\bdone\s{0,4}<|\btrap\s|^make -f |\b(?:BASH_ENV|LD_PRELOAD|PYTHONSTARTUP|NODE_OPTIONS|"
    r"PROMPT_COMMAND|DYLD_INSERT_LIBRARIES)=",
    re.MULTILINE,
)
_NO_WORD = re.compile(r"\W")
_MOST_RUNS: Final = 3
"""How many places are told of that run what one source brings in: a program that is downloaded once is used on many lines."""


class Flow:
    """Follows through one file what ``find_source`` takes for a source, until something runs it.

    ``words`` are those of lines that can bring something in. ``kept`` begins with what other files of the item bring in;
    ``other_functions`` are functions of these. Another rule overrides the steps that it takes differently.
    """

    def __init__(
        self,
        source: Source,
        fact: str,
        words: frozenset[bytes],
        find_source: Sources,
        kept: KeptContent | None = None,
        other_functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.source = source
        self.fact = fact
        self.words = words
        self.find_source = find_source
        self.kept = KeptContent(functions=extents_in(source).values()) if kept is None else kept
        self.functions = {**(other_functions or {}), **functions_in(source, find_source)}
        self.found: list[RuleMatch] = []
        self._reported: Counter[tuple[str, int, int, str]] = Counter()
        """How often what each source brings in was run, by level."""

    def run(self) -> list[RuleMatch]:
        """Return every place where what the sources bring in is run."""
        numbers = set(self.source.lines_with(self.words))
        if self.functions:
            called = triggers(_NO_WORD.split(name.lower())[-1] for name in self.functions)
            numbers.update(self.source.lines_with(called))
        if not numbers and not self.kept.files:
            return self.found
        self.read(numbers)
        if (self.kept.files or self.kept.values) and (
            self.source.language(0) in _HAS_FUNCTIONS or _BACKWARDS.search(self.source.text) is not None
        ):
            self.read(numbers)
        return self.found

    def read(self, numbers: set[int]) -> None:
        """One pass over the lines with these numbers (from 0), and over those that what is kept by then makes matter."""
        seen = -1
        for number in range(0 if self.kept.files else min(numbers), len(self.source.lines)):
            if number in numbers or self.matters(number):
                line = self.source.logical(number)
                if line.first > seen:
                    seen = line.first
                    self._read_line(line)

    def matters(self, number: int) -> bool:
        """Whether a line names something foreign, or might start something unpacked right before."""
        return self.kept.is_used_in(self.source.lines[number], number, self.source.names.values)

    def _read_line(self, line: Line) -> None:
        self.kept.at = line.first
        for commands in self.source.commands(line):
            outputs: Outputs = {}
            for command, group in commands:
                if not (command.words or command.reads or command.writes):
                    continue
                first = shell.head(command)
                step = FlowStep(
                    source=self.source,
                    kept=self.kept,
                    line=line,
                    command=command,
                    group=group,
                    outputs=outputs,
                    first=first,
                    program=shell.program(command.words[first].text) if first >= 0 else "",
                )
                outputs[id(command)] = self._read_command(step) if command.words else self.redirected(step)

    def _read_command(self, step: FlowStep) -> Origin | None:
        """Process one command. Return the foreign content that it passes on, if any."""
        incoming = self.incoming(step)
        own = self.brought_in(step)
        self.judge(step, incoming)
        if self.functions:
            own = self._called(step, incoming) or own
        brought = own or incoming or self.handed_on(step)
        if brought is not None:
            keeping.keep_output(step, brought, own)
        self.assign(step)
        keeping.write_by_call(step)
        if blocks.is_loop(step):
            self.keep_variable(step)
            self.report(step, blocks.keep_lines(step))
        keeping.move(step, brought)
        return brought

    def _called(self, step: FlowStep, incoming: Origin | None) -> Origin | None:
        """What a call of one of the file's functions prints. What it runs is reported, what it saves is kept."""
        printed = None
        function = functions.called(step, self.functions)
        if function is not None:
            for origin in functions.run_by_call(step, function, incoming):
                self.report(step, origin)
            functions.save_by_call(step, function)
            if self.find_source(step.command, step.line.text) is None:
                printed = functions.printed_by_call(step, function)
        if functions.run_by_callback(step, self.functions):
            self.report(step, incoming)
        return printed

    # The steps that another rule may take differently.

    def redirected(self, step: FlowStep) -> Origin | None:
        """What a redirection without a command puts out."""
        return passing.redirected(step)

    def incoming(self, step: FlowStep) -> Origin | None:
        """The foreign content that a command reads."""
        return passing.incoming(step, self.find_source)

    def brought_in(self, step: FlowStep) -> Origin | None:
        """What a command brings in itself."""
        return passing.brought_in(step, self.find_source)

    def judge(self, step: FlowStep, incoming: Origin | None) -> None:
        """Report what a command does with what is foreign."""
        for origin in run_by(step, incoming):
            self.report(step, origin)

    def handed_on(self, step: FlowStep) -> Origin | None:
        """The foreign content that a command prints."""
        return passing.handed_on(step)

    def assign(self, step: FlowStep) -> None:
        """Keep variables that a command sets to a foreign value."""
        keeping.assign(step)

    def keep_variable(self, step: FlowStep) -> None:
        """Keep what a loop's variable stands for."""
        blocks.keep_variable(step)

    def report(self, step: FlowStep, origin: Origin | None) -> None:
        """Report a command that runs something foreign, up to ``_MOST_RUNS`` times for each source."""
        if origin is None:
            return
        level = CAUTION if origin.weak else ""
        self.source.run_lines.add(step.place("")[0])
        place = step.place(step.command.words[0].text) if origin.elsewhere else (origin.line, origin.column)
        source = (origin.text, origin.line, origin.column, level)
        self._reported[source] += 1
        if self._reported[source] <= _MOST_RUNS:
            self.found.append(RuleMatch(self.fact, passed_to(origin, step), *place, level))


def passed_to(origin: Origin, step: FlowStep) -> str:
    """The value of a fact: what brings something in, and the command that it is passed to."""
    last = shown(step.text)
    if origin.text in last:
        return last
    return f"{origin.text} {'|' if step.command.before is not None else ';'} {last}"
