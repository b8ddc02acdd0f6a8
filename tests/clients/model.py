"""A model provider on this machine that records its requests, so that a test sees which tools an agent was given.

It speaks three dialects: Anthropic's, Gemini's and chat completions. A test scripts the model's calls, after which the model
says that it is done. Without a script it answers only Gemini's requests and refuses the others.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Call = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


class Provider:
    """The requests so far, and the scripted calls."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.call: Call | None = None
        """Called once, as soon as the tool is offered."""
        self.script: dict[str, list[Call]] = {}
        """Text in an agent's instructions, and the calls of that agent's model, one per turn, whether offered or not."""
        self.url = ""
        self._lock = threading.Lock()

    def tools(self, said: str) -> set[str]:
        """The names of the tools in the first request whose instructions contain ``said``."""
        for question in self.asked:
            if said in instructions(question):
                return offered(question)
        raise AssertionError(f"no question with {said!r} among {len(self.asked)}")

    def heard(self, said: str) -> str:
        """The last request whose instructions contain ``said``: all that its model was sent, including results of its calls."""
        return [json.dumps(question, ensure_ascii=False) for question in self.asked if said in instructions(question)][
            -1
        ]

    def next_call(self, question: dict[str, Any]) -> Call | None:
        """The model's next call."""
        with self._lock:
            self.asked.append(question)
            if self.call is not None and self.call[0] in offered(question):
                call, self.call = self.call, None
                return call
            said = instructions(question)
            waiting = next((calls for text, calls in self.script.items() if text in said), [])
            return waiting.pop(0) if waiting else None


def instructions(question: dict[str, Any]) -> str:
    """The instructions that an agent's model gets before the conversation."""
    first = [message for message in question.get("messages", []) if message.get("role") == "system"]
    return json.dumps([question.get("system"), question.get("systemInstruction"), first])


def offered(question: dict[str, Any]) -> set[str]:
    """The names of the tools that a model is offered."""
    tools = question.get("tools", [])
    declared = [one for part in tools for one in part.get("functionDeclarations", [])]
    return {
        str((one.get("function") or one)["name"]) for one in declared or tools if "name" in (one.get("function") or one)
    }


def gemini(call: Call | None) -> bytes:
    part = {"functionCall": {"name": call[0], "args": call[1]}} if call is not None else {"text": "done"}
    said = {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    }
    return events(said)


def anthropic(call: Call | None, number: int) -> bytes:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"m{number}", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    if call is None:
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta: dict[str, Any] = {"type": "text_delta", "text": "done"}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    end = {"stop_reason": "end_turn" if call is None else "tool_use", "stop_sequence": None}
    return events(
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": usage},
        {"type": "message_stop"},
    )


def completions(call: Call | None, number: int) -> bytes:
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if call is not None:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        made = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [made]}
    chunk = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    end = "stop" if call is None else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return (
        events(
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": usage},
        )
        + b"data: [DONE]\n\n"
    )


def events(*sent: dict[str, Any]) -> bytes:
    """Server-sent events, each named after its type if it has one."""
    names = [f"event: {one['type']}\n" if "type" in one else "" for one in sent]
    return "".join(f"{name}data: {json.dumps(one)}\n\n" for name, one in zip(names, sent, strict=True)).encode()


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider that runs for as long as the test."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            call, number = provider.next_call(json.loads(data or b"{}")), len(provider.asked)
            if "enerateContent" in self.path:
                self.answer(200, "text/event-stream", gemini(call))
            elif provider.script and self.path.partition("?")[0].endswith("/messages"):
                self.answer(200, "text/event-stream", anthropic(call, number))
            elif provider.script and self.path.endswith("/chat/completions"):
                self.answer(200, "text/event-stream", completions(call, number))
            else:
                self.answer(400, "application/json", b'{"error": {"type": "invalid_request_error", "message": "no"}}')

        def do_GET(self) -> None:
            self.answer(404, "application/json", b"{}")

        def answer(self, code: int, form: str, data: bytes) -> None:
            self.send_response(code)
            self.send_header("content-type", form)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
