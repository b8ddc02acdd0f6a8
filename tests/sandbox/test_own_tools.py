"""This project's own tools keep the contract: each runs in the sandbox and returns what its directives rely on."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import value_of
from tests.sandbox.calling import call

pytestmark = pytest.mark.processes
TOOLS = Path(__file__).resolve().parents[2] / ".ai" / "tools"
TEXT = "# One\n\n```\n# none\n```\n\n## Two\n"


@pytest.mark.parametrize("tool", sorted(path.relative_to(TOOLS).as_posix() for path in TOOLS.rglob("*.*")))
def test_an_own_tool_runs_in_the_sandbox(tool: str, any_sandbox: Backend, tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text(TEXT, "utf-8")
    parameters, expected = {
        "files/checksum.py": ({"path": str(tmp_path)}, {"lines": [f"{sha256(TEXT.encode()).hexdigest()}  {file}"]}),
        "markdown/outline.py": ({"path": str(file)}, {"headings": ["1: # One", "7: ## Two"]}),
    }[tool]
    outcome = call(any_sandbox, tmp_path, (TOOLS / tool).read_bytes(), ".py", parameters)
    assert value_of(outcome, tool) == expected
