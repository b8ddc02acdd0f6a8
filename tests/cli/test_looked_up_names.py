"""Which names a command looks up in a registry: each is a path of its own in the name map, in a large one two or three files of
8 kB."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest

from rye.installation.resolving import _kinds_of
from rye.installation.sources import Sources
from rye.items.kinds import KINDS
from rye.registry.proved_names import ProvedNames
from tests.cli.test_silent_registries import ALONE, DEPLOY, LINT, TOP, Scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    return Scene(tmp_path, monkeypatch)


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    whole = ProvedNames.load_paths

    def load_paths(self: ProvedNames, wanted: Iterable[str]) -> None:
        names.extend(asked := list(wanted))
        whole(self, asked)

    monkeypatch.setattr(ProvedNames, "load_paths", load_paths)
    return names


def test_a_locked_line_without_a_kind_is_looked_up_as_one_name(scene: Scene, looked_up: list[str]) -> None:
    scene.news()
    assert {row["id"] for row in scene.user.run("outdated", "--json").json["outdated"]} == {TOP.id, LINT.id}
    scene.user.ok("update", "--yes")
    assert {name.partition(":")[0] for name in looked_up} <= {"directive", "namespace"}
    assert len(set(looked_up)) <= 5, "three items and two namespaces"


def test_a_line_that_is_new_is_looked_up_as_each_kind(scene: Scene, looked_up: list[str]) -> None:
    scene.user.ok("add", DEPLOY.id, "--yes")
    assert {f"{kind}:{DEPLOY.id}" for kind in KINDS} <= set(looked_up)


def test_all_that_is_added_is_looked_up_at_once(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one item after the other: many are then few requests."""
    waves: list[set[str]] = []
    whole = ProvedNames.load_paths

    def load_paths(self: ProvedNames, wanted: Iterable[str]) -> None:
        waves.append(set(asked := list(wanted)))
        whole(self, asked)

    monkeypatch.setattr(ProvedNames, "load_paths", load_paths)
    scene.user.ok("add", DEPLOY.id, f"directive:{ALONE.id}", "--yes")
    first = next(wave for wave in waves if any(DEPLOY.id in name for name in wave))
    later = set().union(*waves[waves.index(first) :])
    assert first == {f"{kind}:{DEPLOY.id}" for kind in KINDS}, "the other one is another registry's"
    assert {name for name in later if ALONE.id in name} == {str(ALONE)}, "with a kind, only that one is looked for"
    scene.user.ok("remove", DEPLOY.id, ALONE.id)
    waves.clear()
    scene.user.ok("add", DEPLOY.id, f"{DEPLOY.namespace}/ops/lint", "--yes")
    assert len([wave for wave in waves if f"tool:{DEPLOY.id}" in wave and f"tool:{LINT.id}" in wave]) >= 1


def test_a_kind_that_is_not_there_is_still_answered_with_the_one_that_is(scene: Scene) -> None:
    error = scene.user.fails("add", f"tool:{DEPLOY.id}", "--yes", code="no-such-item")
    assert f"`rye add directive:{DEPLOY.id}` adds it." in error["hint"]


def test_a_line_whose_locked_kind_is_not_there_any_more_is_looked_up_as_each_kind() -> None:
    """As after its namespace was given to another registry in rye.toml."""
    asked: list[tuple[list[str], bool]] = []

    class Other:
        def kinds_of(self, ids: Iterable[str], among: object = None) -> dict[str, tuple[str, ...]]:
            asked.append((list(ids), bool(among)))
            return {one: () if among and one == "acme/x" else ("tool",) for one in asked[-1][0]}

    locked = {"acme/x": ("directive",), "acme/y": ("tool",)}
    found = _kinds_of(["acme/x", "acme/y"], locked, cast("Sources", Other()))
    assert found == {"acme/x": ("tool",), "acme/y": ("tool",)}
    assert asked == [(["acme/x", "acme/y"], True), (["acme/x"], False)]
