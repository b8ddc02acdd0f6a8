"""A command that finds nothing names a next step, and shows no empty table."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.cli.registry.registry_serve import next_command
from tests.scenes.person import Person
from tests.witness.test_deciding import LOG

pytestmark = pytest.mark.processes


def test_commands_that_need_a_project_name_the_one_that_makes_it(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert "`rye init` creates one" in rye.ok("list").stderr
    assert "`rye init --namespace NAME`" in rye.run("publish", "--json").error["hint"]
    rye.ok("init")
    assert "`rye add [KIND:]ID`" in rye.ok("list").stderr
    assert "[project] of rye.toml" in rye.run("publish", "--json").error["hint"]


def test_a_table_without_rows_has_no_header_on_a_terminal(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init")
    for words in (["outdated"], ["list"], ["search", "--local", "zzz"]):
        shown = rye.terminal(*words)
        assert "VERSION" not in shown
        assert "CURRENT" not in shown


def test_a_first_key_and_a_first_signature_name_the_next_step_on_a_terminal(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--namespace", "acme")
    rye.new("directive", "ops/restart")
    assert "Next: `rye namespace claim NAME`" in rye.terminal("keys", "generate")
    assert rye.ok("keys", "generate", "--name", "other").stderr == ""
    assert "Next: `rye publish`" in rye.terminal("sign")
    assert "Next:" not in rye.terminal("sign"), "nothing was signed"


def test_a_search_without_a_match_names_a_next_step(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init")
    said = rye.ok("search", "--local", "--kind", "skill", "zzz").stderr
    assert "Nothing matches 'zzz'. Try fewer or other words, or leave out --kind and --local." in said


def test_a_project_in_another_folder_is_entered_first(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert "Next: `cd 'my app'`, then `rye add " in rye.ok("init", "my app").stderr
    assert "Next: `rye add " in rye.ok("init").stderr


@pytest.mark.parametrize("words", [("init", "--namespace"), ("login", "--token"), ("keys", "generate", "--name")])
def test_an_option_without_its_value_leads_to_the_help_of_its_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    error = Person(tmp_path).run(*words).stderr
    assert f"`rye {' '.join(words[:-1])} --help` shows how it is used." in error


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (("yank", "acme/a/b@1.0.0"), "--reason"),
        (("keys", "remove"), "rye keys remove work"),
        (("info",), "rye info acme/"),
    ],
)
def test_a_command_without_what_it_needs_shows_an_example(tmp_path: Path, words: tuple[str, ...], example: str) -> None:
    error = Person(tmp_path).fails(*words, code="usage", exit_code=2)
    assert error["hint"].startswith("For example: `rye ")
    assert example in error["hint"]
    assert f"`rye {' '.join(words[: 2 if words[0] == 'keys' else 1])} --help`" in error["hint"]


def test_without_a_lock_nothing_is_called_newest_and_the_next_step_is_to_install(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("rye.toml", '[project]\nname = "shop"\n')
    assert "nothing to compare: rye.toml lists no items; `rye add [KIND:]ID`" in rye.ok("outdated").stderr
    assert "`rye add [KIND:]ID`" in rye.fails("remove", "x", code="not-a-dependency")["hint"]
    rye.write("rye.toml", '[project]\nname = "shop"\n\n[dependencies]\n"acme/work/base" = "^1"\n')
    assert "`rye install`" in rye.fails("outdated", code="no-lock")["hint"]
    lock = rye.write("rye.lock", "version = 1\n")
    assert "nothing to compare: rye.lock has no items yet; `rye install`" in rye.ok("outdated").stderr
    lock.unlink()
    for words in (["tree"], ["list"]):
        assert "`rye install` installs what rye.toml lists" in rye.ok(*words).stderr
    for words in (["why", "base"], ["update", "base"], ["diff", "base"]):
        assert "`rye install`" in rye.fails(*words, code="not-installed")["hint"]


def test_init_names_the_registry_that_was_given(tmp_path: Path) -> None:
    """Otherwise the commands that follow claim and publish in the default one, for good."""
    rye = Person(tmp_path)
    rye.ok("init", "app", "--namespace", "acme", "--registry", "https://rye.example/")
    assert 'registry = "https://rye.example"\n' in rye.path("app/rye.toml").read_text()
    assert rye.run("init", "other", "--registry", "rye.example", "--json").error["code"] == "bad-argument"
    assert not rye.path("other").exists()
    rye.write("root/rye.toml", '[project]\nregistry = "https://root.example"\n[workspace]\nmembers = ["app"]\n')
    rye.ok("init", "root/app", "--registry", "https://rye.example")
    assert "registry" not in rye.path("root/app/rye.toml").read_text()


def test_a_witness_says_how_to_go_on(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("witness", "init", "witness.example/w", "--ed25519-only")
    assert "`rye witness list`" in rye.run("witness", "init", "other", "--json").error["hint"]
    for part in ("log.example+4ef0fb25+AdMh…", "log.example"):
        assert "`rye-registry witness list`" in rye.run("witness", "add-log", part, "--json").error["hint"]
    rye.ok("witness", "add-log", LOG.verifier.vkey)
    (signed,) = (path for path in tmp_path.rglob("signed/*") if not path.suffix)
    signed.write_bytes(b"")
    listed = rye.run("witness", "list")
    assert listed.code == 1
    assert "`rye witness add-log VKEY --from NOTE`" in listed.stderr


def test_a_second_registry_says_that_another_one_is_the_default() -> None:
    assert "rye init --registry http://127.0.0.1:8421" in next_command("http://127.0.0.1:8421", is_default=False)
    assert "rye init" not in next_command("http://127.0.0.1:8421", is_default=True)
