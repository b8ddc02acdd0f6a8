"""A small client of the Language Server Protocol: the real `rye lsp` over pipes."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.scenes.nursery import RYE, can_fork, fork_piped

SECONDS = 60.0


class Client:
    """One server and the messages received from it."""

    def __init__(
        self,
        folder: Path,
        env: Mapping[str, str] | None = None,
        encodings: list[str] | None = None,
        capabilities: Mapping[str, Any] | None = None,
        *,
        starts: bool = False,
    ) -> None:
        """``starts``: Python itself, as an editor does it; the others are forked."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "PYTHONPATH") if name in os.environ}
        environment = {**kept, "HOME": str(folder), **(env or {})}
        words = ["lsp", "--stdio"]
        self.process: subprocess.Popen[bytes]
        if starts or not can_fork(environment):
            self.process = subprocess.Popen(
                [sys.executable, "-c", RYE, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
            )
        else:
            self.process = fork_piped(words, environment, folder)
        self.number = 0
        self.versions: dict[str, int] = {}
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.found: queue.Queue[dict[str, Any]] = queue.Queue()
        self.shown: queue.Queue[dict[str, Any]] = queue.Queue()
        """What the server asked the editor to show."""
        self.stderr = b""
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._drain, daemon=True).start()
        general = {"general": {"positionEncodings": encodings}} if encodings else {}
        self.capabilities = self.ask(
            "initialize",
            {"processId": None, "rootUri": folder.as_uri(), "capabilities": {**general, **(capabilities or {})}},
        )["capabilities"]
        self.tell("initialized", {})

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = stream.readline()
            message = json.loads(stream.read(length))
            if message.get("method") == "textDocument/publishDiagnostics":
                self.found.put(message["params"])
            elif message.get("method") == "window/showMessage":
                self.shown.put(message["params"])
            elif "id" in message and "method" not in message:
                self.answers.put(message)

    def _drain(self) -> None:
        assert self.process.stderr is not None
        self.stderr += self.process.stderr.read()

    def send(self, body: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def tell(self, method: str, params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: Any) -> Any:
        answer = self._answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method: str, params: Any) -> str:
        """What the server says about a request that it refuses."""
        return str(self._answer(method, params)["error"]["message"])

    def _answer(self, method: str, params: Any) -> dict[str, Any]:
        self.number += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode())
        while True:
            answer = self.answers.get(timeout=SECONDS)
            if answer["id"] == self.number:
                return answer

    def open(self, path: Path, text: str) -> list[dict[str, Any]]:
        """Open a document and return its findings."""
        self.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": path.as_uri(), "languageId": "markdown", "version": 1, "text": text}},
        )
        self.versions[path.as_uri()] = 1
        return self.findings(path)

    def change(
        self, path: Path, text: str, start: tuple[int, int] | None = None, end: tuple[int, int] | None = None
    ) -> None:
        """Change the whole text, or the part between two positions."""
        uri = path.as_uri()
        self.versions[uri] += 1
        change: dict[str, Any] = {"text": text}
        if start is not None:
            change["range"] = {"start": place(*start), "end": place(*(end or start))}
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def findings(self, path: Path) -> list[dict[str, Any]]:
        """The findings for the document's current version."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            sent = self.found.get(timeout=SECONDS)
            if sent["uri"] == path.as_uri() and sent.get("version") == self.versions[path.as_uri()]:
                return list(sent["diagnostics"])
        raise TimeoutError

    def complete(self, path: Path, line: int, character: int) -> list[str]:
        answer = self.ask("textDocument/completion", at(path, line, character))
        return [item["label"] for item in answer["items"]]

    def hover(self, path: Path, line: int, character: int) -> str | None:
        answer = self.ask("textDocument/hover", at(path, line, character))
        return str(answer["contents"]["value"]) if answer is not None else None

    def actions(self, path: Path, span: Mapping[str, Any], only: list[str] | None = None) -> list[dict[str, Any]]:
        context = {"diagnostics": [], **({"only": only} if only else {})}
        return list(
            self.ask(
                "textDocument/codeAction",
                {"textDocument": {"uri": path.as_uri()}, "range": span, "context": context},
            )
            or []
        )

    def close(self) -> int:
        """Shut the server down and return its exit code."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)


def place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def at(path: Path, line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": path.as_uri()}, "position": place(line, character)}


def where(text: str, needle: str, inside: int = 0) -> tuple[int, int]:
    """The position in UTF-16 units, ``inside`` characters after the start of a piece of the text; lines end in LF or CR LF."""
    offset = text.index(needle) + inside
    before = text[:offset].replace("\r\n", "\n")
    line = before.rpartition("\n")[2]
    return before.count("\n"), len(line.encode("utf-16-le")) // 2


def applied(text: str, action: Mapping[str, Any]) -> str:
    """The text after an action is applied. The text must be ASCII with LF line endings."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    edits = action["edit"]["documentChanges"][0]["edits"]
    for edit in sorted(edits, key=lambda one: (one["range"]["start"]["line"], one["range"]["start"]["character"]))[
        ::-1
    ]:
        first, last = edit["range"]["start"], edit["range"]["end"]
        begin = starts[first["line"]] + first["character"]
        end = starts[last["line"]] + last["character"]
        text = text[:begin] + edit["newText"] + text[end:]
    return text
