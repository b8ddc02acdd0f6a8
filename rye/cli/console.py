"""Output: data on stdout, everything else on stderr.

With ``--json``, stdout carries exactly one document. Colour and movement appear only on a terminal, and never with
``NO_COLOR``, ``CI`` or ``TERM=dumb`` (DESIGN §9). rich is imported only when a bar is really drawn.

Text from authors and registries must not control the terminal: on a terminal, everything that is not printable is
escaped. Elsewhere data goes out byte for byte, because programs read it. Table cells are escaped everywhere, so that a row
stays one row. Styles travel through text as marks that no other text can contain: they hold a number drawn for this run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

if TYPE_CHECKING:
    from rye.errors import RyeError
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


class Advance(Protocol):
    """Advance a progress bar by an amount."""

    def __call__(self, amount: int = 1) -> None: ...


class Console:
    """Prints text, tables and documents, whatever they are about."""

    def __init__(self, *, json: bool, quiet: bool, verbose: int, color: str, progress: bool) -> None:
        self.json = json
        self.quiet = quiet
        self.verbose = verbose
        dumb = os.environ.get("TERM") == "dumb" or bool(os.environ.get("CI"))
        plain = bool(os.environ.get("NO_COLOR")) or dumb
        self._color_out = color == "always" or (color == "auto" and not plain and sys.stdout.isatty())
        self._color_err = color == "always" or (color == "auto" and not plain and sys.stderr.isatty())
        self.moves = progress and not quiet and not dumb and sys.stderr.isatty()
        self.on_terminal = sys.stdout is not None and sys.stdout.isatty()
        self._mark_out = f"\0{os.urandom(8).hex()}:"
        self.is_interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

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

    def table(
        self, rows: Sequence[Sequence[str]], header: Sequence[str], styles: Sequence[str | None] | None = None
    ) -> None:
        """Print columns: on a terminal with a header, elsewhere tab-separated without one, so that programs can cut them.
        Prints nothing without rows.

        ``styles``: one for each row, used on a terminal.
        """
        if self.json or not rows:
            return
        safe = [[printable(cell).replace("\t", " ").replace("\n", " ") for cell in row] for row in rows]
        if not self.on_terminal:
            for row in safe:
                click.echo("\t".join(row))
            return
        widths = [max(len(cell) for cell in column) for column in zip(header, *safe, strict=True)]
        for number, row in enumerate([list(header), *safe]):
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            style = "dim" if number == 0 else styles[number - 1] if styles is not None else None
            self.data(self.style(line, style) if style else line)

    # -- stderr: everything else --------------------------------------------------------------------------------------

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a notice; silent with ``--quiet`` and in JSON mode."""
        if not self.quiet and not self.json:
            self._err(printable(text), style)

    def detail(self, text: str, level: int = 1) -> None:
        """Print a line that is shown only with ``-v`` (level 1) or ``-vv`` (level 2)."""
        if self.verbose >= level and not self.json:
            self._err(printable(text), "dim")

    def warn(self, text: str, hint: str | None = None) -> None:
        """Print a warning, even with ``--quiet``; on stderr, so that JSON stays one document."""
        self._err(f"{self._mark('warning')} {printable(text)}")
        if hint:
            self._err(f"  {self._mark('hint')} {printable(hint)}")

    def error(self, error: RyeError) -> None:
        """Print an error: what failed, why, and the next command."""
        if self.json:
            self.document(error.as_json())
            return
        self._err(f"{self._mark('error')} {printable(error.message)}")
        if error.hint:
            for number, line in enumerate(printable(error.hint).split("\n")):
                self._err(f"  {self._mark('hint') if number == 0 else '     '} {line}")
        elif sys.stderr.isatty() and not self.quiet:
            self.explained_by(error.code)

    def explained_by(self, code: str) -> None:
        """Point to ``rye explain``, for a message without a next command."""
        self._err(f"  `rye explain {code}` says what it means and what to do.", "dim")

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
            head = self._styled(f"{finding.severity}[{finding.code}]", finding.severity)
            self._err(f"{place}: {head}: {printable(finding.message)}")
            if lines is not None and finding.line is not None and finding.line <= len(lines):
                self._excerpt(lines[finding.line - 1], finding.line, finding.column)
            if finding.hint:
                self._err(f"  {self._mark('hint')} {printable(finding.hint)}")

    def _excerpt(self, source: str, line: int, column: int | None) -> None:
        width = 100
        start = max(0, (column or 1) - 1 - width // 2)
        number = f"{line:>5}"
        self._err(f"{number} | {printable(source[start : start + width]).replace(chr(9), ' ')}", "dim")
        if column is not None:
            before = len(printable(source[start : column - 1]))
            self._err(" " * len(number) + " | " + " " * before + self._styled("^", "error"))

    def _mark(self, kind: str) -> str:
        return self._styled(f"{kind}:", kind)

    def _styled(self, text: str, style: str) -> str:
        return click.style(text, **_STYLES[style]) if self._color_err else text  # type: ignore[arg-type]

    def _err(self, text: str, style: str | None = None) -> None:
        click.echo(self._styled(text, style) if style else text, err=True, color=self._color_err or None)

    # -- progress and questions ---------------------------------------------------------------------------------------

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Advance]:
        """A progress bar that appears after one second, and only where movement is allowed."""
        if not self.moves:
            yield lambda amount=1: None
            return
        with _DelayedBar(title, total) as bar:
            yield bar.advance

    def confirm(self, question: str) -> bool:
        """Ask a yes-or-no question. Call only when the session is interactive."""
        return click.confirm(printable(question), default=False, err=True)

    def ask(self, question: str, *, hidden: bool = False) -> str:
        """Ask for a line of text. Call only when the session is interactive."""
        answer: str = click.prompt(printable(question), err=True, hide_input=hidden, default="", show_default=False)
        return answer


def printable(text: str) -> str:
    """``text`` with control and invisible characters written as ``\\u{…}``, so that an author cannot control the terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\u{{{ord(c):x}}}" for c in text)


def one_line(text: str) -> str:
    """Like :func:`printable`, on one line, so that a name or a value cannot imitate a line of ours."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


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
    """A rich progress bar that is drawn only when the work takes longer than a second."""

    def __init__(self, title: str, total: int | None) -> None:
        import threading

        self._title, self._total, self._done = title, total, 0
        self._lock = threading.Lock()
        self._timer = threading.Timer(1.0, self._draw)
        self._timer.daemon = True
        self._bar: object | None = None

    def __enter__(self) -> _DelayedBar:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            if self._bar is not None:
                self._bar.stop()  # type: ignore[attr-defined]

    def _draw(self) -> None:
        from rich.console import Console as RichConsole
        from rich.progress import Progress

        with self._lock:
            bar = Progress(console=RichConsole(stderr=True), transient=True)
            self._task = bar.add_task(self._title, total=self._total, completed=self._done)
            bar.start()
            self._bar = bar

    def advance(self, amount: int = 1) -> None:
        """Move the bar by ``amount``; draws it once a second has passed."""
        with self._lock:
            self._done += amount
            if self._bar is not None:
                self._bar.update(self._task, completed=self._done)  # type: ignore[attr-defined]
