"""The question that a person is asked about a call, and the reply to the caller while it is unanswered."""

from __future__ import annotations

from datetime import datetime

from rye.runtime.approvals import ApprovalStore, Question
from rye.runtime.asked import Allowed, Asked
from rye.runtime.calls import CallError
from rye.runtime.event_log import timestamp


def question_about(run: str, asked: Asked, allowed: Allowed, now: datetime) -> Question:
    """Return the question in the form that may be stored in a file: without secrets."""
    assert allowed.sha256 is not None
    return Question(
        run=run,
        call=asked.number,
        tool=asked.name,
        item=allowed.label or asked.item,
        sha256=allowed.sha256,
        params_sha256=asked.params_sha256,
        params=asked.params,
        required=allowed.decision.required,
        asked=timestamp(now),
        whole=asked.params == asked.given,
    )


def waiting(question: Question, asked: Asked, allowed: Allowed, store: ApprovalStore) -> CallError:
    """Return the error ``approval-required``. Store the question for `rye approve`, unless it cannot show the whole
    call: people only agree to what they can see. Raises RyeError ``declined`` if too many calls are waiting."""
    details: dict[str, object] = {"run": question.run}
    if question.whole:
        number = store.ask(question)
        command = f"rye approve {question.run} {number}"
        details |= {"call": number, "command": command}
        message = f"A person must approve {question.item} with exactly these parameters."
        hint = f"`{command}` approves it once, for ten minutes. Then make the same call again."
    else:
        message = f"A person must approve {question.item}, but these parameters cannot be shown in full."
        hint = "They are too long for the log, or contain what looks like a secret. Make a shorter call without it."
    return CallError(
        "approval-required",
        message,
        hint,
        required=allowed.decision.required,
        chain=allowed.decision.levels,
        resource=asked.item,
        details=details,
    )
