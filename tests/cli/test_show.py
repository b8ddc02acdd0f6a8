"""``rye show``: an item read completely, by file or by id from the four spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person

FIELDS = {
    "directive": "name version description category author model limits permissions cost context hooks inputs outputs "
    "process success_criteria",
    "agent": "name display_name when_to_use tools transitions limits provider metadata system_prompt",
    "role": "name tagline sections tier handoff",
    "formula": "formula type steps",
    "knowledge": "name",
    "tool": "name",
    "skill": "name description",
    "bundle": "name version members",
}
NESTED = ("directive", "tool", "knowledge")


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.mark.parametrize("kind", FIELDS)
def test_the_documented_fields_of_every_kind(rye: Person, kind: str) -> None:
    identifier = "some/thing" if kind in NESTED else "thing"
    path = rye.new(kind, identifier)
    document = rye.ok("show", str(path), "--json").json
    assert {"kind", "id", "version", "description", *FIELDS[kind].split()} <= set(document)
    assert (document["kind"], document["id"]) == (kind, identifier)
    by_id = rye.ok("show", f"{kind}:{identifier}", "--json").json
    assert (by_id["id"], by_id["space"]) == (identifier, "project")
    assert rye.ok("show", str(path)).stdout.startswith(f"kind: {kind}\nid: {identifier}\n")


def test_an_id_of_two_kinds_is_an_error_that_lists_them(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    rye.new("tool", "ops/deploy")
    result = rye.run("show", "ops/deploy", "--json")
    assert (result.code, result.error["code"]) == (2, "ambiguous")
    assert result.error["candidates"] == ["directive:ops/deploy", "tool:ops/deploy"]
    assert rye.ok("show", "tool:ops/deploy", "--json").json["kind"] == "tool"
    assert rye.ok("show", "ops/deploy", "--kind", "directive", "--json").json["kind"] == "directive"


def test_two_files_of_one_id_are_an_error_that_says_what_to_do(rye: Person) -> None:
    path = rye.new("tool", "text/count")
    path.with_suffix(".sh").write_text(
        '__version__="1.0.0"\n__category__="text"\n__tool_description__="Count"\n', "utf-8"
    )
    assert "Rename one of them" in rye.run("show", "tool:text/count", "--json").error["hint"]


def test_spaces_in_their_order(rye: Person) -> None:
    """DESIGN §1: project, then installed, then user, then system."""
    text = rye.new("knowledge", "n/facts").read_text()
    for number, space in enumerate(("system", "ai")):
        path = rye.home / space / "knowledge/n/facts.md"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        rye.path(".ai/knowledge/n/facts.md").unlink(missing_ok=True)
        assert rye.ok("show", "n/facts", "--json").json["space"] == ("system", "user")[number]


def test_a_hyphen_and_an_underscore_are_one_letter(rye: Person) -> None:
    rye.new("directive", "ops/deploy_it")
    assert rye.ok("show", "ops/deploy-it", "--json").json["id"] == "ops/deploy_it"


def test_unknown_ids_get_the_nearest(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    result = rye.run("show", "ops/deploi", "--json")
    assert (result.code, result.error["code"]) == (1, "no-such-item")
    assert "ops/deploy" in result.error["hint"]
    other = rye.run("show", "tool:ops/deploy", "--json")
    assert "directive:ops/deploy" in other.error["hint"]


def test_a_folder_of_that_name_does_not_hide_an_id(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    rye.path("deploy").mkdir()
    assert rye.ok("show", "deploy", "--json").json["id"] == "ops/deploy"


@pytest.mark.parametrize("argument", ["../x", "A/b", "widget:a/b", "a/b@", "", "x" * 5000])
def test_what_is_neither_file_nor_id(rye: Person, argument: str) -> None:
    result = rye.run("show", argument, "--json")
    assert result.code in (1, 2)
    assert result.error["message"]


def test_a_version_that_is_not_there(rye: Person) -> None:
    rye.new("directive", "ops/deploy")
    rye.ok("show", "ops/deploy@^0.1")
    assert rye.run("show", "ops/deploy@^2", "--json").error["code"] == "other-version"


def test_mermaid(rye: Person) -> None:
    rye.new("formula", "tidy")
    rye.new("directive", "ops/deploy")
    assert rye.ok("show", "tidy", "--mermaid").stdout.startswith("flowchart TD\n")
    assert rye.ok("show", "tidy", "--mermaid", "--json").json["mermaid"].startswith("flowchart TD\n")
    assert rye.run("show", "ops/deploy", "--mermaid", "--json").refusal == "wrong-kind graph"


def test_what_an_author_wrote_does_not_steer_the_terminal(rye: Person) -> None:
    path = rye.new("directive", "ops/deploy")
    path.write_text(path.read_text().replace("Say here", "\x9b31mSay here").replace("# Deploy", "# \x1b[31mDeploy"))
    result = rye.ok("show", "ops/deploy")
    assert not {"\x1b", "\x9b"} & set(result.stdout + result.stderr)
    assert "\\u{9b}31mSay here" in result.stdout
    document = rye.ok("show", "ops/deploy", "--json")
    assert not {"\x1b", "\x9b"} & set(document.stdout)
    assert document.json["description"].startswith("\x9b31mSay here")


def test_what_does_not_parse_names_the_command_that_says_why(rye: Person) -> None:
    rye.write(".ai/directives/a/b.md", "nothing")
    result = rye.run("show", "a/b", "--json")
    assert (result.code, result.error["code"]) == (1, "does-not-parse")
    assert "rye validate" in result.error["hint"]
    assert result.error["diagnostics"]


def test_the_steps_of_a_formula_are_drawn_once(rye: Person) -> None:
    rye.new("formula", "thing")
    shown = rye.ok("show", "thing").stdout
    assert shown.endswith("\n\n1. prepare  Prepare\n2. finish  Finish\n   needs prepare\n")
    assert shown.count("1. prepare  Prepare") == 1
    assert "flowchart" not in shown
    document = rye.ok("show", "thing", "--json").json
    assert document["graph"] == {
        "text": "1. prepare  Prepare\n2. finish  Finish\n   needs prepare\n",
        "mermaid": rye.ok("show", "thing", "--mermaid").stdout,
    }
