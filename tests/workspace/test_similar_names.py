"""What a client believes of a server that says which names are similar to a new one, in a registry too large to list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from rye.items.look_alikes import likeliest
from rye.registry.client import RegistryClient
from rye.registry.protocol.wire import SIMILAR_ASKED
from rye.registry.transport.api import ApiError, RegistryApi
from rye.workspace.publishing.similar_names import similar_names

PROVED = frozenset({"namespace:amce", "namespace:acne", "namespace:other", "tool:acne/work/ship"})


class Large:
    """A registry with more names than are listed for a warning."""

    def __init__(self) -> None:
        self.listed: list[int] = []
        self.looked_up: set[str] = set()

    def every_name(self, most: int) -> frozenset[str] | None:
        self.listed.append(most)
        return PROVED if most >= 100_000 else None

    def existing(self, names: set[str]) -> frozenset[str]:
        self.looked_up |= names
        return PROVED & names


class Server:
    def __init__(self, *told: str, error: ApiError | None = None) -> None:
        self.told, self.error = list(told), error
        self.asked: list[list[str]] = []

    def similar(self, names: Sequence[str]) -> list[list[str]]:
        if self.error is not None:
            raise self.error
        self.asked.append(list(names))
        return [self.told for _ in names]


def found(server: Server, *asked: str, client: Large | None = None) -> frozenset[str]:
    return similar_names(
        cast("RegistryClient", client or Large()), lambda: cast("RegistryApi", server), asked or ("namespace:acme",)
    )


def test_what_the_server_says_counts_if_the_name_map_proves_it() -> None:
    assert found(Server("namespace:acne", "namespace:acmee", "tool:acne/work/ship")) >= {"namespace:acne"}
    assert "namespace:acmee" not in found(Server("namespace:acmee")), "invented, to frighten an author off"
    assert found(Server("", "\0", "nonsense", "namespace:../x")) == {"namespace:amce"}


def test_a_server_cannot_hide_the_spelling_that_is_taken_for_it_most_easily() -> None:
    client = Large()
    assert found(Server(), client=client) == {"namespace:amce"}
    assert client.looked_up == {f"namespace:{other}" for other in likeliest("acme")}


def test_not_all_names_are_read_where_the_server_says() -> None:
    client = Large()
    found(Server(), client=client)
    assert max(client.listed) < 100_000


@pytest.mark.parametrize(
    "error",
    [
        ApiError("not-found", "There is nothing at /api/v1/similar.", status=404),
        ApiError("read-only-registry", "It has no API."),
    ],
)
def test_where_no_server_says_all_names_are_read_as_before(error: ApiError) -> None:
    assert found(Server(error=error)) == PROVED


@pytest.mark.parametrize("status", [429, 503])
def test_strangers_who_keep_the_server_busy_stop_nobody_from_publishing(status: int) -> None:
    """Each such question is work, so a flood of them is refused. It may hide what a server that lies may hide."""
    client, error = Large(), ApiError("busy", "Too many.", status=status)
    assert found(Server(error=error), client=client) == {"namespace:amce"}
    assert max(client.listed) < 100_000


def test_a_server_that_refuses_or_fails_ends_the_command() -> None:
    for error in (ApiError("unauthorized", "No.", status=401), ApiError("internal", "Broken.", status=500)):
        with pytest.raises(ApiError):
            found(Server(error=error))


def test_many_names_are_asked_about_in_portions() -> None:
    server = Server()
    found(server, *(f"tool:acme/work/t{number}" for number in range(45)))
    assert [len(some) for some in server.asked] == [SIMILAR_ASKED, SIMILAR_ASKED, 5]
