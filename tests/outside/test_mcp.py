"""Programs that speak the Model Context Protocol, with `rye mcp serve` of a project with a directive, a tool and a text."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.mcp.sessions import own_directive, own_knowledge, own_tool, project_with_key
from tests.outside import installing, judges
from tests.scenes.person import Person

pytestmark = [pytest.mark.outside, pytest.mark.processes]
RYE = ("-c", "from rye.cli.start import main; main()", "mcp", "serve")
TOOLS = {"rye_search", "rye_load", "rye_execute", "rye_sign", "rye_return"}
FASTMCP = """
import asyncio, json, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

async def main():
    async with Client(StdioTransport(sys.argv[1], sys.argv[2:])) as client:
        found = await client.call_tool("rye_search", {"item_type": "knowledge", "query": "style"})
        print(json.dumps({
            "tools": [tool.name for tool in await client.list_tools()],
            "resources": [str(each.uri) for each in await client.list_resources()],
            "prompts": [each.name for each in await client.list_prompts()],
            "isError": found.is_error,
            "text": found.content[0].text,
        }))

asyncio.run(main())
"""


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    person = project_with_key(tmp_path / "shop")
    own_directive(person, "work/ship")
    own_tool(person, "fs/count")
    own_knowledge(person, "style")
    person.accepts()
    return person


@pytest.fixture
def start(shop: Person) -> str:
    """A program that serves as the directive: clients pass hardly any of their variables on."""
    settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in shop.environment.items())
    words = shlex.join([sys.executable, *RYE, "--as", "acme/work/ship"])
    program = shop.write("rye-mcp", f"#!/bin/sh\n{settings}exec {words}\n")
    program.chmod(0o755)
    return str(program)


def check(name: str, answer: str) -> None:
    """Each of four lists and a call is a case."""
    found = json.loads(answer)
    cases = (
        set(found["tools"]) == TOOLS,
        any("style" in uri for uri in found["resources"]),
        any("ship" in prompt for prompt in found["prompts"]),
        not found["isError"] and "style" in found["text"],
    )
    judges.record(name, len(cases), sum(cases))
    assert all(cases), found


def test_a_client_of_the_typescript_sdk(shop: Person, start: str) -> None:
    judges.npm()
    command = [str(installing.node()), str(judges.npm().parent / "sdk_client.mjs"), start]
    done = judges.run(command, shop.folder)
    assert done.code == 0, done.stderr
    check("MCP TypeScript SDK", done.stdout)


def test_a_client_of_fastmcp(shop: Person, start: str) -> None:
    command = [str(judges.python() / "python"), "-c", FASTMCP, start]
    done = judges.run(command, shop.folder)
    assert done.code == 0, done.stderr
    check("FastMCP", done.stdout.splitlines()[-1])


def test_the_inspector(shop: Person, start: str) -> None:
    program = [str(installing.node()), str(judges.npm() / ".bin/mcp-inspector"), "--cli", start, "--method"]
    wanted = {"tools/list": "rye_search", "resources/list": "style", "prompts/list": "ship"}
    answers = {method: judges.run([*program, method], shop.folder) for method in wanted}
    good = [method for method, word in wanted.items() if answers[method].code == 0 and word in answers[method].stdout]
    judges.record("MCP inspector", len(wanted), len(good))
    assert len(good) == len(wanted), answers
