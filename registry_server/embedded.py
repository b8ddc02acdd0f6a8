"""A registry on this machine, started as its own process: for ``rye registry serve``, ``rye demo`` and tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from rye.errors import RyeError

START_SECONDS = 30.0


def start_embedded(data: Path, *, port: int = 0, arguments: Sequence[str] = ()) -> tuple[subprocess.Popen[bytes], str]:
    """Serve the registry in ``data`` on loopback; returns the process and its address once it answers.

    ``port`` 0: a free one. The server's log goes to ``server.log`` in the data folder. Raises RyeError ``no-registry``,
    or ``registry-not-started`` with the server's own output. Stop it with :func:`stop_embedded`.
    """
    with tempfile.TemporaryDirectory(prefix="rye-registry-") as folder:
        ready, said = Path(folder, "ready.json"), data / "server.log"
        try:
            log = said.open("ab")
        except OSError as error:
            hint = f"Create a registry first: rye-registry init --data {data} --origin NAME"
            raise RyeError("no-registry", f"{data} holds no registry: {error.strerror}.", hint) from error
        with log:
            before = log.tell()
            process = launch(
                [
                    *(
                        sys.executable,
                        "-P",
                        "-m",
                        "registry_server.cli",
                        "serve",
                        "--data",
                        str(data),
                        "--host",
                        "127.0.0.1",
                    ),
                    *("--port", str(port), "--ready-file", str(ready), *arguments),
                ],
                log,
            )
        deadline = time.monotonic() + START_SECONDS
        try:
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    stop_embedded(process)  # its last words are in the log now
                    with said.open("rb") as written:
                        written.seek(before)
                        words = written.read(4000).decode("utf-8", "replace").strip()
                    raise RyeError(
                        "registry-not-started", f"The registry did not start: {words or 'no message'}", f"See {said}"
                    )
                time.sleep(0.01)
            return process, str(json.loads(ready.read_text("utf-8"))["url"])
        except BaseException:  # Ctrl-C as well: nothing else knows the process yet
            stop_embedded(process)
            raise


def launch(words: Sequence[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a program with its output going to ``log`` and no input."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)


def stop_embedded(process: subprocess.Popen[bytes], seconds: float = 15.0) -> None:
    """Stop the server: ask, then kill after ``seconds``. Publishes that were answered are safe either way."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
