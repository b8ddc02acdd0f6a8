"""The question to a person about a call, and the reply to its caller while it is unanswered."""

from __future__ import annotations

from datetime import datetime

from rye.runtime.approvals import ApprovalStore, Question
from rye.runtime.asked import Allowed, Asked
from rye.runtime.calls import CallError
from rye.runtime.event_log import timestamp


def question_about(run: str, asked: Asked, allowed: Allowed, now: datetime) -> Question:
    """The question as a file may hold it: without secrets."""
    assert allowed.sha256 is not None
    return Question(
        run,
        asked.number,
        asked.name,
        allowed.label or asked.item,
        allowed.sha256,
        asked.params_sha256,
        asked.params,
        allowed.decision.required,
        timestamp(now),
        asked.params == asked.given,
    )


def waiting(question: Question, asked: Asked, allowed: Allowed, store: ApprovalStore) -> CallError:
    """The error ``approval-required``. The question is written down for `rye approve`, unless it cannot show the whole call:
    nobody agrees to what they cannot see. Raises RyeError ``declined`` where too many calls wait."""
    details: dict[str, object] = {"run": question.run}
    if question.whole:
        number = store.ask(question)
        command = f"rye approve {question.run} {number}"
        details |= {"call": number, "command": command}
        message = f"A person must agree to {question.item} with exactly these parameters."
        hint = f"`{command}` agrees for ten minutes, once; then make the same call again."
    else:
        message = f"A person must agree to {question.item}, and nobody can be shown these parameters as they are."
        hint = "They are too long for the log, or hold what looks like a secret. Make a shorter call without it."
    return CallError(
        "approval-required",
        message,
        hint,
        required=allowed.decision.required,
        chain=allowed.decision.levels,
        resource=asked.item,
        details=details,
    )
