"""The last value that a statement accepts and the first that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rye.items.identity import Identity
from rye.registry.protocol import statements
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.statements import (
    Advisory,
    AttachedFile,
    Deprecation,
    FileEntry,
    Hook,
    Relation,
    Release,
    Yank,
)
from rye.registry.protocol.statements.grammar import Statement

T = datetime(2026, 1, 1, tzinfo=UTC)
HASH = "0" * 64
DIRECTIVE, SKILL = Identity("directive", "acme/ops/deploy"), Identity("skill", "acme/pdf")
RELEASE = Release("registry.example", SKILL, "1.0.0", 1, T, "Fills in forms", FileEntry("SKILL.md", 3, HASH))
YANK = Yank("registry.example", SKILL, "1.0.0", True, 1, T, "broken")
DEPRECATION = Deprecation("registry.example", SKILL, True, None, 1, T, "old")
ADVISORY = Advisory("registry.example", SKILL, "A-1", "*", "low", 1, T, "it does harm")


@pytest.mark.parametrize("statement", [YANK, DEPRECATION])
def test_a_reason_has_at_most_500_characters(statement: Yank | Deprecation) -> None:
    longest = replace(statement, reason="x" * 500)
    assert statements.parse(longest.text()) == longest
    with pytest.raises(StatementError):
        replace(statement, reason="x" * 501).text()


def test_a_description_has_at_most_300_characters() -> None:
    longest = replace(RELEASE, description="x" * 300)
    assert statements.parse(longest.text()) == longest
    with pytest.raises(StatementError):
        replace(RELEASE, description="x" * 301).text()


@pytest.mark.parametrize("severity", ["low", "medium", "high", "critical"])
def test_every_severity_is_written_and_read(severity: str) -> None:
    text = replace(ADVISORY, severity=severity).text()
    assert f"\nseverity {severity}\n" in text
    read = statements.parse(text)
    assert isinstance(read, Advisory)
    assert read.severity == severity


def test_only_a_kind_with_a_main_file_has_attached_files() -> None:
    directive = replace(RELEASE, identity=DIRECTIVE, file=FileEntry(".md", 3, HASH))
    assert statements.parse(directive.text()) == directive
    with pytest.raises(StatementError, match="cannot have attached files"):
        replace(directive, attached=(AttachedFile("run.sh", 1, HASH),)).text()


@pytest.mark.parametrize("relation", ["depends_on", "conflicts_with"])
def test_only_a_requirement_is_about_something_that_is_no_item(relation: str) -> None:
    feature = Relation("network", None)
    assert statements.parse(replace(RELEASE, requires=(feature,)).text())
    with pytest.raises(StatementError, match="only a `requires` line"):
        replace(RELEASE, **{relation: (feature,)}).text()


def test_what_is_left_out_is_the_least() -> None:
    assert AttachedFile("a", 1, HASH).executable is False
    assert AttachedFile("a", 1, HASH).write() == f"a 1 {HASH} -"
    assert Relation("other", DIRECTIVE).range == "*"


@pytest.mark.parametrize("path", ["console.txt", "com10", "nul_", "x.con", "aux-1", "_", "a-b", "1234", "12345"])
def test_a_path_that_only_resembles_a_device_is_allowed(path: str) -> None:
    release = replace(RELEASE, attached=(AttachedFile(path, 1, HASH),))
    assert statements.parse(release.text()) == release


@pytest.mark.parametrize("path", ["con.a.b", "com1", "lpt9.txt", "x/nul.txt"])
def test_a_device_is_refused_whatever_follows_it(path: str) -> None:
    with pytest.raises(StatementError):
        replace(RELEASE, attached=(AttachedFile(path, 1, HASH),)).text()


def test_an_item_has_a_byte_and_an_attached_file_may_have_none() -> None:
    assert FileEntry.read(f".md 1 {HASH}") == FileEntry(".md", 1, HASH)
    assert AttachedFile.read(f"a 0 {HASH} x") == AttachedFile("a", 0, HASH, executable=True)
    assert AttachedFile.read(f"a 0 {HASH} -") == AttachedFile("a", 0, HASH, executable=False)
    for text in (f".md 0 {HASH}", f".md 1 {HASH} ", f"1 {HASH}", f".md  1 {HASH}"):
        with pytest.raises(StatementError):
            FileEntry.read(text)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (AttachedFile.read, f"{'a' * 79}/. 1 {HASH} -", f"{'a' * 79 + '/'!r} is not a safe relative path"),
        (AttachedFile.read, f"a 1 {HASH} {'X' * 81}", f"{'X' * 80!r} is neither 'x' nor '-'"),
        (AttachedFile.read, f"a 1 {HASH}", f"{f'a 1 {HASH}'[:80]!r} does not have 4 fields"),
        (Relation.read, "other -", "'other -' does not have 3 fields"),
        (Hook.read, f"{'t' * 81} acme/a", f"{'t' * 80!r} is not a type of item that a hook can execute"),
        (Hook.read, "tool", "'tool' does not have 2 fields"),
    ],
)
def test_a_malformed_value_is_named(read: Callable[[str], object], text: str, message: str) -> None:
    with pytest.raises(StatementError) as raised:
        read(text)
    assert raised.value.message == f"Malformed statement: {message}."


def test_a_hook_and_a_relation_are_read_as_they_are_written() -> None:
    for text in ("tool acme/t/run", "directive acme/a"):
        assert Hook.read(text).write() == text
    for text in ("docker - *", "run tool:acme/t/run >=1.0.0 <2.0.0"):
        assert Relation.read(text).write() == text


def test_a_capability_is_at_most_1000_characters_under_rye() -> None:
    for capability in ("rye.*", "rye.~", f"rye.{'x' * 1_000}"):
        release = replace(RELEASE, capabilities=(capability,))
        assert statements.parse(release.text()) == release
    for capability in ("rye.", "rye", "xrye.a", "rye.a b", "ryeXa", f"rye.{'x' * 1_001}"):
        with pytest.raises(StatementError) as raised:
            replace(RELEASE, capabilities=(capability,)).text()
        assert raised.value.message == f"Malformed statement: {capability[:80]!r} is not a capability pattern."


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (("a.txt", "A.txt"), "the attached path 'a.txt' is a duplicate, or the item's own"),
        (("Skill.md",), "the attached path 'Skill.md' is a duplicate, or the item's own"),
        (("SKILL.md/x",), "the attached path 'skill.md/x' is below another attached file"),
        (("a", "A/b/c"), "the attached path 'a/b/c' is below another attached file"),
        (("a/b", "a/b/c"), "the attached path 'a/b/c' is below another attached file"),
    ],
)
def test_attached_paths_that_would_be_one_file_or_lie_in_one_are_named(paths: tuple[str, ...], message: str) -> None:
    with pytest.raises(StatementError) as raised:
        replace(RELEASE, attached=tuple(AttachedFile(path, 1, HASH) for path in paths)).text()
    assert raised.value.message == f"Malformed statement: {message}."


def test_attached_paths_may_share_a_folder_or_the_beginning_of_a_name() -> None:
    paths = ("a/b", "a/c", "ab", "x" * 200)
    release = replace(RELEASE, attached=tuple(AttachedFile(path, 1, HASH) for path in paths))
    assert statements.parse(release.text()) == release


def test_the_name_of_an_items_file_ends_as_its_kind_does() -> None:
    with pytest.raises(StatementError, match=r"a skill's file cannot end in \.md"):
        replace(RELEASE, file=FileEntry(".md", 1, HASH)).text()


def test_lists_are_sorted_whatever_order_they_come_in() -> None:
    a, b = AttachedFile("a", 1, HASH), AttachedFile("b", 1, HASH)
    one, two = Relation("one", DIRECTIVE), Relation("two", SKILL)
    release = replace(RELEASE, attached=(b, a), conflicts_with=(two, one), depends_on=(two, one), requires=(two, one))
    assert release.attached == (a, b)
    assert (release.conflicts_with, release.depends_on, release.requires) == ((one, two),) * 3
    assert replace(RELEASE, attached=[b]).attached == (b,)
    hooks = (Hook("tool", "b"), Hook("tool", "a"), Hook("directive", "c"))
    release = replace(RELEASE, capabilities=("rye.b", "rye.a"), hooks=hooks)
    assert (release.capabilities, release.hooks) == (("rye.a", "rye.b"), hooks[::-1])


def test_a_statement_without_a_form_of_its_own_is_neither_written_nor_read() -> None:
    with pytest.raises(TypeError, match="Statement does not write its lines"):
        Statement("registry.example").lines()
    with pytest.raises(TypeError, match="Statement does not read its lines"):
        Statement.read(None)  # type: ignore[arg-type]


def test_a_statement_s_hash_is_that_of_its_text() -> None:
    assert YANK.sha256() == "317b4926ab9d5e95624bc88835c155f9752b98026e394ca5a59474325916782b"
