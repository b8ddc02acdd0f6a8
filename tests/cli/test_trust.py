"""``rye trust``: only the user decides whose signatures count (DESIGN §4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenes.person import Person
from tests.scenes.shared_data import shared


@pytest.fixture
def rye(tmp_path: Path) -> Person:
    """A project that contains a key file."""
    author = Person(tmp_path / "author")
    author.ok("keys", "generate")
    person = Person(tmp_path / "user")
    person.write("keys/author.pem", author.ok("keys", "export").stdout)
    return person


def test_proposals_are_listed_and_not_trusted(rye: Person) -> None:
    rye.write("rye.toml", "")
    listed = rye.ok("trust", "list", "--json").json
    assert listed["keys"] == []
    assert [Path(entry["path"]).name for entry in listed["proposals"]] == ["author.pem"]


def test_add_revoke_and_remove(rye: Person) -> None:
    added = rye.ok("trust", "add", "keys/author.pem", "--label", "author", "--json").json
    assert (added["label"], added["revoked"]) == ("author", None) or not added["revoked"]
    assert rye.ok("trust", "revoke", "author", "--json").json["revoked"]
    assert rye.ok("trust", "remove", added["fingerprint"], "--json").json["label"] == "author"
    assert rye.ok("trust", "list", "--json").json["keys"] == []


@pytest.mark.processes
def test_nobody_is_asked_about_a_fingerprint_that_quiet_hides(rye: Person) -> None:
    shown = rye.terminal("trust", "add", "keys/author.pem", "--quiet", answer=b"n\n")
    before, question, _ = shown.partition("Trust what this key signs?")
    assert question
    assert "SHA256:" in before
    assert rye.ok("trust", "add", "keys/author.pem", "--quiet").stderr == ""


def test_a_revoked_key_is_not_quietly_trusted_again(rye: Person) -> None:
    rye.ok("trust", "add", "keys/author.pem", "--label", "author")
    rye.ok("trust", "revoke", "author")
    again = rye.run("trust", "add", "keys/author.pem", "--json")
    assert again.code == 1
    assert rye.ok("trust", "list", "--json").json["keys"][0]["revoked"]


def test_an_unknown_key_is_an_error_with_a_hint(rye: Person) -> None:
    for command in ("remove", "revoke"):
        result = rye.run("trust", command, "nobody", "--json")
        assert result.code in (1, 2)
        assert result.error["hint"]


@pytest.mark.parametrize("data", [b"", b"no key", b"\xff", b"x" * 1_000_000])
def test_what_is_no_key_is_refused(rye: Person, data: bytes) -> None:
    rye.write("bad.pem", data)
    result = rye.run("trust", "add", "bad.pem", "--json")
    assert result.code == 1
    assert result.error["message"]
    assert rye.ok("trust", "list", "--json").json["keys"] == []


@pytest.mark.corpus
def test_a_key_toml_is_accepted(rye: Person) -> None:
    key = shared("corpus/ryeos/keys/4b987fd4e40303ac.toml")
    assert rye.ok("trust", "add", str(key), "--json").json["fingerprint"].startswith("SHA256:")
