"""The sources of one run: each is opened once."""

from __future__ import annotations

from pathlib import Path

import pytest

from rye.project.declared_sources import PathSource
from rye.sources.book import SourceBook
from rye.sources.opening import Opener, OpenSource
from rye.sources.source_error import SourceError


class Away(Opener):
    """A place where nothing can be opened."""

    def __init__(self) -> None:
        self.asked = 0

    def open(self, *_: object, **__: object) -> OpenSource:
        self.asked += 1
        raise SourceError("fetch-unreachable", "Nothing answers.")


def test_a_source_that_cannot_be_opened_is_tried_once_for_each_state(tmp_path: Path) -> None:
    opener = Away()
    book = SourceBook({"team": PathSource("team", str(tmp_path))}, opener, None)
    for _ in range(3):
        with pytest.raises(SourceError, match="Nothing answers"):
            book.open("team")
    assert opener.asked == 1
    book.use_locked([], exact=True)
    with pytest.raises(SourceError):
        book.kinds_of("team/one")
    assert opener.asked == 2, "another state may be there"


def test_a_failure_that_is_told_again_holds_no_more_than_the_first_time(tmp_path: Path) -> None:
    book = SourceBook({"team": PathSource("team", str(tmp_path))}, Away(), None)
    lengths = []
    for _ in range(3):
        with pytest.raises(SourceError) as failure:
            book.open("team")
        lengths.append(len(failure.traceback))
    assert len(set(lengths)) == 1
