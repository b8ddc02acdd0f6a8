"""What a release note says of an item is what the item's bytes say (docs/protocol.md, rye.release/v1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.reading import Dependency, HookAction, Metadata
from rye.registry.protocol.derivation import candidates, contradiction, derived_lines, may_stand_for, note_description
from rye.registry.protocol.statements import FileEntry, Hook, Relation, Release

ME = Identity("directive", "acme/a/b/x")
METADATA = Metadata(
    name="x",
    version="1.0.0",
    description="Does\n things",
    dependencies=(
        Dependency("depends_on", "build", "^1.2"),
        Dependency("depends_on", "tool:acme/file-system/read"),
        Dependency("requires", "docker"),
        Dependency("conflicts_with", "old", "<2  ||  >3"),
        Dependency("suggests", "nice"),
        Dependency("used_by", "someone"),
    ),
    capabilities=("rye.search.*", "rye.execute.tool.a"),
    hooks=(HookAction("true", "tool", "acme/t/run"), HookAction("false", "tool", "acme/t/run")),
)


def _exists(*ids: str):  # type: ignore[no-untyped-def]
    known = {Identity(*identity.split(":", 1)) for identity in ids}
    return lambda found: next((candidate for candidate in found if candidate in known), None)


EVERYTHING = _exists("directive:acme/a/build", "tool:acme/file-system/read", "directive:acme/a/b/old")


def _release() -> Release:
    lines = derived_lines(ME, METADATA, EVERYTHING)
    return Release(
        "r.example.org", ME, "1.0.0", 1, datetime(2026, 1, 1, tzinfo=UTC), "Does things", FileEntry(".md", 1, "0" * 64),
        depends_on=lines.depends_on, requires=lines.requires, conflicts_with=lines.conflicts_with,
        capabilities=lines.capabilities, hooks=lines.hooks,
    )  # fmt: skip


class TestCandidates:
    def test_a_bare_name_means_the_same_category_then_those_above_then_the_namespace(self) -> None:
        ids = list(dict.fromkeys(candidate.id for candidate in candidates(ME, "name")))
        assert ids == ["acme/a/b/name", "acme/a/name", "acme/name"]

    def test_without_a_kind_the_directive_comes_first_at_each_place(self) -> None:
        assert [candidate.kind for candidate in candidates(ME, "acme/c")][:2] == ["directive", "tool"]
        assert [str(candidate) for candidate in candidates(ME, "tool:acme/c")] == ["tool:acme/c"]

    def test_dashes_and_underscores_are_one_letter(self) -> None:
        assert may_stand_for(ME, "depends_on", "file-system", Identity("tool", "acme/a/file_system"))
        assert not may_stand_for(ME, "depends_on", "filesystem", Identity("tool", "acme/a/file_system"))

    def test_only_a_requirement_without_a_kind_can_be_a_feature(self) -> None:
        assert may_stand_for(ME, "requires", "docker", None)
        assert not may_stand_for(ME, "requires", "tool:docker", None)
        assert not may_stand_for(ME, "depends_on", "docker", None)

    def test_another_namespaces_item_never_stands_for_a_bare_name(self) -> None:
        assert not may_stand_for(ME, "depends_on", "build", Identity("directive", "evil/a/build"))


class TestLines:
    def test_relations_capabilities_and_hooks_are_taken_from_the_item(self) -> None:
        lines = derived_lines(ME, METADATA, EVERYTHING)
        assert lines.depends_on == (
            Relation("build", Identity("directive", "acme/a/build"), "^1.2"),
            Relation("tool:acme/file-system/read", Identity("tool", "acme/file-system/read")),
        )
        assert lines.requires == (Relation("docker", None),)
        assert lines.conflicts_with == (Relation("old", Identity("directive", "acme/a/b/old"), "<2 || >3"),)
        assert lines.capabilities == ("rye.execute.tool.a", "rye.search.*")
        assert lines.hooks == (Hook("tool", "acme/t/run"),)
        assert note_description(METADATA) == "Does things"

    def test_a_dependency_that_nothing_fits_is_an_error(self) -> None:
        with pytest.raises(RyeError) as caught:
            derived_lines(ME, METADATA, lambda found: None)
        assert caught.value.code == "unresolved-reference"

    def test_what_was_derived_contradicts_nothing(self) -> None:
        assert contradiction(_release(), METADATA) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"depends_on": ()}, "depends_on"),
        ({"depends_on": (Relation("build", Identity("directive", "evil/a/build"), "^1.2"),
                         Relation("tool:acme/file-system/read", Identity("tool", "acme/file-system/read")))}, "stand for"),
        ({"depends_on": (Relation("build", Identity("directive", "acme/a/build"), "*"),
                         Relation("tool:acme/file-system/read", Identity("tool", "acme/file-system/read")))}, "depends_on"),
        ({"requires": ()}, "requires"),
        ({"conflicts_with": ()}, "conflicts_with"),
        ({"capabilities": ("rye.search.*",)}, "capabilities"),
        ({"capabilities": ("rye.*", "rye.execute.tool.a", "rye.search.*")}, "capabilities"),
        ({"hooks": ()}, "hooks"),
        ({"version": "1.0.1"}, "version"),
        ({"identity": Identity("directive", "acme/a/b/y")}, "name"),
    ],
)  # fmt: skip
def test_a_note_that_says_otherwise_is_found(changes: dict[str, object], said: str) -> None:
    assert said in (contradiction(replace(_release(), **changes), METADATA) or "")
