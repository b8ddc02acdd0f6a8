"""The versions that the adapters claim to be tested with are the pinned ones. Needs none of the programs."""

from __future__ import annotations

import json
import re

from rye.deployment.targets.protocol import target
from tests.clients.program import FOLDER, NPM_PROGRAMS, PIP_PROGRAMS, PROGRAMS


def test_every_adapter_names_the_version_that_it_is_tried_with() -> None:
    assert {name: target(name).tried for name in PROGRAMS} == {name: one.version for name, one in PROGRAMS.items()}


def test_the_locks_hold_hashes_and_no_addresses() -> None:
    for program in NPM_PROGRAMS.values():
        text = (FOLDER / program.name / "package-lock.json").read_text("utf-8")
        assert "://" not in text
        packages = json.loads(text)["packages"]
        assert packages[f"node_modules/{program.package}"]["version"] == program.version
        assert all(row["integrity"].startswith("sha512-") for name, row in packages.items() if name)


def test_the_requirements_hold_hashes_and_no_addresses() -> None:
    for program in PIP_PROGRAMS.values():
        text = (FOLDER / program.name / "requirements.txt").read_text("utf-8")
        assert "://" not in text
        assert f"\n{program.package}=={program.version} " in text
        rows = [part for part in re.split(r"\n(?=\S)", text) if "==" in part.partition(" ")[0]]
        assert len(rows) > 1
        assert all("--hash=sha256:" in row for row in rows)
