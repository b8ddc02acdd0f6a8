"""Regular expressions that are compiled on first use.

Compiling one costs as much as importing a small module, and most commands use few of the expressions in the modules they load.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _OnFirstUse:
    """Behaves like the :class:`re.Pattern` of its source. Each attribute is looked up there once."""

    def __init__(self, source: str | bytes, flags: int):
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when its first method is called.

    Raises :class:`re.error` only then, so ``tests/text/test_lazy_pattern.py`` compiles them all.
    """
    return cast("re.Pattern[AnyStr]", _OnFirstUse(source, flags))
