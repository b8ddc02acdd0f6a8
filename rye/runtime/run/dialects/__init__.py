"""How providers want a conversation: one file for each dialect, each two pure functions and a path."""

from __future__ import annotations

from types import ModuleType

from rye.runtime.run.dialects import anthropic, openai
from rye.runtime.run.models import Dialect

_DIALECTS: dict[Dialect, ModuleType] = {"anthropic": anthropic, "openai": openai}


def dialect(name: Dialect) -> ModuleType:
    """Its module: ``address(url)``, ``headers(key)``, ``body(model, system, messages, tools, most)``, ``reply(data, model)``."""
    return _DIALECTS[name]
