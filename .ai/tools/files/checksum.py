#!/usr/bin/env python3
# rye:signed:2026-11-22T19:00:27Z:9926f9729416486792528567264e4e68820e4080b0e4fd3eb85f3c7cf74577a6:87qqiCQoxecfecQozWQ7m2cmgEj0PwRe7P_nOeMEqb_n0vw-cPQ6OqZuI24ZTgS-T496hoU6sRzNxNrOSY3GBQ==:a5f1c70a2acaa289
"""SHA-256 of every file below a folder, one line each, sorted: what was received, before anything changes it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

__version__ = "1.1.0"
__category__ = "files"
__tool_description__ = "Give the SHA-256 and the path of every regular file below a folder"


def checksums(root: Path) -> list[str]:
    """Lines `hash  path`, sorted by path. Symbolic links are named, never followed."""
    lines = []
    for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
        if path.is_symlink():
            lines.append(f"{'link':<64}  {path}")
        elif path.is_file():
            digest = hashlib.sha256()
            with path.open("rb") as stream:
                while chunk := stream.read(1 << 16):
                    digest.update(chunk)
            lines.append(f"{digest.hexdigest()}  {path}")
    return lines


def execute(params: dict[str, str]) -> dict[str, list[str]]:
    """The lines of ``params["path"]``, which is absolute: a tool starts in an empty folder of its own."""
    root = Path(params["path"])
    if not root.is_absolute() or not root.exists():
        raise ValueError(f"{root} is no absolute path of a file or folder")
    return {"lines": checksums(root)}


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        sys.exit("usage: checksum.py FILE|FOLDER")
    print("\n".join(checksums(Path(sys.argv[1]))))
