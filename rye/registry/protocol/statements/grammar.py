"""What all statements share: a title, lines in a fixed order, and exactly one text per value."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from rye.registry.protocol import lines
from rye.registry.protocol.lines import Lines, malformed

_T = TypeVar("_T")
_W = TypeVar("_W", bound=str)
_S = TypeVar("_S", bound="Statement")


class Statement(Struct, frozen=True):
    """The base of all statements."""

    TITLE: ClassVar[str] = ""
    origin: str

    def lines(self) -> list[str]:
        """Return the lines after the title, without LF."""
        raise TypeError(f"{type(self).__name__} does not write its lines")

    @classmethod
    def read(cls: type[_S], source: Lines) -> _S:
        """Read this statement's lines. The caller checks that none is left."""
        raise TypeError(f"{cls.__name__} does not read its lines")

    def text(self) -> str:
        """Return the text that is signed. Raises StatementError if the value breaks a rule of its grammar."""
        text = "\n".join([self.TITLE, *self.lines()]) + "\n"
        if self.parse(text) != self:
            raise malformed("its text cannot represent this value")
        return text

    @classmethod
    def parse(cls: type[_S], text: str) -> _S:
        """Read a text of this type. Raises StatementError for everything that :meth:`text` would not write."""
        source = Lines(text, cls.TITLE)
        value = cls.read(source)
        source.end()
        return value

    def sha256(self) -> str:
        """Return the hash by which a successor names this statement: that of its text, without signatures."""
        return hashlib.sha256(self.text().encode()).hexdigest()


def one_of(*allowed: _W) -> Callable[[str], _W]:
    """Return a reader that accepts only these words."""

    def read(text: str) -> _W:
        for word in allowed:
            if text == word:
                return word
        raise malformed(f"{text[:80]!r} is not one of {', '.join(allowed)}")

    return read


def value_or_none(source: Lines, key: str, read: Callable[[str], _T], absent: str = "-") -> _T | None:
    """Read a required line whose value can be ``absent``, which means none."""
    found: list[_T] = source.one(key, lambda text: [] if text == absent else [read(text)])
    return found[0] if found else None


def fields(text: str, count: int) -> list[str]:
    """Split a line's value at its first spaces into exactly ``count`` fields. Raises StatementError."""
    parts = text.split(" ", count - 1)
    if len(parts) != count:
        raise malformed(f"{text[:80]!r} does not have {count} fields")
    return parts


def keep_sorted(value: Struct, name: str, write: Callable[[_T], str]) -> None:
    """Sort a repeated field of a frozen value in the order of its lines."""
    values = getattr(value, name)
    if type(values) is not tuple or len(values) > 1:
        force_setattr(value, name, lines.in_line_order(values, write))
