"""One run. Each call is decided, then logged, and only then made. Both front ends, MCP and the loop of `rye run`, call
:meth:`Session.act`.

The checks, in this order:

1. Are the arguments valid?                      no: ``invalid-parameters``         :mod:`rye.runtime.asked`
2. Is the run still within its limits?           no: ``limit-exceeded``, permanently  :mod:`rye.runtime.meter`
3. Do all levels of the chain and the policy allow it?  no: ``denied``              :mod:`rye.runtime.deciding`
4. Does the item exist, unchanged since it was installed or signed?  no: ``unknown-item``, ``modified``, ``untrusted``,
   ``revoked`` …
5. Must a person approve it?                     not yet: ``approval-required``     :mod:`rye.runtime.session`
6. Is it logged, on disk?                        no: nothing happens                :mod:`rye.runtime.recording`
7. The effect.                                                                      :mod:`rye.runtime.executing`

Calls are decided one at a time; tools run concurrently. After a person answers, the call is decided again, because the
chain may have grown in the meantime.
While the question is unanswered, the caller gets a reply that says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, TypeVar

from msgspec.structs import replace

from rye.errors import RyeError
from rye.runtime.approvals import NO_ITEM, ApprovalStore, Question
from rye.runtime.asked import Allowed, Asked, read_call
from rye.runtime.calls import CallError, ReturnCall, from_rye_error
from rye.runtime.chain import Chain, decide
from rye.runtime.deciding import Deciding, MustAsk, denied
from rye.runtime.effects import Ask, OwnFile, Reply, UsableItem, World
from rye.runtime.event_log import EventLog, timestamp
from rye.runtime.executing import Executing, Made, Returned
from rye.runtime.limits import Bound, Limits, Used
from rye.runtime.meter import Meter
from rye.runtime.outputs import Declared
from rye.runtime.recording import Recording
from rye.runtime.rules import Rules


def question_about(run: str, asked: Asked, allowed: Allowed, now: datetime) -> Question:
    """Return the question in the form that may be stored in a file: without secrets."""
    return Question(
        run=run,
        call=asked.number,
        tool=asked.name,
        item=allowed.label or asked.item,
        sha256=allowed.sha256 or NO_ITEM,
        params_sha256=asked.params_sha256,
        params=asked.params,
        required=allowed.decision.required,
        asked=timestamp(now),
        shown=allowed.item.shown if isinstance(allowed.item, OwnFile) else (),
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
        message = f"A person must approve {question.tool} of {question.item} with exactly these parameters."
        hint = f"`{command}` approves it once, for ten minutes. Then make the same call again."
    else:
        message = (
            f"A person must approve {question.tool} of {question.item}, but these parameters cannot be shown in full."
        )
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


_T = TypeVar("_T")
Binding = Literal["exclusive", "advisory"]


class Session:
    """One run. Thread-safe."""

    def __init__(
        self,
        run: str,
        chain: Chain,
        world: World,
        log: EventLog,
        rules: Callable[[], Rules] = Rules,
        *,
        binding: Binding = "advisory",
        not_enforced: Sequence[str] = (),
        limits: Limits | None = None,
        declared: Declared = None,
    ):
        """``rules``: reads the policies, and that the run may still go on, for each call; raises RyeError if not;
        ``declared``: the outputs of the directive that the run was started for; ``limits``: additional limits from a parent or
        the command line; ``not_enforced``: limits that cannot be counted here. Raises RyeError."""
        lock = threading.RLock()
        first = rules()
        self.rules_at_start = first
        """What the run started under, for the runs that it starts."""
        above = max(chain.depth - 1, 0)  # a parent's remaining depth counts from the parent
        bounds = [Bound(limits, Used(depth=above))] if limits is not None else []
        bounds += [Bound(level.limits, Used(depth=depth)) for depth, level in enumerate(chain.levels)]
        self.run = run
        self.meter = Meter(first.limits, bounds, world.clock, chain.depth, lock)
        """Counts what the run uses; a front end that runs the model counts the model's use here."""
        self.recording = Recording(log, world.clock, world.secrets, lock)
        """Writes the run's log."""
        self._binding = binding
        self._not_enforced = tuple(not_enforced)
        self._world = world
        self._approvals = ApprovalStore(log.folder)
        self._rules = rules
        self._deciding = Deciding(world, first)
        self._executing = Executing(run, chain, world, self._deciding, self.meter, declared, lock, self._decide_again)
        self._lock = lock

    @property
    def chain(self) -> Chain:
        """The callers, root first. It only grows."""
        return self._executing.chain

    @property
    def returned(self) -> Returned | None:
        """What the run returned; None: nothing yet."""
        return self._executing.returned

    def start(self) -> dict[str, object]:
        """Return the facts shown at the start of a run: ``{"run", "as", "binding", "not_enforced", "limits"}``."""
        return {
            "run": self.run,
            "as": self.chain.root.label,
            "binding": self._binding,
            "not_enforced": list(self._not_enforced),
            "limits": self.meter.limits.as_json(),
        }

    def renew(self) -> None:
        """Read again what the next decisions follow from (:func:`rye.runtime.opening.open_session`). Each call does; so does who
        lists what may be called. Raises CallError if it cannot be read, or the run may not go on."""
        with self._lock:
            try:
                rules = self._rules()
            except RyeError as error:
                raise from_rye_error(error) from error
            self._deciding.rules = rules
            self.meter.renew(rules.limits)

    def may(self, primary: str, kind: str, item_id: str) -> bool:
        """Whether chain and policy allow an action, as they were read last. Logs nothing; for listing what may be called."""
        return self._deciding.may(self.chain, primary, kind, item_id)

    def asks(self, primary: str, kind: str, item_id: str) -> bool:
        """Whether a person must be asked about an action that may be done, as policies were read last."""
        return self._deciding.asks(primary, kind, item_id)

    def act(
        self,
        name: str,
        arguments: object,
        *,
        version: str | None = None,
        ask: Ask | None = None,
        cancel: threading.Event | None = None,
        beyond: bool = False,
    ) -> dict[str, object]:
        """Make one call of one of the five tools and return its result. Raises CallError.

        ``version``: the version the item must have; ``ask``: asks a person about this call; ``cancel``: set when the
        result is no longer wanted; ``beyond``: the call is a reaction to a reached limit (a hook), so limits don't refuse it.
        """
        try:
            asked, allowed = self._permit(name, arguments, version, ask or self._world.ask, beyond)
            until = cancel or threading.Event()
            return self._make(asked, allowed, lambda made: self._executing.execute(asked, allowed, until, made))
        except RyeError as error:  # from the log or an effect
            raise from_rye_error(error) from error
        except OSError as error:
            message = f"The operating system refused it: {error.strerror or type(error).__name__}."
            hint = "Check that the disk has space and that .ai belongs to you, then make the call again."
            raise CallError("not-runnable", message, hint) from error

    def load_item(self, kind: str, item_id: str, version: str | None = None, *, ask: Ask | None = None) -> UsableItem:
        """Make a ``rye_load`` call and return the whole item instead of its JSON. Raises CallError."""
        try:
            arguments = {"item_type": kind, "item_id": item_id}
            asked, allowed = self._permit("rye_load", arguments, version, ask or self._world.ask)
            self._make(asked, allowed, lambda made: None)
        except RyeError as error:
            raise from_rye_error(error) from error
        assert isinstance(allowed.item, UsableItem)
        return allowed.item

    def own_prompt(self, directive: UsableItem, inputs: Mapping[str, object]) -> str:
        """Render the prompt of the directive that the run was started for. This needs no right and narrows nothing. Raises
        CallError."""
        arguments = {"item_type": directive.kind, "item_id": directive.id, "parameters": dict(inputs)}
        try:
            asked, _ = read_call("rye_load", arguments, self._world.secrets)
            asked = replace(asked, name="prompt", item=directive.label, call=ReturnCall())
            with self._lock:
                try:
                    self._require_open(1)
                except CallError as error:
                    self.recording.deny(asked, error, with_call=True)
                    raise
                allowed = Allowed(decide(self.chain, ""), directive)
                self.recording.allow(asked, allowed, with_call=True)
            return self._make(asked, allowed, lambda made: self._world.items.render(directive, inputs))
        except RyeError as error:
            raise from_rye_error(error) from error

    def close(self, decision: str | None = None) -> None:
        """End the run: refuse all further calls and seal the log."""
        self.recording.close(decision, self.meter.used_now().duration, self.meter.model_use())

    def _permit(
        self, name: str, arguments: object, version: str | None, ask: Ask, beyond: bool = False
    ) -> tuple[Asked, Allowed]:
        """Decide a call and log the decision. Raises CallError, and RyeError if the log cannot be written."""
        asked, refused = read_call(name, arguments, self._world.secrets)
        with self._lock:
            try:
                self._require_open(0 if isinstance(asked.call, ReturnCall) and refused is None else 1, beyond)
                if refused is not None:
                    raise refused
                allowed = self._deciding.decide(self.chain, asked, version)
            except CallError as error:
                self.recording.deny(asked, error, with_call=True)
                raise
            except MustAsk as waits:
                asked, must_ask = replace(asked, number=self.recording.call(asked)), waits.allowed
            else:
                self.recording.allow(asked, allowed, with_call=True)
                return asked, allowed
        return asked, self._ask_person(asked, must_ask, version, ask)

    def _require_open(self, calls: int, beyond: bool = False) -> None:
        """Count calls, under the policies as they are now. Raises CallError if the run is over or may not go on, or has exceeded
        a limit, unless ``beyond`` allows it."""
        if self.recording.closed:
            raise CallError("cancelled", "This run has ended.", "Start another run.")
        try:
            self.renew()
        finally:  # calls that are refused count as well
            self.meter.count_calls(calls, beyond=beyond)

    def _ask_person(self, asked: Asked, allowed: Allowed, version: str | None, ask: Ask) -> Allowed:
        """Get a person's approval and decide the call again. Raises CallError ``approval-required`` or ``denied``."""
        question = question_about(self.run, asked, allowed, self._world.clock.now())
        reply: Reply | None = Reply(True, "rye approve")
        if not self._approvals.take(question.key, self._world.clock.now()):
            reply = ask(replace(question, params=asked.given, whole=True))  # the person sees all parameters
        if reply is None:
            with self._lock:
                error = waiting(question, asked, allowed, self._approvals)
                self.recording.deny(asked, error)
                raise error
        with self._lock:
            try:
                self._require_open(0)  # the call was counted when it was received
                if not reply.yes:
                    raise denied(allowed.decision, f"{question.item} was declined.", None, asked.item)
                now = self._same(asked, allowed, version)
            except CallError as error:
                self.recording.deny(asked, error)
                raise
            self.recording.approve(asked, now, reply.by)
            self.recording.allow(asked, now)
            return now

    def _decide_again(self, asked: Asked, allowed: Allowed) -> None:
        """Decide a call again that waited for another one's tool. Raises CallError."""
        with self._lock:
            self._require_open(0)  # it was counted when it was received
            self._same(asked, allowed, None)

    def _same(self, asked: Asked, allowed: Allowed, version: str | None) -> Allowed:
        """Decide a call again as something that nobody need be asked about. Raises CallError, ``modified`` if it came to mean
        something else."""
        now = self._deciding.decide(self.chain, asked, version, agreed=True)
        if (now.sha256, now.decision.required) != (allowed.sha256, allowed.decision.required):
            message = f"{allowed.label or asked.item} was changed while the call waited."
            raise CallError("modified", message, "Make the call again.", resource=asked.item)
        return now

    def _make(self, asked: Asked, allowed: Allowed, effect: Callable[[Made], _T]) -> _T:
        """Perform the effect and log how it ended."""
        made = Made()
        started, exit_status, code = self._world.clock.monotonic(), None, "done"
        try:
            result = effect(made)
            found = result.get("exit") if isinstance(result, dict) else None
            exit_status = found if isinstance(found, int) else None
            return result
        except CallError as error:
            code = error.code
            found = error.details.get("exit")
            exit_status = found if isinstance(found, int) else None
            raise
        except RyeError as error:
            refused = from_rye_error(error, allowed.label)
            code = refused.code
            raise refused from error
        except BaseException:
            code = "failed"
            raise
        finally:
            seconds = self._world.clock.monotonic() - started
            self.recording.made(asked, allowed, code, exit_status, seconds, made.stderr)
