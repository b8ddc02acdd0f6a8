"""`rye mcp config PROGRAM` prints the entry of the program's settings (design: agents 3.1)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from rye.mcp.program_entries import PROGRAMS, config_entry
from tests.scenes.person import Person

COMMAND = {"command": "rye", "args": ["mcp", "serve"]}


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_entry_is_whole_and_gives_no_rights(program: str) -> None:
    entry = config_entry(program)
    value = tomllib.loads(entry.text) if entry.format == "toml" else json.loads(entry.text)
    (servers,) = value.values()
    server = servers["rye"]
    if program == "opencode":
        assert server == {"type": "local", "command": ["rye", "mcp", "serve"], "enabled": True}
    else:
        assert {key: server[key] for key in COMMAND} == COMMAND
    assert "--as" not in entry.text


def test_the_command_prints_it(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    assert json.loads(rye.ok("mcp", "config", "claude").stdout) == {"mcpServers": {"rye": {"type": "stdio", **COMMAND}}}
    assert rye.ok("mcp", "config", "codex", "--json").json["file"] == ".codex/config.toml"
    assert rye.run("mcp", "config", "emacs").code == 2
