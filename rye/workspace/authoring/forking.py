"""``rye fork``: an installed item becomes an item of this project, with all its files, and remembers where it comes from."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from rye.customization.effective_text import unsigned
from rye.errors import RyeError, UsageError
from rye.installation.transaction import NOTHING, Change, exclusive
from rye.items.identity import Identity, lookup_key
from rye.items.kinds import KINDS
from rye.project.context import load_manifest, require_project
from rye.project.layout import Project
from rye.project.lock_file import read_lock
from rye.project.origins import ORIGINS, ForkOrigin, digest_of, origins_text, read_origins
from rye.project.spaces import entries_of
from rye.storage.safe_files import refuse_links
from rye.workspace.authoring.origins import origins_bytes
from rye.workspace.authoring.renaming import new_place, renamed_text
from rye.workspace.context import Context
from rye.workspace.items.effective_item import effective_item
from rye.workspace.items.item_tree import base_tree
from rye.workspace.items.organization_rules import require_organizations_allow
from rye.workspace.trusting.acceptance import remember_or_warn


class Forked(Struct, frozen=True, kw_only=True):
    """What a fork wrote."""

    kind: str
    id: str
    """Of the own item."""
    shown: str
    """Its own file, relative to the project."""
    files: tuple[str, ...]
    """All its files, the own one first."""
    origin: ForkOrigin


def fork_item(context: Context, reference: str, new_id: str | None = None) -> Forked:
    """Copy an installed item as it was published into the project. ``new_id``: None: its id without the namespace.

    The copy is not signed, so nothing runs it before its new author signs it. Raises RyeError ``not-installed``,
    ``already-exists``, ``policy-violation``; UsageError ``bad-argument``; and what reading the item raises.
    """
    project = require_project(context.cwd)
    found = effective_item(context, reference, base=True)
    entry, installed = found.entry, found.installed
    if installed is None or entry is None:
        hint = "`rye add ID` installs it first; an own item is changed in its file."
        raise RyeError("not-installed", f"{reference} is not an installed item.", hint)
    require_organizations_allow(context, found)
    row, kind = installed.row, found.item.kind
    tree = base_tree(context, found)
    place = new_place(project, entry, new_id or row.identity.local_id)
    manifest = load_manifest(project)
    local = f"{place.category}/{place.name}" if place.category else place.name
    own_id = f"{manifest.namespace}/{local}" if manifest.namespace else local
    _refuse_taken(context, project, Identity(kind.name, own_id), place.path, local)
    text = unsigned(found.item.text or "", found.item.location, found.item.path.name)
    text = renamed_text(kind, entry, place, text)
    origin = ForkOrigin(
        item=row.identity,
        version=row.version,
        digest=digest_of(row.sha256, {path: (file.sha256, file.executable) for path, file in tree.items()}),
        source=row.registry,
        signer="none" if row.is_unsigned else row.signer,
        ref=row.source.ref if row.source is not None else None,
        commit=row.source.commit if row.source is not None else None,
    )
    shown = place.path.relative_to(project.root).as_posix()
    folder = shown.rpartition("/")[0]
    changes = [Change(shown, text.encode(), before=NOTHING)]
    changes += (
        Change(f"{folder}/{path}", file.data or b"", file.executable, before=NOTHING) for path, file in tree.items()
    )
    with exclusive(project) as writer:
        data = origins_bytes(project)
        known = read_origins(data) if data is not None else {}
        known[f"{kind.name}:{local}"] = origin
        before = sha256(data).hexdigest() if data is not None else NOTHING
        writer.apply([*changes, Change(ORIGINS, origins_text(known).encode(), before=before)])
    remember_or_warn(context, project, [origin.approval(f"{kind.name}:{own_id}")])
    return Forked(
        kind=kind.name,
        id=own_id,
        shown=shown,
        files=tuple(change.path for change in changes),
        origin=origin,
    )


def _refuse_taken(context: Context, project: Project, identity: Identity, path: Path, local: str) -> None:
    """Refuse an id that means something already: an installed item, another own one, or a file in its place."""
    if read_lock(project).find(identity) is not None:
        message = f"{identity} is the id of the installed item, because the project has its namespace."
        raise UsageError("bad-argument", message, "Give the fork another id: `rye fork ID NEW_ID`.", what="id")
    own = entries_of(context.home, "project", project, None)
    same = any(
        entry.location.kind == identity.kind and lookup_key(entry.location.local_id) == lookup_key(local)
        for entry in own
    )
    taken = path.parent if KINDS[identity.kind].main_file is not None else path
    refuse_links(project.root, path.parent)
    if same or os.path.lexists(taken):
        raise RyeError(
            "already-exists",
            f"{taken.relative_to(project.root).as_posix()} already exists, so nothing was copied.",
            "Give the fork another id: `rye fork ID NEW_ID`.",
            what="file",
        )
