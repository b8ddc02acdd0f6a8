"""Attacks on the connection: servers that stall, redirect or try to get the token (docs/reference/protocol.md, Writing)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rye.registry.protocol import wire
from tests.attacks.hostile_server import (
    Connection,
    Fault,
    HostileServer,
    answer,
    bomb,
    breaks_off,
    drips_headers,
    encoded,
    endless,
    not_http,
    redirects,
    silent,
    status,
)
from tests.attacks.simulation import IMPATIENT, Attack, Attacker, AttackRunner, progress
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.slow

DEAF = replace(IMPATIENT, stall_seconds=0.3)
LOGIN = ("login", "{url}", "--token", "sesame")
WHOAMI = json.dumps({"name": "mira", "token": "laptop", "namespaces": ["acme"]}).encode()


def writable(files: dict[str, bytes]) -> None:
    """A registry with an API."""
    files["config.json"] = wire.encode_config(wire.Config(wire.PROTOCOL_VERSION, "registry.example", "/api"))
    files["api/whoami"] = WHOAMI


def on_head(fault: Fault) -> Callable[[Attacker], None]:
    return lambda attacker: attacker.fault("head", fault)


def head_goes_to(target: Callable[[Attacker], str]) -> Callable[[Attacker], None]:
    def act(attacker: Attacker) -> None:
        attacker.elsewhere.serve(attacker.present.files)
        attacker.fault("head", redirects(target(attacker)))

    return act


def api_goes_to(target: Callable[[Attacker], str], code: int = 302) -> Callable[[Attacker], None]:
    """The API redirects the caller, and with it the token, to another address."""

    def act(attacker: Attacker) -> None:
        attacker.elsewhere.serve({"api/whoami": WHOAMI})
        attacker.fault("api/whoami", redirects(target(attacker), code))

    return act


def api_named(address: Callable[[Attacker], str]) -> Callable[[Attacker], None]:
    """config.json names this address as the API's."""

    def act(attacker: Attacker) -> None:
        attacker.elsewhere.serve({"api/whoami": WHOAMI, "whoami": WHOAMI})
        config = {"protocol": wire.PROTOCOL_VERSION, "origin": "registry.example", "api": address(attacker)}
        attacker.replace("config.json", json.dumps(config).encode())

    return act


def localhost(attacker: Attacker) -> str:
    """The same machine by another name, which counts as another host for tokens."""
    return f"http://localhost:{attacker.server.port}"


PATIENCE = (
    Attack(
        name="headers that drip", power="mirror", code="fetch-deadline", act=on_head(drips_headers), limits=IMPATIENT
    ),
    Attack(
        name="a server that says nothing", power="mirror", code="fetch-unreachable", act=on_head(silent), limits=DEAF
    ),
    Attack(
        name="an answer that breaks off",
        power="mirror",
        code="fetch-truncated",
        act=lambda attacker: attacker.fault("head", breaks_off(attacker.present.files["head"])),
        limits=IMPATIENT,
    ),
    Attack(
        name="an answer that is not HTTP",
        power="mirror",
        code="fetch-truncated",
        act=on_head(not_http),
        limits=IMPATIENT,
    ),
    Attack(
        name="a server that is always busy",
        power="mirror",
        code="fetch-status",
        act=on_head(status(503)),
        limits=IMPATIENT,
    ),
    Attack(
        name="a server that asks to wait for a year",
        power="mirror",
        code="fetch-status",
        act=on_head(status(429, Retry_After="31536000")),
        limits=IMPATIENT,
    ),
    Attack(
        name="a compressed head",
        power="mirror",
        code="fetch-status",
        act=lambda attacker: attacker.fault("head", encoded(bomb(), "gzip")),
    ),
)

REDIRECTS = (
    Attack(
        name="a redirect to another host",
        power="mirror",
        code="fetch-redirect",
        act=head_goes_to(lambda attacker: f"{attacker.elsewhere.url}/head"),
    ),
    Attack(
        name="a redirect to the same machine by another name",
        power="mirror",
        code="fetch-redirect",
        act=head_goes_to(lambda attacker: f"{localhost(attacker)}/head"),
    ),
    Attack(
        name="a redirect to a file",
        power="mirror",
        code="fetch-redirect",
        act=head_goes_to(lambda _: "file:///etc/passwd"),
    ),
    Attack(
        name="a redirect with a password",
        power="mirror",
        code="fetch-redirect",
        act=head_goes_to(lambda attacker: attacker.server.url.replace("//", "//me:pw@") + "/head"),
    ),
    Attack(name="redirects without end", power="mirror", code="fetch-redirect", act=head_goes_to(lambda _: "/head")),
    Attack(
        name="a redirect to no address",
        power="mirror",
        code="fetch-redirect",
        act=head_goes_to(lambda _: "http://[::1"),
        limits=IMPATIENT,
    ),
)

TOKENS = (
    Attack(
        name="an API that redirects the token to another host",
        power="log key",
        code="fetch-redirect",
        act=api_goes_to(lambda attacker: f"{attacker.elsewhere.url}/api/whoami"),
        start="stranger",
    ),
    Attack(
        name="an API that redirects the token with its method",
        power="log key",
        code="fetch-redirect",
        act=api_goes_to(lambda attacker: f"{attacker.elsewhere.url}/api/whoami", 307),
        start="stranger",
    ),
    Attack(
        name="an API that redirects the token to another name",
        power="log key",
        code="fetch-redirect",
        act=api_goes_to(lambda attacker: f"{localhost(attacker)}/api/whoami"),
        start="stranger",
    ),
    Attack(
        name="a config.json with an API on another host",
        power="mirror",
        code="config-malformed",
        act=api_named(lambda attacker: f"{attacker.elsewhere.url}/api"),
        start="stranger",
    ),
    Attack(
        name="a config.json with an API under another name",
        power="mirror",
        code="config-malformed",
        act=api_named(lambda attacker: f"{localhost(attacker)}/api"),
        start="stranger",
    ),
    Attack(
        name="a config.json with an API on no host",
        power="mirror",
        code="config-malformed",
        act=api_named(lambda attacker: f"//127.0.0.1:{attacker.elsewhere.port}/api"),
        start="stranger",
    ),
    Attack(
        name="a config.json with an API behind a user name",
        power="mirror",
        code="config-malformed",
        act=api_named(
            lambda attacker: f"http://127.0.0.1:{attacker.server.port}@127.0.0.1:{attacker.elsewhere.port}/api"
        ),
        start="stranger",
    ),
    Attack(
        name="a config.json with an API behind a backslash",
        power="mirror",
        code="config-malformed",
        act=api_named(lambda attacker: f"{attacker.server.url}\\@127.0.0.1:{attacker.elsewhere.port}/api"),
        start="stranger",
    ),
    Attack(
        name="an API that answers with a compressed bomb",
        power="log key",
        code="fetch-too-large",
        act=lambda attacker: attacker.fault("api/whoami", encoded(bomb(), "gzip")),
        start="stranger",
    ),
    Attack(
        name="an API that answers without end",
        power="log key",
        code="fetch-too-large",
        act=lambda attacker: attacker.fault("api/whoami", endless),
        start="stranger",
    ),
    Attack(
        name="an API that answers with something else",
        power="log key",
        code="answer-malformed",
        act=lambda attacker: attacker.replace("api/whoami", b"[]"),
        start="stranger",
    ),
)


def logging_in(attack: Attack) -> Attack:
    return replace(attack, command=(*LOGIN, "--fingerprint", "{pin}"), files=writable)


@pytest.mark.parametrize("attack", rest_thorough(4, [*PATIENCE, *REDIRECTS]), ids=lambda attack: attack.name)
def test_the_way_to_a_file_is_short_and_straight(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(attack)
    assert runner.elsewhere.seen == []


@pytest.mark.parametrize("attack", TOKENS, ids=lambda attack: attack.name)
def test_a_token_goes_to_its_registry_and_nowhere_else(runner: AttackRunner, attack: Attack) -> None:
    runner.perform(logging_in(attack))
    assert runner.elsewhere.seen == []
    assert set(runner.server.headers("authorization")) <= {"Bearer sesame"}
    assert all(seen.headers["host"] == f"127.0.0.1:{runner.server.port}" for seen in runner.server.seen)
    assert all(seen.path.startswith("api/") for seen in runner.server.seen if "authorization" in seen.headers)


def logged_in(runner: AttackRunner) -> Person:
    user = runner.user("pinned")
    registry = runner.past.fork()
    progress(registry)
    registry.publish()
    runner.server.serve(registry.files)
    writable(runner.server.files)
    user.ok("login", runner.server.url, "--token", "sesame")
    return user


def test_installing_tells_the_token_to_nobody(runner: AttackRunner) -> None:
    user = logged_in(runner)
    runner.server.seen.clear()
    user.ok("add", "directive:acme/ops/deploy", "--yes")
    assert runner.server.headers("authorization") == []


def found(description: str) -> bytes:
    row = {"id": "acme/ops/deploy", "kind": "directive", "version": "1.0.0", "description": description, "score": 1.0}
    return json.dumps({"results": [row], "total": 1}).encode()


@pytest.mark.parametrize(
    "text", ["\x1b]0;pwned\x07\x1b[2J", "\x9b2J", "a\rb\x08", "\u202egnol", "x\U000e0041y", "\x7f"]
)
@pytest.mark.parametrize("json_mode", [False, True])
def test_what_an_api_says_does_not_steer_the_terminal(runner: AttackRunner, text: str, json_mode: bool) -> None:
    user = logged_in(runner)
    runner.server.files["api/search"] = found(f"A {text} thing")
    result = user.ok("search", "deploy", *(["--json"] if json_mode else []))
    shown = result.stdout + result.stderr
    assert "thing" in shown
    assert all(character == "\n" or character == "\t" or character.isprintable() for character in shown)


def test_an_apis_error_does_not_steer_the_terminal(runner: AttackRunner) -> None:
    user = logged_in(runner)
    body = json.dumps({"error": {"code": "no", "message": "\x1b[2Jnever", "hint": "run \x1b]8;;evil\x07this"}}).encode()

    def refuse(connection: Connection) -> None:
        answer(connection, 403, body)

    runner.server.faults["api/whoami"] = refuse
    result = user.run("whoami")
    assert result.code == 1
    assert "never" in result.stderr
    assert "\x1b" not in result.stdout + result.stderr


def test_what_an_api_finds_is_shown_and_nothing_else(runner: AttackRunner) -> None:
    user = logged_in(runner)
    row = {"kind": "directive", "version": "1.0.0", "description": "x", "score": 1.0}
    rows = [
        {"id": name, **row}
        for name in ("../../etc/passwd", "acme/../x", "acme/ops/deploy; rm -rf ~", "acme/ops/deploy")
    ]
    runner.server.files["api/search"] = json.dumps({"results": rows, "total": 4}).encode()
    ids = [shown["id"] for shown in user.ok("search", "deploy", "--json").json["results"]]
    assert ids == ["acme/ops/deploy"]


@pytest.mark.parametrize("score", [1e300, 2.0, -5.0])
def test_a_registry_ranks_itself_no_higher_than_the_best_match(runner: AttackRunner, score: float) -> None:
    user = logged_in(runner)
    runner.server.files["api/search"] = found("A thing").replace(b"1.0}", f"{score}}}".encode())
    [shown] = user.ok("search", "deploy", "--json").json["results"]
    assert 0 <= shown["score"] <= 1


def test_a_server_that_hangs_up_harms_nobody() -> None:
    with HostileServer({"head": b"x"}) as server:
        assert server.url.startswith("http://127.0.0.1:")
