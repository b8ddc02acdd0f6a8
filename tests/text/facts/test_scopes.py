"""What a name means where: in strings of several lines, in functions, and in the examples of a page."""

from __future__ import annotations

import pytest

from rye.limits import FACTS as LIMITS
from rye.text.facts import ALARM, find_facts
from rye.text.facts.calls.scopes import Scopes, by_language
from rye.text.facts.shell import open_strings
from rye.text.facts.source import Source

SCRIPTS = {
    "a string ends in its own line": ("a 'b' \"c\"\nd", []),
    "code in quotes": ("perl -ne '\nprint;\n' \"$x\"\nls", [1, 2]),
    "a value of two lines": ('x="$a\n$b"\nls', [1]),
    "a substitution in a string is a script of its own": ('x="$(\nls\n)"\nls', []),
    "a string in such a substitution": ("x=\"$(\necho '\n$y\n'\n)\"\nls", [2, 3]),
    "an apostrophe in a comment": ("ls # don't\nls", []),
    "a number of arguments is no comment": ("echo $# 'a\nb'", [1]),
    "an escaped quote": ("echo \\'\nls", []),
    "lines up to a mark are text": ("cat <<'EOF'\ndon't\nEOF\nls", []),
    "a here-string is no mark": ("cat <<<'a\nb'\nls", [1]),
}


@pytest.mark.parametrize(("script", "inside"), SCRIPTS.values(), ids=SCRIPTS)
def test_lines_that_begin_inside_a_string(script: str, inside: list[int]) -> None:
    assert sorted(open_strings(script.split("\n"))) == inside


PROGRAM = """\
def outer(self, a, *rest, b=1):
    global shared
    x = shared = a

    def inner():
        return x

y = 1
"""


def test_a_name_belongs_to_the_innermost_function() -> None:
    scopes = Scopes(Source("a.py", PROGRAM))
    x = scopes.at(PROGRAM.index("x ="), "x")
    assert x is not None
    assert (x.name, x.parameters) == ("outer", ("a", "rest", "b"))
    assert scopes.at(PROGRAM.index("shared ="), "shared") is None
    inner = scopes.at(PROGRAM.index("return"), "z")
    assert inner is not None
    assert inner.name == "inner"
    assert scopes.at(PROGRAM.index("y ="), "y") is None


@pytest.mark.parametrize(
    "text",
    [
        "def f(:\n    x = 1\n",
        "def f():\n    x = " + "(" * 5_000 + "\n",
        "def f():\n    x = " + "-" * 100_000 + "1\n",
        "def f():\n    x = 1\n" + "#" * LIMITS.parsed_characters,
        "def f():\n\0    x = 1\n",
    ],
    ids=["does not parse", "nested", "a long expression", "too large", "NUL"],
)
def test_what_does_not_parse_has_no_functions(text: str) -> None:
    assert Scopes(Source("a.py", text)).at(text.index("x ="), "x") is None


def test_a_page_is_read_once_for_each_language_and_no_line_moves() -> None:
    text = "a\n```python\nx = 1\n```\n```\ny\n```\n```js\nz = 1\n```\n"
    parts = list(by_language(Source("a.md", text)))
    assert [part.text for part in parts] == [text.replace("z = 1", ""), text.replace("x = 1", "")]
    assert [part.text for part in by_language(Source("a.py", text))] == [text]


def test_a_broken_program_hides_nothing() -> None:
    text = "import requests\ndef f():\n    x = requests.get(u).text\n    exec(x)\ndef g(:\n"
    assert "pipe-to-shell" in {fact.fact for fact in find_facts({"a.py": text}) if fact.level == ALARM}
