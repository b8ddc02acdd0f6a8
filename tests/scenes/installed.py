"""Handmade items in ``.ai/packages`` with their rows in rye.lock, which count as verified for a user. No registry is needed."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from rye.consent.ask import approving
from rye.consent.sorts import approvals
from rye.items.signed_release import SignedRelease
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text, parse_lock
from rye.project.lock_file import item_folder, item_path
from rye.registry.store.pins import state_path
from rye.registry.store.state import StateStore
from rye.storage.home import Home
from rye.verified.memory import Memory, stored_basis
from rye.workspace.trusting.acceptance import remember
from tests.scenes.person import Person

_NEW = '[project]\nname = "shop"\n\n[dependencies]\n'
_MANIFEST = re.compile(r'(?P<head>.*?)\[dependencies\]\n(?:"[^\n]*\n)*(?P<rest>.*)', re.DOTALL)


def count_as_verified(home: Home, item: LockedItem) -> None:
    """Act as if the user had pinned the item's registry and verified the row."""
    state = state_path(home.registries, item.registry)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text(json.dumps({"origin": item.registry, "roots": ["a root\n\nits signatures\n"]}))
    StateStore(home.registries).remember_address(f"https://{item.registry}", item.registry)
    verdicts = home.verdicts()
    release = SignedRelease(capabilities=item.capabilities, agent_tools=item.agent_tools, hooks=item.hooks)
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
    facts_in_lock: tuple[str, ...] = (),
) -> Path:
    """Write the item's file and attached files, add its row, and return the item's file.

    ``facts_in_lock``: approved in rye.lock; this user has not agreed to them.
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
        approved=approving(fact=facts_in_lock),
    )
    count_as_verified(home, item)
    lock = parse_lock(project.lock_path.read_text()) if project.lock_path.exists() else Lock()
    project.lock_path.write_text(lock_text(Lock(lock.wanted, (*lock.items, item))))
    return path


def project_with_targets(base: Path, deploy: str = 'targets = ["claude", "codex"]') -> Person:
    """Someone with a project that has no items yet, and this table ``deploy`` in rye.toml."""
    person = Person(base)
    write_manifest(person, deploy)
    return person


def write_manifest(person: Person, deploy: str | None = None, wanted: Mapping[str, str] | None = None) -> None:
    """Write rye.toml and a matching lock. ``deploy`` and ``wanted``: the table and the dependencies; None: as they are."""
    path = person.path("rye.toml")
    before = _MANIFEST.fullmatch(path.read_text() if path.exists() else _NEW)
    assert before is not None, path.read_text()
    lock = locked(person)
    items = lock.wanted if wanted is None else dict(wanted)
    lines = "".join(f'"{label}" = "{version}"\n' for label, version in sorted(items.items()))
    rest = before["rest"] if deploy is None else f"\n[deploy]\n{deploy}\n" if deploy else ""
    person.write("rye.toml", f"{before['head']}[dependencies]\n{lines}{rest}")
    person.project.lock_path.write_text(lock_text(Lock(items, lock.items)))


def locked(person: Person) -> Lock:
    """The lock of the person's project, an empty one if there is none."""
    path = person.project.lock_path
    return parse_lock(path.read_text()) if path.exists() else Lock()


def install(
    person: Person,
    kind: str,
    identifier: str,
    text: str | bytes,
    *,
    attached: Mapping[str, bytes] | None = None,
    executable: tuple[str, ...] = (),
    version: str = "1.0.0",
    asked: bool = True,
    depends: tuple[str, ...] = (),
    capabilities: tuple[str, ...] = (),
    agreed: bool = True,
) -> LockedItem:
    """Put the item on disk and in the lock, replacing an older version. ``agreed``: by this user, and not by a colleague."""
    suffix = {"skill": "SKILL.md", "formula": ".formula.toml", "bundle": ".bundle.toml", "tool": ".py"}.get(kind, ".md")
    data = text.encode() if isinstance(text, str) else text
    rows = tuple(
        LockedFile(name, len(content), sha256(content).hexdigest(), name in executable)
        for name, content in sorted((attached or {}).items())
    )
    item = LockedItem(
        kind=kind,
        id=identifier,
        version=version,
        size=len(data),
        sha256=sha256(data).hexdigest(),
        suffix=suffix,
        registry="registry.example",
        log=1,
        keyset=1,
        signer="SHA256:" + "A" * 43,
        attached=rows,
        dependencies=depends,
        capabilities=capabilities,
        approved=approving(right=capabilities if agreed else ()),
    )
    person.write(item_path(item), data)
    for name, content in (attached or {}).items():
        path = person.write(f"{item_folder(item)}/{name}", content)
        path.chmod(0o755 if name in executable else 0o644)
    count_as_verified(person.folders, item)
    if agreed:
        remember(person.folders, person.project, approvals([item]), accepts=True)
    lock = locked(person)
    others = tuple(row for row in lock.items if row.identity != item.identity)
    person.project.lock_path.write_text(lock_text(Lock(lock.wanted, (*others, item))))
    if asked:
        write_manifest(person, wanted={**lock.wanted, str(item.identity): "*"})
    return item


def uninstall(person: Person, label: str) -> None:
    """Remove the item from rye.toml, the lock and ``.ai/packages``."""
    lock = locked(person)
    item = next(row for row in lock.items if str(row.identity) == label)
    if item.suffix == "SKILL.md":
        shutil.rmtree(person.folder / item_folder(item))
    else:
        (person.folder / item_path(item)).unlink()
    person.project.lock_path.write_text(lock_text(Lock(lock.wanted, tuple(row for row in lock.items if row != item))))
    write_manifest(person, wanted={name: version for name, version in lock.wanted.items() if name != label})


def tree(person: Person) -> dict[str, tuple[str, int]]:
    """Every file and folder of the project except ``.ai/.rye``: hash and mode."""
    entries = {}
    for path in sorted(person.folder.rglob("*")):
        name = path.relative_to(person.folder).as_posix()
        if name.startswith(".ai/.rye"):
            continue
        content = (
            f"-> {os.readlink(path)}"
            if path.is_symlink()
            else "folder"
            if path.is_dir()
            else sha256(path.read_bytes()).hexdigest()
        )
        entries[name] = content, path.lstat().st_mode & 0o7777
    return entries
