"""A release's files have places of their own, whatever its author and its registry agree on."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from rye.installation.verified import verify_files
from rye.items.identity import Identity
from rye.registry.client import ItemFiles
from rye.registry.protocol.statements import AttachedFile, FileEntry, Release
from rye.registry.trust.trust_error import TrustError

SHA256 = "ab" * 32


def files(kind: str, identifier: str, suffix: str, *attached: str) -> ItemFiles:
    """What the client would hand over of such a release; its bytes are never looked at."""
    release = Release(
        "registry.example", Identity(kind, identifier), "1.0.0", 1, datetime(2026, 1, 1, tzinfo=UTC), "x",
        FileEntry(suffix, 1, SHA256), attached=tuple(AttachedFile(path, 1, SHA256) for path in attached),
    )  # fmt: skip
    record: Any = SimpleNamespace(release=release)
    return ItemFiles(record, b"x", dict.fromkeys(attached, b"x"))


@pytest.mark.parametrize(
    ("kind", "identifier", "suffix", "attached"),
    [
        ("skill", "acme/a/b", "SKILL.md", ()),  # would stand in the folder of the skill acme/a
        ("agent", "acme/a/b", ".md", ()),
        ("directive", "acme/a/b", ".md", ("run.sh",)),
        ("directive", "acme/a/b", ".py", ()),
        ("skill", "acme/a", ".md", ()),
        ("skill", "acme/a", "SKILL.md", ("skill.MD",)),
        ("skill", "acme/a", "SKILL.md", ("SKILL.md",)),
        ("skill", "acme/a", "SKILL.md", ("docs/a.md", "Docs/A.md")),
        ("skill", "acme/a", "SKILL.md", ("docs", "docs/a.md")),
        ("skill", "acme/a", "SKILL.md", ("docs/a.md", "docs")),
        ("skill", "acme/a", "SKILL.md", ("SKILL.md/x",)),
    ],
)
def test_a_place_that_is_not_its_own_is_refused(
    kind: str, identifier: str, suffix: str, attached: tuple[str, ...]
) -> None:
    with pytest.raises(TrustError) as caught:
        verify_files(files(kind, identifier, suffix, *attached), (), ())
    assert caught.value.code == "item-misplaced"


def test_a_proper_place_is_not_what_stops_it() -> None:
    with pytest.raises(TrustError) as caught:
        verify_files(files("skill", "acme/a", "SKILL.md", "docs/a.md", "docs/b.md", "docs.md"), (), ())
    assert caught.value.code == "item-invalid"
