"""Asking a model for one turn: over https, with patience for an endpoint that is busy, and with none for one that refuses.

The key goes to the address that the user set for its model and nowhere else: no redirect is followed. An answer of 429 or 5xx is
asked for again, up to three times, after as long as ``Retry-After`` says; what was refused otherwise is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from msgspec import Struct

from rye.limits import RUN
from rye.runtime.calls import Tool, nesting
from rye.runtime.redaction import redacted_text
from rye.runtime.run.conversation import Message, Reply
from rye.runtime.run.dialects import dialect
from rye.runtime.run.dialects.reading import BadAnswer
from rye.runtime.run.models import Model


class Answered(Struct, frozen=True):
    """What an endpoint answered."""

    status: int
    body: bytes
    retry_after: str | None = None


class Unreachable(Exception):
    """There was no answer. ``sent``: whether the request may have been worked on, so that asking again could cost twice."""

    def __init__(self, message: str, *, sent: bool):
        super().__init__(message)
        self.sent = sent


class Post(Protocol):
    """Sends one request; waits at most so many seconds for its whole answer. Raises Unreachable."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered: ...


class ModelFailed(Exception):
    """A model gave no turn. Its text names the tier and says why, without the key."""


class TimeIsUp(Exception):
    """The run's time ended while it waited."""


class Endpoint:
    """Asks models. ``keys``: by the name of their variable; ``sleep``: waits so many seconds; ``now``: the time."""

    def __init__(
        self, post: Post, keys: Mapping[str, str], sleep: Callable[[float], None], now: Callable[[], datetime]
    ):
        self._post = post
        self._keys = keys
        self._sleep = sleep
        self._now = now

    def turn(
        self,
        model: Model,
        system: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        most: int,
        seconds_left: Callable[[], float | None],
    ) -> Reply:
        """One turn of at most ``most`` tokens. Raises ModelFailed and TimeIsUp."""
        speaks = dialect(model.dialect)
        key = self._key(model)
        headers = {"content-type": "application/json", **speaks.headers(key)}
        body = json.dumps(speaks.body(model.model, system, messages, tools, most)).encode()
        found = self._answer(model, speaks.address(model.url), headers, body, seconds_left)
        if found.status != 200:
            raise ModelFailed(f"{model.tier}: the endpoint answered {found.status}{_said(found.body, key)}")
        try:
            reply: Reply = speaks.reply(found.body, model.model)
        except BadAnswer as error:
            raise ModelFailed(f"{model.tier}: its answer cannot be used: {error}") from None
        if len(reply.calls) > RUN.calls_in_a_turn:
            raise ModelFailed(f"{model.tier}: one turn wants {len(reply.calls)} calls; at most {RUN.calls_in_a_turn}")
        if nesting([reply.raw, *(call.arguments for call in reply.calls)]) > RUN.answer_depth:
            raise ModelFailed(f"{model.tier}: its answer is nested more than {RUN.answer_depth} deep")
        return reply

    def _key(self, model: Model) -> str | None:
        if model.key_env is None:
            return None
        key = self._keys.get(model.key_env, "")
        if not key.strip():
            raise ModelFailed(f"{model.tier}: the variable {model.key_env} holds no key")
        if not key.isascii() or not key.strip().isprintable():
            raise ModelFailed(f"{model.tier}: the variable {model.key_env} holds what is not a key")
        return key.strip()

    def _answer(
        self,
        model: Model,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        seconds_left: Callable[[], float | None],
    ) -> Answered:
        pause = RUN.retry_seconds
        for attempt in range(RUN.retries + 1):
            left = seconds_left()
            if left is not None and left <= 0:
                raise TimeIsUp
            try:
                found = self._post(url, headers, body, min(RUN.answer_seconds, left or RUN.answer_seconds))
            except Unreachable as error:
                if left is not None and (rest := seconds_left()) is not None and rest <= 0:
                    raise TimeIsUp from None
                if error.sent or attempt == RUN.retries:
                    raise ModelFailed(f"{model.tier}: {error}") from None
                wait = pause
            else:
                if attempt == RUN.retries or not (found.status == 429 or found.status >= 500):
                    return found
                wait = _wait(found.retry_after, self._now(), pause)
            left = seconds_left()
            if left is not None and left <= wait:
                raise TimeIsUp
            self._sleep(wait)
            pause *= 2
        raise AssertionError  # the last attempt returned or raised


def _wait(retry_after: str | None, now: datetime, otherwise: float) -> float:
    """Seconds to wait (RFC 9110 §10.2.3: seconds or a date), within bounds."""
    if retry_after is None:
        return otherwise
    try:
        seconds = float(retry_after) if retry_after.strip().isdigit() else _until(retry_after, now)
    except (ValueError, TypeError, OverflowError):
        return otherwise
    return min(max(seconds, 0.0), RUN.longest_retry_seconds)


def _until(date: str, now: datetime) -> float:
    when = parsedate_to_datetime(date)
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp() - now.timestamp()


def _said(body: bytes, key: str | None) -> str:
    """What an endpoint said of its refusal, short, on one line and without the key."""
    try:
        document: Any = json.loads(body)
        error = document.get("error", document) if isinstance(document, dict) else document
        text = error.get("message", "") if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        text = ""
    text = redacted_text(str(text), (key,) if key else ())
    plain = "".join(character if character.isprintable() else " " for character in text)[: RUN.shown_characters]
    return f": {plain}" if plain.strip() else ""
