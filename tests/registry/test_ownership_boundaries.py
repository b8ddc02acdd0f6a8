"""Roots and keysets: the last value that is accepted and the first that is refused, each with its reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from rye.registry.protocol import statements
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.statements import Keyset, Revocation, Root, namespace_key_name, root_key_name
from tests.registry.simulated_registry import key

T = datetime(2026, 1, 1, tzinfo=UTC)
HASH = "0" * 64
SECOND = timedelta(seconds=1)
KEYS = tuple(key(f"owner {number}").public.raw for number in range(18))
ROOT = Root("registry.example", 1, None, T, T + SECOND, 1, KEYS[:1], KEYS[1:2])
KEYSET = Keyset("registry.example", "acme", 1, None, T, 1, KEYS[:3])
LATER = replace(KEYSET, number=2, previous=HASH)


@pytest.mark.parametrize(
    "statement",
    [
        ROOT,
        replace(ROOT, owners=KEYS[:16], threshold=16),
        replace(ROOT, logs=KEYS[:4]),
        replace(ROOT, number=2, previous=HASH),
        KEYSET,
        replace(KEYSET, keys=KEYS[:1]),
        replace(KEYSET, keys=KEYS[:16], threshold=16, release_threshold=16),
        replace(KEYSET, release_threshold=2),
        replace(KEYSET, release_threshold=3),
        replace(KEYSET, revoked=(Revocation(KEYS[3], 0), Revocation(KEYS[4], 0))),
        replace(LATER, recovery=T + timedelta(hours=72)),
    ],
)
def test_at_its_limits_a_statement_comes_back_as_it_was_written(statement: Root | Keyset) -> None:
    assert statements.parse(statement.text()) == statement


def test_the_order_in_which_keys_and_revocations_are_given_makes_no_other_statement() -> None:
    """Owners sign the text: two texts of one keyset would be two statements."""
    gone = tuple(Revocation(one, position) for position, one in enumerate(KEYS[3:7]))
    for values in (gone, gone[::-1]):
        statement = replace(KEYSET, keys=KEYS[:3][::-1], revoked=values)
        assert statement == replace(KEYSET, revoked=gone)
        written = [line for line in statement.text().splitlines() if line.startswith(("key ", "revoke "))]
        assert written == sorted(written)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (replace(ROOT, owners=()), "it has 0 'owner' lines instead of 1 to 16"),
        (replace(ROOT, owners=KEYS[:17]), "it has 17 'owner' lines instead of 1 to 16"),
        (replace(ROOT, threshold=2), "its threshold 2 is more than its 1 keys"),
        (replace(ROOT, logs=()), "it has 0 log keys instead of 1 to 4"),
        (replace(ROOT, logs=KEYS[:5]), "it has 5 log keys instead of 1 to 4"),
        (replace(ROOT, expires=T), "it expires before it begins"),
        (replace(ROOT, expires=T - SECOND), "it expires before it begins"),
        (replace(ROOT, number=2), "only number 1 has no previous statement"),
        (replace(ROOT, previous=HASH), "only number 1 has no previous statement"),
        (replace(KEYSET, keys=()), "it has 0 'key' lines instead of 1 to 16"),
        (replace(KEYSET, keys=KEYS[:17]), "it has 17 'key' lines instead of 1 to 16"),
        (replace(KEYSET, threshold=4), "its threshold 4 is more than its 3 keys"),
        (replace(KEYSET, release_threshold=4), "its release-threshold 4 is more than its 3 keys"),
        (replace(KEYSET, number=2), "only number 1 has no previous statement"),
        (replace(KEYSET, previous=HASH), "only number 1 has no previous statement"),
        (
            replace(KEYSET, revoked=(Revocation(KEYS[3], 0), Revocation(KEYS[3], 1))),
            "it has duplicate revocations of a key",
        ),
        (replace(KEYSET, revoked=(Revocation(KEYS[2], 0),)), "one of its keys is revoked"),
        (
            replace(KEYSET, recovery=T + timedelta(hours=72)),
            "the first keyset of a namespace cannot be a recovery",
        ),
        (
            replace(LATER, recovery=T + timedelta(hours=72) - SECOND),
            "a recovery must take effect at least 72 hours after its time",
        ),
    ],
)
def test_past_its_limits_a_statement_is_refused_with_the_reason(statement: Root | Keyset, reason: str) -> None:
    with pytest.raises(StatementError) as error:
        statement.text()
    assert (error.value.code, reason in error.value.message) == ("statement-malformed", True)


def test_a_release_threshold_has_one_spelling() -> None:
    text = replace(KEYSET, release_threshold=2).text()
    assert "\nthreshold 1\nrelease-threshold 2\nkey " in text
    assert "release-threshold" not in KEYSET.text()
    with pytest.raises(StatementError) as error:
        statements.parse(text.replace("release-threshold 2", "release-threshold 1"))
    assert "a release-threshold of 1 must be omitted" in error.value.message


def test_the_names_of_keys_are_the_origins_and_the_namespaces() -> None:
    assert root_key_name("registry.example") == "registry.example/root"
    assert namespace_key_name("registry.example", "acme") == "registry.example/acme"
