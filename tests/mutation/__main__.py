"""``make mutate``: how many mutations of the modules that decide about trust the tests catch.

``make mutate-conformance`` (``--by-conformance``): whether the cases of ``conformance/`` notice every change to a check of those
modules that a client's verification runs (:mod:`tests.mutation.checks`). Nothing but the rows of :file:`conformance.toml` may
survive.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from tests.mutation.by_cases import examine_by_cases
from tests.mutation.checks import checks, is_check
from tests.mutation.operators import Mutant, mutants
from tests.mutation.running import BrokenTestsError, Choose, Module, Verdict, examine, prepare

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
    parser.add_argument(
        "--by-conformance", action="store_true", help="the checks of what a client verifies, by the conformance cases"
    )
    parser.add_argument(
        "--case", action="append", default=[], help="with --by-conformance: only cases whose id contains this word"
    )
    arguments = parser.parse_args()
    by_conformance = arguments.by_conformance
    listed = verifying_modules() if by_conformance else listed_modules()
    modules = [m for m in listed if not arguments.only or any(word in m.path for word in arguments.only)]
    if not modules:
        parser.error("no module of modules.toml has that in its path")
    if arguments.list:
        return _list(modules, by_conformance)
    accepted = {row.key: row for row in listed_survivors("conformance.toml" if by_conformance else "accepted.toml")}
    good = True
    with tempfile.TemporaryDirectory(prefix="rye-mutation-") as folder:
        prepare(Path(folder))
        since = time.monotonic()
        try:
            for module, verdicts in _examined(modules, by_conformance, arguments.case):
                good &= _report(module, verdicts, accepted, 100.0 if by_conformance else FLOOR, since)
                since = time.monotonic()
        except BrokenTestsError as error:
            print(error)
            return 1
    return 0 if good else 1


def _examined(
    modules: Sequence[Module], by_conformance: bool, cases: Sequence[str]
) -> Iterator[tuple[Module, Iterable[Verdict]]]:
    root = HERE.parents[1]
    if by_conformance:
        return examine_by_cases(root, [(module, only_checks(module.path)) for module in modules], cases)
    return ((module, examine(root, module)) for module in modules)


def _report(
    module: Module, judged: Iterable[Verdict], accepted: dict[Key, Accepted], floor: float, since: float
) -> bool:
    """Print the results of a module's mutants as they arrive. Return whether it passes. ``since``: when it began."""
    print(f"== {module.path}", flush=True)
    verdicts: list[Verdict] = []
    expected = {key for key in accepted if key[0] == module.path}
    known = 0
    for verdict in judged:
        verdicts.append(verdict)
        key = (module.path, *verdict.mutant.key)
        if key in expected and not verdict.killed:
            expected.discard(key)
            known += 1
        elif not verdict.killed:
            _print_survivor(module, verdict)
    killed = sum(verdict.killed for verdict in verdicts)
    countable = len(verdicts) - known
    ratio = 100.0 * killed / countable if countable else 100.0
    for key in sorted(expected):
        print(f"   accepted, but killed or gone: remove it from the list: {key[1]}: {key[3]} ({key[2]})")
    print(
        f"   {len(verdicts)} mutants, {killed} killed, {countable - killed} survived, {known} accepted survivors: "
        f"{ratio:.1f} % in {time.monotonic() - since:.0f} s",
        flush=True,
    )
    return ratio >= floor and not expected


def _print_survivor(module: Module, verdict: Verdict) -> None:
    mutant = verdict.mutant
    reach = f"{verdict.tests} tests ran it" if verdict.tests else "no test ran it"
    print(f"   SURVIVED {module.path}:{mutant.line} {mutant.function} ({reach})")
    print(f"     {mutant.source}")
    print(f"   - {mutant.before}")
    print(f"   + {mutant.after}", flush=True)


def _list(modules: list[Module], by_conformance: bool) -> int:
    for module in modules:
        text = (HERE.parents[1] / module.path).read_text("utf-8")
        tree = ast.parse(text)
        every = mutants(tree, text)
        chosen = only_checks(module.path)(tree, every) if by_conformance else every
        print(f"{len(chosen):5} {module.path}")
    return 0


def only_checks(path: str) -> Choose:
    """Choose the mutants of a module that change or remove a check, but for functions that no verification runs."""
    rows = tomllib.loads((HERE / "conformance.toml").read_text("utf-8")).get("elsewhere", [])
    elsewhere = {function for row in rows if row["module"] == path for function in row["functions"]}

    def choose(tree: ast.Module, every: Sequence[Mutant]) -> list[Mutant]:
        nodes = checks(tree)
        return [mutant for mutant in every if mutant.function not in elsewhere and is_check(mutant, nodes)]

    return choose


def verifying_modules() -> list[Module]:
    """The modules of modules.toml that a client's verification runs, with the conformance cases as their tests."""
    rooms = ("rye/registry/", "rye/verified/release.py", "rye/signing/")
    elsewhere = {"rye/signing/trust_store.py"}  # the user's own files
    paths = [module.path for module in listed_modules()]
    return [
        Module(path, ("tests/conformance/test_rye.py",))
        for path in paths
        if path.startswith(rooms) and path not in elsewhere
    ]


def listed_modules() -> list[Module]:
    """The modules to change, as modules.toml lists them."""
    rows = tomllib.loads((HERE / "modules.toml").read_text("utf-8"))["module"]
    return [Module(row["path"], tuple(row["tests"])) for row in rows]


def listed_survivors(file: str = "accepted.toml") -> list[Accepted]:
    """The survivors of a file. It has a row for each function and reason; ``changes``: the texts of lines, and their change."""
    rows = tomllib.loads((HERE / file).read_text("utf-8")).get("survivor", [])
    return [Accepted(source=source, change=change, **row) for row in rows for source, change in row.pop("changes")]


if __name__ == "__main__":
    sys.exit(main())
