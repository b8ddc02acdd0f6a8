"""``rye explain``, and the pages that are generated from the same table."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.explaining.pages import pages
from rye.explaining.table import by_code, former, load, read
from rye.workspace.completion.codes import codes
from rye.workspace.completion.place import Place
from tests.explaining.raised import ROOT
from tests.house.test_rooms import imports
from tests.scenes.person import Person

PAGES = ROOT / "docs" / "reference" / "errors"


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_code_is_explained(rye: Person) -> None:
    shown = rye.ok("explain", "lock-does-not-fit").stdout
    row = by_code(load())["lock-does-not-fit"]
    for said in (row.title, row.text, row.page, f"Exit status: {row.exit}"):
        assert said in shown


@pytest.mark.parametrize("word", ["r04", "R04", "error[R04]", "error[R04]:", "`R04`", "[R04]", " R04 "])
def test_a_code_may_be_copied_as_it_was_printed(rye: Person, word: str) -> None:
    assert rye.ok("explain", word, "--json").json["code"] == "R04"


def test_the_document(rye: Person) -> None:
    document = rye.ok("explain", "NO_SUCH_ITEM", "--json").json
    assert list(document) == ["code", "exit", "title", "text", "page", "file", "bad", "good"]
    assert (document["code"], document["exit"]) == ("no-such-item", 1)


@pytest.mark.parametrize(
    ("typo", "meant"), [("lock-doesnt-fit", "lock-does-not-fit"), ("R4", "R04"), ("ambigous", "ambiguous")]
)
def test_a_typo_is_answered_with_what_was_meant(rye: Person, typo: str, meant: str) -> None:
    result = rye.run("explain", typo, "--json")
    assert (result.code, result.refusal) == (2, "unknown-name code")
    assert meant in result.error["hint"]


def test_a_code_of_an_earlier_version_leads_to_the_present_one(rye: Person) -> None:
    shown = rye.ok("explain", "no-such-namespace")
    assert "no-such-namespace is called namespace-unclaimed since version 0.2.0." in shown.stderr
    assert shown.stdout == rye.ok("explain", "namespace-unclaimed").stdout
    assert rye.ok("explain", "NO_SUCH_NAMESPACE", "--json").json["code"] == "namespace-unclaimed"


def test_a_code_that_became_one_of_several_is_explained_with_its_own_example(rye: Person) -> None:
    shown = rye.ok("explain", "no-agents")
    assert "no-agents is called no-items since version 0.2.0, and `what` is 'agents'." in shown.stderr
    assert "rye agent graph .ai/skills" in shown.stdout
    assert "what: agents, items, skills" in shown.stdout.splitlines()


def test_a_code_that_became_one_of_several_has_no_example_about_something_else(rye: Person) -> None:
    assert rye.ok("explain", "unknown-team", "--json").json["bad"] is None
    assert rye.ok("explain", "no-such-entry", "--json").json["bad"] is not None


def test_every_code_of_an_earlier_version_leads_to_a_row() -> None:
    table = by_code(load())
    assert former().keys() & table.keys() == set()
    astray = {old: new for old, new in former().items() if new.what not in (*(table[new.code].what or (None,)),)}
    assert astray == {}


def test_without_a_code_all_are_listed(rye: Person) -> None:
    rows = rye.ok("explain", "--json").json["codes"]
    assert {row["code"] for row in rows} == by_code(load()).keys()
    assert rye.ok("explain", "--all", "--json").json["codes"] == rows
    listed = rye.ok("explain", "--all").stdout.splitlines()
    assert [line.split("\t") for line in listed] == [[row["code"], row["title"]] for row in rows]
    assert rye.run("explain", "--all", "R04", "--json").error["code"] == "contradiction"


def test_a_program_without_a_code_gets_a_line_for_each_area_and_the_next_command(rye: Person) -> None:
    shown = rye.ok("explain")
    assert [line.split("\t") for line in shown.stdout.splitlines()] == [
        [area.name, str(len(area.codes)), area.title] for area in load()
    ]
    for command in ("`rye explain CODE`", "`rye explain AREA`", "`rye explain --all`"):
        assert command in shown.stderr


@pytest.mark.processes
def test_on_a_terminal_all_codes_stand_below_their_area(rye: Person) -> None:
    lines = rye.terminal("explain", "--all").splitlines()
    for area in load():
        heading = next(number for number, line in enumerate(lines) if f"{area.name}: " in line)
        assert any(line.split()[:1] == [area.codes[0].code] for line in lines[heading : heading + 4]), area.name


@pytest.mark.processes
def test_on_a_terminal_the_areas_are_listed_with_how_many_codes_each_has(rye: Person) -> None:
    shown = rye.terminal("explain")
    for area in load():
        assert any(line.split()[:2] == [area.name, str(len(area.codes))] for line in shown.splitlines()), area.name
    assert "`rye explain AREA`" in shown
    assert len(shown.splitlines()) < 30


def test_an_area_is_listed(rye: Person) -> None:
    [area] = [area for area in load() if area.name == "sources"]
    rows = rye.ok("explain", "sources", "--json").json["codes"]
    assert rows == [{"code": row.code, "exit": row.exit, "title": row.title, "area": "sources"} for row in area.codes]
    assert [line.split("\t")[0] for line in rye.ok("explain", "sources").stdout.splitlines()] == [
        row.code for row in area.codes
    ]


@pytest.mark.parametrize("typed", ["S0", "s0", "S", "no-such", "NO_SUCH", "no_such-i"])
def test_the_codes_that_begin_so_are_listed_in_order(rye: Person, typed: str) -> None:
    start = typed.upper() if typed.lower().startswith("s") else typed.lower().replace("_", "-")
    listed = [row["code"] for row in rye.ok("explain", typed, "--json").json["codes"]]
    assert listed == sorted(code for code in by_code(load()) if code.startswith(start))
    assert listed


def test_a_small_letter_begins_every_kind_of_code(rye: Person) -> None:
    listed = {row["code"] for row in rye.ok("explain", "s", "--json").json["codes"]}
    assert listed == {code for code in by_code(load()) if code[0] in "sS"}


@pytest.mark.parametrize("typed", ["", " ", "``", "[]", "%", "S0\x1b[2J"])
def test_nothing_and_nonsense_begin_no_code(rye: Person, typed: str) -> None:
    assert rye.run("explain", typed, "--json").refusal == "unknown-name code"


@pytest.mark.processes
def test_a_terminal_is_told_where_to_read_more_where_there_is_no_hint(rye: Person) -> None:
    rye.write(".ai/skills/pdf/SKILL.md", "---\nname: PDF\n---\n")
    assert "`rye explain S0" in rye.terminal("validate")
    assert "rye explain" not in rye.run("validate").stderr


def test_completion_offers_every_code() -> None:
    assert sorted(codes(Place(".", "", {}))) == sorted(by_code(load()))


@pytest.mark.parametrize("field", ["exti = 1", "exit = '1'", "page = 3"])
def test_a_row_that_is_not_of_its_form_is_refused(field: str) -> None:
    text = 'title = "A"\npage = "README.md"\n[a-b]\ntitle = "T."\ntext = "X."\n'
    with pytest.raises(ValueError, match=r"Object|Expected"):
        read("a", text + field)


@pytest.mark.slow
def test_no_other_command_reads_the_table() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "rye").rglob("*.py")
        if path.parent.name != "explaining"
        and "explaining" in path.read_text("utf-8")  # the others need not be parsed
        and any(name.startswith("rye.explaining") for _, name in imports(path))
    }
    assert readers == {
        "rye/workspace/completion/codes.py",
        "rye/workspace/explained.py",
        "rye/workspace/help_search.py",  # imported by a search only
    }
    users = {path.name for path in (ROOT / "rye").rglob("*.py") if ("workspace.explained" in path.read_text("utf-8"))}
    assert users == {"explain.py"}


def test_the_pages_are_current() -> None:
    written = {path.stem: path.read_text("utf-8") for path in PAGES.glob("*.md")}
    assert written == dict(pages()), "run `make error-pages`"


def test_no_page_takes_longer_than_ten_minutes_to_read() -> None:
    words = {name: sum(not word.startswith(("|", "````")) for word in text.split()) for name, text in pages().items()}
    assert {name: count for name, count in words.items() if count > 2500} == {}
