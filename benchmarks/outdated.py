"""Time for ``rye outdated`` to find nothing new among 1,000 items while the registry's head is unchanged, with a bound.

    python benchmarks/outdated.py [--size 1000] [--rounds 7]

The client requests the head with its tag, the registry answers 304, and the client reuses the result found under the same head.
The benchmark times the whole program, and ``rye --version`` in the same round; the bound is on the difference. A proxy in between
counts requests and body bytes. The rest of the run has an unreachable registry: how long ``rye ci`` takes to continue without
it, and ``rye outdated`` to give up.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from install_tools.counting import Counting
from install_tools.packages import name_of
from install_tools.rye import PROGRAM, Rye

BOUND_SECONDS = 0.15
AWAY_SECONDS = 1.0
FAIL_SECONDS = 3.0


class Behind(Rye):
    """The project of ``install.py``, which reaches its registry through the counting server."""

    def __init__(self, base: Path, size: int, stack: ExitStack, server: Counting) -> None:
        self._server = server
        super().__init__(base, size, stack)

    def environment(self) -> dict[str, str]:
        """Let the program cache its compiled modules, as an installed one does."""
        kept = {name: value for name, value in super().environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPYCACHEPREFIX": str(self.base / "compiled")}

    def serve(self, data: Path) -> tuple[subprocess.Popen[bytes], str]:
        process, self._server.target = super().serve(data)
        return process, self._server.url


def timed_failure(tool: Behind, *command: str) -> float:
    """Run a command that must fail and return the seconds it took."""
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=tool.project, env=tool.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if done.returncode != 1:
        raise SystemExit(f"{command} exited {done.returncode}")
    return time.perf_counter() - started


def show(what: str, seconds: float, bound: float) -> None:
    print(
        f"{what:<58}{seconds:>7.3f} s   bound {bound:.2f} s   {'reached' if seconds <= bound else 'missed'}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    server = Counting()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-bench-", ignore_cleanup_errors=True))
        stack.callback(server.shutdown)
        running = stack.enter_context(ExitStack())
        tool = Behind(Path(folder), options.size, running, server)
        tool.run(*PROGRAM, "install", "--yes", "-q")
        for command in (["outdated"], ["update", "--yes"]):
            tool.run(*PROGRAM, *command)
            server.seen.clear()
            tool.run(*PROGRAM, *command)
            listed = ", ".join(f"{path} {status} ({size} bytes)" for path, status, size in server.seen)
            print(f"rye {command[0]}, nothing new: {len(server.seen)} request(s): {listed}")
        times = [
            (tool.run(*PROGRAM, "outdated"), tool.run(*PROGRAM, "--version"), tool.run(*PROGRAM, "update", "--yes"))
            for _ in range(options.rounds)
        ]
        start = median(row[1] for row in times)
        print(f"\n{options.size} items, {options.rounds} rounds, medians; start-up (rye --version) {start:.3f} s")
        show("rye outdated, nothing new, beyond start-up", median(row[0] - row[1] for row in times), BOUND_SECONDS)
        print(f"{'rye update, nothing new, beyond start-up':<58}{median(row[2] - row[1] for row in times):>7.3f} s")
        server.shutdown()
        server.server_close()
        for what in ("refuses connections", "takes connections and says nothing"):
            with ExitStack() as deaf:
                if "nothing" in what:
                    deaf.enter_context(socket.create_server(server.server_address[:2]))
                show(f"rye outdated, the registry {what}", timed_failure(tool, *PROGRAM, "outdated"), FAIL_SECONDS)
                (tool.project / f".ai/packages/acme/directives/bench/{name_of(0)}.md").unlink()
                seconds = tool.run(*PROGRAM, "ci", "-q") - start
                show(f"rye ci, the registry {what}, beyond start-up", seconds, AWAY_SECONDS)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
