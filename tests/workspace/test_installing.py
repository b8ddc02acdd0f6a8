"""Installing without a command line: a program passes arguments, answers one question, and gets a value (design/house.md 1)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

import pytest

from rye.consent.ask import Ask
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.installation.transaction import Change, Writer
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import parse_lock
from rye.project.lock_file import Unlock
from rye.workspace.context import LibraryContext
from rye.workspace.installing.adding import add
from rye.workspace.installing.install import install
from rye.workspace.installing.install_outcome import InstallOutcome
from rye.workspace.installing.install_request import Agree, InstallRequest, Proposal
from rye.workspace.installing.install_session import retry_when_overtaken
from rye.workspace.installing.item_listing import item_rows
from rye.workspace.installing.locking import check_lock, relock
from rye.workspace.installing.rolling_back import rollback
from rye.workspace.installing.updating import update
from rye.workspace.trusting.acceptance import accepted_before, remember, remembered
from tests.scenes.approvals import agreed_file
from tests.scenes.directive_text import SHELL
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes

REQUEST = InstallRequest(command="install")


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    author.release("work/top", depends=(("acme/work/base", "^1.0"),))
    author.release("work/shell", permissions=SHELL)
    return author


def no(proposal: Proposal) -> bool:
    return False


def yes(proposal: Proposal) -> bool:
    return True


def context(user: Person, *, assume_yes: bool = False) -> LibraryContext:
    return LibraryContext(cwd=user.folder, home=user.folders, assume_yes=assume_yes)


def added(user: Person, *names: str, agree: Agree = yes) -> InstallOutcome:
    return add(context(user), Project(user.folder), InstallRequest(command="add"), names, "main", agree)


def test_words_go_in_and_a_result_comes_out(user: Person) -> None:
    outcome = added(user, "acme/work/top")
    assert outcome.result == "installed"
    assert [(change.action, str(change.identity)) for change in outcome.changes] == [
        ("add", "directive:acme/work/base"),
        ("add", "directive:acme/work/top"),
    ]
    assert outcome.files_written == 4  # two items, lock and manifest; not what Rye remembers in .ai/.rye
    assert [(row.id, row.state) for row in item_rows(user.folders, user.folder)] == [
        ("acme/work/base", "ok"),
        ("acme/work/top", "ok"),
    ]
    again = install(context(user), Project(user.folder), REQUEST, no)
    assert (again.result, again.changes) == ("in-order", ())


def test_the_face_is_shown_the_plan_once_and_its_no_changes_nothing(user: Person) -> None:
    seen: list[Proposal] = []

    def decline(proposal: Proposal) -> bool:
        seen.append(proposal)
        return False

    with pytest.raises(RyeError) as raised:
        added(user, "acme/work/shell", agree=decline)
    assert raised.value.code == "consent-needed"  # no one can be asked, so this does not count as a person's refusal
    assert [[change.identity.id for change in proposal.waiting] for proposal in seen] == [["acme/work/shell"]]
    assert not user.path("rye.lock").exists()


def test_a_face_cannot_install_by_not_asking(user: Person) -> None:
    """The use case, not the user interface, compares pending rights with approved ones."""
    with pytest.raises(RyeError, match="Approval required"):
        added(user, "acme/work/shell", agree=no)


def test_what_was_agreed_to_is_remembered_before_rye_lock_says_it(user: Person) -> None:
    """Another run can read rye.lock at any moment, and would refuse an approval that is not stored yet."""
    project, waiting = Project(user.folder), []
    apply = Writer.apply

    def looks(writer: Writer, changes: Sequence[Change], *more: Any) -> int:
        for change in changes:
            if change.path == "rye.lock":
                assert change.data is not None
                waiting.append(
                    remembered(user.folders, project).missing(approvals(parse_lock(change.data.decode()).items))
                )
        return apply(writer, changes, *more)

    with mock.patch.object(Writer, "apply", looks):
        added(user, "acme/work/shell")
    assert waiting == [()]


def test_a_crash_before_the_switch_leaves_nothing_that_was_not_agreed_to(user: Person) -> None:
    agreed: list[Proposal] = []

    def agree(proposal: Proposal) -> bool:
        agreed.append(proposal)
        return True

    def crashes(writer: Writer, changes: Sequence[Change], *more: Any) -> int:
        raise KeyboardInterrupt

    project = Project(user.folder)
    with mock.patch.object(Writer, "apply", crashes), pytest.raises(KeyboardInterrupt):
        added(user, "acme/work/shell", agree=agree)
    assert not user.path("rye.lock").exists()
    assert not accepted_before(user.folders, project)
    place = agreed_file(user.folders, project)
    assert place is not None
    remembered = [tuple(json.loads(line)[:2]) for line in place.read_text("utf-8").splitlines()[1:]]
    [shown] = agreed
    assert shown.plan is not None
    names = {str(change.identity) for change in shown.plan.effective} | {"acme"}
    assert {name for name, _ in remembered} <= names
    assert {what for _, what in remembered} <= {"right", "signer", "text", "state", "fact", "run"}
    with pytest.raises(RyeError, match="Approval required"):  # the plan is shown and asked about again
        added(user, "acme/work/shell", agree=no)


def test_runs_that_remember_at_once_lose_nothing(user: Person) -> None:
    project = Project(user.folder)
    each = [Ask(f"skill:acme/{number}", "right", "rye.search.*") for number in range(24)]
    with ThreadPoolExecutor(8) as runs:
        list(runs.map(lambda one: remember(user.folders, project, [one]), each))
    assert remembered(user.folders, project).missing(each) == ()


def test_an_approval_by_name_leaves_nothing_to_ask(user: Person) -> None:
    request = InstallRequest(command="add", approved=("acme/work/shell@1.0.0",))
    waiting: list[int] = []

    def shown(proposal: Proposal) -> bool:
        waiting.append(len(proposal.waiting))
        return False

    outcome = add(context(user), Project(user.folder), request, ["acme/work/shell"], "main", shown)
    assert (outcome.result, waiting) == ("installed", [0])


def test_a_dry_run_asks_nothing_and_writes_nothing(user: Person) -> None:
    outcome = add(
        context(user),
        Project(user.folder),
        InstallRequest(command="add", dry_run=True),
        ["acme/work/shell"],
        "main",
        no,
    )
    assert (outcome.result, len(outcome.changes)) == ("proposed", 1)
    assert not user.path("rye.lock").exists()


def test_update_relock_and_rollback_are_values_too(user: Person) -> None:
    project = Project(user.folder)
    added(user, "acme/work/base")
    assert update(context(user), project, InstallRequest(command="update"), [], yes).changes == ()
    user.write("rye.toml", user.path("rye.toml").read_text() + '"acme/work/top" = "^1"\n')
    assert not check_lock(context(user), project).fits
    assert relock(context(user), project, dry_run=True).changed
    assert not check_lock(context(user), project).fits
    assert relock(context(user), project).items == 2
    assert check_lock(context(user), project).fits
    outcome = rollback(context(user, assume_yes=True), project, InstallRequest(command="rollback"), yes)
    assert [change.action for change in outcome.changes] == ["remove"]


def test_a_run_that_was_overtaken_plans_again(user: Person) -> None:
    tries: list[int] = []

    def attempt() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise RyeError("lock-changed", "changed")
        return "done"

    assert (retry_when_overtaken(context(user), attempt), len(tries)) == ("done", 3)


def test_what_may_move_says_so() -> None:
    one, other = Identity("directive", "acme/a/b"), Identity("tool", "acme/a/b")
    assert [unlock.frees(one) for unlock in (Unlock.nothing(), Unlock.only([one]), Unlock.everything())] == [
        False,
        True,
        True,
    ]
    assert not Unlock.only([one]).frees(other)
    assert [Unlock.only([]).is_nothing, Unlock.everything().is_nothing] == [True, False]


def test_no_use_case_of_an_installation_imports_a_face() -> None:
    code = (
        "import sys\nfrom rye.workspace.installing import adding, auditing, install, install_steps, rolling_back\n"
        "print([name for name in sys.modules if name == 'click' or name.startswith('rye.cli')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
