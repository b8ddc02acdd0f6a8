"""`rye.pyz`: one file that unpacks itself once, and uses nothing in its cache that is not exactly what it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from making import zipapp
from tests.packaging.test_wheel import ROOT, pinned_here

pytestmark = [pytest.mark.processes, pytest.mark.thorough]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The files that the wheels of the client's packages have, from where they are installed."""
    found: dict[str, bytes] = {}
    for package in pinned_here():
        for file in package.files or ():
            path = Path(str(package.locate_file(file)))
            if ".." not in file.parts and ".dist-info" not in str(file) and path.suffix != ".pyc" and path.is_file():
                found[str(file)] = path.read_bytes()
    for path in (ROOT / "rye").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            found[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    return found


@pytest.fixture(scope="module")
def program(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pyz") / "rye.pyz"
    zipapp.write(out, files)
    return out


def start(program: Path, cache: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RYE_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, str(program), *words],
        env={**environment, "HOME": str(cache), "RYE_CACHE_DIR": str(cache)},
        cwd=cache,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_same_files_give_the_same_bytes(program: Path, files: dict[str, bytes], tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    zipapp.write(again, dict(reversed(files.items())))
    assert again.read_bytes() == program.read_bytes()


def test_it_runs_outside_a_checkout_and_keeps_its_files_private(program: Path, tmp_path: Path) -> None:
    assert start(program, tmp_path, "--version").stdout.startswith("rye ")
    [folder] = (tmp_path / "programs").iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    assert not [path for path in folder.rglob("*") if path.stat().st_mode & 0o077]
    assert start(program, tmp_path, "explain", "no-project").returncode == 0
    assert start(program, tmp_path, "schema", "rye-toml").returncode == 0
    quiet = start(program, tmp_path, "--version")
    assert quiet.stderr == "", "what it unpacked is as it left it"


def planted_code(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("raise SystemExit('planted')\n")


def planted_bytecode(folder: Path) -> None:
    place = folder / "rye/cli/__pycache__"
    place.mkdir(exist_ok=True)
    (place / f"start.{sys.implementation.cache_tag}.pyc").write_bytes(b"planted")


def altered_file(folder: Path) -> None:
    place = folder / "rye/cli/start.py"
    place.write_text(place.read_text() + "raise SystemExit('altered')\n")


def altered_library(folder: Path) -> None:
    library = next(folder.rglob("_core*.so"))
    library.write_bytes(library.read_bytes()[:-1] + b"x")


def removed_file(folder: Path) -> None:
    (folder / "rye/cli/start.py").unlink()


def link(folder: Path) -> None:
    place = folder / "rye/cli/start.py"
    place.rename(folder.parent.parent / "start.py")
    place.symlink_to(folder.parent.parent / "start.py")


def open_to_others(folder: Path) -> None:
    folder.chmod(0o777)


def link_to_a_folder(folder: Path) -> None:
    folder.rename(folder.parent.parent / "moved")
    folder.symlink_to(folder.parent.parent / "moved")


CHANGES = (
    planted_code,
    planted_bytecode,
    altered_file,
    altered_library,
    removed_file,
    link,
    open_to_others,
    link_to_a_folder,
)


def test_a_cache_that_someone_changed_is_noticed_and_replaced(program: Path, tmp_path: Path) -> None:
    start(program, tmp_path, "--version")
    [folder] = (tmp_path / "programs").iterdir()
    changes: tuple[Callable[[Path], None], ...] = CHANGES
    for change in changes:
        change(folder)
        noticed = start(program, tmp_path, "--version")
        assert noticed.stdout.startswith("rye "), change
        assert "was not as rye.pyz left it" in noticed.stderr, change
        assert start(program, tmp_path, "--version").stderr == "", change


@pytest.mark.parametrize("place", ["programs", "."])
def test_a_folder_in_which_others_could_exchange_the_program_is_refused(
    program: Path, tmp_path: Path, place: str
) -> None:
    """Somebody who can write there waits for the comparison, and puts another folder in place before the start."""
    cache = tmp_path / "shared"
    (cache / "programs").mkdir(parents=True, mode=0o700)
    (cache / place).chmod(0o777)
    refused = start(program, cache, "--version")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"error: others can write to {(cache / place).resolve()}" in refused.stderr
    assert list((cache / "programs").iterdir()) == []
    (cache / place).chmod(0o700 if place == "programs" else 0o1777)  # like /tmp, where only its owner moves a folder
    assert start(program, cache, "--version").stdout.startswith("rye ")


def test_a_file_that_is_not_what_the_archive_names_is_not_run(program: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.pyz"
    with zipfile.ZipFile(program) as good, zipfile.ZipFile(other, "w") as bad:
        for name in good.namelist():
            bad.writestr(name, b"print('planted')\n" if name == "tree/rye/cli/start.py" else good.read(name))
    refused = start(other, tmp_path, "--version")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "rye.pyz is damaged" in refused.stderr
    assert not list((tmp_path / "programs").iterdir())
