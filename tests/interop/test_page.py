"""``docs/how-to/integrations.md`` is true: its addresses exist and its examples match."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from registry_server.settings import READERS
from tests.interop.unchecked_registry import UncheckedRegistry

PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/integrations.md").read_text("utf-8")
EXAMPLES: dict[str, str] = dict(re.findall(r"<!-- example: (\w+) -->\n```\w*\n(.*?)```", PAGE, re.DOTALL))
HOST = "https://registry.example.org"


def path_of(text: str) -> str:
    found = re.search(rf"{re.escape(HOST)}([^\s\"]*)", text)
    assert found is not None
    return found[1]


def test_every_program_has_a_section_that_says_what_is_not_checked() -> None:
    rows = re.findall(r"^\| (\[.*\]\(#[a-z-]+\)) \|.*\| `(\w+)` \|$", PAGE, re.MULTILINE)
    sections = {re.sub(r"[^a-z0-9]+", "-", part.partition("\n")[0].lower()): part for part in PAGE.split("\n## ")[1:]}
    assert {part for _, part in rows} == set(READERS)
    for links, _ in rows:
        for anchor in re.findall(r"\(#([a-z-]+)\)", links):
            assert re.search(r"\n\*Not checked:\*.*`rye (add|update|audit)", sections[anchor], re.DOTALL), anchor


def test_the_addresses_are_answered(local: UncheckedRegistry) -> None:
    local.release("acme/pdf", "1.2.0")
    local.advise("acme/pdf")
    (opencode,) = json.loads(EXAMPLES["opencode"])["skills"]["urls"]
    assert local.get(f"{path_of(opencode)}index.json").status_code == 200
    assert local.get(f"{path_of(EXAMPLES['skills'])}/.well-known/agent-skills/index.json").status_code == 200
    assert local.get(path_of(EXAMPLES["osv"])).status_code == 200
    assert local.get(f"{path_of(EXAMPLES['apm_yml'])}/v1/packages/acme/pdf/versions").status_code == 200
    for name in ("claude", "codex", "copilot"):
        assert local.get(f"{path_of(EXAMPLES[name])}/info/refs?service=git-upload-pack").status_code == 200


def test_the_preset_finds_the_lines_of_a_manifest(local: UncheckedRegistry) -> None:
    """By Renovate's rules: ``(?<name>…)`` is a group, and ``{{name}}`` is its match."""
    preset: dict[str, Any] = json.loads(EXAMPLES["renovate"])
    (manager,) = preset["customManagers"]
    (pattern,) = manager["matchStrings"]
    (file,) = manager["managerFilePatterns"]
    assert re.search(file.strip("/"), "services/rye.toml")
    found = re.findall(
        pattern.replace("(?<", "(?P<"),
        '[dependencies]\n"skill:acme/pdf" = "^1.2"\n"acme/notes/style" = "*"\nname = "x"\n',
    )
    assert found == [("skill", "acme/pdf", "^1.2"), ("", "acme/notes/style", "*")]
    local.release("acme/pdf", "1.2.0")
    for kind in ("skill", ""):
        template = manager["packageNameTemplate"]
        with_kind, without = re.fullmatch(
            r"\{\{#if kind\}\}(.*)\{\{else\}\}(.*)\{\{/if\}\}/\{\{depName\}\}", template
        ).groups()  # type: ignore[union-attr]
        named = f"{with_kind.replace('{{kind}}', kind) if kind else without}/acme/pdf"
        url = preset["customDatasources"]["rye"]["defaultRegistryUrlTemplate"].replace("{{packageName}}", named)
        assert [row["version"] for row in local.get(path_of(url)).json()["releases"]] == ["1.2.0"]
    assert len(EXAMPLES["renovate"].splitlines()) <= 15
