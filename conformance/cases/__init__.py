"""The cases, a file for each subject. :func:`every_case` imports all and returns them in order."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable

from conformance.play import Case, Play

_CASES: dict[str, Case] = {}


def case(
    id: str, page: str, quote: str, *refuses: str, needs: Iterable[str] = ()
) -> Callable[[Callable[[Play], None]], Callable[[Play], None]]:
    """Register a function as a case. ``refuses``: none means that the decisive step is accepted."""

    def register(play: Callable[[Play], None]) -> Callable[[Play], None]:
        add(Case(id, page, quote, refuses, frozenset(needs), play))
        return play

    return register


def add(new: Case) -> None:
    """Register a case. Raises ValueError for a second one with the same id."""
    if new.id in _CASES:
        raise ValueError(f"two cases are called {new.id}")
    _CASES[new.id] = new


def every_case() -> tuple[Case, ...]:
    """All cases, sorted by id."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(_CASES[id] for id in sorted(_CASES))
