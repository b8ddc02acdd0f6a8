"""One function decides, logs and acts (design: agents 3): rights, the ratchet, hidden ids, limits, approvals, the log."""

from __future__ import annotations

import hashlib
import json
import threading
import time
import tracemalloc
from decimal import Decimal
from pathlib import Path

import pytest

from rye.errors import RyeError
from rye.items.directive.model import LegacyOutputs, Output
from rye.limits import RUNTIME
from rye.permissions.policy import Policy
from rye.permissions.risk import Tier
from rye.runtime.approvals import ApprovalStore, Question, approve, read_question
from rye.runtime.calls import CallError
from rye.runtime.chain import READ_ONLY, Chain, Level
from rye.runtime.effects import Reply, ToolResult, UsableItem
from rye.runtime.event_log import parse_head, verify
from rye.runtime.limits import Limits
from rye.runtime.redaction import known_secrets, redacted_text
from rye.runtime.rules import Rules
from tests.runtime.simulated_world import NOW, RUN, Simulation, item, level

STYLE = item("knowledge", "acme/notes/style", "Write short sentences.")
SECRET = item("knowledge", "acme/secret/plan")
WRITE = item("tool", "acme/fs/write")
SHELL = item("tool", "acme/shell/run")
LOAD_STYLE = {"item_type": "knowledge", "item_id": "acme/notes/style"}
RUN_WRITE = {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"path": "a"}}
RUN_SHELL = {"item_type": "tool", "item_id": "acme/shell/run", "parameters": {"command": "ls"}}
ROOT = level("acme/work/ship", "rye.execute.*", "rye.load.knowledge.acme.notes.*", "rye.search.knowledge.acme.notes.*")


def ship(folder: Path, *levels: object, **more: object) -> Simulation:
    given = levels or (ROOT,)
    return Simulation(folder, *given, items=(STYLE, SECRET, WRITE, SHELL), **more)  # type: ignore[arg-type]


# -- results -----------------------------------------------------------------------------------------------------------


def test_loading_gives_the_text_and_its_hash(tmp_path: Path) -> None:
    found = ship(tmp_path).act("rye_load", **LOAD_STYLE)
    assert found == {
        "id": "acme/notes/style",
        "version": "1.0.0",
        "sha256": hashlib.sha256(b"Write short sentences.").hexdigest(),
        "signer": "SHA256:x",
        "text": "Write short sentences.",
        "overridden": False,
    }


def test_executing_knowledge_is_loading_it_and_a_tool_runs(tmp_path: Path) -> None:
    run = ship(tmp_path)
    assert run.act("rye_execute", **LOAD_STYLE) == run.act("rye_load", **LOAD_STYLE)
    assert run.act("rye_execute", **RUN_WRITE) == {
        "run": RUN,
        "exit": 0,
        "output": {"done": True},
        "truncated": False,
        "seconds": 0.0,
    }
    assert run.tools.ran == [("acme/fs/write", {"path": "a"}, None)]


def test_a_search_shows_what_the_chain_may_search_and_nothing_else(tmp_path: Path) -> None:
    found = ship(tmp_path).act("rye_search", item_type="knowledge", query="acme")
    assert found["total"] == 1
    assert found["results"] == [
        {
            "id": "acme/notes/style",
            "kind": "knowledge",
            "version": "1.0.0",
            "description": "says what it is",
            "score": 1.0,
        }
    ]
    (tmp_path / "b").mkdir()
    assert ship(tmp_path / "b").code("rye_search", item_type="tool", query="a") == "denied"


def test_what_is_denied_by_its_id_is_neither_found_nor_listed(tmp_path: Path) -> None:
    denied = {"rye.search.knowledge.acme.notes.style": "deny", "rye.load.knowledge.acme.notes.*": "deny"}
    run = ship(tmp_path, rules=Rules(approval=(denied,)))  # type: ignore[arg-type]  # answers
    assert run.act("rye_search", item_type="knowledge", query="acme")["total"] == 0
    assert not run.session.may("load", "knowledge", "acme/notes/style")
    assert run.code("rye_load", **LOAD_STYLE) == "denied"


def test_a_search_that_a_person_is_to_be_asked_about_is_asked_about(tmp_path: Path) -> None:
    """``ask`` for a search was taken for ``allow``."""
    search = {"item_type": "knowledge", "query": "acme"}
    rules = Rules(approval=({"rye.search.*": "ask"},))
    run = ship(tmp_path, rules=rules)
    error = run.error("rye_search", **search)
    assert (error["code"], error["required"]) == ("approval-required", "rye.search.knowledge")
    call = error["call"]
    assert isinstance(call, int)
    approve(run.folder, read_question(run.folder, call), NOW)
    assert run.code("rye_search", item_type="knowledge", query="another") == "approval-required"
    assert run.act("rye_search", **search)["total"] == 1
    assert run.code("rye_search", **search) == "approval-required"
    (tmp_path / "no").mkdir()
    assert (
        ship(tmp_path / "no", rules=rules, ask=lambda question: Reply(False)).code("rye_search", **search) == "denied"
    )


def test_a_search_shows_no_item_that_a_person_would_have_to_be_asked_about(tmp_path: Path) -> None:
    run = ship(tmp_path, rules=Rules(approval=({"rye.search.knowledge.acme.notes.*": "ask"},)))
    assert run.act("rye_search", item_type="knowledge", query="acme") == {"results": [], "total": 0}


def test_a_dry_run_decides_and_runs_nothing(tmp_path: Path) -> None:
    run = ship(tmp_path)
    found = run.act("rye_execute", **RUN_SHELL, dry_run=True)
    assert (found["dry_run"], found["approval"], found["required"]) == (True, "ask", "rye.execute.tool.acme.shell.run")
    assert run.tools.ran == []
    assert run.code("rye_execute", item_type="skill", item_id="acme/pdf") == "not-runnable"


# -- rights ------------------------------------------------------------------------------------------------------------


def test_what_no_right_allows_is_denied_with_right_and_chain(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/ship", "rye.load.*", "rye.search.*"))
    error = run.error("rye_execute", **RUN_WRITE)
    assert error["code"] == "denied"
    assert error["required"] == "rye.execute.tool.acme.fs.write"
    assert error["chain"] == [{"id": "directive:acme/work/ship@1.0.0", "by": None}]
    assert error["resource"] == "tool:acme/fs/write"
    assert run.tools.ran == []
    assert run.events == ["call", "deny"]


def test_without_an_item_nothing_is_executed_and_everything_can_be_read(tmp_path: Path) -> None:
    run = ship(tmp_path, READ_ONLY)
    assert run.act("rye_load", **LOAD_STYLE)["text"]
    assert run.code("rye_execute", **RUN_WRITE) == "denied"
    assert run.code("rye_execute", **LOAD_STYLE) == "denied"
    assert run.code("rye_sign", item_type="directive", item_id="own/work/x") == "denied"


@pytest.mark.parametrize("problem", ["no-such-item", "ambiguous", "not-installed", "other-version"])
@pytest.mark.parametrize("item_id", ["acme/secret/plan", "acme/secret/none"])
def test_an_id_that_may_be_neither_searched_nor_loaded_is_denied_whatever_is_there(
    tmp_path: Path, problem: str, item_id: str
) -> None:
    run = ship(tmp_path)
    run.items.problem = RyeError(problem, "acme/secret/plan is at .ai/secret", "Did you mean acme/secret/other?")
    error = run.error("rye_execute", item_type="knowledge", item_id=item_id)
    assert error["code"] == "denied"
    assert "other" not in json.dumps(error)
    assert ".ai/secret" not in json.dumps(error)


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        ("modified-item", "modified"),
        ("unverified-item", "untrusted"),
        ("project-not-accepted", "untrusted"),
        ("signer-revoked", "revoked"),
        ("release-taken-down", "revoked"),
        ("advisory", "advisory"),
        ("does-not-parse", "not-runnable"),
    ],
)
def test_what_is_wrong_with_an_item_that_may_be_executed_is_said(tmp_path: Path, problem: str, code: str) -> None:
    run = ship(tmp_path)
    run.items.problem = RyeError(problem, "what is wrong")
    assert run.code("rye_execute", **RUN_WRITE) == code
    assert run.tools.ran == []


def test_denials_of_known_and_unknown_ids_read_alike(tmp_path: Path) -> None:
    run = ship(tmp_path)
    answers = [run.error("rye_load", item_type="knowledge", item_id=f"acme/secret/{name}") for name in ("plan", "none")]
    assert answers[0] | {"resource": 0, "required": 0, "message": 0} == answers[1] | {
        "resource": 0,
        "required": 0,
        "message": 0,
    }
    short = run.error("rye_load", item_type="knowledge", item_id="plan")
    assert "secret" not in json.dumps(short), "a short name must not give the whole id away"


NAMED = level("acme/work/count", "rye.execute.tool.acme.text.count", "rye.execute.tool.acme.fs.write")


@pytest.mark.parametrize("levels", [(NAMED,), (NAMED, ROOT), (ROOT, NAMED)])
def test_an_absent_item_that_a_right_names_is_not_installed(tmp_path: Path, levels: tuple[Level, ...]) -> None:
    run = ship(tmp_path, *levels)
    error = run.error("rye_execute", item_type="tool", item_id="acme/text/count", parameters={})
    assert error["code"] == "not-installed"
    assert "rye add tool:acme/text/count" in str(error["hint"])
    assert "secret" not in json.dumps(error)
    assert run.act("rye_execute", **RUN_WRITE)["exit"] == 0


@pytest.mark.parametrize("item_id", ["acme/text/other", "acme/shell/run", "acme/shell/none"])
def test_what_no_right_allows_is_denied_whether_or_not_it_is_here(tmp_path: Path, item_id: str) -> None:
    assert ship(tmp_path, NAMED).code("rye_execute", item_type="tool", item_id=item_id, parameters={}) == "denied"
    (tmp_path / "b").mkdir()
    stricter = ship(tmp_path / "b", NAMED, level("acme/work/less", "rye.execute.tool.acme.fs.write"))
    assert stricter.code("rye_execute", item_type="tool", item_id="acme/text/count", parameters={}) == "denied"


def test_a_pattern_finds_out_no_absent_item(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/all", "rye.execute.tool.acme.*"))
    assert run.code("rye_execute", item_type="tool", item_id="acme/text/count", parameters={}) == "denied"


def test_a_policy_that_denies_says_the_same_of_absent_items(tmp_path: Path) -> None:
    rules = Rules(Policy(forbidden=("rye.execute.tool.acme.*",)))
    run = ship(tmp_path, NAMED, rules=rules)
    for item_id in ("acme/text/count", "acme/fs/write"):
        assert run.code("rye_execute", item_type="tool", item_id=item_id, parameters={}) == "denied"


def test_an_unknown_id_that_may_be_loaded_says_so_and_suggests_nothing(tmp_path: Path) -> None:
    error = ship(tmp_path).error("rye_load", item_type="knowledge", item_id="acme/notes/none")
    assert error["code"] == "unknown-item"
    assert "secret" not in json.dumps(error)


def test_a_look_alike_spelling_is_decided_by_what_it_means(tmp_path: Path) -> None:
    run = Simulation(tmp_path, level("acme/work/ship", "rye.load.knowledge.plan"), items=(SECRET,))
    assert run.code("rye_load", item_type="knowledge", item_id="plan") == "denied"


def test_the_policy_binds_at_run_time_too(tmp_path: Path) -> None:
    forbidding = Rules(Policy(forbidden=("rye.execute.tool.acme.fs.*",)))
    assert ship(tmp_path, rules=forbidding).code("rye_execute", **RUN_WRITE) == "denied"
    (tmp_path / "b").mkdir()
    capped = Rules(Policy(maximum_tier=Tier.WRITE))
    assert ship(tmp_path / "b", rules=capped).code("rye_execute", **RUN_SHELL) == "denied"


# -- the ratchet -------------------------------------------------------------------------------------------------------

CHILD = item(
    "directive", "acme/work/child", "Do it.", caller=level("acme/work/child", "rye.load.knowledge.acme.notes.*")
)
START_CHILD = {"item_type": "directive", "item_id": "acme/work/child", "parameters": {"env": "test"}}


def with_child(folder: Path, *levels: object, **more: object) -> Simulation:
    return Simulation(folder, *(levels or (ROOT,)), items=(STYLE, WRITE, CHILD), **more)  # type: ignore[arg-type]


def test_a_directive_that_was_started_inline_narrows_the_run_for_good(tmp_path: Path) -> None:
    run = with_child(tmp_path)
    assert run.act("rye_execute", **RUN_WRITE)["exit"] == 0
    assert run.act("rye_execute", **START_CHILD) == {"run": RUN, "mode": "inline", "prompt": 'Do it. {"env": "test"}'}
    error = run.error("rye_execute", **RUN_WRITE)
    assert error["code"] == "denied"
    assert error["chain"] == [
        {"id": "directive:acme/work/ship@1.0.0", "by": "rye.execute.*"},
        {"id": "directive:acme/work/child@1.0.0", "by": None},
    ]
    run.act("rye_return", outputs={})
    assert run.code("rye_execute", **RUN_WRITE) == "denied"
    assert len(run.tools.ran) == 1


def test_a_dry_run_gives_no_prompt_and_narrows_nothing(tmp_path: Path) -> None:
    run = with_child(tmp_path)
    assert "prompt" not in run.act("rye_execute", **START_CHILD, dry_run=True)
    assert run.session.chain.depth == 0
    assert run.act("rye_execute", **RUN_WRITE)["exit"] == 0


def test_a_dry_run_of_knowledge_gives_no_text_that_a_person_is_asked_about(tmp_path: Path) -> None:
    run = ship(tmp_path, rules=Rules(approval=({"rye.execute.knowledge.*": "ask"},)))
    found = run.act("rye_execute", **LOAD_STYLE, dry_run=True)
    assert (found["dry_run"], found["approval"], found["sha256"]) == (True, "ask", STYLE.sha256)
    assert STYLE.text not in json.dumps(found)
    assert run.code("rye_execute", **LOAD_STYLE) == "approval-required"


def test_a_child_run_gets_the_longer_chain_and_leaves_the_parents_alone(tmp_path: Path) -> None:
    seen: list[tuple[Chain, Limits]] = []

    def children(item: UsableItem, inputs: object, chain: Chain, limits: Limits, cancel: object) -> dict[str, object]:
        seen.append((chain, limits))
        return {"result": inputs}

    run = with_child(tmp_path, rules=Rules(limits=Limits(calls=10)), children=children)
    assert run.act("rye_execute", **START_CHILD) == {"outputs": {"result": {"env": "test"}}}
    assert [one.id for one in seen[0][0].levels] == ["acme/work/ship", "acme/work/child"]
    assert seen[0][1].calls == 9
    assert run.act("rye_execute", **RUN_WRITE)["exit"] == 0


# -- limits ------------------------------------------------------------------------------------------------------------


def test_the_start_says_the_limits_and_not_what_is_left_of_them(tmp_path: Path) -> None:
    rules = Rules(limits=Limits(duration=90, calls=4))
    run = Simulation(tmp_path, level("acme/work/ship", limits=Limits(duration=60, spend=Decimal("0.50"))), rules=rules)
    run.clock.seconds = 0.4
    assert run.session.start()["limits"] == {"spend": "0.50", "duration": 60, "calls": 4}


def test_the_call_beyond_the_limit_is_refused_and_so_is_every_later_one(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/ship", "rye.*", limits=Limits(calls=2)))
    run.act("rye_load", **LOAD_STYLE)
    run.act("rye_load", **LOAD_STYLE)
    for _ in range(2):
        error = run.error("rye_load", **LOAD_STYLE)
        assert {key: error[key] for key in ("code", "limit", "current", "maximum")} == {
            "code": "limit-exceeded",
            "limit": "calls",
            "current": 3,
            "maximum": 2,
        }
    refused = run.error("rye_return", outputs={})
    assert refused["code"] == "limit-exceeded"
    assert "including rye_return" in str(refused["hint"])
    assert run.events.count("limit") == 3


def test_refused_calls_count_and_returning_does_not(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/ship", "rye.load.*", limits=Limits(calls=3)))
    assert run.code("rye_load", item_type="knowledge") == "invalid-parameters"
    assert run.code("rye_execute", **RUN_WRITE) == "denied"
    run.act("rye_load", **LOAD_STYLE)
    assert run.act("rye_return", outputs={}) == {"accepted": True}
    assert run.code("rye_load", **LOAD_STYLE) == "limit-exceeded"


def test_the_least_of_chain_and_policy_counts(tmp_path: Path) -> None:
    run = ship(tmp_path, level("a/b/c", "rye.*", limits=Limits(calls=5)), rules=Rules(limits=Limits(calls=1)))
    run.act("rye_load", **LOAD_STYLE)
    assert run.error("rye_load", **LOAD_STYLE)["maximum"] == 1


def test_seconds_of_tools_add_up_and_end_the_one_that_runs(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/ship", "rye.*", limits=Limits(tool_seconds=10)))
    run.tools.seconds = 6
    run.act("rye_execute", **RUN_WRITE)
    error = run.error("rye_execute", **RUN_WRITE)
    assert [call[2] for call in run.tools.ran] == [10.0, 4.0]
    assert (error["code"], error["limit"]) == ("limit-exceeded", "tool_seconds")
    assert run.code("rye_load", **LOAD_STYLE) == "limit-exceeded"


def test_the_clock_ends_a_run(tmp_path: Path) -> None:
    run = ship(tmp_path, level("acme/work/ship", "rye.*", limits=Limits(duration=60)))
    run.clock.seconds = 60
    run.act("rye_load", **LOAD_STYLE)
    run.clock.seconds = 60.5
    assert run.error("rye_load", **LOAD_STYLE)["limit"] == "duration"


@pytest.mark.parametrize("limits", [Limits(depth=1), Limits(spawns=1)])
def test_directives_below_and_beside_one_another_are_counted(tmp_path: Path, limits: Limits) -> None:
    free = item("directive", "acme/work/free", caller=level("acme/work/free", "rye.*"))
    run = Simulation(tmp_path, level("acme/work/ship", "rye.*", limits=limits), items=(free,))
    call = {"item_type": "directive", "item_id": "acme/work/free"}
    run.act("rye_execute", **call)
    error = run.error("rye_execute", **call)
    assert (error["code"], error["current"], error["maximum"]) == ("limit-exceeded", 2, 1)


# -- approvals ---------------------------------------------------------------------------------------------------------


def test_a_call_of_the_elevated_tier_waits_for_a_person_and_runs_once(tmp_path: Path) -> None:
    run = ship(tmp_path)
    error = run.error("rye_execute", **RUN_SHELL)
    assert error["code"] == "approval-required"
    assert error["command"] == f"rye approve {RUN} 1"
    assert run.tools.ran == []
    question = read_question(run.folder, 1)
    approve(run.folder, question, NOW)
    assert run.code("rye_execute", **{**RUN_SHELL, "parameters": {"command": "rm"}}) == "approval-required"
    assert run.act("rye_execute", **RUN_SHELL)["exit"] == 0
    assert run.code("rye_execute", **RUN_SHELL) == "approval-required"
    assert [call[1] for call in run.tools.ran] == [{"command": "ls"}]
    assert "approve" in run.events


def test_a_yes_is_void_after_ten_minutes(tmp_path: Path) -> None:
    run = ship(tmp_path)
    run.error("rye_execute", **RUN_SHELL)
    approve(run.folder, read_question(run.folder, 1), NOW)
    run.clock.seconds = 601
    assert run.code("rye_execute", **RUN_SHELL) == "approval-required"


def test_a_yes_to_other_bytes_is_none(tmp_path: Path) -> None:
    run = ship(tmp_path)
    run.error("rye_execute", **RUN_SHELL)
    approve(run.folder, read_question(run.folder, 1), NOW)
    run.items.items["tool", "acme/shell/run"] = item("tool", "acme/shell/run", "other code")
    assert run.code("rye_execute", **RUN_SHELL) == "approval-required"
    assert run.tools.ran == []


def test_a_yes_in_another_runs_folder_is_none(tmp_path: Path) -> None:
    run = ship(tmp_path)
    run.error("rye_execute", **RUN_SHELL)
    with pytest.raises(RyeError, match="belongs to run"):
        approve(
            run.folder,
            Question(
                run="01JOTHER",
                call=1,
                tool="",
                item="",
                sha256="",
                params_sha256="",
                params={},
                required="",
                asked="",
                whole=True,
            ),
            NOW,
        )


def test_the_same_question_is_asked_once_and_one_run_asks_so_much(tmp_path: Path) -> None:
    run = ship(tmp_path)
    assert run.error("rye_execute", **RUN_SHELL)["call"] == run.error("rye_execute", **RUN_SHELL)["call"] == 1
    for number in range(105):
        found = run.code("rye_execute", **{**RUN_SHELL, "parameters": {"n": number}})
    assert found == "denied"
    assert len(list(run.folder.glob("ask-*"))) == 100


def test_where_the_host_can_ask_the_answer_counts_for_this_call(tmp_path: Path) -> None:
    asked: list[Question] = []
    answers = [True, False]

    def ask(question: Question) -> Reply:
        asked.append(question)
        return Reply(answers[len(asked) - 1])

    run = ship(tmp_path, ask=ask)
    assert run.act("rye_execute", **RUN_SHELL)["exit"] == 0
    assert run.code("rye_execute", **RUN_SHELL) == "denied"
    assert asked[0].params == RUN_SHELL
    assert len(run.tools.ran) == 1


def test_what_changed_while_a_person_thought_about_it_is_not_run(tmp_path: Path) -> None:
    run = ship(tmp_path)

    def swap(question: Question) -> Reply:
        run.items.items["tool", "acme/shell/run"] = item("tool", "acme/shell/run", "other code")
        return Reply(True)

    with pytest.raises(CallError) as caught:
        run.session.act("rye_execute", RUN_SHELL, ask=swap)
    assert caught.value.code == "modified"
    assert run.tools.ran == []


def test_a_chain_that_grew_while_a_person_thought_about_it_counts(tmp_path: Path) -> None:
    run = Simulation(tmp_path, ROOT, items=(SHELL, CHILD))

    def grow(question: Question) -> Reply:
        run.act("rye_execute", **START_CHILD)
        return Reply(True)

    with pytest.raises(CallError) as caught:
        run.session.act("rye_execute", RUN_SHELL, ask=grow)
    assert caught.value.code == "denied"


@pytest.mark.parametrize(
    ("tables", "code"),
    [
        (({"rye.execute.tool.acme.fs.*": "ask"},), "approval-required"),
        (({"rye.execute.tool.acme.fs.*": "deny"},), "denied"),
        (({"rye.execute.*": "deny", "rye.execute.tool.acme.fs.write": "allow"},), None),
        (({"rye.execute.tool.acme.fs.write": "allow"}, {"rye.execute.*": "ask"}), "approval-required"),
        (({"rye.execute.tool.acme.*": "allow", "rye.execute.tool.*.write": "ask"},), "approval-required"),
    ],
)
def test_the_most_specific_row_and_the_strictest_table_count(tmp_path: Path, tables: object, code: str | None) -> None:
    run = ship(tmp_path, rules=Rules(approval=tables))  # type: ignore[arg-type]
    if code is None:
        assert run.act("rye_execute", **RUN_WRITE)["exit"] == 0
    else:
        assert run.code("rye_execute", **RUN_WRITE) == code


def test_signing_always_asks_even_where_the_policy_allows_it(tmp_path: Path) -> None:
    call = {"item_type": "directive", "item_id": "own/work/x"}
    run = ship(tmp_path, level("a/b/c", "rye.*"), rules=Rules(approval=({"rye.*": "allow"},)))
    assert run.code("rye_sign", **call) == "approval-required"
    assert run.signer.signed == []
    approve(run.folder, read_question(run.folder, 1), NOW)
    assert run.act("rye_sign", **call) == {"path": ".ai/own/work/x.md", "sha256": "c" * 64, "key": "SHA256:mine"}
    assert run.code("rye_sign", item_type="directive", item_id="acme/work/x") == "not-runnable"


def test_an_approval_to_read_lets_nothing_be_signed_or_executed(tmp_path: Path) -> None:
    text = UsableItem(
        kind="directive",
        id="own/work/x",
        version=None,
        sha256="b" * 64,
        signer=None,
        text="text",
        overridden=False,
        suffix=".md",
    )
    rules = Rules(approval=({"rye.load.*": "ask", "rye.execute.*": "ask"},))
    run = Simulation(tmp_path, level("a/b/c", "rye.*"), items=(text,), rules=rules)
    call = {"item_type": "directive", "item_id": "own/work/x"}
    assert run.code("rye_load", **call) == "approval-required"
    question = read_question(run.folder, 1)
    assert question.tool == "rye_load"
    approve(run.folder, question, NOW)
    assert run.code("rye_sign", **call) == "approval-required"  # the same bytes and the same parameters
    assert run.code("rye_execute", **call) == "approval-required"
    assert run.signer.signed == []
    assert run.act("rye_load", **call)["text"] == "text"  # what the person agreed to


def test_an_id_that_comes_to_mean_another_item_is_refused(tmp_path: Path) -> None:
    run = ship(tmp_path, level("a/b/c", "rye.load.knowledge.acme.notes.*"))
    run.items.resolve = lambda kind, item_id: "acme/notes/style"  # type: ignore[method-assign]
    run.items.read = lambda kind, item_id, version=None, *, runs: SECRET  # type: ignore[method-assign]
    assert run.code("rye_load", item_type="knowledge", item_id="notes/style") == "modified"


def test_an_id_that_means_another_item_once_a_person_has_answered_is_refused(tmp_path: Path) -> None:
    twin = item("tool", "acme/fs/erase", WRITE.text)
    rules = Rules(approval=({"rye.execute.*": "ask"},))
    run = Simulation(tmp_path, ROOT, items=(WRITE, twin), rules=rules)
    call = {"item_type": "tool", "item_id": "fs/it"}
    meant = [WRITE]
    run.items.resolve = lambda kind, item_id: meant[0].id  # type: ignore[method-assign]
    run.items.read = lambda kind, item_id, version=None, *, runs: meant[0]  # type: ignore[method-assign]

    def swap(question: Question) -> Reply:
        meant[0] = twin
        return Reply(True)

    with pytest.raises(CallError) as caught:
        run.session.act("rye_execute", call, ask=swap)
    assert caught.value.code == "modified"
    assert run.tools.ran == []


# -- returning ---------------------------------------------------------------------------------------------------------

OUTPUTS = (Output("id", "Its id", "string"), Output("count", "How many", "integer"), Output("note", "Anything"))


def test_outputs_are_checked_against_the_declaration(tmp_path: Path) -> None:
    run = ship(tmp_path, outputs=OUTPUTS)
    error = run.error("rye_return", outputs={"id": 5, "extra": 1, "count": True})
    assert error["code"] == "deviation"
    assert (error["missing"], error["unknown"]) == (["note"], ["extra"])
    assert [each["name"] for each in error["ill_typed"]] == ["id", "count"]  # type: ignore[attr-defined]
    assert run.session.returned is None
    assert run.act("rye_return", outputs={"id": "x", "count": 2, "note": [1]}) == {"accepted": True}
    assert run.session.returned is not None


def test_an_error_may_be_returned_instead(tmp_path: Path) -> None:
    run = ship(tmp_path, outputs=OUTPUTS)
    assert run.act("rye_return", status="error", error_detail="no disk") == {"accepted": True}
    assert run.session.returned is not None
    assert (run.session.returned.outputs, run.session.returned.error) == (None, "no disk")


def test_messages_of_older_directives_ask_for_nothing_in_particular(tmp_path: Path) -> None:
    assert ship(tmp_path, declared=LegacyOutputs("done")).act("rye_return", outputs={"any": 1}) == {"accepted": True}


# -- the log -----------------------------------------------------------------------------------------------------------


def test_each_call_is_written_down_before_and_after(tmp_path: Path) -> None:
    run = ship(tmp_path)
    run.act("rye_execute", **RUN_WRITE)
    call, allow, back = run.lines
    assert (call["event"], allow["event"], back["event"]) == ("call", "allow", "return")
    assert call["params_redacted"] == {"item_type": "tool", "item_id": "acme/fs/write", "parameters": {"path": "a"}}
    assert allow["by"] == "rye.execute.*"
    assert allow["item"] == "tool:acme/fs/write@1.0.0"
    assert allow["sha256"] == WRITE.sha256
    assert (back["exit"], back["decision"]) == (0, "done")
    canonical = json.dumps(dict(sorted(RUN_WRITE.items())), sort_keys=True, separators=(",", ":"))
    assert {line["params_sha256"] for line in run.lines} == {hashlib.sha256(canonical.encode()).hexdigest()}
    run.session.close()
    assert (
        verify((run.folder / "events.jsonl").read_bytes(), parse_head((run.folder / "head").read_bytes())).state == "ok"
    )
    assert run.code("rye_load", **LOAD_STYLE) == "cancelled"


def test_the_line_is_on_disk_before_the_tool_starts(tmp_path: Path) -> None:
    run = ship(tmp_path)
    seen: list[object] = []

    def look(item: UsableItem, parameters: object) -> ToolResult:
        seen.extend(run.events)
        return ToolResult(exit=0, output=None, truncated=False, seconds=0.0)

    run.tools.do = look
    run.act("rye_execute", **RUN_WRITE)
    assert seen == ["call", "allow"]


def test_without_a_log_nothing_happens(tmp_path: Path) -> None:
    run = ship(tmp_path)
    (tmp_path / "project" / ".ai").write_text("in the way")
    assert run.code("rye_execute", **RUN_WRITE) == "not-runnable"
    assert run.code("rye_load", **LOAD_STYLE) == "not-runnable"
    assert run.tools.ran == []


def test_secrets_are_not_in_the_log(tmp_path: Path) -> None:
    run = ship(tmp_path, secrets=("hunter2hunter2",))
    parameters = {
        "api_key": "abc123456",
        "text": "use hunter2hunter2 and ghp_" + "a" * 36,
        "nested": [{"Authorization": "Bearer x"}, "https://me:pa55word@example.com/x"],
        "pem": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----",
        "path": "kept",
    }
    run.act("rye_execute", item_type="tool", item_id="acme/fs/write", parameters=parameters)
    run.error("rye_execute", item_type="tool", item_id="acme/shell/run", parameters=parameters)
    run.error("ghp_" + "a" * 36)
    written = "".join(path.read_text() for path in run.folder.iterdir())
    for secret in ("abc123456", "hunter2hunter2", "ghp_aaaa", "Bearer x", "pa55word", "MC4CAQAw"):
        assert secret not in written
    assert '"path": "kept"' in written or '"path":"kept"' in written
    assert run.tools.ran[0][1] == parameters, "the tool itself gets what was said"


@pytest.mark.parametrize(
    "unit", ["-----BEGIN PRIVATE KEY-----", "a.", "eyJ-", "a://a:", "token ", "-----BEGIN PRIVATE KEY-----END "]
)
def test_no_text_keeps_a_server_busy_that_looks_for_secrets_in_it(unit: str) -> None:
    """A client without any right could have kept all others waiting, a quarter of a minute for each call that is denied."""
    started = time.thread_time()
    redacted_text(unit * (RUNTIME.argument_bytes // len(unit)))
    assert time.thread_time() - started < 2


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        (
            "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-128-CBC,0\n\nMC4C\n-----END RSA PRIVATE KEY----- end",
            "[redacted] end",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMC4C" + "A" * 9000 + "\n", "[redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nMC4C\n-----BEGIN PRIVATE KEY-----\nMC4D", "[redacted][redacted]"),
        (f"{'long_' * 20}token: hunter22", f"{'long_' * 20}token: [redacted]"),
        ("x eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln y", "x [redacted] y"),
    ],
)
def test_forms_of_secrets(text: str, logged: str) -> None:
    assert redacted_text(text) == logged


def test_a_secret_is_known_without_the_line_end_that_its_variable_has() -> None:
    environment = {"DB_PASSWORD": "hunter2hunter2\n", "PLAIN": "visible", "SHORT_TOKEN": " abc \n"}
    assert known_secrets(environment) == ("hunter2hunter2",)


def test_what_is_too_long_for_the_log_is_cut(tmp_path: Path) -> None:
    run = ship(tmp_path)
    run.act("rye_execute", **{**RUN_WRITE, "parameters": {str(n): "x" * 2000 for n in range(100)}})
    assert max(map(len, (run.folder / "events.jsonl").read_text().splitlines())) < 10_000


def test_parallel_calls_write_one_chain(tmp_path: Path) -> None:
    run = ship(tmp_path)
    threads = [threading.Thread(target=lambda: [run.act("rye_load", **LOAD_STYLE) for _ in range(5)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.session.close()
    found = verify((run.folder / "events.jsonl").read_bytes(), parse_head((run.folder / "head").read_bytes()))
    assert (found.state, found.lines) == ("ok", 61)


@pytest.mark.thorough
@pytest.mark.slow
def test_five_hundred_calls_hold_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fdatasync", lambda descriptor: None)  # it costs time, not memory
    run = ship(tmp_path)
    for _ in range(50):
        run.act("rye_load", **LOAD_STYLE)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(500):
        run.act("rye_load", **LOAD_STYLE)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 200_000


def test_a_store_forgets_nothing_that_waits(tmp_path: Path) -> None:
    store = ApprovalStore(tmp_path)
    question = Question(
        run=RUN,
        call=4,
        tool="rye_execute",
        item="tool:a/b",
        sha256="a" * 64,
        params_sha256="b" * 64,
        params={},
        required="rye.execute.tool.a.b",
        asked="now",
        whole=True,
    )
    assert store.ask(question) == 4
    assert store.waiting(question.key) == 4
    assert not store.take(question.key, NOW)


def test_what_a_tool_writes_on_standard_error_is_in_the_log_without_secrets(tmp_path: Path) -> None:
    world = Simulation(
        tmp_path,
        level("acme/work/ship", "rye.execute.tool.*"),
        items=[item("tool", "acme/fs/write")],
        secrets=("hunter22",),
    )
    said = "x" * 5000 + " password is hunter22, sk-abcdefghijklmnopqrstu"
    world.tools.do = lambda one, given: ToolResult(exit=0, output={}, truncated=False, seconds=0.1, stderr=said)
    world.act("rye_execute", item_type="tool", item_id="acme/fs/write")
    (line,) = [line for line in world.lines if line["event"] == "return"]
    logged = json.dumps(line["params_redacted"])
    assert "password is [redacted]" in logged
    assert "hunter22" not in logged
    assert "sk-abc" not in logged
    assert len(logged) < 4200


@pytest.mark.parametrize(
    "command",
    ["echo " + "x" * 400 + "; rm -rf ~", "echo token=$(rm -rf ~)"],
    ids=["an end beyond the log", "a secret's form"],
)
def test_nobody_agrees_to_parameters_that_they_cannot_see(tmp_path: Path, command: str) -> None:
    """Text that the log cuts or replaces could hide what the call does."""
    shown: list[object] = []
    made = {"item_type": "tool", "item_id": "acme/shell/run", "parameters": {"command": command}}
    right = level("acme/work/ship", "rye.execute.tool.*")
    rules = Rules(approval=({"rye.execute.tool.*": "ask"},))

    def ask(question: Question) -> Reply:
        shown.append(question.params)
        return Reply(True)

    tools = [item("tool", "acme/shell/run")]
    (tmp_path / "here").mkdir()
    (tmp_path / "later").mkdir()
    Simulation(tmp_path / "here", right, items=tools, rules=rules, ask=ask).act("rye_execute", **made)
    assert shown == [made]
    later = Simulation(tmp_path / "later", right, items=tools, rules=rules)
    error = later.error("rye_execute", **made)
    assert error["code"] == "approval-required"
    assert "command" not in error
    assert list(later.folder.glob("ask-*.json")) == []
    assert later.tools.ran == []


def test_a_call_that_waits_for_another_tool_is_decided_again(tmp_path: Path) -> None:
    """Where seconds are limited, tools run one after the other: a policy that was tightened meanwhile counts for the next."""
    run = ship(tmp_path, level("acme/work/ship", "rye.*", limits=Limits(tool_seconds=100)))
    begun, go_on = threading.Event(), threading.Event()

    def do(used: UsableItem, parameters: object) -> ToolResult:
        begun.set()
        assert go_on.wait(20)
        return ToolResult(exit=0, output={}, truncated=False, seconds=1)

    run.tools.do = do
    codes: list[object] = []

    def second() -> None:
        codes.append(run.code("rye_execute", **RUN_WRITE))

    threads = [threading.Thread(target=lambda: run.act("rye_execute", **RUN_WRITE)), threading.Thread(target=second)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    while run.events.count("allow") < 2:
        pass
    run.rules = Rules(Policy(forbidden=("rye.execute.tool.*",)))
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert (codes, len(run.tools.ran)) == (["denied"], 1)
