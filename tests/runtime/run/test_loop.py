"""The loop of a run: exact limits, returns, denials, hooks, fallbacks and how runs end (design: agents 3.3)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace

from rye.items.consented import HookAction
from rye.items.directive.expressions import parse
from rye.items.directive.model import Directive, Hook, Output
from rye.items.directive.reader import read
from rye.items.reading import ReadOptions, Source
from rye.permissions.policy import Policy
from rye.runtime.calls import CallError
from rye.runtime.chain import Chain, Level
from rye.runtime.effects import ToolResult, UsableItem
from rye.runtime.limits import Limits
from rye.runtime.rules import Rules
from rye.runtime.run.endpoint import Answered, Endpoint, Unreachable
from rye.runtime.run.hooks import Hooks, Loops
from rye.runtime.run.loop import REMINDER, Loop, Progress
from rye.runtime.run.models import Model
from rye.runtime.run.result import RunResult
from tests.runtime.run.scripted import Script, Turn, calls, fails, returns, says
from tests.runtime.simulated_world import Simulation, item, level
from tests.scenes.directive_text import directive
from tests.scenes.parsed import parsed

HAIKU = Model(
    tier="haiku",
    dialect="anthropic",
    url="https://a.example.com",
    model="claude",
    key_env=None,
    input_price=Decimal(1_000_000),
    output_price=Decimal(1_000_000),
)
"""A price of one dollar per token."""
LOCAL = Model(tier="local", dialect="openai", url="http://127.0.0.1:1", model="small", key_env=None)
RIGHTS = ("rye.execute.tool.acme.fs.*", "rye.search.tool.*", "rye.execute.directive.acme.work.*")
WRITE = ("rye_execute", {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"a": 1}})
SHELL = ("rye_execute", {"item_type": "tool", "item_id": "acme/shell/run", "parameters": {}})
SEARCH = ("rye_search", {"item_type": "tool", "query": "fs"})


def hook(when: str, item_id: str = "acme/fs/notify", kind: str = "tool", **inputs: str) -> Hook:
    return Hook(
        when=when,
        expression=parse(when),
        item_type=kind,
        item_id=item_id,
        inputs=tuple(inputs.items()),
        line=1,
        column=1,
        when_line=1,
        when_column=1,
    )


class Run:
    """A simulated run."""

    def __init__(
        self,
        folder: Path,
        *turns: Turn,
        limits: Limits | None = None,
        hooks: tuple[Hook, ...] = (),
        approved: bool = True,
        models: tuple[Model, ...] = (HAIKU,),
        rights: tuple[str, ...] = RIGHTS,
        **more: Any,
    ):
        agreed = tuple(HookAction(one.when, one.item_type, one.item_id, one.inputs) for one in hooks if approved)
        root = Level(
            id="acme/work/ship",
            kind="directive",
            version="1.0.0",
            sha256="a" * 64,
            rights=rights,
            hooks=agreed,
            limits=limits or Limits(),
        )
        items = [item("tool", name) for name in ("acme/fs/write", "acme/fs/notify", "acme/shell/run")]
        items.append(item("directive", "acme/work/sub", caller=level("acme/work/sub", *rights)))
        self.world = Simulation(folder, root, items=items, outputs=(Output("result", "What came of it"),), **more)
        self.script = Script(*turns)
        self.cancel = Event()
        self.watched: list[Progress] = []
        self.slept: list[float] = []
        loops, session = Loops(), self.world.session
        self.loop = Loop(
            session,
            "# The prompt",
            models,
            Endpoint(self._post, {}, self._sleep, self.world.clock.now),
            Hooks(session, _directive(hooks), root, loops),
            loops,
            cancel=self.cancel,
            watch=self.watched.append,
            log=".ai/runs/x/events.jsonl",
        )
        self.seconds = 0.0

    def _post(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        self.world.clock.seconds += self.seconds
        return self.script(url, headers, body, seconds)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.world.clock.seconds += seconds

    def end(self) -> RunResult:
        return self.loop.run()

    def tools(self) -> list[str]:
        return [name for name, _, _ in self.world.tools.ran]


def _directive(hooks: tuple[Hook, ...]) -> Directive:
    read_one = parsed(read(Source(directive("work/ship"), "ship.md"), ReadOptions()))
    return replace(read_one, hooks=hooks)


# -- returns -----------------------------------------------------------------------------------------------------------


def test_a_run_calls_and_returns(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SEARCH, WRITE, text="Working."), returns(result="done"))
    result = run.end()
    assert result.as_json() == {
        "run": result.run,
        "status": "ok",
        "outputs": {"result": "done"},
        "cost": {"turns": 2, "tokens": 20, "spend": 20.0, "seconds": 0.0},
        "calls": {"allowed": 3, "denied": 0},
        "log": ".ai/runs/x/events.jsonl",
    }
    assert run.tools() == ["acme/fs/write"]
    first = run.script.asked[0]
    assert first["messages"] == [{"role": "user", "content": "# The prompt"}]
    assert [tool["name"] for tool in first["tools"]] == [
        "rye_search",
        "rye_load",
        "rye_execute",
        "rye_sign",
        "rye_return",
    ]
    searched, wrote = run.script.results
    assert searched["total"] == 2
    assert wrote["output"] == {"done": True}
    assert run.world.events[-1] == "end"


def test_the_error_that_a_model_returns(tmp_path: Path) -> None:
    result = Run(tmp_path, calls(("rye_return", {"status": "error", "error_detail": "no disk"}))).end()
    assert (result.status, result.outputs) == ("error", None)
    assert result.as_json()["error"] == {"code": "returned-error", "message": "no disk"}


def test_wrong_outputs_are_refused_and_may_be_given_again(tmp_path: Path) -> None:
    run = Run(tmp_path, returns(wrong=1), returns(result="done"))
    assert run.end().status == "ok"
    assert run.script.results[0]["error"]["code"] == "deviation"


def test_nothing_after_the_return_is_called(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(("rye_return", {"outputs": {"result": "x"}}), WRITE))
    assert run.end().status == "ok"
    assert run.tools() == []


def test_two_turns_in_a_row_without_a_call_end_it(tmp_path: Path) -> None:
    run = Run(tmp_path, says("Hm."), says("Hmm."))
    result = run.end()
    assert (result.status, len(run.script.asked)) == ("error", 2)
    assert result.problem is not None
    assert result.problem.code == "deviation"
    assert run.script.notes[0].startswith(REMINDER)


def test_a_call_between_them_starts_the_count_again(tmp_path: Path) -> None:
    run = Run(tmp_path, says("Hm."), calls(SEARCH), says("Hm."), returns(result="x"))
    assert run.end().status == "ok"


# -- rights ------------------------------------------------------------------------------------------------------------


def test_a_denied_call_is_told_and_nothing_runs(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SHELL), returns(result="without it"))
    result = run.end()
    assert (result.status, result.allowed, result.denied) == ("ok", 1, 1)
    assert run.script.results[0]["error"]["code"] == "denied"
    assert run.tools() == []


def test_a_run_that_cannot_go_on_without_a_right_says_so(tmp_path: Path) -> None:
    result = Run(tmp_path, calls(SHELL), says("I cannot."), says("No.")).end()
    assert result.status == "denied"


# -- limits: reaching one is allowed, going beyond it is not -----------------------------------------------------------


def test_turns(tmp_path: Path) -> None:
    exactly = Run(tmp_path, calls(SEARCH), returns(result="x"), limits=Limits(turns=2))
    assert exactly.end().status == "ok"


def test_one_turn_too_many_is_not_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SEARCH), limits=Limits(turns=2))
    result = run.end()
    assert (result.status, result.used.turns, len(run.script.asked)) == ("limit", 2, 2)
    assert result.as_json()["error"] == {
        "code": "limit-exceeded",
        "message": "The run reached its limit of 2 turns.",
        "limit": "turns",
        "current": 3,
        "maximum": 2,
    }


@pytest.mark.parametrize(
    ("limits", "crossed"),
    [
        (Limits(turns=1), {"limit": "turns", "current": 2, "maximum": 1}),
        (Limits(tokens=9), {"limit": "tokens", "current": 10, "maximum": 9}),
        (Limits(spend=Decimal(9)), {"limit": "spend", "current": "10", "maximum": "9"}),
        (Limits(duration=4), {"limit": "duration", "current": 5, "maximum": 4}),
        (Limits(calls=1), {"limit": "calls", "current": 2, "maximum": 1}),
    ],
    ids=["turns", "tokens", "spend", "duration", "calls"],
)
def test_the_log_names_the_limit_before_the_end(tmp_path: Path, limits: Limits, crossed: dict[str, object]) -> None:
    """agents 3.3: whoever reads the log learns which limit ended the run, and by how much it was crossed."""
    run = Run(tmp_path, calls(SEARCH, SEARCH), calls(SEARCH), limits=limits)
    run.seconds = 5.0
    result = run.end()
    assert result.status == "limit"
    *_, named, end = run.world.lines
    assert (named["event"], named["tool"], named["decision"]) == ("limit", None, "limit-exceeded")
    assert named["params_redacted"] == crossed
    assert (end["event"], end["decision"]) == ("end", "limit")
    used = result.used
    params: Any = end["params_redacted"]
    assert (params["tokens"], params["spend"]) == (used.tokens, str(used.spend))
    assert used.tokens > 0


@pytest.mark.parametrize(("second", "status"), [((8, 2), "ok"), ((8, 3), "limit")])
def test_tokens(tmp_path: Path, second: tuple[int, int], status: str) -> None:
    run = Run(tmp_path, calls(SEARCH), returns(second, result="x"), limits=Limits(tokens=20))
    result = run.end()
    assert (result.status, result.used.tokens) == (status, 10 + sum(second))
    assert [asked["max_tokens"] for asked in run.script.asked] == [20, 10]


def test_no_turn_is_asked_for_when_no_token_is_left(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SEARCH), limits=Limits(tokens=20))
    assert (run.end().status, len(run.script.asked)) == ("limit", 2)


@pytest.mark.parametrize(("limit", "status"), [("20", "ok"), ("19.99", "limit")])
def test_spend(tmp_path: Path, limit: str, status: str) -> None:
    run = Run(tmp_path, calls(SEARCH), returns(result="x"), limits=Limits(spend=Decimal(limit)))
    assert run.end().status == status
    assert run.script.asked[1]["max_tokens"] == int(Decimal(limit)) - 10


@pytest.mark.parametrize(("seconds", "status"), [(5.0, "ok"), (5.1, "limit")])
def test_duration(tmp_path: Path, seconds: float, status: str) -> None:
    run = Run(tmp_path, calls(SEARCH), returns(result="x"), limits=Limits(duration=10))
    run.seconds = seconds
    assert run.end().status == status
    assert run.script.seconds[1] == pytest.approx(10 - seconds)


@pytest.mark.parametrize(("most", "status"), [(2, "ok"), (1, "limit")])
def test_calls(tmp_path: Path, most: int, status: str) -> None:
    run = Run(tmp_path, calls(WRITE, SEARCH), returns(result="x"), limits=Limits(calls=most))
    assert run.end().status == status
    assert run.tools() == ["acme/fs/write"]


def test_waiting_for_a_busy_endpoint_counts(tmp_path: Path) -> None:
    run = Run(tmp_path, fails(429, "30"), limits=Limits(duration=20))
    result = run.end()
    assert (result.status, run.slept) == ("limit", [])


def test_a_bill_that_does_not_come_ends_a_run_with_a_limit(tmp_path: Path) -> None:
    result = Run(tmp_path, calls(SEARCH, usage=None), limits=Limits(tokens=10)).end()
    assert result.problem is not None
    assert result.problem.code == "no-usage"


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_model_that_fails_is_left_for_its_fallback(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SEARCH), fails(404), calls(WRITE), returns(result="x"), models=(HAIKU, LOCAL))
    result = run.end()
    assert result.status == "ok"
    assert [url.rpartition("/")[2] for url in run.script.urls] == ["messages", "messages", "completions", "completions"]
    assert not result.priced
    assert [one.text for one in run.watched if one.what == "model"] == ["haiku: the endpoint answered 404: no"]
    assert result.used.turns == 3


def test_without_a_model_that_answers_it_ends(tmp_path: Path) -> None:
    result = Run(tmp_path, fails(401), models=(HAIKU, LOCAL)).end()
    assert result.status == "error"
    assert result.problem is not None
    assert result.problem.code == "no-model"


def test_a_fallback_without_prices_is_not_used_where_dollars_are_limited(tmp_path: Path) -> None:
    run = Run(tmp_path, fails(404), limits=Limits(spend=Decimal(5)), models=(HAIKU, LOCAL))
    result = run.end()
    assert result.problem is not None
    assert result.problem.code == "unpriced-model"
    assert len(run.script.asked) == 1


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_a_denied_call_fires_its_hook(tmp_path: Path) -> None:
    wanted = hook('error.type == "permission_denied"', resource="${error.resource}")
    run = Run(tmp_path, calls(SHELL), returns(result="x"), hooks=(wanted,))
    assert run.end().status == "ok"
    assert run.world.tools.ran == [("acme/fs/notify", {"resource": "tool:acme/shell/run"}, None)]
    assert run.world.events.count("hook") == 1
    assert "acme/fs/notify ran because of error" in run.script.notes[0]


def test_a_hook_that_nobody_approved_does_not_fire(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SHELL), returns(result="x"), hooks=(hook("true"),), approved=False)
    assert run.end().status == "ok"
    assert (run.tools(), "hook" in run.world.events) == ([], False)


def test_a_hook_beyond_the_rights_does_not_run(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(SHELL), returns(result="x"), hooks=(hook("true", "acme/shell/run"),))
    assert run.end().status == "ok"
    assert run.tools() == []
    assert [line["decision"] for line in run.world.lines if line["event"] == "hook"] == ["denied", "denied"]


def test_a_hook_of_another_chain_level_is_not_more_than_a_call(tmp_path: Path) -> None:
    """Its own directive permits it, but the policy does not."""
    rules = Rules(Policy(forbidden=("rye.execute.tool.acme.fs.notify",)))
    run = Run(tmp_path, calls(SHELL), returns(result="x"), hooks=(hook("true"),), rules=rules)
    assert run.end().status == "ok"
    assert run.tools() == []
    assert "failed: denied" in run.script.notes[0]


def test_at_most_five_fire_in_a_run(tmp_path: Path) -> None:
    run = Run(tmp_path, *[calls(SEARCH)] * 8, returns(result="x"), hooks=(hook("true"),))
    assert run.end().status == "ok"
    assert len(run.tools()) == 5


def test_no_hook_fires_for_what_a_hook_does(tmp_path: Path) -> None:
    failing = hook('error.type == "tool_failed"')
    run = Run(tmp_path, calls(SHELL), returns(result="x"), hooks=(hook('error.type == "permission_denied"'), failing))
    run.world.tools.do = lambda one, given: ToolResult(
        exit=1, output=None, truncated=False, seconds=0.1, error=CallError("tool-failed", "broken")
    )
    assert run.end().status == "ok"
    assert run.tools() == ["acme/fs/notify"]


@pytest.mark.parametrize(("limit", "fired"), [("22", 1), ("23", 0)])
def test_the_cost_that_a_hook_sees(tmp_path: Path, limit: str, fired: int) -> None:
    """20 of 22 dollars are more than nine tenths, 20 of 23 are not."""
    wanted = hook("cost.current > cost.limit * 0.9")
    run = Run(
        tmp_path,
        calls(SEARCH),
        calls(WRITE),
        returns((1, 0), result="x"),
        limits=Limits(spend=Decimal(limit)),
        hooks=(wanted,),
    )
    run.end()
    assert run.tools().count("acme/fs/notify") == fired


def test_a_limit_fires_its_hook_before_the_end(tmp_path: Path) -> None:
    wanted = hook('error.type == "limit_exceeded"', limit="${error.resource}")
    run = Run(tmp_path, calls(SEARCH), hooks=(wanted,), limits=Limits(turns=1))
    assert run.end().status == "limit"
    assert run.world.tools.ran[-1][:2] == ("acme/fs/notify", {"limit": "turns"})


@pytest.mark.parametrize(("times", "fired"), [(2, 0), (3, 1), (4, 2)])
def test_the_same_call_with_the_same_result_is_a_loop_from_the_third_time(
    tmp_path: Path, times: int, fired: int
) -> None:
    run = Run(tmp_path, *[calls(SEARCH)] * times, returns(result="x"), hooks=(hook("loop_count >= 3"),))
    run.end()
    assert run.tools().count("acme/fs/notify") == fired


@pytest.mark.parametrize(("seen", "fired"), [([{"rows": 1}] * 3, 1), ([{"rows": 1}, {"rows": 2}, {"rows": 1}], 0)])
def test_how_long_a_tool_takes_does_not_hide_a_loop(tmp_path: Path, seen: list[object], fired: int) -> None:
    """A real tool never takes the same time twice; what it prints is what is compared."""
    run = Run(tmp_path, *[calls(WRITE)] * 3, returns(result="x"), hooks=(hook("loop_count >= 3"),))
    left = iter(enumerate(seen, 1))

    def ran(one: UsableItem, given: object) -> ToolResult:
        number, output = next(left, (9, None))
        return ToolResult(exit=0, output=output, truncated=False, seconds=number / 10)

    run.world.tools.do = ran
    run.end()
    assert run.tools().count("acme/fs/notify") == fired


def test_a_deviation_fires_its_hook(tmp_path: Path) -> None:
    wanted = hook('deviation.type == "schema_mismatch"', said="${deviation.message}")
    run = Run(tmp_path, returns(wrong=1), returns(result="x"), hooks=(wanted,))
    assert run.end().status == "ok"
    assert "missing: result" in str(run.world.tools.ran[0][1])


# -- the end -----------------------------------------------------------------------------------------------------------


def test_an_interrupt_ends_it_and_seals_the_log(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(WRITE))

    def interrupt(*given: object) -> ToolResult:
        raise KeyboardInterrupt

    run.world.tools.do = interrupt
    assert run.end().status == "cancelled"
    assert run.world.events[-1] == "end"


def test_cancelling_stops_before_the_next_call(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(WRITE, WRITE))

    def cancel(*given: object) -> ToolResult:
        run.cancel.set()
        return ToolResult(exit=0, output={}, truncated=False, seconds=0.1)

    run.world.tools.do = cancel
    assert (run.end().status, len(run.tools())) == ("cancelled", 1)


def test_what_cannot_be_written_down_does_not_happen(tmp_path: Path) -> None:
    run = Run(tmp_path, calls(WRITE))
    (tmp_path / "project" / ".ai").write_text("a file where the folder should be")
    result = run.end()
    assert (result.status, run.tools()) == ("error", [])


# -- children ----------------------------------------------------------------------------------------------------------


def test_a_directive_is_a_child_with_the_chain_and_the_rest_of_the_limits(tmp_path: Path) -> None:
    seen: list[tuple[list[str], Limits]] = []

    def child(one: UsableItem, inputs: Any, chain: Chain, limits: Limits, cancel: Event) -> dict[str, object]:
        seen.append(([each.id for each in chain.levels], limits))
        return {"found": inputs["what"]}

    sub = ("rye_execute", {"item_type": "directive", "item_id": "acme/work/sub", "parameters": {"what": 1}})
    run = Run(tmp_path, calls(sub), returns(result="x"), limits=Limits(tokens=100, turns=5, depth=1), children=child)
    assert run.end().status == "ok"
    assert run.script.results == [{"outputs": {"found": 1}}]
    (levels, rest) = seen[0]
    assert levels == ["acme/work/ship", "acme/work/sub"]
    assert (rest.tokens, rest.turns, rest.depth) == (90, 4, 1)


def test_an_endpoint_that_breaks_off_may_have_cost_something(tmp_path: Path) -> None:
    run = Run(tmp_path, says("x"), models=(HAIKU,))

    def broken(url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        raise Unreachable("it broke off", sent=True)

    run.loop._endpoint = Endpoint(broken, {}, run._sleep, run.world.clock.now)
    result = run.end()
    assert result.problem is not None
    assert (result.problem.code, run.slept) == ("no-model", [])
