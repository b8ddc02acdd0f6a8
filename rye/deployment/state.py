"""``.ai/deploy.lock``: which files are ours, and what was agreed to. Sorted and byte-stable; it is committed. Pure.

::

    version = 1
    made = [".claude/", "opencode.json", "opencode.json#mcp"]   # what goes once it is empty: folders, files, objects

    [[file]]
    path = ".claude/skills/pdf/SKILL.md"
    sha256 = "…"                    # of the file; of our block or key in a file of somebody else's
    mode = "0644"
    target = "claude"               # the first that wants it
    item = "skill:acme/pdf"
    version = "1.0.0"
    item-sha256 = "…"
    customizations-sha256 = ""      # of what changed the item; empty where nothing did
    adapter = "claude/1"
    projects = ["/home/me/shop"]    # in the home folder only: whose it is

    [[allowed]]                     # --allow-widening
    item = "skill:acme/pdf"
    target = "claude"
    field = "allowed-tools"
    sha256 = "…"                    # of exactly what was agreed to

Whoever can commit can write this file. A row counts only where the adapter of its target writes that very path for that item
(:func:`is_ours`); what it allows counts only where this user agreed to it (:mod:`rye.deployment.agreeing`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from rye.deployment.names import names_for
from rye.deployment.targets.protocol import Places, Target
from rye.errors import RyeError
from rye.items.identity import is_id
from rye.items.kinds import KINDS
from rye.project.agent_programs import SEGMENT, is_shared_file
from rye.project.lock import LockError
from rye.project.lock_conflict import sides
from rye.text.toml_keys import has_long_key
from rye.text.toml_writing import quoted

VERSION = 1
_HASH = re.compile(r"[0-9a-f]{64}")
_BELOW = re.compile(rf"{SEGMENT}(?:/{SEGMENT})*")
_NAMES = {"item_sha256": "item-sha256", "customizations_sha256": "customizations-sha256"}


class FileRow(Struct, frozen=True, forbid_unknown_fields=True, rename=_NAMES, order=True):
    """One file, or one block or key of ours in one."""

    path: str
    item: str
    """``kind:id``."""
    target: str
    sha256: str
    mode: str
    version: str
    item_sha256: str
    customizations_sha256: str
    adapter: str
    projects: tuple[str, ...] = ()
    """In the home folder: the projects that deployed it."""


class Allowed(Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """One widening that was agreed to."""

    item: str
    target: str
    field: str
    sha256: str


class State(Struct, frozen=True):
    """The whole file."""

    files: tuple[FileRow, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    made: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.allowed


class StateFile(Struct, forbid_unknown_fields=True):
    version: int
    made: tuple[str, ...] = ()
    file: tuple[FileRow, ...] = ()
    allowed: tuple[Allowed, ...] = ()


def parse_state(data: bytes | None) -> State:
    """The state of a file's bytes; an empty one for None. Raises RyeError ``bad-deploy-lock``.

    With git's conflict markers: the files of both sides, where they differ with a row each; allowed is what both sides allow.
    """
    if data is None:
        return State()
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
        if "\n<<<<<<<" in text:
            ours, theirs = (parse_state(side.encode()) for side in sides(text))
            allowed = tuple(sorted(set(ours.allowed) & set(theirs.allowed)))
            return State(
                tuple(sorted({*ours.files, *theirs.files})), allowed, tuple(sorted({*ours.made, *theirs.made}))
            )
        if has_long_key(text):
            raise ValueError("a key has too many parts")
        found = msgspec.toml.decode(text, type=StateFile)
        if found.version != VERSION:
            raise ValueError(f"its version is {found.version}; this rye knows {VERSION}")
        for row in found.file:
            if not _HASH.fullmatch(row.sha256) or row.mode not in ("0644", "0755"):
                raise ValueError(f"the row of {row.path!r} is malformed")
    except (ValueError, UnicodeDecodeError, RecursionError, msgspec.MsgspecError, LockError) as error:
        raise RyeError(
            "bad-deploy-lock",
            f".ai/deploy.lock cannot be read: {error}.",
            "Restore it from version control. Without it, `rye deploy --adopt PATH` takes over files that are the same.",
        ) from None
    return State(found.file, found.allowed, found.made)


def state_text(state: State) -> str:
    """The canonical text."""
    out = ["# Made by rye; do not edit. Reviews should look at `allowed`.", f"version = {VERSION}"]
    if state.made:
        out += ["made = [", *(f"  {quoted(path)}," for path in sorted(set(state.made))), "]"]
    for row in sorted(set(state.files)):
        out += [
            "",
            "[[file]]",
            f"path = {quoted(row.path)}",
            f"sha256 = {quoted(row.sha256)}",
            f"mode = {quoted(row.mode)}",
            f"target = {quoted(row.target)}",
            f"item = {quoted(row.item)}",
            f"version = {quoted(row.version)}",
            f"item-sha256 = {quoted(row.item_sha256)}",
            f"customizations-sha256 = {quoted(row.customizations_sha256)}",
            f"adapter = {quoted(row.adapter)}",
            *([f"projects = [{', '.join(map(quoted, row.projects))}]"] if row.projects else []),
        ]
    for one in sorted(set(state.allowed)):
        out += [
            "",
            "[[allowed]]",
            f"item = {quoted(one.item)}",
            f"target = {quoted(one.target)}",
            f"field = {quoted(one.field)}",
            f"sha256 = {quoted(one.sha256)}",
        ]
    return "\n".join(out) + "\n"


def is_ours(row: FileRow, target: Target | None, places: Places | None) -> bool:
    """Whether the adapter of the row's target writes this path for this item. Nothing else may be changed because of a row."""
    kind, _, identifier = row.item.partition(":")
    if target is None or places is None or kind not in KINDS or not is_id(identifier) or "/" not in identifier:
        return False
    names = names_for(kind, identifier)
    if is_shared_file(row.path):  # a CLAUDE.md that leads to AGENTS.md has its block there
        return kind == "knowledge" and row.path.endswith(".md") and places.index is not None
    place, hash_, pointer = row.path.partition("#/")
    if hash_:
        section, _, key = pointer.partition("/")
        ours = {pair for name in names for pair in (("mcp", f"rye-{name}"), ("permission", f"rye-{name}_*"))}
        return kind == "directive" and place in places.settings and (section, key) in ours
    if row.path == f"{places.knowledge}/{identifier}.md":
        return kind == "knowledge"
    for name in names:
        if row.path == f"{places.agents}/{name}{places.agent_suffix}":
            return kind in ("agent", "role", "directive")
        folder = f"{places.skills}/{name}/"
        if row.path.startswith(folder) and _BELOW.fullmatch(row.path.removeprefix(folder)):
            return kind in ("skill", "directive", "formula")
    return False


def made_by_us(path: str, rows: Iterable[FileRow]) -> bool:
    """Whether an entry of ``made`` is a folder above a row, or a file or object of one."""
    if path.endswith("/"):
        return any(row.path.startswith(path) for row in rows)
    return any(row.path == path or row.path.startswith((f"{path}#", f"{path}/")) for row in rows)
