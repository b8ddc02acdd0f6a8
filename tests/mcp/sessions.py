"""A project with a user's key, own signed items and installed ones, and servers for it in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.client.client import Client
from mcp_types import CallToolResult

from rye.mcp.hosting import OneRun
from rye.mcp.server import build_server
from rye.runtime.event_log import parse_head, verify
from rye.runtime.limits import UNCOUNTED_UNDER_MCP
from rye.runtime.opening import Opened, open_session
from rye.runtime.project_items import ProjectItems
from rye.runtime.sandboxed_tools import SandboxedTools
from tests.scenes.directive_text import directive
from tests.scenes.installed import write_manifest
from tests.scenes.item_texts import knowledge
from tests.scenes.person import Person

TOOL = '''"""{about}"""
__version__ = "1.0.0"
__category__ = "{category}"
__tool_description__ = "{about}"


def execute(params):
    {body}
'''
ALL = "<search>*</search><load>*</load><execute>*</execute><sign>*</sign>"
SHIP = (
    "<search><knowledge>acme/notes/*</knowledge></search><load><knowledge>acme/notes/*</knowledge></load>"
    "<execute><tool>acme/fs/*</tool><tool>acme/shell/*</tool><directive>acme/work/*</directive></execute>"
)
LIMITS = '<limits max_turns="5" max_tokens="1000"/>'
INPUTS = '<inputs><input name="env" type="string" required="true">Where</input></inputs>\n  <outputs>'


def tool(name: str, body: str = "return {'done': params}", about: str = "Does it") -> str:
    category = name.rpartition("/")[0]
    return TOOL.format(about=about, category=category, body=body)


def project_with_key(base: Path) -> Person:
    """Someone with a key and a project of the namespace ``acme``."""
    person = Person(base)
    person.write("rye.toml", '[project]\nname = "shop"\nnamespace = "acme"\n\n[dependencies]\n')
    write_manifest(person)
    person.ok("keys", "generate")
    return person


def own_directive(
    person: Person, local_id: str, permissions: str = SHIP, *, limits: str = LIMITS, inputs: bool = False
) -> None:
    text = directive(local_id, permissions=permissions).replace(LIMITS, limits)
    person.sign(f"directives/{local_id}.md", text.replace("<outputs>", INPUTS) if inputs else text)


def own_tool(person: Person, local_id: str, body: str = "return {'done': params}") -> None:
    person.sign(f"tools/{local_id}.py", tool(local_id, body))


def own_knowledge(person: Person, name: str) -> None:
    person.sign(f"knowledge/notes/{name}.md", knowledge(name))


def opened(person: Person, as_: str | None = "acme/work/ship", **more: Any) -> Opened:
    """Open a run in the person's project."""
    context = person.library
    return open_session(
        context,
        as_,
        lambda items: SandboxedTools(context, items),
        not_enforced=UNCOUNTED_UNDER_MCP,
        **more,
    )


def runs_of(person: Person) -> list[Path]:
    """The folders of the project's runs, the oldest first."""
    folder = person.path(".ai/runs")
    return sorted(each for each in folder.iterdir() if each.is_dir()) if folder.exists() else []


def log_of(person: Person, number: int = -1) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (runs_of(person)[number] / "events.jsonl").read_text().splitlines()]


def verdict_of(person: Person, number: int = -1) -> str:
    folder = runs_of(person)[number]
    return verify((folder / "events.jsonl").read_bytes(), parse_head((folder / "head").read_bytes())).state


class Caller:
    """A client of a server, with answers as plain values."""

    def __init__(self, client: Client, opened: Opened):
        self.client = client
        self.opened = opened

    async def ok(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result.structured_content
        return content(result)

    async def error(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result
        found = content(result)
        assert list(found) == ["error"]
        assert len(json.dumps(found).encode()) <= 2048
        assert "Traceback" not in json.dumps(found)
        error = found["error"]
        assert isinstance(error, dict)
        return error


def content(result: CallToolResult) -> dict[str, Any]:
    """The structured content, after checking that the text is the same."""
    assert isinstance(result.structured_content, dict)
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return result.structured_content


@asynccontextmanager
async def serving(
    person: Person, opened: Opened, mode: str, *, expand: bool = False, **more: Any
) -> AsyncIterator[Caller]:
    start = opened.session.start()
    server = build_server(OneRun(opened), expand=expand, instructions=json.dumps(start), start=start)
    async with Client(server, mode=mode, **more) as client:
        yield Caller(client, opened)


def play(
    person: Person,
    story: Callable[[Caller], Awaitable[None]],
    *,
    as_: str | None = "acme/work/ship",
    mode: str = "auto",
    expand: bool = False,
    read_only: bool = False,
    **more: Any,
) -> Opened:
    """Serve a run in this process, let a client use it, and end the run."""
    run = opened(person, as_, read_only=read_only)

    async def main() -> None:
        async with serving(person, run, mode, expand=expand, **more) as caller:
            await story(caller)

    try:
        anyio.run(main)
    finally:
        run.session.close()
    return run


def items(person: Person) -> ProjectItems:
    return ProjectItems(person.library, person.project)
