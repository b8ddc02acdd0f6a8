"""The cost of pages: item pages per second from one server process, their sizes, and how much readers and searches slow down
publishers.

    python benchmarks/pages.py [--items 200] [--readers 16] [--searchers 32] [--rounds 3] [--each 2000]
                               [--publishers 2] [--beside]

A page is requested as a browser requests it, over a connection that stays open. Four kinds of pages are measured:

* *unread*: requested right after the publish, when the server may not have analysed every release yet;
* *new*: analysed, but not viewed since the server started;
* *first*: built before, requested for the first time after a publish changed the head;
* *kept*: already requested since the head changed.

Then two publishers, or as many as are given, publish alone and while the readers read, in turns, and the same with searches.
The median of the rounds counts. ``--beside`` measures only that. Each figure comes with its bound and with pages per second of
the server's processor time, which other programs on the machine affect less.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from publish_tools.peer import LOAD, Measured, measure
from publish_tools.registry import Registry, letters

BOUND_PAGES = 500
BOUND_BYTES = 50_000
BOUND_BESIDE = 1.5
"""The maximum ratio by which readers may slow down a publish."""
PUBLISHES = 20
"""By each publisher in a round."""
SEARCHES = [f"/api/v1/search?q={words}" for words in ("benchmark", "item+publishes", "benchmark+item", "publ")]
MOST_SECONDS = 60
"""Time limit for the readers next to the publishers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--readers", type=int, default=16)
    parser.add_argument("--searchers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=2000, help="pages in a round, over all readers")
    parser.add_argument("--publishers", type=int, default=2)
    parser.add_argument("--beside", action="store_true", help="measure only publishing beside readers and searches")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder, ExitStack() as stack:
        registry = Registry("rye", Path(folder, "rye"), stack, 16, {})
        measure(registry, "p", 4, options.items // 4)
        paths = _paths(registry, "p", options.items)
        _sizes(registry.url, paths)
        _read(registry.url, paths, options.readers, len(paths))
        if not options.beside:
            _rates(registry, paths, options)
        _beside(registry, "page readers", paths, options.readers, options)
        _beside(registry, "searches", SEARCHES, options.searchers, options)


def _rates(registry: Registry, paths: list[str], options: argparse.Namespace) -> None:
    found: dict[str, list[tuple[float, float]]] = {"unread": [], "new": [], "first": [], "kept": []}
    for number in range(options.rounds):
        new, unread = (_published(registry, f"{words}{letters(number)}", options.items) for words in ("n", "u"))
        found["unread"].append(_timed(registry, unread, options.readers, len(unread)))
        _wait_for_analyses(registry.data, options.items * (2 * number + 3))
        found["first"].append(_timed(registry, paths, options.readers, len(paths)))
        found["kept"].append(_timed(registry, paths, options.readers, options.each))
        registry.restart()
        _read(registry.url, paths, options.readers, len(paths))  # load what every page needs
        found["new"].append(_timed(registry, new, options.readers, len(new)))
    for words, rates in found.items():
        rate, by_cpu = (statistics.median(each) for each in zip(*rates, strict=True))
        print(
            f"item pages, {words:<6} {rate:>7.0f}/s   {rate / BOUND_PAGES:>6.2f} of the bound of {BOUND_PAGES}/s"
            f"   {by_cpu:>7.0f} per second of processor time"
        )


def _published(registry: Registry, label: str, count: int) -> list[str]:
    measure(registry, label, 4, count // 4)
    return _paths(registry, label, count)


def _wait_for_analyses(data: Path, count: int) -> None:
    """Wait until the server has stored so many analyses."""
    until = time.monotonic() + MOST_SECONDS
    while (stored := sum(1 for _ in (data / "analyses").glob("*/*"))) < count:
        if time.monotonic() > until:
            raise SystemExit(f"the server stored {stored} analyses of {count}")
        time.sleep(0.2)


def _timed(registry: Registry, paths: list[str], readers: int, count: int) -> tuple[float, float]:
    """Pages per second, and per second of the server's processor time."""
    before = registry.cpu_seconds()
    rate = _read(registry.url, paths, readers, count)
    return rate, count / max(registry.cpu_seconds() - before, 0.01)


def _paths(registry: Registry, label: str, count: int) -> list[str]:
    names = ((registry._of(number).namespace, letters(number)) for number in range(count))
    return [f"/-/directive/{namespace}/{label}/{name}" for namespace, name in names]


def _sizes(url: str, paths: list[str]) -> None:
    pages = {
        "the first page": "/",
        "an item": paths[0],
        "a search": "/-/search?q=item",
        "the log": "/-/log",
        "an entry": "/-/log/20",
        "a namespace": f"/-/namespaces/{paths[0].split('/')[3]}",
        "signing in": "/-/account",
    }
    with httpx.Client(base_url=url, headers={"Accept": "text/html"}) as client:
        for words, path in pages.items():
            answer = client.get(path)
            if answer.status_code != 200:
                raise SystemExit(f"{path} answered {answer.status_code}")
            size = len(answer.content)
            print(f"{words:<15} {size:>7,} bytes   {size / BOUND_BYTES:>6.2f} of the bound of {BOUND_BYTES:,}")


def _plan(url: str, paths: list[str], readers: int, each: int) -> dict[str, object]:
    address = urlsplit(url)
    requests = [
        base64.b64encode(
            f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAccept: text/html\r\n\r\n".encode()
        ).decode()
        for path in paths
    ]
    plans = [
        [[requests[(reader * each + number) % len(requests)]] for number in range(each)] for reader in range(readers)
    ]
    return {"host": address.hostname, "port": address.port, "publishers": plans}


def _read(url: str, paths: list[str], readers: int, count: int) -> float:
    """Pages per second."""
    each = max(count // readers, 1)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(_plan(url, paths, readers, each), file)
        file.flush()
        done = subprocess.run([sys.executable, str(LOAD), file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"pages were not answered: {done.stderr[-2000:]}")
    return each * readers / float(json.loads(done.stdout)["seconds"])


def _beside(registry: Registry, who: str, paths: list[str], readers: int, options: argparse.Namespace) -> None:
    alone: list[Measured] = []
    beside: list[Measured] = []
    for number in range(options.rounds):
        alone.append(measure(registry, f"alone{who[0]}{letters(number)}", options.publishers, PUBLISHES))
        with _reading(registry.url, paths, readers):
            beside.append(measure(registry, f"beside{who[0]}{letters(number)}", options.publishers, PUBLISHES))
    p50 = [statistics.median(one.p50 for one in found) * 1000 for found in (alone, beside)]
    print(f"publishing by {options.publishers:>2} alone           p50 {p50[0]:>6.1f} ms")
    ratio = p50[1] / p50[0]
    print(
        f"publishing with {readers:>2} {who:<12}   p50 {p50[1]:>6.1f} ms   {ratio:>6.2f} times as long, "
        f"{ratio / BOUND_BESIDE:.2f} of the bound of {BOUND_BESIDE} times"
    )


@contextmanager
def _reading(url: str, paths: list[str], readers: int) -> Iterator[None]:
    """Run readers that read as fast as they can until the block ends."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({**_plan(url, paths, readers, MOST_SECONDS * 1000 // readers), "busy": True}, file)
        file.flush()
        process = subprocess.Popen([sys.executable, str(LOAD), file.name], stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            yield
            if process.poll() is not None:
                raise SystemExit("the readers ended before the publishers did")
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main()
