"""Registry outages (DESIGN 6.1, last paragraph): what continues, what fails, how fast, and what an unchanged head costs."""

from __future__ import annotations

import re
import shutil
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from rye.limits import REGISTRY
from rye.registry.client import RegistryClient
from rye.registry.transport.http import HttpTransport
from rye.registry.transport.http_connection import Answer
from rye.registry.transport.seam import FetchError, Request, Tagged
from tests.scenes.person import Person, Result
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.release("work/base")
    author.release("work/top", depends=(("acme/work/base", "^1.0"),))
    return author


@pytest.fixture
def user(registry: Registry, acme: Person) -> Person:
    """Someone who installed both items while the registry was up."""
    person = registry.user()
    person.ok("add", "acme/work/top", "--yes")
    return person


@pytest.fixture(scope="module")
def installed(registry: Registry, acme: Person) -> Person:
    person = registry.user()
    person.ok("add", "acme/work/top", "--yes")
    return person


@pytest.fixture(scope="class")
def stopped(registry: Registry, installed: Person) -> Iterator[None]:
    """The registry is down for all tests of a class."""
    registry.stop()
    yield
    registry.start()


@pytest.fixture
def away(installed: Person, stopped: None, tmp_path: Path) -> Person:
    """A user who installed both items before the registry went down."""
    shutil.copytree(installed.home, tmp_path / "home")
    shutil.copytree(installed.folder, tmp_path / "project")
    person = Person(tmp_path)
    person.environment["RYE_TRUST_LOCK"] = "1"  # the project was accepted in the other folder
    return person


def lose_files(person: Person) -> None:
    shutil.rmtree(person.path(".ai/packages"))


def timed(person: Person, *words: str, patience: float = REGISTRY.answer_seconds) -> tuple[Result, float]:
    """The run and its duration in seconds; ``patience``: how long a registry that is really needed may take to answer."""
    before = REGISTRY.answer_seconds
    force_setattr(REGISTRY, "answer_seconds", patience)
    try:
        started = time.monotonic()
        result = person.run(*words)
        return result, time.monotonic() - started
    finally:
        force_setattr(REGISTRY, "answer_seconds", before)


def test_without_a_network_what_a_registry_lacks_is_dated(user: Person) -> None:
    error = user.fails("--offline", "add", "acme/work/none", "--yes", code="no-such-item")
    assert "has no 'acme/work/none', as last seen on 20" in error["message"]
    assert "as last seen" not in user.fails("add", "acme/work/none", "--yes", code="no-such-item")["message"]


class Test_A_registry_that_is_away:
    @pytest.mark.parametrize("command", [("install",), ("ci",), ("install", "--locked"), ("install", "--frozen")])
    def test_installing_goes_on_with_one_notice(self, away: Person, command: tuple[str, ...]) -> None:
        lose_files(away)
        done, seconds = timed(away, *command, patience=30)
        assert (done.code, done.stderr.count("warning:")) == (0, 1)
        assert "does not answer" in done.stderr
        assert "Using its last verified state" in done.stderr
        assert away.path(".ai/packages/acme/directives/work/top.md").exists()
        assert seconds < 15

    def test_a_lock_is_made_again_from_the_cache_by_who_says_so(self, away: Person) -> None:
        """A release may have been yanked since, so silence alone does not choose it."""
        before = away.path("rye.lock").read_bytes()
        away.path("rye.lock").unlink()
        error = away.fails("install", "--yes", code="fetch-unreachable")
        assert "rye.toml asks for acme/work/top ^1.0.0, and rye.lock does not have it." in error["message"]
        assert "`--offline`" in error["hint"]
        away.ok("install", "--yes", "--offline")
        assert away.path("rye.lock").read_bytes() == before

    def test_nothing_to_do_asks_nobody(self, away: Person) -> None:
        assert away.ok("install").stderr == ""

    @pytest.mark.parametrize(
        "command", [("add", "acme/work/base"), ("update",), ("outdated",), ("update", "acme/work/top")]
    )
    def test_what_needs_news_fails_and_says_so(self, away: Person, command: tuple[str, ...]) -> None:
        before = away.path("rye.toml").read_bytes(), away.path("rye.lock").read_bytes()
        done, seconds = timed(away, *command, "--json")
        assert (done.code, done.error["code"]) == (1, "fetch-unreachable")
        assert "does not answer" in done.error["message"]
        assert re.search(r"`rye registry serve --port \d+` starts it, with --data if", done.error["hint"])
        assert "[Errno" not in done.error["message"]
        assert done.error["message"].count("127.0.0.1") == 1
        assert seconds < 15
        assert (away.path("rye.toml").read_bytes(), away.path("rye.lock").read_bytes()) == before

    def test_hand_edits_are_shown_from_the_cache(self, away: Person) -> None:
        """The hints of `rye install` and `rye render` name this command, so it must also work without a network."""
        path = away.path(".ai/packages/acme/directives/work/base.md")
        path.write_text(path.read_text().replace("Do the work.", "Do my work."))
        done = away.ok("diff", "--edited")
        assert "-Do the work.\n+Do my work." in done.stdout
        assert "Using its last verified state" in done.stderr

    def test_what_is_neither_cached_nor_installed_is_an_error(self, away: Person) -> None:
        lose_files(away)
        shutil.rmtree(away.home / "cache")
        done = away.run("install", "--json")
        assert (done.code, done.error["code"]) == (1, "fetch-unreachable")
        assert "not cached" in done.error["message"]

    def test_three_days_later_its_age_is_the_error(self, away: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        making = RegistryClient.__init__.__kwdefaults__ or {}
        monkeypatch.setitem(making, "now", lambda: datetime.now(UTC) + timedelta(hours=73))
        lose_files(away)
        done = away.run("ci", "--json")
        assert (done.code, done.error["code"]) == (1, "head-frozen")

    def test_a_port_that_never_answers_holds_nobody(self, registry: Registry, away: Person) -> None:
        lose_files(away)
        with socket.create_server(("127.0.0.1", int(registry.url.rsplit(":", 1)[1]))):
            done, seconds = timed(away, "ci", patience=30)
            assert (done.code, done.stderr.count("warning:")) == (0, 1)
            assert seconds < 15
            done, seconds = timed(away, "outdated", "--json")
            assert (done.code, done.error["code"]) == (1, "fetch-deadline")
            assert seconds < 15


class Test_An_unchanged_head:
    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int | None]]:
        """Every request of this process: path, status, number of body bytes."""
        made: list[tuple[str, int, int | None]] = []
        attempt, read = HttpTransport._attempt, HttpTransport._read

        def attempted(
            self: HttpTransport, connection: object, request: Request, wave: object
        ) -> tuple[Tagged | FetchError, float | None]:
            found, wait = attempt(self, connection, request, wave)  # type: ignore[arg-type]
            if isinstance(found, Tagged) and found.data is None:
                made.append((request.path, 304, 0))
            return found, wait

        def answered(
            self: HttpTransport, answer: Answer, request: Request, wave: object
        ) -> tuple[Tagged | FetchError, float | None]:
            made.append((request.path, answer.status, answer.length))
            return read(self, answer, request, wave)  # type: ignore[arg-type]

        monkeypatch.setattr(HttpTransport, "_attempt", attempted)
        monkeypatch.setattr(HttpTransport, "_read", answered)
        return made

    @pytest.mark.parametrize("command", [("outdated",), ("update", "--yes"), ("update", "acme/work/base", "--yes")])
    def test_finding_nothing_new_is_one_request_without_a_body(
        self, user: Person, asked: list[tuple[str, int, int | None]], command: tuple[str, ...]
    ) -> None:
        user.ok(*command)
        asked.clear()
        user.ok(*command)
        assert asked == [("head", 304, 0)]

    def test_what_is_new_is_found_by_the_next_request(
        self, user: Person, acme: Person, asked: list[tuple[str, int, int | None]]
    ) -> None:
        assert user.ok("outdated", "--json").json == {"outdated": []}
        acme.release("work/top", "1.1.0", depends=(("acme/work/base", "^1.0"),))
        asked.clear()
        [row] = user.ok("outdated", "--json").json["outdated"]
        assert (row["id"], row["wanted"]) == ("acme/work/top", "1.1.0")
        assert asked[0][:2] == ("head", 200)
        assert user.ok("outdated", "--json").json["outdated"] == [row]

    def test_a_policy_that_changed_is_another_question(self, user: Person, acme: Person) -> None:
        acme.release("work/top", "1.2.0", depends=(("acme/work/base", "^1.0"),))
        assert user.ok("outdated", "--json").json["outdated"]
        text = user.path("rye.toml").read_text()
        user.write("rye.toml", f'{text}\n[policy]\nminimum-release-age = "5000d"\n')
        assert "younger than" in str(user.ok("outdated", "--json").json["outdated"][0]["refused"])


def test_a_lock_that_is_ahead_of_the_held_head_says_why(registry: Registry, acme: Person, user: Person) -> None:
    """A colleague updated and pushed; this machine never saw the new release. The release did not vanish."""
    acme.release("work/base", "1.0.1")
    colleague = registry.user()
    colleague.write("rye.toml", user.path("rye.toml").read_bytes())
    colleague.ok("install", "--yes")
    user.write("rye.lock", colleague.path("rye.lock").read_bytes())
    registry.stop()
    try:
        done = user.run("ci", "--json", env={"RYE_TRUST_LOCK": "1"})
    finally:
        registry.start()
    assert (done.code, done.error["code"]) == (1, "fetch-unreachable")
    assert "is not enough" in done.error["message"]
