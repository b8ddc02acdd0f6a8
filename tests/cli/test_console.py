"""Text by authors and registries never controls a terminal, and programs get data byte for byte."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from rye.cli.console import Choice, Console
from tests.scenes.person import Person

HOSTILE = "a\x1b[2Jb\x9b1mc\u202ed\u2028e\rf"
ESCAPED = r"a\u{1b}[2Jb\u{9b}1mc\u{202e}d\u{2028}e\u{d}f"


class Screen(io.StringIO):
    def __init__(self, terminal: bool):
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def console(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, color: str = "never") -> tuple[Console, Screen]:
    screen = Screen(terminal)
    monkeypatch.setattr(sys, "stdout", screen)
    return Console(json=False, quiet=False, verbose=0, color=color, progress=False, environment={}), screen


def test_a_terminal_gets_hostile_text_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    made, screen = console(monkeypatch, terminal=True)
    made.data(HOSTILE)
    assert screen.getvalue() == ESCAPED + "\n"


def test_a_program_gets_data_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    made, screen = console(monkeypatch, terminal=False)
    text = "zero\u200dwidth \u202e and\u2028 lines\r"
    made.data(text, newline=False)
    assert screen.getvalue() == text


@pytest.mark.parametrize("terminal", [True, False])
def test_a_cell_never_leaves_its_place(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    made, screen = console(monkeypatch, terminal=terminal)
    made.table([[HOSTILE, "x\ty\nz"]], ["ONE", "TWO"])
    rows = screen.getvalue().splitlines()
    assert len(rows) == (2 if terminal else 1)
    assert rows[-1].startswith(ESCAPED)
    assert rows[-1].endswith("x y z")
    assert "\x1b" not in screen.getvalue()


def test_styles_pass_and_what_poses_as_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    made, screen = console(monkeypatch, terminal=True, color="always")
    made.data(made.style("good \x1b[8mhidden", "ok") + " \x1b[31mred\x1b[0m \0ok\0plain")
    shown = screen.getvalue()
    assert shown.startswith("\x1b[32mgood " + r"\u{1b}[8mhidden" + "\x1b[0m")
    assert shown.count("\x1b") == 2
    assert r"\u{1b}[31mred" in shown
    assert r"\u{0}ok\u{0}plain" in shown


def test_without_colour_a_style_is_the_text_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    made, screen = console(monkeypatch, terminal=False)
    made.data(made.style("text", "error"))
    assert screen.getvalue() == "text\n"


def test_an_authors_text_never_starts_at_the_left_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise whitespace that counts as printable would push a forged line to where ours begin."""
    screen = Screen(terminal=True)
    monkeypatch.setattr(sys, "stderr", screen)
    made = Console(json=False, quiet=False, verbose=0, color="never", progress=False, environment={"COLUMNS": "60"})
    made.tell(("      runs x" + "\u2800" * 54 + "+\u2800directive:acme/trusted\u28001.0.0\u2800signed", "warning"))
    first, *more = screen.getvalue().splitlines()
    assert first == "      runs"
    assert more
    assert all(line.startswith("        ") for line in more)
    assert all(len(line) <= 60 for line in (first, *more))


def test_a_pipe_gets_each_line_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(terminal=False)
    monkeypatch.setattr(sys, "stdout", screen)
    made = Console(json=False, quiet=False, verbose=0, color="never", progress=False, environment={"COLUMNS": "60"})
    made.line(("error:", "error"), " word" * 40)
    made.table([["x" * 50, "y" * 50]], ["ONE", "TWO"])
    assert screen.getvalue() == f"error:{' word' * 40}\n{'x' * 50}\t{'y' * 50}\n"


@pytest.mark.parametrize(
    ("typed", "answer", "shown", "told"),
    [
        ("y\n", True, 0, 0),
        ("\n", False, 0, 0),
        ("maybe\ny\n", True, 0, 1),
        ("?\nd\nx\nn\n", False, 1, 2),
    ],
)
def test_what_is_no_answer_is_answered_with_what_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, answer: bool, shown: int, told: int
) -> None:
    made, _ = console(monkeypatch, terminal=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    texts: list[str] = []
    more = {"d": Choice("show the texts", lambda: texts.append("shown"))}
    assert made.confirm("Install this?", more) is answer
    assert len(texts) == shown
    said = "Type one of these. y: yes, n or Enter: no, d: show the texts.\n"
    assert capsys.readouterr().err.count(said) == told


@pytest.mark.processes
def test_a_question_with_two_answers_names_both_on_a_real_terminal(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("keys", "generate")
    rye.ok("keys", "export", "-o", "own.pem")
    shown = rye.terminal("trust", "add", "own.pem", answer=b"sure\ny\n")
    assert "Type one of these. y: yes, n or Enter: no.\n" in shown
    assert "invalid input" not in shown
    assert shown.count("Trust what this key signs?") == 2
