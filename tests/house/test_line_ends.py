"""What ends a line: LF, and CR LF where a format says so; never U+2028 or another character of str.splitlines (findings A 12)."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rye.cli.console import one_line, printable
from rye.items.kinds import KINDS
from rye.text.content import check_text
from rye.text.yaml_error import YamlError
from rye.text.yaml_reading import read_yaml
from tests.scenes.person import Person

ROOT = Path(__file__).parents[2]
REASONED = {
    "rye/cli/registry/demo.py": "the output of a process of our own",
    "registry_server/storage/first_line.py": "the first line of a library's error, which is only logged or printed",
}
"""Where ``splitlines`` may be used, and why: none of these read what an author or a registry wrote, or count lines."""
SEPARATORS = ("\u2028", "\u2029")


def test_nothing_reads_text_with_splitlines() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for room in ("rye", "registry_server")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"\.splitlines\(|\breadlines\(", path.read_text("utf-8"))
    }
    assert found == REASONED.keys()


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_separator_is_an_error_wherever_it_stands(separator: str) -> None:
    for text in (f"a{separator}b", f"# a comment{separator}blocked: [Bash]", separator, f"é{separator}"):
        assert [finding.code for finding in check_text(text) if finding.severity == "error"] == ["C11"]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_it_is_an_error_in_every_kind(kind: str, tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", '[project]\nnamespace = "acme"\n')
    path = person.new(kind, "some/sample" if KINDS[kind].nested else "sample")
    clean = path.read_text("utf-8")
    lines = clean.split("\n")
    for separator in SEPARATORS:
        for number in (0, len(lines) // 2, len(lines) - 2):
            changed = [*lines]
            changed[number] += f" {separator} x"
            path.write_text("\n".join(changed), "utf-8")
            [result] = person.run("validate", str(path), "--json").json["results"]
            assert not result["ok"]
            assert "C11" in {one["code"] for one in result["diagnostics"] if one["severity"] == "error"}, (kind, number)


@pytest.mark.parametrize("separator", [*SEPARATORS, "\x85"])
def test_a_yaml_text_with_one_is_refused(separator: str) -> None:
    """The attack: ``blocked`` follows a comment that only our reader would have ended."""
    for text in (f"# why{separator}blocked: [Bash]\nname: x\n", f"name: x # why{separator}blocked: [Bash]\n"):
        with pytest.raises(YamlError, match="not allowed"):
            read_yaml(text)


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_toml_comment_goes_on_behind_it(separator: str) -> None:
    assert tomllib.loads(f"# why{separator}a = 1\nb = 2\n") == {"b": 2}


def test_a_name_cannot_pass_for_a_line() -> None:
    assert one_line("a\nvalid b\tc\u2028d\x1b[2J") == "a\\nvalid b\\tc\\u{2028}d\\u{1b}[2J"
    assert printable("\u2028\u2029\x85") == "\\u{2028}\\u{2029}\\u{85}"


def test_a_files_name_cannot_forge_a_verdict(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", "[project]\n")
    person.write(".ai/knowledge/a/x\nvalid         y.md", "no item")
    person.write(".ai/knowledge/a/\x1b[2Jz.md", "no item")
    for command in (("verify", ".ai"), ("validate", ".ai"), ("facts", ".ai")):
        done = person.run(*command)
        assert not re.search(r"(?m)^valid  ", done.stdout + done.stderr), command
        assert "\x1b[2J" not in done.stderr


def test_a_name_that_is_no_text_is_printed(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.write("rye.toml", "[project]\n")
    folder = person.path(".ai/knowledge/a")
    folder.mkdir(parents=True)
    try:
        (folder / "x\udcff.md").write_text("no item")
    except OSError:
        pytest.skip("this file system holds no such names")
    for command in (("verify", ".ai"), ("validate", ".ai"), ("search", "x", "--local")):
        assert "Traceback" not in person.run(*command).stderr
