"""The stored table of commands that :mod:`rye.cli.completing.table` writes."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any


@cache
def stored_table() -> dict[str, Any]:
    """The rows of all commands, keyed by their words."""
    with open(os.path.join(os.path.dirname(__file__), "commands.json"), encoding="utf-8") as stream:
        loaded: dict[str, Any] = json.load(stream)
    return loaded
