"""``rye verify`` in a project that uses a registry: the pinned registry's keysets say whose signatures count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


def test_an_installed_item_is_valid_by_the_keys_that_the_pinned_registry_has(
    registry: Registry, tmp_path: Path
) -> None:
    owner = registry.owner("verified")
    owner.release("work/item")
    team = registry.reader()
    team.ok("init")
    team.ok("add", "verified/work/item", "--yes")
    installed = ".ai/packages/verified/directives/work/item.md"
    result = team.ok("verify", ".ai/packages", "--json").json
    assert [(entry["path"], entry["verdict"]) for entry in result["results"]] == [(installed, "valid")]
    assert result["results"][0]["fingerprint"] == owner.fingerprint()

    stranger = Person(tmp_path / "stranger")
    stranger.write(installed, team.path(installed).read_bytes())
    assert stranger.run("verify", ".ai/packages", "--json").json["counts"] == {"untrusted": 1}

    path = team.path(installed)
    path.write_bytes(path.read_bytes() + b"One line more.\n")
    assert team.run("verify", ".ai/packages", "--json").json["counts"] == {"modified": 1}


def test_a_key_that_the_namespace_revoked_is_no_unknown_one(registry: Registry) -> None:
    owner = registry.owner("burgled")
    new = registry.owner("burgled", claim=False)
    owner.release("work/early")
    stolen = owner.release("work/late")["published"][0]["log"]
    team = registry.reader()
    team.ok("init")
    team.ok("add", "burgled/work/early", "burgled/work/late", "--yes")
    owner.ok("namespace", "keys", "add", "burgled", new.public_key())
    new.ok("namespace", "revoke", "burgled", owner.fingerprint(), "--from", str(stolen), "--yes")
    assert team.run("verify", ".ai/packages", "--json").json["counts"] == {"valid": 2}, "nothing is fetched"
    team.run("audit")
    results = team.run("verify", ".ai/packages", "--json").json["results"]
    verdicts = {Path(entry["path"]).stem: entry["verdict"] for entry in results}
    assert verdicts == {"early": "untrusted", "late": "revoked"}
