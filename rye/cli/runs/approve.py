"""``rye approve``: approve one call that waits for a person."""

from __future__ import annotations

import json

import click

from rye.cli.console import one_line
from rye.cli.options import Session, command
from rye.runtime.approvals import Question
from rye.runtime.finished_runs import approve_call


@command("approve")
@click.argument("run")
@click.argument("call", type=click.IntRange(min=1))
@click.pass_obj
def approve(session: Session, run: str, call: int) -> None:
    """Approve one call of a run: exactly that item and those parameters, once, within ten minutes.

    RUN and CALL are in the error that the agent got. `rye runs show RUN` shows the call.
    """

    def show(question: Question) -> None:
        session.console.say(f"{one_line(question.tool)} of {one_line(question.item)}")
        session.console.say(f"needs {one_line(question.required)}")
        session.console.say(f"parameters {one_line(json.dumps(question.params))}")
        for line in question.shown:
            session.console.say(f"  {one_line(line)}")

    question = approve_call(session, run, call, show)
    document = {"run": question.run, "call": question.call, "item": question.item, "sha256": question.sha256}
    session.console.answer({**document, "params_sha256": question.params_sha256}, f"allowed call {question.call}, once")
