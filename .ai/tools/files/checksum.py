#!/usr/bin/env python3
# rye:signed:2026-11-22T08:19:22Z:80f7d3eb1a98b96b8e1e84196bbc6cdca0220869232206d7667626d738c5c879:dVcFhv_QC3BcmWbjGyVVM_uoTlvj5-sF_8f03duYVb14JTA7WUlb6BhcJW95s-k9fexPBC-44yH3S0QloI7fCA==:7f544f921636257b
"""SHA-256 of every file below a folder, one line each, sorted: what was received, before anything changes it."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

__version__ = "1.0.0"
__category__ = "files"
__tool_description__ = "Print the SHA-256 and the path of every regular file below a folder"


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


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).exists():
        sys.exit("usage: checksum.py FILE|FOLDER")
    print("\n".join(checksums(Path(sys.argv[1]))))
