"""Rows of rye.lock for items of ``[sources]``: their exact text, who is said to have signed them, and which rows are refused
(design/sources.md 1).

Anyone who can commit writes these rows. A row that could be read as two places, or as another origin than the approved one,
must not be read at all.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rye.consent.ask import MOST_RULES, approving
from rye.items.agent_tools import AgentTools
from rye.items.consented import HookAction, Run
from rye.project.lock import (
    Lock,
    LockedFile,
    LockedItem,
    LockedSource,
    LockError,
    in_words,
    lock_text,
    parse_lock,
    row_lines,
)

URL = "https://git.example.org/team/prompts.git"
HASH, COMMIT, TREE = "ab" * 32, "3f" * 20, "ab" * 20
GIT = LockedSource(place="items/pdf/SKILL.md", git=URL, ref="refs/tags/v1", commit=COMMIT, tree=TREE)
FOLDER = LockedSource(place="pdf/SKILL.md", path="../shared")
EDITABLE = replace(FOLDER, editable=True)
ROW = LockedItem(
    kind="skill", id="team/pdf", version="0.0.0+g3f3f3f3f", size=12, sha256=HASH, suffix="SKILL.md", source=GIT
)
PLAIN = LockedItem(
    kind="directive",
    id="acme/a/b",
    version="1.0.0",
    size=12,
    sha256=HASH,
    suffix=".md",
    registry="registry.example",
    log=0,
    keyset=1,
    signer="SHA256:a",
)


def written(*items: LockedItem) -> str:
    return lock_text(Lock({}, items))


def read(source: LockedSource) -> LockedItem:
    (item,) = parse_lock(written(replace(ROW, source=source))).items
    return item


def refused(*items: LockedItem) -> str:
    with pytest.raises(LockError) as raised:
        parse_lock(written(*items))
    return raised.value.message.removeprefix("rye.lock: ")


@pytest.mark.parametrize(
    ("source", "row", "origin", "unsigned"),
    [
        (
            GIT,
            f'{{ git = "{URL}", ref = "refs/tags/v1", commit = "{COMMIT}", tree = "{TREE}", place = "items/pdf/SKILL.md" }}',
            f"git+{URL}",
            f"none (git commit {COMMIT})",
        ),
        (FOLDER, '{ path = "../shared", place = "pdf/SKILL.md" }', "path+../shared", "none (folder ../shared)"),
        (
            EDITABLE,
            '{ path = "../shared", place = "pdf/SKILL.md", editable = true }',
            "editable+../shared",
            "none (editable folder ../shared)",
        ),
    ],
)
def test_a_source_is_written_in_one_form_and_nothing_else_says_where_the_item_is_from(
    source: LockedSource, row: str, origin: str, unsigned: str
) -> None:
    text = written(replace(ROW, source=source, registry="registry.example", log=7, keyset=3, signer="SHA256:a"))
    assert text.splitlines()[3:] == [
        "[[item]]",
        'kind = "skill"',
        'id = "team/pdf"',
        'version = "0.0.0+g3f3f3f3f"',
        "size = 12",
        f'sha256 = "{HASH}"',
        'suffix = "SKILL.md"',
        f"source = {row}",
    ]
    found = read(source)
    assert (ROW.registry, ROW.log, ROW.keyset, ROW.signer) == ("", 0, 0, "")
    assert found == replace(ROW, source=source, registry=origin, signer=origin)
    assert (found.signed_by, found.how_signed) == (unsigned, "not signed (" + unsigned.removeprefix("none ("))
    assert found.is_unsigned
    assert found.is_editable is source.editable
    assert source.as_json() == {
        "git": source.git, "ref": source.ref, "commit": source.commit, "tree": source.tree, "path": source.path,
        "place": source.place, "editable": source.editable,
    }  # fmt: skip


def test_a_trusted_key_makes_an_item_of_a_source_a_signed_one() -> None:
    found = read(GIT)
    signed = found.with_signer("SHA256:a")
    assert (signed.signer, signed.signed_by, signed.how_signed) == ("SHA256:a", "SHA256:a", "signed by SHA256:a")
    assert signed.is_unsigned is False
    assert found.with_signer(None) is found


def test_a_registrys_item_keeps_the_signer_of_its_release() -> None:
    assert PLAIN.with_signer("SHA256:b") is PLAIN
    assert PLAIN.with_signer(None) is PLAIN
    assert (PLAIN.signed_by, PLAIN.how_signed) == ("SHA256:a", "signed by SHA256:a")
    assert PLAIN.is_unsigned is False
    assert PLAIN.is_editable is False
    assert in_words("SHA256:none (") == "signed by SHA256:none ("


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (replace(GIT, path="../x"), "its source must be either a git repository or a folder"),
        (LockedSource(place="a.md"), "its source must be either a git repository or a folder"),
        (replace(GIT, editable=True), "only items from a folder can be editable"),
        *((replace(GIT, **{key: None}), "a git repository needs ref, commit and tree") for key in ("ref", "commit", "tree")),
        *((replace(FOLDER, **{key: COMMIT}), "a folder must not have them") for key in ("ref", "commit", "tree")),
        (replace(GIT, git="ext::sh -c id"), "its source: it is not a plain ASCII address"),
        (replace(GIT, git=""), "its source: it is not a plain ASCII address"),
        (replace(GIT, commit=COMMIT[1:]), f"its source: {COMMIT[1:]!r} is not a git hash"),
        (replace(GIT, commit=""), "its source: '' is not a git hash"),
        (replace(GIT, tree="main"), "its source: 'main' is not a git hash"),
        (replace(GIT, tree=""), "its source: '' is not a git hash"),
        (replace(GIT, ref="--upload-pack=id"), "its source: it is not the name of a tag or branch, nor a commit"),
        (replace(GIT, ref=""), "its source: it is not the name of a tag or branch, nor a commit"),
        (replace(FOLDER, path="~/x"), "its source: it begins with '-' or '~'"),
        (replace(FOLDER, path=""), "its source: it is not a path of a folder"),
        *((replace(GIT, place=place), f"its source: {place!r} is not a valid file path") for place in ("", ".", "a/")),
        (replace(GIT, place="/etc/passwd"), "its source: it is not a relative path"),
        (replace(GIT, place="a/../../b"), "its source: '..' is not a folder name"),
    ],
)  # fmt: skip
def test_a_source_that_is_not_one_place_is_refused(source: LockedSource, message: str) -> None:
    found = refused(replace(ROW, source=source))
    assert found.startswith("team/pdf: ")
    assert message in found


@pytest.mark.parametrize("key", ["registry", "log", "keyset", "signer"])
def test_a_row_names_a_registry_or_a_source_and_never_parts_of_both(key: str) -> None:
    """Otherwise a row of a source could name its own signer, and a registry's row could go without one."""
    line = next(line for line in written(PLAIN).splitlines() if line.startswith(f"{key} = "))
    message = "needs either source, or all of registry, log, keyset and signer."
    for text, name in (
        (written(ROW) + line + "\n", "skill:team/pdf"),
        (written(PLAIN).replace(line, ""), "directive:acme/a/b"),
    ):
        with pytest.raises(LockError) as raised:
            parse_lock(text)
        assert raised.value.message == f"rye.lock: {name} {message}"


def test_rows_that_are_not_tables_are_refused() -> None:
    for rows in ("1", "[1]", '["source"]'):
        with pytest.raises(LockError, match="Expected"):
            parse_lock(f"version = 1\nitem = {rows}\n")
    with pytest.raises(LockError, match="needs either source"):
        parse_lock("version = 1\nitem = [1, {}]\n")


def test_a_word_that_is_not_known_is_refused_in_a_source() -> None:
    text = written(ROW).replace("source = { ", "source = { branch = 1, ")
    with pytest.raises(LockError, match="unknown field `branch`"):
        parse_lock(text)
    with pytest.raises(LockError, match="a key has too many parts"):
        parse_lock(f"version = 1\n{'.'.join('a' * 1000)} = 1\n")


def test_a_namespace_is_from_one_source_in_one_state() -> None:
    other = replace(ROW, id="team/doc", source=replace(GIT, place="items/doc/SKILL.md"))
    assert [item.id for item in parse_lock(written(ROW, other)).items] == ["team/doc", "team/pdf"]
    elsewhere = replace(other, id="shared/doc", source=FOLDER)
    assert len(parse_lock(written(ROW, elsewhere, PLAIN)).items) == 3
    said = "the items of 'team' come from more than one place."
    for source in (replace(GIT, commit="4f" * 20), replace(GIT, tree="cd" * 20), replace(GIT, ref="HEAD"), FOLDER):
        assert refused(ROW, replace(other, source=source)) == said
    assert refused(ROW, replace(PLAIN, id="team/a/b")) == said
    assert refused(replace(ROW, source=FOLDER), replace(other, source=EDITABLE)) == said


def test_everything_that_needs_consent_has_one_text_and_is_read_back() -> None:
    """What a reviewer reads is what counts: no list is lost, and none is read as another."""
    a, b = Run("tool-code", "a.py", "python", HASH), Run("tool-code", "b.py", "python", HASH)
    row = {
        run: f'{{ what = "tool-code", where = "{run.where}", action = "python", sha256 = "{HASH}" }}' for run in (a, b)
    }
    words = {
        "groups": ("b", "a"), "agent_tools": ("Edit", "Bash"), "agent_limits": ("blocked D", "blocked C"),
    }  # fmt: skip
    given: dict[str, tuple[Any, ...]] = {
        "tool": ("Grep", "Find"),
        "limit": ("blocked F", "blocked E"),
        "fact": ("n y", "n x"),
        "run": (b, a),
    }
    item = replace(PLAIN, forced="^1", runs=(b, a), approved=approving(3, **given), **words)
    text = written(item)
    assert text.splitlines()[14:] == [
        'forced = "^1"',
        "groups = [", '  "a",', '  "b",', "]",
        "agent-tools = [", '  "Bash",', '  "Edit",', "]",
        "agent-limits = [", '  "blocked C",', '  "blocked D",', "]",
        "runs = [", f"  {row[a]},", f"  {row[b]},", "]",
        "approved-tools = [", '  "Find",', '  "Grep",', "]",
        "approved-limits = [", '  "blocked E",', '  "blocked F",', "]",
        "approved-runs = [", f"  {row[a]},", f"  {row[b]},", "]",
        "approved-facts = [", '  "n x",', '  "n y",', "]",
        "facts-rules = 3",
    ]  # fmt: skip
    in_order = {name: tuple(sorted(value)) for name, value in words.items()}
    (found,) = parse_lock(text).items
    approved = approving(3, **{name: sorted(value) for name, value in given.items()})
    assert found == replace(item, runs=(a, b), approved=approved, **in_order)


def test_what_runs_has_a_whole_hash_of_hexadecimal_digits() -> None:
    run = Run("tool-code", "run.py", "python", HASH)
    for bad in (replace(run, sha256=HASH[1:]), replace(run, sha256=HASH[1:] + "~")):
        for changes in ({"runs": (bad,)}, {"approved": approving(run=(bad,))}, {"runs": (run, bad)}):
            assert refused(replace(PLAIN, **changes)) == "acme/a/b: a hash is not 64 lower-case hex digits."


@pytest.mark.parametrize(
    ("rules", "fine"), [(0, False), (2, True), (MOST_RULES, True), (MOST_RULES + 1, False), (-1, False)]
)
def test_the_number_of_the_rules_for_facts_has_bounds(rules: int, fine: bool) -> None:
    item = replace(PLAIN, approved=approving(rules))
    if fine:
        assert parse_lock(written(item)).items == (item,)
    else:
        assert refused(item) == "acme/a/b: facts-rules must be a number from 1 to 9999."


def test_agent_tools_are_read_with_their_limits_and_an_unknown_limit_is_refused() -> None:
    item = replace(
        ROW,
        agent_tools=("Bash",),
        agent_limits=("bash-command git",),
        approved=approving(tool=("Read",), limit=("blocked Bash",)),
    )
    (found,) = parse_lock(written(item)).items
    assert found.tools == AgentTools(("Bash",), (), ("git",))
    assert found.approved.tools == AgentTools(("Read",), ("Bash",))
    assert (PLAIN.tools, PLAIN.approved.tools) == (None, None)
    for changes in ({"agent_limits": ("any",)}, {"approved": approving(limit=("any",))}):
        assert refused(replace(ROW, **changes)) == "team/pdf: 'any' is not a limit of agent tools."


def test_a_lock_that_is_not_one_names_the_way_out() -> None:
    with pytest.raises(LockError) as raised:
        parse_lock("<<<<<<< ours\n")
    assert raised.value.hint == "If rye.toml has conflict markers, resolve those first. Then run `rye install`."
    with pytest.raises(LockError) as raised:
        parse_lock("version = 1\nwanted = 1\n")
    assert raised.value.message == "rye.lock: Expected `object`, got `int` - at `$.wanted`."
    assert raised.value.hint
    assert "asks for every approval again" in raised.value.hint


def test_the_same_file_with_other_attached_files_or_from_elsewhere_is_another_release() -> None:
    """What was approved is approved for one release only."""
    one, two = LockedFile("a", 1, HASH), LockedFile("b", 1, HASH)
    item = replace(ROW, attached=(one, two))
    assert item.release == replace(item, attached=(two, one), groups=("dev",), log=9).release
    for changes in ({"attached": (one,)}, {"registry": "x"}, {"version": "2.0.0"}, {"sha256": HASH[::-1]}):
        assert item.release != replace(item, **changes).release


def test_each_row_is_found_by_its_first_line() -> None:
    hook = HookAction('x\n[[item]]\nkind = "tool"', "tool", "a")
    text = lock_text(Lock({"a": "*"}, (PLAIN, replace(ROW, hooks=(hook,)))))
    lines = text.split("\n")
    found = row_lines(text)
    assert found == {"directive:acme/a/b": 7, "skill:team/pdf": 19}
    assert all(
        lines[line - 1 : line + 1] == ["[[item]]", f'kind = "{name.split(":")[0]}"'] for name, line in found.items()
    )
    for other in (
        '[[item]]\nid = "a"\nkind = "b"',
        '[[item]]\nkind = "a"\nversion = "b"',
        '[[item]]\nsize = 1\nid = "b"',
    ):
        assert row_lines(other) == {}
    for start in ("", "x\n", "[[items]]\n"):
        assert row_lines(f'{start}kind = "a"\nid = "b"\n') == {}
    assert row_lines("[[item]]\n" * 2) == row_lines('[[item]]\nkind = "a"') == row_lines("[[item]]") == {}
    assert row_lines('[[item]]\nkind = "a"\nid = "b"') == {"a:b": 1}
