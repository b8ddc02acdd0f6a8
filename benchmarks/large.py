"""What commands cost in a registry with very many names: requests, bytes and seconds, and the processor time of a server's start.

    python benchmarks/large.py [--names 1000,100000] [--keep FOLDER]

A registry is filled by its own sequencer, with a namespace for every 50 names, and has 100 real items besides. A proxy in between
counts; each command starts with nothing cached but the pin. ``--keep``: fill registries there once, and use them again.

The bound: `rye add` of 100 items without kinds among 100,000 names makes at most 150 requests.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from install_tools.counting import Counting
from install_tools.packages import name_of
from install_tools.rye import ORIGIN, PROGRAM
from install_tools.rye import _fill as fill_with_items
from install_tools.tool import SETTINGS
from publish_tools.peer import cpu_of
from publish_tools.registry import BLOB, Publisher, _accepted, letters

from registry_server.accounts import registry_keys, tokens
from registry_server.embedded import start_embedded, stop_embedded
from registry_server.migrations import opening
from registry_server.sequencer.sequencer import Sequencer
from registry_server.settings import load
from registry_server.storage import database
from registry_server.storage.store_factory import public_objects, upload_objects
from registry_server.upkeep.founding import found

ITEMS = 100
OF_A_NAMESPACE = 50
BATCH = 500
MOST_REQUESTS = 150


def fill(base: Path, names: int) -> None:
    """A registry in ``base/registry``, with a token for everything and its fingerprint next to it."""
    data = base / "registry"
    base.mkdir(parents=True)
    fingerprint = found(data, ORIGIN, {}, None, 365).sha256()
    fill_with_items(data, ITEMS)
    settings = load(data, {}, {})
    engine = opening.open_database(settings)
    uploads = upload_objects(settings)
    uploads.put(hashlib.sha256(BLOB).hexdigest(), BLOB)
    keys = registry_keys.in_folder(settings.keys, "log")
    sequencer = Sequencer(engine, public_objects(settings), uploads, keys, settings)
    owners = [Publisher(f"bench{letters(number)}") for number in range(max(names // OF_A_NAMESPACE, 1))]
    for first in range(0, len(owners), BATCH):
        _accepted(sequencer, [owner.claim() for owner in owners[first : first + BATCH]])
    for first in range(0, names, BATCH):
        numbers = range(first, min(first + BATCH, names))
        _accepted(sequencer, [owners[at % len(owners)].candidate(f"bulk/{letters(at)}") for at in numbers])
    with database.writer(engine) as connection:
        token = tokens.create(connection, "benchmark", (), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
    engine.dispose()
    (base / "token").write_text(token)
    (base / "fingerprint").write_text(fingerprint)


class User:
    """Somebody with a project of their own, who has pinned the registry and cached nothing."""

    def __init__(self, base: Path, registry: Path, address: str, namespace: str = "") -> None:
        self._home, self._project = base / "home", base / "project"
        self._home.mkdir(parents=True)
        self._project.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(SETTINGS)}
        self._environment = kept | {"HOME": str(self._home), "CI": "1", "NO_COLOR": "1", "NO_PROXY": "127.0.0.1"}
        self._environment |= {"RYE_TOKEN": (registry / "token").read_text()}
        owner = f'namespace = "{namespace}"\n' if namespace else ""
        (self._project / "rye.toml").write_text(f'[project]\nname = "bench"\n{owner}registry = "{address}"\n')
        self.pin = ("registry", "add", address, "--fingerprint", (registry / "fingerprint").read_text())

    def forget(self) -> None:
        """Cache nothing."""
        shutil.rmtree(self._home / ".cache")

    def run(self, *words: str, fails: bool = False) -> float:
        """The seconds that a command took."""
        began = time.perf_counter()
        done = subprocess.run(
            [*PROGRAM, *words],
            cwd=self._project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode and not fails:
            raise SystemExit(f"rye {' '.join(words[:3])} failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
        return time.perf_counter() - began


def commands(base: Path, registry: Path, address: str) -> Iterator[tuple[str, User, tuple[str, ...]]]:
    """What is measured: words, who runs it, and the command."""
    items = [f"acme/bench/{name_of(number)}" for number in range(ITEMS)]
    rows = {
        "rye add, one item": ("add", items[0], "--yes"),
        f"rye add, {ITEMS} items": ("add", *items, "--yes"),
        "rye info": ("info", items[0]),
        "rye search": ("search", "measured"),
        "rye log watch --namespace, the first time": ("log", "watch", "--namespace", "acme", "--once"),
    }
    for number, (what, command) in enumerate(rows.items()):
        user = User(base / str(number), registry, address)
        user.run(*user.pin)
        yield what, user, command
    owner = f"mine{''.join('abcdefghjk'[int(digit)] for digit in str(time.time_ns())[-12:])}"
    user = User(base / "owner", registry, address, owner)
    user.run(*user.pin)
    user.run("keys", "generate")
    yield "rye namespace claim", user, ("namespace", "claim", owner, "--yes")
    user.run("new", "directive", "tools/deploy")
    user.run("sign", ".ai/directives/tools/deploy.md")
    user.forget()
    yield "rye publish, a new name", user, ("publish", ".ai/directives/tools/deploy.md", "--allow-uncommitted", "--yes")


def measure(registry: Path, names: int) -> list[str]:
    """Print a table for one registry; return what misses the bound."""
    missed: list[str] = []
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rye-bench-", ignore_cleanup_errors=True)))
        process, address = start_embedded(registry / "registry")
        stack.callback(stop_embedded, process)
        print(f"{names:,} names: a start takes {cpu_of(process.pid):.1f} s of processor time")
        server = Counting()
        server.target = address
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        for what, user, command in commands(base, registry, server.url):
            server.seen.clear()
            seconds = user.run(*command, fails="watch" in command)  # which exits 3 where there is something new
            size = sum(length for _, _, length in server.seen)
            print(f"  {what:<44}{len(server.seen):>6,} requests{size:>12,} bytes{seconds:>7.1f} s", flush=True)
            if str(ITEMS) in what and len(server.seen) > MOST_REQUESTS:
                missed.append(f"{what} among {names:,} names: {len(server.seen)} requests")
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", default="1000,100000")
    parser.add_argument("--keep", type=Path, help="a folder with the registries of earlier runs")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rye-bench-", ignore_cleanup_errors=True) as folder:
        for names in map(int, options.names.split(",")):
            registry = (options.keep or Path(folder)) / str(names)
            if not (registry / "fingerprint").exists():
                fill(registry, names)
            missed += measure(registry, names)
    if missed:
        raise SystemExit("\n".join(missed))


if __name__ == "__main__":
    main()
