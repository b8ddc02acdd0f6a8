"""The same answers on PostgreSQL, which sorts names by locale and has its own patterns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.interop.test_git_protocol import fetch, head_of
from tests.interop.unchecked_registry import UncheckedRegistry
from tests.server.conftest import address, empty

__all__ = ["address", "empty"]
pytestmark = pytest.mark.processes


def answers(local: UncheckedRegistry) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in (
        "/.well-known/agent-skills/index.json",
        "/acme/.well-known/agent-skills/index.json",
        "/apm/v1/packages/acme/a_b/versions",
        "/apm/v1/packages/acme/axb/versions",
        "/osv/all.zip",
    ):
        answer = local.get(path)
        found[path] = (answer.status_code, len(answer.content))
    found["git"] = b"packfile" in fetch(local, head_of(local))
    return found


def fill(local: UncheckedRegistry) -> None:
    for identifier in ("acme/pdf", "acme/a_b", "acme/tools/deep", "beta/pdf"):
        local.release(identifier, "1.0.0", {"a.md": identifier.encode()})
    local.release("acme/pdf", "1.1.0")
    local.yank("acme/pdf", "1.1.0")
    local.claim("acme0")  # names that sort next to the namespace's
    local.release("acme0/other")
    local.advise("acme/pdf")


@pytest.mark.thorough
def test_the_answers_are_sqlite_s(empty: str, tmp_path: Path) -> None:
    found = []
    for name, database in (("sqlite", ""), ("postgresql", empty)):
        local = UncheckedRegistry(tmp_path / name, database=database)
        try:
            fill(local)
            found.append(answers(local))
        finally:
            local.close()
    assert found[0] == found[1]
    assert found[0]["/acme/.well-known/agent-skills/index.json"][0] == 200
