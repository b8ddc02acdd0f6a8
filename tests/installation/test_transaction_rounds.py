"""Changes among other people's files: second rounds, folders that a change made, files that must be as expected, and what a
journal from a hostile repository may undo there (DESIGN 6)."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rye.installation.journal import TransactionError, needs_recovery
from rye.installation.transaction import NOTHING, Change, Round, exclusive
from rye.limits import PROJECT
from rye.project.layout import Project
from tests.installation.test_recovery import at, interrupted, mode, recovered, tree, undo

SKILL = ".claude/skills/acme/pdf/SKILL.md"
OWN = ".claude/settings.json"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Fails what waits for a pipe."""

    def fail(_signal: int, _frame: object) -> None:
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def stopping_at(step: str) -> Callable[[str], None]:
    def stop(name: str) -> None:
        if name == step:
            raise OSError(step)

    return stop


def journal(project: Project, *rows: dict[str, object], old: dict[int, str] | None = None) -> Path:
    work = interrupted(project, [], old=old)
    (work / "journal").write_text(json.dumps(rows))
    return work


def refused(project: Project) -> TransactionError:
    with pytest.raises(TransactionError) as raised:
        undo(project)
    return raised.value


# Whether there is something to undo


def test_whether_a_run_was_interrupted_is_told_without_waiting_for_a_pipe(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    assert needs_recovery(project) is False
    (project.ai / ".rye").mkdir()
    assert needs_recovery(project) is False
    os.mkfifo(project.ai / ".rye" / "journal")
    with without_waiting():
        assert needs_recovery(project) is True


def test_what_cannot_be_opened_as_a_journal_needs_a_look(tmp_path: Path) -> None:
    project = at(tmp_path, {".ai/.rye": "a file"})
    assert needs_recovery(project) is True


# Rounds


def test_a_second_round_sees_the_first_in_place_and_is_part_of_the_same_change(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "old"})
    seen: list[dict[str, str]] = []

    def then() -> Round:
        seen.append(tree(tmp_path))
        return Round([Change("rye.lock", b"newer"), Change(".ai/.rye/stamp", b"1"), Change(".ai/packages/a/x", b"x")])

    with exclusive(project) as writer:
        assert writer.apply([Change(".ai/packages/a/x", b"x"), Change(".ai/.rye/own", b"2")], then) == 2
    assert seen == [{".ai/packages/a/x": "x", "rye.lock": "old"}]
    assert tree(tmp_path) == {".ai/packages/a/x": "x", "rye.lock": "newer"}
    assert (project.ai / ".rye/stamp").read_text() == "1"
    assert (project.ai / ".rye/own").read_text() == "2"


def test_a_second_round_runs_where_the_first_has_nothing_to_do(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "old"})
    with exclusive(project) as writer:
        assert writer.apply([Change("rye.lock", b"old")], lambda: Round([Change("rye.toml", b"new")])) == 1
    assert tree(tmp_path) == {"rye.lock": "old", "rye.toml": "new"}


def test_an_empty_round_writes_no_journal(tmp_path: Path) -> None:
    steps: list[str] = []
    project = at(tmp_path, {"rye.lock": "old"})
    with exclusive(project, step=steps.append) as writer:
        assert writer.apply([], lambda: Round([])) == 0
        assert writer.apply([Change("rye.lock", b"new")], lambda: Round([])) == 1
    assert steps == ["stage 0", "journal", "begin", "move away 0", "move in 0", "commit", "clean"]


@pytest.mark.parametrize("step", ["stage 2", "journal", "begin", "move away 1", "move in 2", "commit"])
def test_a_second_round_that_fails_undoes_the_first(tmp_path: Path, step: str) -> None:
    before = {"rye.lock": "old", ".ai/packages/a/gone": "x", "AGENTS.md": "mine"}
    project = at(tmp_path, before)
    late: list[str] = []

    def stop(name: str) -> None:
        if late and name == step:
            raise OSError(step)

    def then() -> Round:
        late.append("now")
        return Round([Change("AGENTS.md", b"ours"), Change(SKILL, b"new"), Change(".ai/packages/a/gone", None)])

    with pytest.raises(OSError, match=step), exclusive(project, step=stop) as writer:
        writer.apply([Change("rye.lock", b"new")], then)
    assert tree(tmp_path) == before if step != "commit" else True
    undo(project)
    assert tree(tmp_path) == before


def test_a_second_round_that_raises_undoes_the_first(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "old"})

    def then() -> Round:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), exclusive(project) as writer:
        writer.apply([Change("rye.lock", b"new")], then)
    assert tree(tmp_path) == {"rye.lock": "old"}
    assert not needs_recovery(project)


# Folders


def test_folders_that_a_change_empties_are_removed_with_it_and_others_stay(tmp_path: Path) -> None:
    project = at(tmp_path, {SKILL: "x", OWN: "mine"})
    folders = [".claude", ".claude/skills", ".claude/skills/acme", ".claude/skills/acme/pdf", ".none"]
    with exclusive(project) as writer:
        assert writer.apply([Change(SKILL, None)], folders=folders) == 1
    assert tree(tmp_path) == {OWN: "mine"}


def test_folders_are_removed_without_a_change_and_after_a_second_round(tmp_path: Path) -> None:
    project = at(tmp_path, {SKILL: "x"})
    (tmp_path / ".codex/agents").mkdir(parents=True)
    with exclusive(project) as writer:
        assert writer.apply([], folders=[".codex", ".codex/agents"]) == 0
        assert tree(tmp_path) == {SKILL: "x"}
        above = [".claude/skills/acme/pdf", ".claude/skills/acme"]
        assert writer.apply([], lambda: Round([Change(SKILL, None)], above)) == 1
    assert tree(tmp_path) == {".claude/skills/": ""}


def test_no_folder_is_removed_through_a_link(tmp_path: Path) -> None:
    project = at(tmp_path / "project", {"rye.toml": "x"})
    (tmp_path / "outside/empty").mkdir(parents=True)
    (project.root / ".claude").symlink_to(tmp_path / "outside")
    with exclusive(project) as writer:
        writer.apply([], folders=[".claude/empty"])
    assert (tmp_path / "outside/empty").is_dir()


@pytest.mark.parametrize("step", ["move in 0", "commit"])
def test_undoing_removes_exactly_the_folders_that_the_change_made(tmp_path: Path, step: str) -> None:
    project = at(tmp_path, {OWN: "mine"})
    with pytest.raises(OSError, match=step), exclusive(project, step=stopping_at(step)) as writer:
        writer.apply([Change(SKILL, b"new")])
    rows = [{"path": SKILL, "existed": False, "sha256": digest("new")}]
    made = [".claude/skills", ".claude/skills/acme", ".claude/skills/acme/pdf"]
    if step == "commit":
        assert json.loads((project.ai / ".rye/journal").read_text()) == [{**rows[0], "made": made}]
    undo(project)
    assert tree(tmp_path) == {OWN: "mine"}


def test_an_empty_folder_that_was_there_before_stays_after_undoing(tmp_path: Path) -> None:
    project = at(tmp_path, {})
    (tmp_path / ".claude/skills").mkdir(parents=True)
    with pytest.raises(OSError, match="commit"), exclusive(project, step=stopping_at("commit")) as writer:
        writer.apply([Change(SKILL, b"new")])
    undo(project)
    assert tree(tmp_path) == {".claude/skills/": ""}


def test_the_journal_names_no_folders_for_removals_nor_within_rye_own(tmp_path: Path) -> None:
    project = at(tmp_path, {SKILL: "x", "rye.lock": "old"})
    (tmp_path / "sub").mkdir()
    changes = [Change(SKILL, None), Change(".ai/packages/a/b/c", b"x"), Change("sub/deep/rye.toml", b"x")]
    with pytest.raises(OSError, match="commit"), exclusive(project, step=stopping_at("commit")) as writer:
        writer.apply(changes)
    assert json.loads((project.ai / ".rye/journal").read_text()) == [
        {"path": SKILL, "existed": True},
        {"path": ".ai/packages/a/b/c", "existed": False},
        {"path": "sub/deep/rye.toml", "existed": False, "sha256": digest("x"), "made": ["sub/deep"]},
    ]
    undo(project)
    assert tree(tmp_path) == {SKILL: "x", "rye.lock": "old", "sub/": ""}


# Files that must be as expected, and their modes


@pytest.mark.parametrize(
    ("there", "expected"),
    [("mine", digest("other")), ("mine", NOTHING), (None, digest("mine")), ("mine", "-"), (None, "-")],
)
def test_a_file_that_changed_in_the_meantime_is_left_alone(tmp_path: Path, there: str | None, expected: str) -> None:
    before = {"rye.lock": "old"} if there is None else {"rye.lock": "old", "AGENTS.md": there}
    project = at(tmp_path, before)
    changes = [Change("rye.lock", b"new"), Change("AGENTS.md", b"ours", before=expected)]
    with pytest.raises(TransactionError) as raised, exclusive(project) as writer:
        writer.apply(changes)
    assert raised.value.code == "file-changed"
    assert raised.value.message.startswith("AGENTS.md was changed by another program")
    assert tree(tmp_path) == before
    with pytest.raises(TransactionError), exclusive(project) as writer:
        writer.apply([Change("AGENTS.md", None if there else b"ours", before=expected)])
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("there", "expected"), [("mine", digest("mine")), (None, NOTHING), ("mine", None)])
def test_a_file_that_is_as_expected_is_changed(tmp_path: Path, there: str | None, expected: str | None) -> None:
    project = at(tmp_path, {} if there is None else {"AGENTS.md": there})
    with exclusive(project) as writer:
        assert writer.apply([Change("AGENTS.md", b"ours", before=expected)]) == 1
    assert tree(tmp_path) == {"AGENTS.md": "ours"}


def test_a_pipe_is_not_the_file_that_was_expected_and_an_empty_text_replaces_it(tmp_path: Path) -> None:
    """Read without waiting, it looks like an empty file."""
    project = at(tmp_path, {})
    os.mkfifo(tmp_path / "AGENTS.md")
    with without_waiting():
        with pytest.raises(TransactionError, match="changed by another program"), exclusive(project) as writer:
            writer.apply([Change("AGENTS.md", b"", before=digest(""))])
        assert (tmp_path / "AGENTS.md").is_fifo()
        with exclusive(project) as writer:
            assert writer.apply([Change("AGENTS.md", b"")]) == 1
    assert (tmp_path / "AGENTS.md").is_file()


def test_a_file_that_others_edit_as_well_keeps_its_mode(tmp_path: Path) -> None:
    project, umask = at(tmp_path, {"AGENTS.md": "mine"}), os.umask(0o077)
    (tmp_path / "AGENTS.md").chmod(0o764)
    try:
        with exclusive(project) as writer:
            assert writer.apply([Change("AGENTS.md", b"mine", mode=0o764)]) == 0
            assert writer.apply([Change("AGENTS.md", b"ours", mode=0o764)]) == 1
    finally:
        os.umask(umask)
    assert mode(tmp_path / "AGENTS.md") == 0o764


# A hostile journal

MINE = (SKILL, "AGENTS.md", "rye.toml", "rye.lock", "member/rye.toml", ".ai/origins.toml")
"""What a user may have changed since the last commit."""


def test_a_hostile_journal_removes_no_file_of_this_users_own(tmp_path: Path) -> None:
    """It cannot know the content, so it cannot name the hash."""
    for number, path in enumerate(MINE):
        for said in ({}, {"sha256": digest("theirs")}):
            project = at(tmp_path / f"{len(said)}{number}", before := dict.fromkeys(MINE, "mine"))
            journal(project, {"path": path, "existed": False, **said})
            error = refused(project)
            assert error.code == "journal-damaged"
            assert path in error.message
            assert tree(project.root) == before


def test_a_hostile_journal_replaces_no_file_of_this_users_own(tmp_path: Path) -> None:
    for number, path in enumerate(MINE):
        project = at(tmp_path / str(number), before := dict.fromkeys(MINE, "mine"))
        work = journal(project, {"path": path, "existed": True, "sha256": digest("theirs")}, old={0: "evil"})
        assert refused(project).code == "journal-damaged"
        assert tree(project.root) == before
        assert (work / "old/0").read_text() == "evil"


def test_what_the_interrupted_run_wrote_itself_is_undone(tmp_path: Path) -> None:
    project = at(tmp_path, {SKILL: "ours", "AGENTS.md": "ours"})
    journal(
        project,
        {"path": "AGENTS.md", "existed": True, "sha256": digest("ours")},
        {"path": SKILL, "existed": False, "sha256": digest("ours"), "made": [".claude/skills/acme/pdf"]},
        old={0: "mine"},
    )
    undo(project)
    assert tree(tmp_path) == {"AGENTS.md": "mine", ".claude/skills/acme/": ""}


def test_a_folder_or_a_pipe_in_a_deployed_files_place_is_not_what_rye_wrote(tmp_path: Path) -> None:
    project = at(tmp_path, {f"{SKILL}/mine": "mine"})
    journal(project, {"path": SKILL, "existed": True, "sha256": digest("ours")}, old={0: "old"})
    assert refused(project).code == "journal-damaged"
    assert tree(tmp_path) == {f"{SKILL}/mine": "mine"}


@pytest.mark.parametrize(
    "row",
    [
        {"made": ["src"]},
        {"made": [".claude/skills/acme/pdf", "src"]},
        {"made": [""]},
        {"made": [".claude/"]},
        {"made": [".claude/skills/"]},
        {"made": [SKILL]},
        {"made": [".claude/sk"]},
        {"made": "src"},
        {"made": {"src": 1}},
        {"made": [0]},
        {"made": [None]},
        {"path": "1/rye.toml", "made": [1]},
        {"path": "1/rye.toml", "made": {"1": 1}},
        {"sha256": 7},
        {"sha256": ["a"]},
        {"path": OWN},
        {"path": ".git/hooks/pre-commit"},
        {"path": "src/AGENTS.md"},
    ],
)
def test_a_journal_with_a_row_that_no_run_writes_is_refused(tmp_path: Path, row: dict[str, object]) -> None:
    before = {SKILL: "ours", "1/rye.toml": "mine", OWN: "mine", "src/AGENTS.md": "mine"}
    project = at(tmp_path, before)
    (tmp_path / "empty").mkdir()
    journal(project, {"path": SKILL, "existed": False, "sha256": digest("ours"), **row})
    assert refused(project).code == "journal-damaged"
    assert tree(tmp_path) == {**before, "empty/": ""}


def test_a_journal_that_is_a_folder_or_too_large_was_not_written_by_rye(tmp_path: Path) -> None:
    project = at(tmp_path, {"rye.lock": "mine"})
    place = journal(project) / "journal"
    with place.open("wb") as stream:
        stream.truncate(PROJECT.lock_bytes + 1)
    assert refused(project).code == "journal-damaged"
    place.unlink()
    place.mkdir()
    assert refused(project).code == "journal-damaged"
    assert tree(tmp_path) == {"rye.lock": "mine"}


def test_an_honest_row_with_folders_of_its_own_is_accepted(tmp_path: Path) -> None:
    project = at(tmp_path, {SKILL: "ours"})
    made = [".claude", ".claude/skills", ".claude/skills/acme", ".claude/skills/acme/pdf"]
    journal(project, {"path": SKILL, "existed": False, "sha256": digest("ours"), "made": made})
    assert recovered(project) is True
    assert tree(tmp_path) == {}
