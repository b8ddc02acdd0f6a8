"""Files are replaced all or none, and never over an edit made since they were read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.storage import atomic
from rye.storage.atomic import Replacement, replace_files
from rye.workspace.authoring import signing, version_bump
from tests.scenes.person import Person


def _pair(folder: Path) -> list[Replacement]:
    for name in ("a", "b"):
        (folder / name).write_bytes(b"old")
    return [Replacement(folder / name, name, b"old", b"new") for name in ("a", "b")]


def test_all_files_are_replaced(tmp_path: Path) -> None:
    replace_files(_pair(tmp_path))
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"new", b"new"]


@pytest.mark.parametrize("edit", [b"mine", b"old and more", b"", None])
def test_an_edit_made_meanwhile_stays_and_nothing_is_written(tmp_path: Path, edit: bytes | None) -> None:
    changes = _pair(tmp_path)
    second = tmp_path / "b"
    if edit is None:
        second.unlink()
    else:
        second.write_bytes(edit)
    with pytest.raises(RyeError) as refused:
        replace_files(changes)
    assert (refused.value.code, refused.value.message.split()[0]) == ("changed-meanwhile", "b")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert (second.read_bytes() if second.exists() else None) == edit


def test_an_edit_made_while_files_are_replaced_undoes_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = _pair(tmp_path)
    replace = atomic.replace_file

    def then_someone_edits(path: Path, data: bytes) -> None:
        replace(path, data)
        (tmp_path / "b").write_bytes(b"mine")

    monkeypatch.setattr(atomic, "replace_file", then_someone_edits)
    with pytest.raises(RyeError):
        replace_files(changes)
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"old", b"mine"]


@pytest.mark.parametrize("words", [("version", "bump", "patch"), ("sign",)])
def test_a_file_given_twice_by_way_of_a_link_is_changed_once(words: tuple[str, ...], tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--namespace", "acme")
    rye.ok("new", "knowledge", "notes/style")
    rye.ok("keys", "generate")
    path = rye.folder / ".ai/knowledge/notes/style.md"
    link = rye.home / "knowledge/notes/link.md"  # in a project, links are not read
    link.parent.mkdir(parents=True)
    link.symlink_to(path)
    before = path.read_bytes()
    rye.ok(*words, str(path), str(link))
    assert path.read_bytes() != before
    assert link.is_symlink()


def test_a_file_whose_name_is_as_long_as_names_may_be_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 126 + ".md")
    atomic.replace_file(path, b"new")
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == [b"new"]


def test_an_interruption_undoes_all_even_right_after_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = _pair(tmp_path)
    replace = atomic.replace_file

    def then_interrupted(path: Path, data: bytes) -> None:
        replace(path, data)
        if data == b"new" and path.name == "b":
            raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "replace_file", then_interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_files(changes)
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"old", b"old"]


def test_undoing_keeps_an_edit_of_a_file_that_was_already_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = _pair(tmp_path)
    replace = atomic.replace_file

    def then_both_are_edited(path: Path, data: bytes) -> None:
        replace(path, data)
        for name in ("a", "b"):
            (tmp_path / name).write_bytes(b"mine")

    monkeypatch.setattr(atomic, "replace_file", then_both_are_edited)
    with pytest.raises(RyeError):
        replace_files(changes)
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"mine", b"mine"]


def test_a_file_that_cannot_be_restored_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").write_bytes(b"changed")
    changes = [*_pair(tmp_path), Replacement(tmp_path / "c", "c", b"changed", b"new")]
    replace = atomic.replace_file

    def disk_full(path: Path, data: bytes) -> None:
        if path.name == "c" or (path.name == "a" and data == b"old"):
            raise OSError(28, "No space left on device", str(path))
        replace(path, data)

    monkeypatch.setattr(atomic, "replace_file", disk_full)
    with pytest.raises(OSError, match="No space left") as failed:
        replace_files(changes)
    assert failed.value.filename == str(tmp_path / "a")
    assert [(tmp_path / name).read_bytes() for name in ("a", "b", "c")] == [b"new", b"old", b"changed"]


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [(("version", "bump", "patch"), version_bump, "with_version"), (("sign",), signing, "sign_bytes")],
)
def test_bumping_and_signing_keep_an_edit_made_after_reading(
    words: tuple[str, ...], module: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rye = Person(tmp_path)
    rye.ok("init", "--namespace", "acme")
    rye.ok("new", "knowledge", "notes/style")
    rye.ok("keys", "generate")
    path = rye.folder / ".ai/knowledge/notes/style.md"
    prepared = getattr(module, name)

    def meanwhile(*arguments: object, **options: object) -> bytes:
        path.write_bytes(path.read_bytes() + b"mine\n")
        data: bytes = prepared(*arguments, **options)
        return data

    monkeypatch.setattr(module, name, meanwhile)
    refused = rye.run(*words, str(path), "--json")
    assert (refused.code, refused.error["code"]) == (1, "changed-meanwhile")
    assert path.read_bytes().endswith(b"mine\n")
