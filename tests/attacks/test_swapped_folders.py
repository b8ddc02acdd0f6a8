"""Another program puts a symbolic link in a folder's place while Rye writes in it: nothing is written or removed behind the link
(docs/reference/attacks-repositories.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_overlay import FORMULA, entry
from tests.scenes.person import Person

OVERLAY = entry("gone", "skip") + entry("a", "skip")
"""Of which one entry is stale."""


class Swap:
    """Puts a link to ``outside`` in a folder's place just before a file in it is made, replaced or removed."""

    def __init__(self, folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.aside = folder.with_name(f"{folder.name}-aside")
        self.done = False

        def swap() -> None:
            if not self.done and folder.is_dir() and not folder.is_symlink():
                self.done = True
                folder.rename(self.aside)
                folder.symlink_to(outside)

        opened, open_file = os.open, Path.open

        def os_open(path: str, flags: int, *rest: int, **options: int | None) -> int:
            if flags & os.O_CREAT:
                swap()
            return opened(path, flags, *rest, **options)  # type: ignore[arg-type]

        def path_open(self: Path, mode: str = "r", *rest: object, **options: object) -> object:
            if "x" in mode:
                swap()
            return open_file(self, mode, *rest, **options)  # type: ignore[call-overload]

        monkeypatch.setattr(os, "open", os_open)
        monkeypatch.setattr(os, "supports_dir_fd", os.supports_dir_fd | {os_open})
        monkeypatch.setattr(Path, "open", path_open)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    made.mkdir()
    return made


def test_rye_new_writes_where_it_looked(tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rye = Person(tmp_path, "acme")
    rye.new("directive", "work/one")
    swapped = Swap(rye.path(".ai/directives/work"), outside, monkeypatch)
    rye.run("new", "directive", "work/two")
    assert swapped.done
    assert list(outside.iterdir()) == []
    assert (swapped.aside / "two.md").exists()


@pytest.mark.parametrize("link", [".ai/directives", ".ai/directives/work"])
def test_rye_new_goes_through_no_link(tmp_path: Path, outside: Path, link: str) -> None:
    rye = Person(tmp_path, "acme")
    place = rye.path(link)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    rye.fails("new", "directive", "work/two", code="symlink-in-the-way")
    assert list(outside.rglob("*")) == []


@pytest.fixture
def overlaid(tmp_path: Path) -> Person:
    rye = Person(tmp_path)
    rye.write("rye.toml", "[project]\n")
    rye.write(".ai/formulas/flow.formula.toml", FORMULA)
    rye.write(".ai/formula-overlays/flow.toml", OVERLAY)
    return rye


@pytest.fixture
def swaps(overlaid: Person, outside: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Swap]:
    return lambda: Swap(overlaid.path(".ai/formula-overlays"), outside, monkeypatch)


def test_doctor_fixes_where_it_looked(overlaid: Person, outside: Path, swaps: Callable[[], Swap]) -> None:
    (outside / "flow.toml").write_text(OVERLAY)
    swapped = swaps()
    overlaid.run("doctor", "--fix")
    assert swapped.done
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [("flow.toml", OVERLAY)]
    assert {path.name for path in swapped.aside.iterdir()} == {"flow.toml", "flow.toml.bak"}
    assert "gone" not in (swapped.aside / "flow.toml").read_text()


def test_doctor_goes_through_no_link(overlaid: Person, outside: Path) -> None:
    folder = overlaid.path(".ai/formula-overlays")
    folder.rename(outside / "there")
    folder.symlink_to(outside / "there")
    assert overlaid.run("doctor", "--fix").code == 1
    assert [path.name for path in (outside / "there").iterdir()] == ["flow.toml"]
