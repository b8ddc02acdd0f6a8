"""Append statements to the log: examine them, pass them to the sequencer, and wait for the checkpoint."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from litestar import Request
from litestar.datastructures import State

from registry_server.accounts.tokens import Account
from registry_server.api.forwarded import client_address
from registry_server.api.requests import account_of, service_of, to_the_end
from registry_server.api.service import Service
from registry_server.sequencer.acceptance import Candidate
from registry_server.sequencer.batching import is_trouble
from registry_server.sequencer.sequencer import Receipt, Sender
from registry_server.settings import Settings
from rye.errors import RyeError
from rye.limits import MIB
from rye.registry.protocol import wire
from rye.registry.protocol.statements import OwnerProof

_HASHED_HERE = MIB // 4
"""Bytes of files that are hashed on the event loop; more take longer than a thread's start."""

_LOOKED_AGAIN_SECONDS = 1.0
"""If examining took longer, the sender is looked up again: a place that proves who owns a namespace may answer as late as its
owner likes."""

_TIMEOUT = "publish-timeout"
"""The code of a request that may still get into the log."""


async def append(
    request: Request[Any, Any, State],
    account: Account,
    texts: Sequence[str],
    files: Sequence[bytes] = (),
    kept: Iterable[str] = (),
) -> tuple[Receipt, list[Candidate]]:
    """Examine the statements of a request and wait for them to be in a signed checkpoint. Raises RyeError.

    ``files``: those that came with it. In a bucket, which answers late, they are stored while they are examined; in a folder
    the process that examined them stores them. ``kept``: uploads of the account for these statements alone, which it needs no
    more if they are refused.
    """
    service, began = service_of(request), time.monotonic()
    check_count(service.settings, len(texts))
    address = client_address(request.scope, service.settings.trusted_proxies)
    sender = Sender(account.token, address, account.account)
    stated = [text for text in texts if text.startswith(f"{OwnerProof.TITLE}\n")]
    if stated:  # first and by themselves: no batch waits for a place on the internet to answer
        await service.proving.require(await service.examiners.examine(account, stated), address)
    with service.sequencer.expecting() as expected:
        room = _Room(service, account)
        is_refused = False
        try:
            if sum(map(len, files)) <= _HASHED_HERE:
                room.reserve(files)
            else:
                await to_the_end(asyncio.to_thread(room.reserve, files))
            examining = _examine(service, account, texts, files, is_reserved=room.hashes is not None)
            candidates = await (to_the_end(examining) if files else examining)
            if time.monotonic() - began > _LOOKED_AGAIN_SECONDS:
                _require_same(account, await account_of(request))
            future = service.sequencer.submit(candidates, sender, expected)
            return await _answer(service, future), candidates
        except RyeError as error:
            is_refused = error.code != _TIMEOUT and not is_trouble(error)
            if error.code in wire.OPERATOR_ERRORS:
                raise _for_publisher(error) from error
            raise
        finally:
            room.settle(is_refused=is_refused)
            if is_refused:
                service.let_go(account, kept)


def _require_same(account: Account, now: Account) -> None:
    """Require that an account may still do what it could when its statements were examined. Raises RyeError ``busy``: they are
    examined again when they come again."""
    if (now.scopes, now.namespaces, now.roles) != (account.scopes, account.namespaces, account.roles):
        raise RyeError("busy", "What this token may do changed while its statements were examined.", "Try again.")


@dataclass(slots=True)
class _Room:
    """The room for the files of a request. Whatever ends the request, it is settled."""

    service: Service
    account: Account
    hashes: Sequence[str] | None = None
    """What was reserved; None: nothing."""

    def reserve(self, files: Sequence[bytes]) -> None:
        self.hashes = self.service.reserve(self.account, files)

    def settle(self, *, is_refused: bool) -> None:
        if self.hashes is not None:
            self.service.settle(self.account, self.hashes, is_refused=is_refused)


async def _examine(
    service: Service, account: Account, texts: Sequence[str], files: Sequence[bytes], *, is_reserved: bool
) -> list[Candidate]:
    """Examine the statements of a request, and keep its files. ``is_reserved``: there is room for them, and the process that
    examines them writes them."""
    examining = service.examiners.examine(account, texts, files, keeps=is_reserved and bool(files))
    if is_reserved:
        return await examining
    keeping = asyncio.to_thread(service.keep_uploads, account, files)
    kept, examined = await asyncio.gather(keeping, examining, return_exceptions=True)
    return _unless_failed(kept, examined)


async def _answer(service: Service, future: Future[Receipt]) -> Receipt:
    try:
        return await service.answers.wait(future, service.settings.answer_seconds)
    except TimeoutError:
        raise RyeError(
            _TIMEOUT,
            "The statements are not in a signed checkpoint yet.",
            "Send the same request again: statements accepted in the meantime count as duplicates and succeed.",
        ) from None


def _for_publisher(error: RyeError) -> RyeError:
    """The same error in words for somebody who can do nothing about it. The log and ``/readyz`` have the operator's."""
    return RyeError(
        error.code,
        f"The registry cannot publish anything right now: {error.message}",
        "Tell its operator. Once that is mended, run the command again: nothing is published twice.",
    )


def _unless_failed(kept: BaseException | None, examined: list[Candidate] | BaseException) -> list[Candidate]:
    """What was examined, or the first error: both are over by now, so nothing is stored for a request that was
    answered."""
    if isinstance(kept, BaseException):
        raise kept
    if isinstance(examined, BaseException):
        raise examined
    return examined


def check_count(settings: Settings, count: int) -> None:
    """Check the number of statements in a request. Raises RyeError ``request-too-large``."""
    if count > settings.request_statements:
        raise RyeError(
            "request-too-large",
            f"The request has {count} statements; the limit is {settings.request_statements}.",
            "Split them into several requests.",
        )
