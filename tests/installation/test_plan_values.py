"""The exact values of a plan (DESIGN §7, 7.1): a small slip in a rule of consent would admit an item."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import Approved, Ask, approving, hook_text
from rye.consent.changes import Asked
from rye.installation.plan import (
    Consent,
    ItemChange,
    Plan,
    agreed_rows,
    approvals_from_lock,
    by_tier,
    gather_mentions,
    labels_named,
    make_plan,
    refused,
)
from rye.items.consented import HookAction, Run
from rye.items.signed_release import Mention
from rye.permissions.risk import Tier
from rye.project.lock import Lock, LockedFile, LockedItem
from rye.text.facts.fact import RULES_VERSION
from tests.scenes.approvals import but, changed, item_change, with_asks

HOOK = HookAction("cost.current > 1", "tool", "notify")
OTHER_HOOK = replace(HOOK, item_id="wipe")
RUN = Run("attached-file", "run.sh", "executable", "ef" * 32)
ALARM = Mention("pipe-to-shell", "curl x | sh", "alarm", "SKILL.md", 3)
CAUTION = Mention("safety-off", "sudo", "caution", "SKILL.md", 4)
NOTE = Mention("host", "example.org", "note", "SKILL.md", 5)
PLAIN = LockedItem(
    kind="skill",
    id="acme/pdf",
    version="1.2.0",
    size=1,
    sha256="cd" * 32,
    suffix="SKILL.md",
    registry="registry.example",
    log=2,
    keyset=1,
    signer="SHA256:a",
)
PENDING = replace(PLAIN, approved=approving(1, ""))
"""As ``rye lock`` writes it: no one has agreed to anything."""


def agreed(item: LockedItem, **changes: Any) -> LockedItem:
    """The entry with everything approved, and facts by the current rules."""
    return changed(
        replace(
            item,
            approved=approving(
                RULES_VERSION,
                right=item.capabilities,
                hook=item.hooks,
                tool=item.agent_tools,
                limit=item.agent_limits,
                run=item.runs,
            ),
        ),
        **changes,
    )


def change(old: LockedItem | None, new: LockedItem | None, **options: Any) -> ItemChange:
    plan = make_plan(Lock({}, (old,) if old is not None else ()), [new] if new is not None else [], **options)
    (only,) = plan.changes
    return only


class TestAction:
    @pytest.mark.parametrize(
        ("fields", "action"),
        [
            ({}, "keep"),
            ({"sha256": "11" * 32}, "replace"),
            ({"attached": (LockedFile("a", 1, "ef" * 32),)}, "replace"),
            ({"registry": "other.example"}, "replace"),
            ({"version": "1.2.1"}, "update"),
            ({"version": "1.10.0"}, "update"),
            ({"version": "1.1.9"}, "downgrade"),
            ({"version": "1.2.0-rc.1"}, "downgrade"),
        ],
    )
    def test_what_happens_to_an_installed_item(self, fields: dict[str, Any], action: str) -> None:
        assert change(agreed(PLAIN), replace(PLAIN, **fields)).action == action

    def test_coming_and_going(self) -> None:
        assert (change(None, PLAIN).action, change(PLAIN, None).action) == ("add", "remove")
        gone = change(replace(PLAIN, hooks=(HOOK,), runs=(RUN,)), None)
        assert (gone.label, gone.needs_consent, gone.stops) == ("skill:acme/pdf@1.2.0", False, False)
        assert change(PLAIN, replace(PLAIN, version="2.0.0")).label == "skill:acme/pdf@2.0.0"

    def test_changes_are_sorted_by_identity_and_a_new_item_has_no_old_entry(self) -> None:
        items = [replace(PLAIN, id=f"acme/{name}") for name in ("c", "a", "b")]
        plan = make_plan(Lock({}, (items[2],)), items[:2])
        assert [(c.identity.id, c.action) for c in plan.changes] == [
            ("acme/a", "add"),
            ("acme/b", "remove"),
            ("acme/c", "add"),
        ]
        assert [(c.old, c.new) for c in plan.changes] == [(None, items[1]), (items[2], None), (None, items[0])]

    def test_only_what_does_or_asks_something_is_effective(self) -> None:
        kept = agreed(PLAIN)
        asking = replace(PLAIN, id="acme/b", runs=(RUN,))
        forced = replace(agreed(PLAIN), id="acme/c")
        moved = replace(agreed(PLAIN), id="acme/d")
        plan = make_plan(
            Lock({}, (kept, asking, forced, moved)),
            [kept, asking, replace(forced, forced="1.2.0"), replace(moved, version="2.0.0")],
        )
        assert [c.identity.id for c in plan.effective] == ["acme/b", "acme/c", "acme/d"]
        assert [(c.forced, c.forces_anew) for c in plan.effective] == [(None, False), ("1.2.0", True), (None, False)]
        assert [(c.needs_consent, c.stops) for c in plan.effective[1:]] == [(True, False), (False, False)]
        assert change(replace(kept, forced="1"), None).forced is None
        assert not change(replace(kept, forced="1"), None).forces_anew
        assert not change(None, replace(kept, forced="1")).forces_anew
        assert change(None, replace(kept, forced="1")).of("forced")
        assert not change(replace(kept, forced="1"), kept).of("forced")
        assert not change(replace(kept, forced="1"), replace(kept, forced="1")).needs_consent


class TestWhatIsAsked:
    def test_rights_worst_first_then_by_pattern(self) -> None:
        wanted = ("rye.search.tool.b", "rye.search.tool.a", "rye.*", "rye.execute.tool.acme.notes.write")
        found = change(None, replace(PLAIN, capabilities=wanted)).of("right")
        assert [asked.pattern for asked in found] == [wanted[2], wanted[3], wanted[1], wanted[0]]
        assert [asked.tier for asked in found] == sorted((asked.tier for asked in found), reverse=True)
        assert found[3] == Asked("rye.search.tool.b", Tier.SAFE, "rye.search.tool.b")

    def test_an_approved_right_is_not_asked_for_in_another_spelling(self) -> None:
        same = replace(PLAIN, capabilities=("rye.search.*",))
        assert change(agreed(same), same).of("right") == ()
        old = changed(agreed(PLAIN), approved=but(right=("rye.search.*",)))
        assert change(old, replace(PLAIN, capabilities=("rye.search.tool.*",))).of("right") == ()
        assert len(change(old, replace(PLAIN, capabilities=("rye.search.tool.*", "rye.load.tool.a"))).of("right")) == 1

    def test_hooks_of_the_installed_release_are_known_and_of_a_locked_one_are_not(self) -> None:
        new = replace(PLAIN, hooks=(HOOK, OTHER_HOOK))
        assert change(replace(PLAIN, hooks=(HOOK,)), new).of("hook") == (OTHER_HOOK,)
        assert change(replace(PLAIN, approved=approving(hook=(HOOK,))), new).of("hook") == (OTHER_HOOK,)
        assert change(replace(PLAIN, hooks=(HOOK,), approved=approving(1, "SHA256:a")), new).of("hook") == (
            HOOK,
            OTHER_HOOK,
        )
        assert change(replace(PLAIN, approved=approving(1, "SHA256:a", hook=(HOOK,))), new).of("hook") == (OTHER_HOOK,)
        assert change(None, new).of("hook") == (HOOK, OTHER_HOOK)

    def test_runs_and_tools_that_are_not_approved(self) -> None:
        new = replace(PLAIN, runs=(RUN, replace(RUN, where="b.sh")), agent_tools=("Read", "Write"))
        old = replace(PLAIN, approved=approving(run=(RUN,), tool=("Read",)))
        assert (change(old, new).of("run"), change(old, new).of("tool")) == ((new.runs[1],), ("Write",))
        assert (change(None, new).of("run"), change(None, new).of("tool")) == (new.runs, ("Read", "Write"))

    @pytest.mark.parametrize(
        "field",
        [
            {"asks": (Asked("rye.*", Tier.UNRESTRICTED, None),)},
            {"hooks": (HOOK,)},
            {"tools": ("Read",)},
            {"runs": (RUN,)},
            {"new_mentions": (CAUTION,)},
            {"signer_changed": True},
            {"signer_unknown": True},
        ],
    )
    def test_each_of_them_alone_needs_consent(self, field: dict[str, Any]) -> None:
        for action in ("add", "update", "keep"):
            asking = item_change(action, PLAIN.identity, None, PLAIN, **field)
            assert asking.needs_consent is True
            assert Plan((asking,)).effective == (asking,)
        assert (
            item_change("add", PLAIN.identity, None, PLAIN, signer_new=True, mentions=(ALARM,)).needs_consent is False
        )


class TestSigner:
    def test_another_key_than_that_of_what_was_approved(self) -> None:
        other = replace(PLAIN, signer="SHA256:b")
        found = change(agreed(PLAIN), other)
        assert (found.signer_changed, found.signer_new, found.signer_before) == (True, True, "SHA256:a")
        same = change(agreed(PLAIN), PLAIN)
        assert (same.signer_changed, same.signer_new, same.signer_before) == (False, False, None)
        locked = change(replace(other, approved=approving(1, "SHA256:a")), other)
        assert (locked.signer_changed, locked.signer_new, locked.signer_before) == (True, True, "SHA256:a")
        back = change(replace(other, approved=approving(1, "SHA256:a")), PLAIN)
        assert (back.signer_changed, back.signer_new, back.signer_before) == (False, False, None)
        never = change(PENDING, other)
        assert (never.signer_changed, never.signer_new, never.signer_before) == (False, True, None)

    def test_a_key_is_known_by_another_item_of_its_namespace_only(self) -> None:
        lock = Lock({}, (agreed(PLAIN),))
        near, far = replace(PLAIN, id="acme/other"), replace(PLAIN, id="moon/other")
        found = {c.identity.id: (c.signer_new, c.namespace_new) for c in make_plan(lock, [PLAIN, near, far]).changes}
        assert found == {"acme/pdf": (False, False), "acme/other": (False, False), "moon/other": (True, True)}
        other = make_plan(lock, [PLAIN, replace(near, signer="SHA256:b")]).changes[0]
        assert (other.signer_new, other.namespace_new) == (True, False)
        assert make_plan(Lock({}, (PENDING,)), [near]).changes[0].namespace_new is True

    def test_a_signer_that_this_user_never_agreed_to(self) -> None:
        nobody, known = frozenset[str](), frozenset({"SHA256:a"})
        assert change(None, PLAIN, known_signers=nobody).signer_unknown is True
        assert change(None, PLAIN, known_signers=known).signer_unknown is False
        assert change(None, PLAIN).signer_unknown is False
        assert change(PENDING, PLAIN, known_signers=nobody).signer_unknown is True
        assert change(agreed(PLAIN), PLAIN, known_signers=nobody).signer_unknown is False

    def test_an_entry_that_nobody_approved(self) -> None:
        assert PENDING.approved.is_nothing is True
        assert PLAIN.approved.is_nothing is False
        assert approving(1, "SHA256:a").is_nothing is False


class TestMentions:
    def asked(self, old: LockedItem | None, new: LockedItem, before: tuple[Mention, ...] = ()) -> tuple[Mention, ...]:
        identity = PLAIN.identity
        found = change(old, new, mentions={identity: (ALARM, CAUTION, NOTE)}, mentions_before={identity: before})
        assert found.mentions == (ALARM, CAUTION)
        return found.of("fact")

    def test_of_a_first_installation_alarms(self) -> None:
        assert self.asked(None, PLAIN) == (ALARM,)
        assert self.asked(changed(PENDING, approved=but(rules=RULES_VERSION)), PLAIN) == (ALARM,)
        assert self.asked(changed(PENDING, approved=but(rules=RULES_VERSION)), replace(PLAIN, version="1.3.0")) == (
            ALARM,
        )

    def test_of_an_update_what_the_version_before_did_not_have_or_nobody_approved(self) -> None:
        new = replace(PLAIN, version="1.3.0")
        assert self.asked(agreed(PLAIN), new) == (ALARM, CAUTION)
        assert self.asked(agreed(PLAIN), new, (CAUTION,)) == (ALARM,)
        assert self.asked(agreed(PLAIN), new, (ALARM, CAUTION)) == (ALARM,)
        assert self.asked(agreed(PLAIN, approved=but(fact=(ALARM.word,))), new) == (CAUTION,)
        assert self.asked(agreed(PLAIN, approved=but(fact=(ALARM.word, CAUTION.word))), new) == ()

    def test_of_what_is_installed_already_alarms(self) -> None:
        assert self.asked(agreed(PLAIN), PLAIN) == (ALARM,)
        assert self.asked(agreed(PLAIN, approved=but(signer="SHA256:a")), PLAIN) == (ALARM, CAUTION)

    def test_an_approval_by_other_rules_counts_as_far_as_these_rules_find_the_same_there(self) -> None:
        old = changed(
            agreed(PLAIN, approved=but(fact=(ALARM.word, CAUTION.word))), approved=but(rules=RULES_VERSION - 1)
        )
        new = replace(PLAIN, version="1.3.0")
        assert self.asked(old, PLAIN) == ()
        assert self.asked(old, new) == (ALARM, CAUTION)
        assert self.asked(old, new, (ALARM,)) == (CAUTION,)
        assert self.asked(old, new, (ALARM, CAUTION)) == ()
        assert self.asked(changed(old, approved=but(signer="SHA256:a")), PLAIN) == (ALARM, CAUTION)


class TestStops:
    def test_a_first_installation_does_not_unless_it_alarms_or_was_brought_along(self) -> None:
        asking = item_change("add", PLAIN.identity, None, PLAIN, runs=(RUN,))
        assert asking.stops is False
        assert replace(asking, pulled_in=True).stops is True
        assert with_asks(asking, runs=(), pulled_in=True).stops is False
        assert with_asks(asking, new_mentions=(CAUTION,)).stops is False
        assert with_asks(asking, new_mentions=(CAUTION, ALARM)).stops is True

    def test_an_update_does_when_it_asks_for_anything(self) -> None:
        asking = item_change("update", PLAIN.identity, agreed(PLAIN), PLAIN, runs=(RUN,))
        assert asking.stops is True
        assert with_asks(asking, runs=()).stops is False
        assert replace(asking, old=PENDING).stops is False
        assert with_asks(asking, old=PENDING, new_mentions=(ALARM,)).stops is True
        assert with_asks(asking, new=None).stops is False

    @pytest.mark.parametrize(
        ("approved", "stops"),
        [
            (approving(), False),
            (approving(1, "SHA256:a"), True),
            (approving(right=("rye.*",)), True),
            (approving(tool=("Read",)), True),
            (approving(run=(RUN,)), True),
            (approving(fact=(ALARM.word,)), True),
        ],
    )
    def test_what_is_installed_does_once_anything_of_it_was_approved(self, approved: Approved, stops: bool) -> None:
        kept = item_change("keep", PLAIN.identity, replace(PLAIN, approved=approved), PLAIN, hooks=(HOOK,))
        assert kept.stops is stops
        assert replace(kept, action="replace").stops is True


class TestBroughtAlong:
    def plan(self, action: dict[str, Any]) -> dict[str, bool]:
        items = [replace(PLAIN, id=f"acme/{name}", runs=(RUN,)) for name in ("a", "b", "c", "d")]
        a, b, c, d = items
        top = replace(agreed(a), dependencies=("skill:acme/d",))
        after = replace(a, dependencies=("skill:acme/b", "skill:acme/absent"), **action)
        found = make_plan(Lock({}, (top,)), [after, replace(b, dependencies=("skill:acme/c", "skill:acme/b")), c, d])
        return {c.identity.id[-1]: c.pulled_in for c in found.changes}

    def test_by_an_update_or_a_replacement_through_any_number_of_items(self) -> None:
        along = {"a": False, "b": True, "c": True, "d": False}
        assert self.plan({"version": "2.0.0"}) == along
        assert self.plan({"sha256": "11" * 32}) == along

    def test_not_by_an_item_between_that_stays_as_it_is(self) -> None:
        top, kept, new = (replace(PLAIN, id=f"acme/{name}", runs=(RUN,)) for name in ("a", "b", "c"))
        top = replace(top, dependencies=("skill:acme/b",))
        kept = replace(agreed(kept), dependencies=("skill:acme/c",))
        plan = make_plan(Lock({}, (agreed(top), kept)), [replace(top, version="2.0.0"), kept, new])
        assert [(c.identity.id, c.action, c.pulled_in) for c in plan.changes] == [
            ("acme/a", "update", False),
            ("acme/b", "keep", False),
            ("acme/c", "add", False),
        ]

    def test_not_by_what_is_kept_or_went_back(self) -> None:
        nothing = dict.fromkeys("abcd", False)
        assert self.plan({}) == nothing
        assert self.plan({"version": "1.0.0"}) == nothing


class TestConsent:
    ASKING = item_change("add", PLAIN.identity, None, PLAIN, runs=(RUN,))
    STOPPING = item_change("update", PLAIN.identity, agreed(PLAIN), PLAIN, runs=(RUN,))
    LABEL = frozenset({"skill:acme/pdf@1.2.0"})

    @pytest.mark.parametrize(
        ("consent", "asking", "stopping"),
        [
            (Consent(), False, False),
            (Consent(yes=True), True, False),
            (Consent(person=True), True, True),
            (Consent(approved=LABEL), True, True),
            (Consent(approved=frozenset({"skill:acme/pdf@1.2.1"})), False, False),
            (Consent(yes=True, approved=frozenset({"acme/pdf@1.2.0"})), True, False),
        ],
    )
    def test_what_it_covers(self, consent: Consent, asking: bool, stopping: bool) -> None:
        assert (consent.covers(self.ASKING), consent.covers(self.STOPPING)) == (asking, stopping)
        nothing = item_change("update", PLAIN.identity, agreed(PLAIN), PLAIN)
        assert consent.covers(nothing) is True
        wanted = tuple(c for c, good in ((self.ASKING, asking), (self.STOPPING, stopping)) if not good)
        assert refused(Plan((nothing, self.ASKING, self.STOPPING)), consent) == wanted

    def test_an_approval_names_no_removal(self) -> None:
        gone = item_change("remove", PLAIN.identity, PLAIN, None)
        assert Consent(approved=self.LABEL).names(gone) is False
        assert Consent(approved=self.LABEL).names(self.ASKING) is True
        assert labels_named(Plan((gone,)), "acme/pdf@1.2.0") == ()
        assert labels_named(Plan((self.ASKING,)), "pdf@1.2.0") == ()

    def recorded(self, found: ItemChange, consent: Consent) -> LockedItem:
        (done,) = agreed_rows(Plan((found, item_change("remove", PLAIN.identity, PLAIN, None))), consent)
        return done

    def test_what_is_recorded(self) -> None:
        new = replace(
            PLAIN, capabilities=("rye.*",), hooks=(HOOK, OTHER_HOOK), agent_tools=("Bash",), agent_limits=("blocked Edit",),
            runs=(RUN,), approved=approving(1, "SHA256:z"),
        )  # fmt: skip
        found = item_change(
            "update",
            PLAIN.identity,
            agreed(PLAIN, approved=but(fact=(CAUTION.word,))),
            new,
            mentions=(CAUTION, ALARM),
        )
        assert found.old is not None
        asked = Ask(str(PLAIN.identity), "hook", hook_text(HOOK), HOOK)
        found = replace(found, old=changed(found.old, approved=but(hook=(OTHER_HOOK,))), asks=(asked,))
        yes, person = self.recorded(found, Consent(yes=True)), self.recorded(found, Consent(person=True))
        for done in (yes, person):
            assert done.approved.of("right") == ("rye.*",)
            assert (done.approved.of("tool"), done.approved.of("limit")) == (("Bash",), ("blocked Edit",))
            assert (done.approved.of("run"), done.approved.rules) == ((RUN,), RULES_VERSION)
        assert (yes.approved.of("hook"), yes.approved.of("fact")) == ((OTHER_HOOK,), (CAUTION.word,))
        assert person.approved.of("hook") == (HOOK, OTHER_HOOK)
        assert person.approved.of("fact") == (ALARM.word, CAUTION.word)
        assert self.recorded(found, Consent(approved=self.LABEL)) == person

    def test_a_first_installation_by_yes_approves_neither_hooks_nor_facts(self) -> None:
        found = with_asks(self.ASKING, new=replace(PLAIN, hooks=(HOOK,)), mentions=(CAUTION,))
        done = self.recorded(found, Consent(yes=True))
        assert (done.approved.of("hook"), done.approved.of("fact"), done.approved.rules) == ((), (), RULES_VERSION)

    def test_facts_that_other_rules_found_stay_as_they_are_until_a_person_agrees(self) -> None:
        facts = tuple(f"fact {number}" for number in range(10))
        old = changed(agreed(PLAIN, approved=but(fact=facts[::-1])), approved=but(rules=RULES_VERSION - 1))
        kept = item_change("keep", PLAIN.identity, old, PLAIN, mentions=(CAUTION,))
        done = self.recorded(kept, Consent(yes=True))
        assert (done.approved.of("fact"), done.approved.rules) == (facts, RULES_VERSION - 1)
        done = self.recorded(kept, Consent(person=True))
        assert (done.approved.of("fact"), done.approved.rules) == ((CAUTION.word,), RULES_VERSION)
        done = self.recorded(replace(kept, action="update"), Consent(yes=True))
        assert (done.approved.of("fact"), done.approved.rules) == ((), RULES_VERSION)

    def test_what_is_kept_loses_the_approvals_of_what_it_does_not_mention(self) -> None:
        old = agreed(PLAIN, approved=but(fact=("gone since", CAUTION.word)))
        kept = item_change("keep", PLAIN.identity, old, PLAIN, mentions=(CAUTION, ALARM))
        assert kept.signer_new is False
        assert self.recorded(kept, Consent(yes=True)).approved.of("fact") == (CAUTION.word,)


class TestFromTheLock:
    """What is taken from rye.lock without asking: shown once to whoever clones a project (DESIGN 7.1)."""

    PENDING_UPDATE = changed(agreed(PLAIN), approved=but(signer="SHA256:a"))

    def relied(self, *pairs: tuple[LockedItem | None, LockedItem | None]) -> set[tuple[str, str, str]]:
        olds, news = ([row for row in side if row is not None] for side in zip(*pairs, strict=True))
        plan = make_plan(Lock({}, tuple(olds)), news)
        return {(ask.item.partition(":")[2], ask.sort, ask.text) for ask in approvals_from_lock(plan)}

    def test_only_what_stays_as_it_was_approved_comes_from_the_lock(self) -> None:
        kept, pending, moved, gone, new = (replace(PLAIN, id=f"acme/{name}") for name in "abcde")
        kept, moved, gone = agreed(kept), agreed(moved), agreed(gone)
        pending = changed(agreed(pending), approved=but(signer="SHA256:a"))
        plan = make_plan(Lock({}, (kept, pending, moved, gone)), [kept, pending, replace(moved, version="2.0.0"), new])
        assert [change.action for change in plan.changes] == ["keep", "keep", "update", "remove", "add"]
        assert plan.from_lock == (kept,)

    @pytest.mark.parametrize(
        ("old", "is_first"), [(None, True), (PENDING, True), (PENDING_UPDATE, False), (agreed(PLAIN), False)]
    )
    def test_an_item_is_a_first_one_until_a_version_was_approved(self, old: LockedItem | None, is_first: bool) -> None:
        assert change(old, PLAIN).is_first is is_first

    @pytest.mark.parametrize(
        ("old", "new", "is_shown"),
        [
            (None, PLAIN, True),
            (agreed(PLAIN), replace(PLAIN, version="2.0.0"), True),
            (agreed(PLAIN), None, True),
            (agreed(PLAIN), PLAIN, False),
            (agreed(PLAIN), replace(PLAIN, runs=(RUN,)), False),
            (PENDING_UPDATE, PLAIN, False),
            (PENDING_UPDATE, replace(PLAIN, runs=(RUN,)), True),
        ],
    )
    def test_a_screen_describes_what_changes_or_waits(
        self, old: LockedItem | None, new: LockedItem | None, is_shown: bool
    ) -> None:
        assert change(old, new).is_shown is is_shown

    def test_earlier_approvals_count_as_far_as_the_item_still_asks_for_them(self) -> None:
        old = agreed(replace(PLAIN, capabilities=("rye.search.tool.a", "rye.search.tool.b"), agent_tools=("Read",)))
        new = replace(old, version="2.0.0", capabilities=("rye.search.tool.b", "rye.*"))
        found = self.relied((old, new))
        assert {row for row in found if row[1] == "right"} == {("acme/pdf", "right", "rye.search.tool.b")}
        assert {row for row in found if row[1] == "tool"} == {("acme/pdf", "tool", "Read")}

    def test_one_more_tool_takes_nothing_of_the_tools(self) -> None:
        """The earlier tools are asked for again with it: a person sees the whole set."""
        old = agreed(replace(PLAIN, agent_tools=("Read",), runs=(RUN,)))
        found = self.relied((old, replace(old, version="2.0.0", agent_tools=("Read", "Bash"))))
        assert {row[1] for row in found if row[1] in ("tool", "run")} == {"run"}

    def test_what_nobody_approved_or_goes_gives_nothing_and_hides_nothing_behind_it(self) -> None:
        waiting, gone, kept = (replace(PLAIN, id=f"acme/{name}", capabilities=("rye.*",)) for name in "abc")
        waiting = changed(agreed(waiting), approved=but(signer=""))
        found = self.relied(
            (waiting, waiting), (agreed(gone), None), (None, replace(PLAIN, id="acme/bb")), (agreed(kept), kept)
        )
        assert {row[0] for row in found if row[1] == "right"} == {"acme/c"}
        assert self.relied((waiting, waiting)) == set()


def test_rights_by_tier_worst_first() -> None:
    safe, worst = Asked("rye.search.tool.a", Tier.SAFE, None), Asked("rye.*", Tier.UNRESTRICTED, None)
    first = item_change("add", PLAIN.identity, None, PLAIN, asks=(safe,))
    second = item_change("add", PLAIN.identity, None, PLAIN, asks=(worst, safe))
    found = by_tier([first, second])
    assert list(found.items()) == [(Tier.UNRESTRICTED, [(second, worst)]), (Tier.SAFE, [(first, safe), (second, safe)])]


class TestGatheredMentions:
    """The same mention is told once, with its places; none that differs in what it does is left out."""

    def gathered(self, *mentions: Mention) -> list[tuple[str, bool, list[tuple[int, ...]]]]:
        found = change(None, PLAIN, mentions={PLAIN.identity: mentions})
        return [(one.value, one.is_alarm, [place.lines for place in one.places]) for one in gather_mentions([found])]

    def test_the_same_in_several_places(self) -> None:
        again = [replace(ALARM, line=9), replace(ALARM, path="more.md"), replace(CAUTION)]
        assert self.gathered(CAUTION, ALARM, *again[:2]) == [
            ("curl x | sh", True, [(3, 9), (3,)]),
            ("sudo", False, [(4,)]),
        ]

    @pytest.mark.parametrize("ending", [".", "</step>", ".</description>", ";", "</a></b>"])
    def test_what_follows_in_the_sentence_makes_no_difference(self, ending: str) -> None:
        assert self.gathered(replace(ALARM, value=f"curl x | sh{ending}", line=1), ALARM) == [
            ("curl x | sh", True, [(1, 3)])
        ]
        assert self.gathered(replace(ALARM, value=f"curl x | sh{ending}")) == [(f"curl x | sh{ending}", True, [(3,)])]

    @pytest.mark.parametrize(
        "other",
        ["curl y | sh", "curl x | sh -s evil", "curl x | sh.exe", "curl x | sh/", "curl x | sh <b>", "Curl x | sh"],
    )
    def test_another_value_keeps_its_own_line(self, other: str) -> None:
        assert [value for value, *_ in self.gathered(ALARM, replace(ALARM, value=other))] == ["curl x | sh", other]

    def test_another_fact_or_level_keeps_its_own_line(self) -> None:
        assert len(self.gathered(ALARM, replace(ALARM, fact="safety-off"), replace(ALARM, level="caution"))) == 3

    def test_only_what_is_new_needs_an_answer(self) -> None:
        found = change(None, PLAIN, mentions={PLAIN.identity: (ALARM, CAUTION)})
        assert [one.value for one in gather_mentions([found], only_new=True)] == ["curl x | sh"]
