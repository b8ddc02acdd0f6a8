"""The Chat Completions API: ``POST /v1/chat/completions`` (OpenAI, and most servers for self-hosted models)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from rye.runtime.calls import Tool
from rye.runtime.run.conversation import Message, Reply, Results, Said, ToolUse
from rye.runtime.run.dialects.reading import BadAnswer, base, decoded, tokens

PATH = "/v1/chat/completions"


def address(url: str) -> str:
    """Return the endpoint's address for the base ``url``."""
    return base(url, PATH)


def headers(key: str | None) -> dict[str, str]:
    """Return the request headers; without a key, none is sent."""
    return {"authorization": f"Bearer {key}"} if key is not None else {}


def body(model: str, system: str, messages: Sequence[Message], tools: Sequence[Tool], most: int) -> dict[str, Any]:
    """Return the request for one turn of at most ``most`` tokens."""
    return {
        "model": model,
        "max_completion_tokens": most,
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in tools
        ],
        "messages": [{"role": "system", "content": system}, *(each for one in messages for each in _messages(one))],
    }


def _messages(message: Message) -> list[dict[str, Any]]:
    if isinstance(message, Said):
        return [{"role": "user", "content": message.text}]
    if isinstance(message, Results):
        answers = [{"role": "tool", "tool_call_id": each.id, "content": each.text} for each in message.results]
        return answers + [{"role": "user", "content": note} for note in message.notes]
    said: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _written(call.arguments)}}
            for call in message.calls
        ]
    elif not message.text:
        said["content"] = "(no answer)"
    return [said]


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


class _Function(Struct, frozen=True):
    name: str
    arguments: Any = ""


class _Call(Struct, frozen=True):
    id: str
    function: _Function


class _Message(Struct, frozen=True):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(Struct, frozen=True):
    message: _Message


class _Usage(Struct, frozen=True):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(Struct, frozen=True):
    choices: list[_Choice]
    usage: _Usage | None = None


def reply(data: bytes, model: str) -> Reply:
    """Read the turn in an answer. Raises BadAnswer."""
    answer = decoded(data, _Answer)
    if not answer.choices:
        raise BadAnswer("it has no choices")
    message = answer.choices[0].message
    usage = answer.usage or _Usage()
    return Reply(
        message.content or "",
        tuple(
            ToolUse(call.id, call.function.name, _read(call.function.arguments)) for call in message.tool_calls or ()
        ),
        tokens(usage.prompt_tokens),
        tokens(usage.completion_tokens),
        ("openai", model),
    )


def _read(arguments: Any) -> Any:
    """Parse a call's arguments. Invalid JSON (NaN, an unpaired surrogate) stays text, and the call is then refused."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.decode(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments
