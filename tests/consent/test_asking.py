"""One question for everything that needs a yes: who is asked, what they are shown, and what no answer means (DESIGN §7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import Ask, approving
from rye.consent.sorts import approvals
from rye.errors import RyeError
from rye.installation.plan import ItemChange, Plan
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import LockedItem
from rye.storage.home import Home
from rye.workspace.installing.install_request import Agree, Proposal
from rye.workspace.trusting.acceptance import remember
from rye.workspace.trusting.asking import ask, require_named_yes, require_yes
from tests.scenes.approvals import item_change

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SKILL = LockedItem(
    kind="skill",
    id="acme/fs/read",
    version="1.0.0",
    size=12,
    sha256="ab" * 32,
    suffix="SKILL.md",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
    approved=approving(1, right=["rye.load.*"]),
)
"""A skill without rights and tools of its own: nothing limits it."""
LIMITED = replace(SKILL, id="acme/fs/write", capabilities=("rye.load.*",))
UNSEEN = (Ask("skill:acme/fs/read", "right", "rye.load.*"), Ask("skill:acme/fs/write", "right", "rye.load.*"))
NOBODY = RyeError("no-terminal", "No one can be asked.")


class Face:
    """Shows proposals and questions, and answers as told."""

    def __init__(self, *, person: bool = False, yes: bool = False, says: bool = False):
        self.context: Any = SimpleNamespace(assume_yes=yes, interactive=person, now=lambda: NOW, ask=self.question)
        self.says = says
        self.shown: list[Proposal | str] = []

    def agree(self, proposal: Proposal) -> bool:
        self.shown.append(proposal)
        return self.says

    def question(self, text: str) -> bool:
        self.shown.append(text)
        return self.says


def refused(code: str, act: Callable[[], object]) -> RyeError:
    with pytest.raises(RyeError) as raised:
        act()
    assert raised.value.code == code
    return raised.value


# What rye.lock approves and the project changes


def test_a_lock_is_accepted_by_a_person_who_was_shown_it() -> None:
    face = Face(person=True, says=True)
    require_yes(face.context, UNSEEN, face.agree, is_shown=True)
    assert face.shown == [Proposal(plan=None, notes=(), waiting=(), time=NOW, unseen=UNSEEN)]
    no, nobody = Face(person=True), Face(yes=True)
    refused("declined", lambda: require_yes(no.context, UNSEEN, no.agree, is_shown=True))
    refused("project-not-accepted", lambda: require_yes(nobody.context, UNSEEN, nobody.agree, is_shown=True))
    assert (len(no.shown), len(nobody.shown)) == (1, 1)


def test_a_program_is_shown_only_what_it_asked_for_and_nobody_is_asked_about_nothing() -> None:
    nobody = Face(says=True)
    refused("project-not-accepted", lambda: require_yes(nobody.context, UNSEEN, nobody.agree))
    refused("project-not-accepted", lambda: require_yes(Face(person=True).context, UNSEEN, None))
    require_yes(nobody.context, (), nobody.agree, is_shown=True)
    assert nobody.shown == []


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_command_that_asks_no_one_refuses_however_the_terminal_is(is_shown: bool) -> None:
    person = Face(person=True, says=True)
    refused("project-not-accepted", lambda: require_yes(person.context, UNSEEN, None, is_shown=is_shown))


def test_a_person_is_asked_also_where_it_is_shown_to_no_one_else() -> None:
    face = Face(person=True, says=True)
    require_yes(face.context, UNSEEN, face.agree)
    assert len(face.shown) == 1


def test_the_refusal_says_that_a_clone_has_no_mark(home: Home, tmp_path: Path) -> None:
    (tmp_path / "work" / ".ai").mkdir(parents=True)
    project = Project(tmp_path / "work")
    nobody = Face()

    def error(of: Project | None) -> str:
        return refused("project-not-accepted", lambda: require_yes(nobody.context, UNSEEN, None, project=of)).message

    assert "no mark" in error(project)
    assert "no mark" not in error(None)
    remember(home, project, [UNSEEN[0]])
    assert "no mark" not in error(project)


# What a screen shows of the lock's rows


def undeclared(agree: Agree, face: Face, **words: Any) -> tuple[str, ...]:
    ask(face.context, agree, **words)
    proposal = face.shown[-1]
    assert isinstance(proposal, Proposal)
    return proposal.undeclared


def test_an_item_that_nothing_limits_is_named_where_its_row_is_asked_about() -> None:
    face = Face()
    assert undeclared(face.agree, face, unseen=UNSEEN, rows=[SKILL, LIMITED]) == ("skill:acme/fs/read",)
    assert undeclared(face.agree, face, unseen=UNSEEN[1:], rows=[SKILL, LIMITED]) == ()
    assert undeclared(face.agree, face, rows=[SKILL, LIMITED]) == ()
    other = replace(SKILL, id="moon/fs/other")
    assert undeclared(face.agree, face, unseen=tuple(approvals([SKILL])), rows=[other, SKILL]) == (
        "skill:acme/fs/read",
    )


def test_rows_that_the_plan_shows_are_described_there() -> None:
    """So is nothing said twice; what a plan keeps is shown by the question about the lock alone."""
    face = Face()
    shown = item_change("update", SKILL.identity, SKILL, replace(SKILL, version="2.0.0"))
    gone = item_change("remove", LIMITED.identity, LIMITED, None)
    kept = item_change("keep", SKILL.identity, SKILL, SKILL)

    def of(*changes: ItemChange) -> tuple[str, ...]:
        return undeclared(face.agree, face, unseen=UNSEEN, plan=Plan(changes))

    assert of(shown, gone) == ()
    assert of(gone, kept) == ("skill:acme/fs/read",)


def test_a_screen_gets_what_the_caller_knows_of_the_texts() -> None:
    face = Face()
    changed: Any = {Identity("skill", "acme/fs/read"): "two lines"}
    assert ask(face.context, face.agree, notes=["a note"], changed=changed) is False
    proposal = face.shown[0]
    assert isinstance(proposal, Proposal)
    assert (proposal.changed, proposal.notes, proposal.unseen) == (changed, ("a note",), ())


# What a command names itself


def test_yes_in_advance_is_enough_for_what_the_command_names() -> None:
    face = Face(yes=True)
    require_named_yes(face.context, "Approve?", NOBODY, lambda: face.shown.append("shown"))
    assert face.shown == []


def test_a_person_is_shown_what_the_command_names_and_then_asked() -> None:
    face = Face(person=True, says=True)
    require_named_yes(face.context, "Approve?", NOBODY, lambda: face.shown.append("shown"))
    require_named_yes(face.context, "Really?", NOBODY)
    assert face.shown == ["shown", "Approve?", "Really?"]


def test_a_no_and_nobody_to_ask_end_the_command() -> None:
    no, nobody = Face(person=True), Face(says=True)
    refused("declined", lambda: require_named_yes(no.context, "Approve?", NOBODY))
    assert no.shown == ["Approve?"]
    assert refused("no-terminal", lambda: require_named_yes(nobody.context, "Approve?", NOBODY)) is NOBODY
    assert nobody.shown == []
