"""A private key on paper: what is typed back is the same key, and a slip of the pen is found."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.signing.keys import PrivateKey
from rye.signing.paper import key_of, page, words_of
from rye.signing.private_text import seal
from rye.text import qr
from tests.scenes.person import Person

KEY = PrivateKey(bytes(range(32)))
WORDS = words_of(KEY)


def test_the_words_of_a_key_never_change() -> None:
    assert " ".join(WORDS[:4]) == "babad bamag bibaj bimal"
    assert len(WORDS) == 18


@given(st.binary(min_size=32, max_size=32))
def test_what_is_typed_back_is_the_key(seed: bytes) -> None:
    key = PrivateKey(seed)
    assert key_of(" ".join(words_of(key))).seed == seed


@pytest.mark.parametrize(
    "text",
    [
        " ".join(WORDS).upper(),
        "\n".join(f"{number}. {word}" for number, word in enumerate(WORDS, 1)),
        "  \r\n" + "\t".join(WORDS) + "\n\n",
        page("spare", KEY),
        page("1. mother  2. of  3. keys", KEY).replace("\n", "\r\n"),
    ],
)
def test_how_it_is_typed_does_not_matter(text: str) -> None:
    assert key_of(text).seed == KEY.seed


def test_every_wrong_letter_is_found() -> None:
    """Each letter of each word by each other letter of the alphabet."""
    for number, word in enumerate(WORDS):
        for at, letter in enumerate(word):
            for other in "abcdefghijklmnopqrstuvwxyz":
                if other != letter:
                    words = [*WORDS[:number], word[:at] + other + word[at + 1 :], *WORDS[number + 1 :]]
                    with pytest.raises(RyeError) as raised:
                        key_of(" ".join(words))
                    assert raised.value.code == "bad-key"


@pytest.mark.parametrize(
    "words",
    [(), WORDS[:-1], (*WORDS, WORDS[0]), (WORDS[1], WORDS[0], *WORDS[2:]), ("babab",) * 18, ("é",) * 18],
    ids=["none", "one less", "one more", "two swapped", "one word only", "no words"],
)
def test_other_words_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(RyeError) as raised:
        key_of(" ".join(words))
    assert raised.value.code == "bad-key"
    assert raised.value.hint


def test_a_key_goes_to_paper_and_comes_back_on_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "__kwdefaults__", {"operations": 1, "memory": 8192})  # test_keys.py covers the cost
    rye, other = Person(tmp_path / "one"), Person(tmp_path / "two")
    made = rye.ok("keys", "generate", "--passphrase", "--json", env={"RYE_PASSPHRASE": "long enough"}).json
    rye.fails("keys", "export", "--paper", code="passphrase-needed")
    page = rye.ok("keys", "export", "--paper", env={"RYE_PASSPHRASE": "long enough"}).stdout
    assert made["fingerprint"] in page
    typed = "\n".join(line for line in page.split("\n") if line.lstrip()[:1].isdigit())
    imported = other.ok("keys", "import", "--paper", "--name", "paper", "--json", stdin=typed.encode()).json
    assert (imported["fingerprint"], imported["sealed"]) == (made["fingerprint"], False)
    other.fails("keys", "import", "--paper", "--name", "again", code="bad-key", stdin=typed.replace("a", "e").encode())
    other.fails("keys", "import", "--paper", "some.key", code="missing-argument", exit_code=2)
    other.fails("keys", "import", code="missing-argument", exit_code=2)


def test_the_page_in_a_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    rye = Person(tmp_path)
    rye.ok("keys", "generate")
    rye.ok("keys", "export", "--paper", "-o", "page.txt")
    assert rye.path("page.txt").stat().st_mode & 0o777 == 0o600


def test_the_picture_has_the_patterns_of_a_code() -> None:
    """What a reader looks for first. That readers read it was tried with zxing-cpp 2 on texts of one letter to the most."""
    grid = qr.code(" ".join(WORDS).upper())
    assert len(grid) == len(grid[0]) == 37
    finder = [[max(abs(row - 3), abs(column - 3)) != 2 for column in range(7)] for row in range(7)]
    assert [row[:7] for row in grid[:7]] == [row[-7:] for row in grid[:7]] == [row[:7] for row in grid[-7:]] == finder
    assert grid[6][8:29] == [at % 2 == 0 for at in range(8, 29)]
    assert grid[29][8]


def test_the_code_of_a_text_never_changes() -> None:

    bits = "".join("01"[module] for row in qr.code(" ".join(WORDS).upper()) for module in row)
    assert (
        hashlib.sha256(bits.encode()).hexdigest() == "9ebc12f6edafed5abbe829efd055125fb6ccfc6057a9c9f3611be136a71aeb58"
    )


def test_a_text_that_does_not_fit_is_refused() -> None:
    qr.code("A" * qr.MOST_CHARACTERS)
    for text in ("A" * (qr.MOST_CHARACTERS + 1), "a"):
        with pytest.raises(ValueError, match="does not fit"):
            qr.code(text)
