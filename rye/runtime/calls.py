"""The five tools: their exact parameters, and the form of a refusal (docs/explanation/runtime.md).

Arguments come from a model, so they are parsed strictly: unknown fields, wrong types and texts that are too long are
``invalid-parameters``, and nothing is converted. The schemas that hosts show to models are generated from the same types.
A refusal is always one JSON document of at most 2 kB: text written by a model or an author is shortened, never the code
or the required right.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from rye.errors import RyeError
from rye.items.capabilities import ITEM_TYPES
from rye.items.identity import is_id
from rye.items.kinds import KINDS
from rye.limits import CONTENT, RUNTIME
from rye.runtime.chain import LevelDecision
from rye.text.json_reading import json_decoder

Code = Literal[
    "denied",
    "unknown-item",
    "ambiguous",
    "not-installed",
    "modified",
    "untrusted",
    "revoked",
    "advisory",
    "invalid-parameters",
    "approval-required",
    "limit-exceeded",
    "sandbox-unavailable",
    "grant-changed",
    "in-use",
    "journal-damaged",
    "not-runnable",
    "tool-failed",
    "tool-timeout",
    "output-too-large",
    "deviation",
    "cancelled",
    "token-expired",
]
CODES = get_args(Code)
_ID_CHARACTERS = 1040
"""The longest id: 16 segments of 64 characters."""
_CUT = 240
_CHAIN_SHOWN = 6

_Kind = Annotated[str, Meta(description="The kind of item: " + ", ".join(KINDS) + ".", max_length=40)]
_Id = Annotated[
    str,
    Meta(
        description="The item's id without its kind and version, such as acme/notes/style.",
        min_length=1,
        max_length=_ID_CHARACTERS,
    ),
]


class SearchCall(Struct, frozen=True, forbid_unknown_fields=True):
    """Find items that this run may search, by words in their ids and descriptions."""

    item_type: _Kind
    query: Annotated[str, Meta(description="Words to look for.", max_length=RUNTIME.query_characters)]
    limit: Annotated[int, Meta(description="The maximum number of results.", ge=1, le=RUNTIME.results)] = 20


class LoadCall(Struct, frozen=True, forbid_unknown_fields=True):
    """Read the text of one item, with this project's changes applied."""

    item_type: _Kind
    item_id: _Id


class ExecuteCall(Struct, frozen=True, forbid_unknown_fields=True):
    """Run a tool in a sandbox, start a directive inline, or read a knowledge item. Starting a directive inline narrows
    what this run may do from then on."""

    item_type: _Kind
    item_id: _Id
    parameters: Annotated[
        dict[str, Any], Meta(description="A tool's parameters, or a directive's inputs, by name.")
    ] = field(default_factory=dict)
    dry_run: Annotated[bool, Meta(description="Check whether the call is allowed, but run nothing.")] = False


class SignCall(Struct, frozen=True, forbid_unknown_fields=True):
    """Sign one of this project's own items with this user's key. A person is always asked first."""

    item_type: _Kind
    item_id: _Id


class ReturnCall(Struct, frozen=True, forbid_unknown_fields=True):
    """End this run with the outputs that its directive declares, or with an error."""

    outputs: Annotated[dict[str, Any], Meta(description="The declared outputs, by name.")] | UnsetType = UNSET
    status: Annotated[Literal["error"], Meta(description="Set this only if the work failed.")] | UnsetType = UNSET
    error_detail: Annotated[str, Meta(description="What went wrong.", max_length=4000)] | UnsetType = UNSET


Call = SearchCall | LoadCall | ExecuteCall | SignCall | ReturnCall


class Tool(NamedTuple):
    """One of the five tools."""

    name: str
    type: type[SearchCall | LoadCall | ExecuteCall | SignCall | ReturnCall]
    primary: str | None
    """The first part of the capability that a call needs; None: a call needs none."""

    @property
    def description(self) -> str:
        """The description that hosts show to models, on one line."""
        return " ".join((self.type.__doc__ or "").split())

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments, self-contained."""
        (made,), parts = msgspec.json.schema_components([self.type], ref_template="{name}")
        found = dict(parts[made["$ref"]])
        for key in ("title", "description"):
            found.pop(key, None)
        found["additionalProperties"] = False
        found.setdefault("required", [])
        return found


TOOLS = {
    tool.name: tool
    for tool in (
        Tool("rye_search", SearchCall, "search"),
        Tool("rye_load", LoadCall, "load"),
        Tool("rye_execute", ExecuteCall, "execute"),
        Tool("rye_sign", SignCall, "sign"),
        Tool("rye_return", ReturnCall, None),
    )
}
"""By name, in the order of listings."""


class CallError(Exception):
    """A call was refused or failed. The caller gets only :meth:`as_json`; no other detail of the cause leaves the session."""

    def __init__(
        self,
        code: Code,
        message: str,
        hint: str | None = None,
        *,
        required: str | None = None,
        chain: tuple[LevelDecision, ...] = (),
        resource: str | None = None,
        details: dict[str, object] | None = None,
    ):
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.required = required
        self.chain = chain
        self.resource = resource
        self.details = details or {}

    def as_json(self) -> dict[str, object]:
        """Return ``{"error": {"code", "message", "hint", "required", "chain", "resource", …details}}``, at most
        :data:`rye.limits.RUNTIME` ``.error_bytes`` as JSON in ASCII."""
        shown = self.chain
        if len(shown) > _CHAIN_SHOWN:  # the levels that deny matter most
            shown = tuple(level for level in shown if level.by is None)[:_CHAIN_SHOWN] or shown[-_CHAIN_SHOWN:]
        most = _CUT
        while True:
            document: dict[str, object] = {
                "error": {
                    "code": self.code,
                    "message": cut(self.message, 2 * most),
                    "hint": cut(self.hint, 2 * most) if self.hint is not None else None,
                    "required": cut(self.required, 2 * most) if self.required is not None else None,
                    "chain": [_level(level, most) for level in shown],
                    "resource": cut(self.resource, most) if self.resource is not None else None,
                    **{name: _shortened(value, most) for name, value in self.details.items()},
                }
            }
            if len(json.dumps(document).encode()) <= RUNTIME.error_bytes or most < 4:
                return document
            most //= 2
            shown = shown[: max(1, len(shown) // 2)] if most < 60 else shown


def cut(text: str, most: int) -> str:
    """Return the text on one line of at most ``most`` characters, with unprintable characters replaced by spaces."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    return plain if len(plain) <= most else f"{plain[: max(most - 1, 0)]}…"


def _level(level: LevelDecision, most: int) -> dict[str, object]:
    return {"id": cut(level.id, most), "by": cut(level.by, most) if level.by is not None else None}


def _shortened(value: object, most: int) -> object:
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, list | tuple):
        return [_shortened(each, most) for each in value[: max(most // 8, 1)]]
    if isinstance(value, dict):
        return {cut(str(name), most): _shortened(each, most) for name, each in list(value.items())[: max(most // 8, 1)]}
    return value


def parse_call(name: str, arguments: object) -> Call:
    """Parse a model's call. Raises CallError ``invalid-parameters``."""
    tool = TOOLS.get(name)
    if tool is None:
        raise CallError("invalid-parameters", f"There is no tool {cut(name, 80)!r}.", f"Tools: {', '.join(TOOLS)}.")
    given = {} if arguments is None else arguments
    try:
        size = len(json.dumps(given, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError):
        raise CallError("invalid-parameters", "The arguments are not JSON.", "Pass one JSON object.") from None
    if size > RUNTIME.argument_bytes:
        message = f"The arguments are {size} bytes long; the limit is {RUNTIME.argument_bytes}."
        raise CallError("invalid-parameters", message, "Pass the path of a file instead of its content.")
    if nesting(given) > CONTENT.json_depth:
        message = f"The arguments are nested more than {CONTENT.json_depth} levels deep."
        raise CallError("invalid-parameters", message, "Pass flatter parameters.")
    try:
        json_decoder(tool.type)  # calls come from several threads: msgspec learns each type in turn
        call: Call = msgspec.convert(given, tool.type, strict=True)
    except msgspec.ValidationError as error:
        hint = f"{name} accepts {', '.join(tool.schema['properties'])}."
        raise CallError("invalid-parameters", f"{name}: {error}.", hint) from None
    if isinstance(call, ReturnCall):
        _check_return(call)
    else:
        _check_item(name, call)
    return call


def _check_item(name: str, call: SearchCall | LoadCall | ExecuteCall | SignCall) -> None:
    kinds = ITEM_TYPES if isinstance(call, ExecuteCall) else tuple(KINDS)
    if call.item_type not in KINDS:
        message = f"{name}: {cut(call.item_type, 40)!r} is not an item type."
        raise CallError("invalid-parameters", message, f"Item types: {', '.join(kinds)}.")
    if not isinstance(call, SearchCall) and not is_id(call.item_id):
        message = f"{name}: {cut(call.item_id, 80)!r} is not an id."
        hint = "Ids are segments of a-z, 0-9, - and _ joined by /, such as acme/notes/style, without kind and version."
        raise CallError("invalid-parameters", message, hint)


def _check_return(call: ReturnCall) -> None:
    failed = call.status == "error"
    if failed and call.outputs is not UNSET:
        message = "rye_return: outputs and an error cannot be returned together."
    elif not failed and call.outputs is UNSET:
        message = "rye_return: outputs are missing."
    elif not failed and call.error_detail is not UNSET:
        message = 'rye_return: error_detail is only allowed with "status": "error".'
    else:
        return
    raise CallError("invalid-parameters", message, 'Pass outputs, or "status": "error" with error_detail.')


def nesting(value: object) -> int:
    """Return how deeply objects and arrays are nested, counted without recursion."""
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else None
        if inner is not None:
            deepest = max(deepest, depth)
            waiting.extend((each, depth + 1) for each in inner)
    return deepest


_CODES: dict[str, Code] = {
    "no-such-item": "unknown-item",
    "no-such-file": "unknown-item",
    "other-version": "not-installed",
    "ambiguous": "ambiguous",
    "not-installed": "not-installed",
    "not-locked": "untrusted",
    "modified-item": "modified",
    "changed-meanwhile": "modified",
    "shadows-installed": "ambiguous",
    "unverified-item": "untrusted",
    "lock-mismatch": "modified",
    "project-not-accepted": "untrusted",
    "consent-needed": "untrusted",
    "policy-violation": "denied",
    "signer-revoked": "revoked",
    "release-taken-down": "revoked",
    "withdrawn": "revoked",
    "does-not-parse": "not-runnable",
    "no-prompt": "not-runnable",
    "bad-inputs": "invalid-parameters",
    "missing-input": "invalid-parameters",
    "declined": "denied",
    "log-unwritable": "not-runnable",
    "advisory": "advisory",
    "installed-item": "not-runnable",
    "invalid-item": "not-runnable",
    "not-runnable": "not-runnable",
    "no-key": "not-runnable",
    "bad-key": "not-runnable",
    "passphrase-needed": "not-runnable",
    "wrong-passphrase": "not-runnable",
    "cancelled": "cancelled",
    "tool-failed": "tool-failed",
    "tool-timeout": "tool-timeout",
    "output-too-large": "output-too-large",
    "sandbox-unavailable": "sandbox-unavailable",
    "grant-changed": "grant-changed",
    "in-use": "in-use",
    "journal-damaged": "journal-damaged",
    "token-expired": "token-expired",
    "untrusted": "untrusted",
}
"""The use cases' error codes, mapped to those that callers of the five tools see."""


def from_rye_error(error: RyeError, resource: str | None = None) -> CallError:
    """Convert a use case's error for the caller. An unmapped code becomes ``untrusted``: fail closed."""
    code = _CODES.get(error.code, "untrusted")
    return CallError(code, error.message, error.hint, resource=resource, details={"cause": error.code})
