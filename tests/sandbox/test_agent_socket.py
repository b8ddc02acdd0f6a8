"""A tool cannot reach the user's ssh-agent, even if it knows where its socket is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import value_of
from tests.sandbox.calling import call
from tests.scenes.ssh_agents import answering_agent, identities

pytestmark = pytest.mark.processes
TOOL = """
import os, socket
def execute(params):
    said = []
    for place in params["places"]:
        try:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(place)
            connection.sendall(b"\\0\\0\\0\\1\\x0b")
            said.append(len(connection.recv(5)))
        except OSError as error:
            said.append(type(error).__name__)
    return {"said": said, "env": sorted(os.environ)}
"""


def test_a_tool_does_not_reach_the_agent(sandbox: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "agent"
    project.mkdir()
    monkeypatch.setenv("SSH_AUTH_SOCK", str(elsewhere))
    with answering_agent(elsewhere, lambda request: identities()) as requests:
        value = value_of(call(sandbox, project, TOOL, parameters={"places": [str(elsewhere)]}), "tool:acme/x/y@1.0.0")
        assert isinstance(value, dict)
        assert 5 not in value["said"]
        assert "SSH_AUTH_SOCK" not in value["env"]
    assert requests == []
    assert os.environ["SSH_AUTH_SOCK"] == str(elsewhere)
