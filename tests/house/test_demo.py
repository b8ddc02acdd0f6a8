"""``rye demo`` does what README promises: it runs to the end, over a real registry process, and leaves nothing running."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The output of the demo, run once with an empty home folder, and its folder."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "demo"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RYE_")}
    run = subprocess.run(
        [sys.executable, "-m", "rye", "demo", "--run", "--folder", str(folder)],
        cwd=REPOSITORY,
        env={**environment, "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout, folder


@pytest.mark.thorough
def test_it_shows_the_whole_way_of_an_item(demo: tuple[str, Path]) -> None:
    said = demo[0]
    in_order = [
        "rye keys generate",
        "rye namespace claim rye",
        "rye validate --strict",
        "rye publish",
        "rye search deploy",
        "Rights asked for:",
        "(answered by the demo)",
        "added 3",
        "<returns>",
        "was changed",
    ]
    places = [said.index(words) for words in in_order]
    assert places == sorted(places)


@pytest.mark.thorough
def test_the_directive_runs_and_its_rights_bind(demo: tuple[str, Path]) -> None:
    """One call is denied, one hook fires, wrong outputs are refused and the declared ones accepted."""
    said = demo[0].partition("$ rye run ")[2]
    assert "rye_execute tool:rye/shell/delete_cluster: denied" in said
    assert "hook directive:rye/authoring/review_permissions: done" in said
    assert said.index("rye_return: deviation") < said.index("deployment_id = storefront-8")
    shown = said.partition("$ rye runs show ")[2]
    assert ": ok, " in shown
    if "sandbox-unavailable" not in said:
        assert "rye_execute tool:rye/shell/kubectl: done" in said


@pytest.mark.thorough
def test_every_one_of_its_commands_stands_in_front_of_what_it_printed(demo: tuple[str, Path]) -> None:
    assert len(re.findall(r"^\$ rye", demo[0], re.MULTILINE)) >= 14


@pytest.mark.thorough
def test_it_leaves_files_where_it_says_and_nothing_running(demo: tuple[str, Path]) -> None:
    said, folder = demo
    assert str(folder) in said.splitlines()[-1]
    assert (folder / "team" / "rye.lock").is_file()
    assert (folder / "registry" / "public" / "head").is_file()
    address = re.search(r"Serving on http://127\.0\.0\.1:(\d+)", said)
    assert address is not None
    import socket

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(address[1])), timeout=2)


@pytest.mark.thorough
def test_it_says_where_its_pages_are_and_what_one_looks_like(demo: tuple[str, Path]) -> None:
    said = demo[0]
    assert "`rye demo --look`" in said
    picture = re.search(r"A picture of one of them: (.+)", said)
    assert picture is not None
    assert Path(picture[1]).read_bytes().startswith(b"\x89PNG")
    assert f"]({Path(picture[1]).relative_to(REPOSITORY / 'docs')})" in (REPOSITORY / "docs/tutorial.md").read_text()


def test_every_picture_of_the_documentation_is_shown_and_made_by_the_target() -> None:
    makes = (REPOSITORY / "tests/browser/screenshots.py").read_text(encoding="utf-8")
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    shown = {
        name for page in pages for name in re.findall(r"!\[[^\]]+\]\([^)]*pictures/([^)]+)\)", page.read_text("utf-8"))
    }
    there = {path.name for path in (REPOSITORY / "docs/pictures").iterdir()}
    assert shown == there
    assert all(f'PICTURES / "{name}"' in makes for name in there)


@pytest.mark.thorough
def test_the_only_private_keys_are_in_the_demo_s_own_folders(demo: tuple[str, Path]) -> None:
    for path in demo[1].rglob("*.key"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("mine", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "rye", "demo", "--json", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    assert json.loads(run.stdout)["error"]["code"] == "folder-not-empty"


@pytest.mark.thorough
def test_readme_shows_lines_that_the_demo_prints(demo: tuple[str, Path]) -> None:
    """In this order, with some left out; fingerprints differ from run to run, and ``…`` stands for a path."""
    shown = (REPOSITORY / "README.md").read_text(encoding="utf-8").split("<!-- demo -->\n")[1].split("\n## ")[0]
    printed = iter([_comparable(line) for line in demo[0].splitlines()])
    for line in filter(None, map(_comparable, shown.splitlines())):
        pattern = re.compile(re.escape(line).replace("…", ".+"))
        assert any(pattern.fullmatch(other) for other in printed), line


def _comparable(line: str) -> str:
    return re.sub(r"SHA256:\S+", "SHA256:x", " ".join(line.split()))
