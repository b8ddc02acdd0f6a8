"""Which 32 bytes encode a point on the curve, checked against RFC 8032 §5.1.3, and a signature's format byte by byte."""

from __future__ import annotations

import pytest

from rye.signing.keys import SMALL_ORDER_Y, L, P, is_strict_signature, key_problem

D = 0x52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3
"""RFC 8032 §5.1."""
SMALL = "it is a point of small order, which would accept forged signatures"
Y = int.from_bytes(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"), "little")


def has_x(y: int) -> bool:
    """RFC 8032 §5.1.3, steps 2 and 3: the square root, using the candidate (u v³)(u v⁷)^((p-5)/8)."""
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    return v * x * x % P in (u, (-u) % P)


def raw(y: int) -> bytes:
    return y.to_bytes(32, "little")


def test_the_order_and_the_prime_are_those_of_the_specification() -> None:
    assert L == 0x1000000000000000000000000000000014DEF9DEA2F79CD65812631A5CF5D3ED
    assert P == 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFED
    assert len(SMALL_ORDER_Y) == 5


@pytest.mark.parametrize("start", [2, P - 60, Y - 30, 2**254])
def test_a_key_is_a_point_of_the_curve_exactly_where_the_specification_finds_one(start: int) -> None:
    for y in range(start, start + 59):
        expected = None if has_x(y) else "it is not a point on the curve"
        assert key_problem(raw(y)) == expected
        assert key_problem(raw(y | 1 << 255)) == expected


@pytest.mark.parametrize("y", sorted(SMALL_ORDER_Y))
def test_the_points_of_small_order_are_refused_in_both_signs(y: int) -> None:
    assert key_problem(raw(y)) == SMALL
    assert key_problem(raw(y | 1 << 255)) == SMALL


def test_an_encoding_from_the_prime_on_is_refused() -> None:
    assert [key_problem(raw(P + extra)) for extra in (0, 1, 2, 18)] == [
        SMALL,
        SMALL,
        "its encoding is not canonical",
        "its encoding is not canonical",
    ]


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_key_of_another_length_says_its_length(length: int) -> None:
    assert key_problem(bytes(length)) == f"it has {length} bytes instead of 32"


@pytest.mark.parametrize("s", [0, 1, L - 1])
@pytest.mark.parametrize("r", [2, P - 2, 2 | 1 << 255])
def test_the_one_form_of_a_signature(r: int, s: int) -> None:
    good = raw(r) + raw(s)
    assert is_strict_signature(good) is True
    for other in (good[:-1], good + b"\0", good[1:], b""):
        assert is_strict_signature(other) is False


@pytest.mark.parametrize(("r", "s"), [(2, L), (2, L + 1), (2, 2**256 - 1), (P, 1), (P + 2, 1), (P + 2 | 1 << 255, 1)])
def test_every_other_form_of_a_signature_is_refused(r: int, s: int) -> None:
    assert is_strict_signature(raw(r) + raw(s)) is False


@pytest.mark.parametrize("r", sorted(SMALL_ORDER_Y))
def test_a_signature_whose_r_has_small_order_is_refused(r: int) -> None:
    assert is_strict_signature(raw(r) + raw(1)) is False
    assert is_strict_signature(raw(r | 1 << 255) + raw(1)) is False
