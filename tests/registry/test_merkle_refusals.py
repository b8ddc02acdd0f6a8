"""The error code for each refused Merkle proof. The largest and the smallest tree are still accepted."""

from __future__ import annotations

from functools import cache

import pytest

from rye.registry.protocol import merkle
from rye.registry.protocol.merkle import EMPTY_ROOT, MAX_SIZE, CompactRange, ProofError, leaf_hash, node_hash

LEAVES = 20


@cache
def nodes() -> dict[merkle.Node, bytes]:
    found: dict[merkle.Node, bytes] = {}
    tree = CompactRange()
    for number in range(LEAVES):
        tree, completed = tree.append(leaf_hash(b"%d" % number))
        found.update(completed)
    return found


def read(level: int, index: int) -> bytes:
    return nodes()[(level, index)]


def root(size: int) -> bytes:
    return merkle.root_at(size, read)


@pytest.mark.parametrize(
    ("index", "size"), [(0, 0), (1, 1), (-1, 3), (4, 4), (5, 4), (0, MAX_SIZE + 1), (MAX_SIZE, MAX_SIZE)]
)
def test_a_leaf_outside_the_tree_is_out_of_range(index: int, size: int) -> None:
    with pytest.raises(ProofError, match=f"no leaf {index} in a tree of {size}") as made:
        merkle.inclusion_proof(index, size, read)
    with pytest.raises(ProofError, match=f"no leaf {index} in a tree of {size}") as verified:
        merkle.root_from_inclusion(bytes(32), index, size, [])
    assert made.value.code == verified.value.code == "proof-range"


@pytest.mark.parametrize(("old", "new"), [(2, 1), (-1, 1), (-1, -1), (1, MAX_SIZE + 1), (MAX_SIZE + 1, MAX_SIZE + 1)])
def test_a_tree_never_contains_a_larger_one(old: int, new: int) -> None:
    with pytest.raises(ProofError, match=f"tree of {new} leaves cannot contain one of {old}") as made:
        merkle.consistency_proof(old, new, read)
    with pytest.raises(ProofError, match=f"tree of {new} leaves cannot contain one of {old}") as verified:
        merkle.verify_consistency(old, new, bytes(32), bytes(32), [])
    assert made.value.code == verified.value.code == "proof-range"


def test_the_largest_tree_has_53_levels_and_its_proofs_are_verified() -> None:
    """RFC 9162 §2.1.3.2 by hand for the first and the last leaf of 2**53 - 1."""
    assert MAX_SIZE == 2**53 - 1
    leaf, siblings = leaf_hash(b"leaf"), [leaf_hash(b"%d" % level) for level in range(53)]
    first = leaf
    for sibling in siblings:
        first = node_hash(first, sibling)
    merkle.verify_inclusion(leaf, 0, MAX_SIZE, siblings, first)
    last = leaf
    for sibling in siblings[:52]:
        last = node_hash(sibling, last)
    merkle.verify_inclusion(leaf, MAX_SIZE - 1, MAX_SIZE, siblings[:52], last)
    merkle.verify_consistency(MAX_SIZE, MAX_SIZE, leaf, leaf, [])
    merkle.verify_consistency(0, MAX_SIZE, EMPTY_ROOT, leaf, [])
    assert merkle.consistency_proof(MAX_SIZE, MAX_SIZE, read) == []
    assert merkle.consistency_proof(0, MAX_SIZE, read) == []
    asked = merkle.nodes_read(lambda reader: merkle.inclusion_proof(MAX_SIZE - 1, MAX_SIZE, reader))
    assert len(asked) == 52


@pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 20])
def test_an_inclusion_proof_that_is_too_long_or_too_short_says_so(size: int) -> None:
    for index in range(size):
        proof = merkle.inclusion_proof(index, size, read)
        with pytest.raises(ProofError, match="more hashes") as raised:
            merkle.root_from_inclusion(read(0, index), index, size, [*proof, bytes(32)])
        assert raised.value.code == "proof-length"
        for count in range(len(proof)):
            with pytest.raises(ProofError, match="too few hashes") as raised:
                merkle.root_from_inclusion(read(0, index), index, size, proof[:count])
            assert raised.value.code == "proof-length"


@pytest.mark.parametrize("new", [2, 3, 8, 9, 16, 17, 20])
def test_a_consistency_proof_that_is_too_long_or_too_short_says_so(new: int) -> None:
    for old in range(1, new):
        proof = merkle.consistency_proof(old, new, read)
        with pytest.raises(ProofError, match="more hashes") as raised:
            merkle.verify_consistency(old, new, root(old), root(new), [*proof, bytes(32)])
        assert raised.value.code == "proof-length"
        power_of_two = old & (old - 1) == 0
        for count in range(len(proof)):
            expected = "is empty" if count == 0 and not power_of_two else "too few hashes"
            with pytest.raises(ProofError, match=expected) as raised:
                merkle.verify_consistency(old, new, root(old), root(new), proof[:count])
            assert raised.value.code == "proof-length"


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_hash_of_another_length_is_refused_before_anything_is_computed(length: int) -> None:
    bad = bytes(length)
    for verify in (
        lambda: merkle.root_from_inclusion(read(0, 0), 0, 3, [read(0, 1), bad]),
        lambda: merkle.root_from_inclusion(read(0, 0), 0, 1, [bad]),
        lambda: merkle.verify_consistency(2, 3, root(2), root(3), [bad]),
        lambda: merkle.verify_consistency(3, 3, root(3), root(3), [bad]),
        lambda: merkle.verify_consistency(0, 3, EMPTY_ROOT, root(3), [bad]),
    ):
        with pytest.raises(ProofError, match="does not have 32 bytes") as raised:
            verify()
        assert raised.value.code == "proof-length"


def test_a_proof_of_another_root_is_told_by_its_code() -> None:
    proof = merkle.inclusion_proof(4, 7, read)
    with pytest.raises(ProofError, match="leaf 4") as raised:
        merkle.verify_inclusion(read(0, 4), 4, 7, proof, root(8))
    assert raised.value.code == "proof-root"
    proof = merkle.consistency_proof(3, 7, read)
    for old_root, new_root in ((root(4), root(7)), (root(3), root(8)), (root(4), root(8))):
        with pytest.raises(ProofError, match="tree of 7 leaves does not contain that of 3") as raised:
            merkle.verify_consistency(3, 7, old_root, new_root, proof)
        assert raised.value.code == "proof-root"


def test_trees_that_need_no_proof_are_still_compared() -> None:
    for old, old_root in ((0, root(1)), (5, root(4)), (5, EMPTY_ROOT)):
        with pytest.raises(ProofError, match=f"Two trees of {old} leaves") as raised:
            merkle.verify_consistency(old, 5, old_root, root(5), [])
        assert raised.value.code == "proof-root"
    for old, old_root in ((0, EMPTY_ROOT), (5, root(5))):
        with pytest.raises(ProofError, match="none are needed") as raised:
            merkle.verify_consistency(old, 5, old_root, root(5), [bytes(32)])
        assert raised.value.code == "proof-length"


def test_a_server_may_not_serve_the_old_tree_as_its_own_proof() -> None:
    """For an old size that is a power of two the old root is not part of the proof (RFC 9162 §2.1.4.1)."""
    proof = merkle.consistency_proof(4, 7, read)
    merkle.verify_consistency(4, 7, root(4), root(7), proof)
    with pytest.raises(ProofError) as raised:
        merkle.verify_consistency(4, 7, root(4), root(7), [root(4), *proof])
    assert raised.value.code in ("proof-length", "proof-root")


def test_what_a_proof_needs_is_read_once_each_in_order() -> None:
    asked = merkle.nodes_read(lambda reader: [reader(0, 3), reader(1, 2), reader(0, 3)])
    assert asked == [(0, 3), (1, 2)]
    assert merkle.nodes_read(lambda reader: merkle.inclusion_proof(0, 1, reader)) == []
    asked = merkle.nodes_read(lambda reader: merkle.inclusion_proof(0, 7, reader))
    assert asked == [(1, 2), (0, 6), (1, 1), (0, 1)]


def test_subtrees_and_ranges_at_the_edges() -> None:
    assert merkle.complete_subtrees(0, 0) == []
    assert merkle.complete_subtrees(0, 1) == [(0, 0)]
    assert merkle.complete_subtrees(0, 7) == [(2, 0), (1, 2), (0, 6)]
    assert merkle.complete_subtrees(8, 12) == [(2, 2)]
    assert CompactRange().root() == merkle.tree_root([]) == EMPTY_ROOT
    grown, completed = CompactRange().append(leaf_hash(b"0"))
    assert (grown.size, completed) == (1, [((0, 0), leaf_hash(b"0"))])
    grown, completed = grown.append(leaf_hash(b"1"))
    assert (grown.size, [node for node, _ in completed]) == (2, [(0, 1), (1, 0)])
