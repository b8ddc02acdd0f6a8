"""One file as the rules see it: its lines, the set of its words, and its logical lines with disguises removed.

Two steps keep this cheap. ``words`` is a set that costs one pass over the bytes; a rule none of whose trigger words are in it
reads nothing. Other rules read only the logical lines that contain a trigger word. Words that appear only in disguise (split
across a line end or two variables, behind an alias) count for the lines that contain them.

A logical line is what a shell or a reader sees as one: lines continued with a backslash or a pipe, or a paragraph of prose. Its
text is plain: quotes inside words, ``$IFS``, ``$@`` and escapes are removed, because ``c''url`` is ``curl`` to a shell.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.addresses import Address
from rye.text.facts.addresses import find as find_addresses
from rye.text.facts.code_blocks import CodeBlock, fenced_blocks, indented_lines, listings
from rye.text.facts.markup import IN_A_WORD, MARK_IN_A_WORD, referred, without_markup
from rye.text.facts.shell import (
    BREAK,
    Command,
    Group,
    Names,
    OpenString,
    commands_in,
    open_strings,
    pieces,
    plain,
    read,
    used_values_in,
    values_in,
    walk,
)
from rye.text.facts.word_lines import WordLines, line_starts, lowered, words_in

#: A word that a shell reads across a line end, and a command whose name another command builds.
_SPLIT_WORD = re.compile(r"[\w\"']\\\n[\w\"']")
_BUILDERS = frozenset((b"echo", b"printf"))
_BUILT_WORD = re.compile(r"(?:\$\(|`)[ \t]*(?:echo|printf)[ \t]")
_VARIABLE = re.compile(r"[$%!](?:(?<=\$)\{?!?)?([A-Za-z_]\w{0,60})")
#: Emphasis by underscores, which would belong to the word otherwise.
_SEARCHED_ONE_BY_ONE = 24
_UNDERSCORED = re.compile(r"_(?<!\w_)_{0,2}(?=[A-Za-z])|_(?<=[A-Za-z]_)_{0,2}(?!\w)")
_TICK_IN_WORD = re.compile(r"[A-Za-z]`[A-Za-z]")
_POWERSHELL = frozenset((b"powershell", b"pwsh", b"ps1"))
#: Code on a command line that begins in the next line: ``python3 -c "``.
_OPENS_CODE = re.compile(r"\s-[A-Za-z]{0,3}[ce]\s(['\"])\s*$")
_OPENING: Final = 40
_BLOCK_START = re.compile(r"\s*(?:$|#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|\||```|~~~|---|===|<!--)")
_COMMAND_START = re.compile(
    r"(?:\$ )?(?:sudo|bash|sh|zsh|curl|wget|chmod|python3?|node|eval|echo|cd|source|export|tar|unzip|iex|git|npx|pip3?)\s"
    r"|\./|\$?\w+="
)
_SHELL_LANGUAGES = frozenset(("sh", "bash", "zsh", "ksh", "shell", "console", "bats"))
_MARKDOWN = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".asciidoc", ".asc", ".org", ".textile", ".wiki")
#: A page that is kept under another name: ``SKILL.md.orig``.
_COPY_OF_PAGE = re.compile(
    r"\.(?:mdx?|markdown)(?:~|\.(?:orig(?:inal)?|bak|old|copy|save|tmpl|tpl|template|j2|jinja2?|example|sample|dist|disabled|[\w-]{0,40}backup))$"
)
_ASCIIDOC = (".adoc", ".asciidoc", ".asc")
_PAGES = (".html", ".htm", ".xhtml", ".xml", ".svg")
#: How references begin that can stand inside a word: numbers, and characters that nobody sees.
_REFERENCES = (
    b"&#",
    b"&shy;",
    b"&zw",
    b"&lrm;",
    b"&rlm;",
    b"&zerowidthspace;",
    b"&nobreak;",
    b"&invisible",
    b"&applyfunction;",
)


_NEAR = 8
_LOOKED_AT = 2_000
"""How far into a line a word is searched for, to show its column."""


class Line(NamedTuple):
    """A logical line: ``text`` is plain, ``first`` is the number of its first line in the file (from 0)."""

    text: str
    first: int
    code: bool
    """Whether it is code: in a fence, indented, or in a file that is not prose."""


class Origin(NamedTuple):
    """Where foreign content came from: the text of the command that brought it in, its place, and the files it saved."""

    text: str
    line: int
    column: int
    saves: tuple[str, ...] = ()
    elsewhere: bool = False
    """Whether another file of the item brought it in. If so, the place that runs it is reported."""
    weak: bool = False
    """Whether another file only mentions it, or by an everyday word that may well mean something else: a caution."""


Sources = Callable[[Command, str], "Origin | None"]
"""What a rule takes for a source: given a command and the text of its line, what the command brings in."""


class RuleMatch(NamedTuple):
    """What a rule found: a value, and its line and column (from 0). ``level`` is set only if it differs from the fact's."""

    fact: str
    value: str
    line: int
    column: int
    level: str = ""


class Source:
    """One file. ``files`` are the texts of all files of the item, because a lock file next to this one can pin its installs."""

    def __init__(self, path: str, text: str, files: dict[str, str] | None = None) -> None:
        self.path = path
        self.text = text
        self.files = files or {path: text}
        self.original: Source = self
        """The file as it is written, if this is another form of it with the same lines."""
        self.saved: defaultdict[str, dict[str, Origin]] = defaultdict(dict)
        """The foreign files that this file saves, by fact, which another file of the item may run. Filled by the rules."""
        self.kept: dict[str, Any] = {}
        """Results of one rule that another one needs as well."""
        self.run_lines: set[int] = set()
        """The lines (from 0) at which a rule already reports that something is run. Filled by the rules."""
        self._index = WordLines(text)
        self.lines_with, self.lines_of_bytes = self._index.lines_with, self._index.lines_of_bytes
        self.lowered = self._index.lowered
        self._logical: dict[int, Line] = {}
        self._room = FACTS.filled_in_file
        self._commands: dict[int, list[tuple[Command, Group]]] = {}
        self._breaks_of: dict[int, list[int]] = {}
        self._extents: dict[int, tuple[int, int]] = {}
        self.words = self._index.written
        self.marked: set[int] = set()
        """The lines (from 0) with markup inside a word, or with numbers of characters (``&#99;``)."""
        self.vocabulary = b" ".join(self.words)
        """Every distinct word of the text, joined: a string that is not in it is not part of any word."""
        self.written = self.words
        """The words that are in the text as they are; ``words`` has also those that a disguise hides."""
        disguised = self._disguised_lines()
        if disguised:
            self._index.add_hidden(self._hidden_words(disguised))
            self.words = self._index.words

    @cached_property
    def lines(self) -> list[str]:
        """The file's lines without their line ends."""
        return self.text.split("\n")

    @cached_property
    def markdown(self) -> bool:
        """Whether the file is prose with code blocks, not code throughout."""
        path = self.path.lower()
        return path.endswith(_MARKDOWN) or _COPY_OF_PAGE.search(path) is not None

    @cached_property
    def tagged(self) -> bool:
        """Whether the file is a page: what a browser shows of it is what a reader copies."""
        return self.path.lower().endswith(_PAGES)

    @cached_property
    def text_starts(self) -> list[int]:
        """The offset of each line in the text, in characters."""
        return line_starts(self.lines)

    def line_at(self, offset: int) -> int:
        """The number (from 0) of the line that contains offset ``offset``."""
        return bisect_right(self.text_starts, offset) - 1

    @cached_property
    def addresses(self) -> list[Address]:
        """Every address in the text."""
        return list(find_addresses(self.text))

    @cached_property
    def fences(self) -> list[str | None]:
        """For each line, the language of its fenced block (``""`` if unlabelled); None outside blocks and for the fences."""
        found: list[str | None] = [None] * len(self.lines)
        for language, begun, end in self.blocks:
            found[begun:end] = [language] * (end - begun)
        return found

    @cached_property
    def blocks(self) -> list[CodeBlock]:
        """The non-empty fenced blocks: language, first line, and the line after the last one, from 0."""
        if self.path.lower().endswith(_ASCIIDOC):
            return listings(self.lines)
        marks = {*self.lines_of_bytes(b"```"), *self.lines_of_bytes(b"~~~")}
        return fenced_blocks(self.lines, sorted(marks))

    def block_at(self, number: int) -> int:
        """The first line of the fenced block that line ``number`` (from 0) is in; -1 outside blocks."""
        if not self.markdown:
            return -1
        at = bisect_right(self.blocks, number, key=lambda block: block[1]) - 1
        return self.blocks[at][1] if at >= 0 and number < self.blocks[at][2] else -1

    def is_code(self, number: int) -> bool:
        """Whether line ``number`` (from 0) is code: not in prose, in a fence, or indented by four outside a list."""
        return not self.markdown or self.fences[number] is not None or number in self.indented

    @cached_property
    def indented(self) -> frozenset[int]:
        """The lines of indented code blocks."""
        return indented_lines(self.text, self.lines, self.text_starts, self.fences)

    def language(self, number: int) -> str:
        """The language of line ``number`` (from 0): its fence's label, or the suffix of a file that is not prose; else ``""``."""
        if self.markdown:
            return self.fences[number] or ""
        return self.path.lower().rpartition("/")[2].rpartition(".")[2]

    @cached_property
    def open_strings(self) -> dict[int, OpenString]:
        """The lines of scripts that begin inside a string, by number (from 0)."""
        if self.original is not self and len(self.original.lines) == len(self.lines):
            return self.original.open_strings
        blocks = self.blocks if self.markdown else [(self.language(0), 0, len(self.lines))]
        return {
            begun + number: opened._replace(line=begun + opened.line)
            for language, begun, end in blocks
            if language in _SHELL_LANGUAGES
            for number, opened in open_strings(self.lines[begun:end]).items()
        }

    def begins_in_argument(self, number: int) -> bool:
        """Whether line ``number`` (from 0) of a script begins inside a string that a command is given, so that what stands first
        is no command."""
        opened = self.open_strings.get(number)
        return opened is not None and opened.is_argument(self.lines[number])

    def has(self, triggers: frozenset[bytes]) -> bool:
        """Whether the file contains any of these words at all."""
        return not triggers.isdisjoint(self.words)

    def has_code_on_a_command_line(self, languages: frozenset[bytes]) -> bool:
        """Whether one of these languages is followed by an option, as in ``python3 -c``."""
        return any(name + b" -" in self.lowered for name in languages & self.words) or b"deno eval" in self.lowered

    def disguised(self, some: frozenset[bytes]) -> Iterator[tuple[bytes, list[int]]]:
        """Yield those of these words that lines contain only once their disguise is removed, each with those lines (from 0)."""
        hidden = self._index.hidden
        for word in sorted(some & hidden.keys()):
            yield word, hidden[word]

    def words_between(self, first: int, last: int) -> frozenset[bytes]:
        """The words of the lines from ``first`` up to ``last`` (exclusive)."""
        return self._index.between(first, last)

    def _hidden_words(self, disguised: set[int]) -> dict[bytes, list[int]]:
        """The words that a line contains only once its disguise is removed, with those lines."""
        numbers_by_word: dict[bytes, list[int]] = {}
        seen = -1
        for number in sorted(disguised):
            line = self.logical(number)
            if line.first > seen:
                seen = line.first
                for word in words_in(lowered(line.text)) - words_in(lowered(self.lines[number])):
                    numbers_by_word.setdefault(word, []).append(number)
        return numbers_by_word

    def _disguised_lines(self) -> set[int]:
        text = self.text
        numbers: set[int] = set()
        if "\\\n" in text:
            numbers.update(self.line_at(match.start()) for match in _SPLIT_WORD.finditer(text))
        for number in self.lines_with(_BUILDERS):
            if _BUILT_WORD.search(text, self.text_starts[number], self.text_starts[number + 1]) is not None:
                numbers.add(number)
        values = self.names.values
        if values:
            numbers.update(map(self.line_at, self.uses(values)))
        if self.markdown and "_" in text:
            numbers.update(self.line_at(match.start()) for match in _UNDERSCORED.finditer(text))
        if (self.markdown and ("*" in text or "<" in text)) or (self.tagged and "<" in text):
            self.marked.update(
                self.line_at(match.start())
                for match in MARK_IN_A_WORD.finditer(text)
                if IN_A_WORD.match(text, match.start() - 1)
            )
        if "&" in text and ";" in text:
            for mark in _REFERENCES:
                if mark in self.lowered:
                    self.marked.update(self.lines_of_bytes(mark))
        numbers |= self.marked
        for name in self.names.commands:
            numbers.update(self._index.lines_of(name.lower().encode()))
        if "`" in text and (self.path.lower().endswith(".ps1") or not _POWERSHELL.isdisjoint(self.words)):
            numbers.update(
                number for match in _TICK_IN_WORD.finditer(text) if self.is_code(number := self.line_at(match.start()))
            )
        return numbers

    def uses(self, values: dict[str, str]) -> Iterator[int]:
        """Yield where the text uses one of these variables, or one whose name begins like it."""
        text = self.text
        if len(values) > _SEARCHED_ONE_BY_ONE:
            yield from (match.start() for match in _VARIABLE.finditer(text) if match[1] in values)
            return
        for name in values:
            for mark in ("$", "{", "%", "!"):
                at = text.find(mark + name)
                while at >= 0:
                    yield at
                    at = text.find(mark + name, at + 1)

    def logical_lines(self, triggers: frozenset[bytes]) -> Iterator[Line]:
        """Yield the logical lines that contain any of these words, in order, each once."""
        seen = -1
        for number in self.lines_with(triggers):
            line = self.logical(number)
            if line.first > seen:
                seen = line.first
                yield line

    def logical(self, number: int) -> Line:
        """The logical line that contains the file's line ``number`` (from 0)."""
        first, last = self._extent(number)
        known = self._logical.get(first)
        if known is None:
            raw = self.lines[first : last + 1]
            code = self.is_code(first)
            known = self._logical[first] = Line(self._plain(raw, code), first, code)
        return known

    def commands(self, line: Line) -> Iterator[list[tuple[Command, Group]]]:
        """Yield the commands of a logical line, in several pieces if it is long. Substitutions come before their command.

        A piece is parsed once for all rules; only very long lines are parsed again.
        """
        known = self._commands.get(line.first)
        if known is None:
            if len(line.text) > FACTS.piece_characters:
                for text, offset in pieces(line.text):
                    yield list(walk(read(text, offset)))
                return
            known = self._commands[line.first] = list(walk(read(line.text)))
        yield known

    def _extent(self, number: int) -> tuple[int, int]:
        known = self._extents.get(number)
        if known is not None:
            return known
        first = last = number
        least, most = max(0, number - FACTS.continued_lines), min(len(self.lines) - 1, number + FACTS.continued_lines)
        while first > least and first - 1 not in self._extents and self._continues(first - 1):
            first -= 1
        while last < most and self._continues(last):
            last += 1
        last = self._end_of_code(last, most)
        for line in range(first, last + 1):
            self._extents[line] = (first, last)
        return first, last

    def _end_of_code(self, number: int, most: int) -> int:
        """The last line of code that begins after ``-c`` or ``-e`` at the end of line ``number``; the same line if none does."""
        opened = _OPENS_CODE.search(self.lines[number][-_OPENING:])
        if opened is None or not self.is_code(number):
            return number
        for end in range(number + 1, most + 1):
            if end in self._extents or (self.markdown and self.fences[end] is None):
                return number
            if opened[1] in self.lines[end]:
                return end
        return number

    def _continues(self, number: int) -> bool:
        """Whether the line after ``number`` continues it."""
        line, following = self.lines[number].rstrip(), self.lines[number + 1].lstrip()
        if line.endswith(("\\", " `")):
            return True
        if line.endswith(("$(", "<(")) or (following.startswith(')"') and self.is_code(number + 1)):
            return bool(line)
        table = line.lstrip().startswith("|") or (following.startswith("|") and following.rstrip().endswith("|"))
        if not table and (line.endswith(("|", "&&", "|&")) or following.startswith(("| ", "&& ", "|& ", "|| "))):
            return bool(line) and bool(following)
        if not self.markdown or self.fences[number] is not None or self.fences[number + 1] is not None:
            return False
        if len(line) > 2000 or not line or _COMMAND_START.match(following) or _BLOCK_START.match(following):
            return False
        if line.count("`") % 2:
            return True
        return following.startswith(("http", "-")) and "://" not in line

    @cached_property
    def names(self) -> Names:
        """What the file assigns to names as literal text, where it uses them the way a shell does."""
        return Names(used_values_in(self.text), commands_in(self.text))

    @cached_property
    def values(self) -> dict[str, str]:
        """Literal values of variables in any language."""
        return self.names.values or values_in(self.text)

    def bare(self, number: int) -> str:
        """Line ``number`` (from 0); without its markup where that could be taken for a part of a path or an operator."""
        raw = self.lines[number]
        if "-->" not in raw and "&gt;" not in raw and "&#" not in raw and not raw.rstrip().endswith("_"):
            return raw
        if "&" in raw:
            raw = referred(raw)
        return without_markup(raw, code=self.is_code(number))

    def _plain(self, raw: Sequence[str], code: bool) -> str:
        parts = []
        for line in raw:
            stripped = line.rstrip()
            if self.markdown and stripped.lstrip().startswith(">"):
                stripped = stripped.lstrip(" \t>")
            if stripped.endswith("\\"):
                cut = stripped[:-1]
                parts.append(cut if cut and not cut[-1].isspace() else cut + BREAK)
            elif stripped.endswith(" `"):
                parts.append(stripped[:-1] + BREAK)
            else:
                parts.append(stripped + BREAK)
        joined = "".join(parts)[: -1 if parts[-1].endswith(BREAK) else None]
        text = plain(without_markup(joined, code=code, tagged=self.tagged), self.names, code=code, room=self._room)
        self._room -= max(0, len(text) - len(joined) - FACTS.short_value_characters)
        return text

    def place(self, line: Line, offset: int, word: str) -> tuple[int, int]:
        """Return the file's line and column, both from 0, of ``word`` at ``offset`` of a logical line's text.

        That text has no quotes and continuations, so the word is searched for near its place, then at the starts of the lines.
        """
        breaks = self._breaks(line)
        before = bisect_left(breaks, offset)
        number = min(line.first + before, len(self.lines) - 1)
        within = offset - (breaks[before - 1] + 1 if before else 0)
        tries = ((number, max(0, within - _NEAR)), *((line.first + more, 0) for more in range(4)))
        for at, start in tries if word else ():
            if at < len(self.lines):
                piece = self.lines[at][start : start + _LOOKED_AT]
                column = piece.find(word)
                if column < 0:
                    column = piece.lower().find(word.lower())
                if column >= 0:
                    return at, start + column
        raw = self.lines[number][:_LOOKED_AT]
        return number, len(raw) - len(raw.lstrip())

    def _breaks(self, line: Line) -> list[int]:
        """The offsets of the file's line breaks in a logical line's text."""
        known = self._breaks_of.get(line.first)
        if known is None:
            known = [at for at, char in enumerate(line.text) if char == BREAK] if BREAK in line.text else []
            self._breaks_of[line.first] = known
        return known
