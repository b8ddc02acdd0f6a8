"""The functions and words of each sort, value by value (:mod:`rye.consent.sorts`)."""

from __future__ import annotations

import pytest

from rye.consent.ask import Ask
from rye.consent.changes import NewSigner
from rye.consent.sorts import SORTS, Sort, beyond_patterns, is_last, lock_keys, row_of, some, sort_of
from rye.items.consented import HookAction, Run

NAME = "skill:acme/pdf"


def sort(name: str) -> Sort:
    found = sort_of(name)
    assert found is not None
    return found


def asks(name: str, *texts: str, subject: object = None) -> list[Ask]:
    return [Ask(NAME, name, text, subject) for text in texts]


def test_a_new_sort_is_said_listed_and_stops_without_a_word_more() -> None:
    new = Sort(name="wish")
    assert new.why(asks("wish", "a", "b"), True) == "adds wish: a, b"
    assert new.why([*asks("wish", "a"), *asks("other", "b")], False) == "has wish: a, b"
    (ask,) = asks("wish", "a")
    assert (new.stops(ask), new.stops_always(ask), new.document(ask), new.extra("x")) == (
        True, False, "a", "something that it does not ask for: x",
    )  # fmt: skip
    assert (new.title, new.question, new.json, new.keys, new.covers) == ("", "", "", (), None)
    assert (new.is_denied, new.in_lock, new.is_last) == (False, True, False)
    assert new.text(5) == "5"


def test_three_names_are_said_and_how_many_there_are_besides() -> None:
    assert [some([]), some(["a"]), some(["a", "b", "c"]), some(["a", "b", "c", "d", "e"])] == [
        "", "a", "a, b, c", "a, b, c and 2 more",
    ]  # fmt: skip


def test_rights_are_compared_by_what_they_contain() -> None:
    rights = sort("right")
    assert rights.beyond({"right": ("rye.load.*",)}, {"right": ("rye.load.a", "rye.sign.*")}) == ["rye.sign.*"]
    assert rights.beyond({"right": ()}, {"right": ("rye.load.a",)}) == ["rye.load.a"]
    assert rights.kept({"right": ("rye.load.*",)}, {"right": ("rye.load.a", "rye.sign.*")}) == {
        "right": ("rye.load.a",)
    }
    assert beyond_patterns(("rye.load.a", "rye.load.b"), ("rye.load.a",)) == []
    assert beyond_patterns(("rye.load.a",), ("rye.load.a", "rye.load.b")) == ["rye.load.b"]
    assert beyond_patterns((), ()) == []
    assert rights.covers is not None
    assert rights.covers(("rye.load.*",), "rye.load.a") is True
    assert rights.covers(("rye.load.a",), "rye.load.*") is False


def test_tools_count_with_their_restrictions_or_not_at_all() -> None:
    tools = sort("tool")
    some_tools = {"tool": ("Bash",), "limit": ("blocked Edit",)}
    nothing: dict[str, tuple[str, ...]] = {"tool": (), "limit": ()}
    assert tools.both(some_tools, some_tools) == some_tools
    assert tools.both(some_tools, {**some_tools, "limit": ()}) == nothing
    assert tools.kept(some_tools, some_tools) == some_tools
    assert tools.kept(some_tools, {**some_tools, "tool": ("Read",)}) == nothing
    assert tools.beyond(some_tools, {**some_tools, "limit": ()}) == ["Edit is no longer blocked"]


SIGNER = NewSigner(unknown=True, changed=True)


def test_every_reason_of_the_first_signer_is_said() -> None:
    found = [*asks("signer", "SHA256:a", subject=SIGNER), *asks("signer", "SHA256:b", subject=NewSigner())]
    said = "is the first item from a signer that you never agreed to and is signed by a different key"
    assert sort("signer").why(found, True) == said


@pytest.mark.parametrize("name", ["signer", "source"])
def test_a_signer_stops_where_it_changed_or_is_unknown(name: str) -> None:
    for subject, stops in (
        (NewSigner(changed=True), True),
        (NewSigner(unknown=True), True),
        (NewSigner(brought=True), False),
    ):
        (ask,) = asks(name, "SHA256:a", subject=subject)
        assert row_of(ask).stops(ask) is stops
        assert row_of(ask).stops_always(ask) is False
    (ask,) = asks(name, "path+../a", subject=NewSigner(brought=True, is_editable=True))
    assert row_of(ask).stops_always(ask) is (name == "source")


def test_what_waits_of_texts_and_losses_is_said() -> None:
    assert sort("unsigned-text").why(asks("unsigned-text", "ab"), True) == "changes a text that nobody signed"
    lost = asks("customization-loss", "a", "b", "c", "d")
    assert sort("customization-loss").why(lost, True) == "would lose what customizations say (a, b, c and 1 more)"
    (ask,) = asks("unsigned-text", "ab")
    assert sort("unsigned-text").stops(ask) is False
    assert sort("customization-loss").stops_always(lost[0]) is True


def test_of_some_sorts_only_the_last_text_is_remembered() -> None:
    assert [one.name for one in SORTS if is_last(one.name)] == ["unsigned-text", "state", "customization-state"]
    assert is_last("nothing of this version") is False


# The table


def test_the_keys_of_rye_lock_and_the_lists_of_json_stay_as_they_are() -> None:
    """Other programs and older versions of Rye read both."""
    assert {key.name: (key.key, key.form, key.field) for key in lock_keys()} == {
        "right": ("approved", "texts", "approved"),
        "hook": ("approved-hooks", "hooks", "approved_hooks"),
        "tool": ("approved-tools", "texts", "approved_tools"),
        "limit": ("approved-limits", "texts", "approved_limits"),
        "run": ("approved-runs", "runs", "approved_runs"),
        "fact": ("approved-facts", "texts", "approved_facts"),
    }
    assert [one.json for one in SORTS if one.json] == ["asks", "hooks", "agent_tools", "runs", "lost"]


def test_what_rye_lock_approves_and_what_can_stay_denied() -> None:
    in_lock = "right hook tool run fact signer source forced text deploy"
    assert [one.name for one in SORTS if one.in_lock] == in_lock.split()
    others = (
        "unsigned-text customization-loss state customization customization-state customization-fact customization-run "
        "origin own-key own-files project grant"
    )
    assert [one.name for one in SORTS if not one.in_lock] == others.split()
    assert [one.name for one in SORTS if one.is_denied] == ["hook"]


def test_headings_and_questions_name_each_sort_that_a_person_is_shown() -> None:
    assert {one.name: one.question for one in SORTS if one.question} == {
        "right": "these rights",
        "hook": "these hooks",
        "tool": "these rights",
        "run": "its executable code",
        "unsigned-text": "changed texts that nobody signed",
        "customization-loss": "the loss of these customizations",
    }
    said = {one.name: one.title for one in SORTS}
    assert [said[name] for name in ("right", "hook", "run")] == ["Rights", "Hooks", "What can run"]
    unsaid = "state deploy customization customization-state customization-fact customization-run project grant"
    assert [name for name, title in said.items() if not title] == unsaid.split()


def test_what_rye_lock_approves_beyond_a_release_is_named() -> None:
    run = Run("attached-file", "run.sh", "executable", "ab" * 32)
    for name, value, words in (
        ("right", "rye.load.a", "the right rye.load.a, which it does not ask for"),
        ("hook", HookAction("x", "tool", "acme/a"), "a hook that it does not have: execute tool acme/a"),
        ("tool", "Bash", "more of the agent program's tools than it asks for: Bash"),
        ("run", run, "code to run that it does not contain: attached-file run.sh"),
        ("fact", "a b", "something that it does not ask for: a b"),
    ):
        assert sort(name).extra(value) == words
