"""This implementation checked against the golden vectors in ``tests/vectors/signatures`` (see the README there)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rye.errors import RyeError
from rye.signing.keys import PublicKey, read_public_text
from rye.signing.verification import verify

FOLDER = Path(__file__).parents[1] / "vectors" / "signatures"
KEYS = ("trusted.pem", "security-key.pub", "revoked.pem")
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))
ED25519: dict[str, Any] = json.loads((FOLDER / "ed25519.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_each_file_gets_its_verdict(case: dict[str, Any]) -> None:
    trusted, stick, revoked = (read_public_text((FOLDER / name).read_text()) for name in KEYS)
    data = (FOLDER / "files" / case["file"]).read_bytes()
    found = verify(data, case["kind"], case["name"], [trusted, stick], [revoked])
    assert (found.verdict, found.coverage) == (case["verdict"], case["coverage"]), case["why"]


def test_a_security_key_s_signature_counts_for_this_key_alone() -> None:
    """Not for an ordinary key with the same 32 bytes, and where verification is demanded only with it."""
    stick = read_public_text((FOLDER / "security-key.pub").read_text())
    assert stick.hardware
    for name in ("security-key.md.txt", "security-key-verified.md.txt"):
        data = (FOLDER / "files" / name).read_bytes()
        assert verify(data, "directive", "deploy.md", [stick]).verdict == "valid"
        assert verify(data, "directive", "deploy.md", []).verdict == "untrusted"
        assert verify(data, "directive", "deploy.md", [PublicKey(stick.point)]).verdict == "untrusted"
        demanding = PublicKey(stick.raw, verified_only=True)
        found = verify(data, "directive", "deploy.md", [demanding]).verdict
        assert found == ("valid" if "verified" in name else "bad-signature")


def test_every_verdict_and_every_file_has_a_case() -> None:
    assert len({case["verdict"] for case in CASES}) == 8
    assert {case["file"] for case in CASES} == {path.name for path in (FOLDER / "files").iterdir()}


def test_the_vectors_that_depend_on_exact_bytes_still_have_them() -> None:
    """A checkout that converts line endings would make these cases meaningless."""
    assert b"\r\n" in (FOLDER / "files" / "crlf.md.txt").read_bytes()
    assert b"\r\n" not in (FOLDER / "files" / "directive.md.txt").read_bytes()
    assert (FOLDER / "files" / "malformed-bom.md.txt").read_bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("case", ED25519["keys"], ids=lambda case: case["key"])
def test_keys_that_are_refused(case: dict[str, str]) -> None:
    with pytest.raises(RyeError):
        PublicKey.from_raw(bytes.fromhex(case["key"]))


def test_signatures_that_never_verify() -> None:
    good = ED25519["accept"]
    for case in (good, *ED25519["signatures"]):
        key, signature = PublicKey(bytes.fromhex(case["key"])), bytes.fromhex(case["signature"])
        assert key.verifies(case["message"].encode(), signature) == (case is good), case.get("why")


def test_no_private_key_is_here() -> None:
    for path in FOLDER.rglob("*"):
        if path.is_file():
            assert b"PRIVATE KEY" not in path.read_bytes()
