"""A stand-in for ``rye mcp serve``: a stdio server with the five tools that records how it was started.

These tests check which tools a program gives to an agent; the tools themselves are tested elsewhere.
"""

from __future__ import annotations

import json
import sys
import time

TOOLS = ("rye_search", "rye_load", "rye_execute", "rye_sign", "rye_return")


def main() -> None:
    with open(f"{sys.argv[0]}.started", "a", encoding="utf-8") as notes:
        notes.write(json.dumps(sys.argv[1:]) + "\n")
    time.sleep(1.5)  # about as long as the real one takes
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "initialize":
            answer["result"] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "rye", "version": "1"},
            }
        elif message["method"] == "tools/list":
            schema = {"type": "object"}
            answer["result"] = {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in TOOLS]}
        else:
            answer["error"] = {"code": -32601, "message": "unknown"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
