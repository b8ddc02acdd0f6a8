"""CONTRIBUTING.md and extending.md: every recipe is followed to the letter in a copy of the tree (house 5)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.recipes import Commands, Hunk, NewFile, apply, hunks, steps

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "how-to" / "extending.md"]
TEXT = "".join(page.read_text("utf-8") for page in PAGES)
STEPS = list(steps(TEXT))
RECIPES = list(dict.fromkeys(step.recipe for step in STEPS if isinstance(step, Commands) and step.recipe is not None))
_COPIED = ("rye", "registry_server", "making", "tests", "docs", ".ai", "pyproject.toml", "rye.toml", "README.md")


def shell(script: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """Run commands as a contributor would, with the copy's code and this environment's packages."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=tree,
        env={**kept, "HOME": str(tree / "home"), "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("clone")
    for name in _COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("node_modules", "*.pyc.*")  # bytecode that another process is writing
            shutil.copytree(ROOT / name, place / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy(ROOT / name, place)
    (place / ".venv").symlink_to(sys.prefix)
    (place / "home").mkdir()
    return place


@pytest.mark.processes
@pytest.mark.thorough
def test_every_recipe_works_in_the_order_of_the_pages(tree: Path) -> None:
    """One copy for all of them: a contributor may follow the pages from top to bottom."""
    touched = set()
    for step in STEPS:
        if isinstance(step, Commands):
            if step.recipe is not None:
                done = shell(step.script, tree)
                assert done.returncode == 0, f"{step.script}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        else:
            apply(step, tree)
            touched.add(step.path)
    assert RECIPES == ["setup", "command", "code", "kind", "limit", "statement"]
    python = sorted(path for path in [*touched, "rye/items/checklist.py"] if path.endswith(".py"))
    assert len(python) >= 14
    done = shell(f".venv/bin/ruff check {' '.join(python)} && .venv/bin/ruff format --check {' '.join(python)}", tree)
    assert done.returncode == 0, done.stdout


def test_every_target_of_make_that_the_pages_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    named = set(re.findall(r"(?m)(?:`|^)make ([a-z-]+)", TEXT)) | set(re.findall(r"`BASE=other make ([a-z-]+)", TEXT))
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    assert {"check", "test", "test-fast", "schemas"} <= named
    assert named <= targets


def test_every_path_that_the_pages_name_exists() -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    made = {step.path for step in STEPS if isinstance(step, NewFile)}
    named = {path for path in re.findall(r"`([\w./-]+/[\w./-]*)`", prose) if path not in made}
    assert len(named) >= 15
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_a_hunk_needs_one_place(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\nb\na\nc\n")
    [first, second] = hunks("--- x\n@@\n a\n+new\n c\n@@\n-a\n")
    assert first == Hunk("x", "a\nc\n", "a\nnew\nc\n")
    apply(first, tmp_path)
    assert (tmp_path / "x").read_text() == "a\nb\na\nnew\nc\n"
    with pytest.raises(ValueError, match="2 places"):
        apply(second, tmp_path)
    with pytest.raises(ValueError, match="0 places"):
        apply(first, tmp_path)
    with pytest.raises(ValueError, match="exists"):
        apply(NewFile("x", ""), tmp_path)
    [third] = hunks("--- x\n@@\n+last\n")
    apply(third, tmp_path)
    assert (tmp_path / "x").read_text() == "a\nb\na\nnew\nc\nlast\n"


def test_a_block_that_nobody_plays_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody plays"):
        list(steps("```sh\nrm -rf /\n```"))
