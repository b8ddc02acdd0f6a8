"""Calls a shell tool as any user: a program that reads a request a line and answers each with a line, until its input ends.

It imports nothing that only tests have, since an ordinary user's Python has no pytest (``tests/sandbox/conftest.py``)."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from threading import Event
from typing import NamedTuple

from rye.errors import RyeError
from rye.items.needs import parse_needs
from rye.runtime.sandbox.profile import profile_for
from rye.runtime.sandbox.running import fresh_work
from rye.runtime.sandbox.tool_run import ToolRun
from rye.runtime.sandboxed_tools import backend, value_of

_TOOL = b'#!/bin/bash\nexec 3>&1 1>&2\ncd "$RYE_PARAM_DIR"; eval "$RYE_PARAM_DO" || true; echo true >&3\n'
Calls = list[tuple[str, str, str]]
"""Of each call the grants, the folder to start in, and the commands."""


class Answer(NamedTuple):
    """Of one call."""

    code: str
    """``ok``, or the error's code."""
    words: str
    """What the tool said, or the error's message."""
    recovered: list[str]
    """What was swept before, because a call was killed."""


def played(sandbox: str, project: Path, calls: Calls, data: Path | None) -> list[Answer]:
    """Play the calls one after the other. ``data``: the user's folder of Rye's data, for the journal; none without it."""
    answers = []
    project = Path(os.path.realpath(project))
    for grant, folder, commands in calls:
        with fresh_work() as work:
            needs = parse_needs({"write": grant.split()})
            hidden, journals = ((data,), data / "calls") if data is not None else ((), None)
            profile = profile_for(project, work, {}, needs, deny=hidden, journals=journals)
            parameters = json.dumps({"dir": str(project / folder), "do": commands}).encode()
            tool = ToolRun(_TOOL, ".sh", parameters, "tool:acme/t/w@1.0.0", profile)
            recovered: list[str] = []
            try:
                outcome = backend({"RYE_SANDBOX": sandbox}).run(tool, Event())
                recovered = list(outcome.recovered)
                value_of(outcome, "w")
                answers.append(Answer("ok", outcome.stderr.decode(), recovered))
            except RyeError as error:
                answers.append(Answer(error.code, error.message, recovered))
    return answers


if __name__ == "__main__":
    for line in sys.stdin:
        name, where, asked, of_user = json.loads(line)
        told = played(name, Path(where), asked, Path(of_user) if of_user else None)
        print(json.dumps(told), flush=True)
