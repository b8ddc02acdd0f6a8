"""What the five tools answer (docs/explanation/runtime.md): one type for each result, from which its JSON Schema is made too.

A call that was refused or failed answers with the error document of :class:`rye.runtime.calls.CallError` instead. Every schema
describes that document too: clients made with the protocol's TypeScript SDK also check failed calls against the schema, and would
show the model their own complaint in place of the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from rye.text.json_reading import json_decoder

_Run = Annotated[str, Meta(description="The run that the call belongs to.")]
_Sha256 = Annotated[str, Meta(description="SHA-256 of the bytes, in hexadecimal.")]
_Version = Annotated[str | None, Meta(description="The item's version; null if it declares none.")]


class FoundItem(Struct, frozen=True):
    """One item that a search found."""

    id: str
    kind: str
    version: _Version
    description: str
    score: Annotated[float, Meta(description="How well it fits; comparable within this answer.")]


class SearchResult(Struct, frozen=True):
    """What ``rye_search`` answers: the best first."""

    results: list[FoundItem]
    total: Annotated[int, Meta(description="How many items fit, shown or not.")]


class LoadResult(Struct, frozen=True):
    """What ``rye_load`` answers, and ``rye_execute`` for knowledge."""

    id: str
    version: _Version
    sha256: _Sha256
    signer: Annotated[str | None, Meta(description="The key that signed the item; null for an unsigned item.")]
    text: str
    overridden: Annotated[bool, Meta(description="Whether the text contains changes made in this project.")]


class RanResult(Struct, frozen=True):
    """What ``rye_execute`` answers for a tool."""

    run: _Run
    exit: Annotated[int | None, Meta(description="The tool's exit status.")]
    output: Annotated[Any, Meta(description="The JSON value that the tool printed.")]
    truncated: Annotated[bool, Meta(description="Whether the output was shortened.")]
    seconds: float


class StartedResult(Struct, frozen=True):
    """What ``rye_execute`` answers for a directive that goes on in this run."""

    run: _Run
    mode: Literal["inline"]
    prompt: Annotated[str, Meta(description="What to do now.")]


class EndedResult(Struct, frozen=True):
    """What ``rye_execute`` answers for a directive that ran as a child of its own."""

    outputs: dict[str, Any]


class LevelResult(Struct, frozen=True):
    """One caller's decision."""

    id: str
    by: Annotated[str | None, Meta(description="The right that allows it; null if none does.")]


class DryResult(Struct, frozen=True, kw_only=True):
    """What ``rye_execute`` answers to a dry run."""

    run: _Run
    dry_run: Literal[True]
    item: str
    sha256: _Sha256
    required: Annotated[str, Meta(description="The right that the call needs.")]
    chain: list[LevelResult]
    approval: Annotated[str, Meta(description="Whether a person is asked: allow, ask or deny.")]


class SignResult(Struct, frozen=True):
    """What ``rye_sign`` answers."""

    path: str
    sha256: _Sha256
    key: Annotated[str, Meta(description="The fingerprint of the key that signed.")]


class ReturnResult(Struct, frozen=True):
    """What ``rye_return`` answers."""

    accepted: Literal[True]


class Failure(Struct, frozen=True):
    """Why a call was refused or failed. Some codes add members."""

    code: Annotated[str, Meta(description="What `rye explain CODE` explains.")]
    message: str
    hint: str | None
    required: Annotated[str | None, Meta(description="The right that the call needs.")]
    chain: Annotated[list[LevelResult], Meta(description="Every caller's decision, the first caller first.")]
    resource: Annotated[str | None, Meta(description="The item that the call was about.")]


class FailedResult(Struct, frozen=True):
    """What every tool answers if the call was refused or failed (``isError``)."""

    error: Failure


Executed = LoadResult | RanResult | StartedResult | EndedResult | DryResult
Result = SearchResult | SignResult | ReturnResult | Executed
RESULTS: dict[str, tuple[type[Struct], ...]] = {
    "rye_search": (SearchResult,),
    "rye_load": (LoadResult,),
    "rye_execute": (RanResult, StartedResult, EndedResult, LoadResult, DryResult),
    "rye_sign": (SignResult,),
    "rye_return": (ReturnResult,),
}
"""The types of each tool's results, by the tool's name; a failed call answers with a :class:`FailedResult`."""


def as_answer(result: Result) -> dict[str, Any]:
    """Return the JSON object that a caller gets."""
    found: dict[str, Any] = structs.asdict(result)
    for name in ("results", "chain"):
        if name in found:
            found[name] = [structs.asdict(each) for each in found[name]]
    return found


def result_schema(name: str) -> dict[str, Any]:
    """Return the self-contained JSON Schema of a tool's answers, an ``object`` as protocol 2025-11-25 requires."""
    types: tuple[type[Struct], ...] = (*RESULTS[name], FailedResult)
    for each in types:
        json_decoder(each)  # lists are answered in several threads: msgspec learns each type in turn
    made, parts = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for part in parts.values():
        part.pop("title", None)
    return {"type": "object", "anyOf": list(made), "$defs": parts}


def without_measures(answer: Mapping[str, object]) -> dict[str, object]:
    """What an answer says apart from the run it belongs to and the seconds it took: two calls with the same of it had the
    same result. ``answer``: of any of the five tools, or an error document.
    """
    kept = {name: value for name, value in answer.items() if name not in ("run", "seconds")}
    error = kept.get("error")
    if isinstance(error, dict):
        kept["error"] = {name: value for name, value in error.items() if name != "seconds"}
    return kept
