"""How many reads per second a registry answers: a package's metadata and its bytes, compared with verdaccio in one run.

    python benchmarks/reads.py [--readers 8] [--rounds 3] [--each 2000]

Ours: an index file and an item's bytes; verdaccio's: a packument and a tarball, without a login. A reader keeps its connection
and sends the next request once the previous answer has arrived. The peers take turns; the
median of the rounds counts. Reads of a folder that nginx serves cost this server nothing, so they are not measured here.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from publish import verdaccio
from publish_tools.npm_registry import NpmRegistry
from publish_tools.peer import LOAD, Peer, measure
from publish_tools.registry import Registry

ITEMS = 200
"""Packages or items that are requested in turn."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where one kind of file is."""

    peer: Peer
    what: str
    paths: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=2000, help="reads in a round, over all readers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder, ExitStack() as stack:
        rye = Registry("rye", Path(folder, "rye"), stack, 16, {})
        measure(rye, "r", 4, ITEMS // 4)
        pairs = [("metadata", "index"), ("bytes", "blobs")]
        targets = [Target(rye, what, _paths(Path(folder, "rye", "public"), part)) for what, part in pairs]
        found = verdaccio()
        if isinstance(found, str):
            print(f"verdaccio skipped: {found}")
        else:
            npm = NpmRegistry(found, Path(folder, "npm"), stack)
            measure(npm, "r", 4, ITEMS // 4)
            names = [
                json.loads(npm.publish("r", number)[0].partition(b"\r\n\r\n")[2])["name"] for number in range(ITEMS)
            ]
            targets += [
                Target(npm, "metadata", [f"/{name}" for name in names]),
                Target(npm, "bytes", [f"/{name}/-/{name}-1.0.0.tgz" for name in names]),
            ]
        _compare(targets, options.readers, options.rounds, options.each)


def _paths(public: Path, part: str) -> list[str]:
    files = sorted(path for path in (public / part).rglob("*") if path.is_file())
    return [f"/{path.relative_to(public).as_posix()}" for path in files]


def _compare(targets: list[Target], readers: int, rounds: int, each: int) -> None:
    rates: list[list[float]] = [[] for _ in targets]
    for target in targets:
        _read(target, readers, 200)
    for _ in range(rounds):
        for target, found in zip(targets, rates, strict=True):
            found.append(_read(target, readers, each))
    base = {
        target.what: statistics.median(found)
        for target, found in zip(targets, rates, strict=True)
        if target.peer.name != "rye"
    }
    for target, found in zip(targets, rates, strict=True):
        rate = statistics.median(found)
        ratio = f"{rate / base[target.what]:>6.2f}x" if target.what in base else ""
        print(f"{target.what:<10} {target.peer.name:<20} {rate:>7.0f}/s {ratio}", flush=True)


def _read(target: Target, readers: int, count: int) -> float:
    """Reads per second."""
    address = urlsplit(target.peer.url)
    requests = [
        base64.b64encode(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode()).decode()
        for path in target.paths
    ]
    each = count // readers
    plan = {
        "host": address.hostname,
        "port": address.port,
        "publishers": [
            [[requests[(reader * each + number) % len(requests)]] for number in range(each)]
            for reader in range(readers)
        ],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(plan, file)
        file.flush()
        done = subprocess.run([sys.executable, str(LOAD), file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{target.peer.name} did not answer: {done.stderr[-2000:]}")
    return each * readers / float(json.loads(done.stdout)["seconds"])


if __name__ == "__main__":
    main()
