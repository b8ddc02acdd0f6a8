"""One run: every call is decided, written down, and only then made. Both faces, MCP and the loop of `rye run`, call
:meth:`Session.act`.

The order of the questions, each answered before the next is asked:

1. Are the arguments a call?                     no: ``invalid-parameters``
2. Is the run still within its limits?           no: ``limit-exceeded``, now and for every later call
3. Does every level of the chain allow it, and the policy?  no: ``denied``
4. Is the item there, and is it what was installed or signed?  no: ``unknown-item``, ``modified``, ``untrusted``, ``revoked`` …
5. Must a person agree?                          not yet: ``approval-required``
6. Is it written down, on disk?                  no: nothing happens
7. The effect.

An id that the chain may neither search nor load is ``denied``, whether there is such an item or not. Deciding is one call at a
time; tools run beside each other. What a person was asked about is decided again once they answered: the chain may have grown
meanwhile.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Literal, TypeVar

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from rye.errors import RyeError
from rye.limits import RUNTIME
from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import Answer, ApprovalStore, Question, answer
from rye.runtime.calls import (
    Call,
    CallError,
    ExecuteCall,
    LoadCall,
    ReturnCall,
    SearchCall,
    SignCall,
    from_rye_error,
    parse_call,
)
from rye.runtime.chain import Chain, Decision, Level, allows, capability_of, decide
from rye.runtime.effects import Ask, Children, Clock, Items, OwnFile, Signer, Tools, UsableItem
from rye.runtime.event_log import Event, EventLog, timestamp
from rye.runtime.limits import Bound, Crossing, Limits, Used, crossed, left, remaining
from rye.runtime.outputs import Declared, deviations
from rye.runtime.redaction import redacted, redacted_text

_T = TypeVar("_T")
Binding = Literal["exclusive", "advisory"]
_COUNTED_AT_CALLS = ("duration", "calls", "tool_seconds")
_HIDING: frozenset[str] = frozenset({"unknown-item", "ambiguous", "not-installed"})
"""What says whether there is such an item, and so nothing to a chain that may not know of it."""


class Rules(Struct, frozen=True):
    """What the operator's policies say of a run."""

    policy: Policy = field(default_factory=Policy)
    approval: tuple[Mapping[str, Answer], ...] = ()
    limits: Limits = field(default_factory=Limits)
    """``[policy.limits]``."""


class World(Struct, frozen=True):
    """The effects that a session may have."""

    items: Items
    tools: Tools
    signer: Signer
    clock: Clock
    ask: Ask = lambda question: None
    """Asks a person, where a face has one."""
    children: Children | None = None
    """Runs directives as children; None: they start inline."""
    secrets: tuple[str, ...] = ()
    """Values that the log must not hold."""


class Returned(Struct, frozen=True):
    """What a run gave back."""

    outputs: Mapping[str, object] | None
    """None: it failed."""
    error: str | None = None


class _Asked(Struct, frozen=True):
    """One call on its way."""

    name: str
    call: Call
    number: int
    """Of its line in the log."""
    item: str
    params: object
    """Without secrets, and not more than a log holds."""
    params_sha256: str
    given: object = None
    """As they came."""


class _Allowed(Struct, frozen=True):
    """What was decided, and what is used."""

    decision: Decision
    item: UsableItem | OwnFile | None = None

    @property
    def label(self) -> str | None:
        if isinstance(self.item, UsableItem):
            return self.item.label
        return f"{self.item.kind}:{self.item.id}" if self.item is not None else None

    @property
    def sha256(self) -> str | None:
        return self.item.sha256 if self.item is not None else None


class _Made:
    """What an effect leaves for the log."""

    stderr = ""


class _MustAsk(Exception):
    """A person has to agree first."""

    def __init__(self, allowed: _Allowed):
        self.allowed = allowed


class Session:
    """One run. Safe for calls from several threads."""

    def __init__(
        self,
        run: str,
        chain: Chain,
        world: World,
        log: EventLog,
        rules: Rules | None = None,
        *,
        binding: Binding = "advisory",
        not_enforced: Sequence[str] = (),
        limits: Limits | None = None,
        declared: Declared = None,
    ):
        """``declared``: the outputs of the directive that the run was started for; ``limits``: more limits, of a parent or of
        a command line; ``not_enforced``: those that nobody counts here."""
        self.run = run
        self.world = world
        self.log = log
        self.rules = rules or Rules()
        self.binding = binding
        self.not_enforced = tuple(not_enforced)
        self.declared = declared
        self.approvals = ApprovalStore(log.folder)
        self.used = Used()
        self.allowed_calls = 0
        self.denied_calls = 0
        self.returned: Returned | None = None
        self.crossing: Crossing | None = None
        self.ended = False
        self._chain = chain
        above = max(chain.depth - 1, 0)  # a parent's rest of depth counts from the parent
        self._bounds = [Bound(self.rules.limits), *([Bound(limits, Used(depth=above))] if limits is not None else [])]
        self._bounds += [Bound(level.limits, Used(depth=depth)) for depth, level in enumerate(chain.levels)]
        self._started = world.clock.monotonic()
        self._lock = threading.RLock()
        self._one_tool = threading.Lock()

    @property
    def chain(self) -> Chain:
        """The callers, the root first. It only grows."""
        return self._chain

    def start(self) -> dict[str, object]:
        """What the start of a run says."""
        return {
            "run": self.run,
            "as": self._chain.root.label,
            "binding": self.binding,
            "not_enforced": list(self.not_enforced),
            "limits": self.remaining().as_json(),
        }

    def remaining(self) -> Limits:
        """What is left of every limit."""
        return remaining(self._bounds, self._used_now())

    def may(self, primary: str, kind: str, item_id: str) -> bool:
        """Whether chain and policy allow it. Nothing is written down: for lists of what may be asked for."""
        return allows(self._chain, primary, kind, item_id) and not self._forbidden(
            capability_of(primary, kind, item_id)
        )

    # -- the one way to an effect --------------------------------------------------------------------------------------

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
        """One call of one of the five tools; its result. Raises CallError.

        ``version``: the item must have it; ``ask``: who can be asked about this call; ``cancel``: set when nobody waits any more;
        ``beyond``: it is made because a limit was reached (a hook), so that limit does not refuse it.
        """
        try:
            asked, allowed = self._permit(name, arguments, version, ask or self.world.ask, beyond)
            return self._make(
                asked, allowed, lambda made: self._effect(asked, allowed, cancel or threading.Event(), made)
            )
        except RyeError as error:  # the log, and what an effect raises
            raise from_rye_error(error) from error
        except OSError as error:
            message = f"The system refused it: {error.strerror or type(error).__name__}."
            raise CallError("not-runnable", message, "Make room, or look at the files' owners.") from error

    def load_item(self, kind: str, item_id: str, version: str | None = None, *, ask: Ask | None = None) -> UsableItem:
        """``rye_load`` for a face that needs more of the item than its text. Raises CallError."""
        try:
            arguments = {"item_type": kind, "item_id": item_id}
            asked, allowed = self._permit("rye_load", arguments, version, ask or self.world.ask)
            self._make(asked, allowed, lambda made: None)
        except RyeError as error:
            raise from_rye_error(error) from error
        assert isinstance(allowed.item, UsableItem)
        return allowed.item

    def own_prompt(self, directive: UsableItem, inputs: Mapping[str, object]) -> str:
        """The prompt of the directive that the run was started for; no right is needed and nothing is narrowed. Raises
        CallError."""
        arguments = {"item_type": directive.kind, "item_id": directive.id, "parameters": dict(inputs)}
        try:
            asked, _ = self._asked("rye_load", arguments)
            asked = replace(asked, name="prompt", item=directive.label, call=ReturnCall())
            with self._lock:
                before = self._event("call", asked)
                try:
                    self._require_open(1)
                except CallError as error:
                    self._deny(asked, error, before)
                    raise
                allowed = _Allowed(decide(self._chain, ""), directive)
                self._allow(asked, allowed, before)
            return self._make(asked, allowed, lambda made: self.world.items.render(directive, inputs))
        except RyeError as error:
            raise from_rye_error(error) from error

    def _permit(
        self, name: str, arguments: object, version: str | None, ask: Ask, beyond: bool = False
    ) -> tuple[_Asked, _Allowed]:
        """Decide and write down. Raises CallError, and RyeError for the log."""
        asked, refused = self._asked(name, arguments)
        with self._lock:
            call_event = self._event("call", asked)
            must_ask = False
            try:
                self._require_open(0 if isinstance(asked.call, ReturnCall) and refused is None else 1, beyond)
                if refused is not None:
                    raise refused
                allowed = self._decide(asked, version)
            except CallError as error:
                self._deny(asked, error, call_event)
                raise
            except _MustAsk as waiting:
                number = self._append(call_event)
                asked, allowed, must_ask = replace(asked, number=number), waiting.allowed, True
            else:
                self._allow(asked, allowed, call_event)
        if must_ask:
            allowed = self._ask_person(asked, allowed, version, ask)
        return asked, allowed

    def _asked(self, name: str, arguments: object) -> tuple[_Asked, CallError | None]:
        """The call as the log has it, and why it is none."""
        try:
            call, refused = parse_call(name, arguments), None
        except CallError as error:
            call, refused = ReturnCall(), error
        try:
            encoded = json.dumps(arguments, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            encoded = b"null"
        item = ""
        if isinstance(call, SearchCall):
            item = call.item_type
        elif not isinstance(call, ReturnCall):
            item = f"{call.item_type}:{call.item_id}"
        params = redacted(arguments if refused is None else {"unreadable": len(encoded)}, self.world.secrets)
        given = arguments if refused is None else None
        return _Asked(name[:80], call, 0, item, params, sha256(encoded).hexdigest(), given), refused

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _require_open(self, calls: int, beyond: bool = False) -> None:
        """Count so many calls; raise CallError where the run is over, ``beyond`` a limit or not."""
        if self.ended:
            raise CallError("cancelled", "This run came to its end.", "Start another run.")
        if self.crossing is None:
            self.used = replace(self._used_now(), calls=self.used.calls + calls)
            self.crossing = crossed(self._bounds, self.used, _COUNTED_AT_CALLS)
        if self.crossing is not None and not beyond:
            raise self._exceeded(self.crossing)

    def _decide(self, asked: _Asked, version: str | None, *, agreed: bool = False) -> _Allowed:
        """Raises CallError, and _MustAsk where a person has to agree and did not."""
        call = asked.call
        if isinstance(call, ReturnCall):
            return _Allowed(Decision(True, "", decide(self._chain, "").levels))
        if isinstance(call, SearchCall):
            decision = decide(self._chain, capability_of("search", call.item_type))
            self._require(decision, call.item_type)
            if self._answer("search", decision.required) == "deny":
                raise self._denied_by_approval(decision, call.item_type)
            return _Allowed(decision)
        primary = {LoadCall: "load", ExecuteCall: "execute", SignCall: "sign"}[type(call)]
        decision = self._decide_item(primary, call)
        try:
            item = self._find(primary, call, version)
        except RyeError as error:
            raise self._about(from_rye_error(error, asked.item), decision, call) from error
        except CallError as error:
            raise self._about(error, decision, call) from error
        allowed = _Allowed(decision, item)
        say = self._answer(primary, decision.required)
        if say == "deny":
            raise self._denied_by_approval(decision, asked.item)
        if say == "ask" and not agreed and not (isinstance(call, ExecuteCall) and call.dry_run):
            raise _MustAsk(allowed)
        return allowed

    def _decide_item(self, primary: str, call: LoadCall | ExecuteCall | SignCall) -> Decision:
        """The decision on the item that an id means; what is denied says nothing of what there is."""
        try:
            whole = self.world.items.resolve(call.item_type, call.item_id)
        except RyeError:
            whole = call.item_id
        decision = decide(self._chain, capability_of(primary, call.item_type, whole))
        if not decision.allowed:  # by the id as it was given, so that no whole id is given away
            decision = replace(decide(self._chain, capability_of(primary, call.item_type, call.item_id)), allowed=False)
        self._require(decision, f"{call.item_type}:{call.item_id}")
        return decision

    def _require(self, decision: Decision, resource: str) -> None:
        if not decision.allowed:
            where = decision.denied_by or "this run"
            message = f"{where} may not do this: no right of it allows {decision.required}."
            hint = "The directive's permissions must name it, and its user must have agreed to them."
            if where.startswith("operator:"):
                hint = "Start the server with --as ID; it has then the rights of that directive."
            raise self._denied(decision, message, hint, resource)
        if self._forbidden(decision.required):
            raise self._denied(decision, f"The policy forbids {decision.required}.", None, resource)

    def _denied(self, decision: Decision, message: str, hint: str | None, resource: str) -> CallError:
        return CallError("denied", message, hint, required=decision.required, chain=decision.levels, resource=resource)

    def _denied_by_approval(self, decision: Decision, resource: str) -> CallError:
        hint = "`[policy.approval]` in rye.toml, or in the user's or the organization's policy, says so."
        return self._denied(decision, f"The policy denies {decision.required}.", hint, resource)

    def _forbidden(self, action: str) -> bool:
        """Whether the policy forbids one action. A search without an id is judged by what it finds."""
        policy = self.rules.policy
        if any(fnmatchcase(action, pattern) for pattern in policy.forbidden):
            return True
        if action.count(".") == 2:
            return False
        if any(not any(fnmatchcase(action, pattern) for pattern in allowed) for allowed in policy.allowed):
            return True
        return policy.maximum_tier < Tier.UNRESTRICTED and self._tier(action) > policy.maximum_tier

    def _tier(self, action: str) -> Tier:
        primary = action.split(".", 2)[1]
        return self.rules.policy.tier(action) if primary in ("execute", "sign") else Tier.SAFE

    def _answer(self, primary: str, action: str) -> Answer:
        found = answer(action, self.rules.approval, self._tier(action))
        return "ask" if primary == "sign" and found == "allow" else found

    def _find(self, primary: str, call: LoadCall | ExecuteCall | SignCall, version: str | None) -> UsableItem | OwnFile:
        if isinstance(call, SignCall):
            return self.world.signer.find(call.item_type, call.item_id)
        if isinstance(call, ExecuteCall) and call.item_type not in ("tool", "directive", "knowledge"):
            message = f"A {call.item_type} is not executed."
            raise CallError("not-runnable", message, "Read it with rye_load.")
        runs = isinstance(call, ExecuteCall) and call.item_type != "knowledge"
        item = self.world.items.read(call.item_type, call.item_id, version, runs=runs)
        if isinstance(call, ExecuteCall) and item.kind == "tool":
            self.world.tools.check(item)
        return item

    def _about(self, error: CallError, decision: Decision, call: LoadCall | ExecuteCall | SignCall) -> CallError:
        """An error about an item, for a chain that may know of it; else a denial."""
        kind, item_id = call.item_type, call.item_id
        if error.code in _HIDING and not any(allows(self._chain, each, kind, item_id) for each in ("search", "load")):
            message = f"This run may not do this with {kind}:{item_id}."
            return self._denied(decision, message, "It may neither search nor load it.", f"{kind}:{item_id}")
        resource = f"{kind}:{item_id}"
        if error.code == "unknown-item":
            return CallError(
                "unknown-item", f"There is no {resource} here.", "rye_search finds what is here.", resource=resource
            )
        if error.code == "ambiguous":
            message = f"{resource} is the name of more than one item."
            return CallError("ambiguous", message, "Give the whole id: namespace/category/name.", resource=resource)
        return CallError(
            error.code, error.message, error.hint, required=decision.required, resource=resource, details=error.details
        )

    # -- asking a person -----------------------------------------------------------------------------------------------

    def _ask_person(self, asked: _Asked, allowed: _Allowed, version: str | None, ask: Ask) -> _Allowed:
        """What is allowed once a person agreed. Raises CallError ``approval-required`` or ``denied``."""
        assert allowed.sha256 is not None
        question = Question(
            self.run,
            asked.number,
            asked.name,
            allowed.label or asked.item,
            allowed.sha256,
            asked.params_sha256,
            asked.params,
            allowed.decision.required,
            timestamp(self.world.clock.now()),
            asked.params == asked.given,
        )
        by, said = "rye approve", True
        if not self.approvals.take(question.key, self.world.clock.now()):
            by = "a person, asked by the host"
            said_here = ask(replace(question, params=asked.given, whole=True))  # whoever agrees sees all of it
            if said_here is None:
                with self._lock:
                    raise self._waits(asked, allowed, question)
            said = said_here
        with self._lock:
            try:
                self._require_open(0)  # it was counted when it came
                if not said:
                    message = f"A person said no to {question.item}."
                    raise self._denied(allowed.decision, message, None, asked.item)
                now = self._decide(asked, version, agreed=True)
                if now.sha256 != allowed.sha256:
                    message = f"{question.item} was changed while a person was asked about it."
                    raise CallError("modified", message, "Call again.", resource=asked.item)
            except CallError as error:
                self._deny(asked, error)
                raise
            self._append(replace(self._event("approve", asked, now), by=by, decision="allowed"))
            self._allow(asked, now)
            return now

    def _waits(self, asked: _Asked, allowed: _Allowed, question: Question) -> CallError:
        if not question.whole:
            error = CallError(
                "approval-required",
                f"A person must agree to {question.item}, and nobody can be shown these parameters as they are.",
                "They are too long for the log, or hold what looks like a secret. Make a shorter call without it.",
                required=allowed.decision.required,
                chain=allowed.decision.levels,
                resource=asked.item,
                details={"run": self.run},
            )
            self._deny(asked, error)
            return error
        number = self.approvals.ask(question)
        command = f"rye approve {self.run} {number}"
        error = CallError(
            "approval-required",
            f"A person must agree to {question.item} with exactly these parameters.",
            f"`{command}` agrees for ten minutes, once; then make the same call again.",
            required=allowed.decision.required,
            chain=allowed.decision.levels,
            resource=asked.item,
            details={"run": self.run, "call": number, "command": command},
        )
        self._deny(asked, error)
        return error

    # -- the log -------------------------------------------------------------------------------------------------------

    def _event(
        self,
        event: Literal["call", "allow", "deny", "approve", "limit", "return"],
        asked: _Asked,
        allowed: _Allowed | None = None,
    ) -> Event:
        return Event(
            event,
            tool=asked.name,
            item=(allowed.label if allowed is not None else None) or asked.item or None,
            sha256=allowed.sha256 if allowed is not None else None,
            params_sha256=asked.params_sha256,
            params_redacted=asked.params if event == "call" else None,
        )

    def _append(self, *events: Event, flush: bool = True) -> int:
        return self.log.append(self.world.clock.now(), *events, flush=flush)

    def _allow(self, asked: _Asked, allowed: _Allowed, before: Event | None = None) -> None:
        decided = replace(self._event("allow", asked, allowed), decision="allowed", by=allowed.decision.by)
        self._append(*([before] if before is not None else []), decided)
        self.allowed_calls += 1

    def _deny(self, asked: _Asked, error: CallError, before: Event | None = None) -> None:
        by = next((level.id for level in error.chain if level.by is None), None)
        name: Literal["deny", "limit"] = "limit" if error.code == "limit-exceeded" else "deny"
        denied = replace(self._event(name, asked), decision=error.code, by=by)
        self.denied_calls += 1
        if self.ended and self.log.ended:
            return
        self._append(*([before] if before is not None else []), denied)

    def note(self, event: Event) -> None:
        """Write down what a face did: a hook. Raises RyeError ``log-unwritable``."""
        with self._lock:
            self._append(event)

    # -- the effects ---------------------------------------------------------------------------------------------------

    def _make(self, asked: _Asked, allowed: _Allowed, effect: Callable[[_Made], _T]) -> _T:
        """The effect, and a line about how it went."""
        made = _Made()
        started, exit_status, code = self.world.clock.monotonic(), None, "done"
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
            with self._lock:
                seconds = round(self.world.clock.monotonic() - started, 3)
                event = replace(self._event("return", asked, allowed), decision=code, exit=exit_status, seconds=seconds)
                if made.stderr:
                    event = replace(event, params_redacted={"stderr": self._stderr(made.stderr)})
                if not self.log.ended:
                    self._append(event, flush=False)

    def _stderr(self, text: str) -> str:
        """The end of what a tool wrote on standard error, without secrets."""
        shown = redacted_text(text, self.world.secrets)
        most = RUNTIME.logged_stderr_characters
        return shown if len(shown) <= most else f"({len(shown)} characters) …{shown[-most:]}"

    def _effect(self, asked: _Asked, allowed: _Allowed, cancel: threading.Event, made: _Made) -> dict[str, object]:
        call, item = asked.call, allowed.item
        if isinstance(call, SearchCall):
            return self._search(call)
        if isinstance(call, ReturnCall):
            return self._return(call)
        if isinstance(item, OwnFile):
            return self.world.signer.sign(item)
        assert item is not None
        if isinstance(call, LoadCall) or item.kind == "knowledge":
            return loaded(item)
        assert isinstance(call, ExecuteCall)
        if item.kind == "tool":
            return self._run_tool(item, call, allowed, cancel, made)
        return self._start_directive(item, call, allowed, cancel)

    def _search(self, call: SearchCall) -> dict[str, object]:
        rows = [
            row for row in self.world.items.search(call.item_type, call.query) if self.may("search", row.kind, row.id)
        ]
        shown = [
            {"id": row.id, "kind": row.kind, "version": row.version, "description": row.description, "score": row.score}
            for row in rows[: call.limit]
        ]
        return {"results": shown, "total": len(rows)}

    def _return(self, call: ReturnCall) -> dict[str, object]:
        if call.status == "error":
            self.returned = Returned(None, call.error_detail if isinstance(call.error_detail, str) else "")
            return {"accepted": True}
        outputs = call.outputs if call.outputs is not UNSET else {}
        wrong = deviations(self.declared, outputs)
        if wrong is not None:
            raise wrong
        self.returned = Returned(outputs)
        return {"accepted": True}

    def _run_tool(
        self, item: UsableItem, call: ExecuteCall, allowed: _Allowed, cancel: threading.Event, made: _Made
    ) -> dict[str, object]:
        if call.dry_run:
            return self._dry(item, allowed)
        parameters = json.dumps(call.parameters, separators=(",", ":")).encode()
        limited = any(bound.limits.tool_seconds is not None for bound in self._bounds)
        if limited:  # added up exactly: one at a time
            self._one_tool.acquire()
        try:
            seconds = self._seconds_left()
            result = self.world.tools.run(item, parameters, seconds, cancel)
            made.stderr = result.stderr
            with self._lock:
                self.used = replace(self._used_now(), tool_seconds=self.used.tool_seconds + result.seconds)
                if result.ended_by_limit:
                    over = crossed(self._bounds, self._used_now(), ("tool_seconds", "duration"))
                    self.crossing = self.crossing or over or Crossing("tool_seconds", result.seconds, seconds or 0)
                    raise self._exceeded(self.crossing)
        finally:
            if limited:
                self._one_tool.release()
        if result.error is not None:
            raise result.error
        return {
            "run": self.run,
            "exit": result.exit,
            "output": result.output,
            "truncated": result.truncated,
            "seconds": round(result.seconds, 3),
        }

    def _start_directive(
        self, item: UsableItem, call: ExecuteCall, allowed: _Allowed, cancel: threading.Event
    ) -> dict[str, object]:
        assert item.level is not None
        if call.dry_run:
            self.world.items.render(item, call.parameters)  # checks the inputs; the text stays here
            return self._dry(item, allowed)
        prompt = self.world.items.render(item, call.parameters) if self.world.children is None else ""
        with self._lock:
            longer = self._grown(item.level)
            if self.world.children is None:
                self._chain = longer
                self._bounds.append(Bound(item.level.limits, self.used))
        if self.world.children is not None:
            rest = remaining([*self._bounds, Bound(item.level.limits, self._used_now())], self._used_now())
            return {"outputs": self.world.children(item, call.parameters, longer, rest, cancel)}
        return {"run": self.run, "mode": "inline", "prompt": prompt}

    def _grown(self, level: Level) -> Chain:
        """The chain with one more directive, counted. Raises CallError ``limit-exceeded``."""
        longer = self._chain.push(level)
        used = replace(self._used_now(), spawns=self.used.spawns + 1, depth=longer.depth)
        crossing = crossed(self._bounds, used, ("depth", "spawns"))
        if crossing is not None:
            self.crossing = crossing
            raise self._exceeded(crossing)
        self.used = used
        return longer

    def _dry(self, item: UsableItem, allowed: _Allowed) -> dict[str, object]:
        say = self._answer("execute", allowed.decision.required)
        return {
            "run": self.run,
            "dry_run": True,
            "item": item.label,
            "sha256": item.sha256,
            "required": allowed.decision.required,
            "chain": [level.as_json() for level in allowed.decision.levels],
            "approval": say,
        }

    # -- limits --------------------------------------------------------------------------------------------------------

    def add_used(self, *, turns: int = 0, tokens: int = 0, spend: Decimal = Decimal(0)) -> Crossing | None:
        """Count what a model used; the limit that was gone beyond. For a face that owns the model."""
        with self._lock:
            self.used = self._used_now().plus(Used(turns=turns, tokens=tokens, spend=spend))
            if self.crossing is None:
                self.crossing = crossed(self._bounds, self.used, ("turns", "tokens", "spend", "duration"))
            return self.crossing

    def check_limits(self) -> Crossing | None:
        """The limit that was gone beyond, the clock's included; None: none was."""
        return self.add_used()

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """All limits that count, each with what was used when it began to."""
        return tuple(self._bounds)

    def used_now(self) -> Used:
        """What was used up to now."""
        with self._lock:
            return self._used_now()

    def seconds_left(self) -> float | None:
        """Until the run's time ends; None: it has no limit."""
        found = left(self._bounds, self.used_now(), "duration")
        return float(found) if found is not None else None

    def charge(self, used: Used) -> None:
        """Count what a child run used. It is charged the most that it may use before it starts, and ``used`` then holds what it
        left unused as numbers below zero: a child that nobody hears of again has used it all."""
        with self._lock:
            self.used = self._used_now().plus(used)

    def _used_now(self) -> Used:
        return replace(self.used, duration=self.world.clock.monotonic() - self._started, depth=self._chain.depth)

    def _seconds_left(self) -> float | None:
        used = self._used_now()
        rest = [
            float(found)
            for name in ("tool_seconds", "duration")
            if (found := left(self._bounds, used, name)) is not None
        ]
        return min(rest, default=None)

    def _exceeded(self, crossing: Crossing) -> CallError:
        shown = crossing.as_json()
        message = f"This run went beyond its limit of {shown['maximum']} {crossing.limit}: {shown['current']}."
        return CallError(
            "limit-exceeded", message, "Nothing more is done in this run. Return what there is.", details=shown
        )

    # -- the end -------------------------------------------------------------------------------------------------------

    def close(self, decision: str | None = None) -> None:
        """The end of the run: nothing is done any more, and the log is sealed."""
        with self._lock:
            if self.ended:
                return
            self.ended = True
            used = self._used_now()
            self.log.close(self.world.clock.now(), Event("end", decision=decision, seconds=round(used.duration, 3)))


def loaded(item: UsableItem) -> dict[str, object]:
    """The result of ``rye_load``."""
    return {
        "id": item.id,
        "version": item.version,
        "sha256": item.sha256,
        "signer": item.signer,
        "text": item.text,
        "overridden": item.overridden,
    }
