"""The graph of a lock: trees and chains, including hostile graphs."""

from __future__ import annotations

import time

import pytest

from rye.errors import RyeError, UsageError
from rye.installation.completeness import MOST_CHAINS, chains, locked_item, not_installed, tree
from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem
from rye.project.manifest import Manifest, Requested


def item(name: str, *needs: str, kind: str = "directive") -> LockedItem:
    return LockedItem(
        kind=kind,
        id=f"acme/{name}",
        version="1.0.0",
        size=1,
        sha256="ab" * 32,
        suffix=".md",
        registry="registry.example",
        log=1,
        keyset=1,
        signer="SHA256:a",
        dependencies=tuple(f"directive:acme/{need}" for need in needs),
    )


def asked(*names: str) -> Manifest:
    return Manifest(dependencies=tuple(Requested(f"acme/{name}", None, "*") for name in names))


def test_a_circle_ends_where_it_closes() -> None:
    lock = Lock({}, (item("a", "b"), item("b", "a")))
    nodes = list(tree(lock, asked("a")))
    assert [(node.identity.id, node.depth, node.mark) for node in nodes] == [
        ("acme/a", 0, ""),
        ("acme/b", 1, ""),
        ("acme/a", 2, "cycle"),
    ]
    found, more = chains(lock, asked("a"), Identity("directive", "acme/a"))
    assert ([[i.id for i in chain] for _, chain in found], more) == ([["acme/a"]], False)


def test_what_stands_twice_is_expanded_once() -> None:
    lock = Lock({}, (item("a", "c"), item("b", "c"), item("c", "d"), item("d")))
    marks = [(node.identity.id, node.mark) for node in tree(lock, asked("a", "b"))]
    assert marks == [
        ("acme/a", ""), ("acme/c", ""), ("acme/d", ""), ("acme/b", ""), ("acme/c", "seen"),
    ]  # fmt: skip


def test_what_the_lock_lacks_is_marked() -> None:
    assert [node.mark for node in tree(Lock({}, (item("a", "gone"),)), asked("a"))] == ["", "missing"]


@pytest.mark.slow
def test_layers_with_exponentially_many_chains_end_soon() -> None:
    layers, width = 30, 6
    items = [
        item(f"n{level}_{number}", *(f"n{level + 1}_{other}" for other in range(width) if level + 1 < layers))
        for level in range(layers)
        for number in range(width)
    ]
    lock = Lock({}, tuple(items))
    started = time.process_time()
    found, more = chains(lock, asked("n0_0"), Identity("directive", f"acme/n{layers - 1}_0"))
    assert (len(found) <= MOST_CHAINS, more) == (True, True)
    assert len(list(tree(lock, asked("n0_0")))) <= layers * width * width
    assert time.process_time() - started < 5


def test_a_chain_of_ten_thousand_needs_no_recursion() -> None:
    items = [item(f"n{number}", f"n{number + 1}") for number in range(3000)] + [item("n3000")]
    assert len(list(tree(Lock({}, tuple(items)), asked("n0")))) == 3001


def test_a_name_is_found_as_people_write_it() -> None:
    lock = Lock({}, (item("work/two-words"), item("play/other"), item("play/other", kind="knowledge")))
    assert locked_item(lock, "work/two_words").id == "acme/work/two-words"
    assert locked_item(lock, "two-words").id == "acme/work/two-words"
    assert locked_item(lock, "knowledge:acme/play/other").kind == "knowledge"
    with pytest.raises(UsageError, match="directive:acme/play/other, knowledge:acme/play/other"):
        locked_item(lock, "other")
    with pytest.raises(RyeError) as caught:
        locked_item(lock, "acme/work/two-wrods")
    assert "acme/work/two-words" in (caught.value.hint or "")


def test_what_is_not_locked_is_answered_with_what_may_have_been_meant() -> None:
    lock = Lock({}, (item("workflows/lib"), item("workflows/app")))
    for text in ("acme/workflows/lbi", "directive:acme/workflows/lbi", "workflows/lbi", "lbi", "acme/lib"):
        assert (not_installed(lock, text).hint or "").startswith("Did you mean acme/workflows/lib"), text
    assert not_installed(lock, "acme/nothing-alike").hint == "`rye list` shows what is installed."
