"""Programs of others that judge what Rye makes: which ones, in which versions, and what they said.

:mod:`tests.outside.installing` installs them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.clients.program import Done, run_bounded
from tests.outside.installing import PROGRAMS, PYTHON, ROOT, Missing, node

RESULTS = ROOT / "build" / "outside"
"""A file for each judge, since tests run in several processes."""
_NONE: Mapping[str, str] = {}


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
        _judge("vnu", "vnu-jar", _NPM_PINS, "the registry's pages", "outside/test_files.py"),
        _judge(
            "Renovate",
            "renovate",
            "tests/outside/programs/renovate/package.json",
            "the preset of integrations.md with a registry",
            "outside/test_renovate.py",
        ),
        _judge(
            "MCP conformance",
            "@modelcontextprotocol/conformance",
            _NPM_PINS,
            "`rye mcp serve --http`",
            "outside/test_mcp_conformance.py",
        ),
        _judge("MCP inspector", "@modelcontextprotocol/inspector", _NPM_PINS, "`rye mcp serve`", "outside/test_mcp.py"),
        _judge("MCP TypeScript SDK", "@modelcontextprotocol/sdk", _NPM_PINS, "`rye mcp serve`", "outside/test_mcp.py"),
        _judge(
            "oidc-provider",
            "oidc-provider",
            "tests/outside/programs/oidc-provider/package.json",
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


def python() -> Path:
    """The bin folder of the Python programs. Raises Missing."""
    return PYTHON.where() / "bin"


def npm() -> Path:
    """The folder of npm's programs (``node_modules``). Raises Missing."""
    return PROGRAMS.where()


def java() -> Path:
    """The program Java. Raises Missing."""
    found = shutil.which("java")
    if found is None:
        raise Missing("there is no java here")
    return Path(found)


def run(command: list[str], folder: Path, seconds: float = 120.0, environment: Mapping[str, str] = os.environ) -> Done:
    """Run a judge, with its Node first on PATH."""
    path = f"{node().parent}{os.pathsep}{os.environ['PATH']}"
    return run_bounded(command, folder, {**environment, "PATH": path, "NO_COLOR": "1"}, seconds)


def record(name: str, cases: int, passed: int, note: str = "", not_applicable: Mapping[str, str] = _NONE) -> None:
    """Keep what a judge of :data:`HERE` said, for the table. ``not_applicable``: cases beyond those, each with the reason."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    said = {"cases": cases, "passed": passed, "note": note, "not_applicable": dict(not_applicable)}
    document = json.dumps({"version": HERE[name].version, **said}, indent=1)
    (RESULTS / f"{name.replace(' ', '-')}.json").write_text(document)


def recorded(name: str) -> dict[str, Any]:
    """What :func:`record` kept of a judge; nothing if it was not run."""
    place = RESULTS / f"{name.replace(' ', '-')}.json"
    found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    return found
