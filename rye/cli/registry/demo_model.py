"""The model of ``rye demo --run``: a local server that gives the demo's scripted answers through the Messages API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_KUBECTL = {"item_type": "tool", "item_id": "rye/shell/kubectl", "parameters": {"command": "rollout history"}}
_DELETE = {"item_type": "tool", "item_id": "rye/shell/delete_cluster", "parameters": {}}
_OUTPUTS = {"deployment_id": "storefront-8", "test_results": "12 passed", "rolled_back": "no"}
_DEPLOY: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("What runs now?", [("rye_execute", _KUBECTL)]),
    ("I could also delete the cluster.", [("rye_execute", _DELETE)]),
    ("Then I am done.", [("rye_return", {"outputs": {"deployment_id": "storefront-8"}})]),
    ("With all three outputs, then.", [("rye_return", {"outputs": _OUTPUTS})]),
]
_USAGE = {"input_tokens": 1200, "output_tokens": 80}


@contextmanager
def scripted_model() -> Iterator[str]:
    """Run the server and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer one request with the next turn."""
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(_turn(asked["messages"])).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


def _turn(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The next turn of a conversation, chosen by its first message and its length."""
    prompt = str(messages[0]["content"])
    if prompt.startswith("# Deploy and test"):
        text, calls = _DEPLOY[min(len(messages) // 2, len(_DEPLOY) - 1)]
    else:
        text, calls = "The denied call is not needed.", [("rye_return", {"outputs": _declared(prompt)})]
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    content += [
        {"type": "tool_use", "id": f"call_{len(messages)}", "name": name, "input": given} for name, given in calls
    ]
    return {"type": "message", "role": "assistant", "content": content, "usage": _USAGE}


def _declared(prompt: str) -> dict[str, str]:
    """A value for every output that the prompt's <returns> block declares."""
    block = prompt.rpartition("<returns>")[2]
    return {part.partition('"')[0]: "reviewed" for part in block.split('<output name="')[1:]}
