"""Checking the signature of each item that a person names, by the keys that they trust (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rye.consent.customized import Customization
from rye.errors import RyeError, UsageError
from rye.items.kinds import KINDS
from rye.items.location import locate
from rye.limits import CONTENT
from rye.project.context import arguments_or_own_items, load_manifest, require_project
from rye.project.item_file import place, read_item_bytes
from rye.project.layout import find_project
from rye.project.lock_file import Locks, read_lock
from rye.signing.keys import PublicKey
from rye.signing.verification import Verification, verify
from rye.verified.installed import installed_difference
from rye.verified.on_disk import signed_with_lf
from rye.workspace.trusting.acceptance import trusts_lock
from rye.workspace.trusting.project_changes import not_agreed
from rye.workspace.trusting.project_keys import agreed_keys
from rye.workspace.trusting.trusted_keys import Trusted, trusted_keys

if TYPE_CHECKING:
    from rye.registry.protocol.statements import Keyset
    from rye.workspace.context import Context


class JudgedFile(Struct, frozen=True):
    """One file's kind (None if unknown) and verdict."""

    kind: str | None
    verification: Verification
    has_crlf: bool = False
    """Whether lines end in CR LF, which the signature counts as LF (DESIGN 4)."""


def verify_file(
    path: Path, shown: str, kind: str | None, trusted: Iterable[PublicKey], revoked: Iterable[PublicKey]
) -> JudgedFile:
    """Verify the signature of the file at ``path``. Raises RyeError if it cannot be read or its kind is unknown."""
    data = read_item_bytes(path, CONTENT.item_bytes)
    if len(data) > CONTENT.item_bytes:
        return JudgedFile(kind, Verification("malformed", f"The file has more than {CONTENT.item_bytes:,} bytes."))
    location = place(path, data.decode("utf-8", "replace").replace("\r\n", "\n"), kind)
    if location is None:
        raise UsageError(
            "unknown-kind-of-file",
            f"Cannot tell what kind of item {shown!r} is.",
            f"Name it with --kind ({KINDS.names()}).",
        )
    return JudgedFile(location.kind, verify(data, location.kind, path.name, trusted, revoked), b"\r\n" in data)


class VerifiedFile(Struct, frozen=True):
    """One file and its verdict."""

    shown: str
    kind: str | None
    verification: Verification
    has_crlf: bool = False
    """Whether its signature holds, and it was signed with other line ends."""
    not_agreed: tuple[Customization, ...] = ()
    """The project's files that change its text and that this user has not agreed to: no signature covers them."""

    @property
    def line_ends(self) -> tuple[str, str] | None:
        """What to say of its line ends, and what mends them; None if they are those that were signed."""
        return signed_with_lf(self.shown) if self.has_crlf else None

    @property
    def is_covered(self) -> bool:
        """Whether the signature is valid and this user agreed to everything that changes the signed text."""
        return self.verification.ok and not self.not_agreed


def verify_items(
    context: Context, paths: Sequence[str], kind: str | None = None, key_files: Sequence[Path] = ()
) -> list[VerifiedFile]:
    """One verdict for each item. ``paths``: by default, the project's own items.

    For an installed item, the keys of its namespace in the pinned registry count as well. A file that cannot be read is
    ``malformed`` if it is one of several, and a RyeError if it is the only one.
    """
    keys = trusted_keys(context.home, key_files)
    found = arguments_or_own_items(context.cwd, paths)
    keysets: dict[str, Keyset | None] = {}
    locks = Locks()
    results = []
    for entry in found:
        try:
            judged = _judge(context, entry.path, entry.shown, kind, keys, keysets, locks)
        except RyeError as error:
            if len(found) == 1:
                raise
            judged = JudgedFile(kind, Verification("malformed", f"{error.message} {error.hint or ''}".strip()))
        results.append(
            VerifiedFile(
                entry.shown, judged.kind, judged.verification, has_crlf=judged.has_crlf and judged.verification.ok
            )
        )
    return _with_changes(context, results)


def _with_changes(context: Context, verified: list[VerifiedFile]) -> list[VerifiedFile]:
    """The verdicts with the customizations of each file that this user has not agreed to."""
    project = find_project(context.cwd)
    if project is None:
        return verified
    manifest, rows = load_manifest(project), read_lock(project).items if project.lock_path.exists() else ()
    waiting: dict[Path, list[Customization]] = {}
    for entry, change in not_agreed(context.home, project, manifest, rows, trusts_lock=trusts_lock(context)):
        waiting.setdefault(entry.path.resolve(), []).append(change)
    if not waiting:
        return verified
    return [replace(one, not_agreed=tuple(waiting.get((context.cwd / one.shown).resolve(), ()))) for one in verified]


def _judge(
    context: Context,
    path: Path,
    shown: str,
    kind: str | None,
    keys: Trusted,
    keysets: dict[str, Keyset | None],
    locks: Locks,
) -> JudgedFile:
    location = locate(path.absolute())
    namespace = location.namespace if location is not None else None
    keyset = _keyset(context, namespace, keysets) if namespace is not None else None
    if keyset is None and namespace is None:
        keys = _with_agreed(context, path, keys)
    trusted = (*keys.keys, *(keyset.accepted_keys() if keyset is not None else ()))
    judged = verify_file(path, shown, kind, trusted, keys.revoked)
    if keyset is not None and judged.verification.verdict == "untrusted":
        gone = (*keys.revoked, *_revoked(context, path, keyset, locks))
        judged = verify_file(path, shown, kind, trusted, gone)
    return _with_attached(path, judged, locks)


def _with_agreed(context: Context, path: Path, keys: Trusted) -> Trusted:
    """With the keys that count for the own items of the project that the file is in."""
    project = find_project(context.cwd)
    if project is None or not path.absolute().is_relative_to(project.ai):
        return keys
    return Trusted((*keys.keys, *agreed_keys(context.home, project)), keys.revoked)


def _keyset(context: Context, namespace: str, known: dict[str, Keyset | None]) -> Keyset | None:
    if namespace not in known:
        from rye.workspace.registries.registry_access import (
            last_seen_keyset,  # loads the client, which only installed items need
        )

        known[namespace] = last_seen_keyset(context, namespace)
    return known[namespace]


def _revoked(context: Context, path: Path, keyset: Keyset, locks: Locks) -> list[PublicKey]:
    """The namespace's revoked keys known here that apply to an installed item's log position.

    A revocation does not affect earlier log entries. If rye.lock does not have the item, every revocation applies.
    """
    place = locate(path.absolute())
    try:
        items = locks.rows(require_project(context.cwd)).values()
    except RyeError:
        return []
    meant = [i.log for i in items if place and (i.kind, i.id) == (place.kind, f"{keyset.namespace}/{place.local_id}")]
    return [PublicKey(gone.key) for gone in keyset.revoked if not meant or meant[0] >= gone.position]


def _with_attached(path: Path, judged: JudgedFile, locks: Locks) -> JudgedFile:
    """The verdict on everything that is installed of an item: a byte that differs from rye.lock, and a changed, missing or extra
    attached file, make a valid one ``modified``."""
    if judged.kind is None or judged.verification.verdict not in ("valid", "unsigned"):
        return judged
    problem = installed_difference(path, locks)
    if problem is None:
        return judged
    found = judged.verification
    if found.ok:
        return replace(judged, verification=replace(found, verdict="modified", detail=problem, coverage=None))
    return replace(judged, verification=replace(found, detail=f"{found.detail} {problem}"))
