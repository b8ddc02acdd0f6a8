"""Decides whether a call may be made: the chain, the policy, the item, and whether a person must agree. Has no effects.

An id that the chain may neither search nor load is ``denied``, whether or not such an item exists. The exception is an id that
a right of the chain names without a pattern and that every level allows: whoever wrote the right knows the id, so nothing is
learned from ``not-installed``.
"""

from __future__ import annotations

from msgspec.structs import replace

from rye.errors import RyeError
from rye.runtime.asked import Allowed, Asked
from rye.runtime.calls import (
    CallError,
    ExecuteCall,
    LoadCall,
    ReturnCall,
    SearchCall,
    SignCall,
    from_rye_error,
)
from rye.runtime.chain import Chain, Decision, allows, capability_of, decide
from rye.runtime.effects import OwnFile, UsableItem, World
from rye.runtime.rules import Rules

_ItemCall = LoadCall | ExecuteCall | SignCall
_PRIMARIES: dict[type[_ItemCall], str] = {LoadCall: "load", ExecuteCall: "execute", SignCall: "sign"}
_HIDING: frozenset[str] = frozenset({"unknown-item", "ambiguous", "not-installed"})
"""Codes that reveal whether an item exists. A chain that may not find the item gets ``denied`` instead."""
_ABSENT: frozenset[str] = frozenset({"unknown-item", "not-installed"})


class MustAsk(Exception):
    """A person must approve the call first."""

    def __init__(self, allowed: Allowed):
        self.allowed = allowed


class Deciding:
    """Decides about the calls of one run."""

    def __init__(self, world: World, rules: Rules):
        self.rules = rules
        """The policies as they were read last (:meth:`rye.runtime.session.Session.renew`)."""
        self._world = world

    def may(self, chain: Chain, primary: str, kind: str, item_id: str) -> bool:
        """Whether both chain and policy allow the action, perhaps after a question."""
        if not allows(chain, primary, kind, item_id):
            return False
        action = capability_of(primary, kind, item_id)
        return not self.rules.forbids(action) and self.rules.answer(primary, action) != "deny"

    def asks(self, primary: str, kind: str, item_id: str) -> bool:
        """Whether a person must be asked about an action that chain and policy allow."""
        return self.rules.answer(primary, capability_of(primary, kind, item_id)) == "ask"

    def may_find(self, chain: Chain, kind: str, item_id: str, *, agreed: bool) -> bool:
        """Whether a search shows an item. One that a person must be asked about is shown only if the person ``agreed`` to the
        search."""
        if not self.may(chain, "search", kind, item_id):
            return False
        return agreed or not self.asks("search", kind, item_id)

    def decide(self, chain: Chain, asked: Asked, version: str | None, *, agreed: bool = False) -> Allowed:
        """Return what the call may do. ``version``: the version the item must have; ``agreed``: a person approved the call.

        Raises CallError, and MustAsk if a person must approve the call and has not.
        """
        call = asked.call
        if isinstance(call, ReturnCall):
            return Allowed(Decision(True, "", decide(chain, "").levels))
        if isinstance(call, SearchCall):
            decision = decide(chain, capability_of("search", call.item_type))
            self._require(decision, call.item_type)
            say = self.rules.answer("search", decision.required)
            if say == "deny":
                raise _denied_by_approval(decision, call.item_type)
            if say == "ask" and not agreed:
                raise MustAsk(Allowed(decision))
            return Allowed(decision, agreed=agreed)
        primary = _PRIMARIES[type(call)]
        decision = self._decide_item(chain, primary, call)
        say = self.rules.answer(primary, decision.required)
        if say == "deny":  # before the item is looked for: a denial says the same whether or not there is one
            raise _denied_by_approval(decision, asked.item)
        try:
            item = self._find(call, version)
        except RyeError as error:
            raise _about(from_rye_error(error, asked.item), chain, decision, call) from error
        except CallError as error:
            raise _about(error, chain, decision, call) from error
        if capability_of(primary, item.kind, item.id) != decision.required:  # the id came to mean another item
            message = f"{asked.item} changed while the call was decided."
            raise CallError("modified", message, "Make the call again.", resource=asked.item)
        allowed = Allowed(decision, item, agreed)
        if say == "ask" and not agreed and not (isinstance(call, ExecuteCall) and call.dry_run):
            raise MustAsk(allowed)
        return allowed

    def _decide_item(self, chain: Chain, primary: str, call: _ItemCall) -> Decision:
        """Decide about the item that an id resolves to. A refusal does not reveal which items exist."""
        try:
            whole = self._world.items.resolve(call.item_type, call.item_id)
        except RyeError:
            whole = call.item_id
        decision = decide(chain, capability_of(primary, call.item_type, whole))
        if not decision.allowed:  # show the id as given, so that the full id stays unknown
            decision = replace(decide(chain, capability_of(primary, call.item_type, call.item_id)), allowed=False)
        self._require(decision, f"{call.item_type}:{call.item_id}")
        return decision

    def _require(self, decision: Decision, resource: str) -> None:
        if not decision.allowed:
            where = decision.denied_by or "this run"
            message = f"{where} may not do this: none of its rights allows {decision.required}."
            hint = "The directive's permissions must include it, and its user must have agreed to them."
            if where.startswith("operator:"):
                hint = "Start the server with --as ID to give it that directive's rights."
            raise denied(decision, message, hint, resource)
        if self.rules.forbids(decision.required):
            raise denied(decision, f"The policy forbids {decision.required}.", None, resource)

    def _find(self, call: _ItemCall, version: str | None) -> UsableItem | OwnFile:
        if isinstance(call, SignCall):
            return self._world.signer.find(call.item_type, call.item_id)
        if isinstance(call, ExecuteCall) and call.item_type not in ("tool", "directive", "knowledge"):
            message = f"{call.item_type}:{call.item_id} cannot be executed; only tools, directives and knowledge can."
            raise CallError("not-runnable", message, "Read its text with rye_load.")
        runs = isinstance(call, ExecuteCall) and call.item_type != "knowledge"
        item = self._world.items.read(call.item_type, call.item_id, version, runs=runs)
        if isinstance(call, ExecuteCall) and item.kind == "tool":
            self._world.tools.check(item)
        return item


def denied(decision: Decision, message: str, hint: str | None, resource: str) -> CallError:
    """Return a refusal that shows the decision of each level of the chain."""
    return CallError("denied", message, hint, required=decision.required, chain=decision.levels, resource=resource)


def _denied_by_approval(decision: Decision, resource: str) -> CallError:
    hint = "See `[policy.approval]` in rye.toml and in the policies of the user and the organization."
    return denied(decision, f"The policy denies {decision.required}.", hint, resource)


def _about(error: CallError, chain: Chain, decision: Decision, call: _ItemCall) -> CallError:
    """Return an error about an item if the chain may know of the item; otherwise a denial."""
    kind, item_id = call.item_type, call.item_id
    resource = f"{kind}:{item_id}"
    if error.code in _ABSENT and _is_named(chain, decision):
        return _not_installed(error, decision, resource)
    if error.code in _HIDING and not any(allows(chain, each, kind, item_id) for each in ("search", "load")):
        message = f"This run may not do this with {resource}."
        return denied(decision, message, "It may neither search nor load it.", resource)
    if error.code == "unknown-item":
        message = f"{resource} was not found."
        return CallError("unknown-item", message, "Find items with rye_search.", resource=resource)
    if error.code == "ambiguous":
        message = f"{resource} matches more than one item."
        return CallError("ambiguous", message, "Pass the full id: namespace/category/name.", resource=resource)
    return CallError(
        error.code, error.message, error.hint, required=decision.required, resource=resource, details=error.details
    )


def _is_named(chain: Chain, decision: Decision) -> bool:
    """Whether a level's right is this very id, without a pattern. Every level allows it, so no other id can be asked about."""
    return any(decision.required in level.rights for level in chain.levels)


def _not_installed(error: CallError, decision: Decision, resource: str) -> CallError:
    """Return the error about an item that a right names and that is not here, in this version."""
    if error.details.get("cause") == "other-version":
        return CallError(error.code, error.message, error.hint, required=decision.required, resource=resource)
    message = f"{resource} is not installed."
    hint = f"A person can add it with `rye add {resource}`; if rye.lock has it already, `rye install` brings it."
    return CallError("not-installed", message, hint, required=decision.required, resource=resource)
