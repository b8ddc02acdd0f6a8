"""What a run of all tests compiles, once for all its processes.

On a fresh checkout every process would compile the whole program and rewrite the assertions of every test, all in the same order
and at the same time. So each first compiles its share, and then finds what the others wrote.
"""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, get_cache_dir
from _pytest.assertion.rewrite import assertstate_key as STATE

_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("conformance", "registry_server", "rye", "tests")


def compile_share(config: pytest.Config, root: Path = _ROOT) -> None:
    """Compile this process's share of the files that a run of all tests imports."""
    given = getattr(config, "workerinput", None)
    if given is None or sys.dont_write_bytecode or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    files = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.py"))
    for path in files[int(given["workerid"].removeprefix("gw")) :: given["workercount"]]:
        if path.name.startswith("test_"):
            _rewrite(path, config)
        else:
            compileall.compile_file(path, quiet=2)


def _rewrite(path: Path, config: pytest.Config) -> None:
    """Keep the test with its assertions rewritten where pytest looks for it."""
    kept = get_cache_dir(path) / f"{path.stem}{PYC_TAIL}"
    if _read_pyc(path, kept) is None:
        kept.parent.mkdir(exist_ok=True)
        source, code = _rewrite_test(path, config)
        _write_pyc(config.stash[STATE], code, source, kept)
