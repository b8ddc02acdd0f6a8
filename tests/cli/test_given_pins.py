"""RYE_PINS: a build server's pins come from its operator, never from the repository (DESIGN 6.1)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.registry_process import ORIGIN

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    return author


@pytest.fixture
def server(registry: Registry, acme: Person, tmp_path: Path) -> Person:
    """A build server with a checkout and without any state: it pinned nothing."""
    team = registry.user()
    team.ok("add", "acme/work/base", "--yes")
    made = Person(tmp_path / "server")
    shutil.copytree(team.folder, made.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".rye", "packages"))
    made.environment["RYE_TRUST_LOCK"] = "1"
    return made


def pins(server: Person, *lines: str) -> dict[str, str]:
    path = server.home / "pins"
    path.write_text("".join(f"{line}\n" for line in lines))
    return {"RYE_PINS": str(path)}


def test_a_line_pins_and_the_pin_stays(registry: Registry, server: Person) -> None:
    assert server.run("ci", "--json").error["code"] == "registry-unpinned"
    server.ok("ci", env=pins(server, f"{ORIGIN} {registry.fingerprint} {registry.url}"))
    server.ok("ci")


def test_the_lines_that_a_registry_list_prints_pin(registry: Registry, acme: Person, server: Person) -> None:
    team = registry.user()
    printed = team.ok("registry", "list", "--pins")
    assert printed.stdout.splitlines() == [f"{ORIGIN} {registry.fingerprint} {registry.url}"]
    assert team.ok("registry", "list", "--pins", "--json").json == {"pins": printed.stdout.splitlines()}
    server.ok("ci", env=pins(server, *printed.stdout.splitlines()))


def test_a_reader_pins_by_it_too_and_nobody_is_asked(registry: Registry, server: Person) -> None:
    env = pins(server, f"{ORIGIN} {registry.fingerprint} {registry.url}")
    server.ok("ci", env=env)
    shutil.rmtree(server.home / "data")
    server.ok("render", "acme/work/base", env=env)


@pytest.mark.parametrize("pinned", [True, False])
def test_another_origin_or_fingerprint_is_an_error(registry: Registry, server: Person, pinned: bool) -> None:
    if pinned:
        server.ok("registry", "add", registry.url, "--fingerprint", registry.fingerprint)
    for line, code in (
        (f"other.example {registry.fingerprint} {registry.url}", "root-origin"),
        (f"{ORIGIN} {'0' * 64} {registry.url}", "root-fingerprint"),
    ):
        for words in (["ci"], ["info", "acme/work/base"]):
            assert server.run(*words, "--json", env=pins(server, line)).error["code"] == code
    assert not server.path(".ai/packages").exists()


def test_another_fingerprint_stops_what_needs_no_registry_any_more(registry: Registry, server: Person) -> None:
    """Everything is installed and was verified here, so nothing would be asked."""
    server.ok("ci", env=pins(server, f"{ORIGIN} {registry.fingerprint} {registry.url}"))
    for words in (
        ("ci",),
        ("install",),
        ("install", "--frozen"),
        ("render", "acme/work/base"),
        ("list",),
        ("tree",),
        ("why", "acme/work/base"),
        ("sbom",),
    ):
        server.ok(*words, "--offline", env=pins(server, f"{ORIGIN} {registry.fingerprint} {registry.url}"))
        for line, code in (
            (f"{ORIGIN} {'0' * 64} {registry.url}", "root-fingerprint"),
            (f"{ORIGIN} {'0' * 64} https://elsewhere.example", "root-fingerprint"),
            (f"other.example {registry.fingerprint} {registry.url}", "root-origin"),
        ):
            assert server.run(*words, "--offline", "--json", env=pins(server, line)).error["code"] == code, words
    server.ok("registry", "remove", registry.url, env=pins(server, f"{ORIGIN} {'0' * 64} {registry.url}"))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# a remark",
        "registry.example.org",
        "registry.example.org abc https://registry.example",
        "registry.example.org " + "A" * 64 + " https://registry.example",
        "registry.example.org  " + "a" * 64 + " https://registry.example",
        "registry.example.org " + "a" * 64 + " https://registry.example more",
        "registry.example.org " + "a" * 64 + " ftp://registry.example",
    ],
)
def test_a_malformed_line_is_an_error(registry: Registry, server: Person, line: str) -> None:
    """Even if its registry is not needed."""
    good = f"{ORIGIN} {registry.fingerprint} {registry.url}"
    error = server.run("ci", "--json", env=pins(server, good, line)).error
    assert (error["code"], "line 2" in error["message"]) == ("bad-pins", True)


def test_a_file_that_is_not_there_and_an_address_twice(registry: Registry, server: Person) -> None:
    assert server.run("ci", "--json", env={"RYE_PINS": "nowhere"}).error["code"] == "bad-pins"
    good = f"{ORIGIN} {registry.fingerprint} {registry.url}"
    assert server.run("ci", "--json", env=pins(server, good, good)).error["code"] == "bad-pins"


def test_one_that_is_not_needed_is_never_contacted(registry: Registry, server: Person) -> None:
    """Nothing listens on port 9, so contacting it would fail."""
    unneeded = f"other.example {'a' * 64} http://127.0.0.1:9"
    server.ok("ci", env=pins(server, unneeded, f"{ORIGIN} {registry.fingerprint} {registry.url}"))


def test_a_fingerprint_in_the_repository_pins_nothing(registry: Registry, server: Person) -> None:
    server.write("pins", f"{ORIGIN} {registry.fingerprint} {registry.url}\n")
    server.write(".ai/pins", f"{ORIGIN} {registry.fingerprint} {registry.url}\n")
    assert server.run("ci", "--json").error["code"] == "registry-unpinned"


def test_a_file_that_came_with_the_repository_pins_nothing(registry: Registry, server: Person) -> None:
    line = f"{ORIGIN} {registry.fingerprint} {registry.url}\n"
    server.path("pins").write_text(line)
    for named in ("pins", "./pins", str(server.path("pins"))):
        error = server.run("ci", "--json", env={"RYE_PINS": named}).error
        assert (error["code"], "inside the project" in error["message"]) == ("bad-pins", True)
