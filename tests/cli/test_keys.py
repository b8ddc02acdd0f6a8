"""``rye keys``: the user's own keys; private files are readable only by the user, and encrypted on request (DESIGN §4 Keys)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.signing.private_text import seal
from rye.storage.home import Home
from rye.workspace.trusting.own_keys import OwnKeys
from tests.scenes.person import Person


def test_a_new_key_is_private_trusted_and_the_default(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    made = rye.ok("keys", "generate", "--json").json
    listed = rye.ok("keys", "list", "--json").json["keys"]
    assert [(key["name"], key["default"], key["sealed"]) for key in listed] == [("default", True, False)]
    assert listed[0]["fingerprint"] == made["fingerprint"]
    assert made["fingerprint"].startswith("SHA256:")
    trusted = rye.ok("trust", "list", "--json").json["keys"]
    assert [key["fingerprint"] for key in trusted] == [made["fingerprint"]]
    config = rye.home / "config"
    for path in config.rglob("*"):
        allowed = 0o700 if path.is_dir() else 0o600
        if "PRIVATE" in (path.read_text() if path.is_file() else ""):
            assert path.stat().st_mode & 0o777 == allowed


def test_a_second_key_of_the_same_name_is_refused(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    first = rye.ok("keys", "generate", "--json").json
    result = rye.run("keys", "generate", "--json")
    assert result.code == 1
    assert result.error["hint"]
    assert rye.ok("keys", "list", "--json").json["keys"][0]["fingerprint"] == first["fingerprint"]


def test_names_are_names_and_never_paths(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    for name in ("../evil", "a/b", "", ".", "\x1b[31m"):
        assert rye.run("keys", "generate", "--name", name, "--json").code != 0
    assert not (rye.home / "evil").exists()
    assert rye.ok("keys", "list", "--json").json == {"keys": []}


def test_export_and_import(tmp_path: Path) -> None:
    rye, other = Person(tmp_path / "one"), Person(tmp_path / "two")
    made = rye.ok("keys", "generate", "--json").json
    public = rye.ok("keys", "export").stdout
    assert public.startswith("-----BEGIN PUBLIC KEY-----\n")
    rye.ok("keys", "export", "--private", "-o", "key.pem")
    assert rye.path("key.pem").stat().st_mode & 0o777 == 0o600
    assert rye.run("keys", "export", "-o", "key.pem", "--json").refusal == "already-exists file"
    imported = other.ok("keys", "import", str(rye.path("key.pem")), "--name", "mine", "--json").json
    assert imported["fingerprint"] == made["fingerprint"]


@pytest.mark.thorough
def test_a_sealed_key_needs_its_passphrase(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    secret = {"RYE_PASSPHRASE": "correct horse"}
    made = rye.ok("keys", "generate", "--passphrase", "--json", env=secret).json
    assert "\noperations: 3\nmemory: 268435456\n" in Path(made["path"]).read_text()
    assert rye.ok("keys", "list", "--json").json["keys"][0]["sealed"] is True
    rye.new("directive", "a/b")
    assert rye.run("sign", "--json").error["code"] == "passphrase-needed"
    assert rye.run("sign", "--json", env={"RYE_PASSPHRASE": "wrong"}).code == 1
    rye.ok("sign", env=secret)
    rye.ok("verify")
    refused = rye.run("keys", "generate", "--name", "x", "--passphrase", "--json", env={"RYE_PASSPHRASE": ""})
    assert (refused.code, refused.refusal) == (2, "missing-argument passphrase")


def test_a_key_that_others_can_read_is_reported(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    made = rye.ok("keys", "generate", "--json").json
    for path in (rye.home / "config").rglob("*"):
        if path.is_file() and "PRIVATE" in path.read_text():
            path.chmod(0o644)
    result = rye.ok("keys", "list", "--json")
    assert "warning:" in result.stderr
    assert result.json["keys"][0]["fingerprint"] == made["fingerprint"]


def test_the_default_can_be_changed(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("keys", "generate")
    rye.ok("keys", "generate", "--name", "second")
    rye.ok("keys", "default", "second")
    assert {key["name"]: key["default"] for key in rye.ok("keys", "list", "--json").json["keys"]} == {
        "default": False,
        "second": True,
    }
    missing = rye.run("keys", "default", "secnd", "--json")
    assert missing.code in (1, 2)
    assert missing.error["message"]


def test_what_is_no_key_is_an_error(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    for name, data in (("a", b"no key"), ("b", b"\xff\x00"), ("c", b"x" * 100_000)):
        rye.write(name, data)
        result = rye.run("keys", "import", name, "--json")
        assert result.code == 1
        assert result.error["message"]


class Terminal:
    """Answers the questions of a run in this process."""

    def __init__(self, home: Home, *answers: str):
        self.home = home
        self.answers = list(answers)
        self.environment: dict[str, str] = {}
        self.interactive = True
        self.assume_yes = False


def own_keys_with(home: Home, *answers: str, **environment: str) -> OwnKeys:
    terminal: Any = Terminal(home, *answers)
    terminal.environment = environment
    return OwnKeys(terminal, lambda question: terminal.answers.pop(0))


def test_a_new_passphrase_is_asked_twice_and_must_be_the_same(home: Home) -> None:
    assert own_keys_with(home, "one", "one").new_passphrase() == "one"
    with pytest.raises(RyeError) as caught:
        own_keys_with(home, "one", "two").new_passphrase()
    assert caught.value.code == "passphrase-mismatch"
    assert own_keys_with(home, RYE_PASSPHRASE="from the environment").new_passphrase() == "from the environment"


def test_a_passphrase_is_changed_and_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "__kwdefaults__", {"operations": 1, "memory": 8192})  # another test covers its cost
    rye = Person(tmp_path)
    made = rye.ok("keys", "generate", "--passphrase", "--json", env={"RYE_PASSPHRASE": "old"}).json
    both = {"RYE_PASSPHRASE": "old", "RYE_NEW_PASSPHRASE": "new"}
    assert rye.run("keys", "passphrase", "--json", env=both | {"RYE_PASSPHRASE": "wrong"}).error["code"] == (
        "wrong-passphrase"
    )
    changed = rye.ok("keys", "passphrase", "--json", env=both).json
    assert (changed["fingerprint"], changed["sealed"]) == (made["fingerprint"], True)
    opened = rye.ok("keys", "passphrase", "--remove", "--json", env={"RYE_PASSPHRASE": "new"}).json
    assert (opened["fingerprint"], opened["sealed"]) == (made["fingerprint"], False)
    assert rye.ok("keys", "passphrase", "--json", env={"RYE_PASSPHRASE": "again"}).json["sealed"]
    assert Path(made["path"]).stat().st_mode & 0o777 == 0o600


def test_a_key_is_deleted_only_with_a_yes_and_the_default_one_last(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("keys", "generate")
    path = Path(rye.ok("keys", "generate", "--name", "second", "--json").json["path"])
    assert rye.run("keys", "remove", "second", "--json").error["code"] == "confirmation-needed"
    assert rye.run("keys", "remove", "default", "--yes", "--json").error["code"] == "default-key"
    rye.ok("keys", "remove", "second", "--yes")
    assert not path.exists()
    assert not path.with_suffix(".pub").exists()
    rye.ok("keys", "remove", "default", "--yes")
    assert rye.ok("keys", "list", "--json").json["keys"] == []
    assert rye.ok("keys", "generate", "--json").json["default"] is True


@pytest.mark.parametrize(
    "words", ["remove none --yes", "default none", "export none", "passphrase none", "remove ../none --yes"]
)
def test_a_name_that_is_no_key_here_is_answered_with_those_that_are(tmp_path: Path, words: str) -> None:
    """Nobody who wants to remove a key wants to create it."""
    rye = Person(tmp_path)
    none = rye.run("keys", *words.split(), "--json").error
    assert none["code"] == "no-key"
    assert none["hint"] == "You have no keys yet, as `rye keys list` shows."
    rye.ok("keys", "generate")
    rye.ok("keys", "generate", "--name", "work")
    some = rye.run("keys", *words.split(), "--json").error
    assert some["hint"].startswith("Your keys: 'default', 'work'. `rye keys list` ")
    assert "generate" not in some["hint"]


def test_of_many_keys_a_hint_names_ten(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("keys", "generate", "--name", "k00")
    folder = Path(rye.ok("keys", "list", "--json").json["keys"][0]["path"]).parent
    for number in range(1, 12):
        (folder / f"k{number:02}.key").write_text("damaged: naming a key must not need its file")
    hint = rye.run("keys", "remove", "none", "--yes", "--json").error["hint"]
    assert hint.startswith("Your keys: 'k00', 'k01', 'k02', ")
    assert "'k09' and 2 more. `rye keys list`" in hint
