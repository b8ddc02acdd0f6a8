"""Which answer a policy gives, and for which single call a person's yes counts (docs/explanation/runtime.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from itertools import permutations
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.permissions.risk import Tier
from rye.runtime.approvals import (
    ANSWERS,
    Answer,
    ApprovalStore,
    Question,
    answer,
    approval_key,
    approve,
    read_question,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
READ = "rye.execute.tool.acme.fs.read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "run-1"
    place.mkdir(0o700)
    return place


def question(call: int = 1, **changes: object) -> Question:
    made = Question(
        run="run-1",
        call=call,
        tool="rye_execute",
        item="tool:acme/fs/read@1.0.0",
        sha256="a" * 64,
        params_sha256=f"{call:064x}",
        params={},
        required=READ,
        asked="now",
        whole=True,
    )
    return replace(made, **changes)


def refused(act: Callable[[], object], code: str = "no-such-entry") -> RyeError:
    with pytest.raises(RyeError) as raised:
        act()
    assert raised.value.code == code
    return raised.value


# The policy's answer


def test_answers_are_ordered_by_strictness() -> None:
    assert ANSWERS == ("allow", "ask", "deny")


@pytest.mark.parametrize("tier", list(Tier))
def test_without_a_matching_row_the_tier_decides(tier: Tier) -> None:
    wanted = "ask" if tier in (Tier.ELEVATED, Tier.UNRESTRICTED) else "allow"
    other: dict[str, Answer] = {"rye.load.*": "deny", READ[:-1]: "deny", READ + ".": "deny", READ.upper(): "deny"}
    assert answer(READ, [], tier) == answer(READ, [{}], tier) == answer(READ, [other, {}], tier) == wanted


@pytest.mark.parametrize("said", ANSWERS)
@pytest.mark.parametrize("tier", [Tier.SAFE, Tier.UNRESTRICTED])
def test_a_matching_row_decides_whatever_the_tier(said: Answer, tier: Tier) -> None:
    assert answer(READ, [{}, {"rye.execute.*": said}], tier) == said


def test_the_innermost_pattern_of_a_table_counts() -> None:
    for wide, narrow in permutations(ANSWERS, 2):
        rows: list[tuple[str, Answer]] = [("rye.*", wide), ("rye.execute.*", wide), ("rye.execute.tool.acme.*", narrow)]
        for order in permutations(rows):
            assert answer(READ, [dict(order)], Tier.SAFE) == narrow


def test_of_patterns_of_which_none_is_within_the_other_the_strictest_counts() -> None:
    for one, other in permutations(ANSWERS, 2):
        strictest = max(one, other, key=ANSWERS.index)
        assert answer(READ, [{"rye.execute.*": one, "*.read": other}], Tier.SAFE) == strictest
        assert answer(READ, [{"rye.execute.*": one, "rye.execute.**": other}], Tier.SAFE) == strictest


def test_of_several_tables_the_strictest_answer_counts() -> None:
    """An inner pattern of the project does not undo what the organization says about a wider one."""
    for answers in permutations(ANSWERS):
        tables = [{"rye.*": answers[0]}, {READ: answers[1]}, {"rye.execute.*": answers[2]}]
        assert answer(READ, tables, Tier.SAFE) == "deny"
    assert answer(READ, [{READ: "allow"}, {"rye.*": "ask"}], Tier.SAFE) == "ask"


# Questions


def test_the_key_binds_run_right_bytes_and_parameters() -> None:
    one = question()
    assert one.key == approval_key("run-1", READ, "a" * 64, one.params_sha256)
    assert one.key == sha256(f"run-1\n{READ}\n{'a' * 64}\n{one.params_sha256}".encode()).hexdigest()
    assert replace(one, call=9, tool="x", item="y", asked="z", params=1).key == one.key
    changed = ({"run": "run-2"}, {"required": READ + ".x"}, {"sha256": "b" * 64}, {"params_sha256": "c" * 64})
    assert len({one.key, *(replace(one, **change).key for change in changed)}) == 5


def test_a_question_is_stored_for_this_user_alone_and_read_back(folder: Path) -> None:
    store = ApprovalStore(folder)
    assert store.waiting(question().key) is None
    assert store.ask(question()) == 1
    assert store.waiting(question().key) == 1
    assert read_question(folder, 1) == question()
    place = folder / "ask-1.json"
    assert place.stat().st_mode & 0o777 == 0o600
    assert json.loads(place.read_text())["item"] == "tool:acme/fs/read@1.0.0"
    assert place.read_text().startswith('{\n  "run": "run-1",\n')
    assert place.read_text().endswith("}\n")


def test_the_same_question_keeps_its_first_call(folder: Path) -> None:
    store = ApprovalStore(folder)
    again = replace(question(), call=7)
    assert (store.ask(question()), store.ask(again), store.ask(question(2))) == (1, 1, 2)
    assert not (folder / "ask-7.json").exists()
    assert (store.waiting(again.key), store.waiting(question(2).key)) == (1, 2)


def test_a_run_asks_at_most_so_many_questions_and_one_answered_makes_room(folder: Path) -> None:
    store = ApprovalStore(folder)
    for number in range(RUNTIME.questions):
        store.ask(question(number))
    error = refused(lambda: store.ask(question(1000)), "declined")
    assert "100 calls of this run" in error.message
    assert store.ask(question(3)) == 3
    approve(folder, question(3), NOW)
    assert store.take(question(3).key, NOW) is True
    assert store.ask(question(1000)) == 1000


def test_a_call_that_asked_nothing_has_no_question(folder: Path) -> None:
    assert "no call 1 waiting" in refused(lambda: read_question(folder, 1)).message
    place = folder / "ask-1.json"
    more = json.dumps({**msgspec.to_builtins(question()), "more": 1})
    for text in ("", "{}", "[]", '{"more": 1}', more):
        place.write_text(text)
        place.chmod(0o600)
        refused(lambda: read_question(folder, 1))


def test_a_question_that_others_could_write_is_not_read(folder: Path) -> None:
    ApprovalStore(folder).ask(question())
    (folder / "ask-1.json").chmod(0o622)
    refused(lambda: read_question(folder, 1))


# A person's yes


def test_a_yes_counts_once_for_ten_minutes(folder: Path) -> None:
    store, key = ApprovalStore(folder), question().key
    assert store.take(key, NOW) is False
    limit = timedelta(minutes=10)
    for age, counts in ((timedelta(0), True), (limit, True), (limit + timedelta(microseconds=1), False)):
        approve(folder, question(), NOW)
        assert store.take(key, NOW + age) is counts
        assert store.take(key, NOW) is False
        assert os.listdir(folder) == []


def test_a_yes_from_the_future_does_not_count(folder: Path) -> None:
    store = ApprovalStore(folder)
    approve(folder, question(), NOW + timedelta(microseconds=1))
    assert store.take(question().key, NOW) is False


def test_a_second_yes_starts_the_ten_minutes_again(folder: Path) -> None:
    store = ApprovalStore(folder)
    approve(folder, question(), NOW)
    approve(folder, question(), NOW + timedelta(minutes=8))
    assert store.take(question().key, NOW + timedelta(minutes=15)) is True


def test_a_yes_is_stored_in_utc_under_its_key_for_this_user_alone(folder: Path) -> None:
    approve(folder, question(), NOW.astimezone(timezone(timedelta(hours=5))))
    place = folder / f"yes-{question().key}.json"
    assert json.loads(place.read_text()) == {"key": question().key, "time": "2026-01-02T03:04:05Z"}
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_yes_to_another_call_does_not_count_under_this_calls_name(folder: Path) -> None:
    approve(folder, question(2), NOW)
    (folder / f"yes-{question(2).key}.json").rename(folder / f"yes-{question().key}.json")
    assert ApprovalStore(folder).take(question().key, NOW) is False
    assert os.listdir(folder) == []


@pytest.mark.parametrize("text", ["", "{}", '{"key": 1}', '{"key": "KEY", "time": "2026-01-02T03:04:05Z", "more": 1}'])
def test_a_yes_that_rye_did_not_write_does_not_count_and_is_used_up(folder: Path, text: str) -> None:
    key = question().key
    place = folder / f"yes-{key}.json"
    place.write_text(text.replace("KEY", key))
    place.chmod(0o600)
    assert ApprovalStore(folder).take(key, NOW) is False
    assert os.listdir(folder) == []


def test_a_yes_that_others_could_write_does_not_count(folder: Path) -> None:
    approve(folder, question(), NOW)
    (folder / f"yes-{question().key}.json").chmod(0o606)
    assert ApprovalStore(folder).take(question().key, NOW) is False
    assert os.listdir(folder) == []


def test_nobody_agrees_to_a_call_of_another_run_or_one_that_is_shown_in_part(folder: Path) -> None:
    error = refused(lambda: approve(folder, question(whole=False), NOW))
    assert error.message == "Question 1 does not show the whole call, so it cannot be approved."
    error = refused(lambda: approve(folder, question(run="run-2"), NOW))
    assert error.message == "The question belongs to run run-2, not to run-1."
    assert os.listdir(folder) == []
