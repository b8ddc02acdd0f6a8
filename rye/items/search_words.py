"""What search finds an item by, besides its id and description. Pure."""

from __future__ import annotations

from rye.items.reading import KEYWORD_LETTERS
from rye.text.frontmatter import FrontmatterError, split
from rye.text.ranking.body_words import BODY_LETTERS, body_words

SEARCH_LETTERS = KEYWORD_LETTERS + 1 + BODY_LETTERS
"""Letters of :func:`search_words`."""


def search_words(keywords: str, text: str, suffix: str) -> str:
    """Return an item's keywords and, on a second line, the words of its text that tell most
    (:mod:`rye.text.ranking.body_words`): at most :data:`SEARCH_LETTERS` letters.

    ``keywords``: :attr:`~rye.items.reading.Metadata.keywords`; ``text``: its file's, with or without frontmatter; ``suffix``: the
    end of its file's name. Code has no words to be found by.
    """
    body = body_words(_body(text)) if suffix.endswith(".md") else ""
    return f"{keywords}\n{body}" if body else keywords


def _body(text: str) -> str:
    try:
        return split(text).body
    except FrontmatterError:
        return text
