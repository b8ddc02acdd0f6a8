"""Regular expressions that are compiled on first use.

Compiling one costs as much as importing a small module, and most commands use few of the expressions in the modules they load.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _OnFirstUse:
    """Behaves like the :class:`re.Pattern` of its source. Its first use compiles it, and makes it a :class:`_InUse`."""

    def __init__(self, source: str | bytes, flags: int):
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        for each in _PUBLIC:
            setattr(self, each, getattr(compiled, each))
        self.__class__ = _InUse  # type: ignore[assignment]
        return getattr(compiled, name)


class _InUse:
    """A pattern after its first use. It has no ``__getattr__``: in a class that does, a call takes twice as long."""


_PUBLIC = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when its first method is called.

    Raises :class:`re.error` only then, so ``tests/text/test_lazy_pattern.py`` compiles them all.
    """
    return cast("re.Pattern[AnyStr]", _OnFirstUse(source, flags))
