"""Statements: golden texts, one spelling for every value, and what each grammar refuses (docs/reference/statements.md,
Statements)."""

from __future__ import annotations

import json
import string
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.items.capabilities import ITEM_TYPES
from rye.items.identity import Identity
from rye.items.kinds import KINDS
from rye.registry.protocol import lines, statements
from rye.registry.protocol.lines import StatementError
from rye.registry.protocol.statements import (
    Advisory,
    AttachedFile,
    AuditHead,
    Checkpoint,
    Deprecation,
    Description,
    FileEntry,
    FormerSnapshot,
    Hook,
    Keyset,
    Logged,
    OwnerProof,
    Relation,
    Release,
    Revocation,
    Root,
    Snapshot,
    Yank,
)
from tests.registry.simulated_registry import key, suffix_of
from tests.scenes.effort import tries

FOLDER = Path(__file__).parents[1] / "vectors/statements"
GOLDEN = sorted(FOLDER.glob("*.txt"))
INVALID = json.loads((FOLDER / "invalid.json").read_text("utf-8"))


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.stem != "checkpoint"], ids=lambda path: path.stem)
def test_a_golden_statement_is_written_as_it_was_read(path: Path) -> None:
    text = path.read_text("utf-8")
    value = statements.parse(text)
    assert value.text() == text
    assert value.TITLE.split("/")[0].removeprefix("rye.") in (
        "root",
        "keyset",
        "release",
        "yank",
        "deprecation",
        "advisory",
        "takedown",
        "proof",
        "description",
        "clock",
        "policy",
        "snapshot",
    )


def test_every_type_has_a_golden_statement() -> None:
    found = {type(statements.parse(path.read_text("utf-8"))) for path in GOLDEN if path.stem != "checkpoint"}
    assert found == {*statements.TYPES, FormerSnapshot}


def test_a_golden_checkpoint_is_written_as_it_was_read() -> None:
    text = (FOLDER / "checkpoint.txt").read_text("utf-8")
    assert Checkpoint.parse(text).text() == text


def test_a_checkpoint_has_one_extension_line_at_most_and_of_one_form() -> None:
    """What no auditor compares, a log could say differently to everyone."""
    text = (FOLDER / "checkpoint.txt").read_text("utf-8")
    line = f"rye-audit 12 {'ab' * 32}\n"
    extended = Checkpoint.parse(text + line)
    assert (extended.audit, extended.text()) == (AuditHead(12, "ab" * 32), text + line)
    assert extended != Checkpoint.parse(text)  # a head with another line is another head
    wrong = ("extension", "extension\n", "\n", line[:-1], line * 2, line.upper(), f" {line}", line.replace("12", "012"))
    more = (line.replace("12", "-1"), line.replace(" 12", "  12"), line.replace("\n", " x\n"), "rye-audit 12 ab\n")
    for changed in (*(text + each for each in (*wrong, *more)), text.removesuffix("\n"), line + text):
        with pytest.raises(StatementError):
            Checkpoint.parse(changed)


@pytest.mark.parametrize("vector", INVALID, ids=lambda vector: vector["why"])
def test_what_a_grammar_does_not_describe_is_refused(vector: dict[str, str]) -> None:
    text = (FOLDER / f"{vector['statement']}.txt").read_text("utf-8")
    assert vector["find"] in text
    changed = text.replace(vector["find"], vector["replace"], 1)
    parse = Checkpoint.parse if vector["statement"] == "checkpoint" else statements.parse
    with pytest.raises(StatementError):
        parse(changed)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_no_line_may_be_missing_repeated_swapped_or_added(path: Path) -> None:
    parse = Checkpoint.parse if path.stem == "checkpoint" else statements.parse
    text = path.read_text("utf-8")
    rows = text.splitlines(keepends=True)
    optional = (
        "log ",
        "owner ",
        "key ",
        "attached ",
        "depends_on ",
        "requires ",
        "conflicts_with ",
        "capability ",
        "hook ",
        "revoke ",
        "require ",
        "sha256 ",
        "link ",
        "contact ",
        "rule ",
    )
    changed = [rows[: at + 1] + rows[at:] for at in range(len(rows))]
    changed += [[*rows[:at], rows[at + 1], rows[at], *rows[at + 2 :]] for at in range(len(rows) - 1)]
    changed += [[*rows[:at], "\n", *rows[at:]] for at in range(len(rows) + 1)]
    changed += [[*rows, "extra line\n"], [*rows, " \n"]]
    changed += [[*rows[:at], rows[at].rstrip("\n") + " \n", *rows[at + 1 :]] for at in range(len(rows))]
    changed += [
        rows[:at] + rows[at + 1 :] for at in range(len(rows)) if not rows[at].startswith((*optional, "recovery "))
    ]
    for other in changed:
        with pytest.raises(StatementError):
            parse("".join(other))
    for whole in (text[:-1], text + "\n", "\n" + text, text.replace("\n", "\r\n"), "\ufeff" + text, ""):
        with pytest.raises(StatementError):
            parse(whole)


def test_no_statement_stands_for_another() -> None:
    texts = {path.stem: path.read_text("utf-8") for path in GOLDEN}
    for kind in statements.TYPES:
        for text in texts.values():
            if not text.startswith(kind.TITLE + "\n"):
                with pytest.raises(StatementError) as raised:
                    kind.parse(text)
                assert raised.value.code == "statement-kind"
    with pytest.raises(StatementError) as raised:
        statements.parse(texts["yank"].replace("rye.yank/v1", "rye.yank/v2"))
    assert raised.value.code == "statement-kind"


@pytest.mark.parametrize("point", ["AQ" + "A" * 41 + "=", "A" * 43 + "=", "7" + "P" + "//" * 20 + "/3" + "8="])
def test_a_key_of_small_order_cannot_be_named(point: str) -> None:
    text = (FOLDER / "keyset-1.txt").read_text("utf-8")
    old = next(line for line in text.splitlines() if line.startswith("key "))
    with pytest.raises(StatementError):
        statements.parse(text.replace(old, f"key {point}"))


# values that the grammar allows

SEGMENT = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True).filter(
    lambda text: text != "root" and lines_allow(text)
)
ORIGIN = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,12}(:[0-9]{1,5})?(/[a-z0-9._-]{1,6}){0,2}", fullmatch=True)
TIME = st.integers(0, 4_000_000_000).map(lambda seconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds))
HASH = st.binary(min_size=32, max_size=32).map(bytes.hex)
NUMBER = st.integers(1, 2**53 - 1)
VERSION = st.builds(
    lambda a, b, c, pre: f"{a}.{b}.{c}" + (f"-{pre}" if pre else ""),
    *[st.integers(0, 2**53 - 1)] * 3,
    st.sampled_from(["", "rc.1", "0", "alpha-1.x", "a.b.c.0"]),
)
RANGE = st.sampled_from(["*", "^1.2", "~2.0 || >=3 <4", "1.0.0 - 2.0.0", "=1.2.3-rc.1", ">=1, <2"])
WORD = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=1, max_size=20)
LINE = st.text(st.characters(codec="utf-8"), max_size=60).map(lambda text: lines.one_line(text, 40, "none"))
DOMAIN = st.from_regex(r"(?:[a-z0-9]{1,6}(?:-[a-z0-9]{1,3})?\.){1,3}[a-z]{2,5}", fullmatch=True)
REPOSITORY = st.builds(
    "https://{}/{}".format, DOMAIN, st.from_regex(r"[A-Za-z0-9_-]{1,5}/[a-z][a-z.]{0,6}", fullmatch=True)
)
IDENTITY = st.builds(
    lambda kind, segments: Identity(kind, "/".join(segments)),
    st.sampled_from(tuple(KINDS)),
    st.lists(SEGMENT, min_size=2, max_size=4),
)


def lines_allow(segment: str) -> bool:
    try:
        lines.read_namespace(segment)
    except StatementError:
        return False
    return True


@cache
def public(number: int) -> bytes:
    return key(f"statement {number}").public.raw


KEYS = st.lists(st.integers(0, 30).map(public), min_size=1, max_size=4, unique=True).map(tuple)
RELATION = st.builds(Relation, WORD, IDENTITY, RANGE)
REQUIRED = st.builds(Relation, WORD, st.none() | IDENTITY, RANGE)
PREVIOUS = st.tuples(st.integers(2, 2**53 - 1), HASH) | st.just((1, None))


@st.composite
def roots(draw: st.DrawFn) -> Root:
    number, previous = draw(PREVIOUS)
    owners, time = draw(KEYS), draw(TIME)
    expires = time + timedelta(seconds=draw(st.integers(1, 10**9)))
    return Root(draw(ORIGIN), number, previous, time, expires, draw(st.integers(1, len(owners))), owners, draw(KEYS))


@st.composite
def keysets(draw: st.DrawFn) -> Keyset:
    number, previous = draw(PREVIOUS)
    keys, time = draw(KEYS), draw(TIME)
    revoked = draw(st.lists(st.integers(40, 60), unique=True, max_size=3))
    positions = draw(st.lists(st.integers(0, 2**53 - 1), min_size=3, max_size=3))
    recovery = time + timedelta(hours=72) if number > 1 and draw(st.booleans()) else None
    return Keyset(
        draw(ORIGIN),
        draw(SEGMENT),
        number,
        previous,
        time,
        draw(st.integers(1, len(keys))),
        keys,
        tuple(Revocation(public(one), at) for one, at in zip(revoked, positions, strict=False)),
        recovery,
    )


@st.composite
def releases(draw: st.DrawFn) -> Release:
    identity = draw(IDENTITY)
    attached: tuple[AttachedFile, ...] = ()
    if identity.kind == "skill":
        paths = draw(st.sets(st.sampled_from(["a.txt", "b/c.py", "b/d.py", "_x/y.z", "Q-1"]), max_size=4))
        attached = tuple(
            AttachedFile(path, draw(st.integers(0, 2**53 - 1)), draw(HASH), draw(st.booleans())) for path in paths
        )
    return Release(
        origin=draw(ORIGIN),
        identity=identity,
        version=draw(VERSION),
        keyset=draw(NUMBER),
        time=draw(TIME),
        description=draw(LINE),
        file=FileEntry(suffix_of(identity), draw(NUMBER), draw(HASH)),
        attached=attached,
        depends_on=tuple(draw(st.sets(RELATION, max_size=3))),
        requires=tuple(draw(st.sets(REQUIRED, max_size=3))),
        conflicts_with=tuple(draw(st.sets(RELATION, max_size=2))),
        capabilities=tuple(draw(st.sets(WORD.map(lambda word: "rye." + word), max_size=3))),
        hooks=tuple(draw(st.sets(st.builds(Hook, st.sampled_from(ITEM_TYPES), WORD), max_size=2))),
    )


STATEMENT: st.SearchStrategy[Logged] = st.one_of(
    roots(),
    keysets(),
    releases(),
    st.builds(Yank, ORIGIN, IDENTITY, VERSION, st.booleans(), NUMBER, TIME, LINE),
    st.builds(Deprecation, ORIGIN, IDENTITY, st.booleans(), st.none() | IDENTITY, NUMBER, TIME, LINE),
    st.builds(
        Advisory,
        ORIGIN,
        IDENTITY,
        st.from_regex("[A-Z0-9-]{1,64}", fullmatch=True),
        RANGE,
        st.sampled_from(statements.SEVERITIES),
        st.none() | NUMBER,
        TIME,
        LINE,
    ),
    st.one_of(
        [
            st.builds(OwnerProof, ORIGIN, SEGMENT, st.booleans(), st.just(method), place, NUMBER, HASH, TIME)
            for method, place in (("file", DOMAIN), ("dns", DOMAIN), ("repository", REPOSITORY))
        ]
    ),
    st.builds(
        Description,
        ORIGIN,
        SEGMENT,
        LINE,
        st.sets(REPOSITORY, max_size=3).map(tuple),
        st.none() | REPOSITORY | DOMAIN.filter(lambda text: ":" not in text).map("mailto:x+y@{}".format),
        NUMBER,
        TIME,
    ),
    st.builds(Snapshot, ORIGIN, TIME, NUMBER, st.binary(min_size=32, max_size=32).map(bytes.hex)),
    st.builds(FormerSnapshot, ORIGIN, TIME, NUMBER, st.binary(min_size=32, max_size=32)),
)


@pytest.mark.slow
@settings(max_examples=tries(80, 3_000))
@given(STATEMENT)
def test_every_value_has_one_text_which_gives_it_back_hypothesis(value: Logged) -> None:
    text = value.text()
    assert statements.parse(text) == value
    assert all(len(line.encode()) <= 2048 for line in text.split("\n"))


@pytest.mark.thorough
@settings(max_examples=tries(80, 3_000))
@given(STATEMENT, st.data())
def test_an_altered_byte_is_refused_or_means_something_else_hypothesis(value: Logged, data: st.DataObject) -> None:
    text = bytearray(value.text().encode())
    text[data.draw(st.integers(0, len(text) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        other = statements.parse(text.decode())
    except (StatementError, UnicodeDecodeError):
        return
    assert other != value
    assert other.text().encode() == bytes(text)


# values that break a rule are not written

T = datetime(2026, 1, 1, tzinfo=UTC)
SKILL = Release(
    "registry.example",
    Identity("skill", "acme/pdf"),
    "1.0.0",
    1,
    T,
    "Fills in forms",
    FileEntry("SKILL.md", 3, "0" * 64),
)


@pytest.mark.parametrize(
    "path",
    [
        "../x", "/x", "a//b", "a/./b", ".hidden", "a/.git", "-x", "a\\b", "a b", "a\nb", "ä", "con", "CON", "aux.txt",
        "a/nul.tar.gz", "lpt1",
        "a.", "a./b", "x" * 201, "", "skill.md", "SKILL.md",
    ],
)  # fmt: skip
def test_an_attached_path_that_is_unsafe_anywhere_is_refused(path: str) -> None:
    with pytest.raises(StatementError):
        replace(SKILL, attached=(AttachedFile(path, 1, "0" * 64),)).text()


@pytest.mark.parametrize("pair", [("a.txt", "A.TXT"), ("a", "a/b"), ("A", "a/b/c"), ("x/skill", "x/SKILL")])
def test_attached_paths_that_collide_on_some_system_are_refused(pair: tuple[str, str]) -> None:
    with pytest.raises(StatementError):
        replace(SKILL, attached=tuple(AttachedFile(path, 1, "0" * 64) for path in pair)).text()


def test_a_folder_of_a_skill_may_hold_its_own_skill_md() -> None:
    assert replace(SKILL, attached=(AttachedFile("inner/SKILL.md", 1, "0" * 64),)).text()


@pytest.mark.parametrize(
    "text",
    ["", " x", "x ", "a\tb", "a\x00b", "a\u202eb", "a\u200bb", "a\u00adb", "e\u0301", "a\u2028b", "a\x85b",
     "a\ufe0fb", "a\ue000b", "x" * 301, "\U000e0041"],
)  # fmt: skip
def test_text_that_hides_or_reorders_something_is_refused(text: str) -> None:
    with pytest.raises(StatementError):
        replace(SKILL, description=text).text()


@given(st.text(max_size=400), st.integers(1, 300))
def test_any_text_can_be_made_one_line_hypothesis(text: str, most: int) -> None:
    line = lines.one_line(text, most, "x")
    assert lines.text_reader(most)(line) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("two\nlines", "two lines"),
        ("  a   b ", "a b"),
        ("\u200b\u202e", "none"),
        ("", "none"),
        ("abcdef", "abc…"),
        ("warn \u26a0\ufe0f", "war…"),
    ],
)
def test_a_description_is_folded_into_one_line(text: str, line: str) -> None:
    assert lines.one_line(text, 4 if "…" in line else 20, "none") == line


@pytest.mark.parametrize("count", [0, 17])
def test_too_few_or_too_many_keys_are_refused(count: int) -> None:
    keyset = Keyset("registry.example", "acme", 1, None, T, 1, tuple(public(number) for number in range(count)))
    with pytest.raises(StatementError):
        keyset.text()


def test_a_time_with_fractions_or_before_1970_is_not_written() -> None:
    with pytest.raises(StatementError):
        replace(SKILL, time=T + timedelta(microseconds=1)).text()
    with pytest.raises(StatementError):
        replace(SKILL, time=datetime(1969, 12, 31, tzinfo=UTC)).text()


def test_a_line_over_2048_bytes_is_refused() -> None:
    text = SKILL.text().replace("Fills in forms", "x" * 2040)
    with pytest.raises(StatementError, match="2048 bytes"):
        statements.parse(text)


def test_a_release_with_as_many_and_as_long_paths_as_allowed_fits_into_a_note() -> None:
    attached = tuple(AttachedFile(f"{number:03d}" + "x" * 197, 8 * 2**20, "0" * 64, True) for number in range(200))
    assert len(replace(SKILL, attached=attached).text().encode()) < 60_000
