"""`make` says in one line what is missing; `make install` replaces no other program (making/)."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
ROOT = Path(__file__).resolve().parents[2]
MAKING = ROOT / "making"


def run(script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(MAKING / script), *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("script", ["environment.py", "install.py"])
def test_old_pythons_can_read_what_tells_them_that_they_are_old(script: str) -> None:
    source = (MAKING / script).read_text("utf-8")
    assert source.isascii(), "Python 2 reads no other letters"
    ast.parse(source, feature_version=(3, 4))
    assert 'f"' not in source


def test_a_python_that_is_too_old_is_named_in_one_line_before_anything_is_made(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.version_info = (3, 10, 13, 'final', 0); import environment; "
        "environment.main(['set-up', sys.argv[2], 'setting up', 'none.txt'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(MAKING), str(tmp_path / "venv")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "is 3.10.13" in done.stderr
    assert "make PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.thorough
def test_a_broken_environment_is_made_again_and_a_missing_network_is_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(tmp_path / "gone")
    (folder / ".runtime").touch()
    run("environment.py", "forget-broken", str(folder))
    assert not (folder / ".runtime").exists(), "make would believe it"
    pins = tmp_path / "pins.txt"
    pins.write_text(f"click==8.1.8 --hash=sha256:{'0' * 64}\n")
    offline = {"PIP_INDEX_URL": "https://127.0.0.1:9/simple", "PIP_NO_CACHE_DIR": "1", "PIP_CONFIG_FILE": os.devnull}
    done = run("environment.py", "set-up", str(folder), "setting up", str(pins), **offline)
    assert done.returncode == 1
    assert "no usable Python; making it again" in done.stdout
    assert done.stderr.count("\n") == 1
    assert "there is no network" in done.stderr
    assert subprocess.run([folder / "bin" / "python", "-c", ""], check=False).returncode == 0
    (folder / ".runtime").touch()
    run("environment.py", "forget-broken", str(folder))
    assert (folder / ".runtime").exists(), "it is not broken any more"


@pytest.mark.thorough
def test_an_environment_that_was_moved_is_broken(tmp_path: Path) -> None:
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=120)
    program = folder / "bin" / "rye"
    program.write_text(f"#!{tmp_path}/elsewhere/bin/python\n")
    (folder / ".dev").touch()
    run("environment.py", "forget-broken", str(folder))
    assert not (folder / ".dev").exists()


def test_another_program_of_that_name_stays(tmp_path: Path) -> None:
    other = tmp_path / "bin" / "rye"
    other.parent.mkdir()
    other.write_text("another\n")
    for words in (("install", str(tmp_path)), ("uninstall", str(tmp_path))):
        done = run("install.py", *words)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert other.read_text() == "another\n"


def test_uninstalling_removes_what_was_installed_and_nothing_else(tmp_path: Path) -> None:
    made, kept = tmp_path / "share/rye/client-x/bin/rye", tmp_path / "share/rye/notes.txt"
    made.parent.mkdir(parents=True)
    made.touch()
    kept.touch()
    link = tmp_path / "bin/rye"
    link.parent.mkdir()
    link.symlink_to(made)
    ended = run("install.py", "uninstall", str(tmp_path))
    assert (ended.returncode, ended.stdout.split(" Projects")[0]) == (
        0,
        f"removed {tmp_path / 'bin' / 'rye'} and the program that it led to.",
    )
    assert not os.path.lexists(link)
    assert not made.parents[1].exists()
    assert kept.exists()


def test_nobody_else_may_change_what_was_installed_whatever_the_shells_umask_is(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); import install; os.umask(0)\n"
        "def write(folder, words): os.makedirs(folder + '/bin', exist_ok=True); open(folder + '/bin/rye', 'w').close()\n"
        "install.environment.install = write; install.subprocess.check_output = lambda words: b'rye 1'\n"
        "install.subprocess.call = lambda words: 0; install.install(sys.argv[2])"
    )
    subprocess.run([sys.executable, "-c", code, str(MAKING), str(tmp_path / "prefix")], check=True, timeout=60)
    made = [path for path in (tmp_path / "prefix").rglob("*") if not path.is_symlink()]
    assert "rye" in {path.name for path in made if path.is_file()}
    assert [path for path in made if path.stat().st_mode & 0o022] == []
