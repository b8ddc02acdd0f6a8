"""Errors: what, why and the next command; exit 1 or 2; one document in JSON; never a traceback (DESIGN §9)."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from rye.cli.main import COMMANDS
from tests.cli.screens.taking import take
from tests.scenes.effort import rest_thorough
from tests.scenes.nursery import RYE
from tests.scenes.person import Person


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    return Person(tmp_path)


USAGE = [
    (),
    ("valdate",),
    ("--bogus",),
    ("validate", "--strikt"),
    ("validate", "--kind", "directiv"),
    ("keys", "generat"),
    ("keys",),
    ("new",),
    ("new", "directive"),
    ("render",),
    ("permissions", "check"),
    ("hooks", "eval"),
    ("show", "a", "b"),
    ("validate", "--color", "pink"),
]
FAILING = [
    ("validate",),
    ("-C", "/nonexistent", "validate"),
    ("validate", "nowhere"),
    ("sign",),
    ("verify", "nowhere"),
    ("show", "nothing"),
    ("render", "nothing"),
    ("permissions", "show", "nothing"),
    ("hooks", "list", "nothing"),
    ("keys", "export"),
    ("keys", "import", "nowhere"),
    ("trust", "add", "nowhere"),
    ("agent", "graph"),
    ("agent", "migrate", "nowhere.yaml"),
    ("migrate", "directive", "nowhere.md"),
]


@pytest.mark.parametrize(("arguments", "code"), [(a, 2) for a in USAGE] + [(a, 1) for a in FAILING])
def test_an_error_is_one_document_with_code_message_and_hint(
    rye: Person, arguments: tuple[str, ...], code: int
) -> None:
    result = rye.run(*arguments, "--json")
    assert result.code == code
    assert set(result.json) == {"error"}
    assert result.error["code"]
    assert result.error["message"]
    assert result.error["hint"]
    assert result.stderr == ""


@pytest.mark.parametrize(("arguments", "code"), [(a, 2) for a in USAGE] + [(a, 1) for a in FAILING])
def test_for_a_person_the_error_goes_to_stderr(rye: Person, arguments: tuple[str, ...], code: int) -> None:
    result = rye.run(*arguments)
    assert (result.code, result.stdout) == (code, "")
    assert result.stderr.startswith(("error: ", "Usage: "))
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("valdate",), "validate"),
        (("keys", "generat"), "generate"),
        (("validate", "--strikt"), "--strict"),
        (("validate", "--kind", "knowlege"), "knowledge"),
        (("verfy",), "verify"),
        (("ls",), "'list'?"),
        (("instal",), "Did you mean 'install'?"),
        (("freeze",), "Did you mean 'lock'?"),
        (("mcp", "config"), "Choose from: claude, codex, copilot, gemini, opencode, cursor\n"),
        (("exec", "acme/ops/deploy"), "`rye run ID`"),
    ],
)
def test_did_you_mean(rye: Person, arguments: tuple[str, ...], meant: str) -> None:
    assert meant in rye.run(*arguments).stderr


@pytest.mark.parametrize("word", ["zz", "xyzzy", "pack"])
def test_no_command_is_suggested_for_a_word_that_resembles_none(rye: Person, word: str) -> None:
    assert "`rye help --all` lists all commands." in rye.run(word).stderr


@pytest.mark.parametrize("name", [name for name, row in COMMANDS.items() if row[1] in ("Author", "Trust")])
def test_every_command_explains_itself(rye: Person, name: str) -> None:
    result = rye.ok(name, "--help")
    assert result.stdout.startswith(f"Usage: rye {name} ")
    assert "--json" in result.stdout


def test_json_can_be_asked_for_by_the_environment(rye: Person) -> None:
    result = rye.run("validate", "nowhere", env={"RYE_JSON": "1"})
    assert result.error["code"] == "no-such-file"


def test_messages_do_not_steer_the_terminal(rye: Person) -> None:
    for arguments in (("validate", "\x1b[31mx"), ("show", "\x1b[31mx"), ("\x1b[31mx",), ("trust", "add", "\x1b[31mx")):
        result = rye.run(*arguments)
        assert result.code in (1, 2)
        assert "\x1b" not in result.stderr


@pytest.mark.processes
def test_names_that_are_no_text_are_no_crash(rye: Person) -> None:
    for arguments in (("validate", "\udcff.md"), ("show", "\udcff.md"), ("verify", "\udcff.md")):
        result = rye.spawn(*arguments, "--json")
        assert (result.code, result.error["code"]) == (1, "no-such-file")


def test_a_broken_manifest_is_an_error_of_its_own(rye: Person) -> None:
    for text in ("[", "unknown = 1\n", "\0"):
        rye.write("rye.toml", text)
        result = rye.run("validate", ".", "--json")
        assert result.code in (1, 2)
        assert result.error["message"]


@pytest.mark.processes
def test_the_real_program_answers_alike(rye: Person) -> None:
    for arguments in (("valdate", "--json"), ("validate", "nowhere", "--json"), ("--version",)):
        here, there = rye.run(*arguments), rye.spawn(*arguments)
        assert (here.code, here.stdout, here.stderr) == (there.code, there.stdout, there.stderr)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("stdout", "words"),
    rest_thorough(
        3,
        [
            *(
                (">/dev/full", "install -q"),
                (">&-", "list --json"),
                ("| true", "--version"),
                (">/dev/full", "nowhere --json"),
            ),
            *(
                (">/dev/full", "list --json"),
                (">&-", "install -q"),
                ("| true", "install -q"),
                (">&-", "nowhere --json"),
            ),
            *(
                (">/dev/full", "--version"),
                (">&-", "--version"),
                ("| true", "list --json"),
                ("| true", "nowhere --json"),
            ),
        ],
    ),
)
def test_a_stdout_that_takes_nothing_is_no_crash(rye: Person, stdout: str, words: str) -> None:
    """A full disk, no stdout at all, or a reader that closed it. `install` runs again, when its answer is remembered."""
    rye.write("rye.toml", "")
    rye.write("rye.lock", "# Made by rye; do not edit. Reviews should look at `approved`.\nversion = 1\n")
    rye.path(".ai/packages").mkdir(parents=True)
    if words.startswith("install"):
        rye.ok(*words.split())
        code = f"from rye.cli import unchanged; unchanged._SETTLED_SECONDS = -60; {RYE}"  # no waiting for that
        subprocess.run([sys.executable, "-c", code, *words.split()], cwd=rye.folder, env=rye.environment, check=True)
        assert list((rye.home / "data" / "unchanged").iterdir())
    command = shlex.join([sys.executable, "-c", "from rye.cli.start import main; main()", *words.split()])
    done = subprocess.run(
        ["bash", "-c", f"{command} {stdout}; exit ${{PIPESTATUS[0]}}"],
        cwd=rye.folder,
        env=rye.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 2), done
    for word in ("Traceback", "Exception ignored", "Internal error"):
        assert word not in done.stderr, done
    if stdout == ">/dev/full":
        assert done.returncode != 0, done
        assert "No space left" in done.stderr, done


def test_removing_an_id_that_two_kinds_have_lists_them(rye: Person) -> None:
    """An ambiguous id is an error that lists the candidates; the program never chooses."""
    text = '[dependencies]\n"directive:acme/work/a" = "^1"\n"tool:acme/work/a" = "^1"\n'
    rye.write("rye.toml", text)
    done = rye.run("remove", "acme/work/a", "--json")
    assert (done.code, done.error["code"]) == (2, "ambiguous")
    assert "directive:acme/work/a, tool:acme/work/a" in done.error["message"]
    assert rye.path("rye.toml").read_text() == text


def test_an_interrupt_begins_a_new_line_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal shows ^C where the question ended."""
    rye = Person(tmp_path)

    def interrupt(*_: object, **__: object) -> None:
        raise click.Abort

    monkeypatch.setattr("rye.cli.trust.keys.own_keys", interrupt)
    shown = take(rye, ("keys", "generate"), 80)
    assert shown == "$ rye keys generate\n\nerror: Interrupted. Nothing more was done.\n(exit 130)\n"
    assert rye.run("keys", "generate").stderr == "error: Interrupted. Nothing more was done.\n"


def test_a_range_that_is_none_has_one_exit_status_wherever_it_stands(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.write("own/skills/a/SKILL.md", "---\nname: a\ndescription: Does a thing.\n---\n# a\n")
    sources = '[sources]\nown = { path = "own" }\n'
    rye.write("rye.toml", sources)
    refused = [rye.run("add", "skill:own/a@^^1", "--json")]
    rye.write("rye.toml", f'{sources}[dependencies]\n"skill:own/a" = "^^1"\n')
    refused.append(rye.run("install", "--json"))
    rye.write("rye.toml", f'{sources}[dependencies]\n"skill:own/a" = "*"\n[overrides]\n"skill:own/a" = "^^1"\n')
    refused.append(rye.run("install", "--json"))
    assert [(one.code, one.error["code"]) for one in refused] == [(2, "bad-range")] * 3
    assert "rye.toml" in refused[1].error["message"]


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("explain", "unpinned-fetch"), 2, "docs/reference/facts.md"),
        (("verify", "acme/work/plan"), 1, "takes files and folders, not ids"),
        (("verify", "skill:pdf"), 1, "takes files and folders, not ids"),
        (("verify", "plan.md"), 1, "Check the path."),
        (("permissions", "acme/work/plan"), 2, "`rye permissions show acme/work/plan`"),
    ],
)
def test_an_answer_to_the_wrong_sort_of_word_says_what_takes_it(
    rye: Person, words: tuple[str, ...], code: int, hint: str
) -> None:
    refused = rye.run(*words, "--json")
    assert refused.code == code
    assert hint in refused.error["hint"]


def test_what_is_not_alike_is_not_offered(rye: Person) -> None:
    said = rye.run("add", "acme/x", "--dev").stderr
    assert "No such option '--dev'" in said
    assert "Did you mean" not in said
