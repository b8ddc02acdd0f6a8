"""The words of a text by which search finds its item: few, bounded, and never worth more than a name."""

from __future__ import annotations

import pytest

from rye.items.search_words import SEARCH_LETTERS, search_words
from rye.text.ranking.answering import answers, findable
from rye.text.ranking.body_words import MOST_OFTEN, MOST_STEMS, body_words, often
from rye.text.ranking.scoring import Searched

SKILL = "---\nname: scans\ndescription: Reads pictures.\n---\n\n# Scans\n\nAn MRI is a DICOM file. Open the DICOM files first.\n"


def found(query: str, **texts: str) -> list[str]:
    items = [
        findable(Searched("skill", f"acme/{name}", "Does it.", search_words("", text, "SKILL.md")), f"acme/{name}")
        for name, text in texts.items()
    ]
    return [item for _, item in answers(query, items)]


def test_an_item_is_found_by_what_only_its_text_says() -> None:
    assert found("dicom", scans=SKILL, other=SKILL.replace("DICOM", "PNG")) == ["acme/scans"]


def test_frontmatter_and_code_have_no_words_of_their_own() -> None:
    assert "description" not in search_words("", SKILL, "SKILL.md")
    assert search_words("build", "import dicom\n", ".py") == "build"
    assert search_words("build", SKILL, "SKILL.md").startswith("build\n")


def test_the_words_that_tell_most_are_kept_with_how_often_they_occur() -> None:
    told = dict(often(body_words(SKILL)))
    assert told["dicom"] > told["mri"] > 0
    assert "the" not in told


def test_a_word_that_is_repeated_without_end_is_worth_less_than_a_name() -> None:
    stuffed = "dicom " * 5_000
    assert found("dicom", stuffed=stuffed, dicom="It does it.", scans=SKILL) == [
        "acme/dicom",
        "acme/stuffed",
        "acme/scans",
    ]
    assert dict(often(body_words(stuffed)))["dicom"] == MOST_OFTEN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n" * 100_000,
        "x" * 300_000,
        " ".join(f"w{at}x" for at in range(100_000)),
        "é\u200b:9 " * 50_000,
        "1 2 3 " * 9_000,
    ],
    ids=["empty", "lines", "one word", "many words", "signs", "numbers"],
)
def test_no_text_makes_more_than_the_index_takes(text: str) -> None:
    words = search_words("k" * 1_000, text, ".md")
    assert len(words) <= SEARCH_LETTERS
    assert len(list(often(words.partition("\n")[2]))) <= MOST_STEMS


def test_what_is_no_list_of_words_is_left_out() -> None:
    assert list(often("a:1 b: :3 c d:x e:٣ f:999999")) == [("a", 1), ("f", MOST_OFTEN)]
