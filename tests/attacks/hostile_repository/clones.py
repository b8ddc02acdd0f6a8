"""A reader's clone of the team's project, and what an attacker changes in it beforehand.

Each reader has a separate home and data folder. The posture says what they did before:

========  ========================================================================================
given     a build server: nothing but ``RYE_PINS``, and anyone with commit access may agree
pinned    pinned the registry, verified nothing; anyone with commit access may agree
member    installed the project here before (rows remembered); anyone with commit access may agree
offline   a member without a network; trusted state and cache are there
cold      pinned the registry, has nothing cached, and no network
visitor   pinned the registry, and agreed to nothing
stranger  pinned nothing
========  ========================================================================================
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from rye.items.identity import Identity
from rye.project.lock import Lock, LockedItem, lock_text, parse_lock
from rye.project.lock_file import item_path
from tests.attacks.hostile_repository.upstream import Upstream
from tests.scenes.approvals import changed
from tests.scenes.person import Person, Result

Posture = Literal["given", "pinned", "member", "offline", "cold", "visitor", "stranger"]
FORGED = "FORGED"
"""Part of every text that an attacker writes in place of a signed one. No reader may print it as an item's text."""


class Clone(Person):
    """One reader and their clone."""

    def __init__(self, upstream: Upstream, base: Path, posture: Posture) -> None:
        super().__init__(base)
        self.upstream = upstream
        self.posture = posture
        home = upstream.home_of(posture)
        if home is not None:
            shutil.rmtree(self.home)
            shutil.copytree(home, self.home)
        if posture == "given":
            self.environment["RYE_PINS"] = str(upstream.pins)
        if posture not in ("visitor", "stranger"):
            self.environment["RYE_TRUST_LOCK"] = "1"
        shutil.rmtree(self.folder)
        shutil.copytree(upstream.team.folder, self.folder, symlinks=True, ignore=shutil.ignore_patterns(".rye"))

    @property
    def outside(self) -> Path:
        """A folder next to the project that must stay untouched."""
        path = self.folder.parent / "outside"
        path.mkdir(exist_ok=True)
        return path

    def read(self, *words: str) -> Result:
        """Run a command as this reader."""
        return self.run(*words, "--json", *(["--offline"] if self.posture in ("offline", "cold") else []))

    # an attacker with commit access

    @property
    def lock(self) -> Lock:
        return parse_lock(self.path("rye.lock").read_text("utf-8"))

    def put_lock(self, lock: Lock) -> None:
        """Write the lock in its canonical form."""
        self.path("rye.lock").write_text(lock_text(lock), encoding="utf-8")

    def row(self, identity: Identity) -> LockedItem:
        found = self.lock.find(identity)
        assert found is not None
        return found

    def edit_row(self, identity: Identity, **words: object) -> None:
        """Change fields of an item's row in rye.lock."""
        lock = self.lock
        row = changed(self.row(identity), **words)
        assert row != self.row(identity)
        self.put_lock(Lock(lock.wanted, tuple(row if one.identity == identity else one for one in lock.items)))

    def drop_row(self, identity: Identity) -> None:
        lock = self.lock
        kept = tuple(one for one in lock.items if one.identity != identity)
        assert len(kept) < len(lock.items)
        self.put_lock(Lock(lock.wanted, kept))

    def file_of(self, identity: Identity) -> Path:
        """The path of an item's installed file."""
        return self.folder / item_path(self.row(identity))

    def edit_text(self, name: str, change: Callable[[str], str]) -> None:
        """Change a text file of the project; fails if the text stays the same."""
        path = self.path(name)
        before = path.read_text("utf-8")
        after = change(before)
        assert after != before, f"nothing to change in {name}"
        path.write_text(after, encoding="utf-8")

    def forge(self, identity: Identity, change: Callable[[bytes], bytes], **words: Any) -> None:
        """Change an installed file, and put its new hash and size into rye.lock."""
        path = self.file_of(identity)
        before = path.read_bytes()
        data = change(before)
        assert data != before
        path.write_bytes(data)
        self.edit_row(identity, sha256=sha256(data).hexdigest(), size=len(data), **words)

    def manifest(self, change: Callable[[str], str]) -> None:
        self.edit_text("rye.toml", change)

    def without_files(self) -> None:
        """Remove the installed files, like a repository that does not commit them."""
        shutil.rmtree(self.path(".ai/packages"))


def says(before: str, after: str) -> Callable[[bytes], bytes]:
    """A change that replaces a piece of a text."""

    def change(data: bytes) -> bytes:
        assert before.encode() in data, data
        return data.replace(before.encode(), after.encode(), 1)

    return change


def unsigned(data: bytes) -> bytes:
    """The text without its signature line."""
    return re.sub(rb"(?m)^.*rye:signed:.*\n", b"", data, count=1)
