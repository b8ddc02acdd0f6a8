"""Regular expressions that are compiled when they are first used.

Compiling one costs as much as importing a small module, and most commands need few of those that the modules they load define.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _OnFirstUse:
    """Looks like the :class:`re.Pattern` that its source compiles to; each attribute is looked up there once."""

    def __init__(self, source: str | bytes, flags: int):
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression, compiled when its first method is called.

    Raises :class:`re.error` only then; so a test compiles every one (``tests/text/test_lazy_pattern.py``).
    """
    return cast("re.Pattern[AnyStr]", _OnFirstUse(source, flags))
