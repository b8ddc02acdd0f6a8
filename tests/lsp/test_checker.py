"""The process that checks texts: abandoned when it takes too long, restarted when it dies, stopped with the server."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.items.directive.template import template
from rye.limits import EDITOR
from rye.lsp import checker
from rye.lsp.checker import Checker
from tests.items.finished import finished

pytestmark = pytest.mark.processes
SHIP = finished(template("ship", "work", "me"))


async def ask(one: Checker, folder: Path, text: str) -> list[str]:
    path = folder / ".ai/directives/work/ship.md"
    return [found.code for found in await one.ask(path, text, lambda: True)]


def test_a_process_that_ended_is_started_again(tmp_path: Path) -> None:
    async def play() -> None:
        one = Checker()
        try:
            assert await ask(one, tmp_path, SHIP) == []
            assert one._process is not None
            os.kill(one._process.pid, signal.SIGKILL)
            one._process.wait(10)
            assert await ask(one, tmp_path, SHIP.replace("{input:subject}", "{input:x}")) == ["D080", "D080"]
            process = one._process
            assert await one.ask(tmp_path / "x.md", SHIP, lambda: False) == ()
        finally:
            one.stop()
        assert one._process is None
        assert process.poll() is not None

    asyncio.run(play())


def test_a_text_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "EDITOR", replace(EDITOR, check_seconds=0.5))
    monkeypatch.setattr(checker, "_WORKER", "import time; time.sleep(60)")

    async def play() -> None:
        one = Checker()
        try:
            assert await ask(one, tmp_path, SHIP) == ["unchecked"]
        finally:
            one.stop()

    asyncio.run(play())
