"""Keys that a project proposes for its own items, as files below ``.ai/keys``, and that count there once this user agreed.

A signature line has only the key's id, so a clone needs the key itself. ``rye sign`` puts it there; the first installation in a
clone and ``rye trust project`` ask about it. A yes counts for the own items of this checkout alone: never for what is installed,
for other projects, or for publishing. ``rye trust add`` is for those. A key that this user revoked is never asked about.
"""

from __future__ import annotations

from rye.consent.ask import Ask
from rye.errors import RyeError
from rye.installation.transaction import NOTHING, Change, exclusive
from rye.limits import CONTENT
from rye.project.item_file import read_item_bytes
from rye.project.layout import Project
from rye.project.manifest import Manifest
from rye.project.spaces import entries_of
from rye.signing.keys import PublicKey
from rye.signing.trust_store import TrustStore, proposals
from rye.signing.verification import verify
from rye.storage.home import Home
from rye.storage.safe_files import refuse_links
from rye.workspace.trusting.acceptance import remembered

KEYS = ".ai/keys"
SORT = "own-key"


def _approval(key: PublicKey) -> Ask:
    return Ask("this project", SORT, key.fingerprint)


def _proposed(project: Project) -> tuple[PublicKey, ...]:
    return tuple({found.key: None for found in proposals(project.root) if found.key is not None})


def agreed_keys(home: Home, project: Project) -> tuple[PublicKey, ...]:
    """The keys that the project proposes and this user agreed to, for its own items."""
    found = _proposed(project)
    return tuple(key for key in found if remembered(home, project).covers(_approval(key))) if found else ()


def not_agreed_keys(home: Home, project: Project, manifest: Manifest) -> tuple[Ask, ...]:
    """What to agree to for the keys that the project proposes and that sign one of its own items, if this user did not."""
    store = TrustStore(home.config)
    known = {entry.key for entry in store.entries()}
    open_ones = [key for key in _proposed(project) if key not in known]
    if not open_ones:
        return ()
    signers: set[PublicKey] = set()
    for entry in entries_of(home, "project", project, manifest.namespace):
        try:
            data = read_item_bytes(entry.path, CONTENT.item_bytes)
        except RyeError:
            continue  # it is not used either
        judged = verify(data, entry.location.kind, entry.path.name, open_ones, ())
        if judged.ok and judged.key is not None:
            signers.add(judged.key)
    return remembered(home, project).missing(_approval(key) for key in signers)


def propose_key(project: Project, key: PublicKey) -> str | None:
    """Put a key where colleagues are asked about it. Return the file's path in the project; None if it is proposed already.

    Raises RyeError for a link in its way.
    """
    if key in _proposed(project):
        return None
    path = f"{KEYS}/{key.key_id}.{'pub' if key.hardware else 'pem'}"
    refuse_links(project.root, (project.root / path).parent)
    with exclusive(project) as writer:
        writer.apply([Change(path, key.pem.encode("ascii"), before=NOTHING)])
    return path
