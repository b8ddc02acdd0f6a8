"""The fast lock reader never disagrees with the TOML reader."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.items.consented import HookAction, Run
from rye.project.lock import Lock, LockedItem, LockedSource, LockError, lock_text, parse_lock
from rye.project.lock_canonical import read_canonical
from rye.text.facts.fact import RULES_VERSION
from tests.project.test_lock import ITEM, SKILL

RUN = Run("attached-file", "scripts/run.py", "executable", "ef" * 32)
PLAIN = replace(ITEM, hooks=())
INPUTS = (("amount", "${cost.current}"), ("to", "ops"))
HOOKED = replace(
    ITEM, hooks=(HookAction("cost.current > 3", "tool", "notify"), HookAction("done", "directive", "a/b", INPUTS))
)
AGREED = replace(
    SKILL, runs=(RUN,), approved=approving(RULES_VERSION, "SHA256:abc", run=(RUN,), tool=("Read",), hook=HOOKED.hooks)
)
GIT = LockedSource(
    place="skills/pdf/SKILL.md", git="https://git.example/team/skills", ref="v1", commit="3f" * 20, tree="4a" * 20
)
FOLDER = LockedSource(place="pdf/SKILL.md", path="../skills")
FROM_GIT = replace(AGREED, source=GIT, forced="^1")
ROWS = (
    PLAIN,
    HOOKED,
    SKILL,
    AGREED,
    FROM_GIT,
    *(replace(SKILL, source=replace(FOLDER, editable=on)) for on in (False, True)),
)
TEXT = lock_text(
    Lock({"a/b": "^1", "c/d": "*"}, (PLAIN, replace(HOOKED, id="acme/other/item", forced=">=1 <2"), AGREED, FROM_GIT))
)


def toml(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


@pytest.mark.parametrize(
    "lock", [Lock(), Lock({"a/b": "*"}), Lock({}, (PLAIN,)), Lock({"a/b": "*"}, (PLAIN, replace(PLAIN, id="a/z/q")))]
)
def test_what_rye_writes_is_read_fast(lock: Lock) -> None:
    assert read_canonical(lock_text(lock)) == tomllib.loads(lock_text(lock))


@pytest.mark.parametrize("row", ROWS)
def test_every_row_that_needs_no_escape_is_read_fast(row: LockedItem) -> None:
    text = lock_text(Lock({"a/b": "*"}, (row,)))
    assert read_canonical(text) == tomllib.loads(text)


@pytest.mark.parametrize("item", [ITEM, replace(PLAIN, signer='quote"d')])
def test_what_is_rare_is_left_to_the_toml_reader(item: object) -> None:
    assert read_canonical(lock_text(Lock({}, (item,)))) is None  # type: ignore[arg-type]


_PIECES = ["\n", "[[item]]\n", 'id = "x"\n', "[wanted]\n", '"', "\\", "#", " ", "=", '"a/b" = "*"\n', "approved = [\n", "]\n",
           '  "rye.*",\n', "\r", "\0", "0", "é", "\u202e"]  # fmt: skip


@settings(max_examples=400)
@given(st.integers(0, len(TEXT)), st.integers(0, 40), st.lists(st.sampled_from(_PIECES), max_size=4))
def test_damaged_in_any_place_it_is_read_as_toml_reads_it_or_not_at_all(at: int, drop: int, put: list[str]) -> None:
    text = TEXT[:at] + "".join(put) + TEXT[at + drop :]
    fast = read_canonical(text)
    assert fast is None or fast == toml(text)


@settings(max_examples=200)
@given(st.data())
def test_lines_in_another_order_or_twice_are_no_different(data: st.DataObject) -> None:
    lines = TEXT.splitlines(keepends=True)
    first, second = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    line = lines.pop(first)
    lines.insert(second, line)
    if data.draw(st.booleans()):
        lines.insert(first, line)
    text = "".join(lines)
    fast = read_canonical(text)
    assert fast is None or fast == toml(text)


def test_a_lock_with_a_flat_kind_in_folders_or_files_attached_to_a_text_is_refused() -> None:
    for item in (replace(SKILL, id="acme/a/b"), replace(PLAIN, attached=SKILL.attached)):
        with pytest.raises(LockError):
            parse_lock(lock_text(Lock({}, (item,))))
