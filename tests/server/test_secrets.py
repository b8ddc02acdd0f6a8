"""Secrets that are about to become public. The samples are put together here so that no scanner takes this file for a leak."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.text.secrets import find_secrets, is_secret_file, secrets_in_file

DASHES = "-" * 5
BODY = "q7Zf2Kd9Xw4Lp8Rt5Vb3Ny6Hj1Mg0Cs" * 2
"""Two lines of a key, as far as a reader of text can tell."""


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (f"{DASHES}BEGIN PRIVATE KEY{DASHES}\n{BODY}", "a private key"),
        (f"{DASHES}BEGIN OPENSSH PRIVATE KEY{DASHES}\n{BODY}", "a private key"),
        (f"   {DASHES}BEGIN RSA PRIVATE KEY{DASHES}\n   {BODY}", "a private key"),
        (f"{DASHES}BEGIN PGP PRIVATE KEY BLOCK{DASHES}\n\n{BODY}", "a private key"),
        ("PRIVATE+KEY+acme.dev+1a2b3c4d+" + "AQ" * 20 + "=", "a signed-note private key"),
        ("token: gh" + "p_" + "aB3" * 12, "a GitHub token"),
        ("gh" + "p_" + "abcdefghijklmnopqrstuvwxyz" + "0123456789", "a GitHub token"),
        ("gl" + "pat-" + "abcdefghij" + "0123456789", "a GitLab token"),
        ("AK" + "IA" + "QWERTYUIOPASDFGH", "an AWS access key id"),
        ("AK" + "IA" + "1890QWERTYUIOPAS", "an AWS access key id"),
        ("sk-" + "ant-api03-" + BODY[:40], "an API key of a language model service"),
        ("rye_" + "0a" * 8 + "_" + "Zz9-" * 10 + "abc", "a Rye upload token"),
        ("xox" + "b-" + "1928374650-" + BODY[:24], "a Slack token"),
        ("postgres://app:" + "hunter22secretly" + "@db.internal/app", "a password inside an address"),
        ("DATABASE_PASSWORD=" + "h7Gq2LmZ9", "an assignment of a secret, as in a .env file"),
        ('export API_KEY="' + "h7Gq2LmZ9" + '"', "an assignment of a secret, as in a .env file"),
    ],
)
def test_a_secret_is_found_at_its_line(line: str, what: str) -> None:
    assert find_secrets(f"# Title\n\n{line}\nmore") == [(3, what)]


@pytest.mark.parametrize(
    "line",
    [
        "Set DATABASE_PASSWORD=<your password> in the environment",
        "API_KEY=${API_KEY}",
        "API_KEY=your-key-goes-here",
        "TOKEN=xxxxxxxxxxxx",
        "API_KEY=12345678",
        "postgres://user:password@localhost/db",
        "https://user:<token>@host/",
        "Never paste a private key into a directive.",
        f"{DASHES}BEGIN PUBLIC KEY{DASHES}",
        "AK" + "IA" + "IOSFODNN7EXAMPLE",
        "sk-learn is a library",
        "The token is kept in the key ring; password: ask the operator",
        "<!-- rye:signed:2026-01-01T00:00:00Z:" + "a" * 64 + ":" + "A" * 86 + "==:0123456789abcdef -->",
    ],
)
def test_placeholders_and_prose_are_not_secrets(line: str) -> None:
    assert find_secrets(line) == []


def test_the_report_never_holds_the_secret() -> None:
    secret = "gh" + "p_" + "aB3" * 12
    assert all(secret not in what for _, what in find_secrets(secret))


def test_a_secret_in_a_very_long_line_is_found_wherever_it_stands() -> None:
    secret = "gh" + "p_" + "aB3" * 12
    for before in (0, 19_990, 20_000, 40_500):
        assert find_secrets("a " * (before // 2) + secret) == [(1, "a GitHub token")]


@pytest.mark.parametrize(
    "text",
    [
        "A_" * 130_000,
        "a://b:" * 40_000,
        "-----BEGIN " * 24_000,
        "-----BEGIN PRIVATE KEY-----\\n" * 9_000,
        "api_key: '" * 26_000,
        "x_token" * 37_000,
        "rye:allow-secret " * 15_000,
        "eyJ" * 87_000,
        "a" * 262_144,
        "sk-" * 87_000,
    ],
)
def test_hostile_text_of_the_largest_size_takes_no_longer_than_it_must(text: str) -> None:
    started = time.process_time()
    find_secrets(text)
    assert time.process_time() - started < 3


@given(st.text())
def test_any_text_can_be_searched(text: str) -> None:
    for line, _ in find_secrets(text):
        assert 1 <= line <= text.count("\n") + 1


def test_files_that_are_secret_by_name() -> None:
    for path in (".env", "config/.env.production", "id_rsa", "a/server.key", "x.p12", ".npmrc", "prod.env"):
        assert is_secret_file(path), path
    for path in ("environment.md", ".env.example", "key.md", "a.env.md", "id_rsa.pub"):
        assert not is_secret_file(path), path


TOKEN = "gh" + "p_" + "aB3dE6gH9j" * 4
WORD = "PRIVATE"


@pytest.mark.parametrize("before", [b"", b"\n\n", b"\xe9", b"\xff\xfe\x00\x01\n\xc3"])
def test_a_token_is_found_among_bytes_that_are_no_text(before: bytes) -> None:
    data = before + TOKEN.encode() + b"\xff\x00"
    assert secrets_in_file(data) == [(before.count(b"\n") + 1, "a GitHub token")]


def test_packed_files_are_left_out_and_text_that_begins_like_one_is_not() -> None:
    assert secrets_in_file(b"wOF2\xff" + TOKEN.encode()) == []
    assert secrets_in_file(b"true\n" + TOKEN.encode()) == [(2, "a GitHub token")]
    assert secrets_in_file(b"PK\x03\x04" + TOKEN.encode()) == [(1, "a GitHub token")]


def test_several_secrets_come_in_the_order_of_their_lines() -> None:
    text = f"API_KEY=aZ8kQ2mN7pXw\n{TOKEN} and {TOKEN}\n-----BEGIN {'PRIVATE'} KEY-----\n{BODY}\n{TOKEN}"
    assert find_secrets(text) == [
        (1, "an assignment of a secret, as in a .env file"),
        (2, "a GitHub token"),
        (3, "a private key"),
        (5, "a GitHub token"),
    ]
