"""``docs/how-to/editors.md`` is true: its settings have the form that the editors read, and its commands run."""

from __future__ import annotations

import json
import re
import shutil
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
    assert block("vscode") in (ROOT / "editors" / "vscode" / "README.md").read_text("utf-8")
    version = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text("utf-8"))["version"]
    assert f"rye-{version}.vsix" in block("vscode")
    assert 'cmd = { "rye", "lsp" }' in block("neovim")


@pytest.mark.processes
def test_neovim_starts_the_server_with_these_lines(tmp_path: Path) -> None:
    """In the real program, if one is here that can read them."""
    nvim = shutil.which("nvim")
    found = (
        re.search(r"NVIM v(\d+)\.(\d+)", subprocess.run([nvim, "--version"], capture_output=True, text=True).stdout)
        if nvim
        else None
    )
    if nvim is None or found is None or (int(found[1]), int(found[2])) < (0, 11):
        pytest.skip("There is no Neovim 0.11 here.")
    rye = Person(tmp_path, "acme")
    starter = tmp_path / "bin" / "rye"
    starter.parent.mkdir()
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} -m rye "$@"\n')
    starter.chmod(0o755)
    item = rye.write(".ai/directives/work/ship.md", "# Ship\n\n```xml\n<directive>\n```\n")
    rye.write("init.lua", f"{block('neovim')}\nvim.cmd('filetype on')\n")
    script = """
    local function ready() return #vim.diagnostic.get(0) > 0 end
    vim.wait(50000, ready, 100)
    for _, client in ipairs(vim.lsp.get_clients({bufnr = 0})) do print(client.name, client.root_dir) end
    for _, found in ipairs(vim.diagnostic.get(0)) do print(found.code) end
    """
    rye.write("ask.lua", script)
    env = {**rye.environment, "HOME": str(tmp_path), "PATH": f"{starter.parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)}
    words = [nvim, "--headless", "-u", "init.lua", str(item), "-c", "luafile ask.lua", "-c", "qa!"]
    done = subprocess.run(words, cwd=rye.folder, env=env, capture_output=True, text=True, timeout=90)
    assert f"rye {rye.folder}" in done.stderr.replace("\t", " "), done
    assert re.search(r"\b[DRC]\d\d", done.stderr), done


def test_its_commands_exist_and_its_extra_does() -> None:
    assert set(re.findall(r"`rye ([a-z]+)", TEXT)) <= set(COMMANDS)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert "lsp" in extras
    assert ".whl[lsp]" in block("install")


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
