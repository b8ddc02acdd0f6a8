"""The Messages API: ``POST /v1/messages`` (Anthropic, and gateways that speak it)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from rye.runtime.calls import Tool
from rye.runtime.run.conversation import Message, Reply, Results, Said, ToolUse
from rye.runtime.run.dialects.reading import BadAnswer, base, decoded, tokens

VERSION = "2023-06-01"
PATH = "/v1/messages"


def address(url: str) -> str:
    """Return the endpoint's address for the base ``url``."""
    return base(url, PATH)


def headers(key: str | None) -> dict[str, str]:
    """Return the request headers; without a key, none is sent."""
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key is not None else {})}


def body(model: str, system: str, messages: Sequence[Message], tools: Sequence[Tool], most: int) -> dict[str, Any]:
    """Return the request for one turn of at most ``most`` tokens."""
    return {
        "model": model,
        "max_tokens": most,
        "system": system,
        "tools": [{"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools],
        "messages": [_message(message, model) for message in messages],
    }


def _message(message: Message, model: str) -> dict[str, Any]:
    if isinstance(message, Said):
        return {"role": "user", "content": message.text}
    if isinstance(message, Results):
        blocks: list[dict[str, Any]] = [
            {"type": "tool_result", "tool_use_id": each.id, "content": each.text, "is_error": each.failed}
            for each in message.results
        ]
        blocks += [{"type": "text", "text": note} for note in message.notes]
        return {"role": "user", "content": blocks}
    if message.source == ("anthropic", model) and message.raw:
        return {"role": "assistant", "content": message.raw}
    content: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    content += [
        {
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": call.arguments if isinstance(call.arguments, dict) else {},
        }
        for call in message.calls
    ]
    return {"role": "assistant", "content": content or "(no answer)"}


class _Usage(Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Block(Struct, frozen=True):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Answer(Struct, frozen=True):
    content: list[_Block]
    usage: _Usage | None = None


class _Raw(Struct, frozen=True):
    content: list[Any]


def reply(data: bytes, model: str) -> Reply:
    """Read the turn in an answer. Raises BadAnswer."""
    answer = decoded(data, _Answer)
    calls = []
    for block in answer.content:
        if block.type == "tool_use":
            if not block.id or not block.name:
                raise BadAnswer("a call in it has no id or no name")
            calls.append(ToolUse(block.id, block.name, block.input))
    usage = answer.usage or _Usage()
    given = [
        tokens(usage.input_tokens),
        tokens(usage.cache_creation_input_tokens),
        tokens(usage.cache_read_input_tokens),
    ]
    return Reply(
        "\n".join(block.text for block in answer.content if block.type == "text" and block.text),
        tuple(calls),
        sum(each or 0 for each in given) if given[0] is not None else None,
        tokens(usage.output_tokens),
        ("anthropic", model),
        decoded(data, _Raw).content,
    )
