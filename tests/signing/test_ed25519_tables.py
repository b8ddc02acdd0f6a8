"""Exactly which Ed25519 signatures are accepted, pinned by the public tables of edge cases: Wycheproof's and CCTV's.

Nobody agrees on all of CCTV's cases. Ours: every key and every R that is of small order or not canonical is refused, and what is
left is verified without the cofactor. A point that only has a component of small order is accepted: no list could refuse it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rye.signing.keys import PublicKey, key_problem

HERE = Path(__file__).parent
FLAGS = (
    "low_order_R",
    "low_order_A",
    "low_order_component_R",
    "low_order_component_A",
    "low_order_residue",
    "non_canonical_A",
    "non_canonical_R",
    "reencoded_k",
)
ACCEPTED = {"low_order_component_R", "low_order_component_A"}
Case = tuple[bytes, bytes, bytes, frozenset[str]]


def cctv() -> list[Case]:
    """Key, message, signature and flags of each case."""
    tables: dict[str, list[str]] = {}
    name = ""
    for line in (HERE / "ed25519_points.txt").read_text().rstrip("\n").split("\n"):
        if line.startswith("["):
            name = line.strip("[]")
        elif not line.startswith("#"):
            tables.setdefault(name, []).append(line)
    cases = []
    for line in tables["cases"]:
        key, r, s, number, bits = line.split(" ")
        flags = frozenset(flag for bit, flag in enumerate(FLAGS) if int(bits, 16) >> bit & 1)
        signature = bytes.fromhex(tables["R"][int(r)] + tables["S"][int(s)])
        cases.append(
            (
                bytes.fromhex(tables["keys"][int(key)]),
                f"ed25519vectors{'' if number == '-' else f' {number}'}".encode(),
                signature,
                flags,
            )
        )
    return cases


def test_of_cctv_s_cases_exactly_the_strict_ones_are_accepted() -> None:
    cases = cctv()
    assert len(cases) == 914
    wrong = [
        (key.hex(), flags)
        for key, message, signature, flags in cases
        if PublicKey(key).verifies(message, signature) != (flags <= ACCEPTED)
    ]
    assert wrong == []
    accepted = Counter(flags for *_, flags in cases if flags <= ACCEPTED)
    assert sorted(accepted.values()) == [1, 7, 35]


def test_keys_of_small_order_and_second_encodings_are_refused_before_any_signature() -> None:
    for key, _, _, flags in cctv():
        assert (key_problem(key) is not None) == bool(flags & {"low_order_A", "non_canonical_A"}), key.hex()


def wycheproof() -> list[tuple[str, bool, PublicKey, bytes, bytes]]:
    rows = []
    key = PublicKey(bytes(32))
    for line in (HERE / "ed25519_signatures.txt").read_text().rstrip("\n").split("\n"):
        words = line.split(" ")
        if words[0] == "key":
            key = PublicKey.from_raw(bytes.fromhex(words[1]))
        elif words[0] != "#":
            number, result, signature, message = (word.replace("-", "") for word in words)
            rows.append((number, result == "valid", key, bytes.fromhex(signature), bytes.fromhex(message)))
    return rows


@pytest.mark.parametrize("valid", [True, False])
def test_of_wycheproof_s_signatures_exactly_the_valid_ones_are_accepted(valid: bool) -> None:
    rows = [row for row in wycheproof() if row[1] is valid]
    assert len(rows) == (88 if valid else 63)
    assert [row[0] for row in rows if row[2].verifies(row[4], row[3]) is not valid] == []
