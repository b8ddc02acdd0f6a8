"""Policies of witnesses: the specification's example, its rules, and files that try to break the reader (C2SP tlog-policy)."""

from __future__ import annotations

import pytest

from rye.registry.protocol.cosignatures import CosignerKey
from rye.registry.protocol.witness_policy import Policy, PolicyError, read_policy, simple_policy
from tests.registry.simulated_registry import key, signer
from tests.registry.witness_keys import ed25519, ml_dsa

X = [ed25519(f"x{number}").verifier for number in (1, 2, 3)]
Y = [ed25519("y1").verifier, ml_dsa("y2").verifier, ed25519("y3").verifier]
LOG = signer("registry.example", key("log")).verifier
EXAMPLE = "\n".join(
    [
        f"log {LOG.vkey} https://registry.example/",
        "",
        *[f"witness X{number} {one.vkey}" for number, one in enumerate(X, 1)],
        "group X-witnesses 2 X1 X2 X3",
        "  # their neighbours",
        *[f"witness\tY{number} \t{one.vkey}  https://y.example/{number}  " for number, one in enumerate(Y, 1)],
        "group Y-witnesses any Y1 Y2 Y3",
        "group X-and-Y all X-witnesses Y-witnesses",
        "quorum X-and-Y",
        "",
    ]
)


def read(text: str) -> Policy:
    return read_policy(text.encode())


def reason(text: str | bytes) -> str:
    with pytest.raises(PolicyError) as raised:
        read_policy(text if isinstance(text, bytes) else text.encode())
    assert raised.value.code == "policy-malformed"
    return raised.value.message


def test_the_example_of_the_specification_needs_two_of_x_and_one_of_y() -> None:
    policy = read(EXAMPLE)
    assert (policy.logs, policy.keys) == ((LOG,), (*X, *Y))
    assert policy.witnesses[3].url == "https://y.example/1"
    assert policy.is_met({X[0], X[2], Y[1]})
    assert policy.is_met({*X, *Y})
    for too_few in ({X[0], Y[0], Y[1], Y[2]}, set(X), set()):
        assert not policy.is_met(too_few)
    assert policy.names_of({X[2], Y[1]}) == ("X3", "Y2")
    assert str(policy) == "2 of X-witnesses, Y-witnesses must have cosigned"


def test_the_text_is_kept_as_it_was() -> None:
    assert read(EXAMPLE).text.encode("latin-1") == EXAMPLE.encode()


def test_quorum_none_demands_nothing_and_says_so() -> None:
    policy = read("quorum none\n")
    assert policy.is_met(())
    assert (policy.demands, str(policy)) == (False, "no witness is needed")


def test_one_witness_can_be_the_quorum_and_names_are_octets() -> None:
    kelvin = f"witness \u212a {X[0].vkey}\nwitness K {X[1].vkey}\nquorum K\n"
    policy = read(kelvin)
    assert policy.is_met({X[1]})
    assert not policy.is_met({X[0]})
    assert policy.names_of({X[0]}) == ("\u212a",)


def test_a_simple_policy_counts_keys() -> None:
    policy = simple_policy(X, 2)
    assert policy.is_met(X[:2])
    assert not policy.is_met(X[:1])
    assert not simple_policy((), 0).demands
    with pytest.raises(PolicyError):
        simple_policy(X, 4)


W = f"witness w {X[0].vkey}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "LF"),
        (f"{W}quorum w", "cut"),
        (W, "no quorum"),
        (f"{W}quorum w\nquorum w\n", "a quorum already"),
        (f"{W}quorum v\n", "not defined"),
        (f"quorum w\n{W}", "not defined"),
        (f"{W}{W}quorum w\n", "defined already"),
        (f"{W}witness v {X[0].vkey}\nquorum w\n", "same key"),
        (f"{W}group none all w\nquorum none\n", "meaning of its own"),
        (f"{W}group g all none\nquorum g\n", "not defined"),
        (f"{W}group g all g\nquorum g\n", "not defined|is a member"),
        (f"{W}group a all b\ngroup b all a\nquorum a\n", "not defined"),
        (f"{W}group g 2 w w\nquorum g\n", "member already"),
        (f"{W}group a all w\ngroup b all w\nquorum b\n", "member already"),
        (f"{W}group g 2 w\nquorum g\n", "from 1 to 1"),
        (f"{W}group g 0 w\nquorum g\n", "from 1 to 1"),
        (f"{W}group g 01 w\nquorum g\n", "from 1 to 1"),
        (f"{W}group g most w\nquorum g\n", "from 1 to 1"),
        (f"{W}group g all\nquorum w\n", "its form is"),
        (f"{W}quorum w x\n", "its form is"),
        (f"log {LOG.vkey}\nlog {LOG.vkey}\nquorum none\n", "same key"),
        (f"witness w {LOG.vkey}\nquorum w\n", "not of a type"),
        (f"{W}quorum w\r\n", "control character"),
        (f"{W}quorum w\0\n", "control character"),
        (f"{W}trust everybody\nquorum w\n", "begins with"),
        (f"{W}quorum\u00a0w\n", "begins with"),
        (f"#{'x' * 1024 * 1024}\nquorum none\n", "the limit is"),
        ("".join(f"witness w{n} {ed25519(str(n)).verifier.vkey}\n" for n in range(33)) + "quorum w1\n", "more than 32"),
    ],
)
def test_everything_else_is_refused(text: str, why: str) -> None:
    assert any(part in reason(text) for part in why.split("|"))
    assert read(f"{W}quorum w\n").demands  # the control


def test_the_same_key_under_another_name_and_id_is_the_same_witness() -> None:
    renamed = CosignerKey("another.example", X[0].algorithm, X[0].key)
    assert "same key" in reason(f"{W}witness v {renamed.vkey}\nquorum w\n")


def test_bytes_that_are_not_utf8_may_be_in_names_and_comments_only() -> None:
    policy = read_policy(b"# \xff\nwitness \xfe " + X[0].vkey.encode() + b"\nquorum \xfe\n")
    assert policy.is_met({X[0]})
    assert "not UTF-8" in reason(b"witness w \xff+00000000+AAAA\nquorum w\n")
