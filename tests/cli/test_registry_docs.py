"""The page about copies names existing codes and limits. ``tests/docs/test_typed.py`` types its commands."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "mirrors.md").read_text("utf-8")


def test_every_code_of_the_page_is_one_of_the_program_s() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "rye" / "registry").rglob("*.py"))
    for room in ("workspace", "cli"):
        sources += "".join(path.read_text("utf-8") for path in (ROOT / "rye" / room).rglob("*.py"))
    codes = set(re.findall(r"\(`([a-z]+-[a-z-]+)`\)", PAGE))
    assert {"wrong-folder", "in-use", "bundle-old", "bundle-outdated", "bundle-other-lock"} <= codes
    for code in codes:
        assert f'"{code}"' in sources, code


def test_the_limits_of_the_page_are_the_program_s() -> None:
    from rye.limits import MIRROR

    assert MIRROR.airgap_bytes == 1024**3
    assert f"{MIRROR.airgap_files:,} files" in PAGE
    assert f"--interval {MIRROR.watch_seconds:g}" in PAGE
