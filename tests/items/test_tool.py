"""Metadata of tools, read without executing them (DESIGN §1)."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.items.reading import Reading, ReadOptions, Source
from rye.items.tool.reader import Tool, as_json, read, template
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.parsed import parsed

EXAMPLES = tries(60, 1000)


def parse(text: str, suffix: str = ".py", category: str | None = "a/b", publishing: bool = False) -> Reading[Tool]:
    return read(Source(text, f"t{suffix}", "t", category), ReadOptions(publishing=publishing))


def tool(text: str, suffix: str = ".py") -> Tool:
    reading = parse(text, suffix)
    assert isinstance(reading.value, Tool), reading.diagnostics
    return reading.value


def found(reading: Reading[Tool], severity: str = "error") -> list[tuple[str, int | None]]:
    return [(d.code, d.line) for d in reading.diagnostics if d.severity == severity]


PYTHON = """#!/usr/bin/env python3
# rye:signed:x
\"\"\"Doc.\"\"\"
from __future__ import annotations
import os

__version__ = "1.2.3"
__category__: str = "a/b"
__tool_description__ = (
    "Does "
    "things"
)
__dependencies__ = ["tool:acme/fs/read@^1", "knowledge:acme/notes/style"]
__author__ = name = "x"
__computed__ = os.environ["HOME"]

def execute(params): ...
"""
SCRIPT = """// rye:signed:x
"use strict";
import {
  a,
} from "x";
import b from 'y';
const fs = require("fs");
/**
 * Copyright
 * __author__: someone
 */
export const __version__: string = "1.2.3" as const; // the version
const __category__ = 'a/b';
let __tool_description__ = `Does things`
export const __dependencies__ = ["tool:acme/fs/read@^1", 'knowledge:acme/notes/style'];

function run() {
  const __version__ = "9.9.9";
}
"""
SHELL = """#!/usr/bin/env bash
# rye:signed:x
# __version__: 1.2.3
set -euo pipefail
readonly __category__="a/b"
__tool_description__='Does things' # really
__dependencies__=("tool:acme/fs/read@^1" "knowledge:acme/notes/style")
TMP=/tmp
main() {
  __version__=9.9.9
}
"""
YAML = """# rye:signed:x
tool_id: a/b/t
version: "1.2.3"
category: a/b
description: Does things
dependencies:
  - tool:acme/fs/read@^1
  - knowledge:acme/notes/style
config: {command: sh}
"""


@pytest.mark.parametrize(
    ("suffix", "text"), [(".py", PYTHON), (".ts", SCRIPT), (".js", SCRIPT), (".sh", SHELL), (".yaml", YAML)]
)
def test_every_language_gives_the_same_metadata(suffix: str, text: str) -> None:
    reading = parse(text, suffix, publishing=True)
    assert reading.diagnostics == ()
    value, metadata = parsed(reading), reading.metadata
    assert metadata is not None
    assert (value.version, value.category, value.description) == ("1.2.3", "a/b", "Does things")
    assert (metadata.version, metadata.category, metadata.capabilities) == ("1.2.3", "a/b", ())
    assert [(d.reference, d.range) for d in metadata.dependencies] == [
        ("tool:acme/fs/read", "^1"),
        ("knowledge:acme/notes/style", None),
    ]
    json.dumps(as_json(value))


def test_python_is_never_executed(tmp_path: Path) -> None:
    target = tmp_path / "ran"
    tool(f'import pathlib\npathlib.Path({str(target)!r}).touch()\n__version__ = "1.0.0"\n')
    assert not target.exists()


@pytest.mark.parametrize(
    "text",
    [
        "__version__ = f'1.0.{x}'",
        "__version__ = '1.' + '0'",
        "__version__ = get()",
        "__version__ = None",
        "__version__ = b'1.0'",
    ],
)
def test_what_only_running_would_tell_is_an_error(text: str) -> None:
    assert ("T02", 1) in found(parse(text))


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", "__version__ = '1.0.0'\n__version__ = '2.0.0'\n"),
        (".py", "__version__ = __version__ = '1.0.0'\n\n"),
        (".js", "// __version__: 1.0.0\nconst __version__ = '2.0.0'\n"),
        (".sh", "__version__=1.0.0\n__version__=2.0.0\n"),
    ],
)
def test_a_name_that_is_given_twice_is_refused(suffix: str, text: str) -> None:
    """DECISIONS "Every kind" 3."""
    reading = parse(text, suffix)
    assert reading.metadata is not None
    assert [code for code, _ in found(reading)] == ["T02"]


def test_only_module_level_assignments_count() -> None:
    value = tool(
        "if True:\n    __version__ = '1.0.0'\ndef f():\n    __category__ = 'x'\nclass C:\n    __author__ = 'y'\n"
    )
    assert (value.version, value.metadata) == (None, {})


def test_only_the_lines_at_the_top_of_other_languages_count() -> None:
    text = "const x = `\n`;\nconst __version__ = '9.9.9';\n"
    assert tool(text, ".js").version is None
    assert tool("cat <<'EOF'\n__version__=9.9.9\nEOF\n", ".sh").version is None


@pytest.mark.parametrize(("written", "version"), [("1.0", "1.0.0"), ("2", "2.0.0"), ("1.2.3-rc.1+b", "1.2.3-rc.1+b")])
def test_versions_are_normalized(written: str, version: str) -> None:
    assert tool(f"__version__ = {written!r}").version == version


@pytest.mark.parametrize("written", ["v1.0.0", "01.0.0", "1.0.0.0", "latest", "", "1.0.0-01"])
def test_versions_that_are_none(written: str) -> None:
    assert [code for code, _ in found(parse(f"__version__ = {written!r}"))] == ["T02"]


def test_missing_metadata_warns() -> None:
    assert found(parse("x = 1\n"), "warning") == [("T03", None)] * 3


def test_category_name_and_id_are_those_of_the_place() -> None:
    text = YAML.replace("a/b/t", "a/b/other").replace("category: a/b", "category: c")
    assert found(parse(text, ".yaml"), "warning") == [("T04", 2), ("T04", 4)]
    assert found(parse(text, ".yaml", publishing=True)) == [("T04", 2), ("T04", 4)]
    assert found(parse(YAML, ".yaml", category=None)) == []


@pytest.mark.parametrize(
    ("suffix", "text", "line"),
    [
        (".py", "x = 1\ndef f(:\n", 2),
        (".py", "x = '\x00'", None),
        (".yaml", "- a\n", 1),
        (".yaml", "a: 1\na: 2\n", 2),
        (".yaml", "x: !!python/none y", 1),
    ],
)
def test_what_does_not_parse(suffix: str, text: str, line: int | None) -> None:
    reading = parse(text, suffix)
    assert reading.value is None
    ((code, where),) = found(reading)
    assert code == "T01"
    assert where == line or where is None


def test_the_language_is_told_by_suffix_then_shebang() -> None:
    assert parsed(parse("#!/usr/bin/env python3\n__version__ = '1.0.0'\n", "")).language == "python"
    assert parsed(parse("#!/bin/sh\n", "")).language == "shell"
    assert found(parse("x", ".rb")) == [("T01", None)]


def test_hidden_characters_written_by_escapes_are_refused() -> None:
    assert ("T02", 1) in found(parse('__tool_description__ = "x\\u200by"'))


def test_the_template_is_valid_and_publishable() -> None:
    assert read(Source(template("t", "a/b"), "t.py", "t", "a/b"), ReadOptions(publishing=True)).diagnostics == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x=" + "(" * 100_000,
        "x=" + "-" * 100_000 + "1",
        "x=" + "1+" * 60_000 + "1",
        "x=" + "[" * 90_000,
        "a" + ".b" * 60_000,
        "f(" * 30_000,
        "a" + "[0]" * 60_000,
        "1 if 1 else " * 20_000 + "1",
        "if x:\n pass\n" + "elif x:\n pass\n" * 15_000,
        "2**" * 50_000 + "2",
        "lambda:" * 20_000 + "1",
        '"a"' * 60_000,
        "@a\n" * 60_000 + "def f(): pass",
        "".join(" " * n + "if x:\n" for n in range(300)),
    ],
)  # fmt: skip
def test_hostile_python_takes_bounded_time(text: str) -> None:
    started = time.thread_time()
    parse(text)
    assert time.thread_time() - started < 5


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".js", ".sh"])
@pytest.mark.parametrize(
    "text",
    [
        "/*" * 100_000,
        "import " * 30_000,
        "const __a__ = " + "[" * 200_000,
        "__a__=" + '"' * 200_000,
        "// " + "_" * 200_000,
        "/* a\n" * 50_000,
        "const __a__: " + " " * 200_000,
        "import {\n" * 25_000,
        "'use " * 40_000,
    ],
)
def test_hostile_scripts_take_bounded_time(suffix: str, text: str) -> None:
    started = time.thread_time()
    parse(text, suffix)
    assert time.thread_time() - started < 5


@given(
    st.sampled_from([".py", ".js", ".ts", ".sh", ".yaml"]),
    st.text(max_size=120) | st.text(alphabet="__version=:'\"`/*#[]() \n1.", max_size=80),
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_no_text_crashes_the_reader(suffix: str, text: str) -> None:
    reading = parse(text, suffix)
    if reading.value is not None:
        json.dumps(as_json(reading.value), allow_nan=False)
    else:
        assert found(reading)


THREE = ("1.2.3", "a/b", "D")
PY = '__version__ = "1.2.3"\n__category__ = "a/b"\n__tool_description__ = "D"\n'
JS = "export const __version__ = '1.2.3';\nexport const __category__ = 'a/b';\nconst __tool_description__ = `D`;\n"
SH = "#!/bin/bash\nset -eu\n__version__=1.2.3\n__category__=a/b\n__tool_description__=D\n"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".py", '__version__, __category__ = "1.2.3", "a/b"\n__tool_description__ = "D"\n'),
        (".py", '__version__ = "1.2.3"; __category__ = "a/b"; __tool_description__ = "D"\n'),
        (".js", "const __version__ = '1.2.3', __category__ = 'a/b',\n  __tool_description__ =\n    'D';\n"),
        (".js", "const LIMIT = 5;\nlet on = true, names = ['x'];\n" + JS),
        (".js", JS.replace("export const __", "exports.__").replace("const __tool", "module.exports.__tool")),
        (".ts", JS.replace("'1.2.3'", "'1.2.3' as const").replace("'a/b'", "'a/b' satisfies string")),
        (".ts", "import type { A,\n  B } from './x.js' with { type: 'json' };\n" + JS),
        (".sh", SH.replace("\n__category__", "; __category__")),
        (".sh", SH.replace("__version__=1.2.3\n", 'readonly __version__="1.2".3 ').replace("=D", "='D' # why")),
    ],
)
def test_other_ways_to_write_the_same_constants(suffix: str, text: str) -> None:
    value = tool(text, suffix)
    assert (value.version, value.category, value.description) == THREE
    assert parse(text, suffix).diagnostics == ()


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("const __tool_description__ = 'see http://x.y/z';", "see http://x.y/z"),
        ("const __tool_description__ = 'it\\'s \\\\ \"so\"';", 'it\'s \\ "so"'),
        ("const __tool_description__ = 'a; // b'; // c", "a; // b"),
    ],
)
def test_quotes_keep_what_looks_like_a_comment_in_scripts(text: str, description: str) -> None:
    assert tool(text, ".js").description == description


@pytest.mark.parametrize(
    ("value", "description"),
    [
        ('"a # b"', "a # b"),
        ("'it'\\''s'", "it's"),
        ('"say \\"hi\\" for \\$5"', 'say "hi" for $5'),
        ("a\\ b", "a b"),
        ("a#b", "a#b"),
    ],
)
def test_shell_words_are_unquoted_as_the_shell_does(value: str, description: str) -> None:
    assert tool(f"__tool_description__={value}\n", ".sh").description == description


@pytest.mark.parametrize("value", ["$(id)", '"$(id)"', '"$HOME"', "`id`", "$X", "$'x'", '"unclosed', "<(ls)"])
def test_what_the_shell_would_expand_is_no_plain_text(value: str) -> None:
    reading = parse(SH.replace("=D", f"={value}"), ".sh")
    assert found(reading) == [("T02", 5)]
    assert found(reading, "warning") == []


@pytest.mark.parametrize(
    "more",
    [
        '__version__ += "x"', "del __version__", 'for __version__ in ["9"]:\n    pass', "import os as __version__",
        "def __version__():\n    pass", 'if os:\n    __version__ = "9.9.9"', "from x import __version__",
        'def f():\n    global __version__\n    __version__ = "9.9.9"', '(__version__ := "9.9.9")',
        "class __version__:\n    pass", "with open(x) as __version__:\n    pass",
    ],
)  # fmt: skip
def test_a_constant_that_the_program_changes_again_is_refused(more: str) -> None:
    """Otherwise people and registries would read one version, and the program another."""
    line = PY.count("\n") + 1
    assert [code for code, at in found(parse(f"{PY}{more}\n")) if at is not None and at >= line] == ["T02"]


def test_other_names_and_scopes_are_the_programs_own() -> None:
    text = PY + '__all__ = ["a"]\n__all__ += ["b"]\ndef f():\n    __version__ = "9"\n    return __version__\n'
    assert parse(text).diagnostics == ()


def test_a_malformed_description_is_not_reported_missing_too() -> None:
    reading = parse(PY.replace('"D"', 'f"D"'))
    assert (found(reading), found(reading, "warning")) == ([("T02", 3)], [])


@pytest.mark.parametrize(
    ("suffix", "text"),
    rest_thorough(
        4,
        [
            (".js", ("export const " + "$from" * 700 + "=1;\n") * 70),
            (".js", "const __a__ = [" + '"x",' * 60_000),
            (".js", "const a" + " " * 250_000),
            (".js", "import " * 40_000),
            (".sh", "a=1 " * 60_000),
            (".sh", "__a__=(" + "x " * 100_000),
            (".sh", 'a="' + "\\x" * 120_000),
            (".sh", "# __a__ = x\n" * 20_000),
        ],
    ),
)
def test_hostile_headers_cost_linear_time(suffix: str, text: str) -> None:
    start = time.thread_time()
    parse(text, suffix)
    assert time.thread_time() - start < 2
