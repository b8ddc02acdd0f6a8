"""``make mutate``: how many mutations of the modules that decide about trust the tests catch."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from msgspec import Struct

from tests.mutation.running import BrokenTestsError, Module, Verdict, examine, prepare

HERE = Path(__file__).resolve().parent
FLOOR = 95.0
"""Percentage of mutants, not counting accepted survivors, that must be killed in each module."""

Key = tuple[str, str, str, str]


class Accepted(Struct, frozen=True):
    """A survivor that no test can or should kill, and why. Identified by function and text of the line, not by line number."""

    module: str
    function: str
    source: str
    change: str
    reason: str

    @property
    def key(self) -> Key:
        return self.module, self.function, self.source, self.change


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("only", nargs="*", help="modules whose path contains one of these words; none: all")
    parser.add_argument(
        "--list", action="store_true", help="print the modules and their numbers of mutants, run nothing"
    )
    arguments = parser.parse_args()
    modules = [m for m in listed_modules() if not arguments.only or any(word in m.path for word in arguments.only)]
    if not modules:
        parser.error("no module of modules.toml has that in its path")
    if arguments.list:
        return _list(modules)
    accepted = {row.key: row for row in listed_survivors()}
    with tempfile.TemporaryDirectory(prefix="rye-mutation-") as folder:
        prepare(Path(folder))
        good = [_report(module, accepted) for module in modules]
    return 0 if all(good) else 1


def _report(module: Module, accepted: dict[Key, Accepted]) -> bool:
    """Run one module and print the results of its mutants. Return whether it passes."""
    print(f"== {module.path}", flush=True)
    started = time.monotonic()
    verdicts: list[Verdict] = []
    expected = {key for key in accepted if key[0] == module.path}
    known = 0
    try:
        for verdict in examine(HERE.parents[1], module):
            verdicts.append(verdict)
            key = (module.path, *verdict.mutant.key)
            if key in expected and not verdict.killed:
                expected.discard(key)
                known += 1
            elif not verdict.killed:
                _print_survivor(module, verdict)
    except BrokenTestsError as error:
        print(error)
        return False
    killed = sum(verdict.killed for verdict in verdicts)
    countable = len(verdicts) - known
    ratio = 100.0 * killed / countable if countable else 100.0
    for key in sorted(expected):
        print(f"   accepted, but killed or gone: remove it from accepted.toml: {key[1]}: {key[3]}")
    print(
        f"   {len(verdicts)} mutants, {killed} killed, {countable - killed} survived, {known} accepted survivors: "
        f"{ratio:.1f} % in {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return ratio >= FLOOR and not expected


def _print_survivor(module: Module, verdict: Verdict) -> None:
    mutant = verdict.mutant
    reach = f"{verdict.tests} tests ran it" if verdict.tests else "no test ran it"
    print(f"   SURVIVED {module.path}:{mutant.line} {mutant.function} ({reach})")
    print(f"     {mutant.source}")
    print(f"   - {mutant.before}")
    print(f"   + {mutant.after}", flush=True)


def _list(modules: list[Module]) -> int:
    import ast

    from tests.mutation.operators import mutants

    for module in modules:
        text = (HERE.parents[1] / module.path).read_text("utf-8")
        print(f"{len(mutants(ast.parse(text), text)):5} {module.path}")
    return 0


def listed_modules() -> list[Module]:
    """The modules to change, as modules.toml lists them."""
    rows = tomllib.loads((HERE / "modules.toml").read_text("utf-8"))["module"]
    return [Module(row["path"], tuple(row["tests"])) for row in rows]


def listed_survivors() -> list[Accepted]:
    """The survivors that accepted.toml lists."""
    rows = tomllib.loads((HERE / "accepted.toml").read_text("utf-8")).get("survivor", [])
    return [Accepted(**row) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
