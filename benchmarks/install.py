"""Time to install 50 and 1,000 items from a local registry, compared with npm and uv and as many tiny packages, in one run.

    python benchmarks/install.py [--sizes 50,1000] [--rounds 3] [--peers npm,uv] [--npm-registry verdaccio|memory]

Every tool gets the same graph: the project asks for one package in twenty, and those need the others, at most three levels deep.
The benchmark checks that all files are installed. The situations are those of ``install_tools/tool.py``; times are of the whole
program. In each situation the tools take turns, so that a machine's slow moments affect all of them.

* rye: a registry process (``rye-registry serve``) and signed directives; installed items are verified up to the log.
* npm: a verdaccio process without an uplink, with the packages published to it. npm installs it once, into
  ``benchmarks/peers/node_modules``. If that fails, or with ``--npm-registry memory``, the packages come from memory instead,
  which is faster for npm; the output says so.
* uv: a simple index in memory; ``uv sync`` into an environment of the project.

A peer that is not installed is skipped, and the output says so. Everything else is created in a temporary folder, and the servers
stop with the program.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from install_tools import npm, rye, uv
from install_tools.tool import SITUATIONS, Tool

NOTE = """\
With a lock and a cache, npm and uv send no requests; rye, in warm and frozen, asks the registry for its head, so that it does
not install a release that was revoked meanwhile. In no-op no tool sends a request."""
Start = Callable[[Path, int, ExitStack], Tool]
Times = Mapping[str, Sequence[float]]
"""Situation → seconds of each round."""


def found(peers: Sequence[str], npm_registry: str) -> Iterator[tuple[Start, str]]:
    """How to start each installed tool, and its description."""
    yield rye.Rye, rye.describe()
    if "npm" in peers:
        programs = npm.find(npm_registry)
        if programs is None:
            print("npm is not installed: skipped")
        else:
            yield partial(npm.Npm, programs=programs), programs.description
    if "uv" in peers:
        program = uv.find()
        if program is None:
            print("uv is not installed: skipped")
        else:
            yield partial(uv.Uv, program=program), uv.describe(program)


def measure(starts: Sequence[Start], size: int, rounds: int) -> Mapping[str, Times]:
    """Tool → its times, rye first."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-bench-", ignore_cleanup_errors=True))
        tools = [start(Path(folder), size, stack) for start in starts]
        times = {tool.name: {name: list[float]() for name in SITUATIONS} for tool in tools}
        for _ in range(rounds):
            for situation in SITUATIONS:
                for tool in tools:
                    times[tool.name][situation].append(tool.seconds(situation))
    return times


def show(size: int, times: Mapping[str, Times]) -> None:
    print(f"\n{size:>5} items" + "".join(f"{name:>{16 if name == 'rye' else 34}}" for name in times))
    for situation in SITUATIONS:
        ours, *others = ((min(found[situation]), median(found[situation])) for found in times.values())
        row = f"{situation:<11}{ours[0]:>7.3f} / {ours[1]:>6.3f}"
        for best, usual in others:
            row += f"{best:>10.3f} / {usual:>6.3f} {best / ours[0]:>6.2f} / {usual / ours[1]:>4.2f} x"
        print(row, flush=True)
    if size == 1000:
        print(f"aim: cold in under two seconds: {'reached' if min(times['rye']['cold']) < 2 else 'missed'}")
    for situation in ("warm", "no-op") if len(times) > 1 else ():
        fastest = min(times, key=lambda name: min(times[name][situation]))
        print(f"aim: {situation} faster than the others: {'reached' if fastest == 'rye' else f'missed, {fastest} is'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="50,1000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default="npm,uv")
    parser.add_argument("--npm-registry", choices=("verdaccio", "memory"), default="verdaccio")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    tools = list(found(options.peers.split(","), options.npm_registry))
    print(*(words for _, words in tools), "", sep="\n")
    print(*(f"{name:<8}{meaning}" for name, meaning in SITUATIONS.items()), NOTE, sep="\n")
    print(f"\nSeconds: best / median of {options.rounds} rounds; x: theirs ÷ rye's, above 1 rye is faster", flush=True)
    for size in map(int, options.sizes.split(",")):
        show(size, measure([start for start, _ in tools], size, options.rounds))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
