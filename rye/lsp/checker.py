"""Checks texts in a separate process, so that the server stays responsive and a check can be aborted.

The process reads questions from standard input and writes answers to standard output until the input ends, for example because
the server exits. A question is the path and the text, each after its length; an answer is JSON after its length.

The error in a rye.toml has a position, too: the parser's message names the line or the key.
"""

from __future__ import annotations

import asyncio
import os
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import msgspec

from rye.errors import RyeError
from rye.limits import EDITOR
from rye.project.manifest import parse_manifest
from rye.text.diagnostics import Diagnostic
from rye.text.json_reading import UNDECODABLE
from rye.workspace.authoring.validating import Members, validate_text

_LENGTH = struct.Struct(">Q")
_WORKER = "from rye.lsp.checker import work; work()"


def check(path: Path, text: str, members: Members) -> tuple[Diagnostic, ...]:
    """Return the findings of a text, as `rye validate` would report them for a file with this text."""
    if path.name == "rye.toml":
        return manifest_findings(text)
    try:
        checked = validate_text(path, text, members)
    except RyeError as error:
        return (Diagnostic("error", error.code, error.message, hint=error.hint),)
    return checked.diagnostics if checked is not None else ()


class Checker:
    """The checking process. It starts with the first question, and again after a question that killed it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        """Waits for the process. Unlike asyncio's subprocesses, a thread does not outlive the event loop."""

    async def ask(self, path: Path, text: str, wanted: Callable[[], bool]) -> tuple[Diagnostic, ...]:
        """Return the findings of a text. If the check takes too long or kills the process, that is the only finding.

        ``wanted``: whether the findings are still needed when earlier checks are done; if not, returns none.
        """
        async with self._turn:
            if not wanted():
                return ()
            loop = asyncio.get_running_loop()
            limit = loop.call_later(EDITOR.check_seconds, self._kill)
            try:
                return await loop.run_in_executor(self._thread, self._ask, path, text)
            except (EOFError, OSError, *UNDECODABLE):
                self._end()
                message = "The text could not be checked: the check took too long, or a parser failed."
                return (Diagnostic("error", "unchecked", message, hint="Simplify the text."),)
            finally:
                limit.cancel()

    def _ask(self, path: Path, text: str) -> tuple[Diagnostic, ...]:
        if self._process is None or self._process.poll() is not None:
            # -P: never import a module from the folder that an editor opened.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        for part in (os.fsencode(path), text.encode("utf-8", "surrogatepass")):
            stdin.write(_LENGTH.pack(len(part)) + part)
        stdin.flush()
        (length,) = _LENGTH.unpack(_exactly(stdout, _LENGTH.size))
        return msgspec.json.decode(_exactly(stdout, length), type=tuple[Diagnostic, ...])

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """Kill the process."""
        self._kill()
        self._thread.shutdown(cancel_futures=True)
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    """Read exactly ``size`` bytes. Raises EOFError if the process ended."""
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def work() -> None:
    """Answer questions until there are no more."""
    stream, out = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep other output away from the answers
    members: Members = {}
    while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
        path = os.fsdecode(stream.read(*_LENGTH.unpack(head)))
        text = stream.read(*_LENGTH.unpack(stream.read(_LENGTH.size))).decode("utf-8", "surrogatepass")
        answer = msgspec.json.encode(check(Path(path), text, members))
        out.write(_LENGTH.pack(len(answer)) + answer)
        out.flush()


_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"|\[([A-Za-z][\w.-]*)\]")


def manifest_findings(text: str) -> tuple[Diagnostic, ...]:
    """Return the error of a manifest, if it has one; the parser stops at the first."""
    try:
        parse_manifest(text.replace("\r\n", "\n"))
    except RyeError as error:
        line, column = _place(text, error.message)
        message = error.message.removeprefix("rye.toml: ")
        return (Diagnostic("error", error.code, message, line, column, error.hint),)
    return ()


def _place(text: str, message: str) -> tuple[int | None, int | None]:
    said = _PLACE.search(message)
    if said is not None:
        return int(said[1]), int(said[2])
    plain = text.replace("\r\n", "\n").removeprefix("\ufeff")
    words = [next(filter(None, groups)) for groups in _QUOTED.findall(message)]
    for word in words:
        found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", plain)
        if found is not None:
            return plain.count("\n", 0, found.start()) + 1, found.start() - plain.rfind("\n", 0, found.start())
    return None, None
