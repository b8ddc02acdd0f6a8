"""No sentence tells people to install ``rye``, which is a stranger's on the public index: ours is ``rye-registry`` (adr 0012)."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rye.extras import extra_missing

ROOT = Path(__file__).parents[2]
_NAME = r"rye(?:\[[\w, -]*\])?(?![\w./:-])"
"""The distribution as a whole word, perhaps with extras: neither ``rye-registry`` nor a path or module."""
_INSTALLS = re.compile(
    # an installer's words and options, then the name as one of the words before the command ends
    r"\b(?:(?:pip3?|uv|pipx|poetry|pdm|hatch|conda|mamba|brew|apt|apt-get|dnf|cargo|npm|nix)\b[^\n;|&`]{0,80}?"
    r"\b(?:install|add|inject|run|require)|uvx)"
    rf"(?P<words>(?:[ \t]+[^\s;|&`]+){{0,12}}?)[ \t]+[\"']?(?P<name>{_NAME})",
    re.IGNORECASE,
)
_REQUIREMENTS = (
    re.compile(r"(?<![\w./-])rye\[(?:server|mcp|lsp)"),  # an extra of ours under the stranger's name
    re.compile(r"(?<![\w./-])rye[ \t]*(?:==|~=|>=|<=|@[ \t]*(?:https?|file|git)\b)"),
    re.compile(r"pypi\.org/(?:project|simple)/rye(?![\w-])"),
)
_FROM = ("--from", "--spec", "-e", "--editable", "--with-editable", "-r")
"""After these options, the next word says what is installed, and what follows is what is run."""


def wrong(text: str) -> list[str]:
    """The installations of ``rye`` that a text names."""
    found = [match[0] for match in _INSTALLS.finditer(text) if not _is_from_elsewhere(match)]
    return found + [match[0] for pattern in _REQUIREMENTS for match in pattern.finditer(text)]


def _is_from_elsewhere(match: re.Match[str]) -> bool:
    """Whether ``rye`` is the program that is run from something named before, or the extra's owner is a path."""
    words = match["words"].split()
    return any(word in _FROM for word in words[:-1]) and words[-1] not in _FROM


def texts() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    found: dict[str, str] = {}
    for name in listed.split("\0"):
        path = ROOT / name
        if name and path.is_file() and name != "tests/house/test_distribution_name.py":
            data = path.read_bytes()
            if b"\0" not in data and b"rye" in data:
                lines = data.decode("utf-8", "replace").split("\n")
                found[name] = "\n".join(line for line in lines if "rye" in line.lower())  # no match spans two lines
    return found


@pytest.mark.processes
def test_no_file_tells_people_to_install_a_stranger_s_package() -> None:
    assert {name: lines for name, text in texts().items() if (lines := wrong(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "pip install rye",
        "pip install 'rye[lsp]'",
        'python3 -m pip install --user -U "rye[server,mcp]"',
        "pip install rye==0.1.0",
        "pip install click rye",
        "pip install 'rye @ https://example.org/rye.whl'",
        "pipx install rye",
        "pipx run rye ci",
        "uvx rye --version",
        "uvx --from rye rye --version",
        "uv tool install rye",
        "uv tool run rye",
        "uv pip install rye",
        "uv add rye",
        "poetry add rye",
        "brew install rye",
        "the extra `rye[mcp]`",
        "rye>=0.1",
        "https://pypi.org/project/rye/",
    ],
)
def test_each_form_of_it_is_found(text: str) -> None:
    assert wrong(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install 'rye-registry[lsp]'",
        "pipx install ./dist/rye_registry-0.1.0-py3-none-any.whl",
        "uvx --from ./dist/rye_registry-0.1.0-py3-none-any.whl rye --version",
        "pip install -e .",
        "pip install -r requirements/client.txt; rye ci",
        "pip install . && rye install",
        "pip uninstall --yes old; rye add acme/x",
        "brew tap x/rye.git",
        "rye add acme/x@1.0.0",
        "from rye.api import Home",
    ],
)
def test_what_installs_something_else_is_not(text: str) -> None:
    assert wrong(text) == []


def test_the_project_and_its_hints_have_the_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == "rye-registry"
    assert project["scripts"].keys() == {"rye", "rye-registry"}
    for extra in project["optional-dependencies"]:
        hint = str(extra_missing("x", extra).hint)
        assert "rye-registry" not in hint, "a stranger may register that name on an index"
        assert shlex.quote(f"{ROOT}[{extra}]") in hint


@pytest.mark.processes
def test_the_hint_names_what_this_program_was_installed_from_while_it_is_there(tmp_path: Path) -> None:
    """As pip notes it; without a note, or without that file, it leads to a clone."""
    site, wheel = tmp_path / "site", tmp_path / "my wheels" / "rye_registry-0.1.0-py3-none-any.whl"
    (site / "rye").mkdir(parents=True)
    for name in ("__init__", "errors", "extras"):
        shutil.copy(ROOT / "rye" / f"{name}.py", site / "rye")
    info = site / "rye_registry-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rye-registry\nVersion: 0.1.0\n")
    note = info / "direct_url.json"
    note.write_text(json.dumps({"url": wheel.as_uri(), "archive_info": {}}))

    def hint() -> str:
        code = "from rye.extras import extra_missing; print(extra_missing('x', 'server').hint)"
        words = [sys.executable, "-c", code]
        environment = {"PYTHONPATH": str(site)}
        done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    assert "In a clone of it, `make demo`" in hint()
    wheel.parent.mkdir()
    wheel.touch()
    assert hint() == f"Add it: {sys.executable} -m pip install '{wheel}[server]'\n"
    for other in ("[]", "{", json.dumps({"url": "https://index.example.org/rye_registry.whl"}), '{"url": 1}'):
        note.write_text(other)
        assert "make demo" in hint()
    note.unlink()
    assert "make demo" in hint()
