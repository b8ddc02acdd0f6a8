"""What changes while a server runs counts from its next call: policies, revocations, the directive itself. Only what tightens
(docs/explanation/runtime.md)."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.sessions import Caller, log_of, own_directive, own_knowledge, own_tool, play, project_with_key
from tests.mcp.test_http import Running
from tests.scenes.effort import rest_thorough
from tests.scenes.person import Person

pytestmark = pytest.mark.processes
WRITE = {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}}
NOTE = {"item_type": "knowledge", "item_id": "acme/notes/style"}
PROJECT = '[project]\nname = "shop"\nnamespace = "acme"\n\n[dependencies]\n'
FORBID = '\n[policy]\nforbid = ["rye.execute.tool.*"]\n'


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    made = project_with_key(tmp_path)
    own_directive(made, "work/ship")
    own_tool(made, "fs/write")
    own_knowledge(made, "style")
    return made


async def names(caller: Caller) -> list[str]:
    return [each.name for each in (await caller.client.list_tools()).tools]


@pytest.mark.parametrize("words", rest_thorough(1, [FORBID, '\n[policy.approval]\n"rye.execute.tool.*" = "deny"\n']))
def test_a_project_that_tightens_its_policy_is_obeyed_at_the_next_call(shop: Person, words: str) -> None:
    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0
        assert "acme__fs__write" in await names(caller)
        shop.write("rye.toml", PROJECT + words)
        assert (await caller.error("rye_execute", **WRITE))["code"] == "denied"
        assert "acme__fs__write" not in await names(caller)
        shop.write("rye.toml", PROJECT)
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0

    play(shop, story, expand=True)
    assert [line["decision"] for line in log_of(shop) if line["event"] == "deny"] == ["denied"]


@pytest.mark.parametrize("whose", rest_thorough(1, ["user", "machine"]))
def test_a_user_or_a_machine_that_tightens_its_policy_is_obeyed_over_http(shop: Person, whose: str) -> None:
    machine = shop.write("machine.toml", "")
    shop.environment["RYE_POLICY"] = str(machine)
    running = Running(shop)
    place = machine if whose == "machine" else shop.folders.policy_file

    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(FORBID)
        assert (await caller.error("rye_execute", **WRITE))["code"] == "denied"

    try:
        running.play(running.token(), story)
    finally:
        running.stop()


def test_an_approval_that_is_demanded_now_is_asked_for(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0
        shop.write("rye.toml", f'{PROJECT}\n[policy.approval]\n"rye.execute.tool.*" = "ask"\n')
        assert (await caller.error("rye_execute", **WRITE))["code"] == "approval-required"

    play(shop, story)


def test_fewer_calls_count_what_was_used_before(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        for _ in range(3):
            await caller.ok("rye_load", **NOTE)
        shop.write("rye.toml", f"{PROJECT}\n[policy.limits]\ncalls = 2\n")
        error = await caller.error("rye_load", **NOTE)
        assert (error["code"], error["maximum"], error["current"]) == ("limit-exceeded", 2, 4)

    play(shop, story)


def test_a_policy_that_is_loosened_counts_from_the_next_start(shop: Person) -> None:
    """An agent whose program has a shell can write rye.toml: its own server does not take more from it."""
    shop.write("rye.toml", PROJECT + FORBID)

    async def story(caller: Caller) -> None:
        assert (await caller.error("rye_execute", **WRITE))["code"] == "denied"
        shop.write("rye.toml", PROJECT)
        assert (await caller.error("rye_execute", **WRITE))["code"] == "denied"

    async def later(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0

    play(shop, story)
    play(shop, later)


def test_over_http_the_servers_start_counts_for_runs_that_begin_later(shop: Person) -> None:
    """A client chooses when its run begins: one whose program has a shell would write rye.toml before."""
    shop.write("rye.toml", PROJECT + FORBID)
    running = Running(shop)

    async def story(caller: Caller) -> None:
        assert (await caller.error("rye_execute", **WRITE))["code"] == "denied"

    try:
        shop.write("rye.toml", PROJECT)
        running.play(running.token(), story)
    finally:
        running.stop()


def test_answers_that_a_start_demanded_stay_demanded(shop: Person) -> None:
    shop.environment["RYE_TRUST_LOCK"] = "1"
    shop.write("rye.toml", f'{PROJECT}\n[policy.approval]\n"rye.execute.tool.*" = "ask"\n')

    async def story(caller: Caller) -> None:
        assert (await caller.error("rye_execute", **WRITE))["code"] == "approval-required"
        shop.write("rye.toml", f'{PROJECT}\n[policy.approval]\n"rye.execute.tool.*" = "allow"\n')
        assert (await caller.error("rye_execute", **WRITE))["code"] == "approval-required"

    play(shop, story)


def damaged(path: Path) -> None:
    path.write_text("[policy\n")


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "spoil", rest_thorough(2, [damaged, not_text, fifo, folder, dangling]), ids=lambda each: each.__name__
)
@pytest.mark.parametrize("whose", ["project", "user"])
def test_a_policy_that_cannot_be_read_is_a_no(shop: Person, whose: str, spoil: object) -> None:
    path = shop.path("rye.toml") if whose == "project" else shop.folders.policy_file
    path.parent.mkdir(parents=True, exist_ok=True)

    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_load", **NOTE))["text"]
        spoil(path)  # type: ignore[operator]
        with anyio.fail_after(20):
            error = await caller.error("rye_execute", **WRITE)
            assert error["code"] not in ("denied", "unknown-item")
            assert path.name in error["message"]
            await caller.error("rye_load", **NOTE)
            for listed in (caller.client.list_tools, caller.client.list_prompts, caller.client.list_resources):
                with pytest.raises(MCPError, match=path.name):
                    await listed()

    play(shop, story, expand=True)
    assert [line["event"] for line in log_of(shop)].count("deny") == 2


def test_a_directive_whose_key_is_no_longer_trusted_ends_its_server(shop: Person) -> None:
    async def story(caller: Caller) -> None:
        assert (await caller.ok("rye_execute", **WRITE))["exit"] == 0
        for row in shop.ok("trust", "list", "--json").json["keys"]:
            shop.ok("trust", "remove", row["fingerprint"], "-y")
        assert (await caller.error("rye_load", **NOTE))["code"] == "untrusted"

    play(shop, story)


def test_a_directive_that_changes_ends_its_server(shop: Person) -> None:
    """As with a token over HTTP: the rights are those of exactly this text."""

    async def story(caller: Caller) -> None:
        own_directive(shop, "work/ship", "<load><knowledge>acme/notes/*</knowledge></load>")
        error = await caller.error("rye_load", **NOTE)
        assert (error["code"], "Start" in error["hint"]) == ("modified", True), error

    play(shop, story)
