"""Renovate, with the preset that docs/how-to/integrations.md gives people, in a checkout whose items are in a real registry."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.interop.test_page import EXAMPLES, HOST
from tests.outside import installing, judges
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = [pytest.mark.outside, pytest.mark.processes]
MANIFEST = """[project]
name = "shop"

[dependencies]
"directive:acme/work/top" = "^0.1.0"
"acme/work/side" = "~1.0"
"directive:acme/work/withdrawn" = "^1.0"
"""
PROPOSED = {"acme/work/top": ["1.0.0"], "acme/work/side": ["1.2.0"], "acme/work/withdrawn": []}
"""The ``newVersion`` for each line."""


@pytest.fixture
def checkout(registry: Registry, acme: Person, tmp_path: Path) -> Path:
    for name, versions in (
        ("top", ("0.1.0", "1.0.0")),
        ("side", ("1.0.0", "1.2.0")),
        ("withdrawn", ("1.0.0", "2.0.0")),
    ):
        for version in versions:
            acme.release(f"work/{name}", version)
    acme.ok("yank", "directive:acme/work/withdrawn@2.0.0", "--reason", "harmful", "--yes")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "rye.toml").write_text(MANIFEST)
    (folder / "renovate.json").write_text(EXAMPLES["renovate"].replace(HOST, registry.url))
    for words in (("init", "--quiet"), ("add", ".")):
        subprocess.run(["git", *words], cwd=folder, timeout=30, check=True)
    return folder


def test_it_proposes_what_is_new_and_nothing_that_was_withdrawn(checkout: Path, tmp_path: Path) -> None:
    programs = installing.RENOVATE.where() / "renovate" / "dist"
    node = str(installing.node())
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LOG_LEVEL": "debug", "LOG_FORMAT": "json"}
    validator = [node, str(programs / "config-validator.js"), "--strict", "renovate.json"]
    valid = judges.run(validator, checkout, environment=environment)
    command = [node, str(programs / "renovate.js"), "--platform=local", "--dry-run=lookup"]
    done = judges.run(command, checkout, environment=environment)
    assert done.code == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    (files,) = (line["config"]["regex"] for line in lines if line["msg"] == "packageFiles with updates")
    found = {
        each["depName"]: [update["newVersion"] for update in each["updates"]] for file in files for each in file["deps"]
    }
    cases = [valid.code == 0, *(found.get(name) == versions for name, versions in PROPOSED.items())]
    judges.record(
        "Renovate", len(cases), sum(cases), "the preset is valid, and three lines of a rye.toml are looked up"
    )
    assert valid.code == 0, valid.stdout
    assert found == PROPOSED
    preset = checkout / "renovate.json"
    preset.write_text(preset.read_text().replace("managerFilePatterns", "managerFilesPattern"))
    assert judges.run(validator, checkout, environment=environment).code != 0
