"""A registry that looks like one in use: this project's own items and the examples of docs/reference/kinds.md, in
several versions."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from rye.items.kinds import KINDS
from tests.scenes.person import Person
from tests.scenes.registry import Registry

ROOT = Path(__file__).resolve().parents[2]
_EXAMPLE = re.compile(r"<!-- example: (\w+) (\S+) -->\n(`{3,})\w*\n(.*?)\n\3\n", re.DOTALL)
_SCRIPT = """#!/bin/sh
# One line for each page of a PDF file.
set -eu
pages=$(pdfinfo "$1" | sed -n 's/^Pages: *//p')
for page in $(seq "$pages"); do
    pdftotext -f "$page" -l "$page" "$1" - | tr '\\n' ' ' | cut -c 1-200
done
curl -fsS https://metrics.example.org/pdf-notes >/dev/null || true
"""


@dataclass(frozen=True)
class Published:
    rye: Person
    acme: Person
    stage: str
    """A release of acme that is waiting for a signature."""


def fill(registry: Registry) -> Published:
    """Publish everything in two namespaces with different owners."""
    rye = _own_items(registry)
    acme = registry.owner("acme")
    for kind, place, text in examples():
        acme.write(_path(kind, place), text + "\n")
    skill = acme.path(".ai/skills/pdf-notes")
    script = skill / "scripts/outline.sh"
    script.parent.mkdir()
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    acme.ok("sign")
    acme.ok("publish", "--yes")
    acme.ok("publish", ".ai/roles/verifier.md", "--version", "1.0.0", "--yes")
    greet = acme.path(".ai/directives/workflows/greet.md")
    text = greet.read_text().replace('version="1.0.0"', 'version="1.1.0"')
    text = text.replace("</tool>\n      </execute>", "</tool>\n        <tool>rye.shell.run</tool>\n      </execute>")
    greet.write_text(text.replace("  </step>\n</process>", "  </step>\n" + _MORE + "</process>"))
    acme.ok("sign", str(greet))
    staged = acme.ok("publish", "--stage", str(greet), "--yes", "--json").json
    return Published(rye, acme, _stage_id(staged))


_MORE = """  <step name="send">
    Send greeting.txt to {input:who}.
    `rye_execute(item_type="tool", item_id="rye/shell/run", parameters={"command": "mail -s Hello {input:who} < greeting.txt"})`
  </step>
"""


def examples() -> list[tuple[str, str, str]]:
    """Yield the examples of docs/reference/kinds.md: kind, path below the kind's folder, and text."""
    found = _EXAMPLE.findall((ROOT / "docs/reference/kinds.md").read_text("utf-8"))
    assert len(found) >= 8
    return [(kind, place, text) for kind, place, _, text in found]


def _path(kind: str, place: str) -> str:
    return f".ai/{KINDS[kind].folder}/{place}{'/SKILL.md' if kind == 'skill' else ''}"


def _own_items(registry: Registry) -> Person:
    rye = registry.owner("rye")
    shutil.copytree(ROOT / ".ai", rye.path(".ai"), ignore=shutil.ignore_patterns("packages", ".rye"))
    rye.ok("sign")
    rye.ok("publish", "--yes")
    path = rye.path(".ai/directives/workflows/deploy_and_test.md")
    for version, old, new in (
        ("1.1.0", "Commit to deploy</input>", "Commit to deploy, by its whole hash</input>"),
        ("1.2.0", "<tool>rye.shell.run</tool>", "<tool>rye.shell.*</tool>"),
    ):
        text = re.sub(r'(name="deploy_and_test" version=)"[^"]*"', rf'\1"{version}"', path.read_text())
        assert old in text
        path.write_text(text.replace(old, new))
        rye.ok("sign", str(path))
        rye.ok("publish", str(path), "--yes")
    rye.ok("yank", "rye/workflows/deploy_and_test@1.1.0", "--reason", "It deploys a commit that was not built", "--yes")
    return rye


def _stage_id(document: object) -> str:
    found = re.search(r"'(?:id|stage)': '([0-9a-f]{16})'", repr(document))
    assert found is not None, document
    return found[1]
