"""``.ai/deploy.lock``: which files are ours, and which widenings were agreed to. Sorted and byte-stable; committed. Pure.

::

    version = 1
    made = [".claude/", "opencode.json", "opencode.json#mcp"]   # folders, files, objects to delete once they are empty

    [[file]]
    path = ".claude/skills/pdf/SKILL.md"
    sha256 = "…"                    # of the file, or of our block or key in a shared file
    mode = "0644"
    target = "claude"               # the first target that wants it
    item = "skill:acme/pdf"
    version = "1.0.0"
    item-sha256 = "…"
    customizations-sha256 = ""      # of the changes to the item; empty if there are none
    adapter = "claude/1"
    projects = ["/home/me/shop"]    # only in the home folder: the projects that deployed it

    [[allowed]]                     # --allow-widening
    item = "skill:acme/pdf"
    target = "claude"
    field = "allowed-tools"
    sha256 = "…"                    # of exactly what was agreed to

Anyone who can commit can write this file. A row is only valid if its target's adapter writes exactly that path for that item
(:func:`is_ours`); a widening is only valid if this user agreed to it (:mod:`rye.deployment.agreeing`).
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
from rye.text.json_reading import UNDECODABLE
from rye.text.toml_keys import has_long_key
from rye.text.toml_writing import quoted

VERSION = 1
_HASH = re.compile(r"[0-9a-f]{64}")
_BELOW = re.compile(rf"{SEGMENT}(?:/{SEGMENT})*")
_NAMES = {"item_sha256": "item-sha256", "customizations_sha256": "customizations-sha256"}


class FileRow(Struct, frozen=True, forbid_unknown_fields=True, rename=_NAMES, order=True, kw_only=True):
    """One file, or one block or key of ours in a shared file."""

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
    """For the home folder: the projects that deployed it."""


class Allowed(Struct, frozen=True, forbid_unknown_fields=True, order=True):
    """One widening that was agreed to."""

    item: str
    target: str
    field: str
    sha256: str


class State(Struct, frozen=True):
    """The content of the state file."""

    files: tuple[FileRow, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    made: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is deployed or allowed, so that no file is needed."""
        return not self.files and not self.allowed


class StateFile(Struct, forbid_unknown_fields=True):
    """The state file as written in TOML."""

    version: int
    made: tuple[str, ...] = ()
    file: tuple[FileRow, ...] = ()
    allowed: tuple[Allowed, ...] = ()


def parse_state(data: bytes | None) -> State:
    """Parse a state file; None gives an empty state. Raises RyeError ``bad-lock``.

    With git's conflict markers, the result has the rows of both sides, but only the widenings that both sides allow.
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
            raise ValueError(f"its version is {found.version}, but this Rye supports {VERSION}")
        for row in found.file:
            if not _HASH.fullmatch(row.sha256) or row.mode not in ("0644", "0755"):
                raise ValueError(f"the row of {row.path!r} is invalid")
    except (ValueError, LockError, *UNDECODABLE) as error:
        raise RyeError(
            "bad-lock",
            f".ai/deploy.lock is invalid: {error}.",
            "Restore it from version control, or delete it and take over identical files with `rye deploy --adopt PATH`.",
            what="deployment",
        ) from None
    return State(found.file, found.allowed, found.made)


def state_text(state: State) -> str:
    """Return the canonical text."""
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
    """Whether the adapter of the row's target writes this path for this item. Other rows must not cause any change.

    The id of an own item of a project without a namespace has none."""
    kind, _, identifier = row.item.partition(":")
    if target is None or places is None or kind not in KINDS or not is_id(identifier):
        return False
    names = names_for(kind, identifier)
    if is_shared_file(row.path):  # a CLAUDE.md that is a link to AGENTS.md has its block there
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
    """Whether an entry of ``made`` is a folder above a row, or the file or object of a row."""
    if path.endswith("/"):
        return any(row.path.startswith(path) for row in rows)
    return any(row.path == path or row.path.startswith((f"{path}#", f"{path}/")) for row in rows)
