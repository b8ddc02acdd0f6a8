"""Lists of ``rye-registry``: tables with headings on a terminal, the lines that programs cut elsewhere."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

import pytest

from registry_server.cli import main as program
from registry_server.cli.listing import ListColumn, on_terminal, piped
from tests.scenes.registry_process import init, run

HEADINGS: dict[tuple[str, ...], str] = {
    ("account", "list"): "account state name roles",
    ("token", "list"): "token state name namespaces scopes valid last used account",
    ("team", "list"): "team members",
    ("role", "list"): "namespace role who",
    ("webhook", "list"): "webhook address namespace events",
    ("publisher", "list"): "publisher namespace workflow issuer scopes",
    ("audit-events", "list"): "event time actor action subject detail",
}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(width: int, *words: str, **environment: str) -> tuple[str, str]:
    """Return what a command prints on a terminal of this width, and its messages."""
    out, err = Terminal(), Terminal()
    given = {"COLUMNS": str(width), "TERM": "xterm", "CI": "", "NO_COLOR": "1", **environment}
    with (
        mock.patch.dict(os.environ, given),
        mock.patch.object(sys, "argv", ["rye-registry", *words]),
        redirect_stdout(out),
        redirect_stderr(err),
        suppress(SystemExit),
    ):
        program()
    return out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("lists") / "data")
    init(Path(folder))
    for words in (
        ("account", "create", "alice", "--namespace", "acme", "--role", "owner"),
        ("token", "create", "ci", "--namespace", "acme", "--scope", "publish", "--expires", "never"),
        ("token", "create", "mine", "--account", "alice", "--expires", "never"),
        ("team", "create", "web"),
        ("team", "add", "web", "alice"),
        ("role", "add", "acme", "--team", "web", "--role", "publisher"),
        ("webhook", "add", "https://hooks.example.org/rye", "--namespace", "acme"),
        ("publisher", "add", "acme", "--repository", "acme/site", "--workflow", "release.yml"),
    ):
        run(*words, "--data", folder)
    return folder


@pytest.mark.parametrize("words", HEADINGS, ids=" ".join)
@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_list_on_a_terminal_has_headings_and_fits(data: str, words: tuple[str, ...], width: int) -> None:
    shown, _ = on_a_terminal(width, *words, "--data", data)
    lines = shown.splitlines()
    assert [len(line) for line in lines if len(line) > width] == []
    assert " ".join(shown.split()).startswith(HEADINGS[words] + " ")


def test_a_list_on_a_terminal_loses_nothing(data: str) -> None:
    for words in HEADINGS:
        rows = run(*words, "--data", data).stdout
        shown = " ".join(on_a_terminal(60, *words, "--data", data)[0].split())
        headings = {"last", "used", "of"}  # words of the lines that the headings replace
        assert [word for word in rows.split() if word not in headings and word not in shown] == []


def test_headings_are_dim_only_where_colours_may_be(data: str) -> None:
    coloured, _ = on_a_terminal(80, "team", "list", "--data", data, NO_COLOR="")
    assert coloured.splitlines()[0] == "\x1b[2mteam\x1b[0m  \x1b[2mmembers\x1b[0m"
    assert "\x1b" not in on_a_terminal(80, "team", "list", "--data", data, NO_COLOR="", TERM="dumb")[0]


def test_a_piped_list_has_one_line_per_row_and_no_headings(data: str) -> None:
    (account,) = json.loads(run("account", "list", "--data", data, "--json").stdout)["accounts"]
    assert run("account", "list", "--data", data).stdout == f"{account['account']}  active    alice  owner of acme\n"
    assert run("team", "list", "--data", data).stdout == "web  alice\n"
    assert run("role", "list", "--data", data).stdout == "acme  owner  alice\nacme  publisher  team web\n"
    made = json.loads(run("token", "list", "--data", data, "--json").stdout)["tokens"]
    ci, mine = (next(one for one in made if one["name"] == name) for name in ("ci", "mine"))
    assert sorted(run("token", "list", "--data", data).stdout.splitlines(), key=lambda line: line.split()[2]) == [
        f"{ci['id']}  active   ci  acme  publish  never expires  last used never",
        f"{mine['id']}  active   mine  any namespace  {' '.join(mine['scopes'])}  never expires  last used never  of alice",
    ]
    (hook,) = json.loads(run("webhook", "list", "--data", data, "--json").stdout)["webhooks"]
    assert (
        run("webhook", "list", "--data", data).stdout
        == f"{hook['id']}  https://hooks.example.org/rye  acme  every event\n"
    )
    (one,) = json.loads(run("publisher", "list", "--data", data, "--json").stdout)["publishers"]
    assert run("publisher", "list", "--data", data).stdout == (
        f"{one['id']}  acme  acme/site release.yml  https://token.actions.githubusercontent.com  stage\n"
    )
    event = json.loads(run("audit-events", "list", "--data", data, "--json").stdout)["events"][4]
    assert run("audit-events", "list", "--data", data).stdout.splitlines()[4] == (
        f"4  {event['time']}  operator  team.add  team:web  account={account['account']}"
    )


def test_an_empty_list_says_so_in_both_places(data: str) -> None:
    assert run("webhook", "deliveries", "--data", data).stdout == "No deliveries.\n"
    assert on_a_terminal(60, "webhook", "deliveries", "--data", data)[0] == "No deliveries.\n"
    assert on_a_terminal(60, "webhook", "deliveries", "--json", "--data", data)[0] == '{"deliveries": []}\n'


def test_text_from_elsewhere_cannot_control_the_terminal_or_imitate_a_row() -> None:
    """The error of a delivery is what a stranger's server answered."""
    columns = (ListColumn("delivery"), ListColumn("error", wraps=True))
    lines = on_terminal(columns, [("1", "\x1b[2J\u202eno\n2  delivered")], 60)
    shown = ["".join(text for text, _ in line) for line in lines]
    assert len(shown) == 2
    assert all(character.isprintable() for line in shown for character in line)


def test_braces_in_a_cell_are_text() -> None:
    assert piped([ListColumn("account", "of {}")], [["{0.__class__}"]]) == "of {0.__class__}"


def test_messages_wrap_on_a_terminal_and_keep_commands_whole(data: str) -> None:
    _, said = on_a_terminal(60, "token", "create", "other", "--data", data)
    assert max(map(len, said.splitlines())) <= 60
    assert "`rye login ADDRESS --token -`" in said
    _, failed = on_a_terminal(60, "token", "create", "x", "--scope", "everything", "--data", data)
    assert failed.startswith("error: ")
    assert max(map(len, failed.splitlines())) <= 60
