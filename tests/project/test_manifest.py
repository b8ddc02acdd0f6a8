"""``rye.toml``: read strictly, edited gently."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.project import manifest_edit
from rye.project.manifest import Requested, parse_manifest
from rye.project.manifest_edit import add_dependencies, remove_dependencies, set_registry
from rye.project.new_manifest import new_manifest
from rye.text.tables import ManifestError

WHOLE = """
# ours
[project]
name = "storefront"
namespace = "acme"

[dependencies]
"acme/workflows/deploy" = "^1.2"            # keep
"tool:acme/shell/docker" = { version = "1.0.3", pre-release = true }

[groups.dev]
"acme/checks/review" = "*"

[registries]
other = "https://other.example"

[environment]
provides = ["docker-runtime"]
tools = ["TodoWrite"]

[policy]
allow = ["rye.search.*"]
forbid = ["rye.execute.*"]
max-tier = "write"
minimum-release-age = "3d"
required-signers = ["SHA256:x"]
"""


def test_a_whole_manifest() -> None:
    manifest = parse_manifest(WHOLE)
    assert manifest.namespace == "acme"
    assert manifest.dependencies == (
        Requested("acme/checks/review", None, "*", "dev"),
        Requested("acme/workflows/deploy", None, "^1.2"),
        Requested("acme/shell/docker", "tool", "1.0.3", pre_release=True),
    )
    assert manifest.groups == ("dev", "main")
    assert manifest.registries == {"other": "https://other.example"}
    assert manifest.provides == {"docker-runtime"}
    assert manifest.tools == {"TodoWrite"}
    assert manifest.policy.minimum_release_age == timedelta(days=3)
    assert manifest.policy.allow == ("rye.search.*",)


def test_an_empty_manifest_wants_nothing_and_forbids_nothing() -> None:
    manifest = parse_manifest("")
    assert manifest.dependencies == ()
    assert manifest.policy.allow is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[dependencys]\n", "dependencies"),
        ('[project]\nnamspace = "a"\n', "namespace"),
        ('[project]\nnamespace = "A B"\n', "namespace"),
        ('[dependencies]\n"Acme/X" = "*"\n', "Acme/X"),
        ('[dependencies]\nbare = "*"\n', "bare"),
        ('[dependencies]\n"prompt:acme/x" = "*"\n', "prompt"),
        ('[dependencies]\n"acme/x" = 1\n', "acme/x"),
        ('[dependencies]\n"acme/x" = { versoin = "1" }\n', "version"),
        ('[policy]\nmax-tier = "root"\n', "max-tier"),
        ('[policy]\nminimum-release-age = "soon"\n', "minimum-release-age"),
        ('[environment]\nprovides = "x"\n', "provides"),
        ("[groups.main]\n", "groups.main"),
        ("not toml", "TOML"),
        ("x = " + "[" * 5000, "TOML"),
    ],
)
def test_what_a_manifest_does_not_know_is_an_error_that_names_it(text: str, named: str) -> None:
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text)
    assert named in f"{caught.value.message} {caught.value.hint}"


def add_dependency(text: str, key: str, wanted: str, group: str = "main") -> str:
    return add_dependencies(text, {key: wanted}, group)


def remove_dependency(text: str, key: str) -> tuple[str, list[str]]:
    return remove_dependencies(text, [key])


def test_adding_keeps_comments_and_order() -> None:
    edited = add_dependency(WHOLE, "acme/new/thing", "^2")
    assert [line for line in edited.splitlines() if "new/thing" not in line] == WHOLE.splitlines()
    assert Requested("acme/new/thing", None, "^2") in parse_manifest(edited).dependencies


def test_adding_what_is_there_changes_only_its_range() -> None:
    edited = add_dependency(WHOLE, "acme/workflows/deploy", "^2")
    assert '"acme/workflows/deploy" = "^2"            # keep' in edited
    table = add_dependency(WHOLE, "tool:acme/shell/docker", "2.0.0")
    assert 'version = "2.0.0", pre-release = true' in table


def test_adding_to_a_new_group_and_to_an_empty_manifest() -> None:
    edited = add_dependency(new_manifest("x", "acme", None), "acme/a/b", "*", group="dev")
    assert parse_manifest(edited).dependencies == (Requested("acme/a/b", None, "*", "dev"),)
    assert parse_manifest(add_dependency("", "acme/a/b", "*")).dependencies == (Requested("acme/a/b", None, "*"),)


def test_removing_gives_back_the_text_before_adding() -> None:
    edited = add_dependency(WHOLE, "acme/new/thing", "^2")
    assert remove_dependency(edited, "acme/new/thing") == (WHOLE, ["main"])
    assert remove_dependency(WHOLE, "acme/checks/review")[1] == ["dev"]
    assert remove_dependency(WHOLE, "acme/absent/x") == (WHOLE, [])


@pytest.mark.parametrize(
    "name", ['my "best" project', "back\\slash", "tab\there", "two\nlines", "bell\x07\x7f", "日本 ü", "'", "#", "a = 1"]
)
def test_a_new_manifest_holds_any_name(name: str) -> None:
    assert parse_manifest(new_manifest(name, None, None)).name == name


def test_a_new_manifest_of_a_folder_whose_name_is_no_text() -> None:
    assert parse_manifest(new_manifest("", None, None)).name == "project"
    assert parse_manifest(new_manifest(" ", None, None)).name == "project"
    assert parse_manifest(new_manifest("latin\udcfc", None, None)).name == "latin?"


def test_a_byte_order_mark_means_nothing_and_stays() -> None:
    marked = "\ufeff" + WHOLE
    assert parse_manifest(marked) == parse_manifest(WHOLE)
    edited = add_dependency(marked, "acme/new/thing", "^2")
    assert edited == "\ufeff" + add_dependency(WHOLE, "acme/new/thing", "^2")
    assert remove_dependency(edited, "acme/new/thing") == (marked, ["main"])


SORTED = """[dependencies]
# the first of all
"acme/b" = "^1"
"acme/d"   = "^2"   # kept

# about f
"acme/f" = { version = "^3", pre-release = true }
"tool:acme/a" = "*"

[groups.dev]
"acme/x" = "*"
"""


@pytest.mark.parametrize(
    ("key", "after"),
    [
        ("acme/a", "[dependencies]"),
        ("acme/c", '"acme/b" = "^1"'),
        ("acme/e", '"acme/d"   = "^2"   # kept'),
        ("directive:acme/z", '"acme/f" = { version = "^3", pre-release = true }'),
    ],
)
def test_a_sorted_table_stays_sorted(key: str, after: str) -> None:
    edited = add_dependency(SORTED, key, "^9")
    assert edited == SORTED.replace(f"{after}\n", f'{after}\n"{key}" = "^9"\n')
    removed, _ = remove_dependency(edited, key)
    assert parse_manifest(removed) == parse_manifest(SORTED)


def test_the_greatest_key_and_one_of_another_group_go_to_the_end_of_their_table() -> None:
    last = add_dependency(SORTED, "tool:acme/b", "*")
    assert '"tool:acme/a" = "*"\n"tool:acme/b" = "*"\n' in last
    group = add_dependency(SORTED, "acme/w", "*", group="dev")
    assert group == SORTED.replace("[groups.dev]\n", '[groups.dev]\n"acme/w" = "*"\n')


def test_an_order_that_a_person_chose_is_kept() -> None:
    chosen = '[dependencies]\n"acme/z" = "*"\n"acme/b" = "*"\n'
    assert add_dependency(chosen, "acme/a", "*") == f'{chosen}"acme/a" = "*"\n'


@pytest.mark.parametrize(
    "text",
    [
        'dependencies = { "acme/b" = "*" }\n',
        'dependencies."acme/b" = "*"\n',
        '[dependencies."acme/b"]\nversion = "*"\n',
        '[dependencies]\n"acme/b" = """\n[dependencies]\n"""\n',
        '[project]\nname = """\n[dependencies]\n"""\n[dependencies]\n"acme/b" = "*"\n',
        '["dependencies"]\n"acme/b" = "*"\n',
    ],
)
def test_forms_that_nobody_writes_lose_nothing(text: str) -> None:
    wanted = {line.key for line in parse_manifest(text).dependencies}
    edited = parse_manifest(add_dependency(text, "acme/a", "^1"))
    assert {line.key for line in edited.dependencies} == wanted | {"acme/a"}
    assert edited.name == parse_manifest(text).name


def test_lines_keep_their_ends_and_their_mark() -> None:
    windows = "\ufeff" + SORTED.replace("\n", "\r\n")
    assert add_dependency(windows, "acme/c", "*") == "\ufeff" + add_dependency(SORTED, "acme/c", "*").replace(
        "\n", "\r\n"
    )


def test_two_branches_that_add_apart_merge() -> None:
    """Each branch adds one line, in sorted order; only adjacent lines conflict."""
    one, other = add_dependency(SORTED, "acme/a", "*"), add_dependency(SORTED, "tool:acme/0", "*")
    both = add_dependency(one, "tool:acme/0", "*")
    assert both == add_dependency(other, "acme/a", "*")


@pytest.mark.parametrize(
    "text", ["", "\ufeff", WHOLE, '[dependencies]\n"acme/b" = "*"\n', 'project = { name = "x" }\n']
)
def test_a_registry_is_written_into_the_project(text: str) -> None:
    edited = set_registry(text, "https://rye.example")
    manifest, before = parse_manifest(edited), parse_manifest(text)
    assert manifest.registry == "https://rye.example"
    assert (manifest.name, manifest.dependencies, manifest.policy) == (before.name, before.dependencies, before.policy)
    assert edited.startswith("\ufeff") == text.startswith("\ufeff")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[project]\nname = 5\n", 'Write name = "…", in quotes'),
        ('[dependencies]\n"acme/x" = 1.2\n', 'Write "acme/x" = "^1.2", in quotes'),
        ('[dependencies]\n"acme/x" = true\n', '"*" for any version'),
        ('[deploy]\ntargets = "claude"\n', 'Write targets = ["…"].'),
        ('[deploy]\nafter-install = "no"\n', "true or after-install = false"),
        ("[registries]\nacme = 4\n", 'Write acme = "https://'),
    ],
)
def test_a_value_of_the_wrong_type_is_answered_with_one_of_the_right_type(text: str, wanted: str) -> None:
    """DESIGN 9: the next step."""
    with pytest.raises(ManifestError) as caught:
        parse_manifest(text)
    assert wanted in (caught.value.hint or "")


@given(
    st.dictionaries(st.sampled_from("bdfhj"), st.just("*"), max_size=5),
    st.dictionaries(st.sampled_from("abcdefghijk"), st.sampled_from(["^1", "*"]), min_size=1, max_size=6),
)
def test_many_are_added_as_one_after_the_other(present: dict[str, str], new: dict[str, str]) -> None:
    start = add_dependencies('# kept\n[project]\nname = "x"\n', {f"acme/{key}": each for key, each in present.items()})
    wanted = {f"acme/{key}": each for key, each in new.items()}
    step = start
    for key, each in wanted.items():
        step = add_dependency(step, key, each)
    assert add_dependencies(start, wanted) == step
    assert remove_dependencies(step, [*wanted, *(f"acme/{key}" for key in present)])[0].startswith(
        "# kept\n[project]\n"
    )


@pytest.mark.parametrize("number", [3, 12])
def test_a_line_of_the_table_is_read_once_however_many_are_added(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = manifest_edit._key_of

    def counted(line: str) -> str | None:
        read.append(line)
        return real(line)

    monkeypatch.setattr(manifest_edit, "_key_of", counted)
    text = add_dependencies("", {f"acme/b{each}": "*" for each in range(number)})
    add_dependencies(text, {f"acme/a{each}": "*" for each in range(number)})
    assert len(read) <= number + 1
