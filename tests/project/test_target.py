"""What ``FILE|ID`` means, and which values are refused before use."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.directive.template import new_directive
from rye.project.layout import find_project
from rye.project.target import find_target, require_parsed
from rye.storage.home import Home


@pytest.fixture
def base(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".ai/directives/ops").mkdir(parents=True)
    (root / ".ai/directives/ops/deploy.md").write_text(new_directive("deploy", "ops"))
    (root / "rye.toml").write_text('[project]\nnamespace = "acme"\n')
    return root


def test_a_file_and_an_id_are_the_same_item(home: Home, base: Path) -> None:
    file, by_id = find_target(home, ".ai/directives/ops/deploy.md", base), find_target(home, "ops/deploy", base)
    assert file.item.data == by_id.item.data
    assert (file.id, by_id.id) == ("ops/deploy", "acme/ops/deploy")
    assert (file.entry, by_id.entry is not None) == (None, True)
    assert file.item.shown == ".ai/directives/ops/deploy.md"


def test_from_a_folder_below_the_project(home: Home, base: Path) -> None:
    (base / "src").mkdir()
    assert find_target(home, "deploy", base / "src").id == "acme/ops/deploy"
    assert find_target(home, "../.ai/directives/ops/deploy.md", base / "src").item.location.category == "ops"


def test_dots_in_a_path_name_the_folder_they_lead_to(home: Home, base: Path) -> None:
    (base / ".ai/directives/other").mkdir()
    found = find_target(home, ".ai/directives/other/../ops/deploy.md", base)
    assert (found.item.location.category, found.item.reading.ok) == ("ops", True)
    inner = base / "inner"
    inner.mkdir()
    project = find_project(inner / ".." / ".." / "elsewhere")
    assert project is None or project.root != base


def test_versions_are_checked(home: Home, base: Path) -> None:
    assert find_target(home, "ops/deploy@^0.1", base).id == "acme/ops/deploy"
    with pytest.raises(RyeError) as caught:
        find_target(home, "ops/deploy@>1", base)
    assert caught.value.code == "other-version"


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "does-not-parse"), (b"\xff", "does-not-parse"), (b"x" * 300_000, "does-not-parse")],
)
def test_what_does_not_parse_is_refused_with_its_findings(home: Home, base: Path, data: bytes, code: str) -> None:
    """DECISIONS Directives 13."""
    (base / ".ai/directives/ops/deploy.md").write_bytes(data)
    with pytest.raises(RyeError) as caught:
        require_parsed(find_target(home, "ops/deploy", base).item)
    assert caught.value.code == code
    assert caught.value.details["diagnostics"]


def test_a_file_of_no_kind_needs_one(home: Home, base: Path) -> None:
    (base / "x.rst").write_text(new_directive("x", "ops"))
    with pytest.raises(RyeError) as caught:
        find_target(home, "./x.rst", base)
    assert caught.value.code == "unknown-kind-of-file"
    assert find_target(home, "./x.rst", base, "directive").item.kind.name == "directive"
