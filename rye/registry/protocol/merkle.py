"""Merkle trees as in RFC 6962 §2.1 (SHA-256), as pure functions.

* A *node* ``(level, index)`` is the hash of the complete subtree over leaves ``index * 2**level`` up to ``(index + 1)
  * 2**level``; level 0 holds the leaf hashes. Complete subtrees never change as the tree grows, so nodes are what is
  stored and read.
* Proofs are built from a *reader*: any function from ``(level, index)`` to a node's hash. It is called only for
  complete subtrees.
* Proofs are verified with hashes alone. Verification has no partial results: it returns, or raises ProofError.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from rye.errors import RyeError

Node = tuple[int, int]
HashReader = Callable[[int, int], bytes]

EMPTY_ROOT = hashlib.sha256(b"").digest()
"""The root of the empty tree (RFC 6962 §2.1)."""
MAX_SIZE = 2**53 - 1
"""The most leaves of a tree: the largest integer that every JSON reader can represent."""


class ProofError(RyeError):
    """A proof that proves nothing. Codes: ``proof-range``, ``proof-length``, ``proof-root``."""


def leaf_hash(data: bytes) -> bytes:
    """Return SHA-256(0x00 || data)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class CompactRange(Struct, frozen=True):
    """The minimum needed to append to a tree: its size and the roots of its complete subtrees, largest first."""

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> tuple[CompactRange, list[tuple[Node, bytes]]]:
        """Return the range with one more leaf hash, and the nodes that it completed, level 0 first."""
        hashes, index, level, current = list(self.hashes), self.size, 0, leaf
        completed = [((0, index), leaf)]
        while index & 1:
            current = node_hash(hashes.pop(), current)
            index, level = index >> 1, level + 1
            completed.append(((level, index), current))
        return CompactRange(self.size + 1, (*hashes, current)), completed

    def root(self) -> bytes:
        """Return the Merkle tree hash of all leaves."""
        return _fold(self.hashes) if self.hashes else EMPTY_ROOT

    @classmethod
    def read(cls, size: int, read: HashReader) -> CompactRange:
        """Return the range of the first ``size`` leaves of a stored tree."""
        return cls(size, tuple(read(level, index) for level, index in complete_subtrees(0, size)))


def tree_root(leaf_hashes: Iterable[bytes]) -> bytes:
    """Return MTH over leaf hashes (RFC 6962 §2.1)."""
    stack: list[bytes] = []
    for index, current in enumerate(leaf_hashes):
        while index & 1:
            current = node_hash(stack.pop(), current)
            index >>= 1
        stack.append(current)
    return _fold(stack) if stack else EMPTY_ROOT


def complete_subtrees(start: int, end: int) -> list[Node]:
    """Return the complete subtrees that make up leaves ``start`` to ``end``, largest first.

    ``start`` must be a multiple of the largest power of two that is at most ``end - start``, as in every subtree of RFC
    6962.
    """
    nodes = []
    while start < end:
        level = (end - start).bit_length() - 1
        nodes.append((level, start >> level))
        start += 1 << level
    return nodes


def root_at(size: int, read: HashReader) -> bytes:
    """Return the root of the first ``size`` leaves."""
    return CompactRange.read(size, read).root()


def inclusion_proof(index: int, size: int, read: HashReader) -> list[bytes]:
    """Return PATH(index, D[size]) of RFC 6962 §2.1.1, from the leaf's sibling up.

    Raises ProofError if the leaf is not in the tree.
    """
    if not 0 <= index < size <= MAX_SIZE:
        raise ProofError("proof-range", f"There is no leaf {index} in a tree of {size}.")
    proof: list[bytes] = []
    start, end = 0, size
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(_subtree(middle, end, read))
            end = middle
        else:
            proof.append(_subtree(start, middle, read))
            start = middle
    proof.reverse()
    return proof


def consistency_proof(old: int, new: int, read: HashReader) -> list[bytes]:
    """Return PROOF(old, D[new]) of RFC 6962 §2.1.2; empty if old is 0 or equals new.

    Raises ProofError if old is larger.
    """
    if not 0 <= old <= new <= MAX_SIZE:
        raise ProofError("proof-range", f"A tree of {new} leaves cannot contain one of {old}.")
    if old in (0, new):
        return []
    proof: list[bytes] = []
    start, end, whole = 0, new, True
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(_subtree(middle, end, read))
            end = middle
        else:
            proof.append(_subtree(start, middle, read))
            start, whole = middle, False
    if not whole:
        proof.append(_subtree(start, end, read))
    proof.reverse()
    return proof


def nodes_read(make: Callable[[HashReader], object]) -> list[Node]:
    """Return the nodes that ``make(reader)`` would read, in order, without duplicates: what to fetch before a proof
    can be made.
    """
    nodes: dict[Node, None] = {}

    def record(level: int, index: int) -> bytes:
        nodes[(level, index)] = None
        return EMPTY_ROOT

    make(record)
    return list(nodes)


def root_from_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """Return the root that an inclusion proof leads to (RFC 9162 §2.1.3.2).

    Raises ProofError if the proof has the wrong length.
    """
    if not 0 <= index < size <= MAX_SIZE:
        raise ProofError("proof-range", f"There is no leaf {index} in a tree of {size}.")
    _check_hashes(proof)
    first, last, current = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise ProofError("proof-length", "The inclusion proof has more hashes than the tree has levels.")
        if first & 1 or first == last:
            current = node_hash(sibling, current)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            current = node_hash(current, sibling)
        first, last = first >> 1, last >> 1
    if last:
        raise ProofError("proof-length", "The inclusion proof has too few hashes.")
    return current


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Raise ProofError unless the leaf hash is at ``index`` in the tree with this size and root."""
    if root_from_inclusion(leaf, index, size, proof) != root:
        raise ProofError("proof-root", f"The inclusion proof of leaf {index} does not lead to the tree's root.")


def verify_consistency(old: int, new: int, old_root: bytes, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Raise ProofError unless the tree of ``new`` leaves begins with that of ``old`` leaves (RFC 9162 §2.1.4.2)."""
    if not 0 <= old <= new <= MAX_SIZE:
        raise ProofError("proof-range", f"A tree of {new} leaves cannot contain one of {old}.")
    _check_hashes(proof)
    if old in (0, new):
        if proof:
            raise ProofError("proof-length", "The consistency proof has hashes where none are needed.")
        if old_root != (EMPTY_ROOT if old == 0 else new_root):
            raise ProofError("proof-root", f"Two trees of {old} leaves have different roots.")
        return
    hashes = list(proof)
    if old & (old - 1) == 0:
        hashes.insert(0, old_root)
    if not hashes:
        raise ProofError("proof-length", "The consistency proof is empty.")
    first, last = old - 1, new - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    from_old = from_new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            raise ProofError("proof-length", "The consistency proof has more hashes than the tree has levels.")
        if first & 1 or first == last:
            from_old, from_new = node_hash(sibling, from_old), node_hash(sibling, from_new)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            from_new = node_hash(from_new, sibling)
        first, last = first >> 1, last >> 1
    if last:
        raise ProofError("proof-length", "The consistency proof has too few hashes.")
    if from_old != old_root or from_new != new_root:
        raise ProofError("proof-root", f"The tree of {new} leaves does not contain that of {old} leaves.")


def _split(count: int) -> int:
    """The largest power of two smaller than ``count`` (RFC 6962 §2.1)."""
    return 1 << ((count - 1).bit_length() - 1)


def _subtree(start: int, end: int, read: HashReader) -> bytes:
    return _fold([read(level, index) for level, index in complete_subtrees(start, end)])


def _fold(hashes: Sequence[bytes]) -> bytes:
    """Hash complete subtrees from left to right into their common root."""
    current = hashes[-1]
    for left in reversed(hashes[:-1]):
        current = node_hash(left, current)
    return current


def _check_hashes(proof: Sequence[bytes]) -> None:
    if any(len(item) != 32 for item in proof):
        raise ProofError("proof-length", "A hash of the proof does not have 32 bytes.")
