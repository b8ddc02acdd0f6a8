"""An address is never printed, logged, locked or put into JSON with its user or password, refused ones included.

Every word and option of every command gets such addresses (from the stored table of commands), and so does every file and
variable that can hold one. What is searched: both outputs, and every file that was written.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from rye.cli.completing.answer import stored_table
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person, Result

SECRET = "hunter2secret"
FORMS = (
    f"https://robot:{SECRET}@127.0.0.1:1/x",
    f"http://robot:{SECRET}@127.0.0.1:1/x.git",
    f"https://{SECRET}@127.0.0.1:1/x",
    f"git+https://robot:{SECRET}@127.0.0.1:1/x.git#v1:skills",
    f"git+ssh://git:{SECRET}@127.0.0.1:1/x.git",
    f"ssh://robot:{SECRET}@127.0.0.1:1/x",
    f"robot:{SECRET}@127.0.0.1:x/y",
    f"ftp://robot:{SECRET}@127.0.0.1/x",
    f"https://robot:{SECRET}@[::1/x",
    f"//robot:{SECRET}@127.0.0.1/x",
    f"file://robot:{SECRET}@localhost/x",
)
"""As commands accept them, nearly so, and malformed."""
WAITS = ("init", "witness init", "mcp serve", "lsp", "registry serve", "registry demo", "demo")
"""The first two make a folder of that name and say so, the others run until they are stopped."""


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Person:
    made = Person(tmp_path_factory.mktemp("person"), "acme")
    made.ok("keys", "generate")
    made.directive("work/ship")
    made.ok("install")
    return made


def tells(result: Result) -> list[str]:
    """The lines of both outputs that have the secret."""
    return [line for line in (result.stdout + result.stderr).split("\n") if SECRET in line]


def written(person: Person, *given: Path) -> list[str]:
    """The files with the secret, but for those that the test wrote."""
    found = []
    for path in person.home.parent.rglob("*"):
        if path.is_file() and not path.is_symlink() and path not in given and SECRET.encode() in path.read_bytes():
            found.append(str(path))
    return found


def calls() -> list[tuple[str, ...]]:
    """Every command with the address as one of its words, or as the value of one of its options. ``…`` is the address."""
    found: list[tuple[str, ...]] = []
    for name, row in stored_table().items():
        if not name or name in WAITS or row.get("commands"):
            continue
        words = name.split()
        count = max(len(row["arguments"]), 1)
        for at in range(count):
            found.append((*words, *("x" for _ in range(at)), "…", *("x" for _ in range(count - at - 1))))
        fill = ["x"] * len(row["arguments"])
        found += [(*words, *fill, option, "…") for option, value in row["options"].items() if value is not None]
    found += [
        ("--registry", "…", *words) for words in (("search", "x"), ("info", "acme/a/b"), ("whoami",), ("install",))
    ]
    return found


@pytest.mark.parametrize("number", rest_thorough(1, range(len(FORMS))))
def test_no_command_tells_the_password_of_a_word(person: Person, number: int) -> None:
    """Each word gets one form plain and another one with ``--json``; an address's own words get them all."""
    wrong: list[tuple[object, ...]] = []
    for place, words in enumerate(calls()):
        takes = any(word in ("add", "import", "registry", "login", "logout", "mirror", "--registry") for word in words)
        if not takes and place % len(FORMS) != number and not os.environ.get("RYE_TEST_EVERYTHING"):
            continue
        said = tuple(FORMS[number] if word == "…" else word for word in words)
        for more in ((), ("--json",)):
            result = person.run(*said, *more, "--no-input", env={"RYE_TRACEBACK": ""})
            wrong += [(said, more, line) for line in tells(result)]
    assert not wrong, "\n".join(map(str, wrong))
    assert not written(person)


FILES = {
    "rye.toml": (
        '[project]\nname = "shop"\n\n[sources]\nodd = {{ git = "{0}" }}\n',
        '[project]\nname = "shop"\n\n[sources]\nodd = {{ git = "{0}", rev = "main" }}\n\n[dependencies]\n"odd/x" = "*"\n',
        '[project]\nname = "shop"\n\n[sources]\nodd = {{ path = "{0}" }}\n',
        '[project]\nname = "shop"\n\n[sources]\nodd = "{0}"\n',
        '[project]\nname = "shop"\n\n[registries]\ndefault = "{0}"\n\n[dependencies]\n"acme/a/b" = "*"\n',
        '[project]\nname = "shop"\n\n[registries]\n"{0}" = "x"\n',
        '[project]\nname = "shop"\n\n[registries.namespaces]\nacme = "{0}"\n\n[dependencies]\n"acme/a/b" = "*"\n',
        '[project]\nname = "shop"\n\n[deploy]\ntargets = ["{0}"]\n',
        '[project]\nname = "shop"\n\n[dependencies]\n"{0}" = "*"\n',
        '[project]\nname = "shop"\n\n[dependencies]\n"acme/a/b" = "{0}"\n',
        '[project]\nname = "shop"\n\n[workspace]\nmembers = ["{0}"]\n',
        '[project]\nname = "shop"\n\n[sandbox."tool:acme/t/w"]\nnetwork = ["{0}"]\n',
        "{0}\n",
    ),
    "skills-lock.json": (
        '{{"version": 1, "skills": {{"pdf": {{"source": "{0}", "sourceUrl": "{0}", "sourceType": "git", '
        '"skillPath": "skills/pdf/SKILL.md", "computedHash": "' + "1" * 64 + '"}}}}}}',
        '{{"version": 1, "skills": {{"{0}": {{"source": "{0}"}}}}}}',
    ),
    "apm.yml": ("name: x\nversion: 1.0.0\ndependencies:\n  apm:\n  - {0}\n", "name: {0}\nversion: 1.0.0\n"),
    "apm.lock.yaml": ("lockfile_version: '1'\ndependencies:\n- repo_url: {0}\n  resolved_commit: " + "a" * 40 + "\n",),
    ".claude-plugin/marketplace.json": (
        '{{"name": "m", "plugins": [{{"name": "p", "source": {{"source": "url", "url": "{0}"}}}}]}}',
        '{{"name": "m", "plugins": [{{"name": "p", "source": "{0}"}}]}}',
        '{{"name": "{0}", "plugins": [{{"name": "{0}", "source": {{"source": "git", "repo": "{0}"}}}}]}}',
    ),
    "toolhive.lock.yaml": ("version: 1\nskills:\n- name: a\n  reference: {0}\n  digest: sha256:" + "1" * 64 + "\n",),
}
READ_FILES = (
    ("list",),
    ("install",),
    ("ci",),
    ("lock",),
    ("check",),
    ("audit",),
    ("outdated",),
    ("tree",),
    ("update",),
    ("add", "acme/a/b"),
    ("deploy",),
    ("sbom",),
    ("import", "--dry-run"),
    ("import", "--yes"),
)


def in_turn(commands: tuple[tuple[str, ...], ...], number: int, step: int) -> tuple[tuple[str, ...], ...]:
    """The commands that get a form: every ``step``-th, others for the next form, so that each gets several of them."""
    return commands if os.environ.get("RYE_TEST_EVERYTHING") else commands[number % step :: step]


@pytest.mark.thorough
@pytest.mark.parametrize("file", rest_thorough(1, FILES))
def test_no_command_tells_the_password_of_a_file(tmp_path: Path, file: str) -> None:
    wrong: list[tuple[object, ...]] = []
    for number, template in enumerate(FILES[file]):
        for form, address in enumerate(FORMS):
            person = Person(tmp_path / f"{number}-{form}", "shop")
            path = person.write(file, template.format(address))
            before = path.read_bytes()
            commands = in_turn(READ_FILES, form, 7) if file == "rye.toml" else READ_FILES[-2:]
            for words in commands:
                for more in ((), ("--json",)):
                    result = person.run(*words, *more, "--no-input")
                    wrong += [(file, template, address, words, more, line) for line in tells(result)]
                    assert path.read_bytes() == before or words[0] in ("import",)
            wrong += [(file, template, address, place) for place in written(person, path)]
    assert not wrong, "\n".join(map(str, wrong[:40])) + f"\n{len(wrong)}"


READ_VARIABLES = (
    ("install",),
    ("search", "x"),
    ("info", "acme/a/b"),
    ("registry", "add", "https://127.0.0.1:1/"),
    ("add", "git+https://127.0.0.1:1/x.git", "--all"),
    ("doctor",),
    ("registry", "list"),
    ("config", "list"),
)
VARIABLES = ("RYE_REGISTRY", "RYE_PINS", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "RYE_COLOR")


@pytest.mark.parametrize("variable", rest_thorough(1, VARIABLES))
def test_no_command_tells_the_password_of_a_variable(tmp_path: Path, variable: str) -> None:
    wrong: list[tuple[object, ...]] = []
    for number, address in enumerate(FORMS):
        person = Person(tmp_path / str(number), "shop")
        value = address
        given: tuple[Path, ...] = ()
        if variable == "RYE_PINS":
            listed = tmp_path / f"pins-{number}"
            listed.write_text(f"registry.example {'0' * 64} {address}\n")
            value, given = str(listed), (listed,)
        for words in in_turn(READ_VARIABLES, number, 3):
            for more in ((), ("--json",)):
                result = person.run(*words, *more, "--no-input", env={variable: value})
                wrong += [(variable, address, words, more, line) for line in tells(result)]
        wrong += [(variable, address, place) for place in written(person, *given)]
    assert not wrong, "\n".join(map(str, wrong[:40])) + f"\n{len(wrong)}"


@pytest.mark.processes
def test_no_command_tells_the_password_of_a_remote(tmp_path: Path) -> None:
    person = Person(tmp_path, "acme")
    subprocess.run(["git", "init", "-q"], cwd=person.folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", FORMS[0]], cwd=person.folder, check=True)
    person.ok("keys", "generate")
    person.directive("work/ship")
    config = person.path(".git/config")
    wrong: list[tuple[object, ...]] = []
    for words in (
        ("publish", ".ai/directives/work/ship.md"),
        ("check",),
        ("list",),
        ("init",),
        ("install",),
        ("sbom",),
        ("doctor",),
    ):
        for more in ((), ("--json",)):
            wrong += [(words, more, line) for line in tells(person.run(*words, *more, "--no-input"))]
    assert not wrong, "\n".join(map(str, wrong))
    assert not written(person, config)


def test_ordinary_words_are_told_as_they_are(tmp_path: Path) -> None:
    """The control: what hides passwords changes no id, version, address or key."""
    person = Person(tmp_path, "acme")
    for word in ("skill:pdf@1.0.0", "acme/a/b@^1.2", "https://127.0.0.1:1/x", "git@host:owner/name", "a@b.example"):
        result = person.run("show", word, "--json")
        assert "…" not in json.dumps(result.error, ensure_ascii=False), (word, result.error)
