"""The SQL that SQLAlchemy composes, once for all registries of a process.

Each engine keeps what it composed, and tests make several engines for each registry: that was a tenth of the time to make one.
What is composed depends on the statement and on the dialect, and nobody changes it. Dialects of different engines count as one
here if they are of the same class, version and style of parameters.
"""

from __future__ import annotations

from typing import Any


class _Composed(dict[Any, Any]):
    """What engines look statements up in. A key begins with the engine's dialect."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_of_any_engine(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_of_any_engine(key), value)


def _of_any_engine(key: Any) -> tuple[Any, ...]:
    dialect, *rest = key
    return (type(dialect), dialect.server_version_info, dialect.paramstyle, *rest)


_composed = _Composed()
of_all_engines = property(lambda _engine: _composed, lambda _engine, _own: None)
"""Replaces ``sqlalchemy.Engine._compiled_cache``, which each engine sets to one of its own."""
