"""``rye init`` sets up git's merge driver for rye.lock, and leaves what others wrote alone (docs/how-to/automation.md)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rye.workspace.authoring.merge_driver import DRIVER, write_attributes
from tests.scenes.person import Person

pytestmark = pytest.mark.processes


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    person = Person(tmp_path)
    git(person, "init", "-q")
    return person


def git(person: Person, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=person.folder, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_a_new_project_of_a_checkout_has_the_line_and_says_what_clones_do(rye: Person) -> None:
    done = rye.ok("init")
    assert rye.path(".gitattributes").read_text() == "rye.lock merge=rye\n"
    assert "rye init --merge-driver" in done.stderr
    assert git(rye, "config", "merge.rye.driver") == "", "only a person's word changes the clone"


def test_the_clone_is_set_up_once(rye: Person) -> None:
    rye.ok("init")
    first = rye.ok("init", "--merge-driver", "--json").json["merge_driver"]
    assert first == {"attributes": "kept", "clone": "written"}
    assert git(rye, "config", "merge.rye.driver") == DRIVER
    config = rye.path(".git/config").read_bytes()
    assert rye.ok("init", "--merge-driver", "--json").json["merge_driver"] == {"attributes": "kept", "clone": "kept"}
    assert rye.path(".git/config").read_bytes() == config
    assert git(rye, "check-attr", "merge", "rye.lock") == "rye.lock: merge: rye"
    said = rye.ok("init", "--merge-driver").stdout
    assert "already" in said


def test_a_new_project_can_have_both_at_once(rye: Person) -> None:
    rye.ok("init", "--merge-driver")
    assert git(rye, "config", "merge.rye.driver") == DRIVER
    assert rye.path(".gitattributes").exists()


@pytest.mark.parametrize(
    ("before", "outcome", "after"),
    [
        (b"*.png binary", "written", b"*.png binary\nrye.lock merge=rye\n"),
        (b"*.png binary\r\n", "written", b"*.png binary\r\nrye.lock merge=rye\r\n"),
        (b"rye.lock merge=ours\n", "foreign", None),
        (b"/rye.lock -text merge=union eol=lf\n", "foreign", None),
        (b"rye.lock -merge\n", "foreign", None),
        (b"rye.lock text\nrye.lock merge=rye\n", "kept", None),
        (b"# rye.lock merge=x\n", "written", b"# rye.lock merge=x\nrye.lock merge=rye\n"),
        (b"rye.lock.bak merge=x", "written", b"rye.lock.bak merge=x\nrye.lock merge=rye\n"),
        (b"\xff\n", "unreadable", None),
    ],
)  # fmt: skip
def test_lines_of_others_stay(tmp_path: Path, before: bytes, outcome: str, after: bytes | None) -> None:
    path = tmp_path / ".gitattributes"
    path.write_bytes(before)
    assert write_attributes(tmp_path) == outcome
    assert path.read_bytes() == (before if after is None else after)
    write_attributes(tmp_path)
    assert path.read_bytes() == (before if after is None else after)


def test_no_file_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("")
    (tmp_path / ".gitattributes").symlink_to("elsewhere")
    assert write_attributes(tmp_path) == "unreadable"
    assert (tmp_path / "elsewhere").read_text() == ""


def test_another_driver_of_that_name_stays(rye: Person) -> None:
    rye.ok("init")
    git(rye, "config", "merge.rye.driver", "mine")
    assert rye.ok("init", "--merge-driver", "--json").json["merge_driver"]["clone"] == "foreign"
    assert git(rye, "config", "merge.rye.driver") == "mine"


def test_outside_a_checkout_and_with_other_words_it_is_an_error(tmp_path: Path, rye: Person) -> None:
    plain = Person(tmp_path / "plain")
    plain.ok("init")
    assert not plain.path(".gitattributes").exists()
    rye.ok("init")
    assert rye.run("init", "--merge-driver", "--name", "x", "--json").error["code"] == "contradiction"
