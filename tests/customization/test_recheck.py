"""Overrides against a new version, before an update switches to it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from rye.customization.recheck import check_overrides, findings, overrides_of
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.project.layout import Project
from rye.storage.home import Home
from rye.text.diagnostics import Diagnostic
from tests.customization.override_text import directive
from tests.scenes.directive_text import directive as deploy

ID = Identity("directive", "acme/workflows/deploy")
HEAD = '---\nagent: deploy\nbase-version: "1.0.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
NOTES = "\n## Notes\n\nSay less.\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "project" / ".ai").mkdir(parents=True)
    return Project(tmp_path / "project")


def write(folder: Path, name: str, text: str) -> None:
    path = folder / "overrides" / f"{name}.overrides.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def told(home: Home, project: Project, identity: Identity, text: str, **more: Any) -> list[Diagnostic]:
    result = check_overrides(text, overrides_of(home, project, identity), identity, **more)
    return [finding for _, finding in findings(result)]


def codes(home: Home, project: Project, text: str, version: str = "1.0.0", **more: object) -> list[str]:
    return [f.code for f in told(home, project, ID, deploy("workflows/deploy", version) + text, **more)]


def test_nothing_to_say_without_overrides_and_where_they_fit(home: Home, project: Project) -> None:
    assert codes(home, project, NOTES) == []
    write(project.ai, "acme/workflows/deploy", HEAD + directive("append", "## Notes", "More."))
    assert codes(home, project, NOTES) == []


def test_orphans_and_versions_and_reviews(home: Home, project: Project) -> None:
    write(project.ai, "acme/workflows/deploy", HEAD + directive("append", "## Notes", "More."))
    found = codes(home, project, "", "2.0.0", today=date(2026, 12, 1))
    assert sorted(found) == ["orphaned-directive", "stale-base-version", "stale-review"]
    assert codes(home, project, "", today=date(2026, 1, 2)) == ["orphaned-directive"]


def test_each_message_is_one_line_that_names_the_file(home: Home, project: Project) -> None:
    write(project.ai, "acme/workflows/deploy", HEAD + directive("append", "## Notes", "More."))
    (finding,) = told(home, project, ID, deploy("workflows/deploy"))
    assert finding.message == (
        ".ai/overrides/acme/workflows/deploy.overrides.md: the append on line 7 is orphaned: '## Notes' no longer exists."
    )
    assert finding.severity == "warning"


def test_the_user_s_overrides_count_too(home: Home, project: Project, tmp_path: Path) -> None:
    write(tmp_path / "user", "acme/workflows/deploy", HEAD + directive("append", "## Notes", "More."))
    assert codes(home, project, "") == ["orphaned-directive"]


def test_the_release_s_version_counts_where_the_file_has_none(home: Home, project: Project) -> None:
    identity = Identity("role", "acme/clerk")
    write(project.ai, "acme/clerk", HEAD.replace("deploy", "clerk") + directive("append", "## Identity", "x"))
    text = "# Clerk — Nexus SDLC Agent\n\n> x\n\n## Identity\n\nx\n"
    assert [f.code for f in told(home, project, identity, text, version="2.0.0")] == ["stale-base-version"]
    assert told(home, project, identity, text, version="1.0.0") == []


def test_wider_rights_are_errors_unless_a_policy_allows_them(home: Home, project: Project) -> None:
    wide = deploy("workflows/deploy", permissions="<execute><tool>*</tool></execute>")
    section = wide[: wide.index("<process>")].rstrip() + "\n\n" + wide[wide.index("<process>") :]
    write(project.ai, "acme/workflows/deploy", HEAD + directive("replace", "# deploy", section.rstrip()))
    assert codes(home, project, "") == ["override-widens"]
    assert codes(home, project, "", widening_allowed=True) == []


def test_a_file_that_cannot_be_read_is_an_error(home: Home, project: Project) -> None:
    write(project.ai, "acme/workflows/deploy", "x")
    (project.overrides / "acme/workflows/deploy.overrides.md").write_bytes(b"\xff")
    with pytest.raises(RyeError) as unreadable:
        codes(home, project, "")
    write(project.ai, "workflows/deploy", HEAD)
    with pytest.raises(RyeError) as ambiguous:
        codes(home, project, "")
    assert (unreadable.value.code, ambiguous.value.code) == ("unreadable", "ambiguous-overrides")


def test_a_local_id_in_a_name_means_the_project_s_own_item_first(home: Home, project: Project) -> None:
    write(project.ai, "workflows/deploy", HEAD + directive("append", "## Gone", "x"))
    assert codes(home, project, "") == ["orphaned-directive"]
    own = project.ai / "directives" / "workflows" / "deploy.md"
    own.parent.mkdir(parents=True)
    own.write_text(deploy("workflows/deploy"))
    assert codes(home, project, "") == []
