"""Runs with items of a real registry: approved rights, advisories, revocations, and the proof in a skill's entry."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from tests.cli.test_known_revocations import revoke
from tests.mcp.sessions import SHIP, Caller, play, tool
from tests.mcp.test_skills import ask
from tests.scenes.item_texts import skill
from tests.scenes.person import Person
from tests.scenes.registry import Registry

pytestmark = pytest.mark.processes
CALL = {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}}


@pytest.fixture(scope="module")
def acme(registry: Registry) -> Person:
    author = registry.owner("acme")
    author.write(".ai/tools/fs/write.py", tool("fs/write"))
    author.write(".ai/skills/pdf/SKILL.md", skill("pdf"))
    author.ok("sign", ".ai/tools/fs/write.py", ".ai/skills/pdf")
    path = author.directive("work/ship", permissions=SHIP)
    author.publish(path, ".ai/tools/fs/write.py", ".ai/skills/pdf")
    return author


@pytest.fixture(scope="module")
def user(registry: Registry, acme: Person) -> Person:
    made = registry.user()
    names = [
        f"{kind}:acme/{each}" for kind, each in (("directive", "work/ship"), ("tool", "fs/write"), ("skill", "pdf"))
    ]
    approved = [word for name in names for word in ("--approve", f"{name}@1.0.0")]
    made.ok("add", *names, "--yes", *approved)
    return made


async def outcome(caller: Caller) -> str:
    """The outcome of a call of the tool: its error, or ``ok``."""
    result = await caller.client.call_tool("rye_execute", CALL)
    document = result.structured_content
    return document["error"]["code"] if result.is_error else "ok"


def code(user: Person) -> str:
    """The outcome of a call of the tool: its error, or ``ok``."""
    found: list[str] = []

    async def story(caller: Caller) -> None:
        found.append(await outcome(caller))

    play(user, story)
    return found[0]


def test_an_installed_directive_runs_an_installed_tool(user: Person) -> None:
    assert code(user) == "ok"


def test_a_skills_entry_carries_a_proof_that_anybody_can_check(user: Person, tmp_path: Path) -> None:
    async def story(caller: Caller) -> None:
        meta = (await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md"))["skill"]["_meta"]
        (tmp_path / "proof").write_text(meta["tlog-proof"])
        assert meta["release"]["log"] == user.ok("info", "skill:acme/pdf", "--json").json["log"]

    play(user, story, as_=None)
    item = ".ai/packages/acme/skills/pdf/SKILL.md"
    user.ok("log", "check-proof", str(tmp_path / "proof"), "--item", item)


SEVERE = ("--severity", "critical", "--range", "<2.0.0", "--title", "It deletes too much")


def test_a_server_that_runs_already_stops_with_the_audit_that_sees_an_advisory(acme: Person, user: Person) -> None:
    async def story(caller: Caller) -> None:
        assert await outcome(caller) == "ok"
        acme.ok("advisory", "publish", "tool:acme/fs/write", "--number", "ACME-7", *SEVERE)
        user.run("audit")
        assert await outcome(caller) == "advisory"
        acme.ok("advisory", "withdraw", "tool:acme/fs/write", "ACME-7")
        user.run("audit")
        assert await outcome(caller) == "ok"

    play(user, story)


def test_an_advisory_that_was_seen_needs_no_cache(registry: Registry, acme: Person, user: Person) -> None:
    """A cleaned cache, and a head that another command brought, whose index of the tool was never read here."""
    acme.ok("advisory", "publish", "tool:acme/fs/write", "--number", "ACME-8", *SEVERE)
    user.run("audit")
    user.ok("cache", "clean", "--yes")
    assert code(user) == "advisory"
    acme.publish(acme.directive("work/unrelated"))
    user.ok("info", "directive:acme/work/unrelated")
    assert code(user) == "advisory"
    acme.ok("advisory", "withdraw", "tool:acme/fs/write", "ACME-8")
    user.run("audit")
    assert code(user) == "ok"


def test_a_text_with_an_advisory_is_no_more_read_than_run(acme: Person, user: Person) -> None:
    """A skill acts by being read: it was returned by every way but the execution that skills do not have."""

    async def story(caller: Caller) -> None:
        call = {"item_type": "skill", "item_id": "acme/pdf"}
        assert (await caller.ok("rye_load", **call))["text"]
        acme.ok("advisory", "publish", "skill:acme/pdf", "--number", "ACME-9", *SEVERE)
        user.run("audit")
        assert (await caller.error("rye_load", **call))["code"] == "advisory"
        assert (await caller.ok("rye_search", item_type="skill", query=""))["results"] == []
        with pytest.raises(MCPError, match="advisory"):
            await caller.client.get_prompt("acme/pdf")
        with pytest.raises(MCPError, match="advisory"):
            await caller.client.read_resource("skill://acme/pdf/SKILL.md")
        with pytest.raises(MCPError, match="No skill"):
            await ask(caller, "skills/get", "skill://acme/pdf/SKILL.md")
        acme.ok("advisory", "withdraw", "skill:acme/pdf", "ACME-9")
        user.run("audit")
        assert (await caller.ok("rye_load", **call))["text"]

    play(user, story, as_=None)


def test_what_was_seen_and_cannot_be_read_is_a_no(acme: Person, user: Person) -> None:
    (file,) = user.library.home.registries.glob("*/advisories.json")
    content = file.read_bytes()
    try:
        file.write_bytes(content[:-1])
        with pytest.raises(Exception, match="cannot be read"):
            code(user)
    finally:
        file.write_bytes(content)
    assert code(user) == "ok"


def test_an_advisory_and_a_revocation_that_this_machine_saw_end_it(
    registry: Registry, acme: Person, user: Person
) -> None:
    words = ("advisory", "publish", "tool:acme/fs/write", "--number", "ACME-1", "--severity")
    acme.ok(*words, "high", "--range", "*", "--title", "It deletes too much")
    assert code(user) == "ok", "nothing on this machine knows of it yet"
    user.run("audit")
    assert code(user) == "advisory"
    acme.ok("advisory", "withdraw", "tool:acme/fs/write", "ACME-1")
    user.run("audit")
    assert code(user) == "ok"
    revoke(registry, acme, 1)
    user.run("audit")
    with pytest.raises(Exception, match="revoked"):
        code(user)
