"""``rye audit`` checks deployed files, and lists hooks and servers in agents' settings that no deployed item explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.deployment.auditing import audit_deployed
from rye.installation.audit.finding import RULES, Finding, in_order
from rye.installation.sarif import sarif
from rye.workspace.context import LibraryContext
from tests.scenes.installed import install, project_with_targets, write_manifest
from tests.scenes.item_texts import agent, bound
from tests.scenes.person import Person


@pytest.fixture
def shop(tmp_path: Path) -> Person:
    return project_with_targets(tmp_path)


def found(shop: Person) -> list[Finding]:
    return audit_deployed(LibraryContext(cwd=shop.folder, home=shop.folders), shop.project)


def test_deployed_files_are_compared(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one"))
    assert {(one.rule, one.severity) for one in found(shop)} == {("deploy-missing", "warning")}
    shop.ok("deploy")
    assert found(shop) == []
    shop.path(".codex/agents/one.toml").unlink()
    assert [(one.rule, one.severity) for one in found(shop)] == [("not-as-deployed", "error")]
    shop.ok("deploy")
    path = shop.path(".claude/agents/one.md")
    path.write_text(path.read_text() + "more")
    assert [(one.rule, one.severity, one.path) for one in found(shop)] == [
        ("deploy-drift", "error", ".claude/agents/one.md")
    ]


def test_a_project_without_targets_is_not_asked_about_them(shop: Person) -> None:
    install(shop, "agent", "acme/one", agent("one"))
    write_manifest(shop, "")
    assert found(shop) == []


def test_a_state_file_that_cannot_be_read_is_a_finding(shop: Person) -> None:
    shop.write(".ai/deploy.lock", "no toml")
    assert [one.rule for one in found(shop)] == ["deploy-unchecked"]


def test_settings_that_nothing_explains_are_listed_and_fail_nothing(shop: Person) -> None:
    install(shop, "directive", "acme/work/ship", bound())
    write_manifest(shop, 'targets = ["opencode"]')
    shop.write("opencode.json", '{"mcp": {"db": {"command": ["db"]}}}')
    shop.write(".claude/settings.json", '{"hooks": {"PreToolUse": []}, "permissions": {}}')
    shop.write(".mcp.json", '{"mcpServers": {"web": {}}}')
    shop.write(".codex/config.toml", "[mcp_servers.files]\ncommand = 'x'\n")
    shop.write(".gemini/settings.json", '{"mcpServers": {')
    shop.ok("deploy")
    listed = found(shop)
    assert {(one.rule, one.path, one.message.split("'")[1]) for one in listed} == {
        ("unexplained-server", "opencode.json", "db"),
        ("unexplained-hook", ".claude/settings.json", "PreToolUse"),
        ("unexplained-server", ".mcp.json", "web"),
        ("unexplained-server", ".codex/config.toml", "files"),
    }
    assert {one.severity for one in listed} == {"info"}
    assert {one.rule for one in listed} <= set(RULES)
    assert sarif(in_order(listed), ())


def test_the_command_ends_well_with_information_alone(shop: Person) -> None:
    write_manifest(shop, "")
    shop.write(".mcp.json", '{"mcpServers": {"web": {}}}')
    done = shop.ok("audit", "--json").json
    assert done["ok"] is True
    assert [row["rule"] for row in done["findings"]] == ["unexplained-server"]
