"""What this user agreed to in a project: remembered per user and checkout, and nowhere else (DESIGN 6.1, Agreed here).

Everything in a project, rye.lock and the checkout's mark included, can come from a stranger. So these tests ask what a
stranger's file, another user's file, another folder or another project at the same place would be taken for.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent import memory
from rye.consent.agreement import Agreement, not_accepted
from rye.consent.ask import Ask, approving, hook_text, run_text, tool_texts
from rye.consent.customized import Customization, ShownChange
from rye.consent.memory import Memory
from rye.consent.sorts import SORTS, approvals, of_the_lock
from rye.errors import RyeError
from rye.items.consented import HookAction, Run
from rye.project.layout import Project
from rye.project.lock import LockedItem, LockedSource
from rye.registry.store.cache import Cache
from rye.storage import private_files
from rye.storage.home import Home
from rye.storage.opened_folder import OpenedFolder
from rye.storage.safe_files import file_lock
from rye.workspace.trusting.acceptance import (
    accepted_before,
    agreement,
    forget,
    is_unmarked,
    own_record,
    remember,
    remember_or_warn,
    remembered,
    require_remembered,
    trusts_lock,
)
from tests.installation.test_transaction_rounds import without_waiting
from tests.scenes.approvals import agreed_file

HASH = "0123456789abcdef" * 4
RUN = Run("tool-code", "run.py", "python", HASH)
HOOK = HookAction("x > 1", "tool", "acme/ops/alarm")
PLAIN = LockedItem(
    kind="tool",
    id="acme/fs/read",
    version="1.0.0",
    size=12,
    sha256=HASH,
    suffix=".py",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
)
SOURCE = LockedSource(place="run.py", path="../shared")
NAME = "tool:acme/fs/read"
RIGHT = Ask(NAME, "right", "rye.execute.tool.acme.*")
SIGNED = Ask("acme", "signer", "SHA256:a")
MARK = ".ai/.rye/accepted"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "work"
    (root / ".ai").mkdir(parents=True)
    return Project(root)


def _file(home: Home, project: Project) -> Path:
    place = agreed_file(home, project)
    assert place is not None
    return place


# What a lock approves


def test_everything_that_a_row_approves_needs_this_users_consent() -> None:
    item = replace(
        PLAIN,
        approved=approving(
            right=("rye.a", "rye.b"),
            hook=(HOOK,),
            tool=("Bash", "Read"),
            limit=("blocked X", "bash-command git"),
            run=(RUN,),
            fact=("command make",),
        ),
        forced="^1",
    )
    assert approvals([item]) == {
        Ask(NAME, "right", "rye.a"),
        Ask(NAME, "right", "rye.b"),
        Ask(NAME, "hook", "when x > 1: execute tool acme/ops/alarm"),
        Ask(NAME, "tool", "Bash (blocked X; bash-command git)"),
        Ask(NAME, "tool", "Read (blocked X; bash-command git)"),
        Ask(NAME, "run", f"tool-code run.py: python (sha256 {HASH[:32]})"),
        Ask(NAME, "fact", "command make"),
        Ask(NAME, "forced", "^1"),
        Ask("acme", "signer", "SHA256:a"),
    }
    assert approvals([]) == set()


def test_what_an_item_asks_for_is_not_what_its_row_approves() -> None:
    item = replace(PLAIN, capabilities=("rye.a",), hooks=(HOOK,), agent_tools=("Bash",), runs=(RUN,))
    assert approvals([item]) == {Ask("acme", "signer", "SHA256:a")}


def test_the_signer_that_counts_is_the_last_approved_one() -> None:
    """``rye lock`` keeps it beside the signer of the release that no one approved yet."""
    assert approvals([replace(PLAIN, approved=approving(1, "SHA256:b"))]) == {Ask("acme", "signer", "SHA256:b")}
    assert approvals([replace(PLAIN, approved=approving(1, ""))]) == set()
    assert approvals([replace(PLAIN, signer="")]) == set()


def test_a_source_is_approved_item_by_item_because_no_owner_vouches_for_its_namespace() -> None:
    item = replace(PLAIN, source=SOURCE, registry="path+../shared", signer="SHA256:a")
    assert approvals([item]) == {Ask(NAME, "source", "path+../shared")}
    assert approvals([replace(item, approved=approving(1, "path+../shared"))]) == {
        Ask(NAME, "source", "path+../shared")
    }
    assert approvals([replace(item, approved=approving(1, ""))]) == set()


def test_only_forced_versions_are_listed_as_forced() -> None:
    items = [PLAIN, replace(PLAIN, id="acme/fs/write", forced="<2"), replace(PLAIN, id="acme/fs/x", forced="")]
    assert {ask for ask in approvals(items) if ask.sort == "forced"} == {
        Ask("tool:acme/fs/write", "forced", "<2"),
        Ask("tool:acme/fs/x", "forced", ""),
    }


def test_fewer_restrictions_are_another_approval() -> None:
    assert tool_texts(("Bash",), ()) == ["Bash"]
    assert tool_texts(("Bash",), ("blocked X",)) == ["Bash (blocked X)"]
    assert tool_texts((), ()) == []


def test_a_run_is_told_from_another_by_what_where_how_and_its_bytes() -> None:
    assert run_text(RUN) == f"tool-code run.py: python (sha256 {HASH[:32]})"
    others = (
        replace(RUN, what="attached-file"),
        replace(RUN, where="b.py"),
        replace(RUN, action="sh"),
        replace(RUN, sha256="f" + HASH[1:]),
        replace(RUN, sha256=HASH[:31] + "0" + HASH[32:]),
    )
    assert len({run_text(run) for run in (RUN, *others)}) == 6


@pytest.mark.parametrize("letter", "_-/.")
def test_the_characters_of_an_id_stand_in_a_hook_as_they_are(letter: str) -> None:
    assert hook_text(replace(HOOK, item_id=f"a{letter}b")) == f"when x > 1: execute tool a{letter}b"
    assert hook_text(replace(HOOK, item_id=letter)) == f'when x > 1: execute tool "{letter}"'


def test_a_condition_that_reads_like_a_second_action_is_quoted() -> None:
    hook = replace(HOOK, when="x: execute tool acme/a")
    assert hook_text(hook) == 'when "x: execute tool acme/a": execute tool acme/ops/alarm'
    assert hook_text(replace(hook, when="x: execute")) == "when x: execute: execute tool acme/ops/alarm"


def test_a_hooks_words_beyond_an_id_are_quoted() -> None:
    assert hook_text(replace(HOOK, item_id="é")).endswith(' tool "\\u00e9"')
    assert hook_text(replace(HOOK, inputs=(("a", "é"), ("b c", "d")))).endswith(' a="é" "b c"="d"')


def test_customizations_grants_and_the_project_are_not_the_locks() -> None:
    every = [Ask("a", what, "b") for what in [sort.name for sort in SORTS]]
    left_out = {
        "customization",
        "customization-fact",
        "customization-loss",
        "customization-run",
        "customization-state",
        "own-files",
        "own-key",
        "origin",
        "project",
        "grant",
        "state",
        "unsigned-text",
    }
    assert [one.sort for one in of_the_lock(every)] == [
        what for what in [sort.name for sort in SORTS] if what not in left_out
    ]
    assert left_out < {sort.name for sort in SORTS}


@pytest.mark.parametrize(
    ("value", "given", "trusted"),
    [
        *((value, False, True) for value in ("1", "true", "yes", "TRUE", "Yes")),
        *((value, False, False) for value in ("", "0", "no", "false", "2", "on", " 1", "1 ", None)),
        ("0", True, True),
        (None, True, True),
    ],
)
def test_a_lock_is_trusted_only_by_a_clear_yes(value: str | None, given: bool, trusted: bool) -> None:
    environment = {} if value is None else {"RYE_TRUST_LOCK": value}
    context: Any = SimpleNamespace(environment=environment, trust_lock=given)
    assert trusts_lock(context) is trusted


# Memory


def test_what_was_agreed_to_is_not_asked_again_and_everything_else_is(home: Home, project: Project) -> None:
    hook = Ask(NAME, "hook", "when x: execute tool a")
    assert remembered(home, project).missing([RIGHT, hook]) == (hook, RIGHT)
    remember(home, project, [hook])
    assert remembered(home, project).missing([RIGHT, hook]) == (RIGHT,)
    remember(home, project, [RIGHT])
    assert remembered(home, project).missing([RIGHT, hook]) == ()
    assert remembered(home, project).missing([]) == ()
    for other in (replace(hook, item="tool:acme/fs/write"), replace(hook, sort="tool"), replace(hook, text="when y")):
        assert remembered(home, project).missing([hook, other]) == (other,)


def test_questions_come_in_one_order_and_lines_are_kept_in_one(home: Home, project: Project) -> None:
    many = [Ask(f"tool:acme/fs/{letter}", "tool", "Read") for letter in "abcdefghij"]
    assert remembered(home, project).missing(reversed(many)) == tuple(many)
    remember(home, project, reversed(many))
    assert _file(home, project).read_text().splitlines()[1:] == [one.line for one in many]


def test_a_right_within_the_agreed_rights_of_the_same_item_is_not_new(home: Home, project: Project) -> None:
    narrow = Ask(NAME, "right", "rye.execute.tool.acme.read")
    union = Ask(NAME, "right", "rye.search.tool.x")
    remember(home, project, [RIGHT, Ask(NAME, "right", "rye.search.tool.*")])
    assert remembered(home, project).missing([narrow, union]) == ()
    wide = Ask(NAME, "right", "rye.execute.tool.*")
    assert remembered(home, project).missing([narrow, wide]) == (wide,)


def test_a_right_is_not_lent_by_another_item_or_another_sort_of_approval(home: Home, project: Project) -> None:
    narrow = "rye.execute.tool.acme.read"
    others = [
        Ask("tool:acme/fs/write", "right", "rye.execute.*"),
        *(Ask(NAME, what, "rye.execute.*") for what in [sort.name for sort in SORTS] if what != "right"),
    ]
    remember(home, project, others)
    assert remembered(home, project).missing([Ask(NAME, "right", narrow)]) == (Ask(NAME, "right", narrow),)
    remember(home, project, [Ask(NAME, "right", "rye.execute.*")])
    tool = Ask(NAME, "tool", narrow)
    assert remembered(home, project).missing([tool, Ask(NAME, "right", narrow)]) == (tool,)


def test_a_line_that_is_not_an_approval_does_not_end_the_search(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    place = _file(home, project)
    place.write_text(place.read_text() + "nonsense\n[]\n")
    assert remembered(home, project).missing([replace(RIGHT, text="rye.execute.tool.acme.read")]) == ()


def test_the_memory_is_one_private_file_per_folder_that_keeps_every_line(home: Home, project: Project) -> None:
    one, two = Ask("b", "tool", "x"), Ask("a", "tool", 'é"\n')
    remember(home, project, [one])
    remember(home, project, [two])
    mark = project.root / MARK
    first = json.dumps([str(project.root.resolve()), mark.stat().st_mtime_ns])
    place = _file(home, project)
    assert place.parent == project.root.parent / "data" / "accepted"
    assert place.name == hashlib.sha256(mark.read_bytes()).hexdigest()[:32]
    assert mark.stat().st_mode & 0o777 == 0o600
    assert place.read_text() == f'{first}\n["a", "tool", "\\u00e9\\"\\n"]\n["b", "tool", "x"]\n'
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700


def test_what_is_remembered_already_is_not_written_again(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LOCK_SECONDS", 0.05)
    remember(home, project, [RIGHT])
    with file_lock(_file(home, project).parent.with_suffix(".lock"), 1):
        remember(home, project, [RIGHT])
        remember(home, project, [])


def test_another_folder_has_no_part_in_it_and_a_link_to_the_same_one_has(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    link = project.root.parent / "link"
    link.symlink_to(project.root)
    assert remembered(home, Project(link)).missing([RIGHT]) == ()
    other = project.root.parent / "wörk"
    other.mkdir()
    assert remembered(home, Project(other)).missing([RIGHT]) == (RIGHT,)
    remember(home, Project(other), [RIGHT])
    assert remembered(home, Project(other)).missing([RIGHT]) == ()
    first = json.loads(_file(home, Project(other)).read_text().splitlines()[0])
    assert first == [str(other.resolve()), (other / MARK).stat().st_mtime_ns]
    assert own_record(home, project, "accepted") != own_record(home, project, "elsewhere")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_memory_that_others_can_write_counts_for_nothing(home: Home, project: Project, mode: int) -> None:
    remember(home, project, [RIGHT])
    place = _file(home, project)
    for fine in (0o600, 0o644, 0o755):
        place.chmod(fine)
        assert remembered(home, project).missing([RIGHT]) == ()
    place.chmod(mode)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_memory_of_another_user_counts_for_nothing(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(home, project, [RIGHT])
    owner = _file(home, project).stat().st_uid
    monkeypatch.setattr("rye.consent.memory.os.geteuid", lambda: owner + 1)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_link_a_pipe_a_folder_and_what_is_not_text_count_for_nothing(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    place = _file(home, project)
    good = place.rename(place.with_suffix(".good"))
    place.symlink_to(good)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    place.unlink()
    os.mkfifo(place, 0o600)
    with without_waiting():
        assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    writer = os.open(place, os.O_RDWR | os.O_NONBLOCK)
    os.write(writer, good.read_bytes())
    try:
        assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    finally:
        os.close(writer)
    place.unlink()
    place.mkdir(0o700)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    place.rmdir()
    place.write_bytes(good.read_bytes() + b"\xff\n")
    place.chmod(0o600)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_disk_that_fails_counts_for_nothing_and_no_file_stays_open(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(home, project, [RIGHT])
    before = len(os.listdir("/dev/fd"))
    assert remembered(home, project).missing([RIGHT]) == ()

    def fail(*_: object, **__: object) -> None:
        raise OSError("cannot read")

    with monkeypatch.context() as patched:
        patched.setattr("rye.consent.memory.os.fdopen", fail)
        assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    assert len(os.listdir("/dev/fd")) == before


def test_two_runs_that_agree_at_the_same_time_do_not_lose_a_line(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lines are read again under the lock; a lock that no one gives up is an error, not a lost answer."""
    monkeypatch.setattr(memory, "LOCK_SECONDS", 0.05)
    place = home.data / "accepted"
    place.mkdir(parents=True)
    with file_lock(place.with_suffix(".lock"), 1), pytest.raises(RyeError) as raised:
        remember(home, project, [RIGHT])
    assert raised.value.code == "in-use"
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    remember(home, project, [RIGHT])
    assert remembered(home, project).missing([RIGHT]) == ()


def test_forgetting_asks_everything_again(home: Home, project: Project) -> None:
    assert forget(home, project) is False
    remember(home, project, [RIGHT], accepts=True)
    assert forget(home, project) is True
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    assert not accepted_before(home, project)
    assert forget(home, project) is False


# The checkout


def _at(folder: Path) -> Project:
    (folder / ".ai" / ".rye").mkdir(parents=True)
    return Project(folder)


def test_a_checkout_is_accepted_by_its_own_mark(home: Home, project: Project) -> None:
    assert accepted_before(home, project) is False
    remember(home, project, [RIGHT])
    assert accepted_before(home, project) is False
    remember(home, project, [RIGHT], accepts=True)
    assert accepted_before(home, project) is True
    assert '["", "project", "accepted"]' in _file(home, project).read_text().splitlines()
    mark = (project.root / MARK).read_text()
    assert (len(mark), mark.strip("0123456789abcdef")) == (64, "")
    remember(home, project, [replace(RIGHT, text="rye.load.*")], accepts=True)
    assert (project.root / MARK).read_text() == mark
    assert remembered(home, project).missing([RIGHT, replace(RIGHT, text="rye.load.*")]) == ()


@pytest.mark.parametrize("other", [None, "f" * 64, "", "short", "one more", "not hex"])
def test_another_project_in_the_same_folder_inherits_nothing(home: Home, project: Project, other: str | None) -> None:
    remember(home, project, [RIGHT], accepts=True)
    place = project.root / MARK
    mark = place.read_text()
    given = {None: None, "short": mark[:-1], "one more": mark + "0", "not hex": "\u00ff" * 32}.get(other, other)
    place.unlink()
    if given is not None:
        place.write_text(given)
    assert not accepted_before(home, project)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    remember(home, project, [], accepts=True)
    assert accepted_before(home, project)
    assert place.read_text() not in (mark, given)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_moved_folder_keeps_its_agreement_and_its_new_place_is_recorded(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT], accepts=True)
    moved = Project(project.root.rename(project.root.with_name("moved")))
    assert accepted_before(home, moved)
    assert remembered(home, moved).missing([RIGHT]) == ()
    assert json.loads(_file(home, moved).read_text().splitlines()[0])[0] == str(moved.root.resolve())
    copy = Project(Path(shutil.copytree(moved.root, project.root)))
    assert remembered(home, copy).missing([RIGHT]) == (RIGHT,)
    assert remembered(home, moved).missing([RIGHT]) == ()


def _hard_linked(before: Path, after: Path) -> None:
    shutil.copytree(before, after, copy_function=os.link)


@pytest.mark.parametrize("copied", [shutil.copytree, _hard_linked])
def test_a_copy_is_another_checkout_while_the_first_has_the_mark(
    home: Home, project: Project, copied: Callable[[Path, Path], object]
) -> None:
    remember(home, project, [RIGHT], accepts=True)
    copy = Project(project.root.with_name("copy"))
    copied(project.root, copy.root)
    assert not accepted_before(home, copy)
    assert remembered(home, copy).missing([RIGHT]) == (RIGHT,)
    assert not forget(home, copy)
    remember(home, copy, [SIGNED])
    assert (copy.root / MARK).read_text() != (project.root / MARK).read_text()
    assert remembered(home, project).missing([RIGHT, SIGNED]) == (SIGNED,)
    assert remembered(home, copy).missing([RIGHT, SIGNED]) == (RIGHT,)


def test_a_mark_that_a_repository_brings_is_never_taken_over(home: Home, project: Project) -> None:
    """Whoever wrote it would know the mark of what is agreed to next."""
    brought = project.root / MARK
    brought.parent.mkdir()
    brought.write_text("0" * 64)
    remember(home, project, [RIGHT])
    assert brought.read_text() != "0" * 64
    assert remembered(home, project).missing([RIGHT]) == ()


def test_to_know_a_mark_is_not_enough(home: Home, project: Project) -> None:
    """A user commits a mark by mistake, deletes the checkout, and clones whatever was made of the repository."""
    remember(home, project, [RIGHT], accepts=True)
    known = (project.root / MARK).read_bytes()
    shutil.rmtree(project.root)
    for clone in (_at(project.root), _at(project.root.with_name("elsewhere"))):
        (clone.root / MARK).write_bytes(known)
        assert not accepted_before(home, clone)
        assert remembered(home, clone).missing([RIGHT]) == (RIGHT,)


def test_a_mark_that_is_replaced_while_rye_runs_counts_at_the_next_look(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    mark = project.root / MARK
    os.utime(mark, ns=(0, mark.stat().st_mtime_ns + 1))
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_place_that_cannot_be_looked_at_may_still_have_the_mark(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder whose parent was closed to this user: the one that is here may be a copy of it."""
    remember(home, project, [RIGHT], accepts=True)
    before, moved = project.root, Project(project.root.rename(project.root.with_name("moved")))
    real_open, real_read = os.open, os.read
    there: set[int] = set()

    def closed(path: Any, *rest: Any, **named: Any) -> int:
        if str(path).startswith(f"{before}/"):
            raise PermissionError("closed")
        return real_open(path, *rest, **named)

    def opened(path: Any, *rest: Any, **named: Any) -> int:
        if not str(path).startswith(f"{before}/"):
            return real_open(path, *rest, **named)
        descriptor = real_open(os.devnull, os.O_RDONLY)
        there.add(descriptor)
        return descriptor

    def breaks(descriptor: int, most: int) -> bytes:
        if descriptor in there:
            raise OSError("the disk fails")
        return real_read(descriptor, most)

    for open_there, read_there in ((closed, real_read), (opened, breaks)):
        with monkeypatch.context() as patched:
            patched.setattr("rye.consent.memory.os.open", open_there)
            patched.setattr("rye.consent.memory.os.read", read_there)
            assert remembered(home, moved).missing([RIGHT]) == (RIGHT,)
            assert not accepted_before(home, moved)
    for descriptor in there:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    before.write_text("a file, which has no mark")
    assert remembered(home, moved).missing([RIGHT]) == ()


@pytest.mark.parametrize(
    "first",
    ["", "no JSON", "17", "[", "[" * 100_000, '["only the folder"]', "[17, WRITTEN]", '["GONE", 17]', '["\\u0000", 1]'],
)
def test_a_first_line_that_names_no_folder_with_this_mark_is_nobodys_agreement(
    home: Home, project: Project, first: str
) -> None:
    remember(home, project, [RIGHT])
    place = _file(home, project)
    written = json.loads(place.read_text().splitlines()[0])[1]
    given = first.replace("WRITTEN", str(written)).replace("GONE", str(project.root.with_name("gone")))
    place.write_text(f"{given}\n{RIGHT.line}\n")
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    place.write_text(f"{json.dumps([str(project.root.with_name('gone')), written])}\n{RIGHT.line}\n")
    assert remembered(home, project).missing([RIGHT]) == ()


@pytest.mark.parametrize("error", [OSError("full"), RyeError("in-use", "busy")])
def test_a_move_that_cannot_be_recorded_counts_for_nothing(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Otherwise a copy that is made of it now would count as well."""
    remember(home, project, [RIGHT])
    moved = Project(project.root.rename(project.root.with_name("moved")))

    def fails(path: Path, text: str) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(private_files, "write", fails)
        assert remembered(home, moved).missing([RIGHT]) == (RIGHT,)
    assert remembered(home, moved).missing([RIGHT]) == ()


def test_a_file_of_another_user_counts_for_nothing_beside_an_own_mark(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(home, project, [RIGHT])
    place, look = _file(home, project), os.fstat

    def stranger(descriptor: int) -> object:
        found = look(descriptor)
        if found.st_ino != place.stat().st_ino:
            return found
        return SimpleNamespace(st_mode=found.st_mode, st_uid=found.st_uid + 1)

    monkeypatch.setattr("rye.consent.memory.os.fstat", stranger)
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


def test_a_pipe_in_place_of_a_mark_is_no_mark_and_nobody_waits_for_it(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    mark = project.root / MARK
    mark.unlink()
    os.mkfifo(mark, 0o600)
    with without_waiting():
        assert agreed_file(home, project) is None


def test_of_some_sorts_the_last_of_an_item_takes_the_place_of_the_one_before(home: Home, project: Project) -> None:
    first, last = (Ask(NAME, "state", f"{NAME}@{version} a b c") for version in ("1.0.0", "1.1.0"))
    other = Ask(f"{NAME}s", "state", f"{NAME}s@1.0.0 a b c")
    assert remember(home, project, [first, other, RIGHT]) is True
    assert remember(home, project, [last]) is True
    assert remembered(home, project).lines == {last.line, other.line, RIGHT.line}


def test_a_mark_that_is_not_read_as_it_was_written_is_none(home: Home, project: Project) -> None:
    """Another run, or another program, writes one of its own in between: whose agreement this is would be open."""
    place = Memory(home.data / "accepted", project.root)

    def other(text: str) -> None:
        (project.root / MARK).parent.mkdir(exist_ok=True)
        (project.root / MARK).write_text(text[::-1])

    assert place.add([RIGHT], other) is False
    assert place.add([RIGHT], lambda text: None) is False
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


@pytest.mark.parametrize("part", [".ai", ".ai/.rye", MARK])
def test_a_mark_behind_a_link_counts_as_none(home: Home, project: Project, part: str) -> None:
    """A repository that links to a folder of yours which you moved and did not use since."""
    remember(home, project, [RIGHT])
    moved = project.root.rename(project.root.with_name("moved"))
    other = Project(project.root.with_name("other"))
    (other.root / part).parent.mkdir(parents=True)
    (other.root / part).symlink_to(moved / part)
    assert remembered(home, other).missing([RIGHT]) == (RIGHT,)
    assert remembered(home, Project(moved)).missing([RIGHT]) == ()


def test_a_first_folder_that_cannot_be_looked_at_counts_as_there(home: Home, project: Project) -> None:
    remember(home, project, [RIGHT])
    moved = Project(project.root.rename(project.root.with_name("moved")))
    project.root.symlink_to(project.root)
    assert remembered(home, moved).missing([RIGHT]) == (RIGHT,)
    project.root.unlink()
    assert remembered(home, moved).missing([RIGHT]) == ()


def test_a_mark_of_another_user_counts_as_none(home: Home, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(home, project, [RIGHT])
    place = _file(home, project)
    owner = place.stat().st_uid
    monkeypatch.setattr("rye.consent.memory.os.geteuid", lambda: owner + 1)
    assert agreed_file(home, project) is None


def test_what_an_earlier_version_remembered_by_path_counts_for_nothing_and_goes(home: Home, project: Project) -> None:
    old = own_record(home, project, "accepted")
    private_files.make_folder(old.parent)
    private_files.write(old, f'"{project.root.resolve()}"\n{RIGHT.line}\n')
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    remember(home, project, [RIGHT])
    assert not old.exists()


def test_where_no_mark_can_be_written_nothing_is_remembered_and_it_is_said(home: Home, project: Project) -> None:
    (project.root / "elsewhere").mkdir()
    (project.root / ".ai" / ".rye").symlink_to(project.root / "elsewhere")
    assert remember(home, project, [RIGHT], accepts=True) is False
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)
    assert os.listdir(project.root / "elsewhere") == []
    with pytest.raises(RyeError) as raised:
        require_remembered(home, project, [RIGHT])
    assert raised.value.code == "state-unwritable"
    assert MARK in raised.value.message
    assert "--trust-lock" in (raised.value.hint or "")


def test_a_run_that_accepts_what_the_lock_approves_still_reads_what_this_user_agreed_to(
    home: Home, project: Project
) -> None:
    remember(home, project, [RIGHT])

    def in_a_run(trust_lock: bool) -> Agreement:
        context: Any = SimpleNamespace(home=home, trust_lock=trust_lock, environment={})
        return agreement(context, project)

    assert in_a_run(False) == remembered(home, project)
    assert in_a_run(True).lines == remembered(home, project).lines
    assert (in_a_run(False).trusts_lock, in_a_run(True).trusts_lock) == (False, True)


def test_a_checkout_has_no_mark_until_something_is_remembered(home: Home, project: Project) -> None:
    assert is_unmarked(project)
    remember(home, project, [RIGHT])
    assert not is_unmarked(project)


def test_the_bytes_of_a_customization_are_kept_and_its_last_state_is_remembered(home: Home, project: Project) -> None:
    made = Customization(
        shown=".ai/overrides/a.toml", item=NAME, sort="override", sha256=HASH, kept=(b"its bytes", b"more")
    )
    remember(home, project, [Ask(NAME, "customization", made.approval.text, ShownChange(made)), RIGHT])
    assert {made.approval.line, made.state.line, RIGHT.line} == remembered(home, project).lines
    kept = Cache(home.registry_cache)
    for data in made.kept:
        assert kept.get(hashlib.sha256(data).hexdigest()) == data


def test_a_command_that_goes_on_warns_once_where_it_could_not_remember_anything(home: Home, project: Project) -> None:
    warned: list[tuple[str, str]] = []
    context: Any = SimpleNamespace(home=home, warn=lambda message, hint: warned.append((message, hint)))
    remember_or_warn(context, project, [RIGHT])
    require_remembered(home, project, [SIGNED])
    assert warned == []
    assert not accepted_before(home, project)
    shutil.rmtree(project.root / ".ai")
    (project.root / ".ai").mkdir()
    (project.root / ".ai" / ".rye").symlink_to(project.root)
    remember_or_warn(context, project, [], accepts=True)
    assert warned == []
    remember_or_warn(context, project, [RIGHT])
    [(message, hint)] = warned
    assert MARK in message
    assert "--trust-lock" in hint


def test_on_a_disk_that_cannot_be_written_nothing_is_remembered(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_root: OpenedFolder) -> OpenedFolder:
        raise PermissionError("read-only")

    monkeypatch.setattr("rye.workspace.trusting.acceptance.records_in", fail)
    assert remember(home, project, [RIGHT], accepts=True) is False
    assert remember(home, project, []) is True
    assert remembered(home, project).missing([RIGHT]) == (RIGHT,)


# The error where no one can be asked


@pytest.mark.parametrize(
    ("sorts", "said"),
    [
        (("grant", "grant"), "rye.toml grants tools what you have not agreed to"),
        (("right", "signer"), "rye.lock approves what you have not agreed to"),
        (("customization",), "This project changes items, and you have not agreed to that"),
        (("customization", "right"), "This project changes items, and rye.lock approves, what you have not agreed to"),
        (("grant", "right"), "This project changes items, and rye.lock approves, what you have not agreed to"),
    ],
)
def test_the_refusal_says_where_the_approvals_stand(sorts: tuple[str, ...], said: str) -> None:
    error = not_accepted(tuple(Ask(f"tool:a/{number}", what, "v") for number, what in enumerate(sorts)))
    assert error.code == "project-not-accepted"
    first = "v for tool:a/0" if sorts[0] == "customization" else f"tool:a/0 {sorts[0]} v"
    assert error.message.startswith(f"{said}: {first}")
    assert "more" not in error.message


def test_the_refusal_lists_three_counts_the_rest_and_gives_all_to_programs() -> None:
    waiting = tuple(Ask(f"tool:a/{number}", "right", "v") for number in range(5))
    error = not_accepted(waiting)
    assert error.message.endswith("to: tool:a/0 right v; tool:a/1 right v; tool:a/2 right v; and 2 more.")
    assert not_accepted(waiting[:3]).message.endswith("tool:a/2 right v.")
    assert error.details == {"approvals": [{"item": f"tool:a/{n}", "what": "right", "value": "v"} for n in range(5)]}
    assert "rye trust project" in (error.hint or "")
    assert "RYE_TRUST_LOCK=1" in (error.hint or "")


def test_an_acceptance_that_is_revoked_while_another_run_adds_to_it_stays_revoked(
    home: Home, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that adds has read the old lines and writes them back: the revocation waits until it is done."""
    remember(home, project, [RIGHT])
    revoked = threading.Thread(target=forget, args=(home, project))
    write = private_files.write

    def write_late(path: Path, text: str) -> None:
        revoked.start()
        revoked.join(0.2)
        write(path, text)

    monkeypatch.setattr(private_files, "write", write_late)
    remember(home, project, [Ask(NAME, "fact", "later")])
    revoked.join()
    assert remembered(home, project).lines == frozenset()
