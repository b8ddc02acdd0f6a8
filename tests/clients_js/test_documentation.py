"""The commands of docs/how-to/checking-without-rye.md, typed as they are there, on a registry of this machine."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.clients_js.node import ROOT, node
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PAGE = ROOT / "docs/how-to/checking-without-rye.md"
_BLOCK = re.compile(r"<!-- played: check -->\n```\n(.*?)```", re.DOTALL)


def test_each_command_of_the_page_confirms(registry: Registry, acme: Person) -> None:
    acme.sign("skills/pdf/SKILL.md", skill("pdf"))
    acme.publish(".ai/skills/pdf")
    user = registry.user()
    user.ok("add", "acme/pdf", "--yes")
    user.ok("log", "prove", "acme/pdf@1.0.0", "-o", "pdf.tlog-proof")
    user.write("SKILL.md", acme.path(".ai/skills/pdf/SKILL.md").read_bytes())
    found = _BLOCK.search(PAGE.read_text("utf-8"))
    assert found is not None
    key = ""
    for line in found[1].splitlines():
        typed = line.replace("'rye.example ", f"'{registry.origin} ").replace("https://rye.example", registry.url)
        words = shlex.split(typed.replace("FINGERPRINT", registry.fingerprint).replace("NAME+ID+KEY", key))
        assert words[0] == "node"
        done = node(ROOT / words[1], *words[2:], folder=Path(user.folder))
        assert (done.returncode, done.stdout[:4]) == (0, "ok: "), (line, done.stderr)
        key = key or done.stdout.rpartition("key of its log: ")[2].strip()
