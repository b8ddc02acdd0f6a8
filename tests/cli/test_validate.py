"""``rye validate``: findings with place and code, one document in JSON, exit 1 when there is an error (DESIGN §9)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.items.directive.template import new_directive
from rye.items.kinds import KINDS
from tests.items.finished import finished
from tests.scenes.person import Person
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

DIRECTIVE = ".ai/directives/workflows/deploy.md"
FOLDERS = {kind.name: kind.folder for kind in KINDS.values()}


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    finish(person.new("directive", "workflows/deploy"))
    return person


def finish(path: Path) -> None:
    """Replace a template's placeholders with an author's words."""
    path.write_text(finished(path.read_text()))


def without_cost(text: str, limits: str = "") -> str:
    start, end = text.index("    <cost>"), text.index("</cost>\n") + len("</cost>\n")
    return text[:start] + limits + text[end:]


def codes(result: object) -> list[tuple[str, str]]:
    return [(d["severity"], d["code"]) for d in result["diagnostics"]]  # type: ignore[index]


def test_a_valid_item_has_no_findings(rye: Person) -> None:
    assert rye.ok("validate", DIRECTIVE, "--json").json == {
        "results": [{"path": DIRECTIVE, "kind": "directive", "ok": True, "diagnostics": []}]
    }
    assert rye.ok("validate", DIRECTIVE).stdout == "1 item valid\n"


def test_words_that_a_template_left_are_warnings_also_when_strict(rye: Person) -> None:
    skill = rye.new("skill", "pdf-tools")
    for words in ((), ("--strict",)):
        shown = rye.ok("validate", ".ai/skills/pdf-tools", "--json", *words).json["results"][0]
        assert set(codes(shown)) == {("warning", "placeholder-text")}
        count = len(shown["diagnostics"])
        assert rye.ok("validate", ".ai/skills/pdf-tools", *words).stdout == f"1 item valid, {count} warnings\n"
        line = shown["diagnostics"][0]["line"]
        assert skill.read_text().split("\n")[line - 1].startswith("description: What the skill does")


def test_a_finding_has_severity_code_message_line_column_and_hint(rye: Person) -> None:
    path = rye.path(DIRECTIVE)
    path.write_text(path.read_text().replace('version="0.1.0"', 'version="1.0"'))
    result = rye.run("validate", DIRECTIVE, "--json")
    (finding,) = result.json["results"][0]["diagnostics"]
    assert result.code == 1
    assert set(finding) == {"severity", "code", "message", "line", "column", "hint"}
    assert finding["severity"] == "error"
    assert path.read_text().split("\n")[finding["line"] - 1].startswith("<directive")
    shown = rye.run("validate", DIRECTIVE)
    assert shown.stdout == "1 of 1 item failed\n"
    assert shown.stderr.startswith(f"{DIRECTIVE}:{finding['line']}:{finding['column']}: error[{finding['code']}]: ")


def test_a_missing_cost_is_a_warning_with_limits_and_an_error_when_strict(rye: Person) -> None:
    """DECISIONS Directives 3, Every kind 2."""
    path = rye.path(DIRECTIVE)
    text = path.read_text()
    path.write_text(without_cost(text, '    <limits max_turns="6" max_tokens="4096" />\n'))
    relaxed, strict = rye.ok("validate", DIRECTIVE, "--json"), rye.run("validate", DIRECTIVE, "--strict", "--json")
    assert codes(relaxed.json["results"][0]) == [("warning", "R02")]
    assert (strict.code, codes(strict.json["results"][0])) == (1, [("error", "R02")])
    path.write_text(without_cost(text))
    assert codes(rye.run("validate", DIRECTIVE, "--json").json["results"][0]) == [("error", "R02")]


def test_calls_are_compared_with_the_declared_capabilities(rye: Person) -> None:
    """DECISIONS Directives 7: a call that nothing covers is a warning with the capability to add."""
    path = rye.path(DIRECTIVE)
    call = '`rye_execute(item_type="tool", item_id="acme/shell/run")`'
    path.write_text(path.read_text().replace("and name its sources.", f"and name its sources. {call}"))
    found = rye.ok("validate", DIRECTIVE, "--json").json["results"][0]["diagnostics"]
    (finding,) = found
    assert (finding["severity"], finding["code"]) == ("warning", "D701")
    assert "rye.execute.tool.acme.shell.run" in finding["message"] + finding["hint"]
    assert "is not installed either" in finding["message"]
    assert "rye add tool:acme/shell/run" in finding["hint"]


def test_paths_are_shown_as_they_were_given(rye: Person) -> None:
    absolute = str(rye.path(DIRECTIVE))
    given = [absolute, f"./{DIRECTIVE}", ".ai/directives", ".ai/directives/**/*.md"]
    shown = [rye.ok("validate", path, "--json").json["results"][0]["path"] for path in given]
    assert shown == [absolute, f"./{DIRECTIVE}", DIRECTIVE, DIRECTIVE]


def test_without_paths_the_projects_own_items_are_checked(rye: Person) -> None:
    rye.new("agent", "planner")
    rye.write(".ai/packages/acme/directives/x/broken.md", "no directive")
    shown = [entry["path"] for entry in rye.ok("validate", "--json").json["results"]]
    assert shown == [".ai/agents/planner.md", DIRECTIVE]


def test_each_file_once(rye: Person) -> None:
    assert len(rye.ok("validate", DIRECTIVE, ".ai", DIRECTIVE, "--json").json["results"]) == 1


def test_a_file_of_unknown_kind_is_a_finding_and_the_rest_goes_on(rye: Person) -> None:
    rye.write("notes.xyz", "x")
    result = rye.run("validate", "notes.xyz", DIRECTIVE, "--json")
    first, second = result.json["results"]
    assert (result.code, first["kind"], codes(first)) == (1, None, [("error", "unknown-kind-of-file")])
    assert second["ok"]
    alone = rye.run("validate", "notes.xyz", "--json")
    assert (alone.code, alone.error["code"]) == (2, "unknown-kind-of-file")


def test_kind_reads_a_file_from_anywhere(rye: Person) -> None:
    rye.write("deploy.txt", rye.path(DIRECTIVE).read_text())
    assert rye.ok("validate", "deploy.txt", "--kind", "directive", "--json").json["results"][0]["ok"]


def test_a_folder_of_agents_is_a_closed_set(rye: Person) -> None:
    """DECISIONS Agents 11: a folder argument is a closed set; files named singly are not."""
    agent = rye.new("agent", "planner")
    agent.write_text(agent.read_text().replace("onSuccess: complete", "onSuccess: nobody"))
    assert rye.run("validate", ".ai/agents").code == 1
    assert rye.run("validate", ".ai/agents/planner.md").code == 0


def test_agents_of_another_programs_folder(rye: Person) -> None:
    agent = rye.new("agent", "planner")
    rye.write(".rawko/agents/planner.md", agent.read_text())
    assert rye.ok("validate", ".rawko/agents", "--json").json["results"][0]["kind"] == "agent"


def test_a_skill_is_named_by_its_folder(rye: Person) -> None:
    finish(rye.new("skill", "pdf-tools"))
    assert rye.ok("validate", ".ai/skills/pdf-tools", "--json").json["results"] == [
        {"path": ".ai/skills/pdf-tools", "kind": "skill", "ok": True, "diagnostics": []}
    ]


def test_color_is_for_terminals_or_when_asked_for(rye: Person) -> None:
    assert "\x1b[" not in rye.ok("validate", DIRECTIVE).stdout
    assert "\x1b[" in rye.ok("validate", DIRECTIVE, "--color", "always").stdout
    assert "\x1b[" in rye.ok("validate", DIRECTIVE, env={"RYE_COLOR": "always"}).stdout
    assert "\x1b[" not in rye.ok("validate", DIRECTIVE, "--color", "never", env={"RYE_COLOR": "always"}).stdout


def test_on_a_terminal_the_source_is_shown_with_a_caret(rye: Person) -> None:
    path = rye.path(DIRECTIVE)
    path.write_text(path.read_text().replace("    Find what", "    Find\u200b what"))
    lines = rye.terminal("validate", DIRECTIVE, env={"NO_COLOR": "1"}).split("\n")
    at = next(number for number, line in enumerate(lines) if "Find\\u{200b} what" in line)
    assert lines[at + 1].index("^") == lines[at].index("\\u{200b}")


@pytest.mark.parametrize(
    ("env", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"CI": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_color_on_a_terminal(rye: Person, env: dict[str, str], colored: bool) -> None:
    assert ("\x1b[" in rye.terminal("validate", DIRECTIVE, env=env)) is colored


def test_directory_option_works_before_and_after_the_command(rye: Person) -> None:
    rye.path("elsewhere").mkdir()
    for arguments in (("-C", ".ai", "validate", "directives"), ("validate", "directives", "-C", ".ai")):
        assert rye.ok(*arguments, "--json").json["results"][0]["path"] == "directives/workflows/deploy.md"
    missing = rye.run("validate", "-C", "nowhere", "--json")
    assert (missing.code, missing.error["code"]) == (1, "no-such-folder")


# Hostile files: each gives a clear error, within a second and 200 MB.

BIDI = "\u202e"
HARMLESS = {"10,000 fences", "200,000 angle brackets"}
"""Large and odd but valid directives, which only have to be fast."""


def hostile(good: str) -> dict[str, bytes]:
    fence = good[good.index("```xml") : good.index("```\n", good.index("```xml") + 3) + 4]
    decoy = "```xml\n<example><directive/></example>\n```\n\n"
    nested = "<x>" * 10_000 + "</x>" * 10_000
    permissions = good[good.index("    <permissions>") : good.index("</permissions>") + len("</permissions>")]
    inputs = good[good.index("  <inputs>") : good.index("</inputs>") + len("</inputs>")]
    bomb = "<!DOCTYPE d [" + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)) + "]>"
    cases = {
        "a decoy before the fence": good.replace("```xml", decoy + "```xml", 1),
        "a second directive behind": good + "\n" + fence,
        "the directive inside a longer fence": good.replace(fence, "````text\n" + fence + "````\n"),
        "a wrong root": good.replace("<directive ", "<directives ").replace("</directive>", "</directives>"),
        "a DOCTYPE": good.replace("```xml\n", "```xml\n<!DOCTYPE directive>\n"),
        "a bomb of entities": good.replace("```xml\n", f"```xml\n{bomb}\n"),
        "an entity": good.replace("<author>", "<author>&copy;"),
        "10,000 nested elements": good.replace("  </metadata>", nested + "</metadata>"),
        "permissions twice": good.replace(permissions, permissions + permissions),
        "inputs twice": good.replace(inputs, inputs + inputs),
        "the process in the fence": good.replace("</directive>", "<process><step>x</step></process></directive>"),
        "NUL": good + "\0",
        "a bidi control": good.replace("Find what", f"Find {BIDI}what"),
        "a zero width space": good.replace("Find what", "Find\u200b what"),
        "10 MB": good + "x" * 10_000_000,
        "10,000 fences": good + "```xml\n<a/>\n```\n" * 10_000,
        "200,000 angle brackets": good.replace("Find what", "<" * 200_000),
    }
    return {name: text.encode() for name, text in cases.items()} | {"no UTF-8": good.encode() + b"\xff"}


def test_hostile_files(rye: Person) -> None:
    """All in one program, which has no more time and memory for all of them than for one."""
    names = {}
    for number, name in enumerate(hostile(new_directive("deploy", "workflows"))):
        path = f".ai/directives/workflows/deploy{number}.md"
        rye.write(path, hostile(new_directive(f"deploy{number}", "workflows"))[name])
        names[path] = name
    result = rye.spawn("validate", *names, "--json", memory=200 * 1024 * 1024, timeout=30)
    found = {entry["path"]: entry for entry in result.json["results"]}
    assert (result.code, set(found)) == (1, set(names))
    for path, name in names.items():
        entry = found[path]
        assert entry["ok"] == (name in HARMLESS), name
        assert entry["ok"] or any(d["severity"] == "error" and d["message"] for d in entry["diagnostics"]), name


MANY = 80_000
OTHER_KINDS = {
    ".ai/roles/thing.md": "\n" + "```xml\n" * 30_000,
    ".ai/agents/thing.md": "\n" + "> " * MANY,
    ".ai/skills/thing/SKILL.md": "\n" + "```xml\n" * 30_000,
    ".ai/knowledge/some/thing.md": "\n" + "[" * MANY + "](" * MANY,
    ".ai/tools/some/thing.py": "\nx = " + "(" * MANY,
    ".ai/formulas/thing.formula.toml": "\nx = " + "[" * MANY,
    ".ai/bundles/thing.bundle.toml": "\n" + "a." * MANY + "a = 1",
}


def test_hostile_files_of_other_kinds(rye: Person) -> None:
    kinds = {}
    for path, text in OTHER_KINDS.items():
        kind = next(name for name in FOLDERS if f"/{FOLDERS[name]}/" in path)
        item = rye.new(kind, "some/thing" if "/some/" in path else "thing")
        item.write_text(item.read_text() + text)
        kinds[path] = kind
    result = rye.spawn("validate", *kinds, "--json", memory=200 * 1024 * 1024, timeout=30)
    assert {entry["path"]: entry["kind"] for entry in result.json["results"]} == kinds
    assert result.code in (0, 1)


@pytest.mark.parametrize("character", [BIDI, "\u200b", "\x1b", "\x9b"])
def test_hidden_characters_are_named_by_code_point_and_column(rye: Person, character: str) -> None:
    path = rye.path(DIRECTIVE)
    path.write_text(path.read_text().replace("    Find what", f"    Find {character}what"))
    result = rye.run("validate", DIRECTIVE)
    assert result.code == 1
    assert f"U+{ord(character):04X}" in result.stderr
    assert ":10: error[" in result.stderr
    assert character not in result.stderr


def test_what_is_no_regular_file_is_an_error(rye: Person) -> None:
    os.mkfifo(rye.path("pipe.md"))
    rye.path("loop.md").symlink_to("loop.md")
    rye.path("secret.md").write_text("x")
    for path, code in (("pipe.md", "not-a-file"), ("loop.md", "unreadable"), ("/dev/zero", "not-a-file")):
        result = rye.spawn("validate", path, "--json", timeout=30)
        assert (result.code, result.error["code"]) == (1, code)
    both = rye.run("validate", "pipe.md", "loop.md", DIRECTIVE, "--json")
    assert [entry["ok"] for entry in both.json["results"]] == [False, False, True]


def test_a_file_that_may_not_be_read(rye: Person) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    rye.path(DIRECTIVE).chmod(0)
    assert rye.run("validate", DIRECTIVE, "--json").error["code"] == "unreadable"


def test_names_of_files_do_not_steer_the_terminal(rye: Person) -> None:
    rye.write(".ai/directives/workflows/\x1b[31mred.md", "x")
    result = rye.run("validate", ".ai")
    assert result.code == 1
    assert "\x1b" not in result.stdout + result.stderr
    assert "\\u{1b}[31mred.md" in result.stderr
    assert rye.run("validate", ".ai", "--json").json["results"][0]["path"].endswith("\x1b[31mred.md")


def test_a_reader_that_goes_away_is_no_traceback(rye: Person) -> None:
    import subprocess
    import sys

    for number in range(40):
        rye.write(f".ai/knowledge/n/k{number}.md", "x")
    code = "from rye.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "validate", ".ai/knowledge", "--json"],
        cwd=rye.folder,
        env=rye.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""


@pytest.mark.corpus
def test_real_directives_lack_only_what_the_default_profile_forgives() -> None:
    """Real directives have limits and no cost: a warning R02 each, and no other R02."""
    folder = shared("corpus/ryeos/core_ai/directives")
    import tempfile

    with tempfile.TemporaryDirectory() as base:
        results = Person(Path(base)).run("validate", str(folder), "--json").json["results"]
    assert len(results) > 15
    for entry in results:
        found = [d for d in entry["diagnostics"] if d["code"] == "R02" and "cost" in d["message"]]
        assert [d["severity"] for d in found] == ["warning"], entry["path"]


def test_an_author_is_told_which_attached_files_programs_obey(rye: Person) -> None:
    """Who installs the skill is asked, so its author hears of it first."""
    rye.new("skill", "notes")
    folder = ".ai/skills/notes"
    rye.write(f"{folder}/CLAUDE.md", "Be short.\n")
    rye.write(f"{folder}/helper.txt", "print(1)\n")
    rye.write(f"{folder}/table.txt", "1 2\n")
    main = rye.path(f"{folder}/SKILL.md")
    main.write_text(f"{main.read_text()}\nRun `python helper.txt`.\n")
    done = rye.ok("validate", folder, "--json").json["results"][0]["diagnostics"]
    said = [one["message"] for one in done if one["code"] == "S09"]
    assert said == [
        "CLAUDE.md is read by Claude Code, as standing instructions: it counts as something that can run.",
        "helper.txt is passed to python: it counts as something that can run.",
    ]
    assert {one["severity"] for one in done if one["code"] == "S09"} == {"notice"}
    assert rye.ok("validate", folder, "--strict").code == 0
    rye.write(f"{folder}/.ryeignore", "CLAUDE.md\nhelper.txt\n")
    assert "S09" not in str(rye.ok("validate", folder, "--json").json)
