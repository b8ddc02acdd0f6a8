"""Modules in a folder that Rye runs in: programs that Rye starts take none of them, whatever they are called."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rye.cli.registry.registry_serve import server_command

ROOT = Path(__file__).resolve().parents[2]
STARTED = re.compile(r'sys\.executable,\s*"([^"]*)"')


@pytest.mark.processes
def test_a_registry_that_is_started_in_a_hostile_clone_is_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rye registry serve` starts `rye-registry` as a module, in the folder where the person is."""
    clone, owned = tmp_path / "clone", tmp_path / "owned"
    for name in ("registry_server", "rye", "json"):
        (clone / name).mkdir(parents=True)
        (clone / name / "__init__.py").write_text(f"open({str(owned)!r}, 'w')")
    monkeypatch.chdir(clone)
    subprocess.run([sys.executable, "-m", "registry_server.cli"], capture_output=True, check=False)
    assert owned.exists(), "the attack works"
    owned.unlink()
    made = server_command("init", "--data", str(tmp_path / "data"), "--origin", "registry.example.org")
    assert made["origin"] == "registry.example.org"
    assert not owned.exists()


def test_every_python_that_rye_starts_leaves_the_current_folder_out() -> None:
    found = [
        (path.relative_to(ROOT).as_posix(), flag)
        for folder in ("rye", "registry_server")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for flag in STARTED.findall(path.read_text("utf-8"))
    ]
    assert len(found) >= 6
    assert [row for row in found if row[1] not in ("-P", "-I")] == []
