"""Running cases against a client: the results, and what a client's processes are asked."""

from __future__ import annotations

import json
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from conformance.play import Case, Client, Failed, Play, Reply, Request
from conformance.simulator.server import Server

SECONDS = 10.0
"""How long a client may take for one answer."""


@dataclass(frozen=True)
class Result:
    """What a client did in one case. ``skipped``: it lacks the feature of this name."""

    case: Case
    actual: str
    seconds: float
    failure: str | None = None
    skipped: str | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None and self.skipped is None


def run(
    cases: Iterable[Case], client: Client, without: Iterable[str] = (), told: Callable[[Result], None] | None = None
) -> list[Result]:
    """Play the cases one after the other. ``without``: features that the client lacks."""
    lacking = frozenset(without)
    results = []
    with Server() as server, tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for number, case in enumerate(cases):
            result = play_one(case, client, server, Path(folder), f"c{number}", lacking)
            results.append(result)
            if told is not None:
                told(result)
    return results


def play_one(
    case: Case, client: Client, server: Server, folder: Path, prefix: str, lacking: frozenset[str] = frozenset()
) -> Result:
    missing = sorted(case.needs & lacking)
    if missing:
        return Result(case, "skipped", 0.0, skipped=missing[0])
    play = Play(case, client, server, folder, prefix)
    started = time.monotonic()
    failure = None
    try:
        case.play(play)
    except Failed as error:
        failure = str(error)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        failure = f"an answer does not have the form that CONTRACT.md gives it ({error!r}): {str(play.answered)[:300]}"
    return Result(case, play.actual, time.monotonic() - started, failure)


class Process:
    """A client under test as a process that answers line by line. It is started again after it died."""

    def __init__(self, command: Sequence[str], *, each: bool = False) -> None:
        """``each``: a process of its own for every request."""
        self._command = list(command)
        self._each = each
        self._running: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        process, self._running = self._running, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):  # what a client that died has not read is still waiting to be sent
            process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def __call__(self, request: Request) -> Reply:
        if self._running is None:
            self._running = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            return self._asked(self._running, request)
        except (OSError, ValueError) as error:
            self._running.kill()
            self.stop()
            raise Failed(f"the client gave no answer: {error}") from error
        finally:
            if self._each:
                self.stop()

    def _asked(self, process: subprocess.Popen[bytes], request: Request) -> Reply:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        if self._each:
            process.stdin.close()
        received = b""
        deadline = time.monotonic() + SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not received.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ValueError(f"nothing within {SECONDS:.0f} seconds")
                part = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                if not part:
                    raise ValueError("it ended")
                received += part
        reply = json.loads(received)
        if not isinstance(reply, dict):
            raise ValueError("its answer is not a JSON object")
        return reply
