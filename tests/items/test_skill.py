"""Skills: SKILL.md, agreement with the reference validator, attached files, adoption (Agent Skills; DECISIONS Skills 1 to 3)."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rye.items.agent_tools import agent_tools
from rye.items.attached import AttachedFile, attached_files, is_safe_path
from rye.items.ignore_patterns import parse_ignore
from rye.items.reading import Reading, ReadOptions, Source
from rye.items.skill.adoption import AdoptableFile, analyze
from rye.items.skill.reader import Skill, as_json, read, template
from rye.limits import CONTENT
from tests.scenes.effort import tries

EXAMPLES = tries(60, 1000)
TABLE = json.loads(Path(__file__).with_name("skills_ref_table.json").read_text(encoding="utf-8"))["cases"]
BASE = "name: pdf\ndescription: Reads PDFs.\n"


def parse(
    yaml: str = BASE, body: str = "# PDF\n", attached: tuple[str, ...] | None = None, publishing: bool = False
) -> Reading[Skill]:
    return read(Source(f"---\n{yaml}---\n{body}", "SKILL.md", "pdf", "", attached), ReadOptions(publishing=publishing))


def skill(reading: Reading[Skill]) -> Skill:
    assert isinstance(reading.value, Skill), reading.diagnostics
    return reading.value


def found(reading: Reading[Skill], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


@pytest.mark.parametrize("case", TABLE, ids=[case["title"] for case in TABLE])
def test_agreement_with_the_reference_validator(case: dict[str, str | bool | None]) -> None:
    text = str(case["text"]).replace("\r\n", "\n")
    ours = read(Source(text, "SKILL.md", str(case["folder"]), ""), ReadOptions()).ok
    if case["differs"] is None:
        assert ours == case["reference"]
    else:
        assert ours != case["reference"], case["differs"]


def test_the_table_is_large_and_the_differences_are_few_and_explained() -> None:
    assert len(TABLE) >= 60
    assert {case["differs"] for case in TABLE if case["differs"]} == {
        "Unknown keys are warnings here: other programs have keys of their own.",
        "The specification asks for 1 to 500 characters.",
        "The specification asks for a map.",
    }


# --- fields -----------------------------------------------------------------------------------------------------------


def test_a_whole_skill() -> None:
    rest = "license: MIT\ncompatibility: Requires git\nmetadata:\n  version: 1.10\n  a: b\n"
    yaml = BASE + "allowed-tools: Bash(git add:*) Read, Read\n" + rest
    reading = parse(yaml, publishing=True)
    assert reading.diagnostics == ()
    value = skill(reading)
    assert (value.license, value.compatibility, value.metadata) == (
        "MIT",
        "Requires git",
        {"version": "1.10", "a": "b"},
    )
    assert (value.version, value.allowed_tools) == ("1.10.0", ("Bash(git add:*)", "Read"))
    assert reading.metadata is not None
    assert (reading.metadata.agent_tools, reading.metadata.capabilities) == (
        agent_tools(["Bash(git add:*)", "Read"]),
        (),
    )
    json.dumps(as_json(value))


@pytest.mark.parametrize(
    ("written", "version"), [('"1.0"', "1.0.0"), ("1.0", "1.0.0"), ("2", "2.0.0"), ("1.2.3-rc.1", "1.2.3-rc.1")]
)
def test_versions_from_metadata(written: str, version: str) -> None:
    assert skill(parse(BASE + f"metadata:\n  version: {written}\n")).version == version


def test_no_version_is_fine_and_a_wrong_one_is_not() -> None:
    assert skill(parse()).version is None
    assert found(parse(BASE + "metadata:\n  version: new\n")) == [("S06", 5)]


def test_dependencies_in_metadata_as_a_list_or_a_text() -> None:
    for written in ("tool:a/b@^1 c/d", "\n    - tool:a/b@^1\n    - c/d"):
        metadata = parse(BASE + f"metadata:\n  dependencies: {written}\n").metadata
        assert metadata is not None
        assert [(d.reference, d.range) for d in metadata.dependencies] == [("tool:a/b", "^1"), ("c/d", None)]


def test_unknown_keys_warn_with_what_was_meant() -> None:
    reading = parse(BASE + "allowed_tools: Read\nauthor: x\n")
    assert [d.hint for d in reading.diagnostics] == ["Did you mean allowed-tools?", "Move it under metadata."]
    assert found(reading, "warning") == [("S05", 4), ("S05", 5)]


@pytest.mark.parametrize("name", ["навык", "naïve", "con", "技能"])
def test_names_that_are_valid_but_cannot_be_published(name: str) -> None:
    text = f"---\nname: {name}\ndescription: d\n---\n"
    source = Source(text, "SKILL.md", name, "")
    assert found(read(source, ReadOptions()), "warning") == [("S02", 2)]
    assert found(read(source, ReadOptions(publishing=True))) == [("S02", 2)]


def test_more_than_500_lines_are_information() -> None:
    assert found(parse(body="x\n" * 496), "info") == []
    assert found(parse(body="x\n" * 497), "info") == [("S08", None)]


# --- links ------------------------------------------------------------------------------------------------------------


def test_links_to_attached_files_folders_and_elsewhere_are_fine() -> None:
    body = "[a](references/A.md#x) [b](./scripts/) [c](https://e.org) [d](#top) [e](SKILL.md) `[f](gone.md)`\n"
    reading = parse(body=body, attached=("references/A.md", "scripts/run.py"), publishing=True)
    assert reading.diagnostics == ()
    assert skill(reading).links == ("references/A.md", "scripts", "SKILL.md")


@pytest.mark.parametrize(
    "target",
    ["gone.md", "references/a.md", "../../x.md", "references/../../x/../../y", "{baseDir}/gone.md", "/{baseDir}"][:5],
)
def test_links_that_lead_nowhere_are_errors_to_publish(target: str) -> None:
    body = f"\n[a]({target})\n"
    assert found(parse(body=body, attached=("references/A.md",)), "warning") == [("S07", 6)]
    assert found(parse(body=body, attached=("references/A.md",), publishing=True)) == [("S07", 6)]


@pytest.mark.parametrize("word", ["{baseDir}", "${CLAUDE_SKILL_DIR}", "${CLAUDE_PLUGIN_ROOT}"])
def test_words_for_the_skill_s_folder_mean_it(word: str) -> None:
    """DECISIONS Skills 4."""
    body = f"[a]({word}/references/A.md) ![b]({word}/scripts/) [c]({word})\n"
    reading = parse(body=body, attached=("references/A.md", "scripts/run.py"), publishing=True)
    assert reading.diagnostics == ()
    assert skill(reading).links == ("references/A.md", "scripts")
    gone = parse(body=f"[a]({word}/gone.md)\n", attached=("references/A.md",), publishing=True)
    assert found(gone) == [("S07", 5)]
    assert found(parse(body=f"[a](x/{word}/A.md)\n", attached=("A.md",), publishing=True)) == [("S07", 5)]
    assert found(parse(body=f"[a]({word}/../../A.md)\n", attached=("A.md",), publishing=True)) == [("S07", 5)]


def test_a_footnote_is_no_link() -> None:
    """DECISIONS Skills 4."""
    body = "A claim.[^1]\n\n[^1]: seen in practice\n\n[a]: references/A.md\n"
    reading = parse(body=body, attached=("references/A.md",), publishing=True)
    assert reading.diagnostics == ()
    assert skill(reading).links == ("references/A.md",)


@pytest.mark.parametrize(
    "target", ["../other/SKILL.md", "../other", "./../other/a/b.md", "references/../../x", "..\\other\\x.md"]
)
def test_a_link_to_a_sibling_skill_is_a_warning_that_says_how_to_depend_on_it(target: str) -> None:
    """DECISIONS Skills 4."""
    reading = parse(body=f"[a]({target})\n", attached=("references/A.md",), publishing=True)
    ((finding),) = reading.diagnostics
    assert (finding.severity, finding.code) == ("warning", "S07")
    assert "metadata.dependencies" in (finding.hint or "")


def test_links_are_not_judged_where_the_folder_is_unknown() -> None:
    assert parse(body="[a](gone.md)\n", publishing=True).diagnostics == ()


def test_the_template_is_valid_and_publishable() -> None:
    assert (
        read(Source(template("my-skill"), "SKILL.md", "my-skill", "", ()), ReadOptions(publishing=True)).diagnostics
        == ()
    )


# --- the folder -------------------------------------------------------------------------------------------------------


def _folder(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "pdf"
    for name, text in {"SKILL.md": "x", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _codes(folder: Path) -> list[str]:
    return [d.code for d in attached_files(folder / "SKILL.md")[1]]


def test_every_other_file_is_attached_with_size_hash_and_mode(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{"scripts/run.sh": "echo", "LICENSE.txt": "MIT", "a/b/c.md": ""})
    (folder / "scripts/run.sh").chmod(0o755)
    files, problems = attached_files(folder / "SKILL.md")
    assert problems == ()
    assert files == (
        AttachedFile("LICENSE.txt", 3, hashlib.sha256(b"MIT").hexdigest(), False),
        AttachedFile("a/b/c.md", 0, hashlib.sha256(b"").hexdigest(), False),
        AttachedFile("scripts/run.sh", 4, hashlib.sha256(b"echo").hexdigest(), True),
    )


def test_hidden_and_ignored_files_stay_out(tmp_path: Path) -> None:
    files = {
        ".git/config": "x",
        ".env": "SECRET",
        "a/.hidden/x": "x",
        "build/out.o": "x",
        "a.pyc": "x",
        "keep.pyc": "x",
        "src/a.pyc": "x",
    }
    folder = _folder(tmp_path, **files, **{".ryeignore": "# c\n*.pyc\n!keep.pyc\n/build/\n"})
    assert [file.path for file in attached_files(folder / "SKILL.md")[0]] == ["keep.pyc"]


def test_symlinks_are_neither_followed_nor_attached(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("k")
    (folder / "file").symlink_to(secret / "key")
    (folder / "dir").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to("nowhere")
    files, problems = attached_files(folder / "SKILL.md")
    assert files == ()
    assert [d.code for d in problems] == ["S10"] * 4


def test_a_symlink_as_ryeignore_is_not_followed(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{"a.txt": "x"})
    (tmp_path / "patterns").write_text("*")
    (folder / ".ryeignore").symlink_to(tmp_path / "patterns")
    assert [file.path for file in attached_files(folder / "SKILL.md")[0]] == ["a.txt"]


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    os.mkfifo(folder / "pipe")
    assert _codes(folder) == ["S10"]


@pytest.mark.parametrize(
    "name", ["a b.txt", "ä.txt", "-rf", "x\\y", "a:b", "nul.txt", "COM1", "trailing.", "a\nb", "~x", "a\u200bb"]
)
def test_names_that_do_not_work_everywhere(tmp_path: Path, name: str) -> None:
    assert not is_safe_path(name)
    assert _codes(_folder(tmp_path, **{name: "x"})) == ["S11"]


@pytest.mark.parametrize("names", [("README.md", "readme.md"), ("a/x", "A/x"), ("skill.md",)])
def test_names_that_fall_together_on_some_systems(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert _codes(_folder(tmp_path, **dict.fromkeys(names, "x"))) == ["S11"]


def test_limits_of_number_and_bytes(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{f"f{n}": "12345" for n in range(10)})
    few = replace(CONTENT, attached_files=10, attached_bytes=50)
    assert attached_files(folder / "SKILL.md", few)[1] == ()
    assert [d.code for d in attached_files(folder / "SKILL.md", replace(few, attached_files=9))[1]] == ["S12"]
    assert [d.code for d in attached_files(folder / "SKILL.md", replace(few, attached_bytes=49))[1]] == ["S13"]
    assert [d.code for d in attached_files(folder / "SKILL.md", replace(few, folder_entries=5))[1]] == ["S12"]


def test_a_path_that_is_too_long(tmp_path: Path) -> None:
    assert _codes(_folder(tmp_path, **{"/".join(["d" * 60] * 4): "x"})) == ["S11"]


def test_a_missing_folder_is_a_finding(tmp_path: Path) -> None:
    assert _codes(tmp_path / "gone") == ["S14"]


@pytest.mark.parametrize(
    ("pattern", "ignored", "kept"),
    [
        ("*.o", ["a.o", "x/y/a.o"], ["a.ob"]),
        ("/a.o", ["a.o"], ["x/a.o"]),
        ("x/*.o", ["x/a.o"], ["y/x/a.o", "x/y/a.o"]),
        ("**/t/*.o", ["t/a.o", "x/y/t/a.o"], ["t/x/a.o"]),
        ("x/**/z", ["x/z", "x/a/b/z"], ["z"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("[ab].md", ["a.md"], ["c.md"]),
        ("\\#x", ["#x"], ["x"]),
        ("# x", [], ["# x"]),
        ("x/", [], ["x"]),
    ],
)
def test_ignore_patterns(pattern: str, ignored: list[str], kept: list[str]) -> None:
    patterns = parse_ignore(pattern)
    assert all(patterns.ignores(path, folder=False) for path in ignored)
    assert not any(patterns.ignores(path, folder=False) for path in kept)


def test_a_folder_pattern_matches_folders() -> None:
    assert parse_ignore("x/").ignores("a/x", folder=True)


def test_hostile_ignore_patterns_take_bounded_time() -> None:
    started = time.thread_time()
    patterns = parse_ignore("*a" * 100 + "\n" + "/".join(["**"] * 30) + "/x\n" + "[" * 1000)
    for path in ("a" * 190, "/".join("ab" * 45)):
        patterns.ignores(path, folder=False)
    assert time.thread_time() - started < 2


@given(st.text(alphabet="*?[]!/#\\ab.", max_size=20), st.text(alphabet="ab./", min_size=1, max_size=12))
@settings(max_examples=EXAMPLES)
def test_no_pattern_crashes(pattern: str, path: str) -> None:
    parse_ignore(pattern).ignores(path, folder=True)


# --- adoption ---------------------------------------------------------------------------------------------------------


def _file(path: str, data: bytes = b"", executable: bool = False) -> AdoptableFile:
    return AdoptableFile(AttachedFile(path, len(data), hashlib.sha256(data).hexdigest(), executable), data)


def test_a_clean_skill_needs_no_change() -> None:
    adoption = analyze(f"---\n{BASE}---\n# PDF\n".encode(), "pdf", [])
    assert (adoption.name, adoption.publishable, adoption.fixed, adoption.changes) == ("pdf", True, None, ())


def test_line_endings_and_bom_are_mended_and_nothing_else() -> None:
    text = f"---\n{BASE}---\n# PDF  \n\ttab\n"
    adoption = analyze(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), "pdf", [])
    assert adoption.fixed == text.encode()
    assert adoption.changes == ("the byte order mark is removed", "line endings become LF")
    assert adoption.publishable


def test_hidden_characters_scripts_and_dead_links_are_reported() -> None:
    body = "[a](docs/a.md) [b](gone.md) in\u200bvisible\n"
    files = [
        _file("docs/a.md", "[c](../scripts/run) [d](x.md) \u202eevil".encode()),
        _file("scripts/run", b"#!/bin/sh\n"),
        _file("tool.py", b"print()"),
        _file("bin/x", b"\x7fELF", executable=True),
        _file("img.png", b"\x89PNG\x00"),
    ]
    adoption = analyze(f"---\n{BASE}---\n{body}".encode(), "pdf", files)
    assert not adoption.publishable
    assert [(path, d.code) for path, d in adoption.hidden] == [("SKILL.md", "C06"), ("docs/a.md", "C05")]
    assert adoption.scripts == ("bin/x", "scripts/run", "tool.py")
    assert adoption.dead_links == (("SKILL.md", "gone.md", 5), ("docs/a.md", "x.md", 1))
    assert adoption.fixed is None


def test_what_cannot_be_read_is_not_publishable() -> None:
    assert not analyze(b"\xff\xfe", "pdf", []).publishable
    assert not analyze(b"no frontmatter", "pdf", []).publishable
    assert not analyze(f"---\n{BASE}---\n".encode(), "other", []).publishable


_LINES = st.sampled_from(
    [
        "---",
        "name: pdf",
        "description: d",
        "metadata:",
        "  version: 1.0",
        "allowed-tools: [a]",
        "[x](y)",
        "](",
        "```",
        "",
        "\t",
    ]
)


@given(st.lists(_LINES, max_size=20).map("\n".join) | st.text(max_size=100))
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(text: str) -> None:
    reading = read(Source(text, "SKILL.md", "pdf", "", ("a",)), ReadOptions(publishing=True))
    if reading.value is not None:
        json.dumps(as_json(reading.value))
    else:
        assert found(reading)
    analyze(text.encode("utf-8", "replace"), "pdf", [_file("a.md", text.encode("utf-8", "replace"))])


@pytest.mark.parametrize(
    ("yaml", "code"),
    [
        ("- a list\n", "S01"),
        ("name: [\n", "S01"),
        ("name: pdf\n", "S03"),
        ("name: pdf\ndescription: '  '\n", "S03"),
        (f"name: pdf\ndescription: {'x' * 1025}\n", "S03"),
        (BASE + f"compatibility: {'x' * 501}\n", "S04"),
        (BASE + "metadata: text\n", "S04"),
    ],
)
def test_metadata_that_the_format_does_not_allow_have_one_code(yaml: str, code: str) -> None:
    assert [found_code for found_code, _ in found(parse(yaml))] == [code]


def test_metadata_at_their_limits_are_allowed() -> None:
    assert found(parse(f"name: pdf\ndescription: {'x' * 1024}\ncompatibility: {'x' * 500}\n")) == []


def test_what_a_skill_runs_is_known_and_listed() -> None:
    """DECISIONS Skills 5."""
    fence = "```!\nls\n```\n"
    reading = parse(BASE + "hooks:\n  Stop: echo\nmcpServers:\n  db:\n    command: serve\n", f"Now !`date`.\n\n{fence}")
    assert reading.diagnostics == ()
    assert reading.metadata is not None
    assert sorted(run.what for run in reading.metadata.runs) == [
        "frontmatter-hook",
        "inline-command",
        "inline-command",
        "mcp-server",
    ]
