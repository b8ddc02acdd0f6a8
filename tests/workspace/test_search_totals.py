"""The number of results of a search over several registries: exact up to a thousand, then "1000+"."""

from __future__ import annotations

from typing import Any, cast

from rye.registry.protocol.wire import MORE, SearchAnswer, SearchResult, SearchTotal
from rye.workspace.registries.registry_search import _from_api, _sum


class Api:
    """Returns pages of many results."""

    def __init__(self, count: int, total: SearchTotal) -> None:
        self._rows = [SearchResult(f"acme/a/n{at}", "tool", "1.0.0", "", 0.5) for at in range(count)]
        self._total = total
        self.offsets: list[int] = []

    def search(self, _words: str, *, limit: int, offset: int, **_more: Any) -> SearchAnswer:
        self.offsets.append(offset)
        return SearchAnswer(self._rows[offset : offset + limit], self._total)


def ask(api: Api, limit: int, ours: bool = True) -> tuple[int, int | None]:
    rows, total = _from_api(cast(Any, api), "a", None, None, limit, lambda _identity: ours)
    return len(rows), total


def test_more_than_anybody_counts_stays_that() -> None:
    assert ask(Api(1000, MORE), 20) == (20, None)
    assert ask(Api(150, 150), 200) == (150, 150)
    assert _sum(3, 4, -2) == 5
    assert _sum(3, None) is None


def test_no_page_behind_the_last_that_a_registry_gives_is_asked_for() -> None:
    api = Api(1000, MORE)
    assert ask(api, 1000, ours=False) == (0, None)
    assert max(api.offsets) < 1000
