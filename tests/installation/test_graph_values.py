"""The graph of a lock, value by value: what a line of rye.toml reaches, how a tree is drawn, chains, and what a name means."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rye.errors import RyeError, UsageError
from rye.installation import completeness
from rye.installation.completeness import (
    Node,
    Problem,
    ambiguous,
    chains,
    locked_item,
    locked_items,
    named,
    not_installed,
    reached,
    roots,
    similar,
    tree,
)
from rye.items.identity import Identity
from rye.project.lock import Lock
from rye.project.manifest import Manifest, Requested
from tests.installation.test_graph import asked, item


def directive(name: str) -> Identity:
    return Identity("directive", f"acme/{name}")


def lines(*wanted: Requested) -> Manifest:
    return Manifest(dependencies=wanted)


def test_a_line_means_the_items_of_its_id_and_of_its_kind_if_it_names_one() -> None:
    lock = Lock({}, (item("a"), item("a", kind="knowledge"), item("b")))
    both, one = Requested("acme/a", None, "*"), Requested("acme/a", "knowledge", "*")
    assert roots(lock, lines(both)) == [(both, directive("a")), (both, Identity("knowledge", "acme/a"))]
    assert roots(lock, lines(one)) == [(one, Identity("knowledge", "acme/a"))]
    assert roots(lock, lines(Requested("acme/c", None, "*"))) == []


def test_what_the_lines_reach_is_what_is_locked_of_it() -> None:
    lock = Lock({}, (item("a", "b", "gone"), item("b", "c", "a"), item("c"), item("d", "c")))
    assert reached(lock, asked("a")) == {directive("a"), directive("b"), directive("c")}
    assert reached(lock, asked("d")) == {directive("d"), directive("c")}
    assert reached(lock, asked()) == set()


def test_a_tree_says_of_each_level_whether_it_is_the_last() -> None:
    a, b, c, d = item("a", "c", "d", "gone"), item("b", "c"), item("c", "d"), item("d")
    found = list(tree(Lock({}, (a, b, c, d)), asked("a", "b", "a")))
    assert found == [
        Node(0, (False,), directive("a"), a, ""),
        Node(1, (False, False), directive("c"), c, ""),
        Node(2, (False, False, True), directive("d"), d, ""),
        Node(1, (False, False), directive("d"), d, ""),
        Node(1, (False, True), directive("gone"), None, "missing"),
        Node(0, (True,), directive("b"), b, ""),
        Node(1, (True, True), directive("c"), c, "seen"),
    ]


def test_a_circle_is_a_chain_of_a_tree_that_comes_back() -> None:
    marks = [node.mark for node in tree(Lock({}, (item("a", "b"), item("b", "a", "b"))), asked("a"))]
    assert marks == ["", "", "cycle", "cycle"]


def test_chains_are_shortest_first_and_then_in_order() -> None:
    lock = Lock({}, (item("e"), item("d", "b"), item("c", "d"), item("b", "c", "d"), item("a", "c")))
    z = Requested("acme/d", None, "*", group="z")
    main, member = replace(z, group="main"), replace(z, group="a", member="sub")
    above = Requested("acme/b", None, "*")
    found, more = chains(lock, lines(z, member, above, main, Requested("acme/a", None, "*")), directive("d"))
    assert [(line.member, line.group, [each.id for each in chain]) for line, chain in found] == [
        ("", "main", ["acme/d"]),
        ("", "z", ["acme/d"]),
        ("sub", "a", ["acme/d"]),
        ("", "main", ["acme/b", "acme/d"]),
        ("", "main", ["acme/a", "acme/c", "acme/d"]),
        ("", "main", ["acme/b", "acme/c", "acme/d"]),
    ]
    assert more is False
    assert chains(lock, asked("e"), directive("d")) == ([], False)


def test_more_chains_than_are_listed_are_said_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completeness.MOST_CHAINS == 1000
    monkeypatch.setattr(completeness, "MOST_CHAINS", 2)
    tops = [f"t{number}" for number in range(4)]
    for count in (2, 3, 4):
        for others in ((), ("u",)):  # an item without a line is looked at last
            lock = Lock({}, (item("x"), *(item(name, "x") for name in (*tops[:count], *others))))
            found, more = chains(lock, asked(*tops[:count]), directive("x"))
            assert ([chain[0].id for _, chain in found], more) == (["acme/t0", "acme/t1"], count > 2)


def test_chains_that_lead_to_no_line_end_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completeness, "MOST_CHAINS", 1)
    for count, more in ((99, False), (100, True)):
        lock = Lock({}, (item("x"), *(item(f"t{number:03}", "x") for number in range(count))))
        assert chains(lock, asked(), directive("x")) == ([], more)


# What a name means


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("acme/work/two_words", ["acme/work/two-words"]),
        ("work/two-words", ["acme/work/two-words", "beta/work/two-words"]),
        ("two_words", ["acme/two/two-words", "acme/work/two-words", "beta/work/two-words"]),
        ("words", ["acme/words"]),
        ("two/two-words", ["acme/two/two-words"]),
        ("acme", []),
        ("other", []),
    ],
)
def test_a_name_is_a_whole_id_or_one_without_its_namespace_or_a_last_part(name: str, meant: list[str]) -> None:
    ids = ["acme/work/two-words", "beta/work/two-words", "acme/two/two-words", "acme/words", "beta/x/words"]
    assert sorted(named(name, ids)) == meant


def test_a_locked_item_is_of_the_kind_that_is_named_and_one() -> None:
    lock = Lock({}, (item("a"), item("a", kind="knowledge"), item("b")))
    assert [one.kind for one in locked_items(lock, "a")] == ["directive", "knowledge"]
    assert [one.kind for one in locked_items(lock, "knowledge:a")] == ["knowledge"]
    assert [one.id for one in locked_items(lock, "acme/b")] == ["acme/b"]
    assert locked_item(lock, "b").id == "acme/b"
    assert locked_item(lock, "directive:acme/a").kind == "directive"
    with pytest.raises(UsageError) as raised:
        locked_item(lock, "a")
    assert raised.value.code == "ambiguous"
    assert raised.value.hint == "Name one: directive:acme/a."
    with pytest.raises(RyeError) as missing:
        locked_items(lock, "knowledge:b")
    assert missing.value.code == "not-installed"
    error = ambiguous("a", ["x", "y"])
    assert (error.code, error.message, error.hint) == ("ambiguous", "'a' is ambiguous: x, y.", "Name one: x.")


def test_what_is_not_installed_says_what_there_is() -> None:
    empty = not_installed(Lock(), "acme/a")
    assert (empty.code, empty.message) == ("not-installed", "'acme/a' is not in rye.lock.")
    assert (empty.hint or "").startswith("Nothing is installed yet: ")
    lock = Lock({}, (item("lib"),))
    near, far = not_installed(lock, "acme/lbi"), not_installed(lock, "zzz")
    assert (near.code, near.message) == ("not-installed", "'acme/lbi' is not in rye.lock.")
    assert (near.hint, far.hint) == ("Did you mean acme/lib?", "`rye list` shows what is installed.")


def test_similar_names_are_three_at_most_and_each_once() -> None:
    known = ["acme/libs", "acme/lib", "beta/lib", "acme/x/lib", "acme/lib", "acme/other"]
    assert similar("lbi", known) == ["acme/lib", "acme/x/lib", "beta/lib"]
    assert similar("x/lbi", known)[0] == "acme/x/lib"
    assert similar("acme/lbi", ["acme/lib", "other/zzzzzz"]) == ["acme/lib"]
    assert similar("zzz", known) == []


def test_a_problem_has_no_password_in_its_words() -> None:
    problem = Problem("G1", "a", "rye.toml asks for git+https://me:secret@h/a#v2")
    assert "secret" not in problem.message
    assert "h/a#v2" in problem.message
