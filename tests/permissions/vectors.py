"""The golden vectors for permissions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vectors(name: str) -> list[dict[str, Any]]:
    path = Path(__file__).parents[1] / "vectors" / "permissions" / name
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows
