"""Bearer tokens grant exactly what was signed, in one project, for a limited time (design: agents 3, rule 2)."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rye.errors import RyeError, UsageError
from rye.mcp.declared import tool_names
from rye.mcp.tokens import TokenRefused, issue, parse_ttl, read_token, token_key
from rye.project.layout import Project
from rye.storage.home import Home

KEY, NOW, HOUR = b"k" * 32, datetime(2026, 11, 22, 12, tzinfo=UTC), timedelta(hours=1)


def made(project: Project, key: bytes = KEY) -> str:
    return issue(key, project, "acme/work/ship", "1.0.0", "a" * 64, NOW, HOUR)


def test_a_token_says_what_it_was_made_for(tmp_path: Path) -> None:
    project = Project(tmp_path)
    grant = read_token(KEY, project, made(project), NOW)
    assert (grant.directive, grant.version, grant.sha256) == ("acme/work/ship", "1.0.0", "a" * 64)
    assert read_token(KEY, project, made(project), NOW).id != grant.id


def test_no_character_of_a_token_can_be_changed(tmp_path: Path) -> None:
    project = Project(tmp_path)
    token = made(project)
    for at in range(len(token)):
        changed = token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :]
        with pytest.raises(TokenRefused):
            read_token(KEY, project, changed, NOW)
    for other in (
        token[:-1],
        token + "A",
        token + "=",
        token.upper(),
        "",
        "rye1.",
        "rye1..",
        token + "\n",
        "é" * 9,
        "x" * 10_000,
    ):
        with pytest.raises(TokenRefused):
            read_token(KEY, project, other, NOW)


def test_a_token_counts_until_its_time(tmp_path: Path) -> None:
    project = Project(tmp_path)
    token = made(project)
    read_token(KEY, project, token, NOW + HOUR - timedelta(seconds=1))
    with pytest.raises(TokenRefused) as caught:
        read_token(KEY, project, token, NOW + HOUR)
    assert caught.value.code == "token-expired"


def test_a_token_of_another_project_or_another_user_gives_nothing(tmp_path: Path) -> None:
    here, there = Project(tmp_path / "here"), Project(tmp_path / "there")
    for token, key in ((made(there), KEY), (made(here, b"x" * 32), KEY)):
        with pytest.raises(TokenRefused):
            read_token(key, here, token, NOW)


def test_a_payload_with_more_than_the_known_keys_is_refused(tmp_path: Path) -> None:
    import hashlib
    import hmac

    project = Project(tmp_path)
    payload = base64.urlsafe_b64decode(made(project).split(".")[1] + "==")
    more = json.dumps({**json.loads(payload), "rights": "rye.*"}).encode()
    mac = hmac.new(KEY, b"rye mcp token v1\n" + more, hashlib.sha256).digest()
    parts = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in (more, mac)]
    with pytest.raises(TokenRefused):
        read_token(KEY, project, f"rye1.{parts[0]}.{parts[1]}", NOW)


def test_the_key_is_the_users_own(home: Home) -> None:
    key = token_key(home)
    assert key == token_key(home)
    assert len(key) == 32
    place = home.data / "mcp" / "token-key"
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o666)
    with pytest.raises(RyeError, match="token-key"):
        token_key(home)


@pytest.mark.parametrize("text", ["", "8", "h", "-1h", "0s", "8x", "31d", "1e3s", "9999999h"])
def test_a_life_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_ttl(text)


def test_names_of_single_tools_fit_and_differ() -> None:
    long = "acme/" + "x" * 60 + "/" + "y" * 60
    ids = ["acme/fs/write", "a__b/c", "a/b/c", long, long + "z", "rye_load"]
    names = tool_names(ids, ["rye_load"])
    assert sorted(names.values()) == sorted(ids)
    assert names["acme__fs__write"] == "acme/fs/write"
    assert all(len(name) <= 64 for name in names)
    assert "rye_load" not in names


def test_nobody_takes_another_tool_s_name_by_its_hash() -> None:
    """``acme/fs/write`` and ``acme__fs/write`` have names with hashes, which anybody can compute."""
    rivals = ["acme/fs/write", "acme__fs/write"]
    hashed = next(name for name, item_id in tool_names(rivals).items() if item_id == "acme/fs/write")
    ids = [*rivals, f"acme__fs/{hashed.removeprefix('acme__fs__')}"]
    names = tool_names(ids)
    assert sorted(names.values()) == sorted(ids)
    assert names[hashed] == "acme/fs/write"


@pytest.mark.parametrize("rival", ["acme__fs/write", "acme/fs__write"])
def test_nobody_takes_the_name_of_a_tool_that_is_gone(rival: str) -> None:
    """A client remembers the names of the list that it got."""
    (name,) = tool_names(["acme/fs/write"])
    assert name not in tool_names([rival])


def test_two_names_with_one_hash_get_longer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    same = type("Same", (), {"hexdigest": lambda self: "0" * 64})
    monkeypatch.setattr("rye.mcp.declared.sha256", lambda data: same())
    ids = [f"{'x' * 60}/{letter}" for letter in "abc"]
    assert sorted(tool_names(ids).values()) == ids
