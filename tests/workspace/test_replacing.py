"""Files that were read are replaced all or none, and never over an edit made meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.storage import atomic
from rye.storage.atomic import Replacement, replace_files
from rye.workspace.authoring import signing, version_bump
from tests.cli.running import Program


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


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [(("version", "bump", "patch"), version_bump, "with_version"), (("sign",), signing, "sign_bytes")],
)
def test_bumping_and_signing_keep_an_edit_made_after_reading(
    words: tuple[str, ...], module: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rye = Program(tmp_path)
    rye.ok("init", "--namespace", "acme")
    rye.ok("new", "knowledge", "notes/style")
    rye.ok("keys", "generate")
    path = rye.folder / ".ai/knowledge/notes/style.md"
    prepared = getattr(module, name)

    def meanwhile(*arguments: object) -> bytes:
        path.write_bytes(path.read_bytes() + b"mine\n")
        data: bytes = prepared(*arguments)
        return data

    monkeypatch.setattr(module, name, meanwhile)
    refused = rye.run(*words, str(path), "--json")
    assert (refused.code, refused.error["code"]) == (1, "changed-meanwhile")
    assert path.read_bytes().endswith(b"mine\n")
