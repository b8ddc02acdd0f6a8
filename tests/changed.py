"""``make check``: run the tests of what changed. :func:`tests_of` selects them from imports alone.

A test file runs when it changed, or when it imports a changed module. A changed module that no test imports runs the
tests of its room (``rye/items/x.py``: ``tests/items``). The tests that hold the whole tree together (:data:`ALWAYS`)
always run.

``python -m tests.changed --of rye/items/x.py`` names the tests of a module instead, the nearest first
(:func:`nearest_tests`): on standard output one path per line, and on standard error the rules that the module cites.
``--run`` runs them; the first that fails ends the run.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from tests.house.trees import statements

ROOT = Path(__file__).resolve().parents[1]
_HOUSE = ("rooms", "faces", "local_imports", "line_ends", "citations")
ALWAYS = (*(f"tests/house/test_{name}.py" for name in _HOUSE), "tests/items/test_kinds_named_once.py")
"""The tests of the whole tree."""
_PACKAGES = ("rye", "registry_server", "tests", "benchmarks")
_LATER = re.compile(r"(?<=[\"'])((?:rye|registry_server)(?:\.\w+)+)(?::\w+)?(?=[\"'])")
"""A module that a table names in a text, to be imported when it is needed: ``rye.cli.help:show_help``."""


def module_of(path: str) -> str | None:
    """The name of the module in a file of the repository; None if the file is not a module."""
    file = PurePosixPath(path)
    if file.suffix != ".py" or file.parts[0] not in _PACKAGES:
        return None
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str) -> frozenset[str]:
    """Every module that a Python text names in an import, or in a table of what is imported later; for ``from a import
    b`` both ``a`` and ``a.b``.
    """
    modules = set(_LATER.findall(source))  # in the text: looking at each expression would take twice as long
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return frozenset(modules)


def is_test(path: str) -> bool:
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_")


def folder_of(path: str) -> str:
    """The folder of the tests of a module's room."""
    package, *rooms = PurePosixPath(path).with_suffix("").parts
    return f"tests/{rooms[0]}" if package in ("rye", "tests") and rooms else "tests/server"


def tests_of(changed: Iterable[str], imports: Mapping[str, frozenset[str]]) -> list[str]:
    """The test files and folders to run, sorted.

    ``changed``: paths below the repository's root. ``imports``: for every module under ``tests``, by path, the modules
    that it imports. A changed module of ``tests`` that is not a test file, such as a fixture, counts like any other
    module.
    """
    files = [path for path in imports if is_test(path)]
    chosen = set()
    for path in changed:
        module = module_of(path)
        if module is None:
            continue
        if path in files:
            chosen.add(path)
            continue
        users = {file for file in files if module in imports[file]}
        if not users:
            users = {file for file in files if file.startswith(folder_of(path) + "/")}
        chosen |= users
    return sorted(chosen)


def bears_its_name(test: str, path: str) -> bool:
    """Whether a test of the module's room is called like the module, or like the module with its folder."""
    file = PurePosixPath(path)
    names = {file.stem, f"{file.parent.name}_{file.stem}", *([file.parent.name] if len(file.parts) > 3 else [])}
    return test.startswith(folder_of(path) + "/") and PurePosixPath(test).stem.removeprefix("test_") in names


def nearest_tests(path: str, imports: Mapping[str, frozenset[str]]) -> list[str]:
    """The test files that reach a module through imports, the nearest first.

    First those that bear its name, then those that import it, then those that import a module that does, and so on;
    among equals, those of the module's room. ``path`` and ``imports``: as in :func:`tests_of`, with the imports of every
    module of the repository.
    """
    importers: dict[str, set[str]] = {}
    for file, modules in imports.items():
        for module in modules:
            importers.setdefault(module, set()).add(file)
    steps = {path: 0} | {file: 0 for file in imports if is_test(file) and bears_its_name(file, path)}
    reached = [path]
    while reached:
        names = [name for file in reached if (name := module_of(file)) is not None]
        distance = steps[reached[0]] + 1
        reached = sorted({file for name in names for file in importers.get(name, ())} - steps.keys())
        steps |= dict.fromkeys(reached, distance)
    room = folder_of(path) + "/"
    return sorted(filter(is_test, steps), key=lambda test: (steps[test], not test.startswith(room), test))


def rules_of(path: str) -> list[str]:
    """The rules that a module cites, as ``docs/design/rules.md`` numbers them."""
    from tests.house.citations import cited, families, rules

    known = rules()
    mine = sorted({rule for rule in cited((ROOT / path).read_text("utf-8"), families(known)) if rule in known})
    numbered = [rule for rule in mine if rule.number and " " not in rule.number]
    return [rule.number if rule.number.startswith(rule.book) else " ".join(rule) for rule in numbered]


def changed_files(base: str) -> list[str]:
    """The files that differ from where this branch left ``base``, including uncommitted and untracked ones."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
        return [line for line in done.stdout.split("\0") if line]

    start = git("merge-base", base, "HEAD")[0].strip()
    paths = {*git("diff", "--name-only", "-z", start), *git("ls-files", "--others", "--exclude-standard", "-z")}
    return sorted(path for path in paths if (ROOT / path).exists())


def imports_below(*folders: str) -> dict[str, frozenset[str]]:
    """The imports of every module in these folders, by path."""
    everything = (path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py"))
    # `make test-clients` installs programs of others among the tests.
    files = (path for path in everything if "programs" not in path.relative_to(ROOT).parts)
    return {path.relative_to(ROOT).as_posix(): imports_of(path.read_text("utf-8")) for path in files}


def run_changed(base: str) -> int:
    """Run the tests of what changed; return the exit code of pytest."""
    chosen = tests_of(changed_files(base), imports_below("tests"))
    print(f"{len(chosen)} test files for what changed since {base}, and {len(ALWAYS)} that always run", flush=True)
    words = [
        "-m",
        "pytest",
        "-n",
        "2",
        "-m",
        "not clients and not browser and not outside",
        *dict.fromkeys([*ALWAYS, *chosen]),
    ]
    return subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode


def show_nearest(paths: Iterable[str], *, run: bool) -> int:
    """Print the tests of these modules, or run them; return the exit code, 2 for a file that is no module."""
    paths = list(paths)
    if strangers := [path for path in paths if module_of(path) is None or not (ROOT / path).is_file()]:
        print(f"{strangers[0]} is not a module of this repository", file=sys.stderr)
        return 2
    chosen: dict[str, None] = {}
    imports = imports_below(*_PACKAGES)
    for path in paths:
        if rules := rules_of(path):
            print(f"{path} cites {', '.join(rules)}: docs/design/rules.md names tests of each", file=sys.stderr)
        chosen |= dict.fromkeys(nearest_tests(path, imports))
    if run:
        words = ["-m", "pytest", "-n", "0", "--exitfirst", *chosen]
        return subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode
    print("\n".join(chosen))
    return 0


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.changed", description=__doc__.split("\n")[0])
    parser.add_argument("base", nargs="?", default="main", help="the branch to compare with (main)")
    parser.add_argument("--of", nargs="+", metavar="FILE", help="name the tests of these modules, the nearest first")
    parser.add_argument("--run", action="store_true", help="with --of: run them")
    given = parser.parse_args()
    if given.of is None:
        return run_changed(given.base)
    return show_nearest((os.path.relpath(path, ROOT) for path in given.of), run=given.run)


if __name__ == "__main__":
    sys.exit(main())
