"""The table of codes is frozen: codes are added, never removed or given another exit status (docs/reference/versions.md)."""

from __future__ import annotations

import pytest

from rye.explaining.table import former, load
from tests.explaining.frozen_codes import frozen_lines, problems, read_frozen


def test_codes_are_added_and_never_changed() -> None:
    """If this fails, the message says what to do."""
    wrong = list(problems(read_frozen(), frozen_lines(load())))
    assert not wrong, "\n".join(wrong)


def test_no_frozen_code_is_one_of_an_earlier_version() -> None:
    assert {line.split(" ")[0] for line in read_frozen()} & former().keys() == set()


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ({"a-b 1", "c-d 1 team"}, ["'c-d 1' is in frozen_codes.txt", "Put it back"]),
        (
            {"a-b 2", "c-d 1", "c-d 1 team"},
            ["'a-b 1' is in frozen_codes.txt", "never renamed, removed or given another exit"],
        ),
        ({"a-b 1", "c-d 1"}, ["'c-d 1 team' is in frozen_codes.txt", "Put it back"]),
        ({"a-b 1", "c-d 1", "c-d 1 team", "e-f 1"}, ["'e-f 1' is not in frozen_codes.txt", "make error-pages"]),
    ],
)
def test_a_change_of_the_table_is_answered_with_what_to_do(needed: set[str], said: list[str]) -> None:
    answer = "\n".join(problems(frozenset({"a-b 1", "c-d 1", "c-d 1 team"}), frozenset(needed)))
    assert [words for words in said if words not in answer] == []
