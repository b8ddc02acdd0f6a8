"""Keyset chains and index statements under them: rotation, takeover, revocation, recovery, yanks, deprecations, advisories."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Keyset, Revocation, Root, parse
from rye.registry.trust.keysets import KeysetChain, extend
from rye.registry.trust.owners import Owners
from rye.registry.trust.records import ItemHistory, check_installable, find_locked, judge
from rye.registry.trust.trusted import LoggedStatement
from tests.registry.simulated_registry import SimulatedRegistry, key, signer

TOOL = Identity("tool", "acme/text/count")
OLD, NEW, THIEF = key("acme 1"), key("acme 2"), key("thief")


def refusal(action: Callable[..., object], *arguments: object) -> RyeError:
    with pytest.raises(RyeError) as raised:
        action(*arguments)
    return raised.value


def owners_of(registry: SimulatedRegistry) -> Owners:
    return Owners(tuple(Root.parse(note.text) for note in registry.roots))


def chain_of(registry: SimulatedRegistry, namespace: str = "acme") -> KeysetChain:
    chain = KeysetChain(registry.origin, namespace)
    for line in registry.index_lines().get(f"namespace:{namespace}", []):
        note = notes.parse(line.note)
        chain = extend(chain, line.log, note, Keyset.parse(note.text), owners_of(registry))
    return chain


def history_of(registry: SimulatedRegistry, identity: Identity = TOOL) -> ItemHistory:
    entries = []
    for line in registry.index_lines()[str(identity)]:
        note = notes.parse(line.note)
        entries.append(LoggedStatement(line, note, parse(note.text)))
    return judge(identity, entries, chain_of(registry, identity.namespace), owners_of(registry), registry.now)


@pytest.fixture
def registry() -> SimulatedRegistry:
    found = SimulatedRegistry()
    found.claim("acme", [OLD])
    found.release(TOOL)
    return found


# keysets


def test_a_chain_begins_with_number_1(registry: SimulatedRegistry) -> None:
    keyset = registry.keyset("acme", [NEW])
    registry.leaves.clear()
    registry.add_keyset(keyset, registry.namespace_signers("acme", [OLD, NEW]), [NEW])
    assert refusal(chain_of, registry).code == "keyset-number"


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("keyset-number", {"number": 3}),
        ("keyset-number", {"number": 1, "previous": None}),
        ("keyset-chain", {"previous": "0" * 64}),
        ("index-foreign", {"origin": "other.example"}),
    ],
)
def test_a_keyset_that_does_not_follow_is_refused(
    registry: SimulatedRegistry, code: str, changes: dict[str, object]
) -> None:
    registry.add_keyset(
        registry.keyset("acme", [NEW], **changes), registry.namespace_signers("acme", [OLD, NEW]), [NEW]
    )
    assert refusal(chain_of, registry).code == code


def test_new_keys_without_the_old_ones_are_a_takeover_and_both_are_named(registry: SimulatedRegistry) -> None:
    registry.add_keyset(registry.keyset("acme", [THIEF]), registry.namespace_signers("acme", [THIEF]), [THIEF])
    error = refusal(chain_of, registry)
    assert error.code == "keyset-takeover"
    assert len(error.details["old_keys"]) == len(error.details["new_keys"]) == 1  # type: ignore[arg-type]
    assert error.details["old_keys"] != error.details["new_keys"]


def test_a_keyset_is_signed_by_its_own_threshold_of_distinct_keys(registry: SimulatedRegistry) -> None:
    other = registry.fork()
    other.add_keyset(other.keyset("acme", [NEW]), other.namespace_signers("acme", [OLD]), [NEW])
    assert refusal(chain_of, other).code == "keyset-signatures"
    keyset = registry.keyset("acme", [NEW, OLD], threshold=2)
    for signing, code in (([OLD, OLD], "keyset-signatures"), ([OLD, THIEF], "keyset-signatures"), ([OLD, NEW], None)):
        fork = registry.fork()
        fork.add_keyset(keyset, fork.namespace_signers("acme", signing), [NEW, OLD])
        if code is None:
            assert len(chain_of(fork).links) == 2
        else:
            assert refusal(chain_of, fork).code == code


def test_a_threshold_of_two_needs_two_of_the_old_keys_for_the_next_keyset(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [OLD, NEW], threshold=2)
    registry.add_keyset(registry.keyset("acme", [NEW]), registry.namespace_signers("acme", [NEW]), [NEW])
    assert refusal(chain_of, registry).code == "keyset-takeover"


def test_what_was_revoked_stays_revoked(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, 10),))
    for revoked in ((), (Revocation(OLD.public.raw, 11),)):
        fork = registry.fork()
        fork.claim("acme", [NEW], revoked=revoked)
        assert refusal(chain_of, fork).code == "keyset-revocations"


def test_a_recovery_is_signed_by_the_registrys_owners(registry: SimulatedRegistry) -> None:
    keyset = registry.keyset("acme", [NEW], recovery=registry.now + timedelta(hours=72))
    for owners in ([], registry.owners[:1], [THIEF, NEW]):
        fork = registry.fork()
        fork.add_keyset(keyset, [*fork.namespace_signers("acme", [NEW]), *fork.owner_signers(owners)], [NEW])
        assert refusal(chain_of, fork).code == "recovery-signatures"


def test_the_old_keys_stay_in_force_until_a_recovery_takes_effect(registry: SimulatedRegistry) -> None:
    registry.recover("acme", [NEW])
    registry.release(TOOL, "1.0.1", keys=[OLD], keyset=1)
    registry.pass_time(hours=71)
    registry.release(TOOL, "1.0.2", keys=[OLD], keyset=1)
    assert [record.link.keyset.number for record in history_of(registry).records] == [1, 1, 1]
    early = registry.fork()
    early.release(TOOL, "2.0.0", keys=[NEW], keyset=2)
    assert refusal(history_of, early).code == "statement-keyset"
    registry.pass_time(hours=1)
    registry.release(TOOL, "2.0.0", keys=[NEW], keyset=2)
    assert [record.link.keyset.number for record in history_of(registry).records] == [1, 1, 1, 2]
    late = registry.fork()
    late.release(TOOL, "2.0.1", keys=[OLD], keyset=1, time=late.now - timedelta(hours=10))
    assert refusal(history_of, late).code == "statement-keyset"


def test_the_old_keys_may_object_to_a_recovery_before_it_takes_effect(registry: SimulatedRegistry) -> None:
    before = registry.keysets["acme"]
    registry.recover("acme", [THIEF])
    registry.pass_time(hours=24)
    registry.keysets["acme"], registry.namespaces["acme"] = before, [OLD]
    late = registry.fork()
    registry.claim("acme", [NEW])
    chain = chain_of(registry)
    assert [link.keyset.keys for link in chain.links] == [(OLD.public.raw,), (NEW.public.raw,)]
    assert chain.pending(registry.now) is None
    late.pass_time(hours=48)
    late.claim("acme", [NEW])
    assert refusal(chain_of, late).code == "keyset-number"


def test_nothing_follows_a_recovery_before_its_time(registry: SimulatedRegistry) -> None:
    registry.recover("acme", [NEW])
    registry.pass_time(hours=1)
    registry.claim("acme", [NEW])
    assert refusal(chain_of, registry).code == "recovery-pending"


# statements under keysets


def test_a_release_by_a_key_of_the_keyset_in_force_counts(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [NEW])
    registry.release(TOOL, "1.1.0")
    records = history_of(registry).records
    assert [(record.version, record.link.keyset.number, record.signers) for record in records] == [
        ("1.0.0", 1, (OLD.public.raw,)),
        ("1.1.0", 2, (NEW.public.raw,)),
    ]
    assert not any(record.revoked for record in records)


@pytest.mark.parametrize(("signing", "number", "code"), [(THIEF, 1, "statement-signer"), (OLD, 2, "statement-keyset")])
def test_a_release_by_anyone_else_is_refused(
    registry: SimulatedRegistry, signing: object, number: int, code: str
) -> None:
    registry.release(TOOL, "1.1.0", keys=[signing], keyset=number)  # type: ignore[list-item]
    assert refusal(history_of, registry).code == code


def test_the_old_key_signs_no_more_after_a_rotation(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [NEW])
    for number, code in ((1, "statement-keyset"), (2, "statement-signer")):
        fork = registry.fork()
        fork.release(TOOL, "1.1.0", keys=[OLD], keyset=number)
        error = refusal(history_of, fork)
        assert error.code == code
    assert error.details["expected_keys"] != error.details["found_keys"]


def test_a_release_before_its_namespace_is_claimed_is_refused() -> None:
    registry = SimulatedRegistry()
    registry.namespaces["acme"] = [OLD]
    registry.release(TOOL)
    assert refusal(history_of, registry).code == "namespace-unclaimed"
    registry.claim("acme", [OLD])
    assert refusal(history_of, registry).code == "statement-unclaimed"


def test_revocation_counts_from_its_position(registry: SimulatedRegistry) -> None:
    second = registry.release(TOOL, "1.1.0")
    for position, revoked in ((second + 1, [False, False]), (second, [False, True]), (0, [True, True])):
        fork = registry.fork()
        fork.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, position),))
        records = history_of(fork).records
        assert [record.revoked for record in records] == revoked
        for record in records:
            if record.revoked:
                assert refusal(check_installable, record).code == "signer-revoked"
            else:
                check_installable(record)


def test_a_release_that_another_good_key_signed_too_survives_a_revocation(registry: SimulatedRegistry) -> None:
    registry.claim("acme", [OLD, NEW])
    registry.release(TOOL, "1.1.0", keys=[OLD, NEW])
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, 0),))
    assert [record.revoked for record in history_of(registry).records] == [True, False]


def test_what_a_revoked_key_said_about_others_does_not_count(registry: SimulatedRegistry) -> None:
    position = registry.yank(TOOL, "1.0.0")
    registry.deprecate(TOOL)
    registry.advise(TOOL, "*")
    assert history_of(registry).records[0].yank is not None
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, position),))
    history = history_of(registry)
    assert history.records[0].yank is None
    assert history.deprecation is None
    assert history.advisories == ()


def test_a_version_is_released_once(registry: SimulatedRegistry) -> None:
    registry.release(TOOL, "1.0.0", b"other bytes\n")
    assert refusal(history_of, registry).code == "release-repeated"


def test_the_last_yank_holds(registry: SimulatedRegistry) -> None:
    registry.yank(TOOL, "1.0.0", reason="it deletes files")
    record = history_of(registry).records[0]
    assert record.yank is not None
    assert record.yank.reason == "it deletes files"
    check_installable(record)
    registry.yank(TOOL, "1.0.0", yanked=False)
    assert history_of(registry).records[0].yank is None


def test_a_yank_of_what_was_not_released_is_refused(registry: SimulatedRegistry) -> None:
    registry.yank(TOOL, "9.9.9")
    assert refusal(history_of, registry).code == "release-unknown"


def test_the_last_deprecation_holds_for_every_release(registry: SimulatedRegistry) -> None:
    registry.deprecate(TOOL, replacement=Identity("tool", "acme/text/measure"))
    registry.release(TOOL, "1.0.1")
    assert all(record.deprecation is not None for record in history_of(registry).records)
    registry.deprecate(TOOL, deprecated=False)
    assert all(record.deprecation is None for record in history_of(registry).records)


def test_an_advisory_concerns_the_versions_of_its_range_pre_releases_included(registry: SimulatedRegistry) -> None:
    registry.release(TOOL, "1.1.0-rc.1")
    registry.release(TOOL, "1.2.0")
    registry.advise(TOOL, "<1.2.0")
    registry.advise(TOOL, "=1.2.0", number="RYE-2026-2", by_owners=True)
    found = {
        record.version: [advisory.number for advisory in record.advisories] for record in history_of(registry).records
    }
    assert found == {"1.0.0": ["RYE-2026-1"], "1.1.0-rc.1": ["RYE-2026-1"], "1.2.0": ["RYE-2026-2"]}


def test_a_later_advisory_of_the_same_number_replaces_and_an_empty_range_withdraws(registry: SimulatedRegistry) -> None:
    registry.advise(TOOL, "*", severity="low")
    registry.advise(TOOL, "*", severity="critical")
    assert [advisory.severity for advisory in history_of(registry).records[0].advisories] == ["critical"]
    registry.advise(TOOL, "<0.0.0-0")
    assert history_of(registry).records[0].advisories == ()


def test_an_advisory_in_the_registrys_name_is_signed_by_its_owners(registry: SimulatedRegistry) -> None:
    registry.owner_threshold = 1
    registry.advise(TOOL, "*", by_owners=True)
    assert refusal(history_of, registry).code == "advisory-signer"


def test_an_item_of_more_bytes_than_a_client_takes_is_refused_before_it_is_fetched(registry: SimulatedRegistry) -> None:
    release = parse(notes.parse(registry.leaves[-1]).text)
    huge = registry.fork()
    huge.release(TOOL, "2.0.0", file=type(release.file)(".py", 2**50, "0" * 64))  # type: ignore[union-attr]
    assert refusal(check_installable, history_of(huge).records[1]).code == "release-oversized"


def test_a_locked_release_must_still_be_there_with_the_same_bytes(registry: SimulatedRegistry) -> None:
    history = history_of(registry)
    record = history.records[0]
    sha256 = record.release.file.sha256
    assert find_locked(history, TOOL, "1.0.0", sha256) == record
    assert refusal(find_locked, history, TOOL, "1.0.1", sha256).code == "release-vanished"
    assert refusal(find_locked, None, TOOL, "1.0.0", sha256).code == "release-vanished"
    assert refusal(find_locked, history, TOOL, "1.0.0", "0" * 64).code == "release-changed"


def test_a_replayed_statement_has_no_effect_whatever_is_signed_under_it(registry: SimulatedRegistry) -> None:
    registry.yank(TOOL, "1.0.0", yanked=True)
    registry.pass_time(minutes=1)
    again = notes.parse(registry.leaves[registry.yank(TOOL, "1.0.0", yanked=False)])
    registry.pass_time(minutes=1)
    registry.yank(TOOL, "1.0.0", yanked=True)
    registry.append(again)
    registry.append(notes.add_signatures(again, [signer("stranger", THIEF)]))
    assert history_of(registry).records[0].yank is not None
    registry.pass_time(minutes=1)
    registry.yank(TOOL, "1.0.0", yanked=False)
    assert history_of(registry).records[0].yank is None


# takedowns


def test_a_takedown_by_the_owners_is_final_and_says_why(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    registry.take_down(TOOL, "1.0.0", [record.release.file.sha256])
    (record,) = history_of(registry).records
    assert record.takedown is not None
    assert record.is_withdrawn
    refused = refusal(check_installable, record)
    assert (refused.code, "it held a key" in refused.message) == ("release-taken-down", True)
    registry.yank(TOOL, "1.0.0", yanked=False)  # its publisher cannot restore it
    assert history_of(registry).records[0].takedown is not None


def test_a_takedown_that_the_owners_did_not_sign_is_refused(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    registry.owner_threshold = 1
    registry.take_down(TOOL, "1.0.0", [record.release.file.sha256])
    assert refusal(history_of, registry).code == "takedown-signer"


def test_a_takedown_names_files_of_a_release_that_is_there(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    registry.take_down(TOOL, "1.0.0", [record.release.file.sha256, "0" * 64])
    assert refusal(history_of, registry).code == "takedown-foreign"
    other = SimulatedRegistry()
    other.claim("acme", [OLD])
    other.release(TOOL)
    other.take_down(TOOL, "9.0.0", [record.release.file.sha256])
    assert refusal(history_of, other).code == "release-unknown"
