"""Anyone who can commit can write rye.toml, rye.lock and Rye's own files, so only bounded regular files are read (DESIGN 6.1)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.installation.rollback import read_previous
from rye.limits import PROJECT
from rye.project.context import load_manifest
from rye.project.layout import Project, read_project_file
from rye.project.lock import Lock, LockError, lock_text, parse_lock
from rye.project.lock_file import read_lock
from rye.project.manifest import parse_manifest
from rye.text.tables import ManifestError
from rye.text.toml_keys import has_long_key
from rye.verified.on_disk import INSTALLED, read_written


def test_a_file_is_read_and_a_missing_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "rye.toml").write_bytes(b"[project]\r\n")
    assert read_project_file(tmp_path / "rye.toml", 100) == b"[project]\r\n"
    assert read_project_file(tmp_path / "rye.lock", 100) is None


def test_one_byte_over_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rye.lock").write_bytes(b"12345")
    assert read_project_file(tmp_path / "rye.lock", 5) == b"12345"
    with pytest.raises(RyeError) as raised:
        read_project_file(tmp_path / "rye.lock", 4)
    assert raised.value.code == "file-too-large"


@pytest.mark.parametrize("name", ["rye.toml", "rye.lock"])
def test_a_link_to_an_endless_device_is_refused_at_once(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    read = load_manifest if name == "rye.toml" else read_lock
    with pytest.raises(RyeError) as raised:
        read(Project(tmp_path))
    assert raised.value.code == "not-a-file"


def test_a_named_pipe_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rye.lock")
    with pytest.raises(RyeError) as raised:
        read_lock(Project(tmp_path))
    assert raised.value.code == "not-a-file"


def test_notes_about_installed_files_that_never_end_say_nothing(tmp_path: Path) -> None:
    (tmp_path / INSTALLED).parent.mkdir(parents=True)
    (tmp_path / INSTALLED).symlink_to("/dev/zero")
    assert read_written(Project(tmp_path)) == {}


def test_the_earlier_lock_of_a_rollback_is_bounded_too(tmp_path: Path) -> None:
    folder = tmp_path / ".ai/.rye/previous"
    folder.mkdir(parents=True)
    (folder / "rye.lock").symlink_to("/dev/zero")
    with pytest.raises(RyeError) as raised:
        read_previous(Project(tmp_path))
    assert raised.value.code == "not-a-file"


@pytest.mark.parametrize("key", ["a." * 40 + "a", '"a" . ' * 40 + "a", "'a'.b." * 20 + "a"])
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(key: str) -> None:
    for text in (f"{key} = 1\n", f"[{key}]\n", f"x = {{ {key} = 1 }}\n"):
        assert has_long_key(text)
        with pytest.raises(ManifestError):
            parse_manifest(text)
        with pytest.raises(LockError):
            parse_lock(f"version = 1\n{text}")


def test_a_megabyte_of_dots_ends_soon() -> None:
    for unit in ("a.", "a", ".", '"', "'a'.", "-.", "a .", '"a".'):
        text = unit * (PROJECT.manifest_bytes // len(unit))
        assert has_long_key(text) == (unit in ("a.", "'a'.", "-.", "a .", '"a".'))


def test_versions_ranges_and_addresses_are_no_long_keys() -> None:
    text = "".join(f'"acme/work/item{n}" = "^1.2.3-rc.1 || >=2.0.0, <3.0.0"\n' for n in range(2000))
    assert not has_long_key(f'[registries]\nacme = "https://a.b.c.d.example/x.y.z"\n[dependencies]\n{text}')


def test_a_lock_is_parsed_again_only_when_its_bytes_change(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.lock_path.write_text(lock_text(Lock({"acme/a/b": "^1"})))
    read = read_lock(project)
    assert read_lock(project) is read
    project.lock_path.write_text(lock_text(Lock({"acme/a/b": "^2"})))
    assert read_lock(project).wanted == {"acme/a/b": "^2"}
