"""Merkle trees: RFC 6962's own test data, and invariants of every tree of up to 300 leaves."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.registry.protocol import merkle
from rye.registry.protocol.merkle import CompactRange, ProofError, leaf_hash

VECTORS = json.loads((Path(__file__).parents[1] / "vectors/merkle/rfc6962.json").read_text("ascii"))
LEAVES = 300


@cache
def nodes() -> dict[merkle.Node, bytes]:
    found: dict[merkle.Node, bytes] = {}
    tree = CompactRange()
    for number in range(LEAVES):
        tree, completed = tree.append(leaf_hash(str(number).encode()))
        found.update(completed)
    return found


def read(level: int, index: int) -> bytes:
    return nodes()[(level, index)]


@cache
def root(size: int) -> bytes:
    return merkle.root_at(size, read)


def direct_root(leaves: list[bytes]) -> bytes:
    """MTH as RFC 6962 §2.1 defines it, by recursion."""
    if not leaves:
        return merkle.EMPTY_ROOT
    if len(leaves) == 1:
        return leaf_hash(leaves[0])
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return merkle.node_hash(direct_root(leaves[:split]), direct_root(leaves[split:]))


def test_roots_of_rfc_6962s_test_data() -> None:
    leaves = [bytes.fromhex(leaf) for leaf in VECTORS["leaves"]]
    tree = CompactRange()
    for size, expected in enumerate(VECTORS["roots"]):
        assert merkle.tree_root(map(leaf_hash, leaves[:size])).hex() == expected
        assert tree.root().hex() == expected
        if size < len(leaves):
            tree, _ = tree.append(leaf_hash(leaves[size]))


def vector_reader() -> merkle.HashReader:
    found: dict[merkle.Node, bytes] = {}
    tree = CompactRange()
    for leaf in VECTORS["leaves"]:
        tree, completed = tree.append(leaf_hash(bytes.fromhex(leaf)))
        found.update(completed)
    return lambda level, index: found[(level, index)]


def test_inclusion_proofs_of_rfc_6962s_test_data() -> None:
    for vector in VECTORS["inclusion"]:
        proof = merkle.inclusion_proof(vector["index"], vector["size"], vector_reader())
        assert [item.hex() for item in proof] == vector["path"]
        leaf = leaf_hash(bytes.fromhex(VECTORS["leaves"][vector["index"]]))
        merkle.verify_inclusion(
            leaf, vector["index"], vector["size"], proof, bytes.fromhex(VECTORS["roots"][vector["size"]])
        )


def test_consistency_proofs_of_rfc_6962s_test_data() -> None:
    roots = [bytes.fromhex(text) for text in VECTORS["roots"]]
    for vector in VECTORS["consistency"]:
        old, new = vector["old"], vector["new"]
        proof = merkle.consistency_proof(old, new, vector_reader())
        assert [item.hex() for item in proof] == vector["path"]
        merkle.verify_consistency(old, new, roots[old], roots[new], proof)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 100, 255, 256, 257, 300])
def test_the_root_equals_the_definition(size: int) -> None:
    assert root(size) == direct_root([str(number).encode() for number in range(size)])
    assert merkle.tree_root(read(0, index) for index in range(size)) == root(size)


@pytest.mark.thorough
@pytest.mark.slow
def test_every_leaf_of_every_tree_up_to_300_proves() -> None:
    for size in range(1, LEAVES + 1):
        for index in range(size):
            proof = merkle.inclusion_proof(index, size, read)
            assert merkle.root_from_inclusion(read(0, index), index, size, proof) == root(size)


def test_every_tree_up_to_130_is_consistent_with_every_smaller_one() -> None:
    for new in range(131):
        for old in range(new + 1):
            merkle.verify_consistency(old, new, root(old), root(new), merkle.consistency_proof(old, new, read))


@given(st.integers(0, LEAVES), st.integers(0, LEAVES))
def test_trees_up_to_300_are_consistent_hypothesis(one: int, other: int) -> None:
    old, new = sorted((one, other))
    merkle.verify_consistency(old, new, root(old), root(new), merkle.consistency_proof(old, new, read))


def refused_inclusion(leaf: bytes, index: int, size: int, proof: list[bytes], expected: bytes) -> None:
    with pytest.raises(ProofError):
        merkle.verify_inclusion(leaf, index, size, proof, expected)


@given(st.data())
def test_every_altered_inclusion_proof_fails_hypothesis(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, LEAVES))
    index = data.draw(st.integers(0, size - 1))
    proof, leaf = merkle.inclusion_proof(index, size, read), read(0, index)
    at = data.draw(st.integers(0, len(proof) - 1))
    bit = data.draw(st.integers(0, 255))
    flipped = (int.from_bytes(proof[at], "big") ^ (1 << bit)).to_bytes(32, "big")
    refused_inclusion(leaf, index, size, [*proof[:at], flipped, *proof[at + 1 :]], root(size))
    refused_inclusion(leaf, index, size, proof[:at] + proof[at + 1 :], root(size))
    refused_inclusion(leaf, index, size, [*proof[:at], proof[at], *proof[at:]], root(size))
    refused_inclusion(leaf, index, size, [*proof, bytes(32)], root(size))
    refused_inclusion(leaf, index, size, [*proof[:at], proof[at][:31], *proof[at + 1 :]], root(size))
    refused_inclusion(leaf_hash(b"another"), index, size, proof, root(size))
    other = data.draw(st.integers(0, size - 1).filter(lambda number: number != index))
    refused_inclusion(leaf, other, size, proof, root(size))


@given(st.data())
def test_every_altered_consistency_proof_fails_hypothesis(data: st.DataObject) -> None:
    new = data.draw(st.integers(3, LEAVES))
    old = data.draw(st.integers(1, new - 1))
    proof = merkle.consistency_proof(old, new, read)
    at = data.draw(st.integers(0, len(proof) - 1))
    flipped = (int.from_bytes(proof[at], "big") ^ (1 << data.draw(st.integers(0, 255)))).to_bytes(32, "big")
    for altered in (
        [*proof[:at], flipped, *proof[at + 1 :]],
        proof[:at] + proof[at + 1 :],
        [*proof[:at], proof[at], *proof[at:]],
        [*proof, bytes(32)],
        [*proof[:at], proof[at] + b"\0", *proof[at + 1 :]],
        [],
    ):
        with pytest.raises(ProofError):
            merkle.verify_consistency(old, new, root(old), root(new), altered)
    with pytest.raises(ProofError):
        merkle.verify_consistency(old, new, root(old - 1), root(new), proof)
    with pytest.raises(ProofError):
        merkle.verify_consistency(old, new, root(old), root(new - 1), proof)


def test_proofs_about_trees_that_cannot_be_are_refused() -> None:
    for index, size in ((0, 0), (1, 1), (-1, 3), (5, 4), (0, 2**53)):
        with pytest.raises(ProofError):
            merkle.inclusion_proof(index, size, read)
        with pytest.raises(ProofError):
            merkle.root_from_inclusion(bytes(32), index, size, [])
    for old, new in ((2, 1), (-1, 1), (1, 2**53)):
        with pytest.raises(ProofError):
            merkle.consistency_proof(old, new, read)
        with pytest.raises(ProofError):
            merkle.verify_consistency(old, new, bytes(32), bytes(32), [])


def test_equal_and_empty_trees_need_no_hashes_and_accept_none() -> None:
    merkle.verify_consistency(0, 5, merkle.EMPTY_ROOT, root(5), [])
    merkle.verify_consistency(5, 5, root(5), root(5), [])
    for old, old_root, proof in (
        (0, root(1), []),
        (5, root(4), []),
        (0, merkle.EMPTY_ROOT, [bytes(32)]),
        (5, root(5), [bytes(32)]),
    ):
        with pytest.raises(ProofError):
            merkle.verify_consistency(old, 5, old_root, root(5), proof)


@given(st.integers(0, LEAVES))
def test_a_tree_continues_from_its_stored_nodes_hypothesis(size: int) -> None:
    tree = CompactRange.read(size, read)
    assert tree.root() == root(size)
    for index in range(size, min(LEAVES, size + 5)):
        tree, completed = tree.append(read(0, index))
        assert all(read(*node) == value for node, value in completed)
        assert tree.root() == root(index + 1)


def test_a_leaf_is_never_a_node() -> None:
    left, right = leaf_hash(b"a"), leaf_hash(b"b")
    assert leaf_hash(left + right) != merkle.node_hash(left, right)
