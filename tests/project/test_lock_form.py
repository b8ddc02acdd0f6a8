"""The exact text of rye.lock, which reviewers read and branches merge, and why each malformed lock is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rye.consent.ask import approving
from rye.items.consented import HookAction
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, LockError, lock_text, parse_lock
from rye.project.lock_canonical import read_canonical
from rye.project.lock_conflict import join_sides
from rye.project.lock_file import read_lock
from tests.project.test_lock import ITEM, SKILL

HASH = "ab" * 32
WHOLE = LockedItem(
    kind="skill",
    id="acme/pdf",
    version="1.0.0+b1",
    size=0,
    sha256=HASH,
    suffix="SKILL.md",
    registry="registry.example",
    log=7,
    keyset=3,
    signer="SHA256:a",
    attached=(LockedFile("run.sh", 5, HASH, executable=True), LockedFile("a.md", 1, HASH)),
    dependencies=("tool:acme/b/c", "tool:acme/a/c"),
    capabilities=("b", "a"),
    agent_tools=("Read", "Bash(git:*)"),
    hooks=(HookAction("x > 1", "tool", "a/b", (("k", "v"), ("l", "w"))), HookAction("always", "tool", "c")),
    approved=approving(1, "", right=("z", "y"), hook=(HookAction("always", "tool", "c"),)),
    groups=("dev", "main"),
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
TEXT = f"""\
# Made by rye; do not edit. Reviews should look at `approved`.
version = 1

[wanted]
"a/b" = "^1"
"skill:acme/pdf" = "*"

[[item]]
kind = "directive"
id = "acme/a/b"
version = "1.0.0"
size = 12
sha256 = "{HASH}"
suffix = ".md"
registry = "registry.example"
log = 0
keyset = 1
signer = "SHA256:a"

[[item]]
kind = "skill"
id = "acme/pdf"
version = "1.0.0+b1"
size = 0
sha256 = "{HASH}"
suffix = "SKILL.md"
registry = "registry.example"
log = 7
keyset = 3
signer = "SHA256:a"
groups = [
  "dev",
  "main",
]
attached = [
  {{ path = "a.md", size = 1, sha256 = "{HASH}" }},
  {{ path = "run.sh", size = 5, sha256 = "{HASH}", executable = true }},
]
dependencies = [
  "tool:acme/a/c",
  "tool:acme/b/c",
]
capabilities = [
  "a",
  "b",
]
agent-tools = [
  "Bash(git:*)",
  "Read",
]
hooks = [
  {{ when = "x > 1", item_type = "tool", item_id = "a/b", inputs = [["k", "v"], ["l", "w"]] }},
  {{ when = "always", item_type = "tool", item_id = "c" }},
]
approved = [
  "y",
  "z",
]
approved-hooks = [
  {{ when = "always", item_type = "tool", item_id = "c" }},
]
approved-signer = ""
"""


def refused(text: str) -> str:
    with pytest.raises(LockError) as raised:
        parse_lock(text)
    assert raised.value.code == "bad-lock"
    assert raised.value.hint
    return raised.value.message


def changed(item: LockedItem, **changes: object) -> str:
    return lock_text(Lock({}, (replace(item, **changes),)))


def test_the_text_of_a_lock_is_fixed() -> None:
    lock = Lock({"skill:acme/pdf": "*", "a/b": "^1"}, (WHOLE, PLAIN))
    assert lock_text(lock) == TEXT
    assert lock_text(parse_lock(TEXT)) == TEXT
    assert lock_text(Lock()) == "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n"
    assert lock_text(Lock({"a": "*"})).endswith('\n\n[wanted]\n"a" = "*"\n')


def test_items_stand_by_kind_and_then_by_id() -> None:
    items = tuple(
        replace(PLAIN, kind=kind, id=name, suffix=".md") for kind in ("directive", "agent") for name in ("b/c", "a/c")
    )
    lines = [line for line in lock_text(Lock({}, items)).splitlines() if line.startswith(("kind", "id"))]
    names = [("agent", "a/c"), ("agent", "b/c"), ("directive", "a/c"), ("directive", "b/c")]
    assert lines == [line for kind, name in names for line in (f'kind = "{kind}"', f'id = "{name}"')]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('say "x"', r"say \"x\""),
        ("a\\b", r"a\\b"),
        ("~\n", r"~\U0000000A"),
        ("a\nb", r"a\U0000000Ab"),
        ("gpj\u202eexe", r"gpj\U0000202Eexe"),
        ("a\U000e0041b", r"a\U000E0041b"),
        ("é \u00a0", r"é \U000000A0"),
        ("", ""),
    ],
)
def test_what_a_review_would_not_see_is_spelled_out(text: str, shown: str) -> None:
    written = changed(PLAIN, signer=text)
    assert f'signer = "{shown}"\n' in written
    assert parse_lock(written).items[0].signer == text


def test_an_approved_signer_is_written_only_where_there_is_one() -> None:
    assert "approved-signer" not in changed(PLAIN)
    assert parse_lock(changed(PLAIN)).items[0].approved.signer is None
    assert 'approved-signer = "SHA256:b"' in changed(PLAIN, approved=approving(1, "SHA256:b"))


def test_an_item_of_no_group_is_of_the_main_one() -> None:
    text = changed(PLAIN, groups=()) + "groups = []\n"
    assert parse_lock(text).items[0].groups == ("main",)
    assert "groups" not in changed(PLAIN, groups=("main",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "prompt"}, "prompt:acme/a/b is not an item name."),
        ({"id": "acme"}, "directive:acme is not an item name."),
        ({"id": "acme/../b"}, "directive:acme/../b is not an item name."),
        ({"suffix": ".py"}, "acme/a/b: a directive cannot have the suffix '.py'."),
        ({"suffix": ""}, "acme/a/b: a directive cannot have the suffix ''."),
        ({"kind": "skill", "suffix": "SKILL.md"}, "acme/a/b: a skill must be directly below its namespace."),
        ({"kind": "skill", "id": "acme/a", "suffix": ".md"}, "acme/a: a skill cannot have the suffix '.md'."),
        ({"sha256": HASH[:-1]}, "acme/a/b: a hash is not 64 lower-case hex digits."),
        ({"sha256": HASH + "a"}, "acme/a/b: a hash is not 64 lower-case hex digits."),
        ({"sha256": HASH.upper()}, "acme/a/b: a hash is not 64 lower-case hex digits."),
        ({"attached": (LockedFile("a", 1, HASH),)}, "acme/a/b: a directive cannot have attached files."),
        ({"dependencies": ("rye.search.tool.*",)}, "acme/a/b: a dependency is not an item's kind and id."),
    ],
)
def test_an_item_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    assert refused(changed(PLAIN, **changes)) == f"rye.lock: {message}"


@pytest.mark.parametrize(
    "paths",
    [
        ["../x"],
        ["/x"],
        ["a//b"],
        ["a/"],
        [""],
        [".hidden"],
        ["a/.hidden"],
        ["-x"],
        ["a/-x"],
        ["a\\b"],
        ["a b"],
        ["a\n"],
        ["a", "A"],
        ["skill.md"],
        ["SKILL.md"],
    ],
)
def test_an_attached_file_has_a_safe_path_of_its_own(paths: list[str]) -> None:
    attached = tuple(LockedFile(path, 1, HASH) for path in paths)
    message = refused(changed(WHOLE, attached=attached))
    assert message == "rye.lock: acme/pdf: an attached file's path is unsafe or a duplicate."


def test_an_attached_file_has_a_hash_and_ordinary_paths_pass() -> None:
    for sha256 in (HASH[1:], HASH + "a", HASH.upper(), ""):
        wrong = (LockedFile("a", 1, HASH), LockedFile("b", 1, sha256))
        assert refused(changed(WHOLE, attached=wrong)) == "rye.lock: acme/pdf: a hash is not 64 lower-case hex digits."
    paths = ("0", "A.md", "_x", "a-b_c.d/e..f/G")
    attached = tuple(LockedFile(path, 1, HASH) for path in paths)
    assert parse_lock(changed(WHOLE, attached=attached)).items[0].attached == attached


def test_a_lock_that_is_none_is_refused_by_what_is_wrong() -> None:
    assert refused(lock_text(Lock({}, (ITEM, ITEM)))) == "rye.lock: it has duplicate items."
    assert "git's conflict markers; `rye install` or `rye lock`" in refused(TEXT + "<<<<<<< HEAD\n")
    assert refused("version = 2\n") == "rye.lock: its version is 2; this rye reads version 1."
    assert refused("") == "rye.lock: its version is None; this rye reads version 1."
    assert refused("version = [\n").startswith("rye.lock: not valid TOML: ")
    assert refused("x = " + "[" * 10_000).startswith("rye.lock: not valid TOML: ")
    assert refused("version = 1\nmore = 1\n") == "rye.lock: Object contains unknown field `more`."
    same_id = replace(SKILL, kind="agent", suffix=".md", attached=())
    assert len(parse_lock(lock_text(Lock({}, (SKILL, same_id)))).items) == 2


@pytest.mark.parametrize("line", ["    extra = 1\n", "extra = 1\n"])
def test_a_word_that_is_not_known_is_refused_in_every_table(line: str) -> None:
    assert "unknown field `extra`" in refused(changed(PLAIN) + line)
    assert "unknown field `more`" in refused(TEXT.replace('path = "a.md",', 'path = "a.md", more = 1,'))
    assert "unknown field" in refused(TEXT.replace('when = "always",', 'when = "always", more = 1,'))


def test_an_item_is_found_by_its_whole_identity() -> None:
    lock = Lock({}, (PLAIN, WHOLE))
    assert lock.find(Identity("skill", "acme/pdf")) is WHOLE
    assert lock.find(Identity("agent", "acme/pdf")) is None
    assert lock.by_identity() == {PLAIN.identity: PLAIN, WHOLE.identity: WHOLE}


def test_a_lock_is_read_from_its_file(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert read_lock(project) == Lock()
    project.lock_path.write_text(changed(PLAIN))
    assert read_lock(project).items == (PLAIN,)
    project.lock_path.write_bytes(b"\xff")
    with pytest.raises(LockError, match="it is not UTF-8"):
        read_lock(project)


# The fast lock reader


FAST = lock_text(
    Lock(
        {"a/b": "^1"},
        (
            replace(
                PLAIN, capabilities=("a", "b"), agent_tools=("Read",), dependencies=("tool:a/b/c",), groups=("dev",)
            ),
            replace(PLAIN, id="acme/a/c", size=10**18 - 1, approved=approving(right=("a",))),
        ),
    )
)


def test_the_fast_reader_reads_every_plain_field() -> None:
    found = read_canonical(FAST)
    assert found is not None
    one, other = found["item"]
    assert found["wanted"] == {"a/b": "^1"}
    assert (one["capabilities"], one["agent-tools"], one["dependencies"], one["groups"]) == (
        ["a", "b"], ["Read"], ["tool:a/b/c"], ["dev"],
    )  # fmt: skip
    assert (other["size"], other["log"], other["keyset"], other["approved"]) == (10**18 - 1, 0, 1, ["a"])
    assert "capabilities" not in other


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("size = 12", "size = 012"),
        ("size = 12", "size = -1"),
        ("size = 12", "size = 1_2"),
        ("log = 0", "log = 00"),
        ("keyset = 1", "keyset = +1"),
        ("size = 999999999999999999", "size = 1000000000000000000"),
        ('id = "acme/a/b"', 'id = "acme\\u002fa/b"'),
        ('id = "acme/a/b"', "id = 'acme/a/b'"),
        ('id = "acme/a/b"', 'id = "acme/a/b" # more'),
        ('id = "acme/a/b"\n', 'id = "acme/a/b"\r\n'),
        ('"a/b" = "^1"\n', '"a/b" = "^1"\n"a/b" = "^2"\n'),
        ('  "a",\n  "b",\n', '  "a",\n  "b"\n'),
        (
            'dependencies = [\n  "tool:a/b/c",\n]\n',
            'dependencies = [\n  "a",\n]\ndependencies = [\n  "tool:a/b/c",\n]\n',
        ),
        ("capabilities = [", "other = ["),
        ("version = 1\n", "version = 2\n"),
        ("# Made by rye", "# made by rye"),
        ("[wanted]\n", "[other]\n"),
        ("\n[wanted]\n", "[wanted]\n"),
        ('kind = "directive"\nid = "acme/a/c"\n', 'id = "acme/a/c"\nkind = "directive"\n'),
        ('signer = "SHA256:a"\n', 'signer = "SHA256:\x01a"\n'),
    ],
)
def test_the_fast_reader_leaves_everything_else_to_the_toml_reader(before: str, after: str) -> None:
    assert before in FAST
    assert read_canonical(FAST.replace(before, after, 1)) is None


@pytest.mark.parametrize(
    "text", ["<<<<<<< ours", "a\u2028<<<<<<< ours\u2028=======\u2028>>>>>>> theirs", "\x85<<<<<<<"]
)
def test_an_authors_text_is_no_conflict_marker(text: str) -> None:
    """Otherwise one hook could make the lock unreadable, or move rows from one side of a real conflict to the other."""
    hooked = replace(WHOLE, hooks=(HookAction(text, "tool", "a/b", (("x", text),)),), approved=approving(hook=()))
    written = lock_text(Lock({}, (hooked,)))
    assert [row.hooks for row in parse_lock(written).items] == [hooked.hooks]
    theirs = written.replace('version = "1.0.0+b1"', 'version = "1.0.1"')
    joined = join_sides(f"<<<<<<< ours\n{written}=======\n{theirs}>>>>>>> theirs\n")
    assert [row.version for row in joined.rows] == ["1.0.0+b1", "1.0.1"]
    assert all(row.hooks == hooked.hooks for row in joined.rows)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('sha256 = "' + WHOLE.sha256, 'sha256 = "' + "9" * 64),
        (WHOLE.attached[0].sha256, "8" * 64),
        (WHOLE.registry, "other.example"),
        (WHOLE.signer, "SHA256:other"),
    ],
)
def test_two_releases_of_one_version_are_approved_on_neither_side_of_a_conflict(before: str, after: str) -> None:
    """Each side approved its own; which of them is taken must not decide."""
    approved = replace(WHOLE, approved=approving(1, None))
    written = lock_text(Lock({}, (approved,)))
    theirs = written.replace(before, after)
    assert theirs != written
    (row,) = join_sides(f"<<<<<<< ours\n{written}=======\n{theirs}>>>>>>> theirs\n").lock.items
    assert row.approved.signer is not None
    (row,) = join_sides(f"<<<<<<< ours\n{written}=======\n{written}>>>>>>> theirs\n").lock.items
    assert row.approved.signer is None
