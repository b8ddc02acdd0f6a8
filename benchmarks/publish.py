"""How many publishes per second a registry handles, and the cost of one as the registry grows; with verdaccio, in one run.

    python benchmarks/publish.py [--publishers 1,8,32] [--rounds 3] [--each 100] [--sizes 1000,10000,100000]
                                 [--postgresql] [--s3] [--delay 15]

Each publisher sends the next item after the answer to the previous one. Requests are built and signed before the clock starts,
and a separate process sends them. Each publish is one request. Ours, as `rye publish` sends a small item, carries the file and
the signed statement and ends with a signed head on disk; verdaccio's has a JSON web token, and verdaccio does not wait for the
disk. The peers take turns within each round, and each finishes what it does behind its answers; the median of the rounds
counts. ``cpu`` is the server's processor time for one publish, including its worker processes.

``--postgresql`` and ``--s3`` add registries with PostgreSQL (from the test suite's wheel) and with a bucket: an S3 service in
memory, each of whose answers takes ``--delay`` milliseconds. On a busy machine only ratios mean something.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from install_tools.tool import answer_of, on_path
from install_tools.verdaccio import Unavailable, Verdaccio
from publish_tools.npm_registry import NpmRegistry
from publish_tools.peer import Measured, Peer, let_finish, measure
from publish_tools.registry import Registry
from publish_tools.stores import bucket, postgresql

NAMES = 1000
"""Names in a registry before the measurement."""
ALONE = 20
"""Consecutive publishes of one publisher when comparing sizes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--publishers", default="1,8,32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=100, help="publishes in a round, over all publishers")
    parser.add_argument("--sizes", default="1000,10000,100000", help="names; empty: do not compare sizes")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--s3", action="store_true")
    parser.add_argument("--delay", type=float, default=15.0, help="milliseconds that each request to the bucket takes")
    options = parser.parse_args()
    crowds = [int(number) for number in options.publishers.split(",")]
    with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder, ExitStack() as stack:
        peers = _peers(Path(folder), stack, options)
        for peer in peers:
            measure(peer, "warm", 8, 8)
        for crowd in crowds:
            _compare(peers, crowd, options.rounds, max(options.each // crowd, 3))
    if options.sizes:
        _grow([int(size) for size in options.sizes.split(",")], options.rounds)


def _peers(folder: Path, stack: ExitStack, options: argparse.Namespace) -> list[Peer]:
    peers: list[Peer] = []
    found = verdaccio()
    if isinstance(found, str):
        print(f"verdaccio skipped: {found}")
    else:
        peers.append(NpmRegistry(found, folder / "verdaccio", stack))
    peers.append(Registry("rye, SQLite and a folder", folder / "sqlite", stack, NAMES, {}))
    if options.postgresql:
        peers.append(Registry("rye, PostgreSQL", folder / "postgresql", stack, NAMES, postgresql(stack)))
    if options.s3:
        values = bucket(stack, options.delay / 1000)
        peers.append(Registry(f"rye, bucket at {options.delay:.0f} ms", folder / "bucket", stack, 16, values))
    return peers


def verdaccio() -> Verdaccio | str:
    """verdaccio, or the reason why it is not available."""
    node = next((program for program in on_path("node") if answer_of(program, "--version")), None)
    npm = next((program for program in on_path("npm") if answer_of(program, "--version")), None)
    if node is None or npm is None:
        return "there is no npm with node on PATH"
    try:
        return Verdaccio(npm, node)
    except Unavailable as error:
        return str(error)


def _compare(peers: list[Peer], crowd: int, rounds: int, each: int) -> None:
    found: list[list[Measured]] = [[] for _ in peers]
    for number in range(rounds):
        for peer, results in zip(peers, found, strict=True):
            results.append(measure(peer, f"c{'abcdefghjk'[number % 10]}{crowd}", crowd, each))
            let_finish(peer)
    print(f"{crowd} publisher{'s' if crowd > 1 else ''}")
    base = _median(found[0], lambda result: result.rate)
    for peer, results in zip(peers, found, strict=True):
        rate = _median(results, lambda result: result.rate)
        print(
            f"  {peer.name:<28} {rate:>6.0f}/s  p50 {_median(results, lambda result: result.p50) * 1000:>6.1f} ms"
            f"  p99 {_median(results, lambda result: result.p99) * 1000:>6.1f} ms"
            f"  cpu {_median(results, lambda result: result.cpu) * 1000:>5.1f} ms  {rate / base:>5.2f}x",
            flush=True,
        )


def _grow(sizes: list[int], rounds: int) -> None:
    """The cost of a publish at each size, for all registries in one run, in turns."""
    with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder, ExitStack() as stack:
        peers = [Registry(f"{size:,} names", Path(folder, str(size)), stack, size, {}) for size in sizes]
        found: list[list[Measured]] = [[] for _ in peers]
        for peer in peers:
            measure(peer, "warm", 1, 3)
        for number in range(rounds):
            for peer, results in zip(peers, found, strict=True):
                results.append(measure(peer, f"g{'abcdefghjk'[number % 10]}", 1, ALONE))
        print("one publisher, by size")
        base = _median(found[0], lambda result: result.cpu)
        for peer, results in zip(peers, found, strict=True):
            cpu = _median(results, lambda result: result.cpu)
            p50 = _median(results, lambda result: result.p50)
            print(f"  {peer.name:<28} p50 {p50 * 1000:>6.1f} ms  cpu {cpu * 1000:>5.1f} ms  {cpu / base:>5.2f}x")


def _median(results: list[Measured], value: Callable[[Measured], float]) -> float:
    return statistics.median(value(result) for result in results)


if __name__ == "__main__":
    main()
