"""Directives that a run starts: each in its own process and context, with a longer chain and what is left of the limits.

Before a child starts, the parent is charged the child's maximum; when it ends, what it did not use is returned. Only outputs
that its directive declares come back. A child ends with its parent: it stops when the socket between them closes.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

from msgspec.structs import replace

from rye.items.needs import AGENTS
from rye.limits import RUN
from rye.runtime.calls import CallError, Code, cut
from rye.runtime.chain import Chain
from rye.runtime.effects import Ask, UsableItem
from rye.runtime.limits import Limits, Used, most
from rye.runtime.rules import Rules
from rye.runtime.run.child_messages import Answers, Asks, Channel, ChildStart, Ends, FromChild, Watched
from rye.runtime.run.loop import Watch
from rye.runtime.session import Session

_POLL_SECONDS = 0.2
_START_SECONDS = 30.0
"""How long a child may take to accept its start message."""
_END_SECONDS = 5.0
"""How long a cancelled child may take to finish its log."""
_CODES: dict[str, Code] = {
    "limit": "limit-exceeded",
    "denied": "denied",
    "cancelled": "cancelled",
    "error": "tool-failed",
}


class Children:
    """:data:`rye.runtime.effects.Children` for one run. ``start``: builds the start message; ``environment``: the child's
    variables, without keys; ``ask``: answers a child's questions."""

    def __init__(
        self,
        start: Callable[[str, Mapping[str, object], Chain, Limits, Rules], ChildStart],
        environment: Mapping[str, str],
        ask: Ask,
        watch: Watch,
    ):
        self._start = start
        self._environment = dict(environment)
        self._ask = ask
        self._watch = watch
        self.priced = True
        """Whether every model that a child used has prices."""
        self.session: Session | None = None
        """The parent's session; set before the first call."""

    def __call__(
        self, item: UsableItem, inputs: Mapping[str, object], chain: Chain, limits: Limits, cancel: Event
    ) -> dict[str, object]:
        """Run a child and return its outputs. Raises CallError."""
        assert self.session is not None
        if chain.depth > RUN.depth:
            shown = {"limit": "depth", "current": chain.depth, "maximum": RUN.depth}
            message = f"Runs can be nested at most {RUN.depth} deep."
            raise CallError("limit-exceeded", message, "Do the rest in this run.", details=shown)
        reserved = most(limits)
        self.session.meter.charge(reserved)
        reference = f"{item.id}@{item.version}" if item.version is not None else item.id
        start = self._start(reference, inputs, chain, limits, self.session.rules_at_start)
        ended = self._run(start, cancel, item.label)
        used = ended.result.used if ended.result is not None else Used()
        self.priced = self.priced and (ended.result is None or ended.result.priced)
        self.session.meter.charge(used.minus(reserved))
        return _outputs(ended, item.label)

    def _run(self, start: ChildStart, cancel: Event, label: str) -> Ends:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                # starts outside the project, where no file written by others can affect the interpreter
                process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "rye.runtime.run.child", str(theirs.fileno())],
                    pass_fds=(theirs.fileno(),),
                    cwd="/",
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            try:
                return self._converse(Channel(ours), start, cancel, label)
            finally:
                ours.close()
                _end(process)

    def _converse(self, channel: Channel, start: ChildStart, cancel: Event, label: str) -> Ends:
        channel.socket.settimeout(_START_SECONDS)
        try:
            channel.send(start)
            channel.socket.settimeout(_POLL_SECONDS)
            while True:
                if cancel.is_set():
                    raise CallError("cancelled", f"The run of {label} was cancelled.")
                try:
                    message: FromChild | None = channel.receive(FromChild)
                except TimeoutError:
                    continue
                if message is None:
                    raise ValueError("it exited without a result")
                if isinstance(message, Ends):
                    return message
                if isinstance(message, Watched):
                    self._watch(replace(message.progress, depth=message.progress.depth + 1))
                elif isinstance(message, Asks):
                    channel.send(Answers(self._ask(message.question)))
        except (OSError, ValueError) as error:
            message_ = f"The run of {label} ended unexpectedly: {cut(str(error), 200)}."
            raise CallError("tool-failed", message_, "`rye runs list` shows how far it got.") from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for a child to exit, and kill it if it does not."""
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _outputs(ended: Ends, label: str) -> dict[str, object]:
    result = ended.result
    if result is None:
        raise CallError("tool-failed", f"{label} did not start: {ended.message}", details={"cause": ended.code})
    if result.status == "ok" and result.outputs is not None:
        return dict(result.outputs)
    said = result.problem.message if result.problem is not None else ""
    code: Code = _CODES[result.status]
    if result.problem is not None and result.problem.code == "deviation":
        code = "deviation"
    raise CallError(
        code,
        f"The run of {label} ended with {result.status}: {said}",
        f"`rye runs show {result.run}` shows its calls.",
        details={"run": result.run},
    )


def for_child(environment: Mapping[str, str], withheld: frozenset[str], project: Path) -> dict[str, str]:
    """Return a child's environment: without keys and the ways to agents that keep some, and without module paths inside the
    project."""
    kept = {name: value for name, value in environment.items() if name not in withheld and name not in AGENTS}
    places = [place for place in kept.pop("PYTHONPATH", "").split(os.pathsep) if place]
    outside = [place for place in map(os.path.realpath, places) if not Path(place).is_relative_to(project.resolve())]
    return {**kept, "PYTHONPATH": os.pathsep.join(outside)} if outside else kept
