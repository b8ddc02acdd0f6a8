"""The rules of consent for items of [sources], which no registry vouches for: who signed them, and who agreed to it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.installation.install import unapproved
from rye.installation.plan import Consent, ItemChange, Plan, agreed_rows, gather_mentions, make_plan, refused
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedFile, LockedItem, LockedSource
from rye.text.facts.fact import RULES_VERSION
from tests.installation.test_plan_values import ALARM, CAUTION, PLAIN, RUN, agreed, change
from tests.scenes.approvals import item_change, with_asks

KEY, OTHER_KEY = "SHA256:a", "SHA256:b"
REPOSITORY = "git+https://git.example/pdf"
AFTER: dict[str, Any] = {"sha256": "22" * 32}


def from_git(commit: str = "1", *, signer: str | None = None, address: str = "https://git.example/pdf") -> LockedItem:
    """The item at a commit; unsigned unless a key is named."""
    source = LockedSource(place="SKILL.md", git=address, ref="HEAD", commit=commit * 40, tree="3" * 40)
    version = f"1.2.0+{commit * 7}"
    signer = signer or source.origin
    row = replace(PLAIN, version=version, registry=source.origin, log=0, keyset=0, signer=signer, source=source)
    return replace(row, sha256=commit * 64)


def from_folder(*, editable: bool = False, **changes: Any) -> LockedItem:
    source = LockedSource(place="SKILL.md", path="../mine", editable=editable)
    return replace(PLAIN, registry=source.origin, log=0, keyset=0, signer=source.origin, source=source, **changes)


def locked(before: LockedItem | None, new: LockedItem) -> LockedItem:
    """The row that ``rye lock`` writes for a chosen release."""
    (row,) = unapproved(Lock({}, (before,) if before is not None else ()), [new])
    return row


ELSEWHERE = from_git(address="https://evil.example/pdf")


def unsigned_from(found: ItemChange) -> str | None:
    [why] = (*found.of("signer"), *found.of("source"))
    return str(why.unsigned_from) if why.unsigned_from is not None else None


def is_brought(found: ItemChange) -> bool:
    return any(why.brought for why in found.of("source"))


class TestChangeOfSigner:
    @pytest.mark.parametrize(
        ("old", "new", "before", "words"),
        [
            (PLAIN, from_git("2"), KEY, f"by {KEY}"),
            (from_git("1", signer=KEY), from_git("2", signer=OTHER_KEY), KEY, f"by {KEY}"),
            (from_git("1", signer=KEY), from_git("2"), KEY, f"by {KEY}"),
            (from_git("1", signer=KEY), replace(from_git("1"), **AFTER), KEY, f"by {KEY}"),
            (from_git(), ELSEWHERE, f"none (git commit {'1' * 40})", f"not signed (git commit {'1' * 40})"),
            (from_git(), PLAIN, f"none (git commit {'1' * 40})", f"not signed (git commit {'1' * 40})"),
            (from_folder(), PLAIN, "none (folder ../mine)", "not signed (folder ../mine)"),
        ],
    )  # fmt: skip
    def test_it_is_reported_with_the_signer_before_and_stops(
        self, old: LockedItem, new: LockedItem, before: str, words: str
    ) -> None:
        found = change(agreed(old), new)
        assert (found.signer_changed, found.stops) == (True, True)
        assert (found.signer_before, found.signed_before) == (before, words)
        assert unsigned_from(found) == (old.registry if old.is_unsigned else None)
        assert refused(Plan((found,)), Consent(yes=True)) == (found,)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (from_git("1"), from_git("2")),
            (from_git("1"), from_git("2", signer=KEY)),
            (from_git("1", signer=KEY), from_git("2", signer=KEY)),
            (from_git("1", signer=KEY), from_git("1")),
            (from_git("1", signer=KEY), replace(from_git("2"), sha256="1" * 64)),
            (from_folder(), from_folder(**AFTER)),
        ],
    )
    def test_same_origin_a_first_signature_or_unchanged_bytes_is_none(self, old: LockedItem, new: LockedItem) -> None:
        found = change(agreed(old), new)
        assert (found.signer_changed, found.signer_before, found.signed_before) == (False, None, None)

    def test_unchanged_bytes_include_the_attached_files(self) -> None:
        """A key that is no longer trusted does not vouch for a script that was exchanged beside an unchanged text."""
        file = LockedFile("run.sh", 1, "ef" * 32)
        old = replace(from_git(signer=KEY), attached=(file,))
        assert not change(agreed(old), replace(from_git(), attached=(file,))).signer_changed
        assert change(agreed(old), replace(from_git(), attached=(replace(file, sha256="11" * 32),))).signer_changed

    def test_an_unsigned_copy_of_the_same_bytes_elsewhere_is_another_signer(self) -> None:
        assert change(agreed(PLAIN), from_folder()).signer_changed
        assert change(agreed(from_folder()), PLAIN).signer_changed
        assert change(agreed(from_git(signer=KEY)), ELSEWHERE).signer_changed

    def test_a_row_that_no_one_approved_has_no_signer_before(self) -> None:
        found = change(replace(from_git(), approved=approving(1, "")), replace(from_git("2", signer=KEY), **AFTER))
        assert (found.signer_changed, found.signer_before) == (False, None)


class TestAfterLocking:
    """``rye lock`` approves nothing, so ``rye install`` after it stops wherever it would have stopped without it."""

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            (PLAIN, from_git("2"), f"by {KEY}"),
            (PLAIN, from_folder(), f"by {KEY}"),
            (PLAIN, replace(PLAIN, registry="other.example", signer=OTHER_KEY), f"by {KEY}"),
            (from_git("1", signer=KEY), from_git("2", signer=OTHER_KEY), f"by {KEY}"),
            (from_git("1", signer=KEY), from_git("2"), f"by {KEY}"),
            (from_git("1"), ELSEWHERE, f"not signed ({REPOSITORY})"),
            (from_git("1"), PLAIN, f"not signed ({REPOSITORY})"),
            (from_folder(), PLAIN, "not signed (path+../mine)"),
            (from_folder(editable=True), PLAIN, "not signed (editable+../mine)"),
        ],
    )
    def test_another_signer_is_still_reported(self, old: LockedItem, new: LockedItem, words: str) -> None:
        row = locked(agreed(old), new)
        assert row.approved.signer == old.signer
        found = change(row, new)
        assert (found.action, found.signer_changed, found.stops) == ("keep", True, True)
        assert found.signed_before == words
        assert unsigned_from(found) == (old.registry if old.is_unsigned else None)
        assert refused(Plan((found,)), Consent(yes=True)) == (found,)

    def test_the_same_origin_is_none(self) -> None:
        new = from_git("2")
        found = change(locked(agreed(from_git("1")), new), new)
        assert (found.signer_changed, found.stops) == (False, False)
        assert [ask.sort for ask in found.asks] == ["unsigned-text"]

    def test_the_approved_origin_is_told_and_neither_the_key_nor_the_commit_of_the_pending_row(self) -> None:
        row = locked(agreed(from_git("1")), from_git("2", signer=OTHER_KEY))
        assert change(row, replace(PLAIN, **AFTER)).signed_before == f"not signed ({REPOSITORY})"

    def test_other_attached_files_under_an_unchanged_text_are_pending(self) -> None:
        old = agreed(replace(PLAIN, attached=(LockedFile("a.md", 1, "ef" * 32), LockedFile("b.md", 1, "ab" * 32))))
        assert locked(old, replace(old, attached=old.attached[::-1])).approved.signer is None
        assert locked(old, replace(old, attached=old.attached[:1])).approved.signer == KEY

    def test_the_source_of_a_pending_row_is_not_agreed_to(self) -> None:
        """Otherwise a row that someone else moved would vouch for every other item of its repository."""
        row = locked(agreed(PLAIN), ELSEWHERE)
        plan = make_plan(Lock({}, (row,)), [ELSEWHERE, replace(ELSEWHERE, id="acme/b")], known_signers=frozenset({KEY}))
        assert [(c.signer_new, c.signer_unknown) for c in plan.changes] == [(True, True), (True, False)]


class TestUnknownSource:
    @pytest.mark.parametrize(
        ("item", "known", "unknown"),
        [
            (from_git(), set(), True),
            (from_git(), {REPOSITORY}, False),
            (from_git(), {KEY}, True),
            (from_git(signer=KEY), {KEY}, True),
            (from_git(signer=KEY), {REPOSITORY}, True),
            (from_git(signer=KEY), {REPOSITORY, KEY}, False),
            (PLAIN, {REPOSITORY}, True),
        ],
    )
    def test_the_user_must_have_agreed_to_the_source_and_to_the_signer(
        self, item: LockedItem, known: set[str], unknown: bool
    ) -> None:
        found = change(None, item, known_signers=frozenset(known))
        assert (found.signer_unknown, found.needs_consent) == (unknown, unknown)

    def test_an_agreed_item_of_the_namespace_in_this_project_is_enough(self) -> None:
        for item in (from_git(), from_git(signer=KEY)):
            lock = Lock({}, (agreed(replace(item, id="acme/b")),))
            for identity, unknown in (("acme/pdf", False), ("moon/pdf", True)):
                plan = make_plan(lock, [replace(item, id=identity)], known_signers=frozenset())
                assert [c.signer_unknown for c in plan.changes if c.new is not None] == [unknown]

    def test_a_pending_item_is_not(self) -> None:
        lock = Lock({}, (replace(from_git(), id="acme/b", approved=approving(1, "")),))
        (found, _) = sorted(
            make_plan(lock, [from_git()], known_signers=frozenset()).changes, key=lambda c: c.new is None
        )
        assert (found.signer_new, found.signer_unknown) == (True, True)

    def test_a_registry_does_not_vouch_for_a_source_with_its_key(self) -> None:
        lock = Lock({}, (agreed(replace(PLAIN, id="acme/b")),))
        found = make_plan(lock, [from_git(signer=KEY)], known_signers=frozenset({KEY})).changes
        assert [c.signer_unknown for c in found if c.new is not None] == [True]


class TestBroughtByTheProject:
    """An unsigned item that rye.toml asked for before this command: someone else may have written its line."""

    @pytest.mark.parametrize(
        ("old", "new", "brought"),
        [
            (None, from_git(), True),
            (replace(from_git(), approved=approving(1, "")), from_git(), True),
            (agreed(from_git()), from_git("2"), False),
            (replace(from_git(), approved=approving(1, REPOSITORY)), from_git("2"), False),
            (None, from_git(signer=KEY), False),
            (None, PLAIN, False),
        ],
    )
    def test_it_needs_consent_until_someone_agreed(
        self, old: LockedItem | None, new: LockedItem, brought: bool
    ) -> None:
        found = change(old, new, brought={new.identity})
        asked = {ask.sort for ask in found.asks} - {"unsigned-text"}
        assert (is_brought(found), bool(asked)) == (brought, brought)
        assert is_brought(change(old, new, brought={Identity("skill", "acme/other")})) is False
        assert is_brought(change(old, new)) is False

    def test_yes_is_enough_for_a_copy_and_not_for_a_folder_that_can_change_at_any_time(self) -> None:
        for editable in (False, True):
            item = from_folder(editable=editable)
            found = change(None, item, brought={item.identity})
            assert (is_brought(found), found.stops) == (True, editable)
            assert Consent(yes=True).covers(found) is not editable
            assert Consent(approved=frozenset({found.label})).covers(found) is True
            assert change(None, item).stops is False


class TestVersionsOfASource:
    @pytest.mark.parametrize(
        ("old", "new", "action"),
        [
            (from_git("1"), from_git("2"), "update"),
            (from_git("2"), from_git("1"), "update"),
            (from_git("2"), replace(from_git("1"), version="1.1.9+1111111"), "downgrade"),
            (from_git("2"), replace(from_git("1"), version="1.2.1+1111111"), "update"),
            (from_git("2"), replace(from_git("1"), version="1.2.0-rc.1+2222222"), "downgrade"),
            (replace(PLAIN, version="1.2.0+a"), replace(PLAIN, version="1.2.0+b"), "downgrade"),
            (from_git("1"), replace(PLAIN, version="1.2.0+b"), "downgrade"),
            (replace(PLAIN, version="1.2.0+a"), from_git("1"), "downgrade"),
        ],
    )
    def test_commits_of_one_version_have_no_order(self, old: LockedItem, new: LockedItem, action: str) -> None:
        assert change(agreed(old), new).action == action


def test_what_an_editable_folder_mentions_is_agreed_to_with_it_but_an_alarm_only_by_name() -> None:
    row = from_folder(editable=True)
    found = item_change("add", row.identity, None, row, mentions=(CAUTION, ALARM))
    for consent, facts in (
        (Consent(yes=True), (CAUTION.word,)),
        (Consent(person=True), (ALARM.word, CAUTION.word)),
        (Consent(approved=frozenset({found.label})), (ALARM.word, CAUTION.word)),
    ):
        (done,) = agreed_rows(Plan((found,)), consent)
        assert done.approved.of("fact") == facts
    (done,) = agreed_rows(Plan((with_asks(found, new=from_folder()),)), Consent(yes=True))
    assert done.approved.of("fact") == ()


class TestWhatIsForcedNoLonger:
    def test_it_is_shown_although_it_needs_no_consent(self) -> None:
        kept = agreed(PLAIN)
        freed = change(replace(kept, forced="1.2.0"), kept)
        assert (freed.action, freed.needs_consent, freed.forces_anew) == ("keep", False, True)
        assert Plan((freed, change(kept, kept))).effective == (freed,)


class TestGatheredMentionsOfChanges:
    def told(self, found: ItemChange) -> list[tuple[str, list[bool]]]:
        return [(one.value, [place.new for place in one.places]) for one in gather_mentions([found])]

    def test_an_update_marks_what_was_not_there_before(self) -> None:
        new = replace(PLAIN, version="1.3.0")
        identity = PLAIN.identity
        old = agreed(PLAIN, approved=approving(RULES_VERSION, fact=(ALARM.word,)))
        found = change(old, new, mentions={identity: (ALARM, CAUTION)})
        assert self.told(found) == [(ALARM.value, [False]), (CAUTION.value, [True])]

    def test_a_first_installation_marks_nothing_since_all_of_it_is_new(self) -> None:
        found = change(None, PLAIN, mentions={PLAIN.identity: (ALARM, CAUTION)})
        assert found.of("fact") == (ALARM,)
        assert self.told(found) == [(ALARM.value, [False]), (CAUTION.value, [False])]

    def test_an_unchanged_item_is_silent_unless_something_of_it_needs_an_answer(self) -> None:
        quiet = item_change("keep", PLAIN.identity, agreed(PLAIN), PLAIN, mentions=(CAUTION,), runs=(RUN,))
        assert self.told(quiet) == []
        asking = with_asks(quiet, mentions=(ALARM, CAUTION), new_mentions=(ALARM,))
        assert self.told(asking) == [(ALARM.value, [True]), (CAUTION.value, [False])]
        assert self.told(replace(quiet, action="update")) == [(CAUTION.value, [False])]

    def test_a_value_of_nothing_but_stops_and_tags_is_told_as_it_is(self) -> None:
        odd = (replace(CAUTION, value="..."), replace(CAUTION, value="</a>"))
        found = change(None, PLAIN, mentions={PLAIN.identity: odd})
        assert [one.value for one in gather_mentions([found])] == ["...", "</a>"]


def test_facts_of_a_source_are_recorded_by_todays_rules() -> None:
    (done,) = agreed_rows(Plan((item_change("add", PLAIN.identity, None, from_git()),)), Consent(yes=True))
    assert (done.approved.rules, done.approved.of("fact")) == (RULES_VERSION, ())
