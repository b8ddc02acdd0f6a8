"""``docs/reference/projects.md`` is true: its manifest can be read as shown, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

from rye.cli.main import COMMANDS
from rye.installation.environment import policy_of
from rye.project.manifest import parse_manifest

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "projects.md").read_text(encoding="utf-8")


def test_its_manifest_is_read_and_every_table_is_in_it() -> None:
    block = re.search(r"<!-- manifest -->\n```toml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    manifest = parse_manifest(block[1])
    assert len(manifest.dependencies) == 3
    assert manifest.registries == {"partner": "https://rye.partner.example"}
    policy = policy_of(manifest.policy)
    assert policy.minimum_release_age == 3 * 24 * 3600
    assert policy.tables


def test_its_commands_exist() -> None:
    named = set(re.findall(r"`rye ([a-z]+)", TEXT))
    assert len(named) >= 10
    assert named <= set(COMMANDS)
