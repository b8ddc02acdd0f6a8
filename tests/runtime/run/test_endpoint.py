"""Requesting one turn: timeouts, refusals, keys, and unusable answers (design: agents 3.3)."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from rye.limits import RUN
from rye.runtime.calls import TOOLS
from rye.runtime.run.conversation import Message, Reply, Result, Results, Said, ToolUse
from rye.runtime.run.endpoint import Answered, Endpoint, ModelFailed, Post, TimeIsUp, Unreachable
from rye.runtime.run.http_post import HttpPost
from rye.runtime.run.models import Model
from tests.runtime.run.scripted import Script, Turn, calls, fails, says, serving

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY = "sk-very-secret-key-0123456789"
ANTHROPIC = Model(tier="haiku", dialect="anthropic", url="https://a.example.com", model="claude", key_env="KEY")
OPENAI = Model(tier="local", dialect="openai", url="https://b.example.com/v1", model="gpt", key_env="KEY")


class Asked:
    def __init__(self, post: Post):
        self.slept: list[float] = []
        self.left: float | None = None
        self.endpoint = Endpoint(post, {"KEY": KEY}, self.slept.append, lambda: NOW)

    def turn(self, model: Model = ANTHROPIC, *messages: Message) -> Reply:
        given = messages or (Said("Do it."),)
        return self.endpoint.turn(model, "system", given, tuple(TOOLS.values()), 100, lambda: self.left)


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def test_a_turn_is_asked_and_read(model: Model) -> None:
    script = Script(calls(("rye_load", {"item_type": "knowledge", "item_id": "a/b"}), text="Looking."))
    reply = Asked(script).turn(model)
    assert reply.text == "Looking."
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("rye_load", {"item_type": "knowledge", "item_id": "a/b"})
    ]
    assert (reply.input_tokens, reply.output_tokens) == (8, 2)
    path = "a.example.com/v1/messages" if model is ANTHROPIC else "b.example.com/v1/chat/completions"
    assert script.urls == [f"https://{path}"]
    header = script.headers[0]["x-api-key" if model is ANTHROPIC else "authorization"]
    assert header.removeprefix("Bearer ") == KEY
    assert KEY not in json.dumps(script.asked)


@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def test_a_conversation_of_the_other_dialect_is_told_again(model: Model) -> None:
    """After a fallback, the new model gets the old one's messages and calls."""
    script = Script(says("on it"))
    use = ToolUse("id-1", "rye_search", {"item_type": "tool", "query": "x"})
    was = Reply("Searching.", (use,), 1, 1, ("other", "model"), [{"type": "thinking", "signature": "other's"}])
    Asked(script).turn(model, Said("Do it."), was, Results((Result("id-1", "{}", False),), ("A hook ran.",)))
    sent = json.dumps(script.asked[0]["messages"])
    assert "Searching." in sent
    assert "rye_search" in sent
    assert "A hook ran." in sent
    assert "thinking" not in sent


def test_a_model_gets_its_own_turn_back_unchanged() -> None:
    raw = [{"type": "thinking", "thinking": "hm", "signature": "abc"}, {"type": "text", "text": "Hi."}]
    script = Script(says("on it"))
    Asked(script).turn(ANTHROPIC, Said("Do it."), Reply("Hi.", (), 1, 1, ("anthropic", "claude"), raw), Said("Go on."))
    assert script.asked[0]["messages"][1] == {"role": "assistant", "content": raw}


@pytest.mark.parametrize(
    ("turns", "waits"),
    [
        ([fails(429, "7"), says("x")], [7.0]),
        ([fails(503, "Sun, 22 Nov 2026 12:00:09 GMT"), says("x")], [9.0]),
        ([fails(500), fails(502), fails(529), says("x")], [1.0, 2.0, 4.0]),
        ([fails(429, "999999"), says("x")], [RUN.longest_retry_seconds]),
        ([fails(429, "-5"), says("x")], [1.0]),
        ([fails(429, "soon"), says("x")], [1.0]),
    ],
)
def test_a_busy_endpoint_is_asked_again(turns: list[Turn], waits: list[float]) -> None:
    asked = Asked(Script(*turns))
    assert asked.turn().text == "x"
    assert asked.slept == waits


def test_three_more_times_and_no_more() -> None:
    script = Script(fails(503))
    with pytest.raises(ModelFailed, match="haiku: the endpoint answered 503: no"):
        Asked(script).turn()
    assert len(script.asked) == 1 + RUN.retries


@pytest.mark.parametrize("status", [400, 401, 403, 404, 301])
def test_what_is_refused_is_not_asked_again(status: int) -> None:
    script = Script(fails(status))
    with pytest.raises(ModelFailed):
        Asked(script).turn()
    assert len(script.asked) == 1


def test_the_key_is_not_in_what_an_endpoint_is_quoted_with() -> None:
    script = Script(fails(401, body=json.dumps({"error": {"message": f"bad key {KEY}\x1b[31m"}})))
    with pytest.raises(ModelFailed) as caught:
        Asked(script).turn()
    assert KEY not in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "schlüssel"])
def test_a_key_that_is_none_is_not_sent(key: str) -> None:
    script = Script(says("x"))
    endpoint = Endpoint(script, {"KEY": key}, lambda seconds: None, lambda: NOW)
    with pytest.raises(ModelFailed, match="KEY"):
        endpoint.turn(ANTHROPIC, "", [Said("x")], (), 10, lambda: None)
    assert script.asked == []


def test_waiting_never_goes_beyond_the_run() -> None:
    asked = Asked(Script(fails(429, "30"), says("x")))
    asked.left = 20.0
    with pytest.raises(TimeIsUp):
        asked.turn()
    assert asked.slept == []


def _broken(body: object) -> Turn:
    return {"status": 200, "retry_after": None, "body": body if isinstance(body, str) else json.dumps(body)}


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (ANTHROPIC, "<html>"),
        (ANTHROPIC, {"content": "text"}),
        (ANTHROPIC, {"content": [{"type": "tool_use", "name": "rye_load"}]}),
        (ANTHROPIC, {"content": [], "usage": {"input_tokens": -5, "output_tokens": 1}}),
        (ANTHROPIC, {"content": [], "usage": {"input_tokens": 1, "output_tokens": 10**12}}),
        (ANTHROPIC, {"content": [], "usage": {"input_tokens": 1.5, "output_tokens": 1}}),
        (ANTHROPIC, "[" * 100_000),
        (OPENAI, {"choices": []}),
        (OPENAI, {"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}),
        (OPENAI, {"choices": [{"message": {}}], "usage": {"prompt_tokens": -1}}),
    ],
)
def test_an_answer_that_is_no_turn_is_a_failure(model: Model, body: object) -> None:
    with pytest.raises(ModelFailed, match="answer is invalid"):
        Asked(Script(_broken(body))).turn(model)


def test_too_many_calls_in_one_turn_are_a_failure() -> None:
    many = calls(*[("rye_search", {})] * (RUN.calls_in_a_turn + 1))
    with pytest.raises(ModelFailed, match="limit is"):
        Asked(Script(many)).turn()


def test_arguments_that_are_no_json_reach_the_check_as_text() -> None:
    function = {"name": "rye_load", "arguments": "{broken"}
    body = {"choices": [{"message": {"tool_calls": [{"id": "1", "function": function}]}}]}
    assert Asked(Script(_broken(body))).turn(OPENAI).calls[0].arguments == "{broken"


def test_a_request_that_may_have_cost_something_is_not_repeated() -> None:
    tried: list[str] = []

    def post(url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        tried.append(url)
        raise Unreachable("it broke off", sent=len(tried) > 1)

    asked = Asked(post)
    with pytest.raises(ModelFailed, match="broke off"):
        asked.turn()
    assert (len(tried), asked.slept) == (2, [1.0])


@pytest.mark.parametrize("arguments", ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_arguments_that_could_not_be_written_again_are_no_json(arguments: str) -> None:
    function = {"name": "rye_return", "arguments": arguments}
    body = {"choices": [{"message": {"tool_calls": [{"id": "1", "function": function}]}}]}
    assert Asked(Script(_broken(body))).turn(OPENAI).calls[0].arguments == arguments


@pytest.mark.parametrize("depth", [RUN.answer_depth + 1, 600])
@pytest.mark.parametrize("model", [ANTHROPIC, OPENAI], ids=["anthropic", "openai"])
def test_an_answer_nested_too_deep_to_be_sent_back_is_a_failure(model: Model, depth: int) -> None:
    """It can be decoded but not encoded again, so the next turn would abort the whole run."""
    nested = "[" * depth + "]" * depth
    block = '{"content": [{"type": "tool_use", "id": "1", "name": "rye_load", "input": ' + nested + "}]}"
    function = {"name": "rye_load", "arguments": nested}
    body = {"choices": [{"message": {"tool_calls": [{"id": "1", "function": function}]}}]}
    with pytest.raises(ModelFailed, match=r"nested|answer is invalid"):
        Asked(Script(_broken(block if model is ANTHROPIC else body))).turn(model)


@pytest.mark.processes
def test_a_key_for_this_machine_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(says("hello"))
    post = HttpPost()
    with serving(script) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        monkeypatch.setenv("http_proxy", proxy)
        with pytest.raises(Unreachable):
            post("http://127.0.0.1:9/v1/messages", {"x-api-key": KEY}, b"{}", 5)
    post.close()
    assert script.headers == []


@pytest.mark.processes
def test_an_answer_that_trickles_in_is_given_up_in_time() -> None:
    """The answer arrives byte by byte from the headers on, so no single read times out."""
    listening = socket.create_server(("127.0.0.1", 0))

    def trickle() -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            for number in range(400):  # twenty seconds
                connection.sendall(b"x-%d: y\r\n" % number)
                time.sleep(0.05)

    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    post, started = HttpPost(), time.monotonic()
    with listening, pytest.raises(Unreachable) as caught:
        post(f"http://127.0.0.1:{listening.getsockname()[1]}/v1/messages", {}, b"{}", 0.2)
    post.close()
    thread.join()
    assert caught.value.sent
    assert time.monotonic() - started < 10


@pytest.mark.processes
def test_over_http() -> None:
    script = Script(says("hello"))
    post = HttpPost()
    with serving(script) as url:
        asked = Asked(post)
        model = Model(tier="local", dialect="openai", url=url, model="gpt", key_env="KEY")
        assert asked.turn(model).text == "hello"
    with pytest.raises(ModelFailed, match="cannot be reached"):
        asked.turn(model)
    assert asked.slept == [1.0, 2.0, 4.0]
    post.close()
    assert script.headers[0]["authorization"] == f"Bearer {KEY}"
