"""``rye-registry export --plugins``: the skills of a registry as plugin marketplaces and as well-known indexes.

The export contains the newest good release of each skill: not yanked, none of its files taken down, and signed by a key
that is still valid. A release that was withdrawn since the last export is removed. If two skills of a namespace have
the same name, neither is exported: their files would be in one folder. The formats are those of
:mod:`rye.registry.marketplaces`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from registry_server.sequencer import search_offers
from registry_server.sequencer.ledger import Ledger
from registry_server.sequencer.search_offers import rank
from registry_server.storage.objects import Objects
from rye.errors import RyeError
from rye.items.identity import Identity
from rye.registry.marketplaces import (
    Export,
    SharedFile,
    SharedSkill,
    claude_marketplace,
    codex_marketplace,
    well_known,
)
from rye.registry.protocol import wire
from rye.registry.trust.records import ReleaseRecord, release_files

_MAIN = "SKILL.md"


def plugins(ledger: Ledger, public: Objects, now: datetime) -> Export:
    """Return the files of the export. Raises RyeError ``blob-missing``."""
    every = list(_skills(ledger, public, now))
    counts = Counter((skill.namespace, skill.name) for skill in every)
    skills = [skill for skill in every if counts[skill.namespace, skill.name] == 1]
    files = claude_marketplace(ledger.origin, skills) | codex_marketplace(ledger.origin, skills) | well_known(skills)
    for namespace in sorted({skill.namespace for skill in skills}):
        own = well_known([skill for skill in skills if skill.namespace == namespace], f"/{namespace}")
        files |= {f"{namespace}/{path}": file for path, file in own.items()}
    return files


def _skills(ledger: Ledger, public: Objects, now: datetime) -> Iterator[SharedSkill]:
    for name in ledger.all_names():
        kind, _, identifier = name.partition(":")
        if kind != "skill":
            continue
        good = [record for record in search_offers.history(ledger, name, now) if not record.is_withdrawn]
        gone = ledger.taken_down(sha256 for record in good for sha256 in release_files(record.release))
        offered = [record for record in good if not release_files(record.release) & gone.keys()]
        if offered:
            newest = max(offered, key=lambda record: rank(record.version))
            yield _skill(Identity(kind, identifier), newest, public)


def _skill(identity: Identity, record: ReleaseRecord, public: Objects) -> SharedSkill:
    release = record.release
    files = {_MAIN: SharedFile(_blob(public, release.file.sha256, identity))}
    for entry in release.attached:
        files[entry.path] = SharedFile(_blob(public, entry.sha256, identity), entry.executable)
    name = identity.id.rpartition("/")[2]
    return SharedSkill(identity.namespace, name, record.version, release.description, files)


def _blob(public: Objects, sha256: str, identity: Identity) -> bytes:
    data = public.get(wire.blob_path(sha256))
    if data is None:
        raise RyeError("blob-missing", f"The file {sha256} of {identity} is missing.", "Run `rye-registry verify`.")
    return data
