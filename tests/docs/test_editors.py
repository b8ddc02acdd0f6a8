"""``docs/how-to/editors.md`` is true: its settings have the form that the editors read, and its commands run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest

from rye.cli.main import COMMANDS
from tests.scenes.person import Person

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "how-to" / "editors.md").read_text(encoding="utf-8")


def block(name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n```[a-z]+\n(.*?)```", TEXT, re.DOTALL)
    assert found is not None, name
    return found[1]


def test_every_editor_is_told_to_start_the_server() -> None:
    helix = tomllib.loads(block("helix"))
    assert [helix["language-server"]["rye"]["command"], *helix["language-server"]["rye"]["args"]] == ["rye", "lsp"]
    code = json.loads(block("vscode"))
    assert [code["glspc.server.command"], *code["glspc.server.commandArguments"]] == ["rye", "lsp"]
    binary = json.loads(block("zed"))["lsp"]["marksman"]["binary"]
    assert [binary["path"], *binary["arguments"]] == ["rye", "lsp"]
    assert 'cmd = { "rye", "lsp" }' in block("neovim")


def test_its_commands_exist_and_its_extra_does() -> None:
    assert set(re.findall(r"`rye ([a-z]+)", TEXT)) <= set(COMMANDS)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert "lsp" in extras
    assert "rye-registry[lsp]" in block("install")


@pytest.mark.processes
def test_its_shell_lines_run_as_they_stand(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    starter = tmp_path / "bin" / "rye"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m rye "$@"\n')
    starter.chmod(0o755)
    env = {**rye.environment, "HOME": str(tmp_path), "PATH": f"{starter.parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        ["sh", "-euc", block("completion")], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=30
    )
    subprocess.run(["sh", "-euc", block("schema")], env=env, cwd=tmp_path, check=True, capture_output=True, timeout=30)
    made = json.loads((tmp_path / "rye-toml.schema.json").read_text("utf-8"))
    text = block("taplo")
    assert text.startswith("#:schema ./rye-toml.schema.json\n")
    jsonschema.validate(tomllib.loads(text), made)
    script = (tmp_path / ".local/share/bash-completion/completions/rye").read_text("utf-8")
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
