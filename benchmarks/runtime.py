"""How long a permitted ``rye_load`` takes, from decision to text, with its line in the log on disk: at most 5 ms beyond the
disk's own flush.

A project has 200 signed knowledge entries of its own, and one run loads each of them in turn. The flush alone is measured on the
same disk in the same run, since a laptop and a server can differ by a factor of a hundred there. Run: ``python
benchmarks/runtime.py``.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from threading import Event

from rye.runtime.effects import ToolResult, UsableItem
from rye.runtime.opening import open_session
from rye.storage.home import Home
from rye.workspace.authoring.new_item import NewItem, write_new_item
from rye.workspace.authoring.signing import sign_items
from rye.workspace.context import LibraryContext
from rye.workspace.trusting.own_keys import OwnKeys

ITEMS, ROUNDS = 200, 3
BOUND_MS = 5.0


class NoTools:
    """Tools that must not be used: loading does not need any."""

    def check(self, item: UsableItem) -> None:
        raise AssertionError("nothing is executed here")

    def run(self, item: UsableItem, parameters: bytes, seconds: float | None, cancel: Event) -> ToolResult:
        raise AssertionError("nothing is executed here")


def flush_ms(folder: Path) -> float:
    """The median of one small write with its flush."""
    times = []
    with (folder / "flushed").open("wb", buffering=0) as stream:
        for _ in range(100):
            started = time.perf_counter()
            stream.write(b"x" * 700)
            os.fdatasync(stream.fileno())
            times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rye-benchmark-") as base:
        home = Home(*(Path(base, "home", name) for name in ("config", "data", "cache")))
        project = Path(base, "project")
        project.mkdir()
        (project / "rye.toml").write_text('[project]\nname = "bench"\nnamespace = "acme"\n')
        context = LibraryContext(cwd=project, home=home)
        keys = OwnKeys(context, lambda question: "")
        keys.generate("default", seal=False)
        for number in range(ITEMS):
            write_new_item(context, NewItem("knowledge", f"notes/n{number}"))
        sign_items(context, keys, ())
        opened = open_session(context, None, lambda items: NoTools())
        calls = [{"item_type": "knowledge", "item_id": f"acme/notes/n{number}"} for number in range(ITEMS)]
        opened.session.act("rye_load", calls[0])
        times = []
        for call in calls * ROUNDS:
            started = time.perf_counter()
            opened.session.act("rye_load", call)
            times.append((time.perf_counter() - started) * 1000)
        flush = flush_ms(project)
        opened.session.close()
    median, p95 = statistics.median(times), statistics.quantiles(times, n=20)[-1]
    print(f"rye_load of {ITEMS} items, {len(times)} calls: median {median:.2f} ms, p95 {p95:.2f} ms")
    print(
        f"one flush of this disk: {flush:.2f} ms; without it {max(median - flush, 0):.2f} ms (bound: {BOUND_MS:.0f} ms)"
    )


if __name__ == "__main__":
    main()
