"""Decoders of typed values, each made once and one at a time.

msgspec stores what it needs to know about a type when it makes the type's first decoder. Some versions (0.19, 0.20) can crash
if two threads do that for the same type at the same time, also where the type is only a part of another one. So types that
several threads may decode are decoded by these.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_making = threading.Lock()
_made: dict[tuple[Any, type], Any] = {}


def json_decoder(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return the JSON decoder of a type. Always the same one."""
    found: msgspec.json.Decoder[_T] = _decoder(msgspec.json.Decoder, kind)
    return found


def msgpack_decoder(kind: type[_T]) -> msgspec.msgpack.Decoder[_T]:
    """Return the MessagePack decoder of a type. Always the same one."""
    found: msgspec.msgpack.Decoder[_T] = _decoder(msgspec.msgpack.Decoder, kind)
    return found


def _decoder(form: Any, kind: type) -> Any:
    found = _made.get((form, kind))
    if found is None:
        with _making:
            found = _made.get((form, kind))
            if found is None:
                found = _made[form, kind] = form(kind)
    return found
