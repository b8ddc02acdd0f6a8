"""A release note says the same about an item as the item's bytes do (docs/reference/statements.md, rye.release/v1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.consented import HookAction
from rye.items.identity import Identity
from rye.items.reading import Dependency, Metadata
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

    def test_a_reference_with_a_kind_stands_for_no_other_kind(self) -> None:
        assert may_stand_for(ME, "depends_on", "tool:acme/a/build", Identity("tool", "acme/a/build"))
        assert not may_stand_for(ME, "depends_on", "tool:acme/a/build", Identity("directive", "acme/a/build"))


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

    @pytest.mark.parametrize(
        ("reference", "hint"),
        [
            (
                "tool:acme/t/run",
                "Publish tool:acme/t/run first, or in the same batch. `rye search WORDS` finds existing items.",
            ),
            ("run", "Publish that item first, or write its qualified id: [kind:]namespace/category/name."),
        ],
    )
    def test_the_hint_names_what_to_publish_or_how_to_write_it(self, reference: str, hint: str) -> None:
        metadata = replace(METADATA, dependencies=(Dependency("depends_on", reference),))
        with pytest.raises(RyeError) as caught:
            derived_lines(ME, metadata, lambda found: None)
        assert (caught.value.code, caught.value.hint) == ("unresolved-reference", hint)

    def test_relations_after_one_that_is_information_are_taken_too(self) -> None:
        metadata = replace(
            METADATA, dependencies=(Dependency("suggests", "nice"), Dependency("depends_on", "build", "^1"))
        )
        assert derived_lines(ME, metadata, EVERYTHING).depends_on == (
            Relation("build", Identity("directive", "acme/a/build"), "^1"),
        )

    @pytest.mark.parametrize(
        ("written", "line"), [(None, "*"), ("", "*"), (" \t\n", "*"), ("*", "*"), (" >1 \n <2 ", ">1 <2")]
    )
    def test_a_range_is_one_line_and_none_is_any(self, written: str | None, line: str) -> None:
        metadata = replace(METADATA, dependencies=(Dependency("requires", "docker", written),))
        assert derived_lines(ME, metadata, EVERYTHING).requires == (Relation("docker", None, line),)

    def test_capabilities_are_sorted_and_each_stands_once(self) -> None:
        patterns = tuple(f"rye.execute.tool.{letter}" for letter in "hgfedcbaabcdefgh")
        metadata = replace(METADATA, capabilities=patterns)
        derived = derived_lines(ME, metadata, EVERYTHING).capabilities
        assert derived == tuple(f"rye.execute.tool.{letter}" for letter in "abcdefgh")
        assert contradiction(replace(_release(), capabilities=derived), metadata) is None

    def test_one_reference_with_two_ranges_may_stand_for_two_kinds(self) -> None:
        """The note's lines are sorted by identity before range, the item's by range: the different order is not a mismatch."""
        metadata = replace(
            METADATA, dependencies=(Dependency("depends_on", "build", "<1"), Dependency("depends_on", "build", ">2"))
        )
        noted = (
            Relation("build", Identity("directive", "acme/a/build"), ">2"),
            Relation("build", Identity("tool", "acme/a/build"), "<1"),
        )
        assert contradiction(replace(_release(), depends_on=noted, requires=(), conflicts_with=()), metadata) is None

    def test_an_item_without_a_version_has_the_notes(self) -> None:
        assert contradiction(replace(_release(), version="7.0.0"), replace(METADATA, version=None)) is None

    def test_what_was_derived_contradicts_nothing(self) -> None:
        assert contradiction(_release(), METADATA) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"depends_on": ()}, "depends_on"),
        ({"depends_on": (Relation("build", Identity("directive", "evil/a/build"), "^1.2"),
                         Relation("tool:acme/file-system/read", Identity("tool", "acme/file-system/read")))}, "cannot mean"),
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


@pytest.mark.parametrize(
    ("in_note", "in_item", "said"),
    [
        (
            {"depends_on": ()}, {},
            "its depends_on lines are none, but the item has build ^1.2, tool:acme/file-system/read *",
        ),
        ({}, {"dependencies": ()}, "its depends_on lines are build ^1.2, tool:acme/file-system/read *, but the item has none"),
        ({"capabilities": ()}, {}, "its capabilities are none, but the item has rye.search.*, rye.execute.tool.a"),
        ({}, {"capabilities": ()}, "its capabilities are rye.execute.tool.a, rye.search.*, but the item has none"),
        ({}, {"version": "1.0.1"}, "its version is 1.0.0, but the item's is 1.0.1"),
        ({}, {"name": "y"}, "its id ends in x, but the item's name is y"),
        ({}, {"hooks": ()}, "its hooks are not the item's"),
    ],
)  # fmt: skip
def test_a_contradiction_says_what_the_note_and_what_the_item_has(
    in_note: dict[str, object], in_item: dict[str, object], said: str
) -> None:
    assert contradiction(replace(_release(), **in_note), replace(METADATA, **in_item)) == said
