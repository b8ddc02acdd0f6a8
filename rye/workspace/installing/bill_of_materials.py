"""A bill of materials of everything in a project's lock."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from rye.installation.completeness import roots
from rye.installation.cyclonedx import cyclonedx
from rye.installation.sbom import lock_bill
from rye.installation.sources import with_signers
from rye.installation.spdx import spdx
from rye.project.context import load_manifest
from rye.project.layout import Project
from rye.project.lock import Lock
from rye.project.lock_file import is_stale, read_lock, require_lock
from rye.storage.atomic import replace_file
from rye.workspace.context import Context
from rye.workspace.trusting.verified_items import require_verified

FORMATS = {"cyclonedx": cyclonedx, "spdx": spdx}
"""CycloneDX 1.6 and SPDX 2.3, both as JSON."""


class BillOfMaterials(Struct, frozen=True):
    """A document in one of the formats, and how many items it names."""

    document: dict[str, object]
    components: int

    def write(self, path: Path) -> None:
        """Write the document to a file, replacing it."""
        replace_file(path, (json.dumps(self.document, indent=2, ensure_ascii=False) + "\n").encode())


def project_bill(
    context: Context,
    project: Project,
    *,
    form: str = "cyclonedx",
    time: str | None = None,
    serial: str | None = None,
) -> BillOfMaterials:
    """The bill of the lock, always the same document. ``form``: a key of FORMATS; ``time``: ``YYYY-MM-DDTHH:MM:SSZ``;
    ``serial``: ``urn:uuid:…``.

    Raises RyeError ``no-lock`` if there is nothing to tell from what rye.toml asks for, and ``unverified-item`` if a row was not
    verified here and cannot be now.
    """
    manifest, lock = load_manifest(project), read_lock(project)
    require_lock(project, manifest)
    if not (manifest.dependencies or lock.items):
        context.warn("rye.toml lists no items, so the bill of materials is empty.", "`rye add [KIND:]ID` adds one.")
    elif is_stale(lock, manifest):
        hint = "`rye install` makes one that fits; `rye lock --check` says what differs."
        context.warn("rye.lock was made for another rye.toml. The bill lists what is in rye.lock.", hint)
    signed = require_verified(context, project, lock.items)
    lock = Lock(lock.wanted, with_signers(lock.items, signed))
    direct = [identity for _, identity in roots(lock, manifest)]
    name = manifest.name or project.root.name
    bill = lock_bill(lock, name, direct, supplier=manifest.namespace or name, time=time, serial=serial)
    return BillOfMaterials(FORMATS[form](bill), len(lock.items))
