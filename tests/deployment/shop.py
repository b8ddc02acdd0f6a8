"""A project with installed items of every kind, written by hand and counted as verified, and a user who deploys them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from rye.consent.approved import approving
from rye.consent.sorts import approvals
from rye.project.layout import Project
from rye.project.lock import Lock, LockedFile, LockedItem, lock_text, parse_lock
from rye.workspace.trusting.acceptance import remember_accepted
from tests.scenes.directive_text import SHELL, directive
from tests.scenes.person import Person
from tests.workspace.installed import count_as_verified

SKILL = """---
name: {name}
description: {description}
{more}metadata:
  version: "1.0.0"
---

# {name}

{body}
"""
AGENT = """---
name: {name}
displayName: {name}
whenToUse: |
  Use it when: "{name}" is needed
{tools}transitions:
  onSuccess: complete
limits:
  maxIterations: 7
  timeout: 60000
provider:
  name: claude
  model: sonnet
metadata:
  version: 1.0.0
---

# {name}

## System Prompt

You are {name}.
"""
ROLE = """# Release Manager — Nexus SDLC Agent

> Ships what is done.

## Identity

You ship.

## When This Agent Is Invoked

When a release is due.

## Responsibilities

- Ship.
"""
KNOWLEDGE = """```yaml
name: {name}
title: "{title}"
entry_type: reference
category: notes
version: "1.0.0"
description: {description}
```

# {title}

Write short sentences.
"""
FORMULA = """formula = "{name}"
type = "workflow"
description = "How to ship"
version = 1

[vars.what]
description = "What to ship"
required = true

[[steps]]
id = "build"
title = "Build {{{{what}}}}"
description = "Build it."

[[steps]]
id = "ship"
title = "Ship"
description = "Ship it."
needs = ["build"]
"""
READ_ONLY = "tools:\n  allowed: [Read, Glob, Grep]\n"


def skill(name: str, *, more: str = "", body: str = "Do it.", description: str = "Does it.") -> str:
    return SKILL.format(name=name, description=description, more=more, body=body)


def agent(name: str, tools: str = READ_ONLY) -> str:
    return AGENT.format(name=name, tools=tools)


def knowledge(name: str, title: str = "Style", description: str = "How we write") -> str:
    return KNOWLEDGE.format(name=name, title=title, description=description)


def wrapped(name: str = "work/plan") -> str:
    """A directive without execute rights."""
    return directive(name)


def bound(name: str = "work/ship") -> str:
    """A directive with execute rights."""
    return directive(name, permissions=SHELL)


class Shop(Person):
    """The user. ``install`` puts an item in place; rye.toml requests it unless told otherwise."""

    def __init__(self, base: Path, deploy: str = 'targets = ["claude", "codex"]') -> None:
        super().__init__(base)
        self.deploy = deploy
        self.asked: dict[str, str] = {}
        self.write_manifest()

    @property
    def project(self) -> Project:
        return Project(self.folder)

    def write_manifest(self, deploy: str | None = None) -> None:
        """Write rye.toml with the requested items and ``[deploy]``, and a matching lock."""
        self.deploy = self.deploy if deploy is None else deploy
        lines = ["[project]", 'name = "shop"', "", "[dependencies]"]
        lines += [f'"{key}" = "{wanted}"' for key, wanted in sorted(self.asked.items())]
        self.write("rye.toml", "\n".join([*lines, "", *(["[deploy]", self.deploy, ""] if self.deploy else [])]))
        path = self.project.lock_path
        lock = parse_lock(path.read_text()) if path.exists() else Lock()
        path.write_text(lock_text(Lock(self.asked, lock.items)))

    def install(
        self,
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
        from rye.project.lock_file import item_folder, item_path

        suffix = {"skill": "SKILL.md", "formula": ".formula.toml", "bundle": ".bundle.toml", "tool": ".py"}.get(
            kind, ".md"
        )
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
        self.write(item_path(item), data)
        for name, content in (attached or {}).items():
            path = self.write(f"{item_folder(item)}/{name}", content)
            path.chmod(0o755 if name in executable else 0o644)
        count_as_verified(self.folders, item)
        if agreed:
            remember_accepted(self.folders, self.project, approvals([item]))
        path = self.project.lock_path
        lock = parse_lock(path.read_text()) if path.exists() else Lock()
        others = tuple(row for row in lock.items if row.identity != item.identity)
        path.write_text(lock_text(Lock(lock.wanted, (*others, item))))
        if asked:
            self.asked[str(item.identity)] = "*"
            self.write_manifest()
        return item

    def uninstall(self, label: str) -> None:
        """Remove the item from rye.toml, the lock and ``.ai/packages``."""
        import shutil

        from rye.project.lock_file import item_folder, item_path

        path = self.project.lock_path
        lock = parse_lock(path.read_text())
        item = next(row for row in lock.items if str(row.identity) == label)
        if item.suffix == "SKILL.md":
            shutil.rmtree(self.folder / item_folder(item))
        else:
            (self.folder / item_path(item)).unlink()
        path.write_text(lock_text(Lock(lock.wanted, tuple(row for row in lock.items if row != item))))
        self.asked.pop(label, None)
        self.write_manifest()

    def tree(self) -> dict[str, tuple[str, int]]:
        """Every file and folder except ``.ai/.rye``: hash and mode."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name.startswith(".ai/.rye"):
                continue
            content = (
                f"-> {os.readlink(path)}"
                if path.is_symlink()
                else "folder"
                if path.is_dir()
                else sha256(path.read_bytes()).hexdigest()
            )
            found[name] = content, path.lstat().st_mode & 0o7777
        return found
