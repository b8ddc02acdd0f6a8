"""Where tests find the real files outside this repository; tests skip with a message if the folder is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(os.environ.get("RYE_SHARED") or Path(__file__).resolve().parents[3] / "shared")


def shared(relative: str) -> Path:
    """The path of a shared file or folder; skips the calling test if it does not exist."""
    path = _ROOT / relative
    if not path.exists():
        pytest.skip(f"shared data {relative!r} is not here (set RYE_SHARED to its folder)")
    return path
