"""What ``rye rollback`` remembers: the step back, and the state in which the last installation left the manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.installation.rollback import edits_since, keep_previous, read_previous
from rye.installation.transaction import exclusive
from rye.project.layout import Project
from rye.project.lock import Lock

LEFT = '[dependencies]\n"acme/work/item" = "^1"\n'
LOCK = Lock({"acme/work/item": "^1"})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "rye.toml").write_text(LEFT)
    return Project(tmp_path)


def remember(project: Project, left: str | None) -> None:
    with exclusive(project) as writer:
        writer.apply(keep_previous(project, left))


def test_every_line_that_was_edited_since_is_told(project: Project) -> None:
    remember(project, LEFT)
    assert edits_since(read_previous(project), LOCK, LEFT) == []
    assert edits_since(read_previous(project), LOCK, f"# Mine.\n{LEFT.replace('^1', '^2')}") == [
        "+# Mine.",
        '-"acme/work/item" = "^1"',
        '+"acme/work/item" = "^2"',
    ]
    assert edits_since(read_previous(project), LOCK, "no [toml") != []


def test_where_it_is_not_remembered_dependencies_are_compared_with_the_lock(project: Project) -> None:
    remember(project, LEFT)
    remember(project, None)
    assert edits_since(read_previous(project), LOCK, f"# Mine.\n{LEFT}") == []
    assert edits_since(read_previous(project), LOCK, LEFT.replace("^1", "^2")) == [
        "-acme/work/item = ^1",
        "+acme/work/item = ^2",
    ]
    assert edits_since(read_previous(project), LOCK, "no [toml") == ["rye.toml is not valid now"]
