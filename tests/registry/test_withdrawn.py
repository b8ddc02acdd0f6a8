"""Takedowns that this machine saw are never forgotten (docs/explanation/security.md)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rye.registry.store.pins import read_withdrawn, remember_withdrawn

ORIGIN = "registry.example"


def test_what_two_programs_see_at_once_is_kept_of_both(tmp_path: Path) -> None:
    """Each writer holds the lock from its last read to its write."""
    seen = [f"directive:acme/item-{number} 1.0.0" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: remember_withdrawn(tmp_path, ORIGIN, [one]), seen))
    assert read_withdrawn(tmp_path, ORIGIN) == set(seen)
