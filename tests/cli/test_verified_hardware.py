"""A namespace that requires verification by PIN or finger, with a security key in software: it needs no OpenSSH."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rye.limits import AGENT
from rye.signing.keys import PrivateKey
from rye.signing.ssh_wire import SECURITY_KEY, Reader
from tests.scenes.person import Person
from tests.scenes.registry import Registry
from tests.scenes.security_keys import SecurityKey
from tests.scenes.ssh_agents import answering_agent, identities, signed

pytestmark = pytest.mark.processes
TOUCHED = SecurityKey(PrivateKey(b"\x21" * 32))
VERIFIED = replace(TOUCHED, flags=5)


def agent_with(key: SecurityKey) -> Callable[[bytes], bytes]:
    def answer(request: bytes) -> bytes:
        if request[0] == 11:
            return identities(key.public.ssh)
        reader = Reader(request[1:])
        reader.string(1000)
        signature = key.sign(reader.string(AGENT.answer_bytes))
        return signed(signature[:64], SECURITY_KEY.encode(), signature[64:])

    return answer


def test_a_touch_alone_neither_claims_nor_publishes_nor_lowers(registry: Registry, tmp_path: Path) -> None:
    rye: Person = registry.reader("vault")
    rye.ok("login", registry.url, "--token", registry.token)
    socket = tmp_path / "agent"
    rye.environment["SSH_AUTH_SOCK"] = str(socket)
    claim = ("namespace", "claim", "vault", "--require", "hardware-verified")
    publish = ("--yes", "--allow-uncommitted")
    with answering_agent(socket, agent_with(TOUCHED)):
        rye.ok("keys", "add", "--agent")
        rye.fails(*claim, code="signatures-missing")
    socket.unlink()
    with answering_agent(socket, agent_with(VERIFIED)):
        rye.ok(*claim)
        rye.ok("publish", rye.directive("work/one"), *publish)
    socket.unlink()
    colleague = registry.owner("vaults")
    change = ("namespace", "keys", "add", "vault", colleague.public_key(), "--require", "none")
    with answering_agent(socket, agent_with(TOUCHED)):
        path = rye.directive("work/two")
        rye.fails("publish", path, *publish, code="not-signed")
        rye.fails(*change, code="signatures-missing")
    socket.unlink()
    with answering_agent(socket, agent_with(VERIFIED)):
        rye.ok("sign", path, "--force", "--yes")
        rye.ok("publish", path, *publish)
        rye.ok(*change)
    registry.user().ok("add", "vault/work/two", "--yes")


def test_a_key_that_does_not_count_is_no_second_key(registry: Registry, tmp_path: Path) -> None:
    """Where hardware is required, a key in a file cannot take the place of the only stick."""
    rye: Person = registry.reader("sole")
    rye.ok("login", registry.url, "--token", registry.token)
    rye.environment["SSH_AUTH_SOCK"] = str(tmp_path / "agent")
    with answering_agent(tmp_path / "agent", agent_with(TOUCHED)):
        rye.ok("keys", "add", "--agent", "--name", "stick")
        rye.ok("keys", "generate", "--name", "plain")
        rye.ok("namespace", "claim", "sole", "--key", "stick", "--key", "plain", "--require", "hardware")
    listed = {key["name"]: key["namespaces"] for key in rye.ok("keys", "list", "--json").json["keys"]}
    assert [use["namespace"] for use in listed["stick"]] == ["sole"]
    assert listed["plain"] == []
    checks = {check["name"]: check["status"] for check in rye.run("doctor", "--json").json["checks"]}
    assert checks["namespaces"] == "warning"
    error = rye.fails("keys", "remove", "stick", "--yes", code="key-needed")
    assert "nobody else has one" in error["message"]
    rye.ok("keys", "remove", "plain", "--yes")
