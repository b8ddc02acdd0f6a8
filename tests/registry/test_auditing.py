"""An audit rereads a whole log and reports every entry that breaks a rule (the rules in rye.registry.trust.auditing)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

import pytest

from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.protocol import merkle, wire
from rye.registry.protocol.name_map import encode_node
from rye.registry.protocol.statements import FormerSnapshot, Keyset
from rye.registry.trust.auditing import Audit, Auditor, audit, raise_first
from tests.registry.simulated_registry import SimulatedRegistry, key

ONE = Identity("directive", "acme/work/one")
TWO = Identity("tool", "acme/work/two")


def filled() -> SimulatedRegistry:
    """A registry in which every kind of event happened once, in several batches."""
    registry = SimulatedRegistry()
    registry.claim("acme", [key("acme")])
    registry.release(ONE)
    registry.publish()
    registry.pass_time(hours=1)
    registry.release(ONE, "1.1.0", b"more\n")
    registry.release(TWO, attached=None)
    registry.yank(ONE, "1.0.0")
    registry.publish()
    registry.pass_time(hours=1)
    registry.deprecate(TWO, replacement=ONE)
    registry.advise(ONE, "<1.1.0")
    registry.advise(TWO, "*", by_owners=True, number="RYE-2")
    registry.add_root()
    registry.publish()
    return registry


def audited(registry: SimulatedRegistry) -> Audit:
    return audit((leaf.encode() for leaf in registry.leaves), registry.fingerprint)


def codes(registry: SimulatedRegistry) -> set[str]:
    return {finding.code for finding in audited(registry).findings}


class TestHonestLog:
    def test_it_makes_exactly_the_head_the_name_map_and_the_index_files_that_are_served(self) -> None:
        registry = filled()
        result = audited(registry)
        assert result.ok, result.findings
        assert result.root_hash == registry.checkpoint().root_hash
        assert result.size == registry.size
        assert result.map == registry.head().map
        assert {sha256: encode_node(node) for sha256, node in result.nodes.items()} == registry.map_of().files
        for name, data in registry.index_files().items():
            assert registry.files[f"index/{result.index[name].sha256}"] == data
            assert result.index[name].size == len(data)
        assert result.blobs.keys() == registry.blobs.keys()
        assert (result.releases, result.snapshots) == (3, 4)
        assert [note.split("\n")[2] for note in result.roots] == ["number 1", "number 2"]

    def test_every_prefix_that_ends_in_a_snapshot_is_clean_and_every_other_one_says_so(self) -> None:
        registry = filled()
        auditor = Auditor(registry.fingerprint)
        for count, leaf in enumerate(registry.leaves, 1):
            auditor.add(leaf.encode())
            assert auditor.root_hash == merkle.root_at(count, registry.reader())
        for count in range(1, registry.size + 1):
            result = audit((leaf.encode() for leaf in registry.leaves[:count]), registry.fingerprint)
            ends = "rye.snapshot/v1" in registry.leaves[count - 1]
            assert {finding.code for finding in result.findings} == (set() if ends else {"log-end"})

    def test_a_rotation_a_revocation_and_a_recovery_are_clean(self) -> None:
        registry = filled()
        old, new, third = [key("acme")], [key("acme 2")], [key("acme 3")]
        keyset = registry.keyset("acme", new)
        registry.add_keyset(
            keyset, [*registry.namespace_signers("acme", new), *registry.namespace_signers("acme", old)], new
        )
        registry.publish()
        registry.recover("acme", third)
        registry.publish()
        registry.pass_time(hours=73)
        registry.release(ONE, "2.0.0", b"recovered\n")
        registry.publish()
        assert audited(registry).ok, audited(registry).findings


class TestFindings:
    def test_another_fingerprint_is_not_the_pinned_registry(self) -> None:
        result = audit((leaf.encode() for leaf in filled().leaves), "0" * 64)
        assert result.findings[0].code == "root-fingerprint"

    def test_an_entry_that_is_no_note_and_one_of_another_registry(self) -> None:
        registry = filled()
        other = SimulatedRegistry(origin="other.example")
        other.claim("acme", [key("acme")])
        position = registry.size
        registry.leaves += ["not a note\n", other.leaves[-1]]
        found = {(finding.position, finding.code) for finding in audited(registry).findings}
        assert (position, "entry-malformed") in found
        assert (position + 1, "entry-foreign") in found

    def test_a_snapshot_over_an_index_that_leaves_a_release_out(self) -> None:
        registry = filled()
        registry.release(ONE, "3.0.0", b"hidden\n")
        indexes = {name: data for name, data in registry.index_files().items() if name != str(ONE)}
        registry.publish_index(indexes)
        assert codes(registry) == {"snapshot-map"}

    def test_snapshots_of_protocol_1_are_only_at_the_beginning(self) -> None:
        registry = filled()
        former = registry.sign(
            FormerSnapshot(registry.origin, registry.now - timedelta(days=1), 1, bytes(32)), registry.log_signers()
        )
        assert registry.leaves[1].startswith("rye.snapshot/v1")
        registry.leaves[1] = former.encode()
        assert codes(registry) == set()
        assert audited(registry).snapshots == 4
        late = FormerSnapshot(registry.origin, registry.now, 2, bytes(32))
        registry.append(registry.sign(late, registry.log_signers()))
        assert codes(registry) == {"snapshot-former", "log-end"}

    def test_a_snapshot_that_goes_back_in_time_names_an_old_root_or_is_signed_by_another_key(self) -> None:
        registry = filled()
        late = registry.now
        registry.append(registry.sign(registry.snapshot(time=late - timedelta(hours=2)), registry.log_signers()))
        registry.append(registry.sign(registry.snapshot(root=1), registry.log_signers()))
        registry.append(registry.sign(registry.snapshot(), registry.log_signers([key("thief")])))
        assert [finding.code for finding in audited(registry).findings] == [
            "snapshot-time",
            "snapshot-root",
            "snapshot-signature",
        ]

    def test_a_version_released_twice_a_yank_of_nothing_and_a_look_alike(self) -> None:
        registry = filled()
        registry.release(ONE, "1.0.0", b"other bytes\n")
        registry.yank(ONE, "9.9.9")
        registry.deprecate(Identity("directive", "acme/work/absent"))
        registry.release(Identity("directive", "acme/work/0ne"))
        registry.publish()
        assert codes(registry) == {"release-repeated", "release-unknown", "item-unknown", "name-look-alike"}

    def test_a_release_by_a_stranger_and_one_under_a_keyset_that_is_not_in_force(self) -> None:
        registry = filled()
        registry.release(ONE, "4.0.0", b"theft\n", keys=[key("thief")])
        registry.release(ONE, "5.0.0", b"old\n", keyset=7)
        registry.publish()
        assert codes(registry) == {"statement-signer", "statement-keyset"}

    def test_a_namespace_taken_over_without_its_owners(self) -> None:
        registry = filled()
        thief = [key("thief")]
        keyset = registry.keyset("acme", thief)
        registry.add_keyset(keyset, registry.namespace_signers("acme", thief), thief)
        registry.publish()
        assert codes(registry) == {"keyset-takeover"}

    def test_an_advisory_in_the_registry_s_name_without_its_owners(self) -> None:
        registry = filled()
        registry.owners = [key("thief 1"), key("thief 2")]
        registry.advise(ONE, "*", by_owners=True)
        registry.publish()
        assert codes(registry) == {"advisory-signer"}

    def test_a_statement_from_the_future(self) -> None:
        registry = filled()
        registry.release(ONE, "6.0.0", b"later\n", time=registry.now + timedelta(hours=1))
        registry.publish()
        assert codes(registry) == {"entry-time"}

    def test_a_root_that_the_old_owners_did_not_sign(self) -> None:
        registry = filled()
        registry.owners = [key("thief 1"), key("thief 2")]
        registry.add_root()
        registry.roots.pop()
        registry.publish()
        assert codes(registry) == {"root-takeover"}

    def test_a_log_without_a_beginning(self) -> None:
        registry = filled()
        registry.leaves.pop(0)
        assert "log-start" in codes(registry)

    def test_all_findings_are_counted_and_the_first_hundred_are_kept(self) -> None:
        registry = SimulatedRegistry()
        registry.leaves += ["nothing\n"] * 500
        result = audited(registry)
        assert result.count == 501  # the end is also missing
        assert len(result.findings) == 100
        with pytest.raises(RyeError, match="500 more") as error:
            raise_first(result)
        assert error.value.code == "audit-failed"

    def test_a_clean_audit_raises_nothing(self) -> None:
        raise_first(audited(filled()))


class TestCost:
    def test_a_name_with_many_statements_costs_time_in_proportion(self) -> None:
        """Hashes are computed incrementally, so ten times the statements about one name take about ten times the work."""

        def log(count: int) -> list[bytes]:
            registry = SimulatedRegistry()
            registry.claim("acme", [key("acme")])
            registry.release(ONE)
            for number in range(count):
                registry.yank(ONE, "1.0.0", yanked=number % 2 == 0)
            registry.publish()
            return [leaf.encode() for leaf in registry.leaves]

        def seconds(run: Callable[[], object]) -> float:
            begun = time.process_time()
            run()
            return time.process_time() - begun

        small, large = log(50), log(500)
        least = min(seconds(lambda: audit(small)) for _ in range(3))
        assert seconds(lambda: audit(large)) < 40 * least

    def test_the_keyset_statement_has_one_index_line(self) -> None:
        registry = filled()
        index = audited(registry).index
        data = registry.index_files()[wire.namespace_name("acme")]
        (line,) = wire.decode_index(data)
        assert isinstance(Keyset.parse(line.note.split("\n\n")[0] + "\n"), Keyset)
        assert index[wire.namespace_name("acme")].size == len(data)
