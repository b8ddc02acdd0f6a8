"""Which existing names a server tells the author of a new one about."""

from __future__ import annotations

import pytest

from registry_server.api.similar_names import similar_names
from registry_server.storage import database
from rye.registry.protocol.wire import SIMILAR_ASKED
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher, error_code


@pytest.fixture(scope="module")
def scene(local: LocalRegistry) -> LocalRegistry:
    for namespace in ("acme", "core-tools", "stranger"):
        owner = Publisher(namespace)
        assert local.statements(local.token(), owner.claim()).status_code == 200
        assert local.publish(owner, "work/file_system", local.token()).status_code == 200
    return local


def told(scene: LocalRegistry, *names: str) -> list[list[str]]:
    answer = scene.get("/api/v1/similar", params={"name": list(names)})
    assert answer.status_code == 200, answer.text
    listed: list[list[str]] = answer.json()["names"]
    return listed


@pytest.mark.parametrize("new", ["acne", "amce", "acm", "accme", "ac-me", "coretools", "c0re-too1s"])
def test_a_namespace_like_an_existing_one_is_told(scene: LocalRegistry, new: str) -> None:
    assert told(scene, f"namespace:{new}") == [
        ["namespace:core-tools" if "o" in new or "0" in new else "namespace:acme"]
    ]


@pytest.mark.parametrize("new", ["acme", "apex", "acmexy", "other"])
def test_another_one_is_not(scene: LocalRegistry, new: str) -> None:
    assert told(scene, f"namespace:{new}") == [[]]


def test_the_same_item_in_a_namespace_like_it_is_told_whatever_its_kind(scene: LocalRegistry) -> None:
    assert "directive:acme/work/file_system" in told(scene, "tool:acne/work/file_system")[0]


def test_an_item_one_letter_apart_in_any_namespace_is_told(scene: LocalRegistry) -> None:
    assert set(told(scene, "directive:mine/work/file_systen")[0]) == {
        f"directive:{space}/work/file_system" for space in ("acme", "core-tools", "stranger")
    }
    assert told(scene, "directive:mine/work/file_keeper") == [[]]


def test_what_folds_to_the_same_letters_is_told(scene: LocalRegistry) -> None:
    assert told(scene, "namespace:c0re_too1s") == [["namespace:core-tools"]]
    assert "directive:acme/work/file_system" in told(scene, "directive:acme/work/fi1e-system")[0]


def test_several_names_are_answered_in_their_order(scene: LocalRegistry) -> None:
    assert told(scene, "namespace:acne", "namespace:other", "namespace:acne") == [
        ["namespace:acme"],
        [],
        ["namespace:acme"],
    ]


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["namespace:acne"] * (SIMILAR_ASKED + 1),
        ["acne"],
        ["namespace:ac/me"],
        ["namespace:"],
        ["tool:acme"],
        ["nothing:acme/x"],
        ["tool:acme/../x"],
        ["namespace:" + "a" * 65],
        ["namespace:%' OR 1=1 --"],
    ],
)
def test_what_is_no_name_is_refused(scene: LocalRegistry, names: list[str]) -> None:
    answer = scene.get("/api/v1/similar", params={"name": names})
    assert (answer.status_code, error_code(answer)) == (400, "bad-request")


def test_nobody_makes_the_server_read_all_names(scene: LocalRegistry) -> None:
    """Each question is answered by an index, however long the name is."""
    with database.reader(scene.service.engine) as connection:
        plans: list[str] = []
        connection.connection.driver_connection.set_trace_callback(plans.append)  # type: ignore[union-attr]
        similar_names(connection, ["namespace:" + "a" * 64, "tool:" + "b" * 64 + "/x"], {})
        connection.connection.driver_connection.set_trace_callback(None)  # type: ignore[union-attr]
        asked = [text for text in plans if text.startswith("SELECT")]
        assert asked
        for text in asked:
            steps = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]
            assert not any(step.startswith("SCAN names") for step in steps), steps
