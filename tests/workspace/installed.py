"""A handmade item in ``.ai/packages`` with its row in rye.lock, which counts as verified for this user."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from rye.consent.approved import approving
from rye.items.signed_release import SignedRelease
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text, parse_lock
from rye.registry.store.pins import state_path
from rye.registry.store.state import StateStore
from rye.storage.home import Home
from rye.verified.basis import stored_basis
from rye.verified.memory import Memory


def count_as_verified(home: Home, item: LockedItem) -> None:
    """Act as if the user had pinned the item's registry and verified the row."""
    state = state_path(home.registries, item.registry)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({"origin": item.registry, "roots": ["a root\n\nits signatures\n"]}))
    StateStore(home.registries).remember_address(f"https://{item.registry}", item.registry)
    verdicts = home.verdicts()
    release = SignedRelease(item.capabilities, item.agent_tools, item.hooks)
    Memory(verdicts, stored_basis(home)).remember([(item, release)])
    verdicts.flush()
    verdicts.close()


def put(
    home: Home,
    root: Path,
    kind: str,
    identifier: str,
    place: str,
    data: bytes,
    *,
    suffix: str = ".md",
    attached: dict[str, bytes] | None = None,
    approved_facts: tuple[str, ...] = (),
) -> Path:
    """Write the item's file and attached files, add its row, and return the item's file.

    ``approved_facts``: approved in rye.lock; this user has not agreed to them.
    """
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
        approved=approving(fact=approved_facts),
    )
    count_as_verified(home, item)
    lock = parse_lock(project.lock_path.read_text()) if project.lock_path.exists() else Lock()
    project.lock_path.write_text(lock_text(Lock(lock.wanted, (*lock.items, item))))
    return path
