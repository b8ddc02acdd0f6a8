"""What holds of the client's source: its own tests, its size, what it needs, and the page that is made of it."""

from __future__ import annotations

import re

import pytest

from tests.clients_js.node import CLIENT, ROOT, node

pytestmark = pytest.mark.processes

_MOST = 1500
_COMMENT = re.compile(r"\s*(//|/?\*)")


@pytest.mark.thorough
def test_it_comes_to_the_verdicts_of_all_vectors() -> None:
    done = node("--test", *sorted((ROOT / "tests/clients_js").glob("*.test.mjs")))
    assert done.returncode == 0, done.stdout[-4000:]
    assert "# pass 0" not in done.stdout


def test_library_and_command_line_are_small() -> None:
    """Lines of JavaScript: not counted are blank lines and lines of comments alone."""
    lines = [
        line
        for path in (*(CLIENT / "lib").glob("*.mjs"), CLIENT / "rye.mjs")
        for line in path.read_text("utf-8").splitlines()
        if line.strip() and not _COMMENT.match(line)
    ]
    assert 1000 < len(lines) <= _MOST


def test_it_needs_nothing_but_node() -> None:
    """The library imports itself alone, so browsers can use it; the command line and the page's maker Node's own modules."""
    for path in CLIENT.rglob("*.mjs"):
        text = path.read_text("utf-8")
        assert "await import(" not in text, path
        for name in re.findall(r'^(?:import|export) .*from "([^"]+)";$', text, re.MULTILINE):
            assert name.startswith(("./", "../")) or (name.startswith("node:") and path.parent.name != "lib"), path
            assert not name.startswith(".") or (path.parent / name).resolve().is_relative_to(CLIENT), path
    assert not (CLIENT / "package.json").exists()


def test_the_page_is_made_from_the_modules() -> None:
    made = node(CLIENT / "page/make.mjs", "--print")
    assert made.returncode == 0, made.stderr
    assert made.stdout == (CLIENT / "check.html").read_text("utf-8"), "run `node clients/js/page/make.mjs`"
