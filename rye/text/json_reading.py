"""Strict JSON (RFC 8259) for input from people and programs, and decoders of typed values.

Refused: a duplicate key, NaN and infinities, a number beyond a double, bytes that are not UTF-8, and nesting deeper than
:data:`rye.limits.CONTENT` allows. Depth is checked before any value is built.

Decoders of typed values are made once, and one at a time. msgspec stores what it needs to know about a type when it
makes the type's first decoder. Some versions (0.19, 0.20) can crash if two threads do that for the same type at the
same time, also where the type is only a part of another one. So types that several threads may decode are decoded by
these.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import msgspec

from rye.limits import CONTENT
from rye.text.lazy import lazy_module

if TYPE_CHECKING:
    import json
else:
    json = lazy_module("json")  # decoding msgpack or a type needs none


UNDECODABLE: Final = (msgspec.MsgspecError, UnicodeError, RecursionError)
"""What msgspec's decoders raise: for a text that is not UTF-8, and for deep nesting, an error that is not one of its own."""


class JsonError(ValueError):
    """The text is not acceptable JSON. The message completes a sentence about it."""


def read_json(data: bytes | str) -> object:
    """Return the parsed value. Raises JsonError."""
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise JsonError(f"byte {error.start} is not UTF-8") from None
    _check_depth(text)
    try:
        return _decoder().decode(text)
    except json.JSONDecodeError as error:
        raise JsonError(f"{error.msg} at line {error.lineno}, column {error.colno}") from None


@cache
def _tokens() -> re.Pattern[str]:
    """A string, closed or not, or an opening or closing bracket."""
    return re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= CONTENT.json_depth:
        return
    depth = 0
    for found in _tokens().finditer(text):
        token = found.group()
        if token in "[{":
            depth += 1
            if depth > CONTENT.json_depth:
                raise JsonError(f"objects and arrays are nested more than {CONTENT.json_depth} deep")
        elif token in "]}":
            depth -= 1


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise JsonError(f"duplicate key {key[:80]!r}")
        members[key] = value
    return members


def _refuse(constant: str) -> NoReturn:
    raise JsonError(f"{constant} is not a JSON value")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonError(f"the number {text[:20]} is too large")
    return number


def _whole(text: str) -> int:
    if len(text) > CONTENT.json_digits:
        raise JsonError(f"a number has more than {CONTENT.json_digits} digits")
    return int(text)


_T = TypeVar("_T")
_making = threading.Lock()
_made: dict[tuple[Any, type], Any] = {}


def read_typed_json(data: bytes, kind: type[_T]) -> _T:
    """Return a value of a type from JSON that :func:`read_json` takes as well. Raises JsonError, whatever the bytes are."""
    try:
        value = json_decoder(kind).decode(data)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise JsonError(str(error)) from error
    except UnicodeDecodeError as error:  # no MsgspecError; and its position is that in one text
        raise JsonError(f"a text is not UTF-8: {error.reason}") from error
    read_json(data)  # finds duplicate keys, of which msgspec keeps the last
    return value


def json_decoder(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return the JSON decoder of a type. Always the same one."""
    found: msgspec.json.Decoder[_T] = _typed_decoder(msgspec.json.Decoder, kind)
    return found


def msgpack_decoder(kind: type[_T]) -> msgspec.msgpack.Decoder[_T]:
    """Return the MessagePack decoder of a type. Always the same one."""
    found: msgspec.msgpack.Decoder[_T] = _typed_decoder(msgspec.msgpack.Decoder, kind)
    return found


def _typed_decoder(form: Any, kind: type) -> Any:
    found = _made.get((form, kind))
    if found is None:
        with _making:
            found = _made.get((form, kind))
            if found is None:
                found = _made[form, kind] = form(kind)
    return found
