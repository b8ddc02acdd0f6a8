"""Only `rye mcp serve` imports the protocol's SDK, which takes a second (design: agents 3.1)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.cli.test_startup import imported
from tests.house.test_rooms import ROOT, modules_of, names_imported
from tests.scenes.directive_text import directive
from tests.scenes.person import Person

SDK = {"mcp", "mcp_types", "anyio", "uvicorn", "starlette"}
ALLOWED = {
    f"rye.mcp.{name}" for name in ("asking", "declared", "http", "http_sessions", "served_texts", "server", "serving")
}


@pytest.mark.slow
def test_one_room_imports_it_and_one_command_imports_that() -> None:
    direct, through = set(), set()
    for folder in ("rye", "registry_server"):
        for name, path in modules_of(ROOT / folder).items():
            source = path.read_text("utf-8")
            if not any(word in source for word in SDK):  # ALLOWED contains one of these words too
                continue
            names = set(names_imported(ast.parse(source)))
            if any(each.partition(".")[0] in SDK for each in names):
                direct.add(name)
            if names & ALLOWED and name not in ALLOWED:
                through.add(name)
    assert direct == ALLOWED
    assert through == {"rye.cli.mcp.serve"}


@pytest.mark.thorough
@pytest.mark.processes
def test_no_other_command_does(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--namespace", "acme")
    rye.ok("keys", "generate")
    rye.write(".ai/directives/work/ship.md", directive("work/ship"))
    rye.ok("sign", ".ai/directives/work/ship.md")
    for words in (
        ("mcp", "config", "claude"),
        ("mcp", "token", "--as", "acme/work/ship", "--ttl", "1h"),
        ("run", "acme/work/ship"),
        ("runs", "list"),
        ("deploy", "--dry-run", "--target", "claude"),
    ):
        assert imported(rye, *words).isdisjoint(SDK), words
