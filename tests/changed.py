"""``make check``: run the tests of what changed. :func:`tests_of` selects them from imports alone.

A test file runs when it changed, or when it imports a changed module. A changed module that no test imports runs the
tests of its room (``rye/items/x.py``: ``tests/items``). The tests that hold the whole tree together (:data:`ALWAYS`)
always run.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
_HOUSE = ("rooms", "faces", "local_imports", "line_ends", "citations")
ALWAYS = (*(f"tests/house/test_{name}.py" for name in _HOUSE), "tests/items/test_kinds_named_once.py")
"""The tests of the whole tree."""
_PACKAGES = ("rye", "registry_server", "tests", "benchmarks")


def module_of(path: str) -> str | None:
    """The name of the module in a file of the repository; None if the file is not a module."""
    file = PurePosixPath(path)
    if file.suffix != ".py" or file.parts[0] not in _PACKAGES:
        return None
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str) -> frozenset[str]:
    """Every module that a Python text names in an import; for ``from a import b`` both ``a`` and ``a.b``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return frozenset(found)


def tests_of(changed: Iterable[str], imports: Mapping[str, frozenset[str]]) -> list[str]:
    """The test files and folders to run, sorted.

    ``changed``: paths below the repository's root. ``imports``: for every module under ``tests``, by path, the modules
    that it imports. A changed module of ``tests`` that is not a test file, such as a fixture, counts like any other
    module.
    """
    files = [path for path in imports if PurePosixPath(path).name.startswith("test_")]
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
            room = PurePosixPath(path).parts[:2]
            folder = f"tests/{room[1]}" if room[0] == "rye" else f"tests/{'server' if room[0] != 'tests' else room[1]}"
            users = {file for file in files if file.startswith(folder + "/")}
        chosen |= users
    return sorted(chosen)


def changed_files(base: str) -> list[str]:
    """The files that differ from where this branch left ``base``, including uncommitted and untracked ones."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
        return [line for line in done.stdout.split("\0") if line]

    start = git("merge-base", base, "HEAD")[0].strip()
    found = {*git("diff", "--name-only", "-z", start), *git("ls-files", "--others", "--exclude-standard", "-z")}
    return sorted(path for path in found if (ROOT / path).exists())


def main(base: str = "main") -> int:
    """Run the tests; return the exit code of pytest."""
    imports = {
        path.relative_to(ROOT).as_posix(): imports_of(path.read_text("utf-8")) for path in ROOT.glob("tests/**/*.py")
    }
    chosen = tests_of(changed_files(base), imports)
    print(f"{len(chosen)} test files for what changed since {base}, and {len(ALWAYS)} that always run", flush=True)
    words = ["-m", "pytest", "-n", "2", "-m", "not clients and not browser", *dict.fromkeys([*ALWAYS, *chosen])]
    return subprocess.run([sys.executable, *words], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
