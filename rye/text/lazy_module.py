"""Modules of other packages that are imported on first use.

A command pays for each module that its own modules import. Where one of them is only used for rare input, it is declared at
the top all the same::

    if TYPE_CHECKING:
        import json
    else:
        json = lazy_module("json")

Modules of this program are imported as usual: ``tests/house/test_rooms.py`` reads their imports.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _OnFirstUse:
    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def lazy_module(name: str) -> Any:
    """Return what behaves like the module of this full name. Raises ModuleNotFoundError on first use, not before."""
    return _OnFirstUse(name)
