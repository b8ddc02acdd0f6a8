"""What only an item's text says finds it, in a registry and among installed items alike."""

from __future__ import annotations

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

SKILL = """\
---
name: scans
description: Reads pictures of hospitals.
metadata:
  version: "1.0.0"
---

# Scans

An MRI is a DICOM file. Open the DICOM files first, then measure.
"""


def found(person: Person, *words: str) -> list[tuple[str, float]]:
    results = person.ok("search", *words, "--json").json["results"]
    return [(row["id"], row["score"]) for row in results]


def test_a_published_and_an_installed_item_are_found_by_their_text_with_one_score(registry: Registry) -> None:
    author = registry.owner("imaging")
    author.write(".ai/skills/scans/SKILL.md", SKILL)
    author.ok("sign", ".ai/skills/scans")
    author.publish(".ai/skills/scans")
    user = registry.user()
    ((name, score),) = found(user, "dicom")
    assert name == "imaging/scans"
    assert 0 < score < 0.66, "less than a name"
    user.ok("add", "imaging/scans", "--yes")
    assert found(user, "dicom", "--local") == [("imaging/scans", score)]
    assert found(user, "dicoms mri") == found(user, "dicoms mri", "--local")
