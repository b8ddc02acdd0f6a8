"""Secrets in an item's file: a signature that looks like a token is none, and nothing hides next to it."""

from __future__ import annotations

import pytest

from rye.signing.item_secrets import secrets_in_item

LOOK_ALIKE = "sk-" + "q7Zf2Kd9Xw4Lp8Rt5Vb3Ny6Hj1Mg0Cs" * 2 + "q7Zf2Kd9Xw4Lp8Rt5VbAA"
"""86 characters, as a signature can be."""
HASH, KEY_ID = "a" * 64, "0123456789abcdef"
BODY = "# Greet\n\nSay hello.\n"
TOKEN = "gh" + "p_" + "aB3" * 12


def line(signature: str = LOOK_ALIKE, key_id: str = KEY_ID) -> str:
    return f"rye:signed:2026-01-01T00:00:00Z:{HASH}:{signature}==:{key_id}"


@pytest.mark.parametrize(
    ("kind", "suffix", "text"),
    [
        ("directive", ".md", f"<!-- {line()} -->\n{BODY}"),
        ("tool", ".py", f"#!/usr/bin/env python3\n# {line()}\nprint('hello')\n"),
        ("skill", ".md", f"---\n# {line()}\nname: greet\n---\n{BODY}"),
    ],
)
def test_a_signature_that_looks_like_a_token_is_no_secret(kind: str, suffix: str, text: str) -> None:
    assert len(LOOK_ALIKE) == 86
    assert secrets_in_item(kind, suffix, text.encode()) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (f"<!-- {line()} -->\n{BODY}{TOKEN}\n", 5),
        (f"<!-- {line(key_id=KEY_ID * 4)}|github@{TOKEN} -->\n{BODY}", 1),
        (f"<!-- {line()[:-1]} -->\n{BODY}", 1),
        (f"{BODY}<!-- {line()} -->\n", 4),
        (f"<!-- {line('A' * 86)} -->\n<!-- {line()} -->\n{BODY}", 2),
    ],
    ids=["below", "in the same line", "a line that is no signature", "in another place", "a second signature"],
)
def test_a_token_elsewhere_is_found_at_its_line(text: str, where: int) -> None:
    assert [number for number, _ in secrets_in_item("directive", ".md", text.encode())] == [where]


def test_bytes_that_are_not_text_are_searched_as_they_are() -> None:
    data = f"<!-- {line()} -->\n".encode() + b"\xff\n"
    assert [number for number, _ in secrets_in_item("directive", ".md", data)] == [1]
