"""Which connections a witness holds: a bounded number, for a bounded time, and nobody keeps others out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.limits import WitnessLimits
from rye.witness.connections import Connections, network_of

LIMITS = WitnessLimits(connections=3, connection_seconds=100.0, request_seconds=10.0)


def held(*addresses: str) -> Connections[int]:
    """Connections with the numbers 0, 1 and so on, each a second after the one before."""
    connections: Connections[int] = Connections(LIMITS)
    for number, address in enumerate(addresses):
        connections.open(number, address, float(number))
    return connections


def test_the_address_with_most_connections_loses_the_one_that_has_waited_longest() -> None:
    assert held("192.0.2.1", "192.0.2.2", "192.0.2.2").open(9, "192.0.2.3", 3.0) == 1
    assert held("192.0.2.1", "192.0.2.2", "192.0.2.2").open(9, "192.0.2.1", 3.0) == 1
    assert held("192.0.2.2", "192.0.2.2").open(9, "192.0.2.3", 3.0) is None


def test_a_request_that_is_being_answered_is_the_last_to_go() -> None:
    connections = held("192.0.2.2", "192.0.2.2", "192.0.2.2")
    connections.answer(0)
    assert connections.open(9, "192.0.2.3", 3.0) == 1
    assert connections.open(10, "192.0.2.3", 3.0) in (0, 2)


def test_a_client_with_as_many_addresses_as_it_likes_is_one() -> None:
    connections = held("2001:db8::1", "2001:db8::2", "2001:db9::1")
    assert connections.open(9, "2001:db8:0:1::1", 3.0) == 0


def test_a_request_and_a_connection_end() -> None:
    connections = held("192.0.2.1")
    assert connections.overdue(9.9) == []
    assert connections.overdue(10.0) == [0]
    assert connections.begin(0, 99.0)
    assert connections.overdue(108.0) == []
    assert not connections.begin(0, 100.0)
    connections.close(0)
    assert connections.overdue(1000.0) == []
    assert not connections.begin(0, 0.0)


def test_one_that_was_ended_sends_no_more() -> None:
    connections = held("192.0.2.1", "192.0.2.1", "192.0.2.1")
    ended = connections.open(9, "192.0.2.1", 3.0)
    assert ended == 0
    assert not connections.begin(ended, 3.0)
    connections.answer(ended)
    connections.close(ended)


@given(st.lists(st.tuples(st.sampled_from(["192.0.2.1", "192.0.2.2", "::1", "x"]), st.booleans()), max_size=40))
def test_there_are_never_too_many(steps: list[tuple[str, bool]]) -> None:
    connections: Connections[int] = Connections(LIMITS)
    alive: set[int] = set()
    for number, (address, closes) in enumerate(steps):
        connections.open(number, address, float(number))
        alive = {one for one in alive | {number} if connections.begin(one, float(number))}
        assert len(alive) <= LIMITS.connections
        if closes:
            connections.close(alive.pop())


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_what_counts_as_one_client(address: str, network: str) -> None:
    assert network_of(address) == network
