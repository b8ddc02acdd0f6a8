"""Work on many texts shows that it goes on: the skills of one public collection take ten seconds on a slow machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import field

from rye.errors import RyeError
from rye.project.layout import Project
from rye.storage.home import Home
from rye.workspace.authoring.adopting import AdoptRequest, adopt_skills
from rye.workspace.context import Advance, LibraryContext
from rye.workspace.installing.adding_source import SourceRequest, add_from_source
from rye.workspace.installing.install_request import InstallRequest
from rye.workspace.items.item_facts import facts_report
from rye.workspace.named_file import NamedFile


class Watched(LibraryContext):
    bars: dict[str, list[int | None]] = field(default_factory=dict)
    """The total of each bar, and by how much it advanced."""

    @contextmanager
    def progress(self, title: str, total: int | None = None) -> Iterator[Advance]:
        bar = self.bars.setdefault(title, [total])
        yield lambda amount=1: bar.append(amount)


@pytest.fixture
def watched(home: Home, tmp_path: Path) -> Watched:
    for name in ("one", "two"):
        folder = tmp_path / "work/kit" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Use when it is needed.\n---\n\n# {name}\n")
    return Watched(cwd=tmp_path / "work", home=home)


def project(watched: Watched) -> Project:
    (watched.cwd / "rye.toml").write_text('[project]\nname = "work"\n')
    return Project(watched.cwd)


def request(watched: Watched) -> AdoptRequest:
    return AdoptRequest(NamedFile(watched.cwd / "kit", "kit"), False, False, "0.1.0", False)


def test_a_list_of_a_source_counts_the_items_that_it_reads(watched: Watched) -> None:
    add_from_source(
        watched,
        project(watched),
        InstallRequest(command="add"),
        SourceRequest(word="./kit", listing=True),
        lambda proposal: False,
    )
    assert watched.bars["reading the texts"] == [2, 1, 1]


def test_facts_of_many_texts_show_progress(watched: Watched) -> None:
    facts_report(watched, ["kit"])
    assert "reading the texts" in watched.bars


def test_adopting_counts_the_skills_that_it_reads(watched: Watched) -> None:
    project(watched)
    assert [done.status for done in adopt_skills(watched, request(watched))] == ["adopted", "adopted"]
    assert watched.bars["reading the skills"] == [2, 1, 1]


def test_adopting_without_a_project_is_refused_before_anything_is_read(watched: Watched) -> None:
    with pytest.raises(RyeError) as raised:
        list(adopt_skills(watched, request(watched)))
    assert raised.value.code == "no-project"
    assert watched.bars == {}
