"""Asks a model for one turn over HTTPS, and retries if the endpoint is busy.

The key is only sent to the address that the user set for the model: redirects are not followed. After 429 or 5xx the request
is retried up to three times, waiting as long as ``Retry-After`` says. Other failures are not retried.
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
    """An endpoint's answer."""

    status: int
    body: bytes
    retry_after: str | None = None


class Unreachable(Exception):
    """There was no usable answer. ``sent``: the request may have been processed, so a retry could be billed again."""

    def __init__(self, message: str, *, sent: bool):
        super().__init__(message)
        self.sent = sent


class Post(Protocol):
    """Sends one request and waits at most ``seconds`` for the complete answer. Raises Unreachable."""

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        """Send one request and return its complete answer."""
        ...


class ModelFailed(Exception):
    """A model did not give a turn. The text names the tier and the reason, without the key."""


class TimeIsUp(Exception):
    """The run's time ran out while waiting."""


class Endpoint:
    """Asks models. ``keys``: by variable name; ``sleep``: waits the given seconds; ``now``: returns the current time."""

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
        """Return one turn of at most ``most`` tokens. Raises ModelFailed and TimeIsUp."""
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
            raise ModelFailed(f"{model.tier}: the answer is invalid: {error}") from None
        if len(reply.calls) > RUN.calls_in_a_turn:
            message = f"{model.tier}: the turn has {len(reply.calls)} calls; the limit is {RUN.calls_in_a_turn}"
            raise ModelFailed(message)
        if nesting([reply.raw, *(call.arguments for call in reply.calls)]) > RUN.answer_depth:
            raise ModelFailed(f"{model.tier}: the answer is nested more than {RUN.answer_depth} levels deep")
        return reply

    def _key(self, model: Model) -> str | None:
        if model.key_env is None:
            return None
        key = self._keys.get(model.key_env, "")
        if not key.strip():
            raise ModelFailed(f"{model.tier}: the variable {model.key_env} is unset or empty")
        if not key.isascii() or not key.strip().isprintable():
            raise ModelFailed(f"{model.tier}: the variable {model.key_env} does not contain a valid key")
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
    """Return the seconds to wait (RFC 9110 §10.2.3: seconds or a date), within bounds."""
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
    """Return an endpoint's error message, shortened, on one line and without the key."""
    try:
        document: Any = json.loads(body)
        error = document.get("error", document) if isinstance(document, dict) else document
        text = error.get("message", "") if isinstance(error, dict) else str(error)
    except (ValueError, RecursionError):
        text = ""
    text = redacted_text(str(text), (key,) if key else ())
    plain = "".join(character if character.isprintable() else " " for character in text)[: RUN.shown_characters]
    return f": {plain}" if plain.strip() else ""
