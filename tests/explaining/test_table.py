"""The table of codes matches the source: every raised code has a row, every row is raised, and each has one exit status."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import click
import pytest

from registry_server.cli.program import cli as registry_program
from rye.cli.main import program
from rye.deployment.targets import protocol
from rye.explaining.table import AREAS, CODES, Code, by_code, load
from rye.installation.audit.finding import HELP, RULES
from tests.explaining.raised import CODE, ROOT, Site, reading
from tests.house.hints import commands_in, problem

pytestmark = pytest.mark.slow

TABLE: Mapping[str, Code] = by_code(load())
PASSED_ON = re.compile(r"[\w.\[\]]+\.(?:code|rule)|error\.get\('code', 'registry-failed'\)")
"""The code of an error or finding that was raised elsewhere and is passed on, or the answer of a started program."""


def literals(path: str, pattern: str) -> frozenset[str]:
    return frozenset(re.findall(f'"({pattern})"', (ROOT / path).read_text("utf-8")))


XML = "rye/items/directive/reader.py error.code"
COMPUTED: Mapping[str, frozenset[str]] = {
    "rye/deployment/plan_ledger.py code": frozenset(get_args(protocol.Code)),
    XML: frozenset[str]().union(
        *(literals(f"rye/items/directive/xml_{part}.py", r"D\d{3}") for part in ("document", "problem", "tree"))
    ),
}
"""Codes that cannot be followed from where they are raised, and the codes that come from there."""
OTHER_STATUS = {"interrupted": 130}
"""The only exit status that differs from its error's: shells expect it of a program that Ctrl-C ended."""


def sites() -> Mapping[str, list[Site]]:
    found: dict[str, list[Site]] = defaultdict(list)
    for site in reading().sites:
        found[site.code].append(site)
    return found


@pytest.fixture(scope="module")
def raised() -> Mapping[str, list[Site]]:
    return sites()


def test_what_cannot_be_followed_is_known() -> None:
    """A new computed code fails here: list where its codes come from, or that it passes on another error's."""
    unread = {" ".join(each) for each in reading().unread if not PASSED_ON.fullmatch(each[1])}
    assert unread | {XML} == COMPUTED.keys()
    assert tuple(XML.split(" ")) in reading().unread


def test_every_code_that_is_raised_has_a_row_and_every_row_is_raised(raised: Mapping[str, list[Site]]) -> None:
    known = raised.keys() | {code for codes in COMPUTED.values() for code in codes}
    assert sorted(known - TABLE.keys()) == [], "raised without a row in rye/explaining/codes"
    assert sorted(TABLE.keys() - known) == [], "rows that nothing raises"


def test_every_rule_number_in_the_source_has_a_row() -> None:
    """A second, simpler search: a quoted text that looks like a rule's number is one, except for JOSE algorithm names."""
    written = {
        code
        for package in ("rye", "registry_server")
        for path in (ROOT / package).rglob("*.py")
        for code in re.findall(r'"([ABCDFGKNRST]\d{1,3})"', path.read_text("utf-8"))
    }
    assert sorted(written - TABLE.keys() - {"S256"}) == []


def test_each_code_has_one_exit_status_and_the_table_says_it(raised: Mapping[str, list[Site]]) -> None:
    wrong = []
    for code, places in sorted(raised.items()):
        statuses = {each.status for each in places if each.status is not None}
        if len(statuses) > 1:
            wrong.append(f"{code}: " + ", ".join(f"{each.path}:{each.line} {each.status}" for each in places))
        elif statuses and OTHER_STATUS.get(code, min(statuses)) != TABLE[code].exit:
            wrong.append(f"{code}: raised with {min(statuses)}, the table has {TABLE[code].exit}")
    assert wrong == []


GIVEN: Mapping[str, frozenset[str]] = {"rye/workspace/given_file.py": frozenset({"context", "input"})}
"""Where ``what`` is a parameter, and what the callers pass."""


def things(sites: list[Site]) -> set[str | None]:
    """The values of ``what`` at these places; None for an error without one."""
    named: set[str | None] = set()
    for site in sites:
        call = ast.parse(site.call, mode="eval").body
        assert isinstance(call, ast.Call)
        given = [word.value for word in call.keywords if word.arg == "what"]
        if site.path in GIVEN and isinstance(given[0], ast.Name):
            named |= GIVEN[site.path]
        elif given or site.status is not None:
            named.add(ast.literal_eval(given[0]) if given else None)
    return named


def test_a_code_that_several_things_share_lists_them_and_every_error_names_its_own(
    raised: Mapping[str, list[Site]],
) -> None:
    named = {code: sorted(map(str, things(places) - {None})) for code, places in raised.items()}
    assert {code: what for code, what in named.items() if what} == {
        code: list(row.what) for code, row in TABLE.items() if row.what
    }
    assert [code for code, row in TABLE.items() if row.what and None in things(raised[code])] == []


def test_a_code_of_findings_alone_fails_or_does_not(raised: Mapping[str, list[Site]]) -> None:
    assert all(TABLE[code].exit in (0, 1) for code in TABLE if not any(each.status for each in raised.get(code, ())))


def test_each_code_stands_once() -> None:
    assert len(TABLE) == sum(len(area.codes) for area in load())
    assert sorted(path.stem for path in CODES.iterdir()) == sorted(AREAS)


def faults(row: Code) -> list[str]:
    found = [] if CODE.fullmatch(row.code) else ["it is not a code"]
    for text in (row.title, row.text):
        if text != text.strip() or "\n" in text or not text.endswith(".") or not 10 <= len(text) <= 320:
            found.append(f"{text!r} is not a plain sentence")
    if ". " in row.title:
        found.append("its title has more than one sentence")
    named = (row.page, *re.findall(r"docs/[\w/-]+\.md", row.text))
    if not all((ROOT / page).is_file() for page in named):
        found.append(f"not all of {named} are pages")
    return found


def test_each_row_says_something_and_names_a_page() -> None:
    assert {row.code: found for row in TABLE.values() if (found := faults(row))} == {}


def test_no_two_codes_of_one_area_say_all_the_same() -> None:
    said: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in TABLE.values():
        said[row.area, row.title, row.text].append(row.code)
    assert [codes for codes in said.values() if len(codes) > 1] == []


def test_the_commands_in_the_rows_can_be_run() -> None:
    wrong = []
    for row in TABLE.values():
        for command in commands_in(row.text):
            said = problem(command)
            if said is not None:
                wrong.append(f"{row.code}: {command}: {said}")
    assert wrong == []


def options_of(command: click.Command) -> set[str]:
    found = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            found |= options_of(below) if below is not None else set()
    return found


def test_the_options_in_the_rows_exist() -> None:
    known = options_of(program()) | options_of(registry_program) | {"--help"}
    named = {
        (row.code, option) for row in TABLE.values() for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", row.text)
    }
    assert sorted(each for each in named if each[1] not in known) == []


class TestTheReadingItself:
    """What the search could miss, on small sources."""

    def read(self, tmp_path: Path, source: str) -> tuple[set[tuple[str, int | None]], set[str]]:
        from tests.explaining.raised import Reading

        package = tmp_path / "rye"
        package.mkdir()
        (package / "__init__.py").write_text("")
        (package / "errors.py").write_text(
            "class RyeError(Exception):\n    exit_code = 1\n    def __init__(self, code, message): ...\n"
            "class UsageError(RyeError):\n    exit_code = 2\n"
        )
        (package / "one.py").write_text("from rye.errors import RyeError, UsageError\n" + source)
        found = Reading(tmp_path, ("rye",))
        return {(site.code, site.status) for site in found.sites}, {each[1] for each in found.unread}

    @pytest.mark.parametrize(
        ("source", "wanted"),
        [
            ("raise RyeError('a-b', '')", {("a-b", 1)}),
            ("raise UsageError(message='', code='a-b')", {("a-b", 2)}),
            ("raise RyeError('a-b' if x else 'c-d', '')", {("a-b", 1), ("c-d", 1)}),
            ("CODE = 'a-b'\ndef f():\n    raise RyeError(CODE, '')", {("a-b", 1)}),
            ("def fail(what, code='a-b'):\n    raise RyeError(code, what)\nfail('', 'c-d')", {("a-b", 1), ("c-d", 1)}),
            ("T = {'x': 'a-b'}\ndef f(x):\n    raise RyeError(T.get(x, 'c-d'), '')", {("a-b", 1), ("c-d", 1)}),
            (
                "def f():\n    for c, m in (('a-b', 1), ('c-d', 2)):\n        raise RyeError(c, m)",
                {("a-b", 1), ("c-d", 1)},
            ),
            ("def g():\n    return 'a-b', 1\ndef f():\n    c, m = g()\n    raise RyeError(c, m)", {("a-b", 1)}),
            (
                "class E(RyeError):\n    exit_code = 3\n    def __init__(self):\n        super().__init__('a-b', '')",
                {("a-b", 3)},
            ),
            (
                "class C:\n    def no(self, code):\n        raise RyeError(code, '')\ndef f(c):\n    c.no('a-b')",
                {("a-b", 1)},
            ),
        ],
    )
    def test_ways_to_raise_a_code(self, tmp_path: Path, source: str, wanted: set[tuple[str, int | None]]) -> None:
        assert self.read(tmp_path, source) == (wanted, set())

    def test_what_it_cannot_follow_it_says(self, tmp_path: Path) -> None:
        assert self.read(tmp_path, "def f(error):\n    raise RyeError(error.code, '')") == (set(), {"error.code"})


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_of_the_audit_and_its_code_say_the_same(rule: str) -> None:
    """One fact has one wording: a SARIF file describes a rule and says what to do as ``rye explain`` does."""
    assert TABLE[rule].title.replace("`", "") == RULES[rule]
    assert TABLE[rule].text == HELP[rule]
