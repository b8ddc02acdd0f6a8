"""``docs/how-to/changing-skills.md`` tells a true story (:mod:`tests.docs.played_page`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import played_page
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "changing-skills.md"
RELEASES = {
    "1.0.0": ("forms", "Keep the original."),
    "1.1.0": ("better forms", "Keep the original."),
    "1.2.0": ("better forms", "Keep the original, and say where it is."),
}


def publish(author: Person, version: str) -> None:
    prints, rule = RELEASES[version]
    body = f"Fill in PDF forms with scripts/fill.py.\n\n## Rules\n\n{rule}"
    author.write(".ai/skills/pdf/SKILL.md", skill("pdf", body=body).replace('"1.0.0"', f'"{version}"'))
    author.write(".ai/skills/pdf/scripts/fill.py", f'print("{prints}")\n')
    author.write(".ai/skills/pdf/notes.md", "Tested with forms of 2025.\n")
    author.ok("sign", ".ai/skills/pdf")
    author.publish(".ai/skills/pdf")


def test_the_story_is_true(registry: Registry) -> None:
    author, user = registry.owner("acme"), registry.user()
    publish(author, "1.0.0")
    played_page.check(PAGE, user, lambda event: publish(author, event.removeprefix("author publishes ")))


def test_the_story_has_both_ways() -> None:
    commands = played_page.commands(PAGE)
    for name in ("add", "override", "diff", "update", "fork", "sign"):
        assert name in commands, name
