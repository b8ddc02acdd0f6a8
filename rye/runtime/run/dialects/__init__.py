"""Writes conversations in the dialects of providers and reads their answers: one module of pure functions per dialect."""

from __future__ import annotations

from types import ModuleType

from rye.runtime.run.dialects import anthropic, openai
from rye.runtime.run.models import Dialect

_DIALECTS: dict[Dialect, ModuleType] = {"anthropic": anthropic, "openai": openai}


def dialect(name: Dialect) -> ModuleType:
    """Return a dialect's module, with ``address(url)``, ``headers(key)``, ``body(model, system, messages, tools, most)`` and
    ``reply(data, model)``."""
    return _DIALECTS[name]
