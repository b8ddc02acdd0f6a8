"""Bearer tokens of ``rye mcp serve --http``: their exact form, the last value that is accepted and the first that is not
(design: agents 3, rule 2)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.errors import RyeError, UsageError
from rye.limits import RUNTIME
from rye.mcp.tokens import TokenRefused, issue, parse_ttl, project_mark, read_token, token_key
from rye.project.layout import Project
from rye.storage.home import Home

KEY, NOW, HOUR = b"k" * 32, datetime(2026, 11, 22, 12, tzinfo=UTC), timedelta(hours=1)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def signed(payload: bytes, key: bytes = KEY) -> str:
    """A token with any content, as the holder of the key could make it."""
    mac = hmac.new(key, b"rye mcp token v1\n" + payload, hashlib.sha256).digest()
    return f"rye1.{encoded(payload)}.{encoded(mac)}"


def content(project: Project, expires: int = int(NOW.timestamp()) + 3600, more: str = "") -> bytes:
    return (
        f'{{"as":"acme/work/ship","version":"1.0.0","sha256":"{"a" * 64}","project":"{project_mark(project)}",'
        f'"id":"0123456789abcdef","expires":{expires}{more}}}'
    ).encode()


def refused(token: str, project: Project, code: str = "token-refused") -> RyeError:
    with pytest.raises(TokenRefused) as raised:
        read_token(KEY, project, token, NOW)
    assert raised.value.code == code
    return raised.value


def failed(act: Callable[[], object]) -> RyeError:
    with pytest.raises(RyeError) as raised:
        act()
    assert raised.value.code == "token-key"
    return raised.value


def test_a_token_has_one_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project(tmp_path)
    digits = "0123456789abcdef"
    monkeypatch.setattr("rye.mcp.tokens.secrets.token_hex", lambda size: digits[: 2 * size].ljust(2 * size, "x"))
    token = issue(KEY, project, "acme/work/ship", "1.0.0", "a" * 64, NOW, HOUR)
    assert token == signed(content(project))
    assert "=" not in token
    assert read_token(KEY, project, token, NOW).id == "0123456789abcdef"


def test_a_project_is_marked_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mark = project_mark(Project(tmp_path / "real"))
    assert mark == project_mark(Project(tmp_path / "link")) != project_mark(Project(tmp_path))
    assert mark == hashlib.sha256(os.path.realpath(tmp_path / "real").encode()).hexdigest()[:32]


def test_a_token_is_good_until_its_last_second_in_its_project(tmp_path: Path) -> None:
    project = Project(tmp_path)
    now = int(NOW.timestamp())
    assert read_token(KEY, project, signed(content(project, now + 1)), NOW).expires == now + 1
    for expires in (now, now - 1, 0):
        error = refused(signed(content(project, expires)), project, "token-expired")
        assert error.hint == "Create a new one: `rye mcp token --as acme/work/ship`."
    error = refused(signed(content(Project(tmp_path / "other"))), project)
    assert error.message == "The token is for another project."


def test_content_with_anything_else_in_it_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    good = content(project)
    changed = (
        content(project, more=',"admin":true'),
        good[:-1],
        good + b"x",
        b"[]",
        b"",
        b"null",
        good.replace(b'"as"', b'"As"'),
    )
    for payload in changed:
        refused(signed(payload), project)
    refused(signed(good, b"x" * 32), project)


def test_a_token_in_another_form_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    token = signed(content(project))
    payload, mac = token.split(".")[1:]
    others = [
        "", "rye1.", "rye1.." , f"{payload}.{mac}", f"rye2.{payload}.{mac}", f"rye1.{payload}{mac}", f"rye1.{payload}.",
        f"rye1.{payload}.{mac}=", f"rye1.{payload}=.{mac}", f"rye1.{payload}.{mac}.{mac}", f"rye1.{payload}.{payload}.{mac}",
        f"rye1.{payload}!.{mac}", f"rye1.!.{mac}", f"rye1.{payload}.!", f"rye1.é.{mac}", f"rye1.{payload}.é",
        f"rye1.{payload}\n.{mac}", f"rye1.{payload} .{mac}", f"rye1.{payload}.{mac}\n", f"rye1.{payload}.{mac[:-1]}",
        f"rye1.{payload}.{mac[:-1]}{chr(ord(mac[-1]) + 1)}", f"Rye1.{payload}.{mac}",
    ]  # fmt: skip
    for other in others:
        assert refused(other, project).message == "The token is not valid for this server."
    assert read_token(KEY, project, token, NOW)


def test_a_token_has_a_longest_length(tmp_path: Path) -> None:
    project = Project(tmp_path)
    short = issue(KEY, project, "a", None, "a" * 64, NOW, HOUR)
    room = (RUNTIME.token_characters - len(short)) * 3 // 4
    lengths = {}
    for extra in range(room - 4, room + 5):
        token = issue(KEY, project, "a" * (1 + extra), None, "a" * 64, NOW, HOUR)
        lengths[len(token)] = token
    assert RUNTIME.token_characters in lengths
    for length, token in lengths.items():
        if length <= RUNTIME.token_characters:
            assert read_token(KEY, project, token, NOW).version is None
        else:
            refused(token, project)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("90s", 90),
        ("30m", 1800),
        ("8h", 28_800),
        ("1d", 86_400),
        (f"{RUNTIME.token_seconds // 3600}h", RUNTIME.token_seconds),
    ],
)
def test_lifetimes(text: str, seconds: int) -> None:
    assert parse_ttl(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "0s", "0d", "1", "s", "1w", "1H", "-1h", "1 h", "1h ", "1h\n", "1h30m", "1.5h", "1234567s", "999999d", "٣h"],
)
def test_a_lifetime_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_ttl(text)
    assert (raised.value.code, raised.value.details["what"]) == ("bad-argument", "lifetime")
    assert raised.value.hint == f"Use 30m, 8h or 1d; at most {RUNTIME.token_seconds // 86_400}d."


def test_a_lifetime_beyond_the_longest_is_refused() -> None:
    with pytest.raises(UsageError):
        parse_ttl(f"{RUNTIME.token_seconds // 3600 + 1}h")


# The key


@pytest.fixture
def place(home: Home) -> Path:
    return home.data / "mcp" / "token-key"


def test_the_key_is_made_once_for_this_user_alone(home: Home, place: Path) -> None:
    key = token_key(home)
    assert (len(key), token_key(home)) == (32, key)
    assert bytes.fromhex(place.read_text()) == key
    assert place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(place.parent) == ["token-key"]


def test_a_key_that_another_program_made_first_stays(home: Home, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = os.link

    def late(source: Path, target: Path) -> None:
        made.append(source.name)
        target.write_text("ab" * 32)
        target.chmod(0o600)
        real(source, target)

    monkeypatch.setattr(os, "link", late)
    assert token_key(home) == b"\xab" * 32
    assert os.listdir(place.parent) == ["token-key"]
    assert made[0].startswith(".token-key.")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_key_that_others_can_read_or_change_is_not_used(home: Home, place: Path, mode: int) -> None:
    """Who can read it can make tokens for every directive."""
    token_key(home)
    place.chmod(mode)
    error = failed(lambda: token_key(home))
    assert f"{place} can be {'changed' if mode & 0o022 else 'read'} by other users." == error.message
    assert error.hint == f"Run `chmod 600 {place}`, or delete it, which invalidates all tokens."


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "xy" * 32, "a" * 63, "é" * 32])
def test_a_file_that_is_no_key_is_not_used(home: Home, place: Path, text: str) -> None:
    place.parent.mkdir(mode=0o700, parents=True)
    place.write_text(text)
    place.chmod(0o600)
    error = failed(lambda: token_key(home))
    assert str(place) in error.message
    assert error.hint == "Delete the file, which invalidates all tokens."


def test_a_folder_in_the_keys_place_is_an_error(home: Home, place: Path) -> None:
    place.mkdir(parents=True, mode=0o700)
    assert failed(lambda: token_key(home)).message.startswith(f"{place} cannot be used: ")
