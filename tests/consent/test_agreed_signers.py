"""Whose items this user has installed before: a file of the user's own, empty where others could have written it."""

from __future__ import annotations

import json

import pytest

from rye.storage.home import Home
from rye.workspace.trusting.agreed_signers import AGREED, agreed_signers, remember_agreed, remember_signers

FIRST, SECOND = "SHA256:a", "SHA256:b"


def test_signers_are_added_sorted_and_each_once_in_a_private_file(home: Home) -> None:
    assert agreed_signers(home) == frozenset()
    remember_signers(home, [SECOND, SECOND])
    remember_signers(home, [FIRST])
    path = home.data / "agreed-signers.json"
    assert json.loads(path.read_text("utf-8")) == [FIRST, SECOND]
    assert agreed_signers(home) == {FIRST, SECOND}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_is_known_already_is_not_written_again(home: Home) -> None:
    remember_signers(home, [FIRST])
    path = home.data / AGREED
    before = path.stat().st_ino
    remember_signers(home, [FIRST])
    assert path.stat().st_ino == before


@pytest.mark.parametrize("text", ["", "null", '{"SHA256:a": 1}', "[1]", '["SHA256:a"', '["SHA256:a"]\x00', "\udcff"])
def test_what_is_no_list_of_texts_counts_as_empty(home: Home, text: str) -> None:
    remember_signers(home, [FIRST])
    (home.data / AGREED).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert agreed_signers(home) == frozenset()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_counts_as_empty(home: Home, mode: int) -> None:
    remember_signers(home, [FIRST])
    (home.data / AGREED).chmod(mode)
    assert agreed_signers(home) == frozenset()


def test_a_link_counts_as_empty(home: Home) -> None:
    remember_signers(home, [FIRST])
    path = home.data / AGREED
    path.rename(path.with_suffix(".good"))
    path.symlink_to(path.with_suffix(".good"))
    assert agreed_signers(home) == frozenset()


def test_a_signer_that_cannot_be_remembered_is_asked_about_again_and_no_command_ends(home: Home) -> None:
    """The folder of the data is a file, as one whose disk is full cannot be made."""
    home.data.parent.mkdir(parents=True, exist_ok=True)
    home.data.write_text("not a folder")
    remember_signers(home, [FIRST])
    assert agreed_signers(home) == frozenset()
    with pytest.raises(OSError, match=r"Not a directory|exists"):
        remember_agreed(home.data / AGREED, [FIRST])
