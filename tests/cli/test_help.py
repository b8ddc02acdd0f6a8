"""Help fits the terminal, hardly repeats anything, and shows how a command is used (DESIGN 9)."""

from __future__ import annotations

import builtins
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from rye.cli import start
from rye.cli.completing.answer import stored_table
from rye.cli.examples import EXAMPLES
from rye.cli.main import COMMANDS, DAILY, program
from rye.workspace.help_search import MOST
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

ROOT = Path(__file__).parents[2]
GLOBAL = (
    "--quiet",
    "--verbose",
    "--json",
    "--color",
    "--no-progress",
    "--directory",
    "--registry",
    "--yes",
    "--no-input",
    "--trust-lock",
)


@pytest.fixture(scope="module")
def rye(tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path_factory.mktemp("help"))


def options(page: str) -> set[str]:
    return set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", page))


def test_the_first_page_lists_the_global_options(rye: Person) -> None:
    assert options(rye.ok("--help").stdout) >= {*GLOBAL, "--offline"}


def listed(page: str) -> list[str]:
    return re.findall(r"(?m)^  ([a-z][a-z-]*)  +\S", page)


def test_the_first_page_lists_the_daily_commands_and_names_the_page_with_all(rye: Person) -> None:
    page = rye.ok("--help").stdout
    assert listed(page) == [name for names in DAILY.values() for name in names]
    assert len(listed(page)) == 17
    assert "\n`rye help --all` lists all 72 commands.\n" in page
    assert "\n`rye help WORDS` searches commands, errors and pages.\n" in page
    assert len(page.splitlines()) <= 55, "one screen"
    assert rye.run().stderr == page, "without words"


def test_every_command_is_on_the_page_with_all_and_in_completion(rye: Person) -> None:
    page = rye.ok("help", "--all").stdout
    assert sorted(listed(page)) == sorted(COMMANDS)
    assert options(page) == options(rye.ok("--help").stdout)
    assert set(stored_table()[""]["commands"]) == set(COMMANDS)


def test_the_page_with_all_commands_takes_no_words(rye: Person) -> None:
    assert rye.run("help", "--all", "add", "--json").error["code"] == "usage"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_commands_page_repeats_at_most_two_and_has_an_example(rye: Person, name: str) -> None:
    page = rye.ok(name, "--help").stdout
    own = {"registry"} if name in ("mirror",) else set()
    assert len((options(page) - own) & {*GLOBAL, "--offline"}) <= 2, page
    assert f"Examples:\n  rye {name}" in page


@pytest.mark.parametrize("words", sorted(words for words in EXAMPLES if " " in words))
def test_the_page_of_a_subcommand_has_an_example_that_the_real_command_line_takes(rye: Person, words: str) -> None:
    """Every option that must be given is given, and every value has the right form; files need not exist."""
    assert f"Examples:\n  rye {words}" in rye.ok(*words.split(), "--help").stdout
    for example in EXAMPLES[words]:
        context = click.Context(program(), info_name="rye")
        given = shlex.split(example)[1:]
        while isinstance(context.command, click.Group):
            found = context.command.get_command(context, given[0])
            assert found is not None
            if isinstance(found, click.Group):
                context = click.Context(found, info_name=given[0], parent=context)
            else:
                context = found.make_context(given[0], given[1:], parent=context)
            given = given[1:]
        assert context.command_path.startswith(f"rye {words}")


def test_a_global_option_works_where_it_is_not_listed(rye: Person) -> None:
    assert rye.run("list", "--offline", "--color", "never", "--quiet").code in (0, 1)


@pytest.mark.parametrize(("columns", "least", "most"), [(60, 40, 60), (100, 85, 100), (150, 85, 100)])
def test_it_is_as_wide_as_the_terminal_up_to_a_hundred_columns(
    rye: Person, columns: int, least: int, most: int
) -> None:
    width = max(map(len, rye.ok("install", "--help", env={"COLUMNS": str(columns)}).stdout.split("\n")))
    assert least <= width <= most


def test_its_tables_fit_the_terminal_too(rye: Person) -> None:
    page = rye.ok("new", "--help", env={"COLUMNS": "60"}).stdout
    assert max(map(len, page.split("\n"))) <= 60
    assert "  knowledge CATEGORY/NAME  what agents should know about a\n" in page


def test_the_global_options_have_a_page_of_their_own(rye: Person) -> None:
    page = rye.ok("help", "options").stdout
    assert options(page) == {*GLOBAL, "--offline"}
    assert set(re.findall(r"RYE_[A-Z_]+", page)) >= {"RYE_JSON", "RYE_COLOR", "RYE_REGISTRY", "RYE_OFFLINE"}


@pytest.mark.parametrize("words", [("update",), ("namespace", "keys", "add"), ("registry",)])
def test_help_is_the_same_page(rye: Person, words: tuple[str, ...]) -> None:
    assert rye.ok("help", *words).stdout == rye.ok(*words, "--help").stdout


def test_help_without_words_is_the_first_page(rye: Person) -> None:
    assert rye.ok("help").stdout == rye.ok("--help").stdout
    assert rye.ok("help", "--json").json["help"].startswith("Usage: rye")


@pytest.mark.parametrize(
    ("words", "first", "among"),
    rest_thorough(
        1,
        [
            ("instal", "rye help install", "docs/reference/projects.md"),
            ("lost key", "rye help namespace recover", "rye explain no-key"),
            ("passphrase", "rye help keys passphrase", "rye explain wrong-passphrase"),
            ("pin a registry", "rye help registry list", "rye explain not-pinned"),
            ("uninstall", "rye help remove", "rye help remove"),
            ("lock more", "rye help lock", "docs/reference/lock.md"),
            ("namespace kyes", "rye help namespace", "rye help namespace keys"),
            ("older-than", "rye help cache prune", "rye help cache prune"),
            ("offline", "rye help log check-proof", "rye help options"),
            ("github actions", "rye help permissions check", "docs/how-to/ci.md"),
            ("signature differs", "rye help trust", "rye explain signature-differs"),
        ],
    ),
)
def test_words_that_are_no_command_are_searched_for(rye: Person, words: str, first: str, among: str) -> None:
    answered = rye.ok("help", *words.split(), "--json").json
    found = answered["found"]
    assert found[0]["next"] == first
    assert among in [each["next"] for each in found]
    assert all(each["next"] in answered["help"] for each in found)
    shown = rye.ok("help", *words.split()).stdout
    assert [line.split("\t")[0] for line in shown.splitlines()] == [each["next"] for each in found]


def test_every_sort_is_few_and_everything_named_can_be_read_on(rye: Person) -> None:
    found = rye.ok("help", "sign", "an", "item", "again", "--json").json["found"]
    assert [each["sort"] for each in found] == sorted((each["sort"] for each in found), key=list(MOST).index)
    for sort, most in MOST.items():
        named = [each["next"] for each in found if each["sort"] == sort]
        assert 1 <= len(named) <= most
        for each in named:
            if sort == "page":
                assert (ROOT / each).is_file()
            else:
                assert rye.ok(*each.split()[1:]).stdout


def test_help_of_what_is_found_nowhere(rye: Person) -> None:
    error = rye.run("help", "xyzzyq", "--json").error
    assert (error["code"], error["hint"]) == ("unknown-command", "`rye help --all` lists all commands.")
    assert error["message"] == "No command, error code or page has to do with 'xyzzyq'."


def test_a_known_command_is_not_searched_for(rye: Person) -> None:
    assert "found" not in rye.ok("help", "search", "--json").json


def test_a_misspelt_option_is_corrected_in_the_hint(rye: Person) -> None:
    error = rye.run("list", "--offlin", "--json").error
    assert error["message"] == "No such option '--offlin'."
    assert error["hint"].startswith("Did you mean '--offline'? `rye list --help` shows")


def test_an_argument_too_many_is_named(rye: Person) -> None:
    assert rye.run("list", "acme", "--json").error["message"] == "Unexpected argument: acme."
    assert "`rye keys generate --name second`" in rye.run("keys", "generate", "second", "--json").error["hint"]


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("up", "'update'"),
        ("fetch", "'install'"),
        ("link", "`rye add FOLDER NAME --editable`"),
        ("status", "`rye check`"),
        ("audit fix", "`rye update`"),
    ],
)
def test_the_words_of_other_package_managers_lead_to_ours(rye: Person, typed: str, named: str) -> None:
    assert named in rye.run(*typed.split(), "--json").error["hint"]


def test_a_command_in_the_wrong_folder_says_that_the_project_may_be_elsewhere(rye: Person) -> None:
    error = rye.run("ci", "--json").error
    assert (error["code"], error["message"]) == ("no-project", "There is no rye.toml in this folder or above it.")
    assert error["hint"] == "Change to your project's folder, or create a project here with `rye init`."


def test_ctrl_c_before_the_command_line_is_imported_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = builtins.__import__

    def interrupted(name: str, *rest: Any) -> Any:
        if name == "rye.cli.main":
            raise KeyboardInterrupt
        return real(name, *rest)

    monkeypatch.setattr("sys.argv", ["rye", "list"])
    monkeypatch.setattr("gc.set_threshold", lambda *_: None)
    monkeypatch.setattr(builtins, "__import__", interrupted)
    with pytest.raises(SystemExit) as ended:
        start.main()
    monkeypatch.undo()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "error: Interrupted. Nothing was done.\n"
