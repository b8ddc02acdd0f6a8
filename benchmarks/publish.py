"""What one publish costs as the registry grows, and how many publishers are served at once.

    python benchmarks/publish.py [--sizes 1000,10000,100000] [--rounds 30] [--publishers 16]

A registry is filled through its own sequencer, in large batches; then single releases of new items are appended one by one, each
under its own signed head on the disk. The claim to check: the cost grows with a shard (a 256th of the names), not with the
registry. Ratios are within one run, to the smallest registry; and, for concurrency, to one publisher alone.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from registry_server.accounts import keys
from registry_server.migrations import opening
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.sequencer import Receipt, Sequencer
from registry_server.settings import Settings
from registry_server.storage.objects import Folder
from registry_server.upkeep.founding import found
from rye.items.identity import Identity
from rye.registry.protocol import notes, statements
from rye.registry.protocol.notes import Signer, VerifierKey
from rye.registry.protocol.statements import FileEntry, Keyset, Release, namespace_key_name
from rye.signing.keys import PrivateKey

ORIGIN = "registry.example.org"
BLOB = b"item"
BATCH = 2000


class Publisher:
    """One namespace's key, making releases as fast as it can sign."""

    def __init__(self) -> None:
        key = PrivateKey.generate()
        self.key = key.public.raw
        self.signer = Signer(VerifierKey(namespace_key_name(ORIGIN, "acme"), self.key), key.sign)
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.file = FileEntry(".md", len(BLOB), hashlib.sha256(BLOB).hexdigest())

    def claim(self) -> Candidate:
        keyset = Keyset(ORIGIN, "acme", 1, None, self.now, 1, (self.key,))
        return Candidate(notes.sign(keyset.text(), [self.signer]), keyset)

    def release(self, name: str) -> Candidate:
        identity = Identity("directive", f"acme/{name}")
        release = statements.parse(
            Release(ORIGIN, identity, "1.0.0", 1, self.now, f"Benchmark item {name}", self.file).text()
        )
        return Candidate(notes.sign(release.text(), [self.signer]), release, self.key)


def fill(sequencer: Sequencer, publisher: Publisher, start: int, end: int) -> None:
    """Append items ``start`` to ``end`` in large batches. Names have letters that do not fold together."""
    for first in range(start, end, BATCH):
        requests = [[publisher.release(name(number))] for number in range(first, min(first + BATCH, end))]
        refused = [outcome for outcome in sequencer.append(requests) if not isinstance(outcome, Receipt)]
        if refused:
            raise refused[0]


def name(number: int) -> str:
    """A name for an item; digits that no letter folds to."""
    return "bulk/" + "".join("abcdefghjk"[int(digit)] for digit in f"{number:07d}")


def one_by_one(sequencer: Sequencer, publisher: Publisher, label: str, rounds: int) -> list[float]:
    """Seconds of each of ``rounds`` publishes that come alone."""
    taken = []
    for number in range(rounds):
        candidate = publisher.release(f"{label}/{name(number)[5:]}")
        started = time.perf_counter()
        (outcome,) = sequencer.append([[candidate]])
        taken.append(time.perf_counter() - started)
        if not isinstance(outcome, Receipt):
            raise outcome
    return taken


def together(sequencer: Sequencer, publisher: Publisher, label: str, publishers: int, each: int) -> float:
    """Publishes per second of ``publishers`` at once, each waiting for its answer before its next."""
    waiting = [
        [publisher.release(f"{label}/w{name(worker)[-2:]}_{name(number)[5:]}") for number in range(each)]
        for worker in range(publishers)
    ]

    def work(candidates: list[Candidate]) -> None:
        for candidate in candidates:
            sequencer.submit([candidate]).result(120)

    threads = [threading.Thread(target=work, args=(candidates,)) for candidates in waiting]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return publishers * each / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--publishers", type=int, default=16)
    options = parser.parse_args()
    sizes = sorted(int(size) for size in options.sizes.split(","))
    with tempfile.TemporaryDirectory(prefix="rye-bench-") as folder:
        data = Path(folder, "data")
        found(data, ORIGIN, {}, None, 365)
        settings = Settings(data)
        engine = opening.connect(settings.database_url)
        public, uploads = Folder(settings.public), Folder(settings.uploads)
        uploads.put(hashlib.sha256(BLOB).hexdigest(), BLOB)
        sequencer = Sequencer(engine, public, uploads, keys.in_folder(settings.keys, "log"), settings)
        publisher = Publisher()
        sequencer.append([[publisher.claim()]])
        print(f"{'packages':>9}  {'fill/s':>7}  {'one publish':>12}  {'slowest':>9}  {'ratio':>6}")
        base = 0.0
        before = 0
        for size in sizes:
            started = time.perf_counter()
            fill(sequencer, publisher, before, size)
            rate = (size - before) / (time.perf_counter() - started)
            taken = one_by_one(sequencer, publisher, f"s{'abcdefgh'[len(str(size))]}", options.rounds)
            median = statistics.median(taken)
            base = base or median
            print(
                f"{size:>9,}  {rate:>7.0f}  {median * 1000:>9.1f} ms  {max(taken) * 1000:>6.1f} ms  {median / base:>5.2f}x",
                flush=True,
            )
            before = size
        sequencer.start()
        alone = together(sequencer, publisher, "alone", 1, options.rounds)
        crowd = together(sequencer, publisher, "crowd", options.publishers, options.rounds)
        sequencer.stop()
        print(
            f"one publisher: {alone:.0f} publishes/s; {options.publishers} at once: {crowd:.0f}/s, {crowd / alone:.1f}x"
        )
        engine.dispose()


if __name__ == "__main__":
    main()
