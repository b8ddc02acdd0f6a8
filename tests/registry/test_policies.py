"""The policy of a registry's owners: what a client that follows it accepts, and what it refuses (rye.registry.trust.policies;
docs/reference/policy-statement.md). Each attack has its control: the same registry, undisturbed, passes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.project.organizations import Joined, policies_in_force, write_own
from rye.registry import mirroring
from rye.registry.client import RegistryClient
from rye.registry.protocol import notes, wire
from rye.registry.protocol.cosignatures import Cosigner
from rye.registry.store.cache import Cache
from rye.registry.store.pins import read_pinned
from rye.registry.store.state import StateStore, decode, encode, merge
from rye.registry.trust.auditing import audit
from rye.registry.trust.policies import POLICY, check_stored_policy, encode_newest, read_organization_policy
from rye.storage.home import Home
from rye.storage.private_files import make_folder
from tests.registry.memory_transport import MemoryTransport
from tests.registry.simulated_registry import SimulatedRegistry, key
from tests.registry.witness_keys import cosigned, ed25519

ADDRESS = "https://registry.example"
W1, W2 = ed25519("w1"), ed25519("w2")


class Follower:
    """A client that joined a registry, run after run."""

    def __init__(self, registry: SimulatedRegistry, folder: Path):
        self.registry = registry
        self.store = StateStore(folder / "state")
        self.cache = Cache(folder / "cache")
        self.transport = MemoryTransport(dict(registry.files))

    def run(self, *, joins: bool = False, offline: bool = False) -> RegistryClient:
        client = RegistryClient(
            ADDRESS,
            self.transport,
            self.store,
            self.cache,
            now=lambda: self.registry.now,
            joins=joins,
            offline=offline,
        )
        with client:
            client.refresh(self.registry.fingerprint)
        return client

    def shows(self, files: dict[str, bytes] | None = None) -> None:
        self.transport = MemoryTransport(dict(self.registry.files if files is None else files))

    def number(self) -> int:
        state = self.store.load(self.registry.origin)
        assert state is not None
        assert state.policy is not None
        return read_organization_policy(state.policy)[1].number

    def failed(self, *, offline: bool = False) -> str:
        with pytest.raises(RyeError) as caught:
            self.run(offline=offline)
        return caught.value.code

    def refused(self) -> str:
        before = self.number()
        code = self.failed()
        assert self.number() == before
        return code


@pytest.fixture
def registry() -> SimulatedRegistry:
    made = SimulatedRegistry()
    made.publish_policy()
    made.publish()
    return made


@pytest.fixture
def follower(registry: SimulatedRegistry, tmp_path: Path) -> Follower:
    made = Follower(registry, tmp_path)
    made.run(joins=True)
    assert made.number() == 1
    return made


def test_a_newer_policy_comes_with_a_head_that_changed(registry: SimulatedRegistry, follower: Follower) -> None:
    registry.publish_policy()
    registry.publish()
    follower.shows()
    assert follower.run().took_policy is False  # what was new is committed by now
    assert follower.number() == 2


def test_nothing_is_asked_where_the_head_did_not_change_or_nobody_joined(
    registry: SimulatedRegistry, follower: Follower, tmp_path: Path
) -> None:
    asked = len(paths(follower))
    follower.run()
    assert POLICY not in paths(follower)[asked:]
    stranger = Follower(registry, tmp_path / "stranger")
    stranger.run()
    registry.publish_policy()
    registry.publish()
    stranger.shows()
    stranger.run()
    assert POLICY not in paths(stranger)
    state = stranger.store.load(registry.origin)
    assert state is not None
    assert state.policy is None


def test_a_larger_head_of_a_program_that_asked_for_no_policy_hides_none(
    registry: SimulatedRegistry, follower: Follower, tmp_path: Path
) -> None:
    """An install that began before the user joined stores the newest head, without the policy that it brought."""
    registry.publish_policy()
    registry.publish()
    other = Follower(registry, tmp_path / "other")
    other.run()
    one, newer = (each.store.load(registry.origin) for each in (follower, other))
    assert one is not None
    assert newer is not None
    follower.store.path(registry.origin).write_bytes(encode(merge(one, newer, lambda *_: None)))
    follower.shows()
    assert follower.number() == 1
    follower.run()
    assert follower.number() == 2


def paths(follower: Follower) -> list[str]:
    """All that was asked for since the registry showed something new."""
    return [path for wave in follower.transport.requested for path in wave]


def too_few(registry: SimulatedRegistry) -> None:
    registry.publish_policy([registry.owners[0]])


def forged(registry: SimulatedRegistry) -> None:
    registry.publish_policy([key("stranger 1"), key("stranger 2")])


def of_another_origin(registry: SimulatedRegistry) -> None:
    registry.publish_policy(origin="other.example")


def by_former_owners(registry: SimulatedRegistry) -> None:
    former = registry.owners
    registry.owners = [key("owner 4"), key("owner 5")]
    registry.add_root(signers=registry.owner_signers([*former, *registry.owners]))
    registry.publish()
    registry.publish_policy(former)


def of_the_same_number(registry: SimulatedRegistry) -> None:
    registry.publish_policy(number=1, previous=None, rules=())


@pytest.mark.parametrize(
    ("attack", "code", "finding"),
    [
        (too_few, "policy-signer", "policy-signer"),
        (forged, "policy-signer", "policy-signer"),
        (of_another_origin, "policy-foreign", "policy-foreign"),
        (of_the_same_number, "policy-rollback", "policy-chain"),
    ],
)
def test_what_the_owners_did_not_sign_as_the_next_one_is_refused(
    registry: SimulatedRegistry,
    follower: Follower,
    attack: Callable[[SimulatedRegistry], None],
    code: str,
    finding: str,
) -> None:
    attack(registry)
    registry.publish()
    follower.shows()
    assert follower.refused() == code
    found = audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint).findings
    assert finding in [one.code for one in found]


def test_owners_who_were_replaced_sign_none(registry: SimulatedRegistry, follower: Follower) -> None:
    by_former_owners(registry)
    replaced = dict(registry.files)
    follower.shows(replaced)
    follower.run()
    registry.publish()
    follower.shows()
    assert follower.refused() == "policy-signer"


def test_auditors_find_a_gap_in_the_chain(registry: SimulatedRegistry) -> None:
    registry.publish_policy(number=3)
    registry.publish()
    found = audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint)
    assert [one.code for one in found.findings] == ["policy-chain"]


def test_auditors_find_a_time_that_goes_back(registry: SimulatedRegistry) -> None:
    from_before = registry.now.replace(year=registry.now.year - 1)
    registry.publish_policy(time=from_before)
    registry.publish()
    found = audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint)
    assert [one.code for one in found.findings] == ["policy-chain"]


@pytest.mark.parametrize("shown", ["older", "none", "two", "elsewhere"])
def test_a_registry_that_takes_a_policy_away_or_moves_it_is_refused(
    registry: SimulatedRegistry, follower: Follower, shown: str
) -> None:
    older = registry.files[POLICY]
    registry.publish_policy()
    registry.publish()
    follower.shows()
    follower.run()
    registry.claim("acme")
    registry.publish()
    files, newest = dict(registry.files), registry.newest_policy()
    assert newest is not None
    if shown == "older":
        files[POLICY] = older
    elif shown == "none":
        del files[POLICY]
    elif shown == "two":
        files[POLICY] = older + files[POLICY]
    else:
        moved = registry.policy(rules=())
        note = registry.sign(moved, registry.owner_signers()).encode()
        files[POLICY] = encode_newest(wire.IndexLine(newest.log + 1, note))
    follower.shows(files)
    expected = {"two": "policy-foreign", "elsewhere": "leaf-mismatch"}.get(shown, "policy-rollback")
    assert follower.refused() == expected
    follower.shows()
    follower.run()
    assert follower.number() == 2


def test_a_file_that_is_newer_than_the_head_waits_for_it(registry: SimulatedRegistry, follower: Follower) -> None:
    registry.claim("acme")
    registry.publish()
    files = dict(registry.files)
    registry.publish_policy()
    registry.publish()
    follower.shows({**files, POLICY: registry.files[POLICY]})
    follower.run()
    assert follower.number() == 1
    follower.shows()
    follower.run()
    assert follower.number() == 2


@pytest.mark.parametrize("seen_days", [1, 6])
def test_a_head_that_was_seen_ends_a_policy_whatever_the_clock_says_later(
    registry: SimulatedRegistry, home: Home, tmp_path: Path, seen_days: int
) -> None:
    """The registry shows a later head and no newer policy; then the clock is set back to the day of joining."""
    follower = Follower(registry, tmp_path)
    follower.store = StateStore(home.registries)
    registry.publish_policy(expires=registry.now + timedelta(days=5))
    registry.publish()
    follower.shows()
    joined = registry.now
    follower.run(joins=True)
    make_folder(home.config)
    write_own(home, [Joined(ADDRESS, registry.fingerprint, False)])
    assert policies_in_force(home, joined)[0].number == 2
    registry.pass_time(days=seen_days)
    registry.publish()
    follower.shows()
    follower.run()
    if seen_days == 1:
        assert policies_in_force(home, joined)[0].number == 2
    else:
        with pytest.raises(RyeError, match="expired"):
            policies_in_force(home, joined)


def test_joining_needs_a_policy(tmp_path: Path) -> None:
    registry = SimulatedRegistry()
    registry.claim("acme")
    registry.publish()
    with pytest.raises(RyeError) as caught:
        Follower(registry, tmp_path).run(joins=True)
    assert caught.value.code == "no-such-entry"


def test_two_programs_keep_the_newer_policy(registry: SimulatedRegistry, follower: Follower) -> None:
    first = follower.store.load(registry.origin)
    registry.publish_policy()
    registry.publish()
    follower.shows()
    follower.run()
    second = follower.store.load(registry.origin)
    assert first is not None
    assert second is not None
    assert merge(first, second).policy == merge(second, first).policy == second.policy
    assert decode(encode(second)) == second


def test_a_mirror_has_the_newest_policy(registry: SimulatedRegistry, follower: Follower, tmp_path: Path) -> None:
    state = follower.run().state
    mirroring.mirror(MemoryTransport(registry.files), state, tmp_path / "mirror")
    assert (tmp_path / "mirror" / POLICY).read_bytes() == registry.files[POLICY]


def test_required_witnesses_count_from_the_run_that_brings_the_policy(
    registry: SimulatedRegistry, follower: Follower
) -> None:
    def cosigned_by(*witnesses: Cosigner) -> dict[str, bytes]:
        head = registry.head()
        note = cosigned(notes.parse(head.checkpoint), int(registry.now.timestamp()), *witnesses)
        return {**registry.files, "head": wire.encode_head(replace(head, checkpoint=note.encode()))}

    before = read_pinned(follower.store.folder, registry.origin)
    registry.publish_policy(rules=(f'required-witnesses ["{W1.verifier.vkey}"]',))
    registry.publish()
    for witnesses in ((), (W2,)):
        follower.shows(cosigned_by(*witnesses))
        assert follower.failed() == "witness-quorum"
        assert follower.number() == 2, "it was verified: silence must not bring back the one before"
    follower.shows(cosigned_by(W2, W1))
    follower.run()
    assert follower.number() == 2
    after = read_pinned(follower.store.folder, registry.origin)
    assert before is not None
    assert after is not None
    assert before.witnesses != after.witnesses  # what was verified without them is verified again
    registry.claim("acme")
    registry.publish()
    follower.shows(cosigned_by(W2))
    assert follower.run().waiting is not None  # what only others have seen does not exist yet


def test_a_policy_that_came_with_new_owners_stays_although_the_run_that_brought_it_failed(
    registry: SimulatedRegistry, follower: Follower
) -> None:
    """The attack: the witness that it requires is missing, so the run fails; the registry is silenced before the next one."""
    old, new = registry.owners, [key("new owner"), key("another")]
    registry.owners = new
    registry.add_root(signers=[*registry.owner_signers(old), *registry.owner_signers(new)])
    registry.publish_policy(rules=(f'required-witnesses ["{W1.verifier.vkey}"]',))
    registry.publish()
    follower.shows()
    assert follower.failed() == "witness-quorum"
    assert follower.number() == 2
    assert follower.failed(offline=True) == "witness-quorum"
    registry.publish_policy()
    registry.publish()
    follower.shows()
    follower.run()
    assert follower.number() == 3
    state = follower.store.load(registry.origin)
    assert state is not None
    check_stored_policy(state)  # as where administrators joined


def test_required_witnesses_that_nobody_can_meet_are_corrected_by_the_next_policy(
    registry: SimulatedRegistry, follower: Follower
) -> None:
    """A mistyped key must not stop all machines for good, and must not be forgotten while nobody can be asked."""
    registry.publish_policy(rules=(f'required-witnesses ["{W1.verifier.vkey}"]',))
    registry.publish()
    follower.shows(dict(registry.files))
    assert follower.failed() == "witness-quorum"
    assert follower.failed(offline=True) == "witness-quorum"
    registry.publish_policy()
    registry.publish()
    follower.shows(dict(registry.files))
    follower.run()
    assert follower.number() == 3
    follower.run(offline=True)
