"""The extensions in ``editors/``: what their manifests say is there, and what they start is `rye lsp`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from rye.cli.main import COMMANDS
from rye.items.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
CODE, ZED = ROOT / "editors" / "vscode", ROOT / "editors" / "zed"
MANIFEST: dict[str, Any] = json.loads((CODE / "package.json").read_text("utf-8"))


def loaded(tmp_path: Path, *words: str) -> Any:
    """What the extension asked of its stand-ins. Skips the test without Node.js."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("There is no Node.js here.")
    script = Path(__file__).with_name("loaded.js")
    command = [node, str(script), str(CODE / "extension.js"), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_manifest_for_visual_studio_code_names_what_is_there() -> None:
    assert {"name", "version", "publisher", "engines", "main", "activationEvents", "license"} <= MANIFEST.keys()
    assert (CODE / MANIFEST["main"]).is_file()
    assert re.fullmatch(r"\^\d+\.\d+\.\d+", MANIFEST["engines"]["vscode"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST["dependencies"]["vscode-languageclient"]), "pinned"
    assert "scripts" not in MANIFEST, "there is no build step"
    assert MANIFEST["activationEvents"] == ["workspaceContains:**/rye.toml"]
    code = (CODE / "extension.js").read_text("utf-8")
    used = set(re.findall(r'require\("([^"]+)"\)', code))
    assert used == {"vscode", "vscode-languageclient/node"}
    for command in MANIFEST["contributes"]["commands"]:
        assert f'registerCommand("{command["command"]}"' in code
    for name, setting in MANIFEST["contributes"]["configuration"]["properties"].items():
        assert f'affectsConfiguration("{name}")' in code
        assert setting["scope"] == "machine", "a project must not choose what is started"
    assert "lsp" in COMMANDS


@pytest.mark.processes
def test_visual_studio_code_starts_the_server_for_the_files_of_rye_projects(tmp_path: Path) -> None:
    said = loaded(tmp_path, "rye")
    assert said["before"] == 1, "another setting restarts nothing"
    assert (len(said["clients"]), said["stopped"], said["errors"]) == (3, 3, [])
    for client in said["clients"]:
        assert client["started"]
        assert client["server"] == {"command": "rye", "args": ["lsp"], "options": {"cwd": "/extension"}}
    assert (said["commands"], said["kept"]) == (["rye.restart"], 2)
    selectors = said["clients"][0]["options"]["documentSelector"]
    assert {each["scheme"] for each in selectors} == {"file"}

    def served(path: str, language: str) -> bool:
        return any(
            fnmatch(f"/{path}", each["pattern"].replace("**/", "*/").replace("*/*/", "*/"))
            for each in selectors
            if each.get("language", language) == language
        )

    for kind in KINDS.values():
        for ending in kind.endings:
            path = f"home/me/shop/.ai/{kind.folder}/" + ("x/" if kind.main_file else "x") + ending
            language = {"md": "markdown", "toml": "toml"}.get(ending.rpartition(".")[2])
            if language is not None:
                assert served(path, language), path
    assert served("home/me/shop/rye.toml", "toml")
    assert served("home/me/shop/.ai/overrides/acme/work/x.md", "markdown")
    assert not served("home/me/shop/README.md", "markdown")
    assert not served("home/me/shop/pyproject.toml", "toml")


@pytest.mark.processes
def test_a_server_that_does_not_start_is_an_error_with_what_to_do(tmp_path: Path) -> None:
    said = loaded(tmp_path, "/opt/rye", "broken")
    assert said["clients"][0]["server"]["command"] == "/opt/rye"
    assert said["errors"][0] == (
        'Rye: "/opt/rye lsp" did not start. Install Rye with its extra "lsp", or set "rye.path". (spawn ENOENT)'
    )
    assert said["stopped"] == 0


def test_the_manifests_for_zed_agree_with_the_source() -> None:
    extension = tomllib.loads((ZED / "extension.toml").read_text("utf-8"))
    assert {"id", "name", "version", "schema_version", "authors", "description"} <= extension.keys()
    assert extension["schema_version"] == 1
    assert re.fullmatch(r"[a-z0-9-]+", extension["id"])
    (server,) = extension["language_servers"].values()
    assert server["languages"] == ["Markdown", "TOML"] == list(server["language_ids"])
    cargo = tomllib.loads((ZED / "Cargo.toml").read_text("utf-8"))
    assert cargo["package"]["version"] == extension["version"] == MANIFEST["version"]
    assert cargo["lib"]["crate-type"] == ["cdylib"]
    assert "zed_extension_api" in cargo["dependencies"]
    source = (ZED / cargo["lib"]["path"]).read_text("utf-8")
    assert 'const PROGRAM: &str = "rye";' in source
    assert 'const ARGUMENTS: [&str; 1] = ["lsp"];' in source
    assert 'read_text_file("rye.toml")' in source


@pytest.mark.parametrize("folder", [CODE, ZED], ids=["vscode", "zed"])
def test_a_readme_says_what_was_tried(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    assert "## What was tried" in text
    assert "has not been run inside" in text or "nor run inside" in text
