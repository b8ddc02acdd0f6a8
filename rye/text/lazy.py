"""Regular expressions that are compiled, and modules of other packages that are imported, on first use.

Compiling an expression costs as much as importing a small module, and most commands use few of the expressions in the
modules they load. Where another package's module is only used for rare input, it is declared at the top all the same::

    if TYPE_CHECKING:
        import json
    else:
        json = lazy_module("json")

Modules of this program are imported as usual: ``tests/house/test_rooms.py`` reads their imports.
"""

from __future__ import annotations

import re
from importlib import import_module
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


class _ModuleOnFirstUse:
    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def lazy_module(name: str) -> Any:
    """Return what behaves like the module of this full name. Raises ModuleNotFoundError on first use, not before."""
    return _ModuleOnFirstUse(name)
