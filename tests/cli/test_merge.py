"""``rye merge``: exit codes, streams, files, drift and migration (DECISIONS Overrides 6, 7, 16, 19)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared

pytestmark = pytest.mark.processes

BASE = (
    '---\nname: sage\nx-plan-version: "1.0"\n---\n\n# Identity\n\nYou are Sage.\n\n'
    "## Rules\n\nOld rules.\n\n## Output\n\nOld.\n"
)
HEAD = '---\nagent: sage\nbase-version: "1.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
REPLACE = (
    "<!-- DIRECTIVE: replace\ntarget: ## Rules\nreason: ours\n-->\n## Rules\n\nNew rules.\n<!-- END DIRECTIVE -->\n"
)
ORPHAN = "<!-- DIRECTIVE: append\ntarget: ## Gone\nreason: why not\n-->\nMore.\n<!-- END DIRECTIVE -->\n"
BROKEN = "<!-- DIRECTIVE: append\ntarget: ## Output\n-->\nNo reason.\n<!-- END DIRECTIVE -->\n"
MERGED = BASE.replace("Old rules.", "New rules.")


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("base.md", BASE)
    made.write("AGENT.overrides.md", HEAD + REPLACE)
    return made


def test_the_merged_text_is_all_of_stdout(person: Person) -> None:
    result = person.run("merge", "base.md", "AGENT.overrides.md")
    assert (result.code, result.stdout, result.stderr) == (0, MERGED, "")


def test_o_writes_the_file_and_prints_nothing(person: Person) -> None:
    result = person.run("merge", "base.md", "AGENT.overrides.md", "-o", "out.md")
    assert (result.code, result.stdout) == (0, "")
    assert person.path("out.md").read_text() == MERGED


def test_json_has_the_output_and_the_findings_with_lines(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + REPLACE + ORPHAN)
    result = person.run("merge", "base.md", "AGENT.overrides.md", "--json")
    assert result.code == 0
    assert result.json["output"] == MERGED
    (found,) = result.json["diagnostics"]
    assert (found["severity"], found["code"], found["line"]) == ("warning", "orphaned-directive", 15)


def test_an_orphan_warns_in_the_document_s_words_and_exits_0(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + ORPHAN)
    result = person.run("merge", "base.md", "AGENT.overrides.md")
    assert (result.code, result.stdout) == (0, BASE)
    assert result.stderr.startswith(
        "WARNING: Orphaned directive in AGENT.overrides.md\n  Operation: append\n  Target: ## Gone\n"
        "  Reason: why not\n  Line: 7\n\n  This directive was not applied because the target heading was not found.\n"
    )
    assert "(check base.md)" in result.stderr


def test_an_error_exits_1_and_the_rest_is_written(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + REPLACE + BROKEN)
    result = person.run("merge", "base.md", "AGENT.overrides.md", "-o", "out.md")
    assert result.code == 1
    assert person.path("out.md").read_text() == MERGED
    assert "ERROR: append needs 'reason'. (AGENT.overrides.md, line 15)" in result.stderr
    assert person.run("merge", "base.md", "AGENT.overrides.md", "--json").json["output"] == MERGED


@pytest.mark.parametrize("text", [REPLACE, HEAD.replace("sage", "other") + REPLACE, "## Rules\n\nplain\n", b"\xff\xfe"])
def test_a_rejected_file_exits_2_and_nothing_is_written(person: Person, text: str | bytes) -> None:
    person.write("AGENT.overrides.md", text)
    person.write("out.md", "as it was")
    result = person.run("merge", "base.md", "AGENT.overrides.md", "-o", "out.md")
    assert (result.code, result.stdout) == (2, "")
    assert person.path("out.md").read_text() == "as it was"
    assert "rror: " in result.stderr.replace("ERROR", "Error")
    document = person.run("merge", "base.md", "AGENT.overrides.md", "--json")
    assert document.code == 2
    assert set(document.json) == {"error"}
    assert {"code", "message", "hint"} <= set(document.error)


def test_the_target_s_line_endings_and_bom_stay(person: Person) -> None:
    person.write("base.md", b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert person.run("merge", "base.md", "AGENT.overrides.md", "-o", "out.md").code == 0
    assert person.path("out.md").read_bytes() == b"\xef\xbb\xbf" + MERGED.replace("\n", "\r\n").encode()
    assert person.spawn("merge", "base.md", "AGENT.overrides.md").stdout.encode() == person.path("out.md").read_bytes()


def test_no_directives_give_the_target_byte_for_byte(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + "Only notes.\n")
    data = b"\xef\xbb\xbf" + BASE.encode() + b"mixed\r\n\r\n\n  "
    person.write("base.md", data)
    person.ok("merge", "base.md", "AGENT.overrides.md", "-o", "out.md")
    assert person.path("out.md").read_bytes() == data


def test_today_gives_the_age_check_and_without_it_there_is_none(person: Person) -> None:
    old = person.run("merge", "base.md", "AGENT.overrides.md", "--today", "2026-04-02", "--json")
    assert [found["code"] for found in old.json["diagnostics"]] == ["stale-review"]
    assert old.code == 0
    young = person.run("merge", "base.md", "AGENT.overrides.md", "--today", "2026-04-01", "--json")
    assert young.json["diagnostics"] == []


@pytest.mark.parametrize("date", ["tomorrow", "2026-02-30", "20260401", "2026-W01-1", ""])
def test_a_wrong_date_is_a_usage_error(person: Person, date: str) -> None:
    result = person.run("merge", "base.md", "AGENT.overrides.md", "--today", date, "--json")
    assert (result.code, result.error["code"]) == (2, "bad-date")


def test_explain_says_what_each_directive_did_and_where(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + REPLACE + ORPHAN)
    result = person.run("merge", "base.md", "AGENT.overrides.md", "--explain")
    assert result.stdout == MERGED
    assert "line 7: replace ## Rules: applied: replaced 4 lines with 3 (base.md, line 10)" in result.stderr
    assert "  Reason: ours" in result.stderr
    assert "line 15: append ## Gone: orphaned: the target heading was not found" in result.stderr
    steps = person.run("merge", "base.md", "AGENT.overrides.md", "--explain", "--json").json["steps"]
    assert [step["outcome"] for step in steps] == ["applied", "orphaned"]


def test_check_exits_1_with_a_diff_on_drift_and_0_without(person: Person) -> None:
    person.write("AGENT.md", MERGED)
    assert person.run("merge", "base.md", "AGENT.overrides.md", "--check", "AGENT.md").stdout == ""
    person.write("AGENT.md", MERGED.replace("New", "Edited"))
    result = person.run("merge", "base.md", "AGENT.overrides.md", "--check", "AGENT.md")
    assert result.code == 1
    assert "-Edited rules.\n+New rules.\n" in result.stdout
    document = person.run("merge", "base.md", "AGENT.overrides.md", "--check", "AGENT.md", "--json")
    assert document.code == 1
    assert document.json["drift"] == result.stdout


def test_migration_writes_the_new_format_which_merges_to_the_same(person: Person) -> None:
    person.write("old.md", "---\nname: sage\nversion: '1.0'\n---\n\n## Rules\n\nNew rules.\n")
    rejected = person.run("merge", "base.md", "old.md")
    assert rejected.code == 2
    assert "rye merge --migrate-legacy OVERRIDES -o OUT" in rejected.stderr
    migrated = person.run("merge", "--migrate-legacy", "old.md", "-o", "new.md", "--today", "2026-02-03")
    assert (migrated.code, migrated.stdout) == (0, "")
    assert "NOTICE: Wrote 1 H2 section" in migrated.stderr
    assert 'last-reviewed: "2026-02-03"' in person.path("new.md").read_text()
    assert MERGED in person.ok("merge", "base.md", "new.md").stdout.replace("version: '1.0'\n", "")


def test_migrating_the_new_format_is_refused(person: Person) -> None:
    result = person.run("merge", "--migrate-legacy", "AGENT.overrides.md", "-o", "new.md", "--json")
    assert (result.code, result.error["code"]) == (2, "not-old-format")
    assert not person.path("new.md").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["base.md"],
        ["base.md", "AGENT.overrides.md", "third.md"],
        ["--migrate-legacy", "base.md", "AGENT.overrides.md", "old.md"],
        ["base.md", "AGENT.overrides.md", "-o", "base.md"],
        ["base.md", "AGENT.overrides.md", "-o", "./AGENT.overrides.md"],
        ["base.md", "AGENT.overrides.md", "-o", "x.md", "--check", "x.md"],
        ["--migrate-legacy", "old.md", "--explain"],
    ],
)
def test_wrong_words_are_usage_errors_and_change_nothing(person: Person, words: list[str]) -> None:
    assert person.run("merge", *words).code == 2
    assert person.path("base.md").read_text() == BASE
    assert person.path("AGENT.overrides.md").read_text() == HEAD + REPLACE


def test_a_missing_file_and_one_that_is_none_fail_with_a_hint(person: Person) -> None:
    assert person.run("merge", "no.md", "AGENT.overrides.md", "--json").error["code"] == "no-such-file"
    assert person.run("merge", ".", "AGENT.overrides.md", "--json").error["code"] in (
        "not-a-file",
        "unreadable",
        "system",
    )
    result = person.run("merge", "base.md", "AGENT.overrides.md", "-o", "no/such/out.md", "--json")
    assert result.error["code"] == "no-such-folder"


def test_a_target_without_a_name_is_called_like_its_folder(person: Person) -> None:
    for folder, code in (("sage", 0), ("other", 2)):
        person.write(f"{folder}/AGENT.md", "# Identity\n\n## Rules\n\nOld rules.\n")
        assert person.run("merge", f"{folder}/AGENT.md", "AGENT.overrides.md").code == code


def test_an_item_of_a_project_is_called_like_its_file(person: Person) -> None:
    person.write(".ai/roles/sage.md", "# Identity\n\n## Rules\n\nOld rules.\n")
    assert person.run("merge", ".ai/roles/sage.md", "AGENT.overrides.md").code == 0


def test_nothing_in_metadata_reaches_a_shell_or_a_path(person: Person) -> None:
    attack = (
        "<!-- DIRECTIVE: replace\ntarget: ## $(touch pwned); `touch pwned` > ../../pwned\nreason: '\"; touch pwned #'\n-->\n"
        "x\n<!-- END DIRECTIVE -->\n<!-- DIRECTIVE: frontmatter-set\nkey: __import__('os').system('touch pwned')\n"
        "reason: eval\n-->\nx\n<!-- END DIRECTIVE -->\n"
    )
    person.write("AGENT.overrides.md", HEAD + attack)
    result = person.spawn("merge", "base.md", "AGENT.overrides.md")
    assert result.code == 1
    assert result.stdout == BASE
    assert not list(person.folder.rglob("*pwned*"))


def test_findings_cannot_steer_a_terminal(person: Person) -> None:
    person.write("AGENT.overrides.md", HEAD + ORPHAN.replace("why not", "\x1b[2Jgone"))
    assert "\x1b" not in person.run("merge", "base.md", "AGENT.overrides.md", "--explain").stderr


@pytest.mark.corpus
def test_a_real_agent_comes_out_byte_for_byte(person: Person) -> None:
    folder = shared("corpus/nefario")
    words = ["merge", str(folder / "AGENT.generated.md"), str(folder / "AGENT.overrides.md")]
    expected = (folder / "AGENT.expected.md").read_bytes()
    assert person.spawn(*words).stdout.encode() == expected
    assert person.run(*words, "--check", str(folder / "AGENT.expected.md")).code == 0
    document = person.ok(*words, "--json")
    assert json.loads(document.stdout)["output"].encode() == expected
    person.ok(*words, "-o", "out.md")
    assert person.path("out.md").read_bytes() == expected
