"""One call of a run: as it was received, as the log shows it, and the decision about it."""

from __future__ import annotations

import json
from hashlib import sha256

from msgspec import Struct

from rye.runtime.calls import Call, CallError, ReturnCall, SearchCall, parse_call
from rye.runtime.chain import Decision
from rye.runtime.effects import OwnFile, UsableItem
from rye.runtime.redaction import redacted, redacted_text

_NAME_CHARACTERS = 80


class Asked(Struct, frozen=True, kw_only=True):
    """One call as received."""

    name: str
    """The name of the tool."""
    call: Call
    """The parsed call; a harmless placeholder if the arguments are invalid."""
    number: int
    """The number of its line in the log; 0 until it has one."""
    item: str
    """``kind:id`` as given; only the kind for a search, empty for a return."""
    params: object
    """Without secrets, and shortened to what a log line can hold."""
    params_sha256: str
    given: object = None
    """The arguments as received."""


class Allowed(Struct, frozen=True):
    """What a call may do, and the item whose bytes it uses."""

    decision: Decision
    item: UsableItem | OwnFile | None = None
    agreed: bool = False
    """Whether a person was asked about the call, and agreed."""

    @property
    def label(self) -> str | None:
        """``kind:id``, with ``@version`` if known; None for a call without an item."""
        if isinstance(self.item, UsableItem):
            return self.item.label
        return f"{self.item.kind}:{self.item.id}" if self.item is not None else None

    @property
    def sha256(self) -> str | None:
        """The hash of the item's bytes; None for a call without an item."""
        return self.item.sha256 if self.item is not None else None


def read_call(name: str, arguments: object, secrets: tuple[str, ...]) -> tuple[Asked, CallError | None]:
    """Parse a call. Also return the refusal if the arguments are invalid, else None."""
    try:
        call, refused = parse_call(name, arguments), None
    except CallError as error:
        call, refused = ReturnCall(), error
    try:
        encoded = json.dumps(arguments, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        encoded = b"null"
    item = ""
    if isinstance(call, SearchCall):
        item = call.item_type
    elif not isinstance(call, ReturnCall):
        item = f"{call.item_type}:{call.item_id}"
    params = redacted(arguments if refused is None else {"unreadable": len(encoded)}, secrets)
    given = arguments if refused is None else None
    return Asked(
        name=redacted_text(name, secrets)[:_NAME_CHARACTERS],
        call=call,
        number=0,
        item=item,
        params=params,
        params_sha256=sha256(encoded).hexdigest(),
        given=given,
    ), refused
