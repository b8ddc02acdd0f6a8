"""Asks the person at the client about one call, as the client's protocol version requires.

In the 2025 versions, the server sends a request while the call waits. Since 2026-07-28, it answers that it needs input, and
the client repeats the call with the person's answer, which is valid once and only for that question.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from rye.limits import RUNTIME
from rye.runtime.approvals import Question
from rye.runtime.calls import CallError, cut
from rye.runtime.effects import Ask, Reply

_T = TypeVar("_T")
Context = ServerRequestContext[Any, Any]
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
"""The form of a yes-or-no question."""


class Asking:
    """The questions of one server."""

    def __init__(self) -> None:
        self._waiting: dict[str, str] = {}
        """The key of each open question, by the state that the client sends back."""

    async def while_asking(
        self,
        ctx: Context,
        params: types.InputResponseRequestParams,
        act: Callable[[Ask, threading.Event], _T],
        by: str | None,
    ) -> _T | types.InputRequiredResult:
        """Run ``act`` in a thread. Its questions go to the client, if that can ask and its answers count.

        ``by``: who answers, as the log says it; None: no answer of this client counts, since the one who asks for a call would
        be the one who allows it.
        """
        cancel = threading.Event()
        capabilities = ctx.session.client_capabilities
        can_ask = by is not None and capabilities is not None and capabilities.elicitation is not None
        asked: list[Question] = []

        def ask(question: Question) -> Reply | None:
            said = answered(question)
            return Reply(said, by) if said is not None and by is not None else None

        def answered(question: Question) -> bool | None:
            if not can_ask or len(json.dumps(question.params)) > RUNTIME.asked_characters:
                return None
            if ctx.session.can_send_request:
                return anyio.from_thread.run(self._ask_now, ctx, question)
            answer = self._answer_to(params, question)
            if answer is None:
                asked.append(question)
                return None
            return _said(answer)

        try:
            return await anyio.to_thread.run_sync(partial(act, ask, cancel), abandon_on_cancel=True)
        except CallError as error:
            if error.code != "approval-required" or not asked:
                raise
            return self._ask_later(asked[0])
        except anyio.get_cancelled_exc_class():
            cancel.set()
            raise

    async def _ask_now(self, ctx: Context, question: Question) -> bool | None:
        try:
            answer = await ctx.session.elicit_form(_words(question), _NOTHING, related_request_id=ctx.request_id)
        except (MCPError, ValueError):  # the client cannot ask, or its answer is invalid
            return None
        return _said(answer)

    def _ask_later(self, question: Question) -> types.InputRequiredResult:
        state = secrets.token_urlsafe(24)
        while len(self._waiting) >= RUNTIME.questions:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[state] = question.key
        form = types.ElicitRequestFormParams(message=_words(question), requested_schema=_NOTHING)
        return types.InputRequiredResult(
            input_requests={"approve": types.ElicitRequest(params=form)}, request_state=state
        )

    def _answer_to(self, params: types.InputResponseRequestParams, question: Question) -> types.ElicitResult | None:
        """Return the person's answer if this request has one for exactly this question; it is valid once."""
        answer = (params.input_responses or {}).get("approve")
        if params.request_state is None or not isinstance(answer, types.ElicitResult):
            return None
        if self._waiting.get(params.request_state) != question.key:
            return None
        del self._waiting[params.request_state]
        return answer


def _words(question: Question) -> str:
    """Return the text of a question. Text from elsewhere is cut to one line each, so that it cannot pass for Rye's own."""
    lines = [
        f"Rye: {question.tool} {cut(question.item, 200)}",
        f"It needs {cut(question.required, 300)}.",
        f"Parameters: {cut(json.dumps(question.params), RUNTIME.asked_characters)}",
        *(f"| {cut(line, RUNTIME.shown_characters)}" for line in question.shown),
        "Allow this one call?",
    ]
    return "\n".join(lines)


def _said(answer: types.ElicitResult) -> bool | None:
    """Accepting means yes unless a field says no, declining means no, and closing the question leaves it unanswered."""
    if answer.action == "accept":
        return all(value is not False for value in (answer.content or {}).values())
    return False if answer.action == "decline" else None
