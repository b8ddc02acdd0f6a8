"""How results reach the event loop: together, and only those that somebody still waits for (design/server.md 3)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from registry_server.api.answers import Answers


class Loop(asyncio.SelectorEventLoop):
    """Counts how often another thread wakes it."""

    woken = 0

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, **options: Any
    ) -> asyncio.Handle:
        self.woken += 1
        return super().call_soon_threadsafe(callback, *args, **options)


def test_the_results_of_a_batch_wake_the_loop_once() -> None:
    results: list[Future[int]] = [Future() for _ in range(20)]
    answers: Answers[int] = Answers()
    loop = Loop()

    def answer() -> None:
        for at, result in enumerate(results):
            result.set_result(at)

    async def publish() -> list[int]:
        waiting = asyncio.gather(*(answers.wait(result, 10) for result in results))
        await asyncio.sleep(0)
        thread = threading.Thread(target=answer)
        thread.start()
        thread.join()  # the loop is busy until the whole batch is answered
        return await waiting

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        assert runner.run(publish()) == list(range(20))
        assert loop.woken == 1
        again: Future[int] = Future()
        threading.Timer(0.01, again.set_result, [7]).start()
        assert runner.run(answers.wait(again, 10)) == 7


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    result: Future[int] = Future()
    result.set_exception(ValueError("refused"))
    with pytest.raises(ValueError, match="refused"):
        asyncio.run(Answers[int]().wait(result, 10))


def test_a_result_that_nobody_waits_for_any_more_is_cancelled_unless_its_work_has_begun() -> None:
    async def wait(result: Future[int]) -> None:
        with pytest.raises(TimeoutError):
            await Answers[int]().wait(result, 0.01)

    waiting: Future[int] = Future()
    asyncio.run(wait(waiting))
    assert waiting.cancelled()
    begun: Future[int] = Future()
    assert begun.set_running_or_notify_cancel()
    asyncio.run(wait(begun))
    begun.set_result(1)  # after the loop has ended: nobody hears it, and nothing fails
    assert begun.result() == 1


def test_one_that_gives_up_does_not_keep_the_others_from_their_results() -> None:
    first: Future[int] = Future()
    second: Future[int] = Future()

    async def publish() -> int:
        answers: Answers[int] = Answers()
        gone = asyncio.create_task(answers.wait(first, 10))
        stays = asyncio.create_task(answers.wait(second, 10))
        await asyncio.sleep(0)
        assert first.set_running_or_notify_cancel()
        gone.cancel()
        for result in (first, second):
            result.set_result(3)
        return await stays

    assert asyncio.run(publish()) == 3
