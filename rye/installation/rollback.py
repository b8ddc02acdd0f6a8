"""Rolls back one step, to the lock and manifest from before the last change of the lock, which are kept in the
project's work folder.

They are written in the same transaction as the lock, so they always match it. The record of deployed files is kept with them, to
say what a rollback does not bring back. They are not trusted: a rollback
resolves nothing, but every byte is fetched, verified and consented to as in any other installation. A clone can contain
such a folder, so :func:`kept_sha256` identifies its content, and the user's data folder records what this user's Rye
kept.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from rye.errors import RyeError
from rye.installation.transaction import Change
from rye.limits import DEPLOY, PROJECT, WORKSPACE
from rye.project.agent_programs import STATE
from rye.project.layout import LOCK, MANIFEST, Project, read_project_file
from rye.project.lock import Lock, parse_lock
from rye.project.lock_file import wanted_ranges
from rye.project.manifest import parse_manifest
from rye.project.members import MemberText
from rye.text.json_reading import UNDECODABLE

_FOLDER = ".ai/.rye/previous"
_LEFT_NAME = f"{MANIFEST}.left"
_LEFT = f"{_FOLDER}/{_LEFT_NAME}"
_MEMBERS_NAME = "members.json"
_MEMBERS = f"{_FOLDER}/{_MEMBERS_NAME}"
_MEMBERS_BYTES = 4 * WORKSPACE.manifest_bytes
"""Each manifest is in it twice, before and after, in JSON."""
_DEPLOYED_NAME = "deploy.lock"


class MemberTexts(Struct, frozen=True, forbid_unknown_fields=True):
    """The manifests of a workspace's members, by folder."""

    kept: dict[str, str] = {}
    """As they were before."""
    left: dict[str, str] = {}
    """As the installation left them, to detect later edits."""


def keep_previous(
    project: Project,
    left: str | None = None,
    members: Sequence[MemberText] = (),
    members_left: Sequence[MemberText] = (),
) -> list[Change]:
    """Return the changes that keep the current lock and manifests, including those of members, for ``rye rollback``.

    ``left``: the manifest as this installation leaves it, to detect later edits; None if unknown.
    """
    found = [Change(_LEFT, left.encode() if left is not None else None)]
    texts = MemberTexts({one.path: one.text for one in members}, {one.path: one.text for one in members_left})
    found.append(Change(_MEMBERS, msgspec.json.encode(texts) if members or members_left else None))
    for name in (LOCK, MANIFEST):
        source = project.root / name
        found.append(Change(f"{_FOLDER}/{name}", source.read_bytes() if source.exists() else None))
    found.append(Change(f"{_FOLDER}/{_DEPLOYED_NAME}", _deployed(project)))
    return found


def _deployed(project: Project) -> bytes | None:
    """The record of deployed files, which only tells what a rollback does not bring back; None if it cannot be read."""
    try:
        return read_project_file(project.root / STATE, DEPLOY.state_bytes)
    except RyeError:
        return None


def kept_sha256(kept: Iterable[Change]) -> str:
    """Return a hash that identifies a kept state: over the paths and bytes of :func:`keep_previous`."""
    state = hashlib.sha256()
    for change in sorted(kept, key=lambda change: change.path):
        if change.data is None and change.path.endswith(f"/{_DEPLOYED_NAME}"):
            continue  # earlier versions did not keep it
        data = b"-" if change.data is None else b"+" + hashlib.sha256(change.data).digest()
        state.update(hashlib.sha256(change.path.encode()).digest() + data)
    return state.hexdigest()


class Previous(Struct, frozen=True, kw_only=True):
    """What the project's work folder contains now, read once: who wrote it is decided about these very bytes."""

    files: dict[str, bytes | None]
    """By name in the folder."""

    @property
    def sha256(self) -> str:
        """Its :func:`kept_sha256`."""
        return kept_sha256(Change(f"{_FOLDER}/{name}", data) for name, data in self.files.items())

    def lock(self) -> tuple[Lock, str | None]:
        """Return the lock and the manifest's text from before the last installation. Raises RyeError ``nothing-to-roll-back``."""
        lock_data, manifest_data = self.files[LOCK], self.files[MANIFEST]
        if lock_data is None and manifest_data is None:
            raise RyeError(
                "nothing-to-roll-back",
                "No earlier installation is recorded here.",
                "Restore rye.lock from version control, then run `rye install`.",
            )
        try:
            lock = parse_lock(lock_data.decode()) if lock_data is not None else Lock()
            return lock, manifest_data.decode() if manifest_data is not None else None  # keeps the line ends
        except UnicodeDecodeError:
            raise RyeError(
                "nothing-to-roll-back",
                "The record of the earlier installation is damaged.",
                "Restore rye.lock from version control, then run `rye install`.",
            ) from None

    @property
    def left(self) -> bytes | None:
        """The manifest as the installation left it; None if that is unknown."""
        return self.files[_LEFT_NAME]

    @property
    def deployed(self) -> bytes | None:
        """The record of deployed files; None if there was none."""
        return self.files[_DEPLOYED_NAME]

    @property
    def members(self) -> MemberTexts:
        """The manifests of members before and after the last installation; none if the record is damaged."""
        data = self.files[_MEMBERS_NAME]
        try:
            return msgspec.json.decode(data, type=MemberTexts) if data is not None else MemberTexts()
        except UNDECODABLE:
            return MemberTexts()


def read_previous(project: Project) -> Previous:
    """Read the state from before the last installation. Raises RyeError ``file-too-large`` and others for files that are none."""
    limits = {
        LOCK: PROJECT.lock_bytes,
        MANIFEST: PROJECT.manifest_bytes,
        _LEFT_NAME: PROJECT.manifest_bytes,
        _MEMBERS_NAME: _MEMBERS_BYTES,
        _DEPLOYED_NAME: DEPLOY.state_bytes,
    }
    folder = project.root / _FOLDER
    return Previous(files={name: read_project_file(folder / name, limit) for name, limit in limits.items()})


def edits_since(previous: Previous, lock: Lock, text: str, members: Sequence[MemberText] = ()) -> list[str]:
    """Return what a person changed in the manifest (``text``) and those of ``members`` since the last change of the lock, as
    lines of a diff.

    If the manifest's earlier text is not known, only the dependencies are compared, with those recorded in ``lock``.
    """
    if previous.left is not None:
        before, after = previous.left.decode("utf-8", "replace"), text
    else:
        try:
            wanted = wanted_ranges(parse_manifest(text))
        except RyeError:
            return ["rye.toml is not valid now"]
        before, after = (
            "".join(f"{key} = {asked[key]}\n" for key in sorted(asked)) for asked in (dict(lock.wanted), wanted)
        )
    found = _changed_lines(before, after)
    member_texts = previous.members.left
    for member in members:
        lines = _changed_lines(member_texts.get(member.path, member.text), member.text)
        found += [f"{member.file}: {line}" for line in lines]
    return found


def _changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
    return [line for number, line in enumerate(lines) if number > 1 and not line.startswith("@@")]
