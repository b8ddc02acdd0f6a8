"""An item in ``.ai/packages`` with its row in rye.lock, written by hand."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text, parse_lock


def put(
    root: Path,
    kind: str,
    identifier: str,
    place: str,
    data: bytes,
    *,
    suffix: str = ".md",
    attached: dict[str, bytes] | None = None,
) -> Path:
    """Write the item's file and the files attached to it, and add its row; the item's file."""
    project = Project(root)
    path = project.packages / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    rows = []
    for name, content in sorted((attached or {}).items()):
        (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (path.parent / name).write_bytes(content)
        rows.append(LockedFile(name, len(content), sha256(content).hexdigest()))
    item = LockedItem(
        kind=kind,
        id=identifier,
        version="1.0.0",
        size=len(data),
        sha256=sha256(data).hexdigest(),
        suffix=suffix,
        registry="registry.example",
        log=1,
        keyset=1,
        signer="SHA256:" + "A" * 43,
        attached=tuple(rows),
    )
    lock = parse_lock(project.lock_path.read_text()) if project.lock_path.exists() else Lock()
    project.lock_path.write_text(lock_text(Lock(lock.wanted, (*lock.items, item))))
    return path
