"""The effects of calls that were allowed and logged, and how they change the run: a longer chain, the returned outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from threading import Event, Lock, RLock

from msgspec import UNSET, Struct

from rye.runtime.asked import Allowed, Asked
from rye.runtime.calls import ExecuteCall, LoadCall, ReturnCall, SearchCall
from rye.runtime.chain import Chain
from rye.runtime.deciding import Deciding
from rye.runtime.effects import OwnFile, UsableItem, World
from rye.runtime.meter import Meter
from rye.runtime.outputs import Declared, deviations
from rye.runtime.results import (
    DryResult,
    EndedResult,
    FoundItem,
    LevelResult,
    LoadResult,
    RanResult,
    Result,
    ReturnResult,
    SearchResult,
    StartedResult,
    as_answer,
)


class Returned(Struct, frozen=True):
    """What a run returned."""

    outputs: Mapping[str, object] | None
    """None: the run failed."""
    error: str | None = None


class Made:
    """What an effect leaves for the log, even if it fails."""

    stderr = ""


class Executing:
    """Performs the effects of one run. Tools run concurrently, unless their seconds are limited."""

    def __init__(
        self,
        run: str,
        chain: Chain,
        world: World,
        deciding: Deciding,
        meter: Meter,
        declared: Declared,
        lock: RLock,
        again: Callable[[Asked, Allowed], object],
    ):
        """``again``: decides a call again that had to wait. Raises CallError."""
        self.chain = chain
        """The callers, root first. It only grows."""
        self.returned: Returned | None = None
        self._run = run
        self._world = world
        self._deciding = deciding
        self._meter = meter
        self._declared = declared
        self._lock = lock
        self._again = again
        self._one_tool = Lock()

    def execute(self, asked: Asked, allowed: Allowed, cancel: Event, made: Made) -> dict[str, object]:
        """Perform one call and return its result as JSON (:mod:`rye.runtime.results`). Raises CallError, RyeError, OSError."""
        return as_answer(self._result(asked, allowed, cancel, made))

    def _result(self, asked: Asked, allowed: Allowed, cancel: Event, made: Made) -> Result:
        call, item = asked.call, allowed.item
        if isinstance(call, SearchCall):
            return self._search(call, allowed)
        if isinstance(call, ReturnCall):
            return self._return(call)
        if isinstance(item, OwnFile):
            return self._world.signer.sign(item)
        assert item is not None
        if isinstance(call, LoadCall):
            return loaded(item)
        assert isinstance(call, ExecuteCall)
        if item.kind == "knowledge":
            return self._dry(item, allowed) if call.dry_run else loaded(item)
        if item.kind == "tool":
            return self._run_tool(item, asked, call, allowed, cancel, made)
        return self._start_directive(item, call, allowed, cancel)

    def _search(self, call: SearchCall, allowed: Allowed) -> SearchResult:
        kind, asks = call.item_type, self._deciding.asks

        def reads(item_id: str) -> bool:
            return self._deciding.may(self.chain, "load", kind, item_id) and not asks("load", kind, item_id)

        rows = [
            row
            for row in self._world.items.search(kind, call.query, reads)
            if self._deciding.may_find(self.chain, row.kind, row.id, agreed=allowed.agreed)
        ]
        shown = [FoundItem(row.id, row.kind, row.version, row.description, row.score) for row in rows[: call.limit]]
        return SearchResult(shown, len(rows))

    def _return(self, call: ReturnCall) -> ReturnResult:
        if call.status == "error":
            self.returned = Returned(None, call.error_detail if isinstance(call.error_detail, str) else "")
            return ReturnResult(accepted=True)
        outputs = call.outputs if call.outputs is not UNSET else {}
        wrong = deviations(self._declared, outputs)
        if wrong is not None:
            raise wrong
        self.returned = Returned(outputs)
        return ReturnResult(accepted=True)

    def _run_tool(
        self, item: UsableItem, asked: Asked, call: ExecuteCall, allowed: Allowed, cancel: Event, made: Made
    ) -> RanResult | DryResult:
        if call.dry_run:
            return self._dry(item, allowed)
        parameters = json.dumps(call.parameters, separators=(",", ":")).encode()
        # one tool at a time where seconds are limited, so that they add up exactly
        one_at_a_time = self._meter.limits_tools
        with self._one_tool if one_at_a_time else nullcontext():
            if one_at_a_time:
                self._again(asked, allowed)
            seconds = self._meter.tool_seconds_left()
            result = self._world.tools.run(item, parameters, seconds, cancel)
            made.stderr = result.stderr
            self._meter.count_tool(result.seconds, seconds, ended_by_limit=result.ended_by_limit)
        if result.error is not None:
            raise result.error
        return RanResult(self._run, result.exit, result.output, result.truncated, round(result.seconds, 3))

    def _start_directive(
        self, item: UsableItem, call: ExecuteCall, allowed: Allowed, cancel: Event
    ) -> StartedResult | EndedResult | DryResult:
        level, children = item.level, self._world.children
        assert level is not None
        if call.dry_run:
            self._world.items.render(item, call.parameters)  # only to check the inputs
            return self._dry(item, allowed)
        if children is not None:
            with self._lock:
                longer = self.chain.push(level)
                self._meter.count_directive(longer.depth)
                rest = self._meter.remaining(level.limits)
            return EndedResult(children(item, call.parameters, longer, rest, cancel))
        prompt = self._world.items.render(item, call.parameters)
        with self._lock:
            longer = self.chain.push(level)
            self._meter.count_directive(longer.depth, joins=level.limits)
            self.chain = longer
        return StartedResult(self._run, "inline", prompt)

    def _dry(self, item: UsableItem, allowed: Allowed) -> DryResult:
        decision = allowed.decision
        return DryResult(
            run=self._run,
            dry_run=True,
            item=item.label,
            sha256=item.sha256,
            required=decision.required,
            chain=[LevelResult(level.id, level.by) for level in decision.levels],
            approval=self._deciding.rules.answer("execute", decision.required),
        )


def loaded(item: UsableItem) -> LoadResult:
    """Return the result of ``rye_load``."""
    return LoadResult(item.id, item.version, item.sha256, item.signer, item.text, item.overridden)
