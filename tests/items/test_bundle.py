"""Bundles, and what all formats declare in the same way: versions and dependencies (DESIGN §6)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.bundle import Bundle, as_json, read, template
from rye.items.declared import normalized_version, parse_dependency
from rye.items.reading import Reading, ReadOptions, Source
from rye.text.spelling import near_miss
from tests.scenes.effort import tries
from tests.scenes.parsed import parsed

EXAMPLES = tries(60, 1000)
HEAD = '[bundle]\nname = "starter"\nversion = "1.0.0"\n'


def parse(text: str, publishing: bool = False) -> Reading[Bundle]:
    return read(Source(text, "starter.bundle.toml", "starter", ""), ReadOptions(publishing=publishing))


def found(reading: Reading[Bundle], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


def test_members_become_exact_dependencies() -> None:
    reading = parse(
        HEAD
        + 'description = "d"\nmembers = [\n  "directive:acme/w/deploy@1.2.3",\n  "skill:acme/pdf@2.0.0-rc.1",\n]\n',
        True,
    )
    assert reading.diagnostics == ()
    assert reading.metadata is not None
    assert (reading.metadata.name, reading.metadata.version, reading.metadata.description) == ("starter", "1.0.0", "d")
    assert [(d.relation, d.reference, d.range) for d in reading.metadata.dependencies] == [
        ("depends_on", "directive:acme/w/deploy", "=1.2.3"),
        ("depends_on", "skill:acme/pdf", "=2.0.0-rc.1"),
    ]
    shown = json.loads(json.dumps(as_json(parsed(reading))))
    assert shown["members"][0] == {"kind": "directive", "id": "acme/w/deploy", "version": "1.2.3"}


def test_members_as_tables_and_at_the_top() -> None:
    tables = parse(HEAD + '[[members]]\nkind = "tool"\nid = "acme/a"\nversion = "1.0.0"\n')
    assert [str(member) for member in parsed(tables).members] == ["tool:acme/a@1.0.0"]
    top = parse('members = ["tool:acme/a@=1.0.0"]\n' + HEAD)
    assert [str(member) for member in parsed(top).members] == ["tool:acme/a@1.0.0"]


@pytest.mark.parametrize(
    "member",
    [
        '"acme/a@1.0.0"', '"tool:acme/a"', '"tool:acme/a@^1.0.0"', '"tool:acme/a@1.0"', '"tool:acme/a@*"', '"tool:a@1.0.0"',
        '"gem:acme/a@1.0.0"', '"tool:acme/../a@1.0.0"', '"tool:/acme/a@1.0.0"', '"tool:Acme/a@1.0.0"',
        '"tool:acme/a@1.0.0@2"', "5", '""', "{kind = 'tool'}", "{kind = 'tool', id = 'acme/a', version = 1}",
        '"bundle:acme/starter@1.0.0"',
    ],
)  # fmt: skip
def test_members_that_are_none(member: str) -> None:
    reading = parse(HEAD + f"members = [{member}]\n")
    assert reading.value is None
    assert ("B03", 4) in found(reading)


def test_a_member_stands_once() -> None:
    assert found(
        parse(HEAD + 'members = [\n "tool:acme/a@1.0.0",\n "tool:acme/a@2.0.0",\n "directive:acme/a@1.0.0"]\n')
    ) == [("B03", 4)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "B01"),
        ("x = [", "B01"),
        ("bundle = 5\n", "B01"),
        (HEAD, "B03"),
        (HEAD + "members = []\n", "B03"),
        (HEAD + "members = 'x'\n", "B03"),
        ('members = ["tool:a/b@1.0.0"]\n' + HEAD + 'members = ["tool:a/b@1.0.0"]\n', "B03"),
        ('[bundle]\nversion = "1.0.0"\nmembers = ["tool:a/b@1.0.0"]\n', "B02"),
        ('[bundle]\nname = "a/b"\nversion = "1.0.0"\nmembers = ["tool:a/b@1.0.0"]\n', "B02"),
        ('[bundle]\nname = "starter"\nmembers = ["tool:a/b@1.0.0"]\n', "B02"),
        ('[bundle]\nname = "starter"\nversion = "x"\nmembers = ["tool:a/b@1.0.0"]\n', "B02"),
    ],
)
def test_manifests_that_are_none(text: str, code: str) -> None:
    reading = parse(text)
    assert reading.value is None
    assert {c for c, _ in found(reading)} == {code}


def test_unknown_keys_are_errors() -> None:
    reading = parse(HEAD + 'member = ["x"]\nmembers = ["tool:a/b@1.0.0"]\n[scripts]\npost = "rm"\n')
    assert [d.hint for d in reading.diagnostics] == ["Did you mean members?", "Keys: bundle, members."]


def test_the_files_name_is_a_warning_and_an_error_to_publish() -> None:
    text = HEAD.replace("starter", "other") + 'members = ["tool:a/b@1.0.0"]\n'
    assert found(parse(text), "warning") == [("B02", 2)]
    assert found(parse(text, publishing=True)) == [("B02", 2)]


def test_the_template_is_valid() -> None:
    assert parse(template("starter"), publishing=True).diagnostics == ()


@pytest.mark.parametrize(
    ("value", "version"),
    [
        ("1.2.3", "1.2.3"), ("1.0", "1.0.0"), ("1", "1.0.0"), (7, "7.0.0"), (" 1.0.0 ", "1.0.0"),
        ("1.0.0-a.1+b.01", "1.0.0-a.1+b.01"), ("1.0.0-0", "1.0.0-0"), ("1.0.0-01", None), ("01.0.0", None),
        ("1.0.0.0", None), ("v1", None), ("", None), (True, None), (1.5, None), (-1, None), ("1.x", None),
        ("1.0.0-", None), ("1.0-rc", None), ("١.0.0", None), ("1.0.0-" + "a" * 300, None), (None, None), (10**30, None),
    ],
)  # fmt: skip
def test_versions(value: object, version: str | None) -> None:
    assert normalized_version(value) == version


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", ("a/b", None)),
        ("tool:a/b@^1", ("tool:a/b", "^1")),
        ("a @ >=1, <2", ("a", ">=1, <2")),
        ("x:a/b", None),
        ("a/b@", None),
        ("A/b", None),
        ("a//b", None),
        ("../a", None),
        ("", None),
    ],
)
def test_dependencies(text: str, expected: tuple[str, str | None] | None) -> None:
    found = parse_dependency(text)
    assert (found and (found.reference, found.range)) == expected


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("onSucess", "onSuccess"),
        ("on_success", "onSuccess"),
        ("ONSUCCESS", "onSuccess"),
        ("onSuccses", "onSuccess"),
        ("result", None),
        ("x" * 1000, None),
    ],
)
def test_near_misses(word: str, meant: str | None) -> None:
    assert near_miss(word, ["onSuccess", "onFailure"]) == meant


@given(
    st.lists(
        st.sampled_from(
            [
                "[bundle]",
                'name = "starter"',
                'version = "1.0.0"',
                "members = [",
                '"tool:a/b@1.0.0",',
                "]",
                "[[members]]",
                "x = 1",
            ]
        ),
        max_size=12,
    ).map("\n".join)
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = parse(text)
    assert reading.value is not None or found(reading)
