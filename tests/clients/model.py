"""A model's provider on this machine that notes what it is asked, so that a test sees which tools an agent was given.

It refuses every question, except that of Gemini's dialect: there it may call one tool first, and then says that it is done.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Provider:
    """What was asked, and what to call."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.call: dict[str, Any] | None = None
        self.url = ""

    def tools(self, said: str) -> set[str]:
        """The names of the tools in the first question whose instructions have ``said``."""
        for question in self.asked:
            if said in json.dumps(question.get("system") or question.get("systemInstruction") or ""):
                tools = question.get("tools", [])
                declared = [one for part in tools for one in part.get("functionDeclarations", [])]
                return {str(one["name"]) for one in declared or tools}
        raise AssertionError(f"no question with {said!r} among {len(self.asked)}")


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider that runs as long as the test does."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            provider.asked.append(json.loads(data or b"{}"))
            if "enerateContent" not in self.path:
                self.answer(400, "application/json", b'{"error": {"type": "invalid_request_error", "message": "no"}}')
                return
            call, provider.call = provider.call, None
            part = {"functionCall": call} if call is not None else {"text": "done"}
            said = {
                "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
            }
            self.answer(200, "text/event-stream", b"data: " + json.dumps(said).encode() + b"\n\n")

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
