"""The owner's watch: everything that was logged under a name is told, and who signed it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rye.items.identity import Identity
from rye.registry.protocol import notes
from rye.registry.trust.watching import Event, Watched, unexpected
from tests.registry.simulated_registry import SimulatedRegistry, key

TOOL, OTHER = Identity("tool", "acme/text/count"), Identity("tool", "zeta/text/count")


@pytest.fixture
def registry() -> SimulatedRegistry:
    made = SimulatedRegistry()
    made.claim("acme", [key("ours")])
    made.claim("zeta", [key("theirs")])
    made.release(TOOL, content=b"count\n")
    made.release(OTHER, content=b"count\n")
    made.publish()
    return made


def told(registry: SimulatedRegistry, *, look_alikes: bool = False) -> list[Event]:
    watched = Watched(namespaces=frozenset({"acme"}), own=frozenset({key("ours").public.raw}), look_alikes=look_alikes)
    return watched.events(enumerate(leaf.encode() for leaf in registry.leaves))


def test_only_the_watched_name_is_told_and_own_is_what_this_machine_signed(registry: SimulatedRegistry) -> None:
    events = told(registry)
    assert [(one.what, one.name, one.version, one.own) for one in events] == [
        ("keyset", "acme", None, True),
        ("release", "tool:acme/text/count", "1.0.0", True),
    ]
    assert [registry.leaves[one.log].split("\n")[0] for one in events] == ["rye.keyset/v1", "rye.release/v1"]


def test_every_kind_of_statement_is_told(registry: SimulatedRegistry) -> None:
    registry.yank(TOOL, "1.0.0")
    registry.yank(TOOL, "1.0.0", yanked=False)
    registry.deprecate(TOOL)
    registry.deprecate(TOOL, deprecated=False)
    registry.publish()
    registry.recover("acme", [key("taken")], timedelta(hours=72))
    assert [(one.what, one.own) for one in told(registry)][2:] == [
        ("yank", True),
        ("unyank", True),
        ("deprecation", True),
        ("undeprecation", True),
        ("recovery", False),
    ]


def test_a_release_by_a_stolen_or_added_key_is_not_own(registry: SimulatedRegistry) -> None:
    before = len(told(registry))
    registry.namespaces["acme"] = [key("thief")]
    registry.release(TOOL, "1.1.0", content=b"harm\n")
    (event,) = told(registry)[before:]
    assert (event.what, event.version, event.own) == ("release", "1.1.0", False)


def test_what_was_announced_is_no_news_only_if_an_own_key_signed_it(registry: SimulatedRegistry) -> None:
    keyset, release = told(registry)
    announced = {"tool:acme/text/count@1.0.0", "acme@None"}
    assert unexpected([keyset, release], announced) == [keyset]
    thief = Event(log=9, what="release", name=release.name, version="1.0.0", time="", own=False)
    assert unexpected([thief], announced) == [thief]


def test_look_alikes_are_told_if_wanted(registry: SimulatedRegistry) -> None:
    registry.claim("ac-me", [key("thief")])
    registry.claim("acme2", [key("thief")])
    assert len(told(registry)) == 2
    assert [(one.what, one.name) for one in told(registry, look_alikes=True)][2:] == [("look-alike", "ac-me")]


def test_an_entry_that_cannot_be_read_is_told_if_it_names_the_name(registry: SimulatedRegistry) -> None:
    registry.leaves.append("rye.future/v9\nnamespace acme\n")
    registry.leaves.append("rye.future/v9\nnamespace zeta\n")
    assert [one.what for one in told(registry)][2:] == ["unreadable"]


def test_a_name_in_another_names_text_is_no_event(registry: SimulatedRegistry) -> None:
    registry.namespaces["zeta"] = [key("theirs")]
    registry.deprecate(OTHER, replacement=TOOL)
    assert len(told(registry)) == 2
    assert notes.parse(registry.leaves[-1]).text.count("acme") == 1
