"""Pages never slow down publishing (design/server.md 5): during a publish they take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from registry_server.accounts.tokens import Account
from registry_server.pages import page_cache
from registry_server.pages.limits import PAGES
from rye.errors import RyeError
from tests.scenes.local_registry import LocalRegistry
from tests.scenes.publisher import Publisher

HTML = {"Accept": "text/html"}
ACME = Publisher("acme")


class Waits:
    """The page cache's clock and sleep: nothing waits, and every wait is recorded."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        self.taken: list[float] = []
        clock = type("Clock", (), {"monotonic": lambda _self: self.now})()
        patch.setattr(page_cache, "time", clock)
        sleep = asyncio.sleep

        async def noted(seconds: float) -> None:
            self.taken.append(round(seconds, 6))
            await sleep(0)

        patch.setattr(asyncio, "sleep", noted)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRegistry]:
    with LocalRegistry(tmp_path_factory.mktemp("beside") / "data") as made:
        assert made.statements(made.token(), ACME.claim()).status_code == 200
        assert made.get("/", headers=HTML).status_code == 200
        yield made


@pytest.fixture
def waits(local: LocalRegistry, monkeypatch: pytest.MonkeyPatch) -> Waits:
    local.service.pages._next_turn = local.service.pages._paced_until = 0.0
    return Waits(monkeypatch)


def read(local: LocalRegistry, count: int) -> list[httpx.Response]:
    """Request this many pages at the same time."""

    async def all_of_them() -> list[httpx.Response]:
        return await asyncio.gather(*(local.client.get("/", headers=HTML) for _ in range(count)))

    return local.loop.run_until_complete(all_of_them())


def writing(local: LocalRegistry) -> Account:
    return Account(token="", name="ann", namespaces=(), scopes=("publish",), account="1")


def test_without_a_publish_nobody_waits(local: LocalRegistry, waits: Waits) -> None:
    assert {answer.status_code for answer in read(local, 40)} == {200}
    assert waits.taken == []


def test_beside_a_publish_pages_take_turns_and_the_last_one_is_answered_too(local: LocalRegistry, waits: Waits) -> None:
    with local.service.writing(writing(local)):
        assert {answer.status_code for answer in read(local, 16)} == {200}
    assert waits.taken == [round(number * PAGES.pace_seconds, 6) for number in range(1, 16)]


def test_the_pace_lasts_for_a_moment_and_then_ends(local: LocalRegistry, waits: Waits) -> None:
    with local.service.writing(writing(local)):
        read(local, 1)
    waits.now += PAGES.pace_lasts_seconds / 2
    read(local, 2)
    assert waits.taken == [PAGES.pace_seconds]
    waits.now += PAGES.pace_lasts_seconds
    read(local, 5)
    assert waits.taken == [PAGES.pace_seconds]


def test_more_than_can_be_answered_in_time_are_refused_at_once(local: LocalRegistry, waits: Waits) -> None:
    most = int(PAGES.turn_seconds / PAGES.pace_seconds)
    with local.service.writing(writing(local)):
        read(local, 1)
        local.service.pages._next_turn = waits.now + PAGES.turn_seconds - PAGES.pace_seconds / 2
        answers = read(local, 3)
    assert sorted(answer.status_code for answer in answers) == [200, 503, 503]
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert refused.headers["retry-after"] == "1"
    assert max(waits.taken) <= PAGES.turn_seconds
    assert most >= 100


def test_a_publish_is_at_work_from_its_place_to_its_answer_and_after_a_failure_no_more(local: LocalRegistry) -> None:
    is_publishing = local.service.pages._is_publishing
    seen: list[bool] = []
    submit = local.service.sequencer.submit

    def watched(*given: object) -> object:
        seen.append(is_publishing())
        return submit(*given)  # type: ignore[arg-type]

    local.service.sequencer.submit = watched  # type: ignore[assignment, method-assign]
    try:
        assert local.publish(ACME, "a/item", local.token()).status_code == 200
    finally:
        local.service.sequencer.submit = submit  # type: ignore[method-assign]
    assert seen == [True]
    assert not is_publishing()
    assert local.statements(local.token(), "nonsense").status_code == 400
    assert not is_publishing()
    with pytest.raises(RyeError), local.service.writing(writing(local)):
        raise RyeError("x", "x", None)
    assert not is_publishing()


def search(local: LocalRegistry, path: str, count: int) -> list[httpx.Response]:
    """Send this many searches at the same time."""

    async def all_of_them() -> list[httpx.Response]:
        return await asyncio.gather(*(local.client.get(path) for _ in range(count)))

    return local.loop.run_until_complete(all_of_them())


def test_searches_take_longer_turns_beside_a_publish_and_wait_for_nobody_without_one(
    local: LocalRegistry, waits: Waits
) -> None:
    assert {answer.status_code for answer in search(local, "/api/v1/search?q=deploy", 4)} == {200}
    assert waits.taken == []
    with local.service.writing(writing(local)):
        assert {answer.status_code for answer in search(local, "/api/v1/search?q=deploy", 4)} == {200}
    assert waits.taken == [round(number * PAGES.search_pace_seconds, 6) for number in range(1, 4)]


def test_a_search_page_takes_a_turn_for_its_search_too(local: LocalRegistry, waits: Waits) -> None:
    with local.service.writing(writing(local)):
        assert search(local, "/-/search?q=deploy", 1)[0].status_code == 200
    assert waits.taken == [PAGES.pace_seconds]


def test_more_searches_than_can_be_answered_in_time_are_refused_at_once(local: LocalRegistry, waits: Waits) -> None:
    with local.service.writing(writing(local)):
        read(local, 1)
        local.service.pages._next_turn = waits.now + PAGES.turn_seconds + PAGES.search_pace_seconds
        (answer,) = search(local, "/api/v1/search?q=deploy", 1)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert waits.taken == []
