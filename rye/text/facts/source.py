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
from itertools import accumulate, repeat, takewhile
from operator import add
from typing import Any, Final, NamedTuple

from rye.limits import FACTS
from rye.text.facts.addresses import Address
from rye.text.facts.addresses import find as find_addresses
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

_LOWER = bytes(range(65)) + bytes(range(97, 123)) + bytes(range(91, 256))
_DROPPED = b"\"'\\^"
_WORDS = bytes(code if (chr(code).isalnum() and code < 128) or code in b"_\n" else 32 for code in range(256))
_EDGE = frozenset(code for code in range(256) if _WORDS[code] in b" \n")
_WINDOWS_PATH = re.compile(rb"(?:[a-z]:|%\w{1,30}%|\\|~|\.|hk(?:cu|lm|ey_\w{1,20}))\\[^\s\"'`]{1,400}")
#: A path of the registry without its root.
_REGISTRY_PATH = re.compile(rb"(?<![\w\\])(?:software|microsoft)\\[^\s\"'`]{1,400}")
#: It begins with the letter, not with what stands before it, so that the search skips other characters quickly.
_FORMATTED = re.compile(rb"[rbfu](?:(?<=[(\[=,].)|(?<=[(=,] .))[rbfu]?(?=[\"'])")
_BEFORE_BACKSLASH = frozenset(b":%~.")
_EXPANDED = re.compile(rb"\$(?:[@*]|\{ifs[^}\n]{0,20}\}|ifs(?:\$[0-9])?)")
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
#: A command that runs the string behind it.
_RUNS_STRING = re.compile(r"(?:^|[\s;&|(\"'/])(?:eval|trap|ssh|su|watch|source|\w{0,12}sh)[\s\"']")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})\s*([^\s`{]*)")
_MARKDOWN = (".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".asciidoc", ".asc", ".org", ".textile", ".wiki")
#: A page that is kept under another name: ``SKILL.md.orig``.
_COPY_OF_PAGE = re.compile(
    r"\.(?:mdx?|markdown)(?:~|\.(?:orig(?:inal)?|bak|old|copy|save|tmpl|tpl|template|j2|jinja2?|example|sample|dist|disabled|[\w-]{0,40}backup))$"
)
_ASCIIDOC = (".adoc", ".asciidoc", ".asc")
#: How AsciiDoc begins and ends a block of code, and how the line before names its language.
_DELIMITER = re.compile(r"(-{4,}|\.{4,})[ \t]*$")
_SOURCE_STYLE = re.compile(r"\[(?:source|listing)?(?:%\w{1,20})?,[ \t]*(\w{1,20})")
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
        self.lowered = _lowered(text)
        self._rows: dict[bytes, list[int]] = {}
        self._logical: dict[int, Line] = {}
        self._room = FACTS.filled_in_file
        self._commands: dict[int, list[tuple[Command, Group]]] = {}
        self._breaks_of: dict[int, list[int]] = {}
        self._extents: dict[int, tuple[int, int]] = {}
        self.words = _words(self.lowered)
        self._hidden: dict[bytes, list[int]] = {}
        self.marked: set[int] = set()
        """The lines (from 0) with markup inside a word, or with numbers of characters (``&#99;``)."""
        self.vocabulary = b" ".join(self.words)
        """Every distinct word of the text, joined: a string that is not in it is not part of any word."""
        self.written = self.words
        """The words that are in the text as they are; ``words`` has also those that a disguise hides."""
        disguised = self._disguised_lines()
        if disguised:
            self._rows.clear()
            self._hidden = self._hidden_words(disguised)
            self.words |= self._hidden.keys()

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
        return _line_starts(self.lines)

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
    def blocks(self) -> list[tuple[str, int, int]]:
        """The non-empty fenced blocks: language, first line, and the line after the last one, from 0."""
        if self.path.lower().endswith(_ASCIIDOC):
            return self._listings()
        spans: list[tuple[str, int, int]] = []
        inside: str | None = None
        mark, begun = "", 0
        for number in self._lines_with_fences():
            match = _FENCE.match(self.lines[number])
            if match is None or (inside is not None and (not match[1].startswith(mark) or match[2])):
                continue
            if inside is None:
                inside, mark, begun = match[2].lower(), match[1], number + 1
            else:
                spans.append((inside, begun, number))
                inside = None
        if inside is not None:
            spans.append((inside, begun, len(self.lines)))
        return [block for block in spans if block[1] < block[2]]

    def block_at(self, number: int) -> int:
        """The first line of the fenced block that line ``number`` (from 0) is in; -1 outside blocks."""
        if not self.markdown:
            return -1
        at = bisect_right(self.blocks, number, key=lambda block: block[1]) - 1
        return self.blocks[at][1] if at >= 0 and number < self.blocks[at][2] else -1

    def _listings(self) -> list[tuple[str, int, int]]:
        """The same for AsciiDoc."""
        spans: list[tuple[str, int, int]] = []
        mark, language, begun = "", "", 0
        for number, line in enumerate(self.lines):
            delimiter = _DELIMITER.match(line) if line.startswith(("----", "....")) else None
            if delimiter is None or (mark and delimiter[1] != mark):
                continue
            if mark:
                spans.append((language, begun, number))
                mark = ""
            else:
                style = _SOURCE_STYLE.match(self.lines[number - 1]) if number else None
                mark, language, begun = delimiter[1], style[1].lower() if style is not None else "", number + 1
        if mark:
            spans.append((language, begun, len(self.lines)))
        return [block for block in spans if block[1] < block[2]]

    def _lines_with_fences(self) -> list[int]:
        return sorted({*self.lines_of_bytes(b"```"), *self.lines_of_bytes(b"~~~")})

    def is_code(self, number: int) -> bool:
        """Whether line ``number`` (from 0) is code: not in prose, in a fence, or indented by four outside a list."""
        return not self.markdown or self.fences[number] is not None or number in self.indented

    @cached_property
    def indented(self) -> frozenset[int]:
        """The lines of indented code blocks: indented by four spaces or a tab after an empty line, by eight within a list."""
        code: set[int] = set()
        text, lines, fences = self.text, self.lines, self.fences
        for begin in ("\n\n    ", "\n\n\t"):
            at = text.find(begin)
            while at >= 0:
                number = self.line_at(at + 2)
                if fences[number] is None and number not in code:
                    indent = ("        ", "\t\t", "    \t") if self._in_list(number) else ("    ", "\t")
                    while (
                        number < len(lines)
                        and fences[number] is None
                        and (not lines[number] or lines[number].startswith(indent))
                    ):
                        code.add(number)
                        number += 1
                at = text.find(begin, at + 1)
        if text.startswith(("    ", "\t")):
            code.update(takewhile(lambda number: lines[number].startswith(("    ", "\t")), range(len(lines))))
        return frozenset(code)

    def _in_list(self, number: int) -> bool:
        """Whether an indented line after an empty one belongs to an item of a list, as far as ``FACTS.continued_lines`` tell."""
        for before in range(number - 1, max(-1, number - FACTS.continued_lines), -1):
            line = self.lines[before]
            if _LIST_ITEM.match(line) is not None:
                return True
            if line and line[0] not in " \t" and (before == 0 or not self.lines[before - 1].strip()):
                return False  # a paragraph that begins at the margin
        return False

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
        is no command: ``' "$file"`` behind ``perl -ne '``, and the second line of ``x="$a`` and ``$b"``. A string that something
        runs does begin with commands, and so does what stands behind a value (``x='`` and ``' command``)."""
        opened = self.open_strings.get(number)
        if opened is None:
            return False
        raw = self.lines[number].lstrip()
        if raw.startswith(("'", '"')):
            return raw[1:2] in ("", *" \t<>|&;)") and not opened.before.endswith(("=", "=$"))
        return _RUNS_STRING.search(opened.before) is None

    def has(self, triggers: frozenset[bytes]) -> bool:
        """Whether the file contains any of these words at all."""
        return not triggers.isdisjoint(self.words)

    def has_code_on_a_command_line(self, languages: frozenset[bytes]) -> bool:
        """Whether one of these languages is followed by an option, as in ``python3 -c``."""
        return any(name + b" -" in self.lowered for name in languages & self.words) or b"deno eval" in self.lowered

    def lines_with(self, triggers: frozenset[bytes]) -> list[int]:
        """The numbers (from 0) of the lines that contain any of these words, in order."""
        found = triggers & self.words
        if not found:
            return []
        if len(found) == 1:
            return self._lines_of(next(iter(found)))
        return sorted({number for word in found for number in self._lines_of(word)})

    def _lines_of(self, word: bytes) -> list[int]:
        """The lines of one word, computed once for all rules."""
        numbers = self._rows.get(word)
        if numbers is None:
            text, starts, size = self.lowered, self._starts, len(word)
            numbers = self._rows[word] = []
            at = text.find(word)
            while at >= 0:
                if (at == 0 or text[at - 1] in _EDGE) and (at + size == len(text) or text[at + size] in _EDGE):
                    number = bisect_right(starts, at) - 1
                    numbers.append(number)
                    at = text.find(word, starts[number + 1])
                else:
                    at = text.find(word, at + size)
            if word in self._hidden:
                numbers[:] = sorted({*numbers, *self._hidden[word]})
        return numbers

    def disguised(self, some: frozenset[bytes]) -> Iterator[tuple[bytes, list[int]]]:
        """Yield those of these words that lines contain only once their disguise is removed, each with those lines (from 0)."""
        for word in sorted(some & self._hidden.keys()):
            yield word, self._hidden[word]

    def lines_of_bytes(self, mark: bytes) -> Iterator[int]:
        """The numbers (from 0) of the lines whose ``lowered`` text contains ``mark``."""
        at = self.lowered.find(mark)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self.lowered.find(mark, self._starts[number + 1])

    def words_between(self, first: int, last: int) -> frozenset[bytes]:
        """The words of the lines from ``first`` up to ``last`` (exclusive)."""
        starts = self._starts
        return _words(self.lowered[starts[max(0, first)] : starts[min(last, len(starts) - 1)]])

    def _hidden_words(self, disguised: set[int]) -> dict[bytes, list[int]]:
        """The words that a line contains only once its disguise is removed, with those lines."""
        numbers_by_word: dict[bytes, list[int]] = {}
        seen = -1
        for number in sorted(disguised):
            line = self.logical(number)
            if line.first > seen:
                seen = line.first
                for word in _words(_lowered(line.text)) - _words(_lowered(self.lines[number])):
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
            numbers.update(self._lines_of(name.lower().encode()))
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

    @cached_property
    def _starts(self) -> list[int]:
        return _line_starts(self.lowered.split(b"\n"))

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


def _lowered(text: str) -> bytes:
    """The text's bytes in lower case, without quotes and escapes, Windows paths with slashes. Words are taken from this."""
    raw = text.encode("utf-8", "replace").translate(_LOWER)
    if b"\\n" in raw:
        raw = raw.replace(b"\\n", b"  ")
    if b"\\" in raw and _may_have_windows_paths(raw):
        raw = _WINDOWS_PATH.sub(lambda match: match[0].replace(b"\\", b"/"), raw)
    if b"\\" in raw and (b"software\\" in raw or b"microsoft\\" in raw):
        raw = _REGISTRY_PATH.sub(lambda match: match[0].replace(b"\\", b"/"), raw)
    if b'f"' in raw or b"f'" in raw:
        raw = _FORMATTED.sub(b"", raw)
    lowered = raw.translate(None, _DROPPED)
    if b"$" in lowered:
        lowered = _EXPANDED.sub(lambda match: b"" if match[0] in (b"$@", b"$*") else b" ", lowered)
    return lowered


def _may_have_windows_paths(raw: bytes) -> bool:
    """Whether a backslash follows something that a path can begin with. Cheaper than the pattern, and never misses a path."""
    before = raw.split(b"\\")
    return any(not piece or piece[-1] in _BEFORE_BACKSLASH for piece in before[:-1]) or b"hk" in raw


def _words(lowered: bytes) -> frozenset[bytes]:
    return frozenset(lowered.translate(_WORDS).split())


def _line_starts(lines: Sequence[str] | Sequence[bytes]) -> list[int]:
    return [0, *accumulate(map(add, map(len, lines), repeat(1)))]
