"""Tunes the interpreter of a long-lived process: the server, and those that it starts."""

from __future__ import annotations

import gc
import sys

_SWITCH_SECONDS = 0.001
"""How long a thread waits for the interpreter's lock while another computes."""
_COLLECTIONS = (20_000, 50, 50)
"""Thresholds of the garbage collector: requests and batches leave few cycles."""


def tune_interpreter() -> None:
    """Call it once everything is imported and opened."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # modules and caches stay: the collector need not look at them again
    gc.set_threshold(*_COLLECTIONS)
