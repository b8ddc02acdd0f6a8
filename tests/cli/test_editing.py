"""Editing on a terminal: an invalid text is reopened until it is valid, or the person gives up."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_overlay import FORMULA, entry
from tests.scenes.person import Person

pytestmark = pytest.mark.processes

EDITOR = """#!/bin/sh
if [ -e "$HOME/seen" ]; then
  grep -q broken "$1" && cat "$HOME/good" > "$1"
else
  touch "$HOME/seen"
  echo broken > "$1"
fi
"""


@pytest.fixture
def person(tmp_path: Path) -> Person:
    made = Person(tmp_path)
    made.write("rye.toml", "[project]\n")
    made.write(".ai/formulas/flow.formula.toml", FORMULA)
    script = made.home / "editor"
    script.write_text(EDITOR)
    script.chmod(0o755)
    (made.home / "good").write_text(entry("a", "skip"))
    made.environment["EDITOR"] = str(script)
    return made


def on_a_terminal(person: Person, answer: str, *words: str) -> tuple[int, str]:
    """Run with a terminal on all three streams; ``answer`` is what the person types."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from rye.cli.main import main; main()", *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=person.folder,
        env=person.environment | {"TERM": "dumb"},
    )
    os.close(slave)
    os.write(master, answer.encode())
    shown = b""
    while True:
        try:
            data = os.read(master, 4096)
        except OSError:  # Linux reports it when the other end is closed
            break
        if not data:
            break
        shown += data
    os.close(master)
    return process.wait(timeout=30), shown.decode()


def test_an_invalid_text_is_given_back_and_saved_when_it_is_mended(person: Person) -> None:
    code, shown = on_a_terminal(person, "y\n", "overlay", "edit", "flow")
    assert "Edit it again?" in shown
    assert "malformed-toml" in shown
    assert code == 0
    assert person.path(".ai/formula-overlays/flow.toml").read_text() == entry("a", "skip")
    assert os.listdir(person.path(".ai/formula-overlays")) == ["flow.toml"]


def test_who_gives_up_keeps_the_text_beside_and_the_file_as_it_was(person: Person) -> None:
    good = person.write(".ai/formula-overlays/flow.toml", entry("b", "skip"))
    code, shown = on_a_terminal(person, "n\n", "overlay", "edit", "flow")
    assert code == 1
    assert "flow.toml.rejected" in shown
    assert good.read_text() == entry("b", "skip")
    assert good.with_name("flow.toml.rejected").read_text() == "broken\n"


def test_a_text_that_was_kept_before_stays(person: Person) -> None:
    person.write(".ai/formula-overlays/flow.toml.rejected", "an hour's work\n")
    person.write(".ai/formula-overlays/flow.toml", entry("b", "skip"))
    script = person.home / "editor"
    script.write_text('#!/bin/sh\necho broken > "$1"\n')
    for kept in ("flow.toml.rejected.1", "flow.toml.rejected.2"):
        assert kept in person.run("overlay", "edit", "flow").stderr
        assert person.path(f".ai/formula-overlays/{kept}").read_text() == "broken\n"
    assert person.path(".ai/formula-overlays/flow.toml.rejected").read_text() == "an hour's work\n"


def test_a_file_that_changes_meanwhile_is_not_overwritten(person: Person) -> None:
    path = person.write(".ai/formula-overlays/flow.toml", entry("b", "skip"))
    script = person.home / "editor"
    script.write_text(f"#!/bin/sh\ncat \"$HOME/good\" > \"$1\"\necho '# someone else' > '{path}'\n")
    result = person.run("overlay", "edit", "flow", "--json")
    assert (result.code, result.error["code"]) == (1, "changed-meanwhile")
    assert path.read_text() == "# someone else\n"
    assert path.with_name("flow.toml.rejected").read_text() == entry("a", "skip")


def test_a_person_s_own_symlink_stays(person: Person, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.toml"
    dotfiles.write_text(entry("b", "skip"))
    folder = person.home / "ai" / "formula-overlays"
    folder.mkdir(parents=True)
    (folder / "flow.toml").symlink_to(dotfiles)
    (person.home / "editor").write_text('#!/bin/sh\ncat "$HOME/good" > "$1"\n')
    person.ok("overlay", "edit", "flow", "--user")
    assert (folder / "flow.toml").is_symlink()
    assert dotfiles.read_text() == entry("a", "skip")


@pytest.mark.parametrize("what", ["file", "folder", "ai"])
@pytest.mark.parametrize("good", [True, False])
def test_a_link_that_appears_while_the_editor_is_open_leads_nowhere(
    person: Person, tmp_path: Path, what: str, good: bool
) -> None:
    """The check was made before, and an editor is open for minutes: the text went where the link led."""
    outside = tmp_path / "outside"
    (outside / "formula-overlays").mkdir(parents=True)
    place = {"file": ".ai/formula-overlays/flow.toml", "folder": ".ai/formula-overlays", "ai": ".ai"}[what]
    target = {"file": outside / "new.toml", "folder": outside / "formula-overlays", "ai": outside}[what]
    text = "good" if good else "bad"
    (person.home / "bad").write_text("broken")
    (person.home / "editor").write_text(
        f'#!/bin/sh\ncat "$HOME/{text}" > "$1"\nmkdir -p "{person.path(place).parent}"\n'
        f'[ -e "{person.path(place)}" ] && mv "{person.path(place)}" "{tmp_path}/moved"\n'
        f'ln -s "{target}" "{person.path(place)}"\n'
    )
    result = person.run("overlay", "edit", "flow", "--json")
    assert result.code == 1
    assert [path for path in outside.rglob("*") if path.is_file()] == []
    assert result.error["code"] in (("symlink", "symlink-in-the-way") if good else ("rejected-edit",))
    kept = Path(result.error["hint"].partition("kept in ")[2].partition(". ")[0].removesuffix("."))
    kept = person.folder / kept  # next to the file, where only that is a link
    assert kept.read_text() == (person.home / text).read_text()
    if not kept.is_relative_to(person.folder):
        shutil.rmtree(kept.parent)


def test_the_editor_s_chatter_is_not_data(person: Person) -> None:
    (person.home / "editor").write_text("#!/bin/sh\necho chatter\n")
    result = person.spawn("overlay", "edit", "flow", "--json")
    assert result.json["created"] is True
    assert "chatter" in result.stderr
