"""A change of many files is complete or has no effect, whenever the program is killed (issue: transaction)."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.installation import journal
from rye.installation.journal import TransactionError, needs_recovery, records_in
from rye.installation.transaction import Change, exclusive
from rye.project.layout import Project
from rye.storage.opened_folder import opened_folder

pytestmark = pytest.mark.processes

CHANGES = [
    Change(".ai/packages/acme/directives/a/kept.md", b"new text"),
    Change(".ai/packages/acme/directives/a/gone.md", None),
    Change(".ai/packages/acme/tools/a/added.sh", b"#!/bin/sh\n", executable=True),
    Change(".ai/origins.toml", b"# Where forks are from\n"),
    Change("rye.lock", b"version = 1\n"),
]


def killed_at(root: Path, number: int) -> bool:
    """Make the changes in a process that is killed at that step; return whether it finished."""
    child = os.fork()
    if child == 0:
        left = iter(range(number))

        def step(_: str) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            with exclusive(Project(root), step=step) as writer:
                writer.apply(CHANGES)
        finally:
            os._exit(0)
    return not os.WIFSIGNALED(os.waitpid(child, 0)[1])


NOBODY = 65534


def as_nobody(work: Callable[[], object]) -> bool:
    """Do this in a process that root's rights do not help; return whether it did not fail."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            if os.geteuid() == 0:
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def before(root: Path) -> Project:
    folder = root / ".ai/packages/acme/directives/a"
    folder.mkdir(parents=True)
    (folder / "kept.md").write_bytes(b"old text")
    (folder / "gone.md").write_bytes(b"leaving")
    return Project(root)


def files(root: Path) -> dict[str, bytes]:
    found = sorted(p for p in root.rglob("*") if p.is_file() and ".rye" not in p.parts)
    return {str(p.relative_to(root)): p.read_bytes() for p in found}


OLD = {".ai/packages/acme/directives/a/kept.md": b"old text", ".ai/packages/acme/directives/a/gone.md": b"leaving"}
NEW = {c.path: c.data for c in CHANGES if c.data is not None}


def test_all_changes_are_made(tmp_path: Path) -> None:
    project = before(tmp_path)
    with exclusive(project) as writer:
        assert writer.apply(CHANGES) == 5
    assert files(tmp_path) == NEW
    assert os.access(tmp_path / ".ai/packages/acme/tools/a/added.sh", os.X_OK)
    assert not (tmp_path / ".ai/.rye/stage").exists()


def test_the_same_changes_again_touch_nothing(tmp_path: Path) -> None:
    project = before(tmp_path)
    with exclusive(project) as writer:
        writer.apply(CHANGES)
        stamp = (tmp_path / "rye.lock").stat().st_mtime_ns
        assert writer.apply(CHANGES) == 0
    assert (tmp_path / "rye.lock").stat().st_mtime_ns == stamp


def test_killed_at_every_step_it_is_before_or_after(tmp_path: Path) -> None:
    outcomes = []
    for count in range(40):
        root = tmp_path / str(count)
        root.mkdir()
        project = before(root)
        finished = killed_at(root, count)
        interrupted = needs_recovery(project)
        with exclusive(project):
            pass
        assert files(root) in (OLD, NEW), f"between, when killed at step {count}"
        if interrupted:
            assert files(root) == OLD
        if finished:
            assert files(root) == NEW
            break
        outcomes.append(files(root) == NEW)
    else:
        pytest.fail("the transaction has more steps than this test kills at")
    assert len(outcomes) >= 10
    assert False in outcomes
    assert True in outcomes


def test_an_interrupted_recovery_can_be_repeated(tmp_path: Path) -> None:
    project = before(tmp_path)
    assert not killed_at(tmp_path, 7)
    assert needs_recovery(project)
    work = tmp_path / ".ai/.rye"
    kept = sorted((work / "old").iterdir())
    assert kept
    rows = json.loads((work / "journal").read_text("utf-8"))
    target = tmp_path / rows[int(kept[-1].name)]["path"]
    target.parent.mkdir(parents=True, exist_ok=True)
    kept[-1].replace(target)  # what a recovery does first, before it is killed
    with exclusive(project):
        pass
    assert files(tmp_path) == OLD


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="folders can only be opened for reading here")
def test_a_folder_that_nobody_can_list_holds_no_run_up() -> None:
    """As with a path: what a run does with named files needs no list of them, and undoing it neither."""
    with tempfile.TemporaryDirectory() as name:  # all can enter the folders above, unlike those of pytest
        root = Path(name)
        root.chmod(0o755)
        project = root / "project"
        project.mkdir(mode=0o777)
        project.chmod(0o777)

        def work() -> None:
            before(project)
            folder = project / ".ai/packages/acme/directives/a"
            folder.chmod(0o311)
            with exclusive(Project(project)) as writer:
                with contextlib.suppress(ZeroDivisionError):
                    writer.apply(CHANGES, lambda: 1 / 0)  # type: ignore[arg-type, return-value]
                assert (folder / "kept.md").read_bytes() == b"old text"
                writer.apply(CHANGES)

        assert as_nobody(work)
        (project / ".ai/packages/acme/directives/a").chmod(0o755)
        assert files(project) == NEW


def test_a_failing_switch_is_undone_at_once(tmp_path: Path) -> None:
    project = before(tmp_path)

    def fail(name: str) -> None:
        if name == "move in 2":
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"), exclusive(project, step=fail) as writer:
        writer.apply(CHANGES)
    assert files(tmp_path) == OLD


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../b", "a\\..\\b", "nul\0byte"])
def test_a_path_out_of_the_project_is_refused(tmp_path: Path, path: str) -> None:
    with exclusive(before(tmp_path)) as writer, pytest.raises((TransactionError, ValueError)):
        writer.apply([Change(path, b"x")])
    assert files(tmp_path) == OLD


def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    project = before(root)
    (root / ".ai/packages/evil").symlink_to(outside)
    with exclusive(project) as writer, pytest.raises(RyeError, match="symbolic link"):
        writer.apply([Change(".ai/packages/evil/x.md", b"x")])
    assert list(outside.iterdir()) == []


def test_a_link_to_the_same_files_does_not_count_as_the_files(tmp_path: Path) -> None:
    """Otherwise what is in them afterwards would be decided elsewhere."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    project = before(root)
    (outside / "x.md").write_bytes(b"x")
    (root / ".ai/packages/evil").symlink_to(outside)
    with exclusive(project) as writer:
        for change in (Change(".ai/packages/evil/x.md", b"x"), Change(".ai/packages/evil/y.md", None)):
            with pytest.raises(RyeError, match="symbolic link"):
                writer.apply([change])


def test_a_file_in_place_of_the_working_folder_is_left_alone(tmp_path: Path) -> None:
    project = before(tmp_path)
    (project.ai / ".rye").write_bytes(b"theirs")
    with pytest.raises(TransactionError, match="was not written by Rye"), exclusive(project):
        pass
    assert (project.ai / ".rye").read_bytes() == b"theirs"


@pytest.mark.parametrize("instead", ["nothing", "a file"])
@pytest.mark.parametrize("hashed", [True, False])
def test_what_is_to_be_removed_may_be_gone_unless_it_was_looked_at(tmp_path: Path, instead: str, hashed: bool) -> None:
    """Its folder disappears between the look and the removal."""
    path, folder = ".ai/packages/acme/gone/x.md", tmp_path / ".ai/packages/acme/gone"
    folder.mkdir(parents=True)
    (folder / "x.md").write_bytes(b"leaving")

    def step(name: str) -> None:
        if name == "begin":
            (folder / "x.md").unlink()
            folder.rmdir()
            if instead == "a file":
                folder.write_bytes(b"theirs")

    change = Change(path, None, before=hashlib.sha256(b"leaving").hexdigest() if hashed else None)
    with exclusive(Project(tmp_path), step=step) as writer:
        if hashed:
            with pytest.raises(TransactionError, match="was changed by another program"):
                writer.apply([change])
        else:
            assert writer.apply([change]) == 1
    assert folder.exists() == (instead == "a file")


def test_a_file_that_takes_the_place_of_a_folder_ends_the_change(tmp_path: Path) -> None:
    folder = tmp_path / ".ai/packages/acme"

    def step(name: str) -> None:
        if name == "begin":
            folder.parent.mkdir(parents=True)
            folder.write_bytes(b"theirs")

    with exclusive(Project(tmp_path), step=step) as writer, pytest.raises(NotADirectoryError):
        writer.apply([Change(".ai/packages/acme/x.md", b"new")])
    assert files(tmp_path) == {".ai/packages/acme": b"theirs"}
    assert not needs_recovery(Project(tmp_path))


@pytest.mark.parametrize("step", ["stage 0", "journal", "begin", "move away 0", "move in 0"])
@pytest.mark.parametrize("data", [b"new", None])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_that_takes_a_folder_s_place_after_the_check_leads_nowhere(
    tmp_path: Path, step: str, data: bytes | None, exists: bool
) -> None:
    """A program that may write in this project alone, such as an agent in a sandbox, has Rye write for it elsewhere."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    (outside / "agents").mkdir(parents=True)
    if exists:
        (outside / "agents/x.md").write_bytes(b"mine")
        (root / ".claude/agents").mkdir(parents=True)
        (root / ".claude/agents/x.md").write_bytes(b"old")
    else:
        (root / ".claude").mkdir(parents=True)

    def swap(name: str) -> None:
        if name == step:
            (root / ".claude").rename(tmp_path / "moved")
            (root / ".claude").symlink_to(outside)

    with contextlib.suppress(RyeError), exclusive(Project(root), step=swap) as writer:
        writer.apply([Change(".claude/agents/x.md", data)])
    assert files(outside) == ({"agents/x.md": b"mine"} if exists else {})


@pytest.mark.parametrize("place", [".ai", ".ai/.rye", ".ai/.rye/stage", ".ai/.rye/old"])
@pytest.mark.parametrize(
    "step", ["stage 1", "stage 2", "journal", "begin", "move away 0", "move in 1", "move in 2", "commit", "clean"]
)
@pytest.mark.parametrize("fails", [True, False])
def test_a_link_that_takes_the_place_of_the_working_folder_leads_nowhere(
    tmp_path: Path, place: str, step: str, fails: bool
) -> None:
    """What waits, what was moved away and what is emptied lay in a folder that was looked up again by its name each time."""
    project = before(tmp_path / "project")
    outside = tmp_path / "outside"
    for folder in ("stage", "old", ".rye/stage", ".rye/old", "."):
        (outside / folder).mkdir(parents=True, exist_ok=True)
        for name in ("0", "1", "2", "journal", "journal.new"):
            (outside / folder / name).write_bytes(b"mine")
    mine = files(outside)
    swapped: list[str] = []

    def swap(name: str) -> None:
        if swapped and fails:
            raise OSError("stopped")
        if name == step and (project.root / place).exists():
            (project.root / place).rename(tmp_path / "moved")
            (project.root / place).symlink_to(outside)
            swapped.append(name)

    changes = [Change("rye.lock", b"new"), Change(".claude/agents/x.md", b"new"), Change(".claude/agents/y.md", None)]
    (project.root / ".claude/agents").mkdir(parents=True)
    (project.root / ".claude/agents/y.md").write_bytes(b"old")
    with contextlib.suppress(RyeError, OSError), exclusive(project, step=swap) as writer:
        writer.apply(changes)
    assert swapped
    assert files(outside) == mine
    assert b"mine" not in {data for path, data in files(project.root).items() if not path.startswith(".ai/")}
    if place == ".ai/.rye":  # what the run moved is in the folder that it opened
        (project.root / place).unlink()
        (tmp_path / "moved").rename(project.root / place)
        with exclusive(project):
            pass
        kept = {path: data for path, data in files(project.root).items() if not path.startswith(".ai/")}
        assert (
            kept[".claude/agents/y.md"] == b"old" if ".claude/agents/x.md" not in kept else kept["rye.lock"] == b"new"
        )


@pytest.mark.parametrize("place", [".ai", ".ai/.rye"])
def test_no_mark_is_written_through_a_link_that_appears(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, outside = before(tmp_path / "project"), tmp_path / "outside"
    outside.mkdir()
    with opened_folder(project.root) as root, records_in(root) as records:
        (project.root / place).rename(tmp_path / "moved")
        (project.root / place).symlink_to(outside)
        records.replace("accepted", b"mark", mode=0o600)
        with pytest.raises(RyeError, match="symbolic link"), records_in(root):
            pass
    assert files(outside) == {}


@pytest.mark.parametrize(
    "rows",
    [
        '[{"path": "../outside", "existed": true}]',
        '[{"path": "/etc/passwd", "existed": true}]',
        '[{"path": ".git/hooks/pre-commit", "existed": true}]',
        '[{"path": ".ai/packages/../../Makefile", "existed": true}]',
        '[{"path": ".ai/packages/a", "existed": 1}]',
        '[{"path": 7, "existed": true}]',
        '["rye.lock"]',
        "{",
        "[" * 100_000,
    ],
)
def test_a_journal_that_rye_did_not_write_moves_nothing(tmp_path: Path, rows: str) -> None:
    project = before(tmp_path / "project")
    work = project.ai / ".rye"
    (work / "old").mkdir(parents=True)
    (work / "old" / "0").write_bytes(b"evil")
    (work / "journal").write_text(rows)
    with pytest.raises(TransactionError) as raised, exclusive(project):
        pass
    assert raised.value.code == "journal-damaged"
    assert files(tmp_path) == {f"project/{path}": data for path, data in OLD.items()}


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("exists", [True, False])
def test_a_link_that_takes_a_folder_s_place_leads_no_recovery_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, exists: bool
) -> None:
    """The same program writes a journal, too, and swaps the folder while the next command undoes it."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    (outside / "agents").mkdir(parents=True)
    if exists:
        (outside / "agents/x.md").write_bytes(b"new")
    (root / ".claude/agents").mkdir(parents=True)
    (root / ".claude/agents/x.md").write_bytes(b"new")
    work = root / ".ai/.rye"
    (work / "old").mkdir(parents=True)
    if kept:
        (work / "old/0").write_bytes(b"evil")
    row = {"path": ".claude/agents/x.md", "existed": kept, "sha256": hashlib.sha256(b"new").hexdigest()}
    (work / "journal").write_text(json.dumps([row]))
    asked = journal._require_written

    def swap(*arguments: Any) -> None:
        asked(*arguments)
        (root / ".claude").rename(tmp_path / "moved")
        (root / ".claude").symlink_to(outside)

    monkeypatch.setattr(journal, "_require_written", swap)
    with contextlib.suppress(RyeError), exclusive(Project(root)):
        pass
    assert files(outside) == ({"agents/x.md": b"new"} if exists else {})


@pytest.mark.parametrize("name", [".gitignore", "lock", "journal", "journal.new", "stage", "old", "anything"])
def test_a_working_folder_holds_no_links(tmp_path: Path, name: str) -> None:
    project = before(tmp_path / "project")
    (project.ai / ".rye").mkdir()
    (project.ai / ".rye" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(RyeError, match="symbolic link"), exclusive(project):
        pass
    assert not (tmp_path / "outside").exists()


def test_a_second_run_is_told_that_the_project_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = before(tmp_path)
    monkeypatch.setattr("rye.installation.transaction.LOCK_SECONDS", 0.05)
    code = (
        "import sys\nfrom pathlib import Path\nfrom rye.installation.transaction import exclusive\n"
        "from rye.project.layout import Project\n"
        "with exclusive(Project(Path(sys.argv[1]))):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(TransactionError) as caught, exclusive(project):
            pass
        assert (caught.value.code, caught.value.details["what"]) == ("in-use", "project")
    finally:
        other.communicate(timeout=10)


@pytest.mark.parametrize("file_first", [True, False])
def test_a_file_becomes_a_folder_and_a_folder_a_file(tmp_path: Path, file_first: bool) -> None:
    one = [Change(".ai/packages/a/docs", b"file"), Change(".ai/packages/a/docs/deep/x", None)]
    other = [Change(".ai/packages/a/docs/deep/x", b"inside"), Change(".ai/packages/a/docs", None)]
    old, new = (one, other) if file_first else (other, one)
    project = Project(tmp_path)
    (tmp_path / ".ai").mkdir()
    with exclusive(project) as writer:
        writer.apply(old)
    before_it = files(tmp_path)
    for stop in range(12):

        def fail(name: str, counter: list[int] = [stop]) -> None:  # noqa: B006  counts down across calls on purpose
            counter[0] -= 1
            if counter[0] < 0 and not name.startswith(("commit", "clean")):
                raise OSError(name)

        with exclusive(project, step=fail) as writer:
            try:
                writer.apply(new)
            except OSError:
                assert files(tmp_path) == before_it
                continue
        break
    assert files(tmp_path) == {change.path: change.data for change in new if change.data is not None}
