"""Boundaries of a verified history: events that do not end it, withdrawn releases, each limit of a release, the stored form."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rye.installation.environment import Environment, policy_of
from rye.items.identity import Identity
from rye.limits import ContentLimits, RegistryLimits
from rye.permissions.policy_table import PolicyTable
from rye.registry.protocol import notes
from rye.registry.protocol.statements import Advisory, Revocation, parse
from rye.registry.trust.records import (
    Judged,
    ReleaseRecord,
    check_installable,
    concerns,
    decode_judged,
    encode_judged,
    judge,
    latest_release,
    release_files,
)
from rye.registry.trust.trusted import LoggedStatement
from rye.resolution.problem import Exclusion
from tests.registry.simulated_registry import START, SimulatedRegistry
from tests.registry.test_records import NEW, OLD, TOOL, chain_of, history_of, owners_of, refusal

SKILL = Identity("skill", "acme/text/guide")


@pytest.fixture
def registry() -> SimulatedRegistry:
    found = SimulatedRegistry()
    found.claim("acme", [OLD])
    found.release(TOOL)
    return found


def versions_of(registry: SimulatedRegistry) -> list[str]:
    return [record.version for record in history_of(registry).records]


def with_attached(sizes: tuple[int, ...]) -> ReleaseRecord:
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD])
    registry.release(SKILL, attached={f"data/{number}": b"x" * size for number, size in enumerate(sizes)})
    return history_of(registry, SKILL).records[0]


# what a record says


def test_a_record_names_what_its_release_is_and_is_not_revoked_unless_said(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    assert (record.identity, record.version, record.origin) == (TOOL, "1.0.0", "registry.example")
    made = ReleaseRecord(release=record.release, line=record.line, link=record.link, signers=record.signers)
    assert made == record
    assert made.revoked is False
    assert made.is_withdrawn is False


def test_a_yank_a_takedown_or_revoked_signers_each_withdraw_a_release(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    registry.yank(TOOL, "1.0.0")
    registry.take_down(TOOL, "1.0.0", [record.release.file.sha256])
    (both,) = history_of(registry).records
    assert both.yank is not None
    assert both.takedown is not None
    assert replace(record, yank=both.yank).is_withdrawn
    assert replace(record, takedown=both.takedown).is_withdrawn
    assert replace(record, revoked=True).is_withdrawn
    assert not record.is_withdrawn


# events that do not end a history


def test_what_follows_an_advisory_of_the_owners_counts(registry: SimulatedRegistry) -> None:
    registry.advise(TOOL, "*", by_owners=True)
    registry.release(TOOL, "1.1.0")
    assert versions_of(registry) == ["1.0.0", "1.1.0"]


def test_what_follows_a_takedown_counts(registry: SimulatedRegistry) -> None:
    (record,) = history_of(registry).records
    registry.take_down(TOOL, "1.0.0", [record.release.file.sha256])
    registry.release(TOOL, "1.1.0")
    assert [(found.version, found.takedown is None) for found in history_of(registry).records] == [
        ("1.0.0", False),
        ("1.1.0", True),
    ]


@pytest.mark.parametrize("gone", [False, True])
def test_a_signer_who_is_revoked_for_a_release_is_none_that_a_policy_counts(gone: bool) -> None:
    """Who asks for two reviewers, or for one of some signers, does not get a stolen key's signature instead."""
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD, NEW])
    position = registry.release(TOOL, keys=[OLD, NEW])
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, position if gone else position + 1),))
    (record,) = history_of(registry).records
    assert (record.revoked, len(record.signers)) == (False, 2)
    stored = decode_judged(encode_judged(Judged(history_of(registry), position, registry.now)))
    assert stored is not None
    assert stored.history.records[0].counted == record.counted
    for table in (PolicyTable(required_reviewers=2), PolicyTable(required_signers=(OLD.public.fingerprint,))):
        judging = Environment(frozenset(), policy_of(table), record.release.time)
        assert (Exclusion.OTHER_SIGNER in judging.exclusions(record)) is gone
    new = Environment(frozenset(), policy_of(PolicyTable(required_reviewers=1)), record.release.time)
    assert Exclusion.OTHER_SIGNER not in new.exclusions(record)


def test_what_follows_a_dropped_statement_of_a_revoked_key_counts(registry: SimulatedRegistry) -> None:
    position = registry.deprecate(TOOL)
    registry.claim("acme", [NEW], revoked=(Revocation(OLD.public.raw, position),))
    registry.release(TOOL, "1.1.0")
    assert versions_of(registry) == ["1.0.0", "1.1.0"]
    assert history_of(registry).deprecation is None


def test_a_release_that_stands_twice_word_for_word_is_refused_not_passed_over(registry: SimulatedRegistry) -> None:
    registry.append(notes.parse(registry.leaves[-1]))
    assert refusal(history_of, registry).code == "release-repeated"


def test_a_keyset_in_the_index_of_an_item_is_foreign_there(registry: SimulatedRegistry) -> None:
    line = registry.index_lines()["namespace:acme"][0]
    note = notes.parse(line.note)
    entries = [LoggedStatement(line, note, parse(note.text))]
    error = refusal(judge, TOOL, entries, chain_of(registry), owners_of(registry), registry.now)
    assert error.code == "index-foreign"
    assert f"a rye.keyset/v1 at position {line.log}" in error.message


def test_advisories_are_in_the_order_of_their_numbers_not_of_the_log(registry: SimulatedRegistry) -> None:
    for number in ("RYE-2026-3", "RYE-2026-1", "RYE-2026-2"):
        registry.advise(TOOL, "*", number=number)
    history = history_of(registry)
    for advisories in (history.advisories, history.records[0].advisories):
        assert [advisory.number for advisory in advisories] == ["RYE-2026-1", "RYE-2026-2", "RYE-2026-3"]


def test_an_advisory_concerns_a_version_that_cannot_be_compared() -> None:
    advisory = Advisory("registry.example", TOOL, "RYE-2026-1", "<1.0.0", "high", None, START, "it does harm")
    assert concerns(advisory, "0.9.0") is True
    assert concerns(advisory, "1.0.0") is False
    assert concerns(advisory, "latest") is True


# the latest release


def latest(registry: SimulatedRegistry) -> str | None:
    found = latest_release(history_of(registry))
    return found.version if found is not None else None


def test_the_latest_release_is_the_highest_not_the_newest(registry: SimulatedRegistry) -> None:
    for version in ("1.10.0", "1.9.0", "1.9.1"):
        registry.release(TOOL, version)
    assert latest(registry) == "1.10.0"


def test_a_pre_release_is_the_latest_only_where_there_is_no_other(registry: SimulatedRegistry) -> None:
    for version in ("2.0.0-rc.1", "2.0.0-rc.2"):
        registry.release(TOOL, version)
    assert latest(registry) == "1.0.0"
    registry.yank(TOOL, "1.0.0")
    assert latest(registry) == "2.0.0-rc.2"


def test_a_withdrawn_release_is_never_the_latest(registry: SimulatedRegistry) -> None:
    registry.release(TOOL, "1.1.0")
    (first, second) = history_of(registry).records
    registry.take_down(TOOL, "1.1.0", [second.release.file.sha256])
    assert latest(registry) == "1.0.0"
    registry.yank(TOOL, "1.0.0")
    assert latest(registry) is None
    history = history_of(registry)
    assert latest_release(replace(history, records=(first, replace(second, revoked=True)))) == first
    assert latest_release(replace(history, records=())) is None


def test_a_version_that_cannot_be_compared_is_not_the_latest(registry: SimulatedRegistry) -> None:
    history = history_of(registry)
    (record,) = history.records
    odd = replace(record, release=replace(record.release, version="latest"))
    assert latest_release(replace(history, records=(odd, record, odd))) == record
    assert latest_release(replace(history, records=(odd,))) is None


def test_of_two_builds_of_one_version_the_first_is_the_latest(registry: SimulatedRegistry) -> None:
    history = history_of(registry)
    (record,) = history.records
    first, second = (replace(record, release=replace(record.release, version=f"1.2.0+{build}")) for build in "ba")
    assert latest_release(replace(history, records=(record, first, second))) == first


# limits of a release


def test_a_release_at_its_limits_is_installable_and_beyond_any_one_of_them_not() -> None:
    record = with_attached((3, 4))
    content, limits = ContentLimits(attached_files=2, attached_bytes=7), RegistryLimits(item_bytes=len(b"text\n"))
    check_installable(record, content, limits)
    for smaller, fewer in (
        (content, RegistryLimits(item_bytes=4)),
        (ContentLimits(attached_files=1, attached_bytes=7), limits),
        (ContentLimits(attached_files=2, attached_bytes=6), limits),
    ):
        assert refusal(check_installable, record, smaller, fewer).code == "release-oversized"


def test_a_releases_files_are_its_own_and_the_attached_ones_and_each_can_be_taken_down() -> None:
    registry = SimulatedRegistry()
    registry.claim("acme", [OLD])
    registry.release(SKILL, attached={"data/a": b"a", "data/b": b"b"})
    (record,) = history_of(registry, SKILL).records
    hashes = [record.release.file.sha256, *(entry.sha256 for entry in record.release.attached)]
    assert len(set(hashes)) == 3
    assert release_files(record.release) == set(hashes)
    registry.take_down(SKILL, "1.0.0", [hashes[2]])
    assert history_of(registry, SKILL).records[0].takedown is not None


# the stored form


def test_a_judgement_is_read_back_as_it_was_kept(registry: SimulatedRegistry) -> None:
    registry.yank(TOOL, "1.0.0")
    registry.advise(TOOL, "*")
    judged = Judged(history_of(registry), registry.size - 1, registry.now)
    assert decode_judged(encode_judged(judged)) == judged


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda _: b"\xc1",
        lambda data: data[:-1],
        lambda data: data + b"\x00",
        lambda data: data.replace(b"\xa7history", b"\xa7History"),
    ],
)
def test_a_kept_judgement_that_was_changed_or_cut_is_none(
    registry: SimulatedRegistry, change: Callable[[bytes], bytes]
) -> None:
    data = encode_judged(Judged(history_of(registry), 3, registry.now))
    assert decode_judged(data) is not None
    assert decode_judged(change(data)) is None
