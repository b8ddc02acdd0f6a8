"""Output: data on stdout, everything else on stderr.

With ``--json``, stdout carries exactly one document. Colour and movement appear only on a terminal, and never with
``NO_COLOR``, ``CI`` or ``TERM=dumb`` (DESIGN §9).

Text from authors and registries must not control the terminal: on a terminal, everything that is not printable is
escaped. Elsewhere data goes out byte for byte, because programs read it. Table cells are escaped everywhere, so that a row
stays one row. Styles travel through text as marks that no other text can contain: they hold a number drawn for this run.

On a terminal, lines are wrapped to its width (:mod:`rye.layout`). Elsewhere each stays one line, however long.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import click

from rye.errors import without_passwords

if TYPE_CHECKING:
    import threading

    from rye.errors import RyeError
    from rye.layout import Cell, Column, Line
    from rye.text.diagnostics import Diagnostic

_STYLES: dict[str, dict[str, object]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "notice": {"fg": "blue"},
    "info": {"fg": "cyan"},
    "hint": {"fg": "cyan"},
    "ok": {"fg": "green"},
    "strong": {"bold": True},
    "dim": {"dim": True},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
}


TIER_STYLE = {"safe": "ok", "write": "info", "elevated": "warning", "unrestricted": "error"}
"""Tier of a right → style."""
_PROSE = 100
"""The widest line of prose, in columns: longer ones are hard to read."""
_BAR_SECONDS = 1.0
"""Work that takes less shows no progress bar."""
_FRAME_SECONDS = 0.1
"""How often a progress bar is drawn."""
_SAYS_ALL = frozenset({"declined", "interrupted"})
"""Errors that the user caused on purpose: there is nothing to explain."""


class Advance(Protocol):
    """Advance a progress bar by an amount."""

    def __call__(self, amount: int = 1) -> None:
        """Advance by ``amount`` of what is counted."""


class Choice(NamedTuple):
    """Another answer to a yes-or-no question than y and n."""

    meaning: str
    """What it does, in two or three words, for whoever typed something else."""
    take: Callable[[], bool | None]
    """Does it. Returns the answer to the question, or None to ask again, e.g. after showing something."""


class Console:
    """Prints text, tables and documents, whatever they are about."""

    def __init__(
        self, *, json: bool, quiet: bool, verbose: int, color: str, progress: bool, environment: Mapping[str, str]
    ) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        self._columns = environment.get("COLUMNS", "")
        dumb = environment.get("TERM") == "dumb" or bool(environment.get("CI"))
        plain = bool(environment.get("NO_COLOR")) or dumb
        self._color_out = color == "always" or (color == "auto" and not plain and sys.stdout.isatty())
        self._color_err = color == "always" or (color == "auto" and not plain and sys.stderr.isatty())
        self.moves = progress and not quiet and not dumb and sys.stderr.isatty()
        self.on_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._bars: list[_DelayedBar] = []
        self._mark_out = f"\0{os.urandom(8).hex()}:"
        self.is_interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        self._kept_quiet: list[Callable[[], None]] = []
        """What prints the notices that ``--quiet`` hid since the last question: nobody is asked about a hidden text."""

    # -- stdout: data -------------------------------------------------------------------------------------------------

    def data(self, text: str = "", *, newline: bool = True) -> None:
        """Print the data that the command was asked for. Silent in JSON mode, where only the one document is printed."""
        if not self.json:
            click.echo(self._shown(text), nl=newline, color=self._color_out or None)

    def document(self, value: object) -> None:
        """Print the one JSON document. Control characters and lone surrogates are JSON-escaped."""
        import json

        text = json.dumps(value, indent=2, ensure_ascii=False)
        if not text.isascii() or "\x7f" in text:
            text = "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)
            text = text.replace("\x7f", "\\u007f")
        click.echo(text)

    def answer(self, document: object, text: str) -> None:
        """Print the command's one answer: the document for programs, the text for people."""
        if self.json:
            self.document(document)
        else:
            self.data(text)

    def style(self, text: str, style: str) -> str:
        """``text`` in the named style, for :meth:`data`; unchanged without colour."""
        return f"{self._mark_out}{style}\0{text}{self._mark_out}\0" if self._color_out else text

    def _shown(self, text: str) -> str:
        """Text as it goes to stdout: escaped on a terminal, and with the colours that :meth:`style` asked for. Undecodable
        bytes, such as parts of a file's name, are escaped everywhere."""
        if self._mark_out not in text:
            return printable(text) if self.on_terminal or not _is_text(text) else text
        shown = []
        for number, part in enumerate(text.split(self._mark_out)):
            style, _, plain = part.partition("\0") if number else ("", "", part)
            plain = printable(plain) if self.on_terminal or not _is_text(plain) else plain
            shown.append(click.style(plain, **_STYLES[style]) if style and plain else plain)  # type: ignore[arg-type]
        return "".join(shown)

    def line(self, *spans: Cell, hang: int = 4, wide: bool = False) -> None:
        """Print one line of data from texts and pairs of text and style. On a terminal it wraps, and continues indented by
        ``hang``. ``wide``: not prose, so it may use the terminal's full width."""
        if self.json:
            return
        pairs = [(text, None) if isinstance(text, str) else text for text in spans]
        if not self.on_terminal:
            self.data("".join(self.style(text, style) if style else text for text, style in pairs))
            return
        from rye.layout import flow  # only terminals have columns

        shown = [(printable(text), style) for text, style in pairs]
        for each in flow(shown, self.width if wide else min(_PROSE, self.width), hang):
            self._print_line(each)

    def table(self, rows: Sequence[Sequence[Cell]], header: Sequence[str | Column]) -> None:
        """Print columns: on a terminal with a header, elsewhere tab-separated without one, so that programs can cut them.
        Prints nothing without rows. A cell is a text, or a pair of text and style."""
        if self.json or not rows:
            return
        safe: list[list[tuple[str, str | None]]] = []
        for row in rows:
            pairs = [(cell, None) if isinstance(cell, str) else cell for cell in row]
            safe.append([(printable(text).replace("\t", " ").replace("\n", " "), style) for text, style in pairs])
        if not self.on_terminal:
            lines = ("\t".join([self.style(text, style) if style else text for text, style in cells]) for cells in safe)
            self.data("\n".join(lines))
            return
        from rye.layout import Column, table  # only terminals have columns

        titled = [Column(each) if isinstance(each, str) else each for each in header]
        for line in table(safe, titled, self.width):
            self._print_line(line)

    @property
    def width(self) -> int:
        """The terminal's width in columns, at least 20; 80 if unknown. ``COLUMNS`` takes precedence."""
        if self._columns.isdecimal() and int(self._columns):
            return max(20, int(self._columns))
        for stream in (sys.stdout, sys.stderr):
            try:
                return max(20, os.get_terminal_size(stream.fileno()).columns or 80)
            except (AttributeError, ValueError, OSError):  # it is none, or not a terminal
                continue
        return 80

    def _print_line(self, line: Line) -> None:
        self.data("".join(self.style(text, style) if style else text for text, style in line))

    # -- stderr: everything else --------------------------------------------------------------------------------------

    def say(self, text: str = "", style: str | None = None, *, always: bool = False) -> None:
        """Print a notice; silent with ``--quiet`` until a question follows, and in JSON mode, unless ``always``."""
        if always or not (self.quiet or self.json):
            self._told([(printable(text), style)])
        elif self.is_interactive:
            self._kept_quiet.append(partial(self.say, text, style, always=True))

    def tell(self, *spans: Cell, hang: int | None = None, wide: bool = False, always: bool = False) -> None:
        """Print a notice that has several styles or holds an author's text: words longer than a line are broken too, so that
        the terminal never continues one at its left edge. Silent like :meth:`say`.

        ``hang``: indentation of the continuation lines, by default two more than the line's own. ``wide``: not prose, so it
        may use the terminal's full width.
        """
        if (self.quiet or self.json) and not always:
            if self.is_interactive:
                self._kept_quiet.append(partial(self.tell, *spans, hang=hang, wide=wide, always=True))
            return
        pairs = [(text, None) if isinstance(text, str) else text for text in spans]
        self._told([(printable(text), style) for text, style in pairs], hang, hard=True, wide=wide)

    def next_step(self, text: str) -> None:
        """Say what usually comes next, on a terminal only."""
        if sys.stderr.isatty():
            self.say(f"Next: {text}", "hint")

    def gap(self) -> None:
        """Print an empty line between groups, on a terminal only."""
        if not self.quiet and not self.json and sys.stderr.isatty():
            click.echo(err=True)

    def detail(self, text: str, level: int = 1) -> None:
        """Print a line that is shown only with ``-v`` (level 1) or ``-vv`` (level 2)."""
        if self.verbose >= level and not self.json:
            self._told([(printable(text), "dim")])

    def warn(self, text: str, hint: str | None = None) -> None:
        """Print a warning, even with ``--quiet``; on stderr, so that JSON stays one document."""
        self._told([("warning:", "warning"), (f" {printable(text)}", None)], 4)
        if hint:
            self._hint(hint)

    def error(self, error: RyeError) -> None:
        """Print an error: what failed, why, and the next command."""
        if self.json:
            self.document(error.as_json())
            return
        self._told([("error:", "error"), (f" {printable(error.message)}", None)], 4)
        if error.hint:
            self._hint(error.hint)
        elif sys.stderr.isatty() and not self.quiet and error.code not in _SAYS_ALL:
            self.explained_by(error.code)

    def explained_by(self, code: str) -> None:
        """Point to ``rye explain``, for a message without a next command."""
        self._told([(f"  `rye explain {code}` says what it means and what to do.", "dim")])

    def _hint(self, hint: str) -> None:
        """Print the next command, or several, below a message."""
        for number, line in enumerate(printable(hint).split("\n")):
            self._told(
                [("  ", None), ("hint:", "hint") if not number else ("     ", None), (f" {line}", None)],
                len("  hint: "),
            )

    def diagnostics(self, path: str, findings: Iterable[Diagnostic], text: str | None = None) -> None:
        """Print findings as ``path:line:column: severity[code]: message``; on a terminal with the source line and a caret."""
        if self.json:
            return
        lines = text.split("\n") if text is not None and sys.stderr.isatty() else None
        for finding in findings:
            if finding.severity == "info" and not self.verbose:
                continue
            if finding.severity == "notice" and self.quiet:
                continue
            place = ":".join(str(p) for p in (one_line(path), finding.line, finding.column) if p is not None)
            head = (f"{finding.severity}[{finding.code}]", finding.severity)
            self._told([(f"{place}: ", None), head, (f": {printable(finding.message)}", None)], 4)
            if lines is not None and finding.line is not None and finding.line <= len(lines):
                self._excerpt(lines[finding.line - 1], finding.line, finding.column)
            if finding.hint:
                self._hint(finding.hint)

    def _excerpt(self, source: str, line: int, column: int | None) -> None:
        from rye.layout import columns, cut  # only terminals see excerpts

        number = f"{line:>5} | "
        width = min(_PROSE, self.width - len(number))
        start = max(0, (column or 1) - 1 - width // 2)
        self._err(f"{number}{cut(_spaced(source[start : start + width]), width)}".rstrip(), "dim")
        if column is not None:
            before = columns(_spaced(source[start : column - 1]))
            if before < width:
                self._err(" " * (len(number) - 2) + "| " + " " * before + self._styled("^", "error"))

    def _told(
        self,
        spans: Sequence[tuple[str, str | None]],
        hang: int | None = None,
        *,
        hard: bool = False,
        wide: bool = False,
    ) -> None:
        """Print printable text on stderr, wrapped to a terminal's width."""
        with self._without_bars():
            self._print_told(spans, hang, hard=hard, wide=wide)

    def _print_told(self, spans: Sequence[tuple[str, str | None]], hang: int | None, *, hard: bool, wide: bool) -> None:
        spans = [(without_passwords(text), style) for text, style in spans]
        whole = "".join(text for text, _ in spans)
        most = self.width if wide else min(_PROSE, self.width)
        if not sys.stderr.isatty() or (whole.isascii() and whole.isprintable() and len(whole) <= most):
            click.echo(
                "".join(self._styled(text, style) for text, style in spans), err=True, color=self._color_err or None
            )
            return
        from rye.layout import flow  # only terminals have columns

        for paragraph in _paragraphs(spans):
            first = paragraph[0][0] if paragraph else ""
            indent = len(first) - len(first.lstrip(" ")) + 2 if hang is None else hang
            for line in flow(paragraph, most, indent, hard=hard):
                shown = "".join(self._styled(text, style) for text, style in line)
                click.echo(shown, err=True, color=self._color_err or None)

    def _styled(self, text: str, style: str | None) -> str:
        return click.style(text, **_STYLES[style]) if style and text and self._color_err else text  # type: ignore[arg-type]

    def _err(self, text: str, style: str | None = None) -> None:
        click.echo(self._styled(text, style) if style else text, err=True, color=self._color_err or None)

    # -- progress and questions ---------------------------------------------------------------------------------------

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar that appears after one second, and only where movement is allowed."""
        if not self.moves:
            yield lambda amount=1: None
            return
        with _DelayedBar(title, total, self._draw_bar, lambda: self.width) as bar:
            self._bars.append(bar)
            try:
                yield bar.advance
            finally:
                self._bars.remove(bar)

    def _draw_bar(self, frame: Line | None) -> None:
        """Draw a frame over the last one, or clear its line. A terminal that has gone away is no reason to stop the work."""
        shown = "".join(self._styled(text, style) for text, style in frame or ())
        with suppress(OSError, ValueError):
            if not _is_written_by(sys.stderr.encoding, shown):
                shown = shown.replace("━", "=")
            sys.stderr.write(f"\r{shown}\x1b[K")
            sys.stderr.flush()

    @contextmanager
    def _without_bars(self) -> Iterator[None]:
        """Keep progress bars off the screen while something else is shown or asked: they would be drawn over it."""
        for bar in self._bars:
            bar.hide()
        try:
            yield
        finally:
            for bar in self._bars:
                bar.show_later()

    @property
    def folds(self) -> bool:
        """Whether many things of one kind are shown as a number with examples: on a terminal, without ``--verbose``."""
        return sys.stderr.isatty() and not self.verbose

    def confirm(self, question: str, more: Mapping[str, Choice] | None = None) -> bool:
        """Ask a yes-or-no question, again after anything that is no answer. ``more``: other answers, by their letters. Call only
        when the session is interactive."""
        from rye.layout import flow  # only terminals have columns

        for show in self._kept_quiet:
            show()
        self._kept_quiet.clear()
        more = more or {}
        choices = f"[{'/'.join(['y', 'N', *more])}]"
        lines = flow([(f"{printable(question)} {choices}:", None)], min(_PROSE, self.width), 2)
        fitted = "\n".join("".join(text for text, _ in line) for line in lines).removesuffix(":")
        if more:
            self._told([(", ".join(f"{letter}: {one.meaning}" for letter, one in more.items()), "dim")])
        while True:
            with self._without_bars():
                said: str = click.prompt(fitted, default="", show_default=False, err=True).strip().lower()
            if said in ("y", "yes", "n", "no", ""):
                return said in ("y", "yes")
            if said in more:
                answer = more[said].take()
                if answer is not None:
                    return answer
            else:
                meanings = ["y: yes", "n or Enter: no", *(f"{letter}: {one.meaning}" for letter, one in more.items())]
                self._told([(f"Type one of these. {', '.join(meanings)}.", None)])

    def ask(self, question: str, *, hidden: bool = False) -> str:
        """Ask for a line of text. Call only when the session is interactive."""
        with self._without_bars():
            answer: str = click.prompt(printable(question), err=True, hide_input=hidden, default="", show_default=False)
        return answer


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 item``, ``2 items``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def printable(text: str) -> str:
    """``text`` with control and invisible characters written as ``\\u{…}``, so that an author cannot control the terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{{{ord(c):x}}}" for c in text)


def _spaced(source: str) -> str:
    """Part of a source line, as an excerpt shows it."""
    return printable(source).replace("\t", " ")


def one_line(text: str) -> str:
    """Like :func:`printable`, on one line, so that a name or a value cannot imitate a line of ours."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _paragraphs(spans: Sequence[tuple[str, str | None]]) -> list[list[tuple[str, str | None]]]:
    """Split spans at line breaks."""
    lines: list[list[tuple[str, str | None]]] = [[]]
    for text, style in spans:
        first, *more = text.split("\n")
        lines[-1].append((first, style))
        lines.extend([(part, style)] for part in more)
    return lines


def _is_written_by(encoding: str | None, text: str) -> bool:
    """Whether a stream with this encoding can write the text."""
    try:
        text.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _is_text(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8. Undecodable file names are read with surrogates, which cannot."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _DelayedBar:
    """A progress bar that is drawn only when the work takes longer than a second, and not while it is hidden."""

    def __init__(
        self, title: str, total: int | None, draw: Callable[[Line | None], None], width: Callable[[], int]
    ) -> None:
        """``draw`` shows one frame, or takes the last one off the screen; ``width`` tells the terminal's columns."""
        import threading

        self._title, self._total, self._done = title, total, 0
        self._draw, self._width = draw, width
        self._lock = threading.Lock()
        self._hidden = threading.Event()
        self._new_event = threading.Event
        self._new_thread = partial(threading.Thread, target=self._run, daemon=True)
        self._is_drawn = False
        self._begun = time.monotonic()

    def __enter__(self) -> _DelayedBar:
        self.show_later()
        return self

    def __exit__(self, *_: object) -> None:
        self.hide()

    def hide(self) -> None:
        """Take the bar off the screen, until :meth:`show_later`."""
        with self._lock:
            self._hidden.set()
            if self._is_drawn:
                self._draw(None)
            self._is_drawn = False

    def show_later(self) -> None:
        """Draw the bar in a second."""
        self._hidden = self._new_event()
        self._new_thread(args=(self._hidden,)).start()

    def _run(self, hidden: threading.Event) -> None:
        """Draw frames from when a second has passed until this showing is hidden."""
        from rye.layout import progress_line  # only terminals have columns

        pause = _BAR_SECONDS
        while not hidden.wait(pause):
            pause = _FRAME_SECONDS
            with self._lock:
                if hidden.is_set():  # while this thread waited for the lock
                    return
                seconds = time.monotonic() - self._begun
                self._draw(progress_line(self._title, self._done, self._total, seconds, self._width()))
                self._is_drawn = True

    def advance(self, amount: int = 1) -> None:
        """Move the bar by ``amount``: the next frame shows it."""
        with self._lock:
            self._done += amount
