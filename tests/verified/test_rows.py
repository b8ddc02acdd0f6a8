"""Previously verified rows, and rows compared with verified data: everything that a changed rye.lock could claim."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rye.consent.agreement import not_in_lock
from rye.errors import RyeError
from rye.items.consented import Run
from rye.project.lock import LockedItem, LockedSource
from rye.verified.memory import check_row, check_words, mismatch
from tests.verified.rows import FILES, HOOK, OTHER_HOOK, OTHER_RUN, ROW, RUN, SIGNED


def error(call: Any, *arguments: object) -> str | None:
    """The error about the row, if any; it must have a code."""
    found: RyeError | None = None
    try:
        call(*arguments)
    except RyeError as caught:
        found = caught
    if found is None:
        return None
    before, _, what = found.message.rpartition(": ")
    assert found.code == "lock-mismatch"
    assert before == "rye.lock contradicts the release of skill:acme/work/pdf 1.0.0"
    return what.removesuffix(".")


CHANGES: list[tuple[str, Any]] = [
    ("capabilities", ()),
    ("capabilities", ("a",)),
    ("capabilities", ("a", "c")),
    ("capabilities", ("a", "b", "b")),
    ("capabilities", ("a", "a")),
    ("agent_tools", ()),
    ("agent_tools", ("Read",)),
    ("agent_tools", ("Read", "Bash")),
    ("agent_tools", ("*",)),
    ("agent_limits", ("deny x",)),
    ("agent_limits", ("deny x", "deny z")),
    ("runs", (OTHER_RUN,)),
    ("runs", (RUN, OTHER_RUN)),
    ("hooks", ()),
    ("hooks", (OTHER_HOOK,)),
    ("hooks", (HOOK, OTHER_HOOK)),
]


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_a_row_that_claims_other_rights_than_the_signed_release_is_refused(name: str, value: object) -> None:
    changed = replace(ROW, **{name: value})
    assert error(check_words, [changed], {ROW.identity: SIGNED}) == name.replace("_", "-")
    assert error(check_words, [replace(ROW, kind="tool"), changed], {ROW.identity: SIGNED}) == name.replace("_", "-")
    assert error(check_row, changed, ROW) == name.replace("_", "-")
    assert error(check_words, [changed], {}) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 4),
        ("suffix", ".md"),
        ("registry", "other.example"),
        ("keyset", 1),
        ("signer", "SHA256:cba"),
        ("attached", ()),
        ("attached", FILES[:1]),
        ("attached", (FILES[0], replace(FILES[1], executable=False))),
    ],
)
def test_a_row_that_says_another_thing_of_the_verified_release_is_refused(name: str, value: object) -> None:
    assert error(check_row, replace(ROW, **{name: value}), ROW) == name


def test_a_signer_made_of_the_same_letters_is_another() -> None:
    assert error(check_row, replace(ROW, signer=ROW.signer[::-1]), ROW) == "signer"


def test_what_is_said_in_another_order_is_the_same() -> None:
    turned = replace(
        ROW, capabilities=("b", "a"), agent_tools=("Write", "Read"), agent_limits=("deny y", "deny x"), attached=FILES[::-1]
    )  # fmt: skip
    assert error(check_words, [ROW, turned], {ROW.identity: SIGNED}) is None
    assert error(check_row, turned, ROW) is None


@pytest.mark.parametrize(("name", "value"), [("version", "1.0.1"), ("sha256", "ab" * 32), ("log", 10)])
def test_a_row_of_another_release_is_not_compared(name: str, value: object) -> None:
    assert error(check_row, replace(ROW, size=4, **{name: value}), ROW) is None


def test_what_older_locks_do_not_say_is_no_contradiction_and_hides_none_that_follows() -> None:
    older = replace(ROW, agent_limits=(), runs=())
    assert error(check_words, [older], {ROW.identity: SIGNED}) is None
    assert error(check_words, [replace(older, hooks=())], {ROW.identity: SIGNED}) == "hooks"
    assert error(check_words, [replace(older, runs=(OTHER_RUN,))], {ROW.identity: SIGNED}) == "runs"


@pytest.mark.parametrize("action", ["read by Claude Code, as standing instructions", "passed to python", "package"])
def test_a_run_that_older_versions_did_not_count_is_no_contradiction_if_missing_and_is_one_if_invented(
    action: str,
) -> None:
    newer = msgspec.structs.replace(SIGNED, runs=(*SIGNED.runs, Run("attached-file", "CLAUDE.md", action, "cd" * 32)))
    full = replace(ROW, runs=newer.runs)
    assert error(check_words, [ROW, full], {ROW.identity: newer}) is None
    assert error(check_words, [full], {ROW.identity: SIGNED}) == "runs"
    assert error(check_words, [replace(ROW, runs=newer.runs[1:])], {ROW.identity: newer}) == "runs"
    bare = msgspec.structs.replace(newer, agent_tools=(), agent_limits=())
    assert newer.runs[-1] in [ask.subject for ask in not_in_lock(ROW, bare)]


def test_a_row_without_tools_is_that_of_a_release_that_restricts_none_and_of_no_other() -> None:
    every = msgspec.structs.replace(SIGNED, agent_tools=("*",), capabilities=("*",))
    row = replace(ROW, agent_tools=(), capabilities=("*",))
    assert error(check_words, [row], {ROW.identity: every}) is None
    assert error(check_words, [replace(row, capabilities=())], {ROW.identity: every}) == "capabilities"
    assert error(check_words, [replace(row, hooks=())], {ROW.identity: every}) == "hooks"
    assert error(check_words, [replace(row, agent_tools=("Read",))], {ROW.identity: every}) == "agent-tools"
    assert error(check_words, [row], {ROW.identity: replace(every, agent_tools=("*", "Read"))}) == "agent-tools"


def test_a_mismatch_says_what_to_do() -> None:
    found = mismatch(ROW, "size")
    assert found.code == "lock-mismatch"
    assert found.message == "rye.lock contradicts the release of skill:acme/work/pdf 1.0.0: size."
    assert "Restore it from version control" in (found.hint or "")


# rows of [sources]


def from_source(**fields: Any) -> LockedItem:
    """The row of an unsigned item of a source."""
    source = LockedSource(**fields)
    return replace(ROW, registry=source.origin, log=0, keyset=0, signer=source.origin, source=source)


GIT: dict[str, Any] = {
    "place": "pdf/SKILL.md", "git": "https://git.example/pdf", "ref": "HEAD", "commit": "1" * 40, "tree": "2" * 40,
}  # fmt: skip
OF_GIT = from_source(**GIT)
OF_FOLDER = from_source(place="SKILL.md", path="../mine")


@pytest.mark.parametrize("row", [OF_GIT, OF_FOLDER])
def test_a_row_of_a_source_does_not_decide_who_signed_it(row: LockedItem) -> None:
    for other in (replace(row, signer="SHA256:abc"), replace(row, signer="")):
        assert error(check_row, row, row) is error(check_row, row, other) is error(check_row, other, row) is None


@pytest.mark.parametrize("row", [OF_GIT, OF_FOLDER])
@pytest.mark.parametrize(
    ("name", "value"), [*CHANGES, ("size", 4), ("suffix", ".md"), ("attached", FILES[:1]), ("keyset", 1)]
)
def test_a_row_of_a_source_that_claims_another_thing_of_the_same_commit_is_refused(
    row: LockedItem, name: str, value: object
) -> None:
    assert error(check_row, replace(row, **{name: value}), row) == name.replace("_", "-")


@pytest.mark.parametrize("field", ["place", "ref", "tree"])
def test_a_row_that_names_another_place_ref_or_tree_of_the_commit_is_refused(field: str) -> None:
    assert error(check_row, from_source(**{**GIT, field: "main"}), OF_GIT) == "source"


def test_another_place_in_a_folder_is_no_contradiction_since_a_folder_has_no_commit_to_hold_it() -> None:
    assert error(check_row, from_source(place="moved/SKILL.md", path="../mine"), OF_FOLDER) is None


@pytest.mark.parametrize(
    "other",
    [
        from_source(**{**GIT, "commit": "9" * 40}),
        from_source(**{**GIT, "git": "https://evil.example/pdf"}),
        OF_FOLDER,
    ],
)
def test_a_row_of_another_commit_or_origin_names_another_release(other: LockedItem) -> None:
    assert error(check_row, replace(other, size=4), OF_GIT) is None
    assert error(check_row, replace(OF_GIT, size=4), other) is None


def test_the_bytes_of_another_folder_are_another_release() -> None:
    other = from_source(place="SKILL.md", path="../theirs")
    assert error(check_row, replace(other, size=4), OF_FOLDER) is None


@pytest.mark.parametrize("unsigned", [OF_GIT, OF_FOLDER])
def test_a_registry_row_and_a_row_of_a_source_never_stand_for_each_other(unsigned: LockedItem) -> None:
    """Otherwise a row could drop its signature, or claim one, although the bytes are the same."""
    assert error(check_row, replace(unsigned, log=ROW.log), ROW) == "registry"
    assert error(check_row, replace(ROW, log=0), unsigned) == "registry"
    disguised = replace(ROW, source=unsigned.source)
    assert error(check_row, disguised, ROW) == error(check_row, ROW, disguised) == "source"
