"""A progress bar appears while nothing else is shown, and never over a question or a message."""

from __future__ import annotations

import io
import sys
import time

import click
import pytest

from rye.cli import console as module
from rye.cli.console import Console
from rye.layout import columns, progress_line


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True

    def waits_for(self, text: str) -> bool:
        """Whether the text appears within some seconds."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if text in self.getvalue():
                return True
            time.sleep(0.01)
        return False

    def is_still(self) -> bool:
        """Whether nothing is written for several frames of a bar."""
        before = self.getvalue()
        time.sleep(0.35)
        return self.getvalue() == before


def terminal(monkeypatch: pytest.MonkeyPatch) -> tuple[Console, Screen]:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(module, "_BAR_SECONDS", 0.02)
    environment = {"TERM": "xterm"}
    return Console(json=False, quiet=False, verbose=0, color="never", progress=True, environment=environment), screen


def test_no_bar_is_drawn_over_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    still: list[bool] = []

    def asked(text: str, **_: object) -> str:
        screen.write(text)
        still.append(screen.is_still())
        return "y"

    monkeypatch.setattr(click, "prompt", asked)
    with console.progress("resolving"):
        assert screen.waits_for("resolving")
        assert console.confirm("Contact it?")
        shown = len(screen.getvalue())
        until = time.monotonic() + 10
        while "resolving" not in screen.getvalue()[shown:] and time.monotonic() < until:
            time.sleep(0.01)
        assert "resolving" in screen.getvalue()[shown:], "it comes back after the answer"
    assert still == [True]


def test_no_bar_appears_while_a_question_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: str(screen.is_still()))
    with console.progress("resolving"):
        assert console.ask("Passphrase") == "True"


def test_a_message_stands_on_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    with console.progress("fetching", 3) as advance:
        advance()
        assert screen.waits_for("fetching")
        console.warn("It is slow.")
        before = screen.getvalue()
    assert "warning: It is slow.\n" in before
    assert "fetching" not in before[before.index("warning:") :]


def test_nothing_is_drawn_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    with console.progress("fetching"):
        pass
    assert screen.is_still()
    assert screen.getvalue() == ""


def test_the_bar_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    with console.progress("fetching", 4) as advance:
        advance(2)
        assert screen.waits_for(" 50 %")
    assert screen.getvalue().endswith("\r\x1b[K")
    assert "\n" not in screen.getvalue()


def test_a_terminal_that_cannot_write_the_bar_s_character_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    console, screen = terminal(monkeypatch)
    monkeypatch.setattr(Screen, "encoding", "ascii")
    with console.progress("fetching", 2) as advance:
        advance()
        assert screen.waits_for("=====")
    assert screen.getvalue().isascii()


@pytest.mark.parametrize("width", [20, 30, 80, 200])
@pytest.mark.parametrize("total", [None, 0, 1, 7])
def test_every_frame_fits_on_one_line(width: int, total: int | None) -> None:
    for tenths in range(400):
        line = "".join(
            text for text, _ in progress_line("asking the registries", tenths % 9, total, tenths / 10, width)
        )
        assert columns(line) < width


def test_a_bar_shows_its_part_and_the_time() -> None:
    def shown(done: int, total: int | None, seconds: float) -> str:
        return "".join(text for text, _ in progress_line("fetching", done, total, seconds, 80))

    assert shown(0, 4, 1.2) == f"fetching {' ' * 40}   0 % 1 s"
    assert shown(1, 4, 1.2) == f"fetching {'━' * 10}{' ' * 30}  25 % 1 s"
    assert shown(9, 4, 61) == f"fetching {'━' * 40} 100 % 61 s"
    assert shown(3, None, 0) == f"fetching {'━' * 10}{' ' * 30} 0 s"
    assert shown(3, None, 1) == f"fetching {' ' * 20}{'━' * 10}{' ' * 10} 1 s"
    assert shown(3, None, 2) == f"fetching {' ' * 20}{'━' * 10}{' ' * 10} 2 s", "on the way back"
