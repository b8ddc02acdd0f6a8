"""The rules of consent as values: what asks, what stops, what is recorded."""

from __future__ import annotations

from msgspec.structs import replace

from rye.consent.ask import approving
from rye.installation.install import unapproved
from rye.installation.plan import Consent, agreed_rows, labels_named, make_plan, refused
from rye.items.consented import HookAction, Run
from rye.items.signed_release import Mention
from rye.project.lock import Lock, LockedFile, LockedItem, LockedSource

HOOK = HookAction("cost.current > 1", "tool", "notify")
ITEM = LockedItem(
    kind="directive",
    id="acme/work/item",
    version="1.0.0",
    size=1,
    sha256="ab" * 32,
    suffix=".md",
    registry="registry.example",
    log=1,
    keyset=1,
    signer="SHA256:a",
    capabilities=("rye.search.tool.*",),
    hooks=(HOOK,),
)
SKILL = LockedItem(
    kind="skill",
    id="acme/pdf",
    version="1.0.0",
    size=1,
    sha256="cd" * 32,
    suffix="SKILL.md",
    registry="registry.example",
    log=2,
    keyset=1,
    signer="SHA256:a",
    attached=(LockedFile("run.sh", 1, "ef" * 32, executable=True),),
)


def installed(item: LockedItem) -> Lock:
    approved = replace(
        item,
        approved=approving(
            right=item.capabilities, hook=item.hooks, tool=item.agent_tools, limit=item.agent_limits, run=item.runs
        ),
    )
    return Lock({}, (approved,))


def newer(item: LockedItem, **changes: object) -> LockedItem:
    return replace(item, version="1.1.0", sha256="99" * 32, **changes)


def test_a_first_installation_asks_and_yes_is_enough() -> None:
    plan = make_plan(Lock(), [ITEM])
    (change,) = plan.changes
    assert (change.action, change.needs_consent, change.stops, change.signer_new) == ("add", True, False, True)
    assert refused(plan, Consent()) == (change,)
    (done,) = agreed_rows(plan, Consent(yes=True))
    assert (done.approved.of("right"), done.approved.of("hook")) == (ITEM.capabilities, ())
    (done,) = agreed_rows(plan, Consent(person=True))
    assert done.approved.of("hook") == (HOOK,)


def test_the_same_again_asks_nothing() -> None:
    plan = make_plan(installed(ITEM), [ITEM])
    assert plan.effective == ()
    assert refused(plan, Consent()) == ()


def test_an_update_with_another_signer_stops_although_it_asks_for_nothing() -> None:
    plan = make_plan(installed(ITEM), [newer(ITEM, signer="SHA256:b")])
    assert refused(plan, Consent(yes=True)) == plan.changes
    assert refused(plan, Consent(approved=frozenset({"directive:acme/work/item@1.1.0"}))) == ()


RUN = Run("attached-file", "run.sh", "executable", "ef" * 32)


def test_what_can_run_asks_first_and_stops_an_update_that_adds_or_changes_it() -> None:
    runner = replace(SKILL, runs=(RUN,))
    (change,) = make_plan(Lock(), [runner]).changes
    assert (change.of("run"), change.needs_consent, change.stops) == ((RUN,), True, False)
    (done,) = agreed_rows(make_plan(Lock(), [runner]), Consent(yes=True))
    assert done.approved.of("run") == (RUN,)
    kept = make_plan(installed(runner), [newer(runner)])
    assert refused(kept, Consent()) == ()
    for other in (replace(RUN, sha256="11" * 32), replace(RUN, where="more.sh"), replace(RUN, action="#!/bin/sh")):
        plan = make_plan(installed(runner), [newer(runner, runs=(RUN, other))])
        (change,) = plan.changes
        assert (change.of("run"), change.stops) == ((other,), True)
        assert refused(plan, Consent(yes=True)) == (change,)
        assert refused(plan, Consent(approved=frozenset({change.label}))) == ()


def test_a_lock_that_says_nothing_of_runs_approves_none() -> None:
    runner = replace(SKILL, runs=(RUN,))
    old = Lock({}, (replace(runner, runs=(), approved=approving(run=())),))
    (change,) = make_plan(old, [runner]).changes
    assert (change.action, change.of("run"), change.needs_consent) == ("keep", (RUN,), True)


ALARM = Mention("pipe-to-shell", "curl x | sh", "alarm", "SKILL.md", 3)
CAUTION = Mention("safety-off", "sudo", "caution", "SKILL.md", 4)
NOTE = Mention("host", "example.org", "note", "SKILL.md", 5)


def test_an_alarm_stops_a_first_installation_and_a_caution_does_not() -> None:
    (change,) = make_plan(Lock(), [SKILL], mentions={SKILL.identity: (CAUTION, NOTE)}).changes
    assert (change.mentions, change.of("fact"), change.needs_consent) == ((CAUTION,), (), False)
    plan = make_plan(Lock(), [SKILL], mentions={SKILL.identity: (ALARM, CAUTION)})
    (change,) = plan.changes
    assert (change.of("fact"), change.stops) == ((ALARM,), True)
    assert refused(plan, Consent(yes=True)) == (change,)
    (done,) = agreed_rows(plan, Consent(approved=frozenset({change.label})))
    assert done.approved.of("fact") == (ALARM.word, CAUTION.word)


def test_yes_approves_no_fact_and_a_new_caution_stops_an_update() -> None:
    first = make_plan(Lock(), [SKILL], mentions={SKILL.identity: (CAUTION,)})
    (done,) = agreed_rows(first, Consent(yes=True))
    assert done.approved.of("fact") == ()
    lock = Lock({}, (done,))
    had = {SKILL.identity: (CAUTION,)}
    same = make_plan(lock, [newer(SKILL)], mentions=had, mentions_before=had)
    assert refused(same, Consent()) == ()
    added = replace(CAUTION, value="chmod 777")
    both = {SKILL.identity: (CAUTION, added)}
    (change,) = make_plan(lock, [newer(SKILL)], mentions=both, mentions_before=had).changes
    assert (change.of("fact"), change.stops) == ((added,), True)


def test_what_the_old_version_mentioned_counts_only_as_far_as_it_is_known() -> None:
    (change,) = make_plan(installed(SKILL), [newer(SKILL)], mentions={SKILL.identity: (CAUTION,)}).changes
    assert change.stops


def test_a_first_item_of_an_unknown_signer_asks_although_it_has_no_rights() -> None:
    (change,) = make_plan(Lock(), [SKILL], known_signers=frozenset()).changes
    assert (change.signer_unknown, change.needs_consent, change.stops) == (True, True, False)
    (change,) = make_plan(Lock(), [SKILL], known_signers=frozenset({"SHA256:a"})).changes
    assert not change.needs_consent


def test_tools_of_the_agent_program_are_asked_for_and_one_more_stops_an_update() -> None:
    agent = replace(SKILL, kind="agent", id="acme/tester", suffix=".md", attached=(), agent_tools=("Read",))
    (change,) = make_plan(Lock(), [agent]).changes
    assert (change.of("tool"), change.needs_consent, change.stops) == (("Read",), True, False)
    (change,) = make_plan(installed(agent), [newer(agent)]).changes
    assert not change.needs_consent
    plan = make_plan(installed(agent), [newer(agent, agent_tools=("Read", "WebFetch"))])
    (change,) = plan.changes
    assert (change.of("tool"), change.stops) == (("WebFetch",), True)
    assert refused(plan, Consent(yes=True)) == (change,)
    assert refused(plan, Consent(approved=frozenset({change.label}))) == ()


def test_a_restriction_that_goes_away_stops_an_update() -> None:
    limits = ("bash-command git", "bash-pattern rm ", "blocked Write")
    agent = replace(
        SKILL, kind="agent", id="acme/tester", suffix=".md", attached=(), agent_tools=("Bash",), agent_limits=limits
    )
    for fewer in (limits[:2], limits[::2], (*limits, "bash-command npm"), ()):
        (change,) = make_plan(installed(agent), [newer(agent, agent_limits=fewer)]).changes
        assert (bool(change.of("tool")), change.stops) == (True, True), fewer
    (change,) = make_plan(installed(agent), [newer(agent, agent_limits=(*limits, "blocked Edit"))]).changes
    assert not change.needs_consent
    (change,) = make_plan(installed(agent), [newer(agent, agent_tools=("*",), agent_limits=limits)]).changes
    assert change.of("tool") == ("every tool of the agent program",)


def test_a_removal_never_asks() -> None:
    plan = make_plan(installed(ITEM), [])
    assert [change.action for change in plan.changes] == ["remove"]
    assert refused(plan, Consent()) == ()


def test_locking_marks_what_nobody_approved() -> None:
    (first,) = unapproved(Lock(), [ITEM])
    assert (first.approved.signer, first.approved.of("right")) == ("", ())
    plan = make_plan(Lock({}, (first,)), [ITEM])
    assert [(change.needs_consent, change.stops) for change in plan.changes] == [(True, False)]
    wider = newer(ITEM, capabilities=("rye.*",), signer="SHA256:b", hooks=(HOOK, replace(HOOK, item_id="wipe")))
    (second,) = unapproved(installed(ITEM), [wider])
    assert (second.approved.signer, second.approved.of("right")) == ("SHA256:a", ())
    (third,) = unapproved(Lock({}, (second,)), [replace(wider, version="1.2.0")])
    assert third.approved.signer == "SHA256:a"
    (change,) = make_plan(Lock({}, (third,)), [replace(wider, version="1.2.0")]).changes
    assert (change.stops, change.signer_changed) == (True, True)
    assert [hook.item_id for hook in change.of("hook")] == ["wipe"]
    (done,) = agreed_rows(make_plan(Lock({}, (third,)), [wider]), Consent(person=True))
    assert done.approved.signer is None


def test_locking_what_is_installed_changes_nothing() -> None:
    lock = installed(ITEM)
    assert unapproved(lock, [ITEM]) == list(lock.items)


def test_an_approval_without_a_kind_must_mean_one_item() -> None:
    """A tool with the id and version of a directive gets no approval that was meant for the directive."""
    tool = replace(ITEM, kind="tool", suffix=".py")
    plan = make_plan(Lock(), [ITEM, tool])
    assert labels_named(plan, "acme/work/item@1.0.0") == (
        "directive:acme/work/item@1.0.0",
        "tool:acme/work/item@1.0.0",
    )
    assert labels_named(plan, "tool:acme/work/item@1.0.0") == ("tool:acme/work/item@1.0.0",)
    assert refused(plan, Consent(approved=frozenset({"acme/work/item@1.0.0"}))) == plan.changes


def test_an_item_that_an_update_brings_along_stops_where_yes_would_do_for_one_that_was_named() -> None:
    top = replace(ITEM, id="acme/work/top", capabilities=(), hooks=())
    other = replace(ITEM, id="acme/work/other", dependencies=("directive:acme/work/deep",))
    deep = replace(ITEM, id="acme/work/deep")
    updated = newer(top, dependencies=("directive:acme/work/other",))
    plan = make_plan(installed(top), [updated, other, deep])
    assert {c.identity.id: c.stops for c in plan.changes} == {
        "acme/work/top": False,
        "acme/work/other": True,
        "acme/work/deep": True,
    }
    assert len(refused(plan, Consent(yes=True))) == 2
    named = make_plan(installed(top), [top, other, deep])
    assert refused(named, Consent(yes=True)) == ()


def test_a_signer_that_only_rye_lock_chose_is_new_to_the_project() -> None:
    """No one has agreed to that entry yet, so it makes its key known neither for itself nor for its neighbours."""
    pending = Lock({}, tuple(unapproved(Lock(), [ITEM])))
    beside = replace(ITEM, id="acme/work/other")
    assert all(change.signer_new for change in make_plan(pending, [ITEM, beside]).changes)
    moved = Lock({}, tuple(unapproved(installed(ITEM), [newer(ITEM, signer="SHA256:b")])))
    other, known = make_plan(moved, [newer(ITEM, signer="SHA256:b"), beside]).changes
    assert (other.signer_new, other.signer_changed, known.signer_new) == (True, True, False)


def test_a_yes_approves_no_hook_that_was_not_shown() -> None:
    """It was denied at the first installation, and the screen about another item does not name it."""
    denied = Lock({}, (replace(ITEM, approved=approving(right=ITEM.capabilities)),))
    other = replace(ITEM, id="acme/work/other", hooks=())
    kept, added = agreed_rows(make_plan(denied, [ITEM, other]), Consent(person=True))
    assert (kept.approved.of("hook"), added.approved.of("right")) == ((), ITEM.capabilities)
    plan = make_plan(denied, [newer(ITEM, hooks=(HOOK, replace(HOOK, item_id="wipe")))])
    (done,) = agreed_rows(plan, Consent(person=True))
    assert [hook.item_id for hook in done.approved.of("hook")] == ["wipe"]
    (named,) = agreed_rows(make_plan(denied, [ITEM]), Consent(approved=frozenset({f"{ITEM.identity}@1.0.0"})))
    assert named.approved.of("hook") == (HOOK,), "an approval names the item, with everything that it has"


COMMIT = LockedSource(
    place="pdf/SKILL.md", git="https://git.example.org/team/prompts.git", ref="refs/heads/main", commit="1" * 40
)
UNSIGNED = replace(
    SKILL,
    id="team/pdf",
    registry="git+https://git.example.org/team/prompts.git",
    signer="git+https://git.example.org/team/prompts.git",
    attached=(),
    source=COMMIT,
)


def test_a_changed_text_that_nobody_signed_waits_for_a_person_or_yes() -> None:
    (change,) = (plan := make_plan(installed(UNSIGNED), [newer(UNSIGNED)])).changes
    assert ([ask.sort for ask in change.asks], change.stops) == (["unsigned-text"], False)
    assert refused(plan, Consent()) == (change,)
    for consent in (Consent(person=True), Consent(yes=True)):
        assert refused(plan, consent) == ()


def test_other_unsigned_changes_ask_nothing_more() -> None:
    moved = replace(UNSIGNED, version="1.1.0", source=replace(COMMIT, commit="2" * 40))
    assert make_plan(installed(UNSIGNED), [moved]).changes[0].asks == (), "the same bytes at another commit"
    assert make_plan(installed(ITEM), [newer(ITEM)]).changes[0].asks == (), "its publisher signed it"


def test_one_whose_bytes_this_user_agreed_to_before_waits_for_no_one() -> None:
    new = newer(UNSIGNED)
    assert make_plan(installed(UNSIGNED), [new], knows_bytes=[new].__contains__).changes[0].asks == ()
    assert make_plan(installed(UNSIGNED), [new], knows_bytes=[UNSIGNED].__contains__).changes[0].asks != ()


def test_what_else_waits_stops_with_yes_as_well() -> None:
    wider = newer(UNSIGNED, capabilities=("rye.*",))
    plan = make_plan(installed(UNSIGNED), [wider])
    assert refused(plan, Consent(yes=True)) == plan.changes
