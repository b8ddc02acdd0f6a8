"""Grants in rye.toml: who approved them, when they count, and the message when one is missing (DESIGN 6.1;
docs/how-to/tools.md)."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from threading import Event

import pytest
from msgspec import structs

from rye.errors import RyeError
from rye.items.needs import NOTHING, Needs, parse_needs
from rye.project.layout import Project, find_project
from rye.project.manifest import parse_manifest
from rye.runtime.calls import CallError
from rye.runtime.effects import UsableItem
from rye.runtime.project_items import ProjectItems
from rye.runtime.sandbox.tool_run import Backend
from rye.runtime.sandboxed_tools import SandboxedTools
from rye.storage.home import Home
from rye.text.tables import ManifestError
from rye.workspace.context import LibraryContext
from rye.workspace.trusting.project_changes import grants_in_force, require_granted
from rye.workspace.trusting.trusting_project import accept_project

TOOL = "tool:acme/net/fetch"
GRANTS = """
[sandbox."tool:acme/net/fetch"]
network = ["api.example.com:443"]
env = ["GITHUB_TOKEN"]
"""
MORE = GRANTS.replace('"api.example.com:443"', '"api.example.com:443", "evil.example:443"')


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "rye.toml").write_text(GRANTS, "utf-8")
    (tmp_path / "project" / ".ai").mkdir()
    found = find_project(tmp_path / "project")
    assert found is not None
    return found


def in_force(home: Home, project: Project, text: str, **environment: str) -> Needs:
    context = LibraryContext(cwd=project.root, home=home, environment=environment)
    return grants_in_force(context, project, parse_manifest(text), TOOL)


def test_a_grant_counts_once_this_user_agreed_to_it(home: Home, project: Project) -> None:
    assert in_force(home, project, GRANTS) == NOTHING
    shown: list[object] = []

    def agree(proposal: object) -> bool:
        shown.append(proposal)
        return True

    agreed = accept_project(LibraryContext(cwd=project.root, home=home), project, agree)
    assert [(one.item, one.sort, one.text) for one in agreed] == [
        (TOOL, "grant", "env GITHUB_TOKEN"),
        (TOOL, "grant", "network api.example.com:443"),
    ]
    assert len(shown) == 1
    assert in_force(home, project, GRANTS) == parse_needs({"network": ["api.example.com:443"], "env": ["GITHUB_TOKEN"]})


def test_a_grant_that_a_commit_adds_later_does_not_count(home: Home, project: Project) -> None:
    accept_project(LibraryContext(cwd=project.root, home=home), project, lambda _: True)
    assert in_force(home, project, MORE).network == ("api.example.com:443",)
    with pytest.raises(RyeError) as caught:
        require_granted(
            TOOL, parse_needs({"network": ["evil.example:443"]}), parse_manifest(MORE), in_force(home, project, MORE)
        )
    assert caught.value.code == "not-runnable"
    assert "rye trust project" in str(caught.value.hint)


def test_a_project_with_grants_is_not_accepted_by_nobody(home: Home, project: Project) -> None:
    with pytest.raises(RyeError, match="grants tools what you have not agreed to") as caught:
        accept_project(LibraryContext(cwd=project.root, home=home), project, lambda _: False)
    assert caught.value.code == "project-not-accepted"
    assert in_force(home, project, GRANTS) == NOTHING


def test_a_build_server_that_trusts_whoever_may_commit_says_so(home: Home, project: Project) -> None:
    assert in_force(home, project, GRANTS, RYE_TRUST_LOCK="1").env == ("GITHUB_TOKEN",)
    assert in_force(home, project, GRANTS, RYE_TRUST_LOCK="0") == NOTHING


def test_a_missing_grant_prints_the_lines_to_add() -> None:
    needs = parse_needs({"network": ["api.example.com:443", "b.example:80"], "write": ["build/"]})
    manifest = parse_manifest(GRANTS)
    with pytest.raises(RyeError) as caught:
        require_granted(TOOL, needs, manifest, manifest.sandbox[TOOL])
    assert caught.value.code == "not-runnable"
    assert "network b.example:80" in caught.value.message
    lines = str(caught.value.details["toml"])
    assert lines in str(caught.value.hint)
    added = parse_manifest(lines).sandbox[TOOL]
    assert added == Needs(("build/",), ("api.example.com:443", "b.example:80"))
    require_granted(TOOL, needs, manifest, added)


@pytest.mark.processes
def test_a_call_gets_what_is_granted_and_agreed_to(home: Home, project: Project, any_sandbox: Backend) -> None:
    """From end to end: rye.toml, the approval, the profile, the sandbox."""
    code = "import os\ndef execute(params):\n    return sorted(os.environ)\n"
    context = LibraryContext(cwd=project.root, home=home, environment={"GITHUB_TOKEN": "t", "OTHER": "o"})
    (project.root / "rye.toml").write_text(GRANTS.replace("network", "# network"), "utf-8")
    items = ProjectItems(context, project)
    digest = sha256(code.encode()).hexdigest()
    item = UsableItem(
        kind="tool",
        id="acme/net/fetch",
        version="1.0.0",
        sha256=digest,
        signer=None,
        text=code,
        overridden=False,
        suffix=".py",
    )
    item = structs.replace(item, needs=parse_needs({"env": ["GITHUB_TOKEN"]}))
    tools = SandboxedTools(context, items)
    with pytest.raises(CallError, match="not agreed to") as caught:
        tools.check(item)
    assert caught.value.code == "not-runnable"
    accept_project(context, project, lambda _: True)
    tools.check(item)
    result = tools.run(item, b"{}", None, Event())
    assert result.error is None
    assert "GITHUB_TOKEN" in str(result.output)
    assert "OTHER" not in str(result.output)


@pytest.mark.parametrize(
    "table",
    [
        '[sandbox]\nnetwork = ["a:1"]',
        '[sandbox."acme/net/fetch"]',
        '[sandbox."directive:acme/net/fetch"]',
        '[sandbox."tool:acme/*"]',
        '[sandbox."tool:acme/net/fetch"]\nread = ["/etc"]',
        '[sandbox."tool:acme/net/fetch"]\nnetwork = ["*:443"]',
        '[sandbox."tool:acme/net/fetch"]\nwrite = [".claude/"]',
        '[sandbox."tool:acme/net/fetch"]\nenv = ["LD_PRELOAD"]',
    ],
)
def test_a_grant_that_cannot_be_held_is_refused_by_the_manifest(table: str) -> None:
    with pytest.raises(ManifestError):
        parse_manifest(table)
