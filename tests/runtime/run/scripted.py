"""A model with scripted answers, in both dialects: as a function, and as a server on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rye.runtime.run.endpoint import Answered

Turn = dict[str, Any]
"""``{"calls": [(name, arguments)], "text", "usage": (input, output) or None}``, or ``{"status", "retry_after", "body"}``."""


def calls(*made: tuple[str, object], text: str = "", usage: tuple[int, int] | None = (8, 2)) -> Turn:
    return {"calls": list(made), "text": text, "usage": usage}


def says(text: str, usage: tuple[int, int] | None = (8, 2)) -> Turn:
    return calls(text=text, usage=usage)


def returns(usage: tuple[int, int] | None = (8, 2), **outputs: object) -> Turn:
    return calls(("rye_return", {"outputs": outputs}), usage=usage)


def fails(status: int, retry_after: str | None = None, body: str = '{"error": {"message": "no"}}') -> Turn:
    return {"status": status, "retry_after": retry_after, "body": body}


def answer(turn: Turn, number: int, dialect: str) -> Answered:
    """A turn as an endpoint sends it in the dialect."""
    if "status" in turn:
        return Answered(turn["status"], turn["body"].encode(), turn["retry_after"])
    named = [(f"call_{number}_{index}", name, given) for index, (name, given) in enumerate(turn["calls"])]
    document = _anthropic(turn, named) if dialect == "anthropic" else _openai(turn, named)
    return Answered(200, json.dumps(document).encode())


def _anthropic(turn: Turn, named: list[tuple[str, str, object]]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn["text"]}] if turn["text"] else []
    content += [{"type": "tool_use", "id": id, "name": name, "input": given} for id, name, given in named]
    usage = turn["usage"]
    billed = {"usage": {"input_tokens": usage[0], "output_tokens": usage[1]}} if usage else {}
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", **billed}


def _openai(turn: Turn, named: list[tuple[str, str, object]]) -> dict[str, Any]:
    made = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
        for id, name, given in named
    ]
    message = {"role": "assistant", "content": turn["text"] or None, **({"tool_calls": made} if made else {})}
    usage = turn["usage"]
    billed = {"usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}} if usage else {}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **billed}


class Script:
    """:class:`rye.runtime.run.endpoint.Post`: the turns in order, then the last one again and again. Records the requests."""

    def __init__(self, *turns: Turn):
        self.turns = list(turns)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.urls: list[str] = []
        self.seconds: list[float] = []

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes, seconds: float) -> Answered:
        number = len(self.asked)
        self.urls.append(url)
        self.asked.append(json.loads(body))
        self.headers.append({name.lower(): value for name, value in headers.items()})
        self.seconds.append(seconds)
        turn = self.turns[min(number, len(self.turns) - 1)]
        return answer(turn, number, "openai" if url.endswith("/chat/completions") else "anthropic")

    @property
    def results(self) -> list[dict[str, Any]]:
        """The tool results in the last request (Messages API)."""
        last = self.asked[-1]["messages"][-1]["content"]
        return [json.loads(block["content"]) for block in last if block["type"] == "tool_result"]

    @property
    def notes(self) -> list[str]:
        """The texts in the last request, next to the tool results."""
        last = self.asked[-1]["messages"][-1]["content"]
        return [last] if isinstance(last, str) else [block["text"] for block in last if block["type"] == "text"]


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """The address of a server with these answers. It answers one request at a time, since a script has an order."""
    busy = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with busy:
                found = script(self.path, dict(self.headers), body, 0)
            self.send_response(found.status)
            if found.retry_after is not None:
                self.send_header("retry-after", found.retry_after)
            self.send_header("content-length", str(len(found.body)))
            self.end_headers()
            self.wfile.write(found.body)

        def log_message(self, format: str, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
