"""A git server that is off, hangs, breaks off or is out of order is silent; one that refuses or is wrong is not, and neither the
server's words nor the address decide which."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from rye.limits import SOURCES
from rye.sources.git_failures import failed
from rye.sources.source_error import SilentSource
from tests.scenes.effort import rest_thorough
from tests.scenes.gates import Gate
from tests.scenes.person import Person
from tests.sources.git_server import GitServer
from tests.sources.texts import skill

URL = "https://git.example/team/prompts.git"
GERMAN = {"LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"}
UNREAD = """fatal: Could not read from remote repository.

Please make sure you have the correct access rights
and the repository exists."""
"""What git adds to the words of ssh."""


def unable(why: str) -> str:
    return f"fatal: unable to access '{URL}/': {why}"


def over_ssh(why: str) -> str:
    return f"{why}\n{UNREAD}"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (unable("Could not resolve host: git.example"), "Could not resolve host"),
        (unable("Failed to connect to git.example port 443 after 3 ms: Connection refused"), "Connection refused"),
        (unable("Could not connect to server"), "Could not connect"),
        (unable("Operation timed out after 20000 milliseconds"), "timed out"),
        (unable("The requested URL returned error: 503"), "503"),
        (unable("The requested URL returned error: 522"), "522"),
        (unable("The requested URL returned error: 429"), "429"),
        (unable("Received HTTP code 503 from proxy after CONNECT"), "503"),
        (unable("Empty reply from server"), "Empty reply"),
        ("error: RPC failed; curl 18 transfer closed with outstanding data\nfatal: early EOF", "early EOF"),
        ("fatal: the remote end hung up unexpectedly", "hung up"),
        (over_ssh("ssh: connect to host git.example port 22: Connection refused"), "port 22: Connection refused"),
        (over_ssh("ssh: Could not resolve hostname git.example: Name or service not known"), "Could not resolve"),
        (over_ssh("kex_exchange_identification: Connection closed by remote host"), "Connection closed"),
    ],
)
def test_silence(said: str, reason: str) -> None:
    error = failed(URL, said)
    assert isinstance(error, SilentSource)
    assert URL in error.message
    assert reason in error.message


@pytest.mark.parametrize(
    "said",
    [
        f"fatal: Authentication failed for '{URL}/'",
        f"fatal: could not read Username for '{URL}': terminal prompts disabled",
        unable("The requested URL returned error: 403"),
        unable("The requested URL returned error: 401"),
        f"remote: The connection timed out\n{unable('The requested URL returned error: 403')}",
        "remote: Connection refused\nfatal: repository 'https://git.example/team/prompts.git/' not found",
        "error: RPC failed; HTTP 413 curl 22 The requested URL returned error: 413\nfatal: the remote end hung up unexpectedly",
        unable("SSL certificate problem: certificate has expired; Connection reset"),
        unable("Received HTTP code 407 from proxy after CONNECT"),
        over_ssh("git@git.example: Permission denied (publickey)."),
        over_ssh("Host key verification failed."),
        "fatal: remote error: access denied or repository not exported: timed out",
    ],
)
def test_an_answer(said: str) -> None:
    assert not isinstance(failed(URL, said), SilentSource)


def test_the_address_decides_nothing() -> None:
    url = "https://git.example/Connection refused/timed out.git"
    assert not isinstance(failed(url, f"fatal: '{url}' does not appear to be a git repository"), SilentSource)


def test_the_reason_of_ssh_is_told() -> None:
    said = over_ssh("git@git.example: Permission denied (publickey).")
    error = failed(URL, said)
    assert error.message == f"{URL} cannot be fetched: git@git.example: Permission denied (publickey)."
    assert "ssh key" in (error.hint or "")


def test_the_reason_of_ssh_ends_as_its_line_does() -> None:
    error = failed(URL, over_ssh("ssh: Could not resolve hostname git.example: Name or service not known\r"))
    assert (
        error.message == f"{URL} cannot be fetched: Could not resolve hostname git.example: Name or service not known."
    )
    assert isinstance(error, SilentSource)


class TestRealServers:
    """Two repositories, one of which is behind a gate. The user's language is not English."""

    pytestmark = pytest.mark.processes

    @pytest.fixture
    def gate(self, server: GitServer) -> Iterator[Gate]:
        with Gate(server.address) as gate:
            yield gate

    @pytest.fixture
    def user(self, server: GitServer, gate: Gate, person: Person) -> Person:
        repositories = {name: server.repository(name) for name in ("near", "far")}
        for name, address in (("near", server.address), ("far", gate.url)):
            repositories[name].commit({f"skills/{name}-one/SKILL.md": skill(f"{name}-one")})
            person.ok("add", f"git+{address}/{name}.git", f"{name}-one", "--as", name, "-y")
        repositories["near"].commit({"skills/near-one/SKILL.md": skill("near-one", body="Newer words.")})
        person.environment.update(GERMAN)
        return person

    @pytest.mark.parametrize(
        "shut",
        rest_thorough(1, [Gate.refuse, Gate.hang, Gate.break_off, lambda gate: gate.answer("503 Service Unavailable")]),
        ids=["off", "hanging", "broken off", "out of order"],
    )
    def test_who_is_silent_is_named_and_the_other_goes_on(
        self, user: Person, gate: Gate, shut: Callable[[Gate], None]
    ) -> None:
        before = SOURCES.refs_seconds
        shut(gate)
        force_setattr(SOURCES, "refs_seconds", 1.5)
        try:
            done = user.run("outdated", "--json")
            user.ok("update", "near/near-one", "--yes")
        finally:
            force_setattr(SOURCES, "refs_seconds", before)
        assert done.code == 1
        assert [row["id"] for row in done.json["outdated"]] == ["near/near-one"]
        [missing] = done.json["not_asked"]
        assert missing["registry"] == f"git+{gate.url}/far.git"
        assert f"{gate.url}/far.git" in missing["message"]

    @pytest.mark.parametrize("status", rest_thorough(1, ["401 Unauthorized", "403 Forbidden", "404 Not Found"]))
    def test_a_refusal_ends_every_command(self, user: Person, gate: Gate, status: str) -> None:
        gate.answer(status)
        for command in (("outdated",), ("update",)):
            assert "not_asked" not in user.fails(*command, code="source-unreachable")

    @pytest.fixture
    def several(self, server: GitServer, person: Person) -> Iterator[list[Gate]]:
        """Three repositories, each behind a gate of its own, and a user who has an item of each."""
        with ExitStack() as stack:
            gates = [stack.enter_context(Gate(server.address)) for _ in range(3)]
            for number, gate in enumerate(gates):
                server.repository(f"r{number}").commit({f"skills/s{number}/SKILL.md": skill(f"s{number}")})
                person.ok("add", f"git+{gate.url}/r{number}.git", f"s{number}", "--as", f"r{number}", "-y")
            yield gates

    @pytest.mark.parametrize("command", [("outdated",), ("update", "--yes"), ("ci",)], ids=lambda words: words[0])
    def test_none_waits_for_another(self, several: list[Gate], person: Person, command: tuple[str, ...]) -> None:
        """Each answers only once all three have been asked. What is locked and cached needs nobody."""
        if command == ("ci",):
            shutil.rmtree(person.home / "cache")
            shutil.rmtree(person.path(".ai/packages"))
        together = threading.Barrier(3)
        for gate in several:
            gate.meet(together)
        person.ok(*command, env={"RYE_TRUST_LOCK": "1"})
        assert not together.broken

    @pytest.mark.parametrize("command", [("outdated",), ("ci",)], ids=lambda words: words[0])
    def test_who_hangs_costs_one_time_limit_together(
        self, several: list[Gate], person: Person, command: tuple[str, ...]
    ) -> None:
        """Also where only a locked commit is missing, for which git alone would wait for minutes."""
        for gate in several:
            gate.hang()
        if command == ("ci",):
            shutil.rmtree(person.home / "cache")
            shutil.rmtree(person.path(".ai/packages"))
        before = SOURCES.refs_seconds
        force_setattr(SOURCES, "refs_seconds", 2.0)
        started = time.monotonic()
        try:
            error = person.fails(*command, code="source-timeout", env={"RYE_TRUST_LOCK": "1"})
        finally:
            force_setattr(SOURCES, "refs_seconds", before)
        assert f"{several[0].url}/r0.git does not answer" in error["message"]
        assert time.monotonic() - started < 5.5, "one after the other it would be six seconds"

    @pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh")
    def test_ssh_to_a_port_where_nobody_listens(self, person: Person, gate: Gate, tmp_path: Path) -> None:
        gate.refuse()
        url = f"ssh://git@127.0.0.1:{gate.port}/far.git"
        error = person.run("add", f"git+{url}", "far-one", "--as", "far", "-y", "--json", env=GERMAN).error
        assert error["code"] == "source-unreachable"
        assert "Connection refused" in error["message"]
