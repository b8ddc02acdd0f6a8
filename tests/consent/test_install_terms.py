"""What an installation takes from rye.lock, what it asks this user about, and what their answer makes of both (DESIGN 6.1, §7).

Anyone who can commit writes rye.lock and rye.toml, so what they approve is asked about once on each machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.agreement import MovedRow, byte_approval, byte_approvals, bytes_hash
from rye.consent.ask import Ask, approving
from rye.consent.changes import Asked
from rye.consent.sorts import approvals
from rye.errors import RyeError, UsageError
from rye.installation.install import Prepared
from rye.installation.plan import Consent, ItemChange, Plan, make_plan
from rye.items.consented import Run
from rye.items.identity import Identity
from rye.items.signed_release import Mention, SignedRelease
from rye.permissions.risk import Tier
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, LockedSource
from rye.project.lock_file import item_folder, item_path
from rye.project.manifest import Manifest
from rye.project.user_config import OtherPolicies
from rye.storage.home import Home
from rye.text.facts.fact import RULES_VERSION
from rye.verified.release import VerifiedItem
from rye.workspace.installing.consent import Agreed, Terms, obtain_agreement, obtain_consent, stopped
from rye.workspace.installing.install_request import InstallRequest, LockUse, Proposal, ProposedText
from rye.workspace.installing.install_session import InstallSession
from rye.workspace.installing.moved_texts import MovedTexts
from rye.workspace.installing.project_state import ProjectState
from rye.workspace.trusting.acceptance import remember
from tests.scenes.approvals import item_change, with_asks

NOW = datetime(2026, 1, 2, tzinfo=UTC)
CODE, SCRIPT = b"def execute(params):\n    return 1\n", b"#!/bin/sh\n"


def hashed(data: bytes) -> str:
    return sha256(data).hexdigest()


ROW = LockedItem(
    kind="skill",
    id="acme/read",
    version="1.0.0",
    size=len(CODE),
    sha256=hashed(CODE),
    suffix="SKILL.md",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
    attached=(LockedFile("run.sh", len(SCRIPT), hashed(SCRIPT)),),
    capabilities=("rye.load.*",),
    groups=("main",),
)
NAME = "skill:acme/read"
APPROVED = replace(ROW, approved=approving(RULES_VERSION, right=ROW.capabilities))
NO_MOVES = MovedTexts()
RIGHT = Ask(NAME, "right", "rye.load.*")
SIGNER = Ask("acme", "signer", "SHA256:a")
OTHER = replace(ROW, id="acme/write", attached=(), capabilities=())
LATER = replace(ROW, version="1.1.0", sha256=hashed(b"new"), size=3)
ALARM = Mention("command", "rm -rf", "alarm", "a.md", 3)
GIT = LockedSource(place="SKILL.md", git="https://git.example/x", ref="HEAD", commit="1" * 40, tree="2" * 40)


def of_source(source: LockedSource, row: LockedItem = ROW, signer: str | None = None) -> LockedItem:
    return replace(row, registry=source.origin, log=0, keyset=0, signer=signer or source.origin, source=source)


def verified(row: LockedItem, data: bytes = CODE, release: SignedRelease | None = None) -> VerifiedItem:
    """An item that passed every check."""
    said = release or SignedRelease(capabilities=row.capabilities)
    return VerifiedItem(row, said, None, data, {file.path: SCRIPT for file in row.attached})  # type: ignore[arg-type]


class Attempt:
    """One run in a project that nobody accepted."""

    def __init__(
        self, base: Path, *, person: bool = False, yes: bool = False, trusts: bool = False, says: bool = False
    ):
        self.project = Project(base / "work")
        self.project.ai.mkdir(parents=True, exist_ok=True)
        self.home = Home(
            base / "config", base / "data", base / "cache", system_space=base / "none", own_items=base / "no"
        )
        self.says = says
        self.shown: list[Proposal] = []
        self.warned: list[tuple[str, str]] = []
        self.context: Any = SimpleNamespace(
            home=self.home, assume_yes=yes, interactive=person, trust_lock=trusts, environment={}, now=lambda: NOW,
            warn=lambda *words: self.warned.append(words), tell=lambda *words: None,
        )  # fmt: skip

    def agree(self, proposal: Proposal) -> bool:
        self.shown.append(proposal)
        return self.says

    def session(
        self, lock: Lock | None = None, use: LockUse = "repair", approve: tuple[str, ...] = (), **request: Any
    ) -> InstallSession:
        state = ProjectState(
            project=self.project, manifest_text="", lock=lock or Lock(), lock_bytes=b"" if lock is not None else None
        )
        return InstallSession(
            context=self.context,
            request=InstallRequest(command="rye install", approved=approve, lock_use=use, **request),
            agree=self.agree,
            before=state,
            manifest_text="",
            manifest=Manifest(),
            members=(),
            policies=OtherPolicies(),
        )

    def agreed(
        self,
        items: Iterable[VerifiedItem],
        lock: Lock | None = None,
        moves: MovedTexts = NO_MOVES,
        plan: Plan | None = None,
        **request: Any,
    ) -> Agreed | None:
        prepared = preparing(items, lock, plan)
        return obtain_agreement(self.session(lock, **request), prepared, ["a note"], moves)

    def refusal(self, *arguments: Any, **words: Any) -> RyeError:
        with pytest.raises(RyeError) as raised:
            self.agreed(*arguments, **words)
        return raised.value

    def unseen(self, *arguments: Any, **words: Any) -> set[Ask]:
        """What the run asks about besides the plan."""
        before = len(self.shown)
        with pytest.raises(RyeError):
            self.agreed(*arguments, **words)
        (shown,) = self.shown[before:]
        return set(shown.unseen)


def preparing(items: Iterable[VerifiedItem], lock: Lock | None = None, plan: Plan | None = None) -> Prepared:
    found = {item.locked.identity: item for item in items}
    rows = [item.locked for item in found.values()]
    return Prepared(
        plan=plan or make_plan(lock or Lock(), rows),
        items=found,
        unasked=(),
        wanted={NAME: "*"},
        warnings=(),
        heads={},
    )


# Who agreed, and what is remembered


def test_a_yes_is_remembered_with_the_bytes_and_their_signers(tmp_path: Path) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    found = run.agreed([verified(ROW), verified(OTHER)])
    assert found is not None
    assert found.lock.by_identity().keys() == {ROW.identity, OTHER.identity}
    row = found.lock.by_identity()[ROW.identity]
    assert row.approved.of("right") == ("rye.load.*",)
    assert found.asks == approvals(found.lock.items) | byte_approvals(found.lock.items)
    assert RIGHT in found.asks
    assert found.signers == {"SHA256:a"}
    assert found.accepts
    (shown,) = run.shown
    assert (shown.notes, shown.unseen) == (("a note",), ())


def test_a_dry_run_ends_with_nothing(tmp_path: Path) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    assert run.agreed([verified(ROW)], dry_run=True) is None
    assert len(run.shown) == 1


def test_what_the_lock_approves_is_relied_on_once_this_user_agreed_to_it(tmp_path: Path) -> None:
    lock = Lock({NAME: "*"}, (APPROVED,))
    run = Attempt(tmp_path, yes=True)
    assert run.unseen([verified(ROW)], lock) == {RIGHT, SIGNER}
    said = Attempt(tmp_path, person=True, says=True).agreed([verified(ROW)], lock)
    assert said is not None
    assert said.asks == {RIGHT, SIGNER} | byte_approvals([APPROVED])
    remember(run.home, run.project, [RIGHT, SIGNER])
    again = run.agreed([verified(ROW)], lock)
    assert again is not None
    assert again.asks == byte_approvals([APPROVED])
    assert again.accepts


def test_whoever_trusts_the_lock_remembers_nothing_of_it_and_no_signer_that_it_brings(tmp_path: Path) -> None:
    lock = Lock({NAME: "*"}, (APPROVED,))
    run = Attempt(tmp_path, yes=True, trusts=True)
    found = run.agreed([verified(ROW)], lock)
    assert found is not None
    assert (found.asks, found.signers, found.accepts) == (frozenset(), frozenset(), False)
    new = replace(OTHER, signer="SHA256:b", id="other/x", capabilities=("rye.search.*",))
    found = run.agreed([verified(ROW), verified(new)], lock)
    assert found is not None
    assert found.asks == {Ask("skill:other/x", "right", "rye.search.*"), Ask("other", "signer", "SHA256:b")}
    assert found.signers == {"SHA256:b"}
    sourced = of_source(GIT, APPROVED, "SHA256:c")
    found = run.agreed([verified(of_source(GIT, ROW, "SHA256:c"))], Lock({NAME: "*"}, (sourced,)))
    assert found is not None
    assert found.signers == {"SHA256:c"}  # its source is the team's, which nobody agreed to here


def test_the_frozen_lock_stays_as_it_is_and_only_what_was_shown_is_remembered(tmp_path: Path) -> None:
    lock = Lock({NAME: "*"}, (APPROVED, replace(OTHER, groups=("dev",), signer="SHA256:b", id="dev/x")))
    run = Attempt(tmp_path, person=True, says=True)
    found = run.agreed([verified(ROW)], lock, use="frozen", without=frozenset({"dev"}), plan=Plan(()))
    assert found is not None
    assert found.lock is lock
    (shown,) = run.shown
    assert set(shown.unseen) == {RIGHT, SIGNER}
    assert found.asks == {RIGHT, SIGNER} | byte_approvals([APPROVED])
    whole = run.agreed([verified(ROW)], lock, use="frozen", plan=Plan(()))
    assert whole is not None
    assert whole.asks == {RIGHT, SIGNER, Ask("dev", "signer", "SHA256:b")} | byte_approvals(lock.items)


def test_the_bytes_of_groups_that_are_left_out_are_not_agreed_to(tmp_path: Path) -> None:
    dev = replace(OTHER, groups=("dev",))
    found = Attempt(tmp_path, person=True, says=True).agreed([verified(ROW), verified(dev)], without=frozenset({"dev"}))
    assert found is not None
    assert byte_approval(ROW) in found.asks
    assert byte_approval(dev) not in found.asks


def test_signers_and_repositories_are_remembered_for_all_projects_and_folders_for_none(tmp_path: Path) -> None:
    rows = [
        ROW,
        of_source(GIT, replace(OTHER, id="git/x"), "SHA256:c"),
        of_source(LockedSource(place="SKILL.md", path="../shared"), replace(OTHER, id="folder/x"), "SHA256:d"),
        of_source(LockedSource(place="SKILL.md", path="../live", editable=True), replace(OTHER, id="live/x")),
    ]
    gone = replace(OTHER, id="gone/x", signer="SHA256:e")
    run = Attempt(tmp_path, person=True, says=True)
    found = run.agreed(map(verified, rows), Lock({}, (replace(gone, approved=approving(RULES_VERSION)),)))
    assert found is not None
    assert found.signers == {"SHA256:a", GIT.origin, "SHA256:c", "SHA256:d"}


def test_terms_give_what_the_rows_approve_beyond_the_lock_and_what_was_shown() -> None:
    terms = Terms(relied=frozenset({SIGNER}), unseen=(Ask(NAME, "hook", "x"),))
    assert terms.given_by([APPROVED]) == {RIGHT, Ask(NAME, "hook", "x")}
    assert terms.given_by([]) == {Ask(NAME, "hook", "x")}


# What is asked besides the plan


def test_customizations_alarms_and_moved_texts_are_asked_about_with_the_lock(tmp_path: Path) -> None:
    run = Attempt(tmp_path, yes=True)
    older = replace(APPROVED, approved=approving(RULES_VERSION - 1))
    overrides = run.project.ai / "overrides/acme/read.overrides.md"
    overrides.parent.mkdir(parents=True)
    overrides.write_text("---\nagent: read\n---\n")
    path = run.project.root / item_path(ROW)
    path.parent.mkdir(parents=True)
    path.write_bytes(CODE)
    moved = MovedRow(row=ROW, before="skill:acme/read@0.9.0", is_unseen=True, is_comparable=True)
    release = SignedRelease(mentions=(ALARM,))
    item = verified(replace(ROW, capabilities=()), release=release)
    found = run.unseen([item], Lock({NAME: "*"}, (older,)), MovedTexts(asked=(moved,)))
    assert {one.sort for one in found} == {"signer", "fact", "text", "customization", "unsigned-text"}
    assert moved.needs in found
    assert Ask(NAME, "fact", "command rm -rf") in found
    assert byte_approval(ROW) in found


def test_late_alarms_in_bytes_that_were_agreed_to_are_told_and_an_approval_by_name_answers_them(tmp_path: Path) -> None:
    older = replace(APPROVED, approved=approving(RULES_VERSION - 1, right=ROW.capabilities))
    lock, item = Lock({NAME: "*"}, (older,)), verified(ROW, release=SignedRelease(mentions=(ALARM,)))
    run = Attempt(tmp_path, yes=True)
    for name in (f"{NAME}@1.0.0", "acme/read@1.0.0"):
        assert run.unseen([item], lock, approve=(name,)) == {RIGHT, SIGNER}
    assert run.unseen([item], lock) == {RIGHT, SIGNER, Ask(NAME, "fact", ALARM.word), byte_approval(ROW)}
    assert run.warned == []
    remember(run.home, run.project, [RIGHT, SIGNER, byte_approval(ROW), Ask(NAME, "fact", ALARM.word)])
    assert run.agreed([item], lock) is not None
    ((said, hint),) = run.warned
    assert said.endswith(f"{NAME} names the command: rm -rf")
    assert f"--approve {NAME}@1.0.0" in hint
    assert run.agreed([item], lock, approve=(f"{NAME}@1.0.0",)) is not None
    assert run.agreed([verified(ROW)], lock) is not None
    assert len(run.warned) == 1
    pulled = verified(LATER, b"new", SignedRelease(mentions=(ALARM,), capabilities=ROW.capabilities))
    run.agreed([pulled], lock)
    assert len(run.warned) == 1, "another text is in the plan"


def test_what_rye_toml_forces_is_asked_about_at_first_contact(tmp_path: Path) -> None:
    forced = replace(ROW, forced="^1", capabilities=())
    asked = Ask(NAME, "forced", "^1")
    approved = replace(forced, approved=approving(RULES_VERSION))
    run = Attempt(tmp_path, yes=True)
    fresh = run.agreed([verified(forced)])
    assert fresh is not None, "without a lock, every item is new and shown"
    assert run.unseen([verified(forced)], Lock()) == {asked}
    person = Attempt(tmp_path, person=True)
    assert person.unseen([verified(forced)]) == {asked}
    assert run.unseen([verified(forced)], Lock({NAME: "*"}, (approved,))) == {asked, SIGNER}
    remember(run.home, run.project, [], accepts=True)
    assert run.agreed([verified(forced)], Lock()) is not None
    assert run.unseen([verified(forced)], Lock({NAME: "*"}, (approved,))) == {asked, SIGNER}


def test_a_checkout_without_a_mark_is_told_so(tmp_path: Path) -> None:
    lock = Lock({NAME: "*"}, (APPROVED,))
    run = Attempt(tmp_path, yes=True)
    for use in ("repair", "frozen"):
        assert "This checkout has no mark" in run.refusal([verified(ROW)], lock, use=use).message
    remember(run.home, run.project, [SIGNER])
    for use in ("repair", "frozen"):
        assert "no mark" not in run.refusal([verified(ROW)], lock, use=use).message


# What a person can read before the answer


def texts(run: Attempt) -> list[tuple[str, str, bytes, bytes | None]]:
    (shown,) = run.shown
    return [(one.item, one.path, one.data, one.before) for one in shown.texts]


def installed(run: Attempt, row: LockedItem = ROW, data: bytes = CODE) -> None:
    own = run.project.root / item_path(row)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_bytes(data)
    for file in row.attached:
        (run.project.root / item_folder(row) / file.path).write_bytes(SCRIPT)


def test_the_files_of_new_items_and_of_updates_are_shown_with_what_they_replace(tmp_path: Path) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    installed(run)
    kept, gone = replace(OTHER, id="acme/kept"), replace(OTHER, id="acme/gone")
    lock = Lock({}, tuple(replace(row, approved=approving(RULES_VERSION)) for row in (APPROVED, kept, gone)))
    added = replace(OTHER, id="acme/added")
    run.agreed([verified(LATER, b"new"), verified(kept), verified(added, b"added")], lock)
    assert texts(run) == [
        ("skill:acme/added 1.0.0", "", b"added", None),
        (f"{NAME} 1.1.0", "", b"new", CODE),
        (f"{NAME} 1.1.0", "run.sh", SCRIPT, SCRIPT),
    ]
    (shown,) = run.shown
    assert shown.changed.keys() == {ROW.identity}
    assert (shown.changed[ROW.identity].added, shown.changed[ROW.identity].removed) == (1, 3)


def test_a_first_installation_has_nothing_to_compare(tmp_path: Path) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    run.agreed([verified(OTHER)])
    (shown,) = run.shown
    assert shown.changed == {}
    assert shown.texts == (ProposedText("skill:acme/write 1.0.0", "", CODE),)


@pytest.mark.parametrize(
    ("was", "now", "is_shown"),
    [
        ({"approved": approving(RULES_VERSION, "")}, {}, True),
        ({"approved": approving(RULES_VERSION, "SHA256:a", right=ROW.capabilities)}, {}, False),
        ({"approved": approving(RULES_VERSION, "SHA256:a", right=ROW.capabilities), "forced": "^1"}, {}, True),
        ({"approved": approving(RULES_VERSION, right=ROW.capabilities), "forced": "^1"}, {}, False),
        ({"approved": approving(RULES_VERSION)}, {}, False),
    ],
    ids=["asks", "nothing new", "forced anew", "installed, forced anew", "installed, asks"],
)
def test_the_files_of_an_item_that_rye_lock_chose_are_shown_where_something_is_asked(
    tmp_path: Path, was: dict[str, Any], now: dict[str, Any], is_shown: bool
) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    installed(run, data=b"before")
    run.agreed([verified(replace(ROW, **now))], Lock({NAME: "*"}, (replace(ROW, **was),)))
    shown = [(f"{NAME} 1.0.0", "", CODE, b"before"), (f"{NAME} 1.0.0", "run.sh", SCRIPT, SCRIPT)]
    assert texts(run) == (
        [] if not is_shown else shown if was["approved"].is_pending else [(*one[:3], None) for one in shown]
    )


def test_a_moved_text_is_shown_with_what_was_agreed_to_last(tmp_path: Path) -> None:
    run = Attempt(tmp_path, person=True, says=True)
    installed(run, data=b"agreed")
    before = bytes_hash(hashed(b"agreed"), [("run.sh", hashed(SCRIPT))])
    moved = MovedRow(
        row=ROW,
        before=f"{NAME}@0.9.0",
        is_unseen=True,
        is_comparable=True,
        bytes_before=before,
        own_before=hashed(b"agreed"),
    )
    lock = Lock({NAME: "*"}, (APPROVED, replace(OTHER, approved=approving(RULES_VERSION))))
    run.agreed([verified(ROW), verified(OTHER)], lock, MovedTexts(asked=(moved,)))
    assert texts(run) == [
        (f"{NAME} 1.0.0", "", CODE, b"agreed"),
        (f"{NAME} 1.0.0", "run.sh", SCRIPT, SCRIPT),
    ]


def test_the_bytes_of_a_text_that_nobody_agreed_to_are_not_remembered(tmp_path: Path) -> None:
    left = MovedTexts(left=(MovedRow(row=ROW, before=None, is_unseen=True, is_comparable=False),))
    lock = Lock({NAME: "*"}, (APPROVED, replace(OTHER, approved=approving(RULES_VERSION))))
    found = Attempt(tmp_path, person=True, says=True).agreed([verified(ROW), verified(OTHER)], lock, left)
    assert found is not None
    assert byte_approval(ROW) not in found.asks
    assert byte_approval(OTHER) in found.asks


# What --yes leaves out


RIGHTS = Asked("rye.execute.*", Tier.UNRESTRICTED, "rye.execute.tool.a")
OLD = replace(ROW, approved=approving(RULES_VERSION), attached=())
WIDER = item_change("update", ROW.identity, OLD, LATER, asks=(RIGHTS,))


def added(name: str, *needs: str) -> LockedItem:
    return replace(OTHER, id=f"acme/{name}", dependencies=tuple(f"skill:acme/{each}" for each in needs))


def left_out(run: Attempt, changes: Iterable[ItemChange], **request: Any) -> dict[str, str]:
    plan = Plan(tuple(changes))
    rows = [change.new for change in plan.changes if change.new is not None]
    found = stopped(run.session(**request), preparing(map(verified, rows), plan=plan))
    return {str(one.change.identity): one.why for one in found}


def test_yes_leaves_out_what_stops_and_whatever_needs_it(tmp_path: Path) -> None:
    rows = [added("c", "b"), added("b", "x", "read", "y"), added("d"), added("e", "d"), added("a", "c", "read")]
    quiet = [item_change("add", row.identity, None, row) for row in rows]
    asks = item_change("add", Identity("skill", "acme/f"), None, added("f"), asks=(RIGHTS,))
    plan = [WIDER, *quiet, asks]
    assert left_out(Attempt(tmp_path, yes=True), plan) == {
        NAME: "widens its rights (rye.execute.*)",
        "skill:acme/c": "needs skill:acme/b",
        "skill:acme/b": f"needs {NAME}",
        "skill:acme/a": f"needs {NAME}",
    }
    for run in (Attempt(tmp_path), Attempt(tmp_path, person=True, yes=True), Attempt(tmp_path, person=True)):
        assert left_out(run, plan) == {}
    assert left_out(Attempt(tmp_path, yes=True), plan, approve=(WIDER.label,)) == {}
    with pytest.raises(UsageError):
        left_out(Attempt(tmp_path, yes=True), plan, approve=("acme/none@1.0.0",))


def test_items_that_need_each_other_end(tmp_path: Path) -> None:
    ring = [added("a", "b", "read"), added("b", "a")]
    plan = [WIDER, *(item_change("add", row.identity, None, row) for row in ring)]
    assert left_out(Attempt(tmp_path, yes=True), plan) == {
        NAME: "widens its rights (rye.execute.*)", "skill:acme/a": f"needs {NAME}", "skill:acme/b": "needs skill:acme/a",
    }  # fmt: skip


def test_the_reason_is_the_alarms_alone_if_there_are_any(tmp_path: Path) -> None:
    new = replace(ROW, attached=())
    alarming = item_change("add", ROW.identity, None, new, asks=(RIGHTS,), new_mentions=(ALARM,))
    assert left_out(Attempt(tmp_path, yes=True), [alarming]) == {NAME: "names the command: rm -rf (a.md:3)"}


# What the refusal says


def refusal(*changes: ItemChange, yes: bool = False) -> RyeError:
    context: Any = SimpleNamespace(assume_yes=yes, interactive=False, now=lambda: NOW)
    request = InstallRequest(command="rye update")
    with pytest.raises(RyeError) as raised:
        obtain_consent(context, request, Plan(changes), [], lambda _: False)
    return raised.value


def test_a_changed_text_that_nobody_signed_is_compared_by_a_command(tmp_path: Path) -> None:
    old = replace(of_source(GIT), approved=approving(RULES_VERSION))
    new = of_source(replace(GIT, commit="3" * 40), replace(ROW, sha256=hashed(b"new"), version="1.0.0"))
    text = Ask(NAME, "unsigned-text", new.sha256)
    change = replace(item_change("update", ROW.identity, old, new), asks=(text,))
    agrees = "`rye update --yes` agrees to what is shown; on a terminal you are asked."
    assert refusal(change).hint == f"`rye diff {old.state} {new.state}` shows what changed. {agrees}"
    assert refusal(change).message.endswith("changes a text that nobody signed.")
    first = replace(change, old=None)
    folder = replace(change, new=of_source(LockedSource(place="SKILL.md", path="../x")))
    quiet = replace(change, asks=(Ask(NAME, "forced", "^1"),))
    for other in (first, folder, quiet):
        assert refusal(other).hint == agrees
    assert refusal(folder, change).hint == f"`rye diff {old.state} {new.state}` shows what changed. {agrees}"


def test_what_an_item_brings_is_read_where_no_version_is_there_to_compare() -> None:
    first = with_asks(replace(WIDER, old=None, pulled_in=True), asks=(RIGHTS,))
    assert refusal(first).hint == (f"Read what it brings. Then approve it by name: rye update --approve {first.label}")


def test_a_lost_customization_is_another_error_with_the_way_to_keep_it() -> None:
    class Lost:
        def as_json(self) -> dict[str, object]:
            return {"file": "a.overrides.md"}

    change = replace(WIDER, asks=(*WIDER.asks, Ask(NAME, "customization-loss", "a.overrides.md", Lost())))
    error = refusal(change)
    assert error.code == "customization-would-be-lost"
    assert error.message == (
        f"Nothing was changed: {change.label} widens its rights (rye.execute.*) and would lose what customizations say "
        "(a.overrides.md)."
    )
    assert (error.hint or "").startswith(f"`rye diff {NAME}` shows what changed. Then approve it by name: ")
    assert "rye override edit ID" in (error.hint or "")
    changes: Any = error.details["changes"]
    assert changes[0]["lost"] == [{"file": "a.overrides.md"}]
    other = replace(WIDER, identity=Identity("skill", "acme/other"))
    assert refusal(other, change).code == refusal(change, other).code == "customization-would-be-lost"
    assert "rye override edit" not in (refusal(WIDER).hint or "")
    assert refusal(WIDER).code == "consent-needed"


def test_what_runs_by_newer_rules_alone_is_said_to_be_counted_now() -> None:
    """Nothing changed but what Rye counts as able to run."""
    read = Run("attached-file", "CLAUDE.md", "read by Claude Code, as standing instructions", hashed(b"x"))
    new = replace(ROW, attached=())

    def said(old: LockedItem | None, *runs: Run, action: Any = "keep") -> str:
        change = item_change(action, ROW.identity, old, new, runs=runs)
        return refusal(change).message.partition("@1.0.0 ")[2]

    counted = "has files that Rye now counts as able to run (CLAUDE.md)."
    assert said(OLD, read) == counted
    for other in (
        said(OLD, read, replace(read, action="executable file")),
        said(OLD, read, action="update"),
        said(replace(OLD, approved=approving(RULES_VERSION, "SHA256:a")), read),
        said(None, read, action="add"),
    ):
        assert other != counted
        assert "now counts" not in other
    rights = item_change("keep", ROW.identity, OLD, new, asks=(RIGHTS,))
    assert refusal(rights).message.endswith(f"{rights.label} widens its rights (rye.execute.*).")
    assert said(OLD, replace(read, action="executable file")) == "adds or changes executables (CLAUDE.md)."


def test_consent_of_a_person_for_nothing_that_waits_is_none_for_later() -> None:
    context: Any = SimpleNamespace(assume_yes=False, interactive=True, now=lambda: NOW)
    request = InstallRequest(command="rye install")
    unseen = (RIGHT,)
    changed: Mapping[Identity, Any] = {ROW.identity: "said"}
    shown: list[Proposal] = []

    def agree(proposal: Proposal) -> bool:
        shown.append(proposal)
        return True

    found = obtain_consent(context, request, Plan(()), [], agree, unseen, (), changed=changed)
    assert found == Consent()
    assert shown[0].changed == changed
